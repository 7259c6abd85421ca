//! String functions: length, lower, upper, substr, trim, starts_with, ends_with, strpos.
//!
//! Positions and lengths count characters (code points). Functions that return substrings (substr,
//! trim) copy no bytes: their views refer to the buffers of their argument. Bytes that are not
//! valid UTF-8 are kept, and count as characters unless they are continuation bytes.

use memchr::memmem;
use vector::{
    BufferMut, DecodedVector, FlatValues, Mapping, Result, StringBuilder, StringValues, StringView,
    Type, Vector,
};

use super::letter_case;
use super::split_replace;
use super::split_replace::first_character;
use crate::expr::kernel::{
    Argument, Call, Kernel, Operand, for_each_row, test_rows, wrong_storage,
};
use crate::expr::registry::Function;
use crate::expr::runs::{Run, RunVisitor, visit_runs};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("length", &["(VARCHAR) -> BIGINT", "(VARBINARY) -> BIGINT"], length),
    Function::scalar("lower", &["(VARCHAR) -> VARCHAR"], lower),
    Function::scalar("upper", &["(VARCHAR) -> VARCHAR"], upper),
    Function::scalar("substr", SUBSTR, substr),
    Function::scalar("substring", SUBSTR, substr),
    Function::scalar("starts_with", &["(VARCHAR, VARCHAR) -> BOOLEAN"], starts_with),
    Function::scalar("ends_with", &["(VARCHAR, VARCHAR) -> BOOLEAN"], ends_with),
    Function::scalar("trim", &["(VARCHAR) -> VARCHAR", "(VARCHAR, VARCHAR) -> VARCHAR"], trim),
    Function::scalar("ltrim", &["(VARCHAR) -> VARCHAR", "(VARCHAR, VARCHAR) -> VARCHAR"], ltrim),
    Function::scalar("rtrim", &["(VARCHAR) -> VARCHAR", "(VARCHAR, VARCHAR) -> VARCHAR"], rtrim),
    Function::scalar(
        "strpos",
        &["(VARCHAR, VARCHAR) -> BIGINT", "(VARCHAR, VARCHAR, BIGINT) -> BIGINT"],
        strpos,
    ),
];

const SUBSTR: &[&str] = &["(VARCHAR, BIGINT [, BIGINT]) -> VARCHAR"];

pub(super) fn is_character_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// Counts characters eight bytes at a time: a byte starts a character unless its top bits are 10.
pub(super) fn count_characters(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (eights, tail) = text.as_chunks::<8>();
    let mut count = 0;
    for eight in eights {
        let word = u64::from_le_bytes(*eight);
        let starts = (!word >> 7 | word >> 6) & ONES;
        count += (starts.wrapping_mul(ONES) >> 56) as usize;
    }
    count + tail.iter().filter(|b| is_character_start(**b)).count()
}

pub(in crate::expr) fn strings_of(argument: &DecodedVector) -> Result<&StringValues> {
    match argument.flat_values() {
        Some(FlatValues::String(strings)) => Ok(strings),
        _ => Err(wrong_storage(argument.ty())),
    }
}

pub(super) fn length(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    let in_bytes = args.first().is_some_and(|arg| arg.ty == &Type::Varbinary);
    Ok(Kernel::new(move |call| {
        let (argument, strings) = (&call.args[0], strings_of(&call.args[0])?);
        if in_bytes {
            return numbers(call, |row| strings.views()[argument.index(row)].len() as i64);
        }
        if !matches!(argument.mapping(), Mapping::Identity) {
            return numbers(call, |row| count_characters(argument.string(row)) as i64);
        }
        let mut lengths = Lengths { strings, out: BufferMut::new() };
        lengths.out.resize_unspecified(call.num_rows());
        visit_runs(strings, call.rows, &mut lengths);
        call.fixed(lengths.out.freeze())
    }))
}

/// Computes the number of characters of each row. If a run is ASCII as a whole, it is the number of
/// bytes.
struct Lengths<'a> {
    strings: &'a StringValues,
    out: BufferMut<i64>,
}

impl RunVisitor for Lengths<'_> {
    #[inline]
    fn row(&mut self, row: usize) {
        /// Top bits of the bytes that are inline in a view.
        const NOT_ASCII: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;
        let view = self.strings.views()[row];
        let is_ascii = view.is_inline() && view.to_bits() & NOT_ASCII == 0;
        let length = if is_ascii { view.len() } else { count_characters(self.strings.get(row)) };
        self.out[row] = length as i64;
    }

    fn run(&mut self, run: &Run<'_>) {
        if !run.text.is_ascii() {
            return run.rows.iter().for_each(|row| self.row(*row as usize));
        }
        let (views, out) = (self.strings.views().as_slice(), self.out.as_mut_slice());
        for row in run.rows {
            out[*row as usize] = views[*row as usize].len() as i64;
        }
    }
}

