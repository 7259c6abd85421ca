//! The proleptic Gregorian calendar: conversion between days since 1970-01-01 and year, month and
//! day.
//!
//! Both directions are compositions of functions `(a * n + b) / d`, as derived by C. Neri and L.
//! Schneider, "Euclidean affine functions and their application to calendar algorithms" (Software:
//! Practice and Experience 53(4), 2023, doi:10.1002/spe.3172). Years begin in March, so that the
//! leap day is the last day of a year. Each division is by a constant chosen such that its quotient
//! is one part of the date and its remainder leads to the next part.
//!
//! ```text
//! day ---(4n + 3) / 146097---> century, day of century ---(4n + 3) / 1461---> year, day of year
//!     ---(2141n + 197913) / 2^16---> month, day of month      years are counted from March
//! ```
//!
//! For [`NEAR_DAYS`] 32-bit arithmetic suffices; other days are moved into this range by whole eras
//! of 400 years. Loops over many days check once whether all of them are near and then run without
//! branches.

use std::ops::RangeInclusive;

/// Number of days in an era of 400 years.
const DAYS_PER_ERA: i64 = 146_097;
/// Number of days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
/// Number of eras that are added to near days, so that they count from zero.
const NEAR_ERAS: i64 = 82;
const NEAR_SHIFT: i32 = (EPOCH + NEAR_ERAS * DAYS_PER_ERA) as i32;
/// Zero-based day of January 1 in a year that begins in March, which is preceded by the 306 days of
/// ten months.
const JANUARY_FIRST: u32 = 306;
/// Zero-based day of March 1 in a common year that begins in January.
const MARCH_FIRST: u32 = 59;

/// Range of days that [`near_date`] accepts: from the year -32800 to beyond the year two million.
pub const NEAR_DAYS: RangeInclusive<i32> = -NEAR_SHIFT..=(1 << 30) - 1 - NEAR_SHIFT;

/// A day of the calendar, with its day of the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Astronomical year; the year 0 precedes the year 1.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u32,
    /// Day of the month, 1 to 31.
    pub day: u32,
    /// Number of days since January 1 of the year.
    pub day_of_year: u32,
}

/// Returns the date of a day in [`NEAR_DAYS`]; for other days the result is unspecified.
#[inline]
pub fn near_date(days: i32) -> Date {
    let days = days.wrapping_add(NEAR_SHIFT) as u32;
    // Of four consecutive centuries three have 36524 days and one has 36525.
    let quarters = days.wrapping_mul(4).wrapping_add(3);
    let century = quarters / DAYS_PER_ERA as u32;
    let day_of_century = quarters % DAYS_PER_ERA as u32 / 4;
    // `n / 1461` is a product with 2939745 / 2^32, which is exact in this range; the low half of
    // the product is the scaled remainder.
    let product = 2_939_745 * u64::from(4 * day_of_century + 3);
    let year_of_century = (product >> 32) as u32;
    let day_of_march_year = product as u32 / 2_939_745 / 4;
    let months = 2_141 * day_of_march_year + 197_913;
    let (march_month, day) = (months >> 16, (months & 0xffff) / 2_141);
    let march_year = i64::from(100 * century + year_of_century) - 400 * NEAR_ERAS;
    let is_next = day_of_march_year >= JANUARY_FIRST;
    let day_of_year = if is_next {
        day_of_march_year - JANUARY_FIRST
    } else {
        day_of_march_year + MARCH_FIRST + u32::from(is_leap(march_year))
    };
    Date {
        year: march_year + i64::from(is_next),
        month: if is_next { march_month - 12 } else { march_month },
        day: day + 1,
        day_of_year,
    }
}

/// Returns the date of any day since 1970-01-01.
#[inline]
pub fn date_of(days: i64) -> Date {
    match i32::try_from(days) {
        Ok(near) if NEAR_DAYS.contains(&near) => near_date(near),
        _ => {
            let era = days.div_euclid(DAYS_PER_ERA);
            let mut date = near_date(days.rem_euclid(DAYS_PER_ERA) as i32);
            date.year += 400 * era;
            date
        }
    }
}

