//! Functions of dates and timestamps: year, month, day, and addition of intervals.

use vector::types::calendar::{
    Date, NEAR_DAYS, date_of, days_from_civil, days_in_month, near_date,
};
use vector::types::temporal::{NANOS_PER_SECOND, SECONDS_PER_DAY};
use vector::{Buffer, Error, FlatType, Interval, Native, Result, Timestamp, Type, TypeKind};

use crate::expr::functions::cast;
use crate::expr::kernel::{Argument, Call, Kernel, Operand, Side, map, wrong_storage, zip};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("year", DATED, year),
    Function::scalar("month", DATED, month),
    Function::scalar("day", DATED, day),
    Function::scalar("day_of_month", &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"], day),
    Function::scalar("date", &["(VARCHAR) -> DATE", "(TIMESTAMP) -> DATE"], date),
];

const DATED: &[&str] = &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"];

pub(super) fn year(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    part(args, result, |date| date.year)
}

pub(super) fn month(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    part(args, result, |date| i64::from(date.month))
}

pub(super) fn day(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    part(args, result, |date| i64::from(date.day))
}

fn part(
    args: &[Argument<'_>],
    result: &Type,
    of: impl Fn(Date) -> i64 + Send + Sync + 'static,
) -> Result<Kernel> {
    match args.first().map(|arg| arg.ty.kind()) {
        Some(TypeKind::Integer) => Ok(Kernel::new(move |call| {
            let days = Operand::<i32>::new(&call.args[0])?;
            call.fixed(map_dates(days.side(), call.num_rows(), |_, date| of(date)))
        })),
        Some(TypeKind::Timestamp) => Ok(Kernel::new(move |call| {
            let points = Operand::<Timestamp>::new(&call.args[0])?;
            call.fixed(map(points.side(), call.num_rows(), |x: Timestamp| of(date_of(x.days()))))
        })),
        _ => Err(wrong_storage(result)),
    }
}

/// Applies `f` to every day and its date. If all days are near the epoch, which is checked first,
/// the loop has no branch and is vectorized.
#[inline]
pub(super) fn map_dates<R: Native>(
    days: Side<'_, i32>,
    len: usize,
    mut f: impl FnMut(i32, Date) -> R,
) -> Buffer<R> {
    let all_near = match days {
        Side::Many(days) => days.iter().fold(true, |near, day| near & NEAR_DAYS.contains(day)),
        Side::One(day) => NEAR_DAYS.contains(&day),
    };
    if all_near {
        map(days, len, |day| f(day, near_date(day)))
    } else {
        map(days, len, |day| f(day, date_of(i64::from(day))))
    }
}

/// Converts a timestamp or a string to a date.
pub(super) fn date(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let from = args.first().ok_or_else(|| wrong_storage(result))?;
    cast::bind(from.ty, result, false)
}

/// Creates a kernel that adds an interval to a date or timestamp, or subtracts it if `back`; either
/// argument may be the interval.
pub(in crate::expr) fn bind_interval(back: bool, left: &Type) -> Result<Kernel> {
    let (point, interval) = if left == &Type::Interval { (1, 0) } else { (0, 1) };
    Ok(Kernel::new(move |call| match call.ty {
        Type::Date => match moved_alike(call, point, interval, back)? {
            Some(days) => call.fixed(days),
            None => moved::<i32>(call, point, interval, |days, by| {
                let moved = move_days(i64::from(days), by, back)?;
                i32::try_from(moved.checked_add(days_of_millis(by, back))?).ok()
            }),
        },
        Type::Timestamp => moved::<Timestamp>(call, point, interval, |point, by| {
            let second = point.seconds().rem_euclid(SECONDS_PER_DAY);
            let days = move_days(point.days(), by, back)?;
            let seconds = days.checked_mul(SECONDS_PER_DAY)?.checked_add(second)?;
            let nanos =
                i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(point.nanos());
            let millis = i128::from(by.millis) * 1_000_000;
            let nanos = if back { nanos - millis } else { nanos + millis };
            let unit = i128::from(NANOS_PER_SECOND);
            let seconds = i64::try_from(nanos.div_euclid(unit)).ok()?;
            Some(Timestamp::new(seconds, nanos.rem_euclid(unit) as u64))
        }),
        other => Err(wrong_storage(other)),
    }))
}

/// A date has no time of day: milliseconds move it by whole days only.
fn days_of_millis(by: Interval, back: bool) -> i64 {
    let days = i64::from(by.millis) / (SECONDS_PER_DAY * 1000);
    if back { -days } else { days }
}

/// Adds the same interval to all dates. Returns `None` when the intervals differ, or when a date
/// leaves the range, as its row may not count.
fn moved_alike(
    call: &Call<'_>,
    point: usize,
    interval: usize,
    back: bool,
) -> Result<Option<Buffer<i32>>> {
    let (days, intervals) =
        (Operand::<i32>::new(&call.args[point])?, Operand::<i128>::new(&call.args[interval])?);
    let Side::One(by) = intervals.side() else { return Ok(None) };
    let by = Interval::from_stored(by);
    let sign = if back { -1 } else { 1 };
    let (months, by_days) = (sign * i64::from(by.months), sign * i64::from(by.days));
    let by_days = by_days + days_of_millis(by, back);
    let mut failed = false;
    let mut keep = |day: i64| {
        failed |= i64::from(day as i32) != day;
        day as i32
    };
    let (days, len) = (days.side(), call.num_rows());
    let moved = match months {
        0 => map(days, len, |day: i32| keep(i64::from(day) + by_days)),
        _ => map_dates(days, len, |_, date| {
            keep(move_months(date, months).unwrap_or(i64::MAX).saturating_add(by_days))
        }),
    };
    Ok((!failed).then_some(moved))
}

/// Keeps the day of the month, unless the target month is shorter.
#[inline]
pub(super) fn move_months(date: Date, by: i64) -> Option<i64> {
    let months = (date.year * 12 + i64::from(date.month) - 1).checked_add(by)?;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
    days_from_civil(year, month, date.day.min(days_in_month(year, month)))
}

/// Adds the months first, then the days.
fn move_days(days: i64, by: Interval, back: bool) -> Option<i64> {
    let sign = if back { -1 } else { 1 };
    let moved = match by.months {
        0 => days,
        months => move_months(date_of(days), sign * i64::from(months))?,
    };
    moved.checked_add(sign * i64::from(by.days))
}

/// Applies `f` to every time and interval. Returns an error for the first counted row without a
/// result.
fn moved<T: FlatType + Default>(
    call: &Call<'_>,
    point: usize,
    interval: usize,
    f: impl Fn(T, Interval) -> Option<T>,
) -> Result<vector::Vector> {
    let (points, intervals) =
        (Operand::<T>::new(&call.args[point])?, Operand::<i128>::new(&call.args[interval])?);
    let (points, intervals, len) = (points.side(), intervals.side(), call.num_rows());
    let mut failed = false;
    let mut keep = |moved: Option<T>| {
        failed |= moved.is_none();
        moved.unwrap_or_default()
    };
    let values = match intervals {
        Side::One(by) => {
            let by = Interval::from_stored(by);
            map(points, len, |x| keep(f(x, by)))
        }
        many => zip(points, many, len, |x, by| keep(f(x, Interval::from_stored(by)))),
    };
    if failed {
        let by = |row| Interval::from_stored(intervals.at(row));
        if let Some(row) = call.first_row(|row| f(points.at(row), by(row)).is_none()) {
            return Err(Error::invalid_input("a date moves out of range").with("interval", by(row)));
        }
    }
    call.fixed(values)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::types::temporal::parse_date;

    fn interval(months: u32, days: u32) -> Interval {
        Interval { months, days, millis: 0 }
    }

    #[test]
    fn months_keep_the_day_where_the_month_has_it() {
        let day = |text: &str| parse_date(text).unwrap();
        assert_eq!(move_days(day("2024-01-31"), interval(1, 0), false), Some(day("2024-02-29")));
        assert_eq!(move_days(day("2024-03-31"), interval(13, 0), true), Some(day("2023-02-28")));
        assert_eq!(move_days(day("1998-12-01"), interval(0, 90), true), Some(day("1998-09-02")));
        assert_eq!(move_days(day("1994-01-01"), interval(12, 0), false), Some(day("1995-01-01")));
        assert_eq!(move_days(day("1994-01-31"), interval(1, 1), false), Some(day("1994-03-01")));
    }

    #[test]
    fn dates_near_and_far_are_taken_apart_alike() {
        let near: Vec<i32> = (-1_000_000..1_000_000).step_by(7919).collect();
        let far: Vec<i32> = [near.as_slice(), &[i32::MIN, i32::MAX]].concat();
        let dates = |days: &[i32]| {
            let numbers = map_dates(Side::Many(days), days.len(), |_, date| {
                date.year * 10_000 + i64::from(date.month * 100 + date.day)
            });
            numbers.to_vec()
        };
        assert_eq!(dates(&near), dates(&far)[..near.len()]);
        assert_eq!(
            dates(&far)[near.len()..],
            [-5_877_641 * 10_000 + 623, 5_881_580 * 10_000 + 711]
        );
        assert_eq!(map_dates(Side::One(0), 2, |_, date| date.year).to_vec(), [1970, 1970]);
    }
}
