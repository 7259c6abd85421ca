//! Settings of a scan. Those of the session override those of the connector (rule S7.6).
//!
//! ```text
//! session   use_column_names, parquet_use_column_names          underscores
//! connector hive.use-column-names, parquet.use-column-names     dashes, with or without a prefix
//! ```
//!
//! A setting is looked up in both spellings, with the prefix of the connector's id, with the prefix
//! `hive.`, or without a prefix, so that an embedding engine can pass its settings unchanged.

use std::str::FromStr;

use dwio::config::Config;
use dwio::input::Coalescing;
use dwio::reader::FileFormat;
use vector::{Error, Result, TimeUnit};

use crate::zone::ProcessZone;

/// Prefix of older settings.
const LEGACY_PREFIX: &str = "hive";

/// Session name of the largest gap between regions that are read together.
const MERGE_DISTANCE: &str = "orc-max-merge-distance";

/// Names of all settings, without a prefix. `use-column-names` may also follow the name of a
/// format.
pub const SETTING_NAMES: [&str; 13] = [
    "use-column-names",
    "file-column-names-read-as-lower-case",
    "ignore-missing-files",
    "load-quantum",
    "max-coalesced-bytes",
    "max-coalesced-distance",
    MERGE_DISTANCE,
    "null-struct-if-all-fields-missing",
    "process-time-zone",
    "reader.timestamp-partition-value-as-local-time",
    "reader.timestamp-unit",
    "sample-seed",
    "stats-based-filter-reorder-disabled",
];

/// Settings of session and connector that affect reading.
#[derive(Debug, Clone)]
pub struct ScanSettings {
    config: Config,
    session: Config,
    connector_id: String,
    /// If true, names in files are converted to lower case before comparison (rule S7.50).
    pub lower_case_names: bool,
    /// If true, a missing file is read as an empty one (rule S7.13).
    pub ignore_missing_files: bool,
    /// If true, a struct is null if the file has none of its requested fields (rule S7.63).
    pub null_struct_if_all_fields_missing: bool,
    /// Zone of timestamps in partition values; `None` if they are in UTC.
    pub timestamp_zone: Option<ProcessZone>,
    /// Unit to which timestamps of files are truncated, if it is set (rule S7.57).
    pub timestamp_unit: Option<TimeUnit>,
    /// Seed of sampling; random if absent (rule S4.30).
    pub sample_seed: Option<u64>,
    /// If true, filters stay in the order of their kinds independent of their observed cost (rule
    /// S5.33).
    pub keeps_filter_order: bool,
    /// Sizes and distances of coalesced reads (rule S14.14).
    pub coalescing: Coalescing,
}

