//! `date_trunc`: truncates dates and timestamps to the start of a unit, as in `date_trunc('month',
//! day)`. Weeks start on Monday.

use vector::types::calendar::{Date, date_of, days_from_civil};
use vector::types::temporal::SECONDS_PER_DAY;
use vector::{Buffer, Error, Result, Timestamp, Type, TypeKind, Value};

use super::calendar::map_dates;
use crate::expr::kernel::{Argument, Kernel, Operand, Side, map, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[Function::scalar(
    "date_trunc",
    &["(VARCHAR, DATE) -> DATE", "(VARCHAR, TIMESTAMP) -> TIMESTAMP"],
    date_trunc,
)
.with_rule(unit_and_point)];

/// Resolves the name of a unit, and a DATE or TIMESTAMP.
fn unit_and_point(types: &[Type]) -> Option<Resolved> {
    let [Type::Varchar, point @ (Type::Date | Type::Timestamp)] = types else { return None };
    Some(Resolved::new(types.to_vec(), point.clone()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// A unit of this many seconds, at most a day.
    Seconds(i64),
    Week,
    Month,
    Quarter,
    Year,
}

/// Truncates to the start of the unit, which must be a constant.
pub(super) fn date_trunc(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let unit = match args.first().and_then(|unit| unit.constant) {
        Some(Value::Bytes(name)) => unit_of(&String::from_utf8_lossy(name))?,
        _ => return Err(Error::unsupported("date_trunc with a unit that is no constant")),
    };
    Ok(match result.kind() {
        TypeKind::Integer => {
            if let Unit::Seconds(seconds) = unit
                && seconds < SECONDS_PER_DAY
            {
                return Err(Error::invalid_input("a date has no unit as small as this"));
            }
            Kernel::new(move |call| {
                let days = Operand::<i32>::new(&call.args[1])?;
                call.fixed(cut_days(days.side(), call.num_rows(), unit))
            })
        }
        TypeKind::Timestamp => Kernel::new(move |call| {
            let points = Operand::<Timestamp>::new(&call.args[1])?;
            let cut = |point: Timestamp| match unit {
                Unit::Seconds(seconds) => {
                    let into = point.seconds().rem_euclid(seconds);
                    Timestamp::new(point.seconds().saturating_sub(into), 0)
                }
                unit => {
                    let day = start_of_day(point.days(), unit);
                    Timestamp::new(day.saturating_mul(SECONDS_PER_DAY), 0)
                }
            };
            call.fixed(map(points.side(), call.num_rows(), cut))
        }),
        _ => return Err(wrong_storage(result)),
    })
}

fn unit_of(name: &str) -> Result<Unit> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "second" => Unit::Seconds(1),
        "minute" => Unit::Seconds(60),
        "hour" => Unit::Seconds(3600),
        "day" => Unit::Seconds(SECONDS_PER_DAY),
        "week" => Unit::Week,
        "month" => Unit::Month,
        "quarter" => Unit::Quarter,
        "year" => Unit::Year,
        _ => return Err(Error::invalid_input("no such unit of time").with("unit", name)),
    })
}

/// Returns the first day of the unit of each day.
fn cut_days(days: Side<'_, i32>, len: usize, unit: Unit) -> Buffer<i32> {
    let cut = |day: i32| start_of_day(i64::from(day), unit) as i32;
    match unit {
        Unit::Seconds(_) | Unit::Week => map(days, len, cut),
        Unit::Month => map_dates(days, len, |day, date| start_of_month(day.into(), date) as i32),
        Unit::Year => map_dates(days, len, |day, date| start_of_year(day.into(), date) as i32),
        Unit::Quarter => {
            map_dates(days, len, |day, date| start_of_quarter(day.into(), date) as i32)
        }
    }
}

/// Returns the first day of the unit of `day`.
fn start_of_day(day: i64, unit: Unit) -> i64 {
    match unit {
        Unit::Seconds(_) => day,
        // The epoch was a Thursday.
        Unit::Week => day.saturating_sub((day + 3).rem_euclid(7)),
        Unit::Month => start_of_month(day, date_of(day)),
        Unit::Quarter => start_of_quarter(day, date_of(day)),
        Unit::Year => start_of_year(day, date_of(day)),
    }
}

#[inline]
fn start_of_month(day: i64, date: Date) -> i64 {
    day - i64::from(date.day - 1)
}

#[inline]
fn start_of_quarter(day: i64, date: Date) -> i64 {
    let first_month = (date.month - 1) / 3 * 3 + 1;
    days_from_civil(date.year, first_month, 1).unwrap_or(day)
}

#[inline]
fn start_of_year(day: i64, date: Date) -> i64 {
    day - i64::from(date.day_of_year)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns the first day of the months of the unit, by the calendar.
    fn expected(day: i64, months: u32) -> i64 {
        let date = date_of(day);
        days_from_civil(date.year, (date.month - 1) / months * months + 1, 1).unwrap()
    }

    #[test]
    fn days_are_cut_to_the_first_of_their_months() {
        let days: Vec<i32> =
            (-40_000..40_000).step_by(13).chain([i32::MIN + 400, i32::MAX - 400]).collect();
        for (unit, months) in [(Unit::Month, 1), (Unit::Quarter, 3), (Unit::Year, 12)] {
            let cut = cut_days(Side::Many(&days), days.len(), unit);
            for (day, start) in days.iter().zip(cut.iter()) {
                assert_eq!(i64::from(*start), expected(i64::from(*day), months), "{unit:?} {day}");
                assert_eq!(start_of_day(i64::from(*day), unit), i64::from(*start));
            }
        }
    }
}
