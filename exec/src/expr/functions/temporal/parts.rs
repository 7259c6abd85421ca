//! Fields of dates and timestamps that have no specialized loop: `hour`, `week`, `quarter` and
//! others.
//!
//! Each is a function of the day since 1970-01-01 and of the milliseconds since midnight; a DATE is
//! its midnight. Weeks are those of ISO 8601: they begin on Monday, and the first week of a year is
//! the one that contains its first Thursday.

use vector::types::calendar::{Date, date_of};
use vector::types::temporal::SECONDS_PER_DAY;
use vector::{Result, Timestamp, TypeKind, Vector};

use crate::expr::kernel::{Call, Operand, map};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows("hour", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], hour),
    Function::rows("minute", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], minute),
    Function::rows("second", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], second),
    Function::rows("millisecond", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], millisecond),
    Function::rows("quarter", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], quarter),
    Function::rows("week", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], week),
    Function::rows("week_of_year", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], week),
    Function::rows("day_of_week", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], day_of_week),
    Function::rows("dow", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], day_of_week),
    Function::rows("day_of_year", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], day_of_year),
    Function::rows("doy", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], day_of_year),
    Function::rows("year_of_week", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], year_of_week),
    Function::rows("yow", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], year_of_week),
];

/// Applies `f` to every day and its milliseconds since midnight.
fn part(call: &Call<'_>, f: fn(i64, i64) -> i64) -> Result<Vector> {
    let (argument, len) = (&call.args[0], call.num_rows());
    if argument.kind() == TypeKind::Integer {
        let days = Operand::<i32>::new(argument)?;
        return call.fixed(map(days.side(), len, |day: i32| f(i64::from(day), 0)));
    }
    let points = Operand::<Timestamp>::new(argument)?;
    call.fixed(map(points.side(), len, |x: Timestamp| f(x.days(), millis_of_day(x))))
}

/// Returns the milliseconds since midnight.
pub(super) fn millis_of_day(point: Timestamp) -> i64 {
    point.seconds().rem_euclid(SECONDS_PER_DAY) * 1_000 + (point.nanos() / 1_000_000) as i64
}

/// Returns the day of the week, 0 for Monday. The epoch was a Thursday.
pub(super) fn weekday(day: i64) -> i64 {
    (day % 7 + 10) % 7
}

/// Returns the date of the Thursday in the same week, which determines the year of the week.
pub(super) fn thursday(day: i64) -> Date {
    date_of(day.saturating_add(3 - weekday(day)))
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident = $f:expr;)*) => { $(
        $(#[$doc])*
        pub(in crate::expr) fn $name(call: &Call<'_>) -> Result<Vector> { part(call, $f) }
    )* };
}

parts! {
    hour = |_, millis| millis / 3_600_000;
    minute = |_, millis| millis / 60_000 % 60;
    second = |_, millis| millis / 1_000 % 60;
    millisecond = |_, millis| millis % 1_000;
    quarter = |day, _| i64::from(date_of(day).month - 1) / 3 + 1;
    week = |day, _| i64::from(thursday(day).day_of_year) / 7 + 1;
    year_of_week = |day, _| thursday(day).year;
    /// 1 for Monday.
    day_of_week = |day, _| weekday(day) + 1;
    day_of_year = |day, _| i64::from(date_of(day).day_of_year) + 1;
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::types::calendar::days_from_civil;

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        // Observed from Velox 0.2.0.
        for ((year, month, day), week, of, weekday_number) in [
            ((1969, 12, 31), 1, 1970, 3),
            ((1969, 12, 29), 1, 1970, 1),
            ((2021, 1, 3), 53, 2020, 7),
            ((2021, 1, 4), 1, 2021, 1),
            ((2018, 12, 31), 1, 2019, 1),
            ((1, 1, 1), 1, 1, 1),
            ((-1, 1, 1), 53, -2, 5),
        ] {
            let days = days_from_civil(year, month, day).unwrap();
            let thursday = thursday(days);
            assert_eq!(i64::from(thursday.day_of_year) / 7 + 1, week, "{year}-{month}-{day}");
            assert_eq!(thursday.year, of, "{year}-{month}-{day}");
            assert_eq!(weekday(days) + 1, weekday_number, "{year}-{month}-{day}");
        }
        for day in -1000..1000 {
            assert_eq!(weekday(day), (day + 3).rem_euclid(7));
        }
        weekday(i64::MIN);
        thursday(i64::MAX);
    }
}
