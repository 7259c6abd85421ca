//! `date_add`, `date_diff`, `last_day_of_month`, and conversions from and to Unix time.
//!
//! A unit is a number of milliseconds or a number of months. Adding months keeps the day, unless
//! the target month is shorter. A difference in months counts complete months; the last day of a
//! month completes every month that began on a later day of the month.

use vector::types::calendar::{date_of, days_in_month};
use vector::types::temporal::{NANOS_PER_SECOND, SECONDS_PER_DAY};
use vector::{BufferMut, DecodedVector, Error, Mapping, Result, Timestamp, Type, Vector};

use super::calendar::move_months;
use super::parts::millis_of_day;
use crate::expr::by_row::{Integers, numbers};
use crate::expr::kernel::{Call, Operand, map};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows(
        "date_add",
        &["(VARCHAR, BIGINT, DATE) -> DATE", "(VARCHAR, BIGINT, TIMESTAMP) -> TIMESTAMP"],
        date_add,
    ),
    Function::rows(
        "date_diff",
        &["(VARCHAR, DATE, DATE) -> BIGINT", "(VARCHAR, TIMESTAMP, TIMESTAMP) -> BIGINT"],
        date_diff,
    ),
    Function::rows(
        "last_day_of_month",
        &["(DATE) -> DATE", "(TIMESTAMP) -> DATE"],
        last_day_of_month,
    ),
    Function::rows("from_unixtime", &["(DOUBLE) -> TIMESTAMP"], from_unixtime),
    Function::rows("to_unixtime", &["(TIMESTAMP) -> DOUBLE"], to_unixtime),
];

const MILLIS_PER_DAY: i64 = SECONDS_PER_DAY * 1_000;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Millis(i64),
    Months(i64),
}

impl Unit {
    fn named(name: &[u8]) -> Result<Unit> {
        Ok(match name.to_ascii_lowercase().as_slice() {
            b"millisecond" => Unit::Millis(1),
            b"second" => Unit::Millis(1_000),
            b"minute" => Unit::Millis(60_000),
            b"hour" => Unit::Millis(3_600_000),
            b"day" => Unit::Millis(MILLIS_PER_DAY),
            b"week" => Unit::Millis(7 * MILLIS_PER_DAY),
            b"month" => Unit::Months(1),
            b"quarter" => Unit::Months(3),
            b"year" => Unit::Months(12),
            _ => {
                return Err(Error::invalid_input("no such unit of time")
                    .with("unit", String::from_utf8_lossy(name)));
            }
        })
    }
}

/// Units named by the first argument of a call, mostly the same for all rows.
struct Units<'a> {
    names: &'a DecodedVector,
    only: Option<Unit>,
    of_days: bool,
}

impl<'a> Units<'a> {
    fn new(call: &Call<'a>, point: &Type) -> Result<Self> {
        let mut units = Units { names: &call.args[0], only: None, of_days: *point == Type::Date };
        if matches!(units.names.mapping(), Mapping::Constant) {
            units.only = Some(units.at(0)?);
        }
        Ok(units)
    }

    fn at(&self, row: usize) -> Result<Unit> {
        if let Some(only) = self.only {
            return Ok(only);
        }
        let unit = Unit::named(self.names.string(row))?;
        if let Unit::Millis(millis) = unit
            && self.of_days
            && millis < MILLIS_PER_DAY
        {
            return Err(Error::invalid_input("a date has no unit as small as this"));
        }
        Ok(unit)
    }
}

/// Returns the time of each row.
type Points<'a> = Box<dyn Fn(usize) -> Timestamp + 'a>;

/// Returns the timestamps of an argument; a DATE is its midnight.
fn points(argument: &DecodedVector) -> Result<Points<'_>> {
    if *argument.ty() == Type::Date {
        let days = Operand::<i32>::new(argument)?;
        return Ok(Box::new(move |row| Timestamp::from_days(days.side().at(row))));
    }
    let points = Operand::<Timestamp>::new(argument)?;
    Ok(Box::new(move |row| points.side().at(row)))
}

#[cold]
fn out_of_range() -> Error {
    Error::invalid_input("a date moves out of range")
}

