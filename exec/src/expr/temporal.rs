//! Functions of dates and timestamps: year, month, day, and moving them by an interval.

use vector::types::temporal::{
    NANOS_PER_SECOND, SECONDS_PER_DAY, civil_from_days, days_from_civil,
};
use vector::{BufferMut, Error, FlatType, Interval, Result, Timestamp, Type, TypeKind};

use super::kernel::{Argument, Call, Kernel, Operand, map, wrong_storage};

pub(super) fn year(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    part(args, result, |days| civil_from_days(days).0)
}

pub(super) fn month(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    part(args, result, |days| i64::from(civil_from_days(days).1))
}

pub(super) fn day(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    part(args, result, |days| i64::from(civil_from_days(days).2))
}

fn part(
    args: &[Argument<'_>],
    result: &Type,
    of_day: impl Fn(i64) -> i64 + Send + Sync + 'static,
) -> Result<Kernel> {
    match args.first().map(|arg| arg.ty.kind()) {
        Some(TypeKind::Integer) => Ok(Kernel::new(move |call| {
            let days = Operand::<i32>::new(&call.args[0])?;
            call.fixed(map(days.side(), call.num_rows(), |x: i32| of_day(i64::from(x))))
        })),
        Some(TypeKind::Timestamp) => Ok(Kernel::new(move |call| {
            let points = Operand::<Timestamp>::new(&call.args[0])?;
            call.fixed(map(points.side(), call.num_rows(), |x: Timestamp| of_day(x.days())))
        })),
        _ => Err(wrong_storage(result)),
    }
}

/// Moves a date or timestamp by an interval, backwards when `back`; the interval may stand first.
pub(super) fn bind_interval(back: bool, left: &Type) -> Result<Kernel> {
    let (point, interval) = if left == &Type::Interval { (1, 0) } else { (0, 1) };
    Ok(Kernel::new(move |call| match call.ty {
        Type::Date => moved::<i32>(call, point, interval, |days, by| {
            let moved = move_days(i64::from(days), by, back)?;
            // A date has no time of day: milliseconds move it by whole days only.
            let millis = i64::from(by.millis) / (SECONDS_PER_DAY * 1000);
            i32::try_from(if back { moved - millis } else { moved + millis }).ok()
        }),
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

/// Months first, keeping the day of the month where that month has it, then days.
fn move_days(days: i64, by: Interval, back: bool) -> Option<i64> {
    let sign = if back { -1 } else { 1 };
    let mut moved = days;
    if by.months != 0 {
        let (year, month, day) = civil_from_days(days);
        let months = year * 12 + i64::from(month) - 1 + sign * i64::from(by.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
        moved = (28..=day)
            .rev()
            .find_map(|day| days_from_civil(year, month, day))
            .or_else(|| days_from_civil(year, month, day))?;
    }
    moved.checked_add(sign * i64::from(by.days))
}

fn moved<T: FlatType + Default>(
    call: &Call<'_>,
    point: usize,
    interval: usize,
    f: impl Fn(T, Interval) -> Option<T>,
) -> Result<vector::Vector> {
    let (points, intervals) =
        (Operand::<T>::new(&call.args[point])?, Operand::<i128>::new(&call.args[interval])?);
    let (points, intervals) = (points.side(), intervals.side());
    let mut out = BufferMut::new();
    out.resize(call.num_rows(), T::default());
    for row in call.rows.iter() {
        let by = Interval::from_stored(intervals.at(row));
        out[row] = f(points.at(row), by).ok_or_else(|| {
            Error::invalid_input("a date moves out of range").with("interval", by)
        })?;
    }
    call.fixed(out.freeze())
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
}