impl ScanSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// `InvalidInput` with the name of a setting whose value is invalid.
    pub fn new(connector_id: &str, config: &Config, session: &Config) -> Result<Self> {
        let mut settings = ScanSettings {
            config: config.clone(),
            session: session.clone(),
            connector_id: connector_id.to_string(),
            lower_case_names: false,
            ignore_missing_files: false,
            null_struct_if_all_fields_missing: false,
            timestamp_zone: None,
            timestamp_unit: None,
            sample_seed: None,
            keeps_filter_order: false,
            coalescing: Coalescing::default(),
        };
        settings.coalescing = settings.read_coalescing()?;
        settings.lower_case_names = settings.get("file-column-names-read-as-lower-case", false)?;
        settings.ignore_missing_files = settings.get("ignore-missing-files", false)?;
        settings.null_struct_if_all_fields_missing =
            settings.get("null-struct-if-all-fields-missing", false)?;
        if settings.get("reader.timestamp-partition-value-as-local-time", true)? {
            settings.timestamp_zone = match settings.text("process-time-zone") {
                Some(name) => Some(ProcessZone::named(name)?),
                None => None,
            };
        }
        settings.timestamp_unit = match settings.text("reader.timestamp-unit") {
            Some(text) => {
                let unit = text.trim().parse().ok().filter(|digits| *digits > 0);
                let unit = unit.and_then(TimeUnit::from_digits);
                Some(unit.ok_or_else(|| {
                    Error::invalid_input("a unit of timestamps is 3, 6 or 9")
                        .with("setting", "reader.timestamp-unit")
                        .with("value", text)
                })?)
            }
            None => None,
        };
        settings.keeps_filter_order = settings.get("stats-based-filter-reorder-disabled", false)?;
        settings.sample_seed = match settings.text("sample-seed") {
            Some(_) => Some(settings.get("sample-seed", 0)?),
            None => None,
        };
        Ok(settings)
    }

    /// Returns whether files of a format are matched by column names; `None` if it is not set.
    ///
    /// # Errors
    /// `InvalidInput` if the value is not a boolean.
    pub fn use_column_names(&self, format: &FileFormat) -> Result<Option<bool>> {
        let of_format = format!("{format}.use-column-names");
        for key in [of_format.as_str(), "use-column-names"] {
            if self.text(key).is_some() {
                return self.get(key, false).map(Some);
            }
        }
        Ok(None)
    }

    fn read_coalescing(&self) -> Result<Coalescing> {
        let default = Coalescing::default();
        let distance = ["max-coalesced-distance", MERGE_DISTANCE];
        let distance = distance.into_iter().find_map(|key| Some((key, self.text(key)?)));
        let max_distance = match distance {
            Some((key, text)) => {
                capacity(text).filter(|bytes| *bytes < MAX_DISTANCE).ok_or_else(|| {
                    Error::invalid_input("a distance is a size below 2GB, such as 512kB")
                        .with("setting", key)
                        .with("value", text)
                })?
            }
            None => default.max_distance,
        };
        let load_quantum = self.get("load-quantum", default.load_quantum)?;
        if load_quantum == 0 {
            return Err(Error::invalid_input("at least one byte is read at once")
                .with("setting", "load-quantum"));
        }
        let max_bytes = self.get("max-coalesced-bytes", default.max_bytes)?;
        Ok(Coalescing { max_distance, max_bytes, load_quantum })
    }

    /// Returns the value of the setting `key`, spelled with dashes, or `default`.
    fn get<T: FromStr>(&self, key: &str, default: T) -> Result<T> {
        let Some(text) = self.text(key) else { return Ok(default) };
        text.trim().parse().map_err(|_| {
            Error::invalid_input("a setting has a value of another type")
                .with("setting", key)
                .with("value", text)
                .with("expected", std::any::type_name::<T>())
        })
    }

    fn text(&self, key: &str) -> Option<&str> {
        let prefixed = |prefix: &str| format!("{prefix}.{key}");
        let keys = [key.to_string(), prefixed(&self.connector_id), prefixed(LEGACY_PREFIX)];
        // `parquet.use-column-names` is `parquet_use_column_names` in a session.
        let spellings = |k: &String| [k.clone(), k.replace('-', "_"), k.replace(['-', '.'], "_")];
        let in_session = keys.iter().flat_map(spellings).find_map(|k| self.session.text(&k));
        in_session.or_else(|| keys.iter().flat_map(spellings).find_map(|k| self.config.text(&k)))
    }
}

/// Exclusive upper limit of distances.
const MAX_DISTANCE: u64 = 2 << 30;