/// `date_add(unit, amount, point)`.
fn date_add(call: &Call<'_>) -> Result<Vector> {
    let [_, _, argument] = call.args else { return Err(out_of_range()) };
    let (units, amounts) = (Units::new(call, argument.ty())?, Integers::new(call, 1)?);
    let points = points(argument)?;
    let moved =
        |row: usize| moved(points(row), units.at(row)?, amounts.at(row)).ok_or_else(out_of_range);
    if *call.ty == Type::Date {
        return numbers(call, &mut |row| of_date(moved(row)?.days()));
    }
    let mut out = BufferMut::new();
    out.resize(call.num_rows(), Timestamp::default());
    for row in call.rows.iter() {
        out[row] = moved(row)?;
    }
    call.fixed(out.freeze())
}

/// Returns a day as the value of a DATE.
fn of_date(day: i64) -> Result<Option<i64>> {
    i32::try_from(day).map(|day| Some(day.into())).map_err(|_| out_of_range())
}

fn moved(point: Timestamp, unit: Unit, amount: i64) -> Option<Timestamp> {
    match unit {
        Unit::Months(months) => {
            let by = amount.checked_mul(months)?;
            let day = move_months(date_of(point.days()), by)?;
            let second = point.seconds().rem_euclid(SECONDS_PER_DAY);
            let seconds = day.checked_mul(SECONDS_PER_DAY)?.checked_add(second)?;
            Some(Timestamp::new(seconds, point.nanos()))
        }
        Unit::Millis(millis) => {
            let by = i128::from(amount) * i128::from(millis) * 1_000_000;
            let second = i128::from(NANOS_PER_SECOND);
            let nanos = i128::from(point.seconds()) * second + i128::from(point.nanos()) + by;
            let seconds = i64::try_from(nanos.div_euclid(second)).ok()?;
            Some(Timestamp::new(seconds, nanos.rem_euclid(second) as u64))
        }
    }
}

/// `date_diff(unit, from, to)`: number of complete units, rounded towards zero.
fn date_diff(call: &Call<'_>) -> Result<Vector> {
    let [_, from, to] = call.args else { return Err(out_of_range()) };
    let units = Units::new(call, from.ty())?;
    let (from, to) = (points(from)?, points(to)?);
    numbers(call, &mut |row| {
        let (from, to, unit) = (from(row), to(row), units.at(row)?);
        Ok(Some(if from <= to { distance(from, to, unit) } else { -distance(to, from, unit) }))
    })
}

/// Returns the number of complete units from one time to a later one.
fn distance(from: Timestamp, to: Timestamp, unit: Unit) -> i64 {
    match unit {
        Unit::Millis(unit) => {
            let millis = |point: Timestamp| {
                i128::from(point.days()) * i128::from(MILLIS_PER_DAY)
                    + i128::from(millis_of_day(point))
            };
            ((millis(to) - millis(from)) / i128::from(unit)) as i64
        }
        Unit::Months(unit) => {
            let (first, last) = (date_of(from.days()), date_of(to.days()));
            let begun =
                (last.year - first.year) * 12 + i64::from(last.month) - i64::from(first.month);
            let is_short = first.day > last.day && last.day != days_in_month(last.year, last.month)
                || first.day == last.day && millis_of_day(from) > millis_of_day(to);
            (begun - i64::from(is_short)) / unit
        }
    }
}

/// Returns the last day of the month of a time.
fn last_day_of_month(call: &Call<'_>) -> Result<Vector> {
    let points = points(&call.args[0])?;
    numbers(call, &mut |row| {
        let day = points(row).days();
        let date = date_of(day);
        of_date(day + i64::from(days_in_month(date.year, date.month)) - i64::from(date.day))
    })
}

/// Converts seconds since 1970 to a timestamp in whole milliseconds.
fn from_unixtime(call: &Call<'_>) -> Result<Vector> {
    let seconds = Operand::<f64>::new(&call.args[0])?;
    call.fixed(map(seconds.side(), call.num_rows(), point_of))
}

fn point_of(unixtime: f64) -> Timestamp {
    // Values are clamped to 64 bits of milliseconds, as in Velox; NaN is the epoch.
    if unixtime >= i64::MAX as f64 {
        return Timestamp::new(i64::MAX / 1_000, 807_000_000);
    }
    if unixtime <= i64::MIN as f64 {
        return Timestamp::new(i64::MIN / 1_000 - 1, 192_000_000);
    }
    let seconds = unixtime.floor();
    let millis = ((unixtime - seconds) * 1_000.0).round();
    Timestamp::new(seconds as i64, millis as u64 * 1_000_000)
}

