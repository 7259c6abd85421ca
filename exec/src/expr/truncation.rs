//! Dates and timestamps cut to the start of a unit: `date_trunc('month', day)`. Weeks start on
//! Monday.

use vector::types::temporal::{SECONDS_PER_DAY, civil_from_days, days_from_civil};
use vector::{Error, Result, Timestamp, Type, TypeKind, Value};

use super::kernel::{Argument, Kernel, Operand, map, wrong_storage};
use super::registry::Resolved;

/// A unit's name, and a DATE or TIMESTAMP.
pub(super) fn unit_and_point(types: &[Type]) -> Option<Resolved> {
    let [Type::Varchar, point @ (Type::Date | Type::Timestamp)] = types else { return None };
    Some(Resolved::new(types.to_vec(), point.clone()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Of this many seconds, at most a day.
    Seconds(i64),
    Week,
    /// Of this many months, counted from January.
    Months(u32),
}

/// The start of the unit that a point lies in. The unit is a constant.
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
                let cut = |day: i32| start_of_day(i64::from(day), unit) as i32;
                call.fixed(map(days.side(), call.num_rows(), cut))
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
        "month" => Unit::Months(1),
        "quarter" => Unit::Months(3),
        "year" => Unit::Months(12),
        _ => return Err(Error::invalid_input("no such unit of time").with("unit", name)),
    })
}

/// The day that the unit of `day` starts with.
fn start_of_day(day: i64, unit: Unit) -> i64 {
    match unit {
        Unit::Seconds(_) => day,
        // The epoch was a Thursday.
        Unit::Week => day.saturating_sub((day + 3).rem_euclid(7)),
        Unit::Months(months) => {
            let (year, month, _) = civil_from_days(day);
            let first = (month - 1) / months * months + 1;
            days_from_civil(year, first, 1).unwrap_or(day)
        }
    }
}
