//! The process time zone, which local timestamps in partition values refer to (rules S8.9 to
//! S8.12).
//!
//! Velox uses Los Angeles; here the zone is a setting, and without it local time is UTC.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use vector::types::temporal::civil_from_days;
use vector::{Error, Result, Timestamp};

const SECONDS_PER_DAY: i64 = 86_400;

/// A time zone of the zone database, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessZone {
    name: String,
    zone: TimeZone,
}

impl ProcessZone {
    /// Returns the zone called `name`.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such zone.
    pub fn named(name: &str) -> Result<Self> {
        let zone = TimeZone::get(name).map_err(|e| {
            Error::invalid_input("no such time zone").with("zone", name).caused_by(e)
        })?;
        Ok(ProcessZone { name: name.to_string(), zone })
    }

    /// Converts a local time to an instant. An ambiguous local time becomes the earlier instant.
    ///
    /// # Errors
    /// `InvalidInput` for a local time that does not exist in the zone, `Unsupported` for a time
    /// outside the range of the zone database.
    pub fn to_utc(&self, local: Timestamp) -> Result<Timestamp> {
        let civil = self.civil(local)?;
        let offset = match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Fold { before, .. } => before,
            AmbiguousOffset::Gap { .. } => {
                return Err(Error::invalid_input("a local time that does not exist")
                    .with("time", local)
                    .with("zone", &self.name));
            }
        };
        Ok(Timestamp::new(local.seconds() - i64::from(offset.seconds()), local.nanos()))
    }

    /// Converts an instant to local time.
    ///
    /// # Errors
    /// `Unsupported` for a time outside the range of the zone database.
    pub fn to_local(&self, instant: Timestamp) -> Result<Timestamp> {
        let stamp = jiff::Timestamp::from_second(instant.seconds())
            .map_err(|e| self.out_of_range(instant).caused_by(e))?;
        let offset = i64::from(self.zone.to_offset(stamp).seconds());
        Ok(Timestamp::new(instant.seconds() + offset, instant.nanos()))
    }

    fn civil(&self, local: Timestamp) -> Result<DateTime> {
        let days = local.seconds().div_euclid(SECONDS_PER_DAY);
        let second = local.seconds().rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        let out_of_range = || self.out_of_range(local);
        let year = i16::try_from(year).map_err(|_| out_of_range())?;
        // The parts of time and date are in range by construction.
        let (hour, minute) = ((second / 3600) as i8, (second / 60 % 60) as i8);
        DateTime::new(year, month as i8, day as i8, hour, minute, (second % 60) as i8, 0)
            .map_err(|e| out_of_range().caused_by(e))
    }

    fn out_of_range(&self, time: Timestamp) -> Error {
        Error::unsupported("a time outside the range of the zone database")
            .with("time", time)
            .with("zone", &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::ErrorKind;

    fn utc(local: &str) -> Result<String> {
        let zone = ProcessZone::named("America/Los_Angeles").unwrap();
        zone.to_utc(Timestamp::parse(local).unwrap()).map(|t| t.to_string())
    }

    #[test]
    fn s8_11_local_times_become_instants_and_come_back() {
        assert_eq!(utc("2019-12-31 16:00:00").unwrap(), "2020-01-01 00:00:00");
        assert_eq!(utc("2020-06-30 17:00:00.25").unwrap(), "2020-07-01 00:00:00.25");
        let zone = ProcessZone::named("Asia/Kolkata").unwrap();
        let noon = Timestamp::parse("2024-02-29 12:00:00").unwrap();
        assert_eq!(zone.to_local(zone.to_utc(noon).unwrap()).unwrap(), noon);
        assert_eq!(zone.to_utc(noon).unwrap().to_string(), "2024-02-29 06:30:00");
    }

    #[test]
    fn s8_12_a_time_shown_twice_is_the_earlier_one_and_a_skipped_one_is_refused() {
        assert_eq!(utc("2023-11-05 01:30:00").unwrap(), "2023-11-05 08:30:00");
        let gap = utc("2023-03-12 02:30:00").unwrap_err();
        assert_eq!(gap.kind(), ErrorKind::InvalidInput);
        let far = ProcessZone::named("UTC").unwrap().to_utc(Timestamp::new(i64::MAX / 2, 0));
        assert_eq!(far.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(ProcessZone::named("Nowhere").unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
