//! `date_format(timestamp, format)`: formats times with the specifiers of MySQL.
//!
//! A specifier is `%` and a letter. An unknown letter stands for itself, and a `%` at the end is
//! dropped. Names are English.

use std::fmt::Write;

use vector::types::calendar::date_of;
use vector::{Error, Result, Timestamp, Vector};

use super::parts::{millis_of_day, thursday, weekday};
use crate::expr::by_row::texts;
use crate::expr::kernel::{Call, Operand};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::rows("date_format", &["(TIMESTAMP, VARCHAR) -> VARCHAR"], date_format)];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

pub(super) fn date_format(call: &Call<'_>) -> Result<Vector> {
    let points = Operand::<Timestamp>::new(&call.args[0])?;
    let mut text = String::new();
    texts(call, &mut |row, out| {
        let format = String::from_utf8_lossy(call.args[1].string(row));
        text.clear();
        write_point(&mut text, points.side().at(row), &format)?;
        out.extend_from_slice(text.as_bytes());
        Ok(true)
    })
}

fn write_point(out: &mut String, point: Timestamp, format: &str) -> Result<()> {
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
        } else if let Some(specifier) = rest.next() {
            write_part(out, point, specifier)?;
        }
    }
    Ok(())
}

fn write_part(out: &mut String, point: Timestamp, specifier: char) -> Result<()> {
    let (day, second) = (point.days(), millis_of_day(point) / 1_000);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    let second = second % 60;
    let (date, of_twelve) = (date_of(day), (hour + 11) % 12 + 1);
    let half = if hour < 12 { "AM" } else { "PM" };
    let name = |names: &[&'static str], index: i64| {
        usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default()
    };
    let (month, weekday_name) =
        (name(&MONTHS, i64::from(date.month) - 1), name(&DAYS, weekday(day)));
    let year = |out: &mut String, year: i64| {
        let sign = if year < 0 { "-" } else { "" };
        write!(out, "{sign}{:04}", year.unsigned_abs())
    };
    // Writing to a string cannot fail.
    let _ = match specifier {
        'a' => write!(out, "{weekday_name:.3}"),
        'b' => write!(out, "{month:.3}"),
        'c' => write!(out, "{}", date.month),
        'd' => write!(out, "{:02}", date.day),
        'e' => write!(out, "{}", date.day),
        'f' => write!(out, "{:06}", point.nanos() / 1_000),
        'H' => write!(out, "{hour:02}"),
        'h' | 'I' => write!(out, "{of_twelve:02}"),
        'i' => write!(out, "{minute:02}"),
        'j' => write!(out, "{:03}", date.day_of_year + 1),
        'k' => write!(out, "{hour}"),
        'l' => write!(out, "{of_twelve}"),
        'M' => write!(out, "{month}"),
        'm' => write!(out, "{:02}", date.month),
        'p' => write!(out, "{half}"),
        'r' => write!(out, "{of_twelve:02}:{minute:02}:{second:02} {half}"),
        'S' | 's' => write!(out, "{second:02}"),
        'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        'v' => write!(out, "{:02}", thursday(day).day_of_year / 7 + 1),
        'W' => write!(out, "{weekday_name}"),
        'x' => year(out, thursday(day).year),
        'Y' => year(out, date.year),
        'y' => write!(out, "{:02}", date.year.unsigned_abs() % 100),
        'D' | 'U' | 'u' | 'V' | 'w' | 'X' => {
            return Err(Error::unsupported("a part of a date that has no form here")
                .with("specifier", format!("%{specifier}")));
        }
        other => {
            out.push(other);
            Ok(())
        }
    };
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn specifiers_write_what_velox_writes_for_them() {
        // Observed from Velox 0.2.0.
        for (point, format, expected) in [
            (
                "2021-01-03 04:05:06.789",
                "%a %b %c %d %e %f %H %h %I %i %j",
                "Sun Jan 1 03 3 789000 04 04 04 05 003",
            ),
            (
                "2021-01-03 04:05:06.789",
                "%k %l %M %m %p %r %S %s %T",
                "4 4 January 01 AM 04:05:06 AM 06 06 04:05:06",
            ),
            ("2021-01-03 04:05:06.789", "%v %W %x %Y %y %% %z", "53 Sunday 2020 2021 21 % z"),
            ("2020-07-09 12:00:00", "%h %l %k %p %r", "12 12 12 PM 12:00:00 PM"),
            ("2020-07-09 00:30:00", "%h %p", "12 AM"),
            ("-0099-07-09 13:00:00", "%Y %y %x", "-0099 99 -0099"),
            ("2020-07-09 13:00:00", "ä%%é%", "ä%é"),
        ] {
            let mut text = String::new();
            write_point(&mut text, Timestamp::parse(point).unwrap(), format).unwrap();
            assert_eq!(text, expected, "{point} {format}");
        }
        let mut text = String::new();
        assert!(write_point(&mut text, Timestamp::default(), "%D").is_err());
    }
}
