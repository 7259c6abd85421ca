//! Decides which settings of a recorded query are honoured.
//!
//! | setting | effect here |
//! |---|---|
//! | of the query, known to operators and drivers | honoured by its name |
//! | of the query, without effect on result rows (`query_settings.rs`) | ignored, and listed |
//! | of the query, changing result rows or unknown | rejected by name |
//! | of a connector's session, known to the Hive connector | honoured, in all its spellings |
//! | of tracing | dropped |
//! | a session time zone to which timestamps are adjusted | rejected: the rows would differ |
//! | any other of a connector's session | ignored, and listed |

use connector_hive::SETTING_NAMES;
use dwio::config::Config;
use vector::{Error, Result, ResultExt};

use super::super::query_settings::{Meaning, meaning};
use super::metadata::Metadata;

/// Prefixes of the names of tracing settings.
const OF_TRACING: [&str; 2] = ["query_trace_", "op_trace_"];
const TIME_ZONE: &str = "session_timezone";
const MOVES_TIMESTAMPS: &str = "adjust_timestamp_to_session_timezone";
/// Time zones in which timestamps are not changed.
const UTC: [&str; 4] = ["", "UTC", "Etc/UTC", "GMT"];

/// The settings of a recorded query.
#[derive(Debug, Default)]
pub struct TraceSettings {
    /// Settings that the replay is run with.
    pub honoured: Config,
    /// Settings that have no effect here.
    pub ignored: Config,
}

impl TraceSettings {
    pub(super) fn new(metadata: &Metadata) -> Result<Self> {
        let mut settings = TraceSettings::default();
        let (mut zone, mut moves) = (String::new(), false);
        for (name, value) in metadata.query_config()? {
            let text = value.setting()?;
            match name {
                _ if OF_TRACING.iter().any(|prefix| name.starts_with(prefix)) => {}
                TIME_ZONE => zone = text,
                MOVES_TIMESTAMPS => moves = text.eq_ignore_ascii_case("true"),
                // Ocior's own recordings contain these too; their values are a part of the plan and
                // the splits.
                _ if is_of_connector(name) || is_of_tables(name) => {
                    settings.ignored.set(name, text)
                }
                _ => match meaning(name, &text).in_named("metadata", "/queryConfig")? {
                    Meaning::Honoured => settings.honoured.set(name, text),
                    Meaning::Harmless => settings.ignored.set(name, text),
                },
            }
        }
        if moves && !UTC.contains(&zone.as_str()) {
            return Err(Error::unsupported("timestamps in the time zone of a session")
                .with(TIME_ZONE, zone)
                .in_named("metadata", "/queryConfig"));
        }
        for (_, properties) in metadata.connector_properties()? {
            for (name, value) in properties.members()? {
                let target = match is_of_connector(name) {
                    true => &mut settings.honoured,
                    false => &mut settings.ignored,
                };
                target.set(name, value.setting()?);
            }
        }
        Ok(settings)
    }
}

/// Returns true for a setting of the Hive connector in any spelling.
fn is_of_connector(name: &str) -> bool {
    let spelled = |name: &str| name.replace(['-', '.'], "_");
    let name = spelled(name);
    let name = name.strip_prefix("hive_").unwrap_or(&name);
    let of_format =
        name.strip_prefix(format_parquet::FORMAT_NAME).and_then(|n| n.strip_prefix('_'));
    let known = |name: &str| SETTING_NAMES.iter().any(|known| spelled(known) == name);
    known(name) || of_format.is_some_and(known)
}

/// Returns true for a setting of Ocior that describes tables and their files.
fn is_of_tables(name: &str) -> bool {
    let prefixes = ["serde.", "text.", "parquet."];
    matches!(name, "partition_types" | "input_format" | "table_schema")
        || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(config: serde_json::Value, properties: serde_json::Value) -> Result<TraceSettings> {
        let metadata = json!({"planNode": {"name": "TableScanNode", "id": "0"},
            "queryConfig": config, "connectorProperties": properties});
        TraceSettings::new(&Metadata::parse(&metadata.to_string()).unwrap())
    }

    #[test]
    fn settings_are_honoured_ignored_or_done_with() {
        let config = json!({"max_output_batch_rows": "77", "spill_enabled": "true",
            "query_trace_dir": "/t", "op_trace_directory_create_config": "x",
            "session_timezone": "Asia/Tokyo"});
        let properties = json!({"hive": {"stats_based_filter_reorder_disabled": "true",
            "hive.reader.timestamp_unit": "6",
            "parquet_use_column_names": "true", "orc_max_merge": "1"}});
        let settings = settings(config, properties).unwrap();
        let names = |config: &Config| {
            let mut names: Vec<String> = config.iter().map(|(name, _)| name.to_string()).collect();
            names.sort();
            names
        };
        let honoured = [
            "hive.reader.timestamp_unit",
            "max_output_batch_rows",
            "parquet_use_column_names",
            "stats_based_filter_reorder_disabled",
        ];
        assert_eq!(names(&settings.honoured), honoured);
        assert_eq!(names(&settings.ignored), ["orc_max_merge", "spill_enabled"]);
    }

    #[test]
    fn a_setting_of_the_query_that_may_change_rows_is_refused_by_name() {
        let with = |name: &str, value: &str| settings(json!({name: value}), json!({}));
        for name in ["legacy_cast", "presto.array_agg.ignore_nulls", "of_another_version"] {
            let error = with(name, "true").unwrap_err();
            assert_eq!(error.field("name"), Some(name));
            assert!(error.to_string().contains("/queryConfig"), "{error}");
        }
        assert!(with("legacy_cast", "false").is_ok());
        assert!(settings(json!({"legacy_cast": false}), json!({})).is_ok());
        assert!(settings(json!({"legacy_cast": true}), json!({})).is_err());
    }

    #[test]
    fn a_zone_that_moves_timestamps_is_refused() {
        let zone = |zone: &str| {
            let config = json!({"session_timezone": zone,
                "adjust_timestamp_to_session_timezone": "true"});
            settings(config, json!({}))
        };
        assert!(zone("UTC").is_ok());
        assert!(zone("Asia/Tokyo").unwrap_err().to_string().contains("Asia/Tokyo"));
    }
}
