//! Storage and text of dates, times, timestamps and intervals. The calendar itself is in
//! `calendar.rs`.

use std::fmt;

pub use super::calendar::{civil_from_days, days_from_civil};

/// Unit of a TIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum TimeUnit {
    Millis,
    Micros,
    Nanos,
}

impl TimeUnit {
    /// Returns the number of fraction digits of the unit: 3, 6 or 9.
    pub fn digits(self) -> u8 {
        match self {
            TimeUnit::Millis => 3,
            TimeUnit::Micros => 6,
            TimeUnit::Nanos => 9,
        }
    }

    /// Returns the unit with `digits` fraction digits, or `None` if there is no such unit.
    pub fn from_digits(digits: u8) -> Option<Self> {
        match digits {
            3 => Some(TimeUnit::Millis),
            6 => Some(TimeUnit::Micros),
            9 => Some(TimeUnit::Nanos),
            _ => None,
        }
    }

    /// Returns the number of units per second.
    #[inline]
    pub fn per_second(self) -> i64 {
        match self {
            TimeUnit::Millis => 1_000,
            TimeUnit::Micros => 1_000_000,
            TimeUnit::Nanos => 1_000_000_000,
        }
    }
}

/// Number of nanoseconds per second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Number of seconds per day.
pub const SECONDS_PER_DAY: i64 = 86_400;

/// A timestamp, stored as seconds since 1970-01-01T00:00:00 and nanoseconds within the second (rule
/// S1.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(C)]
pub struct Timestamp {
    seconds: i64,
    /// Nanoseconds, 0 to 999,999,999 for every value made by this type; only corrupted memory has
    /// larger ones.
    nanos: u64,
}

impl Timestamp {
    /// Creates a timestamp; `nanos` of one second or more are carried into the seconds, saturating.
    #[inline]
    pub fn new(seconds: i64, nanos: u64) -> Self {
        if nanos < NANOS_PER_SECOND {
            return Timestamp { seconds, nanos };
        }
        let carry = (nanos / NANOS_PER_SECOND) as i64;
        Timestamp { seconds: seconds.saturating_add(carry), nanos: nanos % NANOS_PER_SECOND }
    }

    /// Creates a timestamp from a number of units since the epoch, negative before it.
    #[inline]
    pub fn from_units(value: i64, unit: TimeUnit) -> Self {
        let per_second = unit.per_second();
        let seconds = value.div_euclid(per_second);
        let nanos = value.rem_euclid(per_second) as u64 * (NANOS_PER_SECOND / per_second as u64);
        Timestamp { seconds, nanos }
    }

    /// Returns midnight of a day since the epoch.
    pub fn from_days(days: i32) -> Self {
        Timestamp { seconds: i64::from(days) * SECONDS_PER_DAY, nanos: 0 }
    }

    /// Returns whole seconds since the epoch, rounded down.
    #[inline]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Returns the nanoseconds after [`Timestamp::seconds`].
    #[inline]
    pub fn nanos(self) -> u64 {
        self.nanos
    }

    /// Returns the number of units since the epoch, rounded down, or `None` if it does not fit 64
    /// bits.
    pub fn to_units(self, unit: TimeUnit) -> Option<i64> {
        let per_second = unit.per_second();
        let part = self.nanos / (NANOS_PER_SECOND / per_second as u64);
        self.seconds.checked_mul(per_second)?.checked_add(part as i64)
    }

    /// Returns the day since the epoch, rounded down.
    pub fn days(self) -> i64 {
        self.seconds.div_euclid(SECONDS_PER_DAY)
    }

    /// Parses `YYYY-MM-DD[ HH:MM[:SS[.fraction]]]` with `' '` or `'T'` between date and time;
    /// fraction digits after the ninth are truncated. Returns `None` if the text has another form
    /// or the time does not exist.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let split = text.char_indices().skip(1).find(|(_, c)| *c == ' ' || *c == 'T');
        let (date, time) = match split {
            Some((at, _)) => (&text[..at], Some(text[at + 1..].trim_start())),
            None => (text, None),
        };
        let days = parse_date(date)?;
        let (seconds, nanos) = match time {
            Some(time) => parse_time(time)?,
            None => (0, 0),
        };
        let seconds = days.checked_mul(SECONDS_PER_DAY)?.checked_add(seconds)?;
        Some(Timestamp { seconds, nanos })
    }
}

impl fmt::Display for Timestamp {
    /// Writes `YYYY-MM-DD HH:MM:SS[.fraction]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY) as u64;
        write_date(f, self.days())?;
        f.write_str(" ")?;
        write_time(f, second, self.nanos)
    }
}

/// Months, days and milliseconds, each an unsigned 32-bit number as in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Interval {
    pub months: u32,
    pub days: u32,
    pub millis: u32,
}

impl Interval {
    /// Returns the stored number, which orders intervals by months, then days, then milliseconds.
    pub fn to_stored(self) -> i128 {
        (i128::from(self.months) << 64) | (i128::from(self.days) << 32) | i128::from(self.millis)
    }

    /// Returns the interval of a stored number.
    pub fn from_stored(value: i128) -> Self {
        Interval { months: (value >> 64) as u32, days: (value >> 32) as u32, millis: value as u32 }
    }

