//! Text form of filters in plans and errors: `[3, 5]`, `(-inf, 1.5) or null`, `in {1, 4}`.

use std::fmt;

use super::{Bound, BoundRange, ClosedRange, Filter, ValueTest};

/// Maximum number of values listed; for longer lists the count is printed.
const MAX_LISTED: usize = 8;

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filter::AlwaysFalse => f.write_str("false"),
            Filter::AlwaysTrue => f.write_str("true"),
            Filter::IsNull => f.write_str("is null"),
            Filter::IsNotNull => f.write_str("is not null"),
            Filter::Values { test, null_allowed } => {
                write!(f, "{test}{}", if *null_allowed { " or null" } else { "" })
            }
        }
    }
}

impl fmt::Display for ValueTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueTest::Bool(value) => write!(f, "is {value}"),
            ValueTest::BigintRange(range) => write!(f, "{range}"),
            ValueTest::NegatedBigintRange(range) => write!(f, "not {range}"),
            ValueTest::BigintValues(set) => write_list(f, "in", set.values()),
            ValueTest::NegatedBigintValues(set) => write_list(f, "not in", set.values()),
            ValueTest::DoubleRange(range) => write_range(f, range, |v| format!("{v:?}")),
            ValueTest::FloatRange(range) => write_range(f, range, |v| format!("{v:?}")),
            ValueTest::BytesRange(range) => write_range(f, range, |v| text(v)),
            ValueTest::NegatedBytesRange(range) => {
                f.write_str("not ")?;
                write_range(f, range, |v| text(v))
            }
            ValueTest::BytesValues(set) => write_texts(f, "in", set.values()),
            ValueTest::NegatedBytesValues(set) => write_texts(f, "not in", set.values()),
            ValueTest::Like(pattern) => write!(f, "like {pattern}"),
            ValueTest::NegatedLike(pattern) => write!(f, "not like {pattern}"),
            ValueTest::BigintMultiRange(ranges) => write_any(f, ranges),
            ValueTest::MultiRange(tests) => write_any(f, tests),
            ValueTest::HugeintRange(range) => write!(f, "{range}"),
            ValueTest::TimestampRange(range) => write!(f, "{range}"),
            ValueTest::HugeintValues(values) => write_list(f, "in", values),
        }
    }
}

impl<T: fmt::Display> fmt::Display for ClosedRange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lower, self.upper)
    }
}

fn text(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}

fn write_range<T>(
    f: &mut fmt::Formatter<'_>,
    range: &BoundRange<T>,
    print: impl Fn(&T) -> String,
) -> fmt::Result {
    match &range.lower {
        Bound::Unbounded => f.write_str("(-inf, ")?,
        Bound::Inclusive(v) => write!(f, "[{}, ", print(v))?,
        Bound::Exclusive(v) => write!(f, "({}, ", print(v))?,
    }
    match &range.upper {
        Bound::Unbounded => f.write_str("+inf)"),
        Bound::Inclusive(v) => write!(f, "{}]", print(v)),
        Bound::Exclusive(v) => write!(f, "{})", print(v)),
    }
}

fn write_texts(f: &mut fmt::Formatter<'_>, word: &str, values: &[impl AsRef<[u8]>]) -> fmt::Result {
    let texts: Vec<String> = values.iter().take(MAX_LISTED).map(|v| text(v.as_ref())).collect();
    write_counted(f, word, &texts, values.len())
}

fn write_list(f: &mut fmt::Formatter<'_>, word: &str, values: &[impl fmt::Display]) -> fmt::Result {
    write_counted(f, word, values, values.len())
}

fn write_counted(
    f: &mut fmt::Formatter<'_>,
    word: &str,
    values: &[impl fmt::Display],
    count: usize,
) -> fmt::Result {
    write!(f, "{word} {{")?;
    for (i, value) in values.iter().take(MAX_LISTED).enumerate() {
        write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
    }
    if count > MAX_LISTED {
        write!(f, ", ... {count} values")?;
    }
    f.write_str("}")
}

fn write_any(f: &mut fmt::Formatter<'_>, members: &[impl fmt::Display]) -> fmt::Result {
    for (i, member) in members.iter().take(MAX_LISTED).enumerate() {
        write!(f, "{}{member}", if i > 0 { " or " } else { "" })?;
    }
    if members.len() > MAX_LISTED {
        write!(f, " or ... {} ranges", members.len())?;
    }
    Ok(())
}