/// Converts a timestamp to seconds since 1970.
fn to_unixtime(call: &Call<'_>) -> Result<Vector> {
    let points = Operand::<Timestamp>::new(&call.args[0])?;
    call.fixed(map(points.side(), call.num_rows(), |x: Timestamp| {
        x.seconds() as f64 + x.nanos() as f64 / NANOS_PER_SECOND as f64
    }))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn months_are_over_on_the_same_day_or_on_the_last_one() {
        // Observed from Velox 0.2.0.
        for (unit, from, to, expected) in [
            ("month", "2020-02-29 00:00:00", "2021-02-28 00:00:00", 12),
            ("month", "2021-01-31 00:00:00", "2021-02-28 00:00:00", 1),
            ("month", "2021-01-15 00:00:00", "2021-02-14 00:00:00", 0),
            ("month", "2020-01-31 12:00:00", "2020-02-29 11:00:00", 1),
            ("month", "2020-01-31 12:00:00", "2020-02-28 11:00:00", 0),
            ("month", "2020-01-15 12:00:00", "2020-02-15 11:00:00", 0),
            ("month", "2020-01-31 12:00:00", "2020-03-31 11:00:00", 1),
            ("quarter", "2019-01-31 00:00:00", "2019-06-30 00:00:00", 1),
            ("quarter", "2020-02-29 11:00:00", "2021-02-28 10:00:00", 4),
            ("year", "2020-02-29 00:00:00", "2021-02-28 00:00:00", 1),
            ("year", "2020-12-31 00:00:00", "2021-12-30 00:00:00", 0),
            ("year", "2019-02-15 12:00:00", "2020-02-15 11:00:00", 0),
            ("week", "1969-12-25 00:00:00", "1970-01-08 00:00:00", 2),
            ("day", "1970-01-01 12:00:00", "1970-01-03 11:00:00", 1),
            ("second", "2020-12-31 00:00:00.9", "2020-12-31 00:00:02.1", 1),
            ("millisecond", "1969-12-31 23:59:59.999", "1970-01-01 00:00:00", 1),
        ] {
            let unit = Unit::named(unit.as_bytes()).unwrap();
            assert_eq!(distance(at(from), at(to), unit), expected, "{unit:?} {from} {to}");
        }
    }

    #[test]
    fn points_move_by_units_and_keep_their_time_of_day() {
        for (unit, amount, from, to) in [
            ("month", 1, "2020-01-31 23:00:00.5", "2020-02-29 23:00:00.5"),
            ("quarter", -1, "2020-05-31 23:00:00.5", "2020-02-29 23:00:00.5"),
            ("YEAR", -1, "2020-02-29 23:00:00.5", "2019-02-28 23:00:00.5"),
            ("week", 2, "2021-01-31 00:00:00", "2021-02-14 00:00:00"),
            ("millisecond", 1500, "1969-12-31 23:59:59.999", "1970-01-01 00:00:01.499"),
            ("hour", -25, "1970-01-01 00:00:00.5", "1969-12-30 23:00:00.5"),
        ] {
            let unit = Unit::named(unit.as_bytes()).unwrap();
            assert_eq!(moved(at(from), unit, amount), Some(at(to)), "{unit:?} {amount} {from}");
        }
        for amount in [i64::MIN, i64::MAX] {
            for unit in [Unit::Months(1), Unit::Months(12), Unit::Millis(7 * MILLIS_PER_DAY)] {
                assert_eq!(moved(at("2020-01-31 00:00:00"), unit, amount), None, "{unit:?}");
            }
        }
        assert!(Unit::named(b"decade").unwrap_err().is_user());
    }

    #[test]
    fn seconds_are_rounded_to_milliseconds() {
        assert_eq!(point_of(-1.5), at("1969-12-31 23:59:58.5"));
        assert_eq!(point_of(1.000_5), at("1970-01-01 00:00:01"));
        assert_eq!(point_of(1.999_999_9), at("1970-01-01 00:00:02"));
        assert_eq!(point_of(f64::NAN), at("1970-01-01 00:00:00"));
        assert_eq!(point_of(f64::INFINITY).seconds(), 9_223_372_036_854_775);
        assert_eq!(point_of(-1e300).seconds(), -9_223_372_036_854_776);
        assert_eq!(point_of(1e17).seconds(), 100_000_000_000_000_000);
    }
}