/// Computes a BIGINT for each counted row.
pub(in crate::expr) fn numbers(call: &Call<'_>, f: impl Fn(usize) -> i64) -> Result<Vector> {
    let mut out = BufferMut::new();
    out.resize(call.num_rows(), 0i64);
    for_each_row(call.rows, |row| out[row] = f(row));
    call.fixed(out.freeze())
}

/// Computes a string for each counted row; `f` appends to an empty buffer.
fn texts(call: &Call<'_>, mut f: impl FnMut(usize, &mut Vec<u8>)) -> Result<Vector> {
    let mut out = StringBuilder::new();
    let mut text = Vec::new();
    for row in 0..call.num_rows() {
        text.clear();
        if call.rows.contains(row) && !out.has_failed() {
            f(row, &mut text);
        }
        out.push(&text);
    }
    call.strings(out.finish()?)
}

fn lower(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| change_case(call, <[u8]>::make_ascii_lowercase, letter_case::lower)))
}

fn upper(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| change_case(call, <[u8]>::make_ascii_uppercase, letter_case::upper)))
}

/// Changes the case of ASCII in place, and of other text by character, unless it is not valid
/// UTF-8.
fn change_case(
    call: &Call<'_>,
    ascii: impl Fn(&mut [u8]),
    unicode: impl Fn(char) -> char,
) -> Result<Vector> {
    let argument = &call.args[0];
    let mut changed = String::new();
    texts(call, |row, out| {
        let text = argument.string(row);
        if !text.is_ascii()
            && let Ok(text) = std::str::from_utf8(text)
        {
            changed.clear();
            changed.extend(text.chars().map(&unicode));
            out.extend_from_slice(changed.as_bytes());
            return;
        }
        out.extend_from_slice(text);
        ascii(out);
    })
}

/// Returns a substring of the argument for each counted row; `f` returns its byte range.
fn parts(call: &Call<'_>, f: impl Fn(usize, &[u8]) -> std::ops::Range<usize>) -> Result<Vector> {
    let argument = &call.args[0];
    let strings = strings_of(argument)?;
    let mut views = BufferMut::new();
    views.resize(call.num_rows(), StringView::default());
    for_each_row(call.rows, |row| {
        let at = argument.index(row);
        let (view, text) = (strings.views()[at], strings.get(at));
        let range = f(row, text);
        let part = &text[range.clone()];
        views[row] = if view.is_inline() {
            StringView::inline(part)
        } else {
            let (buffer, offset) = view.location();
            StringView::new(part, buffer as u32, (offset + range.start) as u32)
        };
    });
    call.strings(StringValues::new(views.freeze(), strings.buffers().clone()))
}

fn trim(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(bind_trim(args, true, true))
}

fn ltrim(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(bind_trim(args, true, false))
}

fn rtrim(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(bind_trim(args, false, true))
}

/// Creates a kernel that trims white space, or the characters of a second argument, from the ends.
fn bind_trim(args: &[Argument<'_>], left: bool, right: bool) -> Kernel {
    let of_its_own = args.len() == 2;
    Kernel::new(move |call| {
        parts(call, |row, text| {
            if of_its_own {
                let characters = call.args[1].string(row);
                let is_one = |c: &[u8]| memmem::find(characters, c).is_some();
                return trimmed(text, left, right, &is_one);
            }
            trimmed(text, left, right, &is_space)
        })
    })
}

/// Returns the range without the characters at the ends for which `drops` is true.
fn trimmed(
    text: &[u8],
    left: bool,
    right: bool,
    drops: &dyn Fn(&[u8]) -> bool,
) -> std::ops::Range<usize> {
    let (mut start, mut end) = (0, text.len());
    while left && start < end {
        let next = start + first_character(&text[start..]);
        if !drops(&text[start..next]) {
            break;
        }
        start = next;
    }
    while right && start < end {
        let rest = &text[start..end];
        let last = rest.iter().rposition(|b| is_character_start(*b)).unwrap_or(0);
        if !drops(&rest[last..]) {
            break;
        }
        end = start + last;
    }
    start..end
}

/// Returns true for the white space of Java, Presto and Velox, which excludes non-breaking spaces.
fn is_space(character: &[u8]) -> bool {
    match *character {
        [byte] => matches!(byte, 0x09..=0x0d | 0x1c..=0x20),
        // U+1680, U+2000 to U+200A but for U+2007, U+2028, U+2029, U+205F, U+3000.
        [0xe1, 0x9a, 0x80] | [0xe2, 0x81, 0x9f] | [0xe3, 0x80, 0x80] => true,
        [0xe2, 0x80, last] => matches!(last, 0x80..=0x86 | 0x88..=0x8a | 0xa8 | 0xa9),
        _ => false,
    }
}

/// `substr(text, start [, length])`: 1 is the first character, -1 the last.
fn substr(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let start = Operand::<i64>::new(&call.args[1])?;
        let length = call.args.get(2).map(Operand::<i64>::new).transpose()?;
        let start = start.side();
        let length = length.as_ref().map(Operand::side);
        parts(call, |row, text| {
            let length = length.map_or(i64::MAX, |length| length.at(row));
            characters(text, start.at(row), length)
        })
    }))
}