/// Parses a size such as `512kB`, whose units are powers of 1024.
fn capacity(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.strip_prefix(digits)? {
        "" | "B" => 0,
        "kB" => 10,
        "MB" => 20,
        "GB" => 30,
        "TB" => 40,
        "PB" => 50,
        _ => return None,
    };
    let number: f64 = digits.trim().parse().ok().filter(|number: &f64| *number >= 0.0)?;
    let bytes = number * f64::from(shift).exp2();
    // The conversion is exact below 2^53; a larger value is not a valid distance.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    (bytes < 9e15).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s7_6_what_is_read_at_once_is_set_by_the_names_of_velox() {
        let of = |session: &[(&str, &str)]| settings(&[], session).map(|s| s.coalescing);
        assert_eq!(of(&[]).unwrap(), Coalescing::default());
        let set = of(&[
            ("max-coalesced-bytes", "1000"),
            ("load_quantum", "77"),
            ("hive.orc_max_merge_distance", "1.5kB"),
        ]);
        let wanted = Coalescing { max_distance: 1_536, max_bytes: 1_000, load_quantum: 77 };
        assert_eq!(set.unwrap(), wanted);
        let config = [("max-coalesced-distance", "2MB")];
        assert_eq!(settings(&config, &[]).unwrap().coalescing.max_distance, 2 << 20);
        for wrong in ["2GB", "x", "-1kB", "5KB", "kB", "NaN"] {
            let error = of(&[("max-coalesced-distance", wrong)]).unwrap_err();
            assert_eq!(error.field("value"), Some(wrong));
        }
        assert!(of(&[("load-quantum", "0")]).unwrap_err().is_user());
        assert!(of(&[("max-coalesced-bytes", "-1")]).unwrap_err().is_user());
    }

    fn settings(config: &[(&str, &str)], session: &[(&str, &str)]) -> Result<ScanSettings> {
        let of = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Config>();
        ScanSettings::new("warehouse", &of(config), &of(session))
    }

    #[test]
    fn s7_6_the_sessions_settings_win_and_prefixes_may_be_left_out() {
        let parquet = FileFormat::new("parquet");
        let by_name = |config: &[(&str, &str)], session: &[(&str, &str)]| {
            settings(config, session).unwrap().use_column_names(&parquet).unwrap()
        };
        assert_eq!(by_name(&[], &[]), None);
        assert_eq!(by_name(&[("hive.parquet.use-column-names", "true")], &[]), Some(true));
        assert_eq!(by_name(&[("warehouse.use-column-names", "true")], &[]), Some(true));
        assert_eq!(by_name(&[("hive.orc.use-column-names", "true")], &[]), None);
        let on = [("use-column-names", "true")];
        assert_eq!(by_name(&on, &[("use_column_names", "false")]), Some(false));
        assert_eq!(by_name(&on, &[("parquet_use_column_names", "false")]), Some(false));
    }

    #[test]
    fn s7_6_defaults_are_those_of_the_table_and_wrong_values_are_named() {
        let plain = settings(&[], &[]).unwrap();
        assert!(!plain.lower_case_names && !plain.ignore_missing_files);
        assert!(plain.timestamp_zone.is_none() && plain.sample_seed.is_none());
        let zone = ("process-time-zone", "America/Los_Angeles");
        assert!(settings(&[zone], &[]).unwrap().timestamp_zone.is_some());
        let utc = ("hive.reader.timestamp-partition-value-as-local-time", "false");
        assert!(settings(&[zone, utc], &[]).unwrap().timestamp_zone.is_none());
        let fixed = ("stats_based_filter_reorder_disabled", "true");
        assert!(!plain.keeps_filter_order && settings(&[], &[fixed]).unwrap().keeps_filter_order);
        let unit = |text| Ok(settings(&[], &[("reader.timestamp_unit", text)])?.timestamp_unit);
        assert_eq!(unit("6").unwrap(), Some(TimeUnit::Micros));
        for wrong in ["0", "4", "ms"] {
            let error: Result<Option<TimeUnit>> = unit(wrong);
            assert!(error.unwrap_err().is_user());
        }
        let error = settings(&[], &[("ignore_missing_files", "maybe")]).unwrap_err();
        assert_eq!(error.field("setting"), Some("ignore-missing-files"));
        assert!(settings(&[("process-time-zone", "Mars/Olympus")], &[]).is_err());
    }
}