/// Returns the year, month (1 to 12) and day (1 to 31) of a day since 1970-01-01.
#[inline]
pub fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let date = date_of(days);
    (date.year, date.month, date.day)
}

/// Returns the day since 1970-01-01 of a date, or `None` if the date does not exist or the result
/// does not fit 64 bits.
#[inline]
pub fn days_from_civil(year: i64, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return None;
    }
    let is_next = month <= 2;
    let year = year.checked_sub(i64::from(is_next))?;
    let month = if is_next { month + 12 } else { month };
    let leap_days = (year >> 2) - year.div_euclid(100) + year.div_euclid(400);
    let before_month = (979 * month - 2_919) / 32;
    let in_year = i64::from(before_month + day - 1);
    year.checked_mul(365)?.checked_add(leap_days)?.checked_add(in_year - EPOCH)
}

/// Returns the number of days of a month, which must be 1 to 12.
#[inline]
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        // Months of 31 and 30 days alternate, except that August follows July with 31 days as well.
        _ => 30 + ((month ^ month >> 3) & 1),
    }
}

/// Returns true if a year has a February 29.
#[inline]
pub fn is_leap(year: i64) -> bool {
    // A year that is divisible by 25 is divisible by 400 exactly if it is divisible by 16.
    if year % 25 == 0 { year & 15 == 0 } else { year & 3 == 0 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Converts a day in the textbook way: by era, then by year of the era.
    fn by_eras(days: i64) -> (i64, u32, u32) {
        let shifted = days + 719_468; // days since 0000-03-01
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
        let month = (if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 }) as u32;
        (year_of_era + era * 400 + i64::from(month <= 2), month, day)
    }

    fn check(days: i64) {
        let date = date_of(days);
        assert_eq!((date.year, date.month, date.day), by_eras(days), "day {days}");
        assert_eq!(days_from_civil(date.year, date.month, date.day), Some(days));
        let first = days_from_civil(date.year, 1, 1);
        assert_eq!(first, Some(days - i64::from(date.day_of_year)), "day {days}");
    }

    #[test]
    fn every_day_of_a_hundred_thousand_years_either_way_is_as_counted_by_eras() {
        let end = 100_000 * 366;
        // Successive dates are also derived from the lengths of the months, without divisions.
        let (mut year, mut month, mut day) = by_eras(-end);
        for days in -end..=end {
            let date = date_of(days);
            assert_eq!((date.year, date.month, date.day), (year, month, day), "day {days}");
            day += 1;
            if day > days_in_month(year, month) {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
        (-end..=end).step_by(997).for_each(check);
    }

    #[test]
    fn the_ends_of_near_days_and_of_all_days_are_dates() {
        let ends = [*NEAR_DAYS.start(), *NEAR_DAYS.end(), i32::MIN, i32::MAX, 0];
        for end in ends.map(i64::from) {
            (end - 800..=end + 800).for_each(check);
        }
        // These are the first and last days of timestamps, whose seconds have 64 bits.
        for end in [i64::MIN, i64::MAX].map(|seconds| seconds.div_euclid(86_400)) {
            (end - 800..=end + 800).for_each(check);
        }
    }

    #[test]
    fn months_have_their_days() {
        let lengths = |year| (1..=12).map(|m| days_in_month(year, m)).collect::<Vec<_>>();
        assert_eq!(lengths(2023), [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
        for (year, leap) in [(2024, true), (1900, false), (2000, true), (-4, true), (-100, false)] {
            assert_eq!(days_in_month(year, 2), 28 + u32::from(leap), "{year}");
        }
        for (month, day) in [(0, 1), (13, 1), (1, 0), (4, 31), (2, 30)] {
            assert_eq!(days_from_civil(2024, month, day), None);
        }
        assert_eq!(days_from_civil(i64::MAX, 1, 1), None);
        assert_eq!(days_from_civil(i64::MIN, 1, 1), None);
    }
}