/// Returns the byte range of `length` characters from `start`.
pub(in crate::expr) fn characters(text: &[u8], start: i64, length: i64) -> std::ops::Range<usize> {
    // Only the bytes up to the end of the substring need to be ASCII.
    if start > 0
        && let Some(end) = (start - 1).checked_add(length.max(0))
        && let Some(upto) = text.get(..end as usize)
        && upto.is_ascii()
    {
        return (start - 1) as usize..end as usize;
    }
    let ascii = text.is_ascii();
    let count = if ascii { text.len() } else { count_characters(text) } as i64;
    // Number of characters before the start; a start before the text or at 0 returns an empty
    // string.
    let skip = if start > 0 { start - 1 } else { count.saturating_add(start) };
    if start == 0 || skip < 0 || skip >= count || length <= 0 {
        return 0..0;
    }
    let end = skip.saturating_add(length).min(count);
    if ascii {
        return skip as usize..end as usize;
    }
    let mut starts =
        text.iter().enumerate().filter(|(_, b)| is_character_start(**b)).map(|(at, _)| at);
    let first = starts.nth(skip as usize).unwrap_or(text.len());
    let behind = if end == count {
        text.len()
    } else {
        starts.nth((end - skip - 1) as usize).unwrap_or(text.len())
    };
    first..behind
}

fn starts_with(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let (text, start) = (&call.args[0], &call.args[1]);
        call.boolean(test_rows(call.rows, |row| text.string(row).starts_with(start.string(row))))
    }))
}

fn ends_with(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let (text, end) = (&call.args[0], &call.args[1]);
        call.boolean(test_rows(call.rows, |row| text.string(row).ends_with(end.string(row))))
    }))
}

/// Returns the position of the first occurrence in characters, from 1; 0 when there is none.
pub(super) fn strpos(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    if args.len() == 3 {
        return Ok(Kernel::new(split_replace::position));
    }
    Ok(Kernel::new(|call| {
        let (text, part) = (&call.args[0], &call.args[1]);
        numbers(call, |row| {
            let text = text.string(row);
            match memmem::find(text, part.string(row)) {
                Some(at) => count_characters(&text[..at]) as i64 + 1,
                None => 0,
            }
        })
    }))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn cut(text: &str, start: i64, length: i64) -> &str {
        std::str::from_utf8(&text.as_bytes()[characters(text.as_bytes(), start, length)]).unwrap()
    }

    #[test]
    fn characters_are_counted_by_their_first_bytes() {
        let text = "aäöü€𝄞z".repeat(5);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert_eq!(count_characters(&text.as_bytes()[..end]), text[..end].chars().count());
        }
    }

    #[test]
    fn substrings_count_characters_from_either_end() {
        assert_eq!(cut("abcdef", 2, 3), "bcd");
        assert_eq!(cut("abcdef", -2, i64::MAX), "ef");
        assert_eq!(cut("äöüß", 2, 2), "öü");
        assert_eq!(cut("äöüß", -1, 5), "ß");
        assert_eq!(cut("äöüß", 4, i64::MAX), "ß");
        for (start, length) in [(0, 3), (7, 1), (-7, 2), (1, 0), (1, -1), (i64::MIN, 1)] {
            assert_eq!(cut("abcdef", start, length), "", "{start} {length}");
        }
    }
}
