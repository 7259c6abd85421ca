//! Writes splits as Velox's JSON.

use connector_hive::HiveSplit;
use dwio::connector::ConnectorSplit;
use serde_json::{Map, Value as Json, json};
use vector::{Error, Result};

use super::case::CONNECTOR;

/// Returns the JSON of a split. Its path is made absolute, because the reader may have another
/// working directory.
pub(super) fn split_json(split: &dyn ConnectorSplit) -> Result<Json> {
    let Some(split) = split.as_any().downcast_ref::<HiveSplit>() else {
        return Err(Error::unsupported("a split of a connector that traces have no form for")
            .with("split", split.describe()));
    };
    if split.bucket_conversion.is_some() || split.row_id.is_some() {
        return Err(Error::unsupported("a split with buckets or row ids cannot be recorded")
            .with("path", &split.path));
    }
    let path = std::path::absolute(&split.path).map_err(|e| {
        Error::from_io(e, "a path cannot be made absolute").with("path", &split.path)
    })?;
    let keys: Map<String, Json> =
        split.partition_keys.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    Ok(json!({
        "name": "HiveConnectorSplit",
        "connectorId": CONNECTOR,
        "filePath": format!("file:{}", path.display()),
        "fileFormat": split.format.to_string(),
        "start": split.start,
        // Lengths are unsigned numbers that are written as signed numbers.
        "length": split.length.cast_signed(),
        "partitionKeys": keys,
        "tableBucketNumber": split.bucket,
        "bucketConversion": null,
        "customSplitInfo": {},
        "extraFileInfo": null,
        "serdeParameters": *split.serde_parameters,
        "storageParameters": {},
        "infoColumns": split.synthesized_columns,
        "splitWeight": 0,
        "cacheable": split.cacheable,
    }))
}