    /// Returns the 12 bytes of the Parquet format: three little-endian numbers.
    pub fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..4].copy_from_slice(&self.months.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.days.to_le_bytes());
        bytes[8..].copy_from_slice(&self.millis.to_le_bytes());
        bytes
    }

    /// Returns the interval of the 12 bytes of the Parquet format.
    pub fn from_bytes(bytes: [u8; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        Interval {
            months: u32::from_le_bytes([a, b, c, d]),
            days: u32::from_le_bytes([e, f, g, h]),
            millis: u32::from_le_bytes([i, j, k, l]),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} months {} days {} ms", self.months, self.days, self.millis)
    }
}

/// Parses `[+-]Y..Y-M[M]-D[D]`, with 4 to 9 digits for the year, to days since the epoch. Returns
/// `None` if the text has another form or the date does not exist.
pub fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut parts = rest.split('-');
    let year = digits(parts.next()?, 4, 9)?;
    let month = digits(parts.next()?, 1, 2)?;
    let day = digits(parts.next()?, 1, 2)?;
    if parts.next().is_some() {
        return None;
    }
    days_from_civil(sign * year as i64, month as u32, day as u32)
}

/// Parses `H[H]:MM[:SS[.fraction]]` to seconds of the day and nanoseconds. Returns `None` if the
/// text has another form or the time does not exist.
pub fn parse_time(text: &str) -> Option<(i64, u64)> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 1, 2)?;
    let minute = digits(parts.next()?, 2, 2)?;
    let second = match parts.next() {
        Some(second) => digits(second, 2, 2)?,
        None if fraction.is_some() => return None,
        None => 0,
    };
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut nanos = 0;
    if let Some(fraction) = fraction {
        if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let kept = &fraction[..fraction.len().min(9)];
        nanos = kept.parse::<u64>().ok()? * 10u64.pow(9 - kept.len() as u32);
    }
    Some(((hour * 3600 + minute * 60 + second) as i64, nanos))
}

fn digits(text: &str, min: usize, max: usize) -> Option<u64> {
    let fits = (min..=max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

/// Writes a day as `YYYY-MM-DD`. Years outside of 0 to 9999 are written in the expanded form of ISO
/// 8601 with a sign, as `+10000-01-01` or `-0001-12-31`.
pub fn write_date(out: &mut impl fmt::Write, days: i64) -> fmt::Result {
    let (year, month, day) = civil_from_days(days);
    match year {
        0..=9999 => write!(out, "{year:04}")?,
        10_000.. => write!(out, "+{year}")?,
        _ => write!(out, "-{:04}", year.unsigned_abs())?,
    }
    write!(out, "-{month:02}-{day:02}")
}

/// Writes `HH:MM:SS` and, unless it is zero, the fraction without trailing zeros.
pub fn write_time(out: &mut impl fmt::Write, second_of_day: u64, nanos: u64) -> fmt::Result {
    let (hour, minute, second) =
        (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    write!(out, "{hour:02}:{minute:02}:{second:02}")?;
    if nanos == 0 {
        return Ok(());
    }
    let mut fraction = nanos;
    let mut width = 9;
    while fraction.is_multiple_of(10) {
        fraction /= 10;
        width -= 1;
    }
    write!(out, ".{fraction:0width$}")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn date(days: i64) -> String {
        let mut out = String::new();
        write_date(&mut out, days).unwrap();
        out
    }

    #[test]
    fn days_and_dates_convert_both_ways() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(date(18_321), "2020-02-29");
        assert_eq!(date(2_932_897), "+10000-01-01");
        assert_eq!(date(-719_529), "-0001-12-31");
        for days in (-3_000_000..3_000_000).step_by(997) {
            let (y, m, d) = civil_from_days(days);
            assert_eq!(days_from_civil(y, m, d), Some(days));
        }
        for extreme in [i64::from(i32::MIN), i64::from(i32::MAX)] {
            let (y, m, d) = civil_from_days(extreme);
            assert_eq!(days_from_civil(y, m, d), Some(extreme));
        }
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for text in ["2021-02-29", "2020-13-01", "2020-00-01", "2020-01-32", "20-1-1", "x", ""] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(parse_date(" 2020-2-3 "), days_from_civil(2020, 2, 3));
    }

    #[test]
    fn timestamps_before_the_epoch_round_down() {
        let t = Timestamp::from_units(-1, TimeUnit::Millis);
        assert_eq!((t.seconds(), t.nanos()), (-1, 999_000_000));
        assert_eq!(t.to_string(), "1969-12-31 23:59:59.999");
        assert_eq!(t.to_units(TimeUnit::Millis), Some(-1));
        assert_eq!(Timestamp::parse("1969-12-31 23:59:59.999"), Some(t));
        assert_eq!(Timestamp::parse("1969-12-31T23:59:59.9990000001"), Some(t));
        assert_eq!(Timestamp::parse("2020-01-01 24:00"), None);
    }

    #[test]
    fn an_interval_keeps_its_parts() {
        let i = Interval { months: u32::MAX, days: 2, millis: u32::MAX };
        assert_eq!(Interval::from_stored(i.to_stored()), i);
        assert_eq!(Interval::from_bytes(i.to_bytes()), i);
    }
}
