//! Reads splits from case JSON.

use connector_hive::{BucketConversion, ColumnMapping, HiveSplit, PartitionKeys, RowIdProperties};
use dwio::reader::FileFormat;
use vector::Result;
use vector::sync::Arc;

use super::handles::read_column;
use super::json::Json;

/// Placeholder in a case for the folder of the case file.
const CASE_FOLDER: &str = "${CASE}";

/// Reads a split of connector `connector_id`; `folder` is the folder of the case, if there is one.
pub(super) fn read_split(
    json: &Json<'_>,
    connector_id: &str,
    folder: Option<&str>,
) -> Result<HiveSplit> {
    let (name, class) = json.class()?;
    if name != "HiveConnectorSplit" {
        return Err(class.refuse("a split that is not built"));
    }
    let format = json.member("fileFormat")?;
    let formats = [format_parquet::FORMAT_NAME, format_text::FORMAT_NAME];
    if !formats.contains(&format.text()?) {
        return Err(format.refuse("a file format that is not built"));
    }
    let format = FileFormat::new(format.text()?);
    for (key, value) in json.optional_members("customSplitInfo")? {
        if key == "table_format" {
            return Err(value.refuse("a table format that is not built"));
        }
    }
    let text = |json: &Json<'_>| {
        let text = json.text()?;
        Ok(folder.map_or_else(|| text.to_string(), |folder| text.replace(CASE_FOLDER, folder)))
    };
    let path = text(&json.member("filePath")?)?;
    let mut split = HiveSplit::new(connector_id, local_path(&path), format);
    let serde = json.optional_members("serdeParameters")?;
    let serde = serde.iter().map(|(name, value)| Ok((name.to_string(), value.text()?.to_string())));
    split.serde_parameters = Arc::new(serde.collect::<Result<_>>()?);
    if let Some(start) = json.optional("start")? {
        split.start = start.integer()?;
    }
    // Lengths are unsigned numbers that are written as signed numbers: -1 is the largest.
    split.length = match json.optional("length")? {
        Some(length) => length.integer::<i64>()? as u64,
        None => u64::MAX,
    };
    let keys = json.optional_members("partitionKeys")?.into_iter().map(|(key, value)| {
        let value = if value.is_null() { None } else { Some(text(&value)?) };
        Ok((key.to_string(), value))
    });
    split.partition_keys = PartitionKeys::from(keys.collect::<Result<Vec<_>>>()?);
    // The synthesized columns are exactly those of the split, whose values, such as the file's
    // name, may differ from the actual ones.
    let infos = json.optional_members("infoColumns")?;
    let infos = infos.iter().map(|(name, value)| Ok((name.to_string(), text(value)?)));
    split.synthesized_columns = infos.collect::<Result<_>>()?;
    split.bucket = json.optional("tableBucketNumber")?.map(|b| b.integer()).transpose()?;
    split.bucket_conversion =
        json.optional("bucketConversion")?.map(|c| conversion(&c)).transpose()?;
    split.row_id = json.optional("rowIdProperties")?.map(|r| row_id(&r)).transpose()?;
    split.column_mapping = json.optional("columnMappingMode")?.map(|m| mapping(&m)).transpose()?;
    if let Some(cacheable) = json.optional("cacheable")? {
        split.cacheable = cacheable.boolean()?;
    }
    if let Some(properties) = json.optional("properties")?
        && let Some(bytes) = properties.optional("fileSize")?
    {
        split.file_bytes = Some(bytes.integer()?);
    }
    Ok(split)
}

/// Returns the path of a `file:` URI, which has either no slashes or an empty host before its path.
fn local_path(path: &str) -> &str {
    let Some(rest) = path.strip_prefix("file:") else { return path };
    match rest.strip_prefix("//") {
        Some(path) if path.starts_with('/') => path,
        _ => rest,
    }
}

fn conversion(json: &Json<'_>) -> Result<BucketConversion> {
    let columns = json.member("bucketColumnHandles")?.elements()?;
    Ok(BucketConversion {
        table_buckets: json.member("tableBucketCount")?.integer()?,
        partition_buckets: json.member("partitionBucketCount")?.integer()?,
        columns: columns.iter().map(read_column).collect::<Result<_>>()?,
    })
}

fn row_id(json: &Json<'_>) -> Result<RowIdProperties> {
    Ok(RowIdProperties {
        metadata_version: json.member("metadataVersion")?.integer()?,
        partition_id: json.member("partitionId")?.integer()?,
        table_guid: json.member("tableGuid")?.text()?.to_string(),
    })
}

fn mapping(json: &Json<'_>) -> Result<ColumnMapping> {
    Ok(match json.text()? {
        "Name" => ColumnMapping::Name,
        "Position" => ColumnMapping::Position,
        "ParquetFieldId" => ColumnMapping::FieldId,
        _ => return Err(json.refuse("a way to find columns that is not built")),
    })
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn paths_may_be_uris_of_local_files() {
        for path in ["/t/f", "file:/t/f", "file:///t/f"] {
            assert_eq!(local_path(path), "/t/f");
        }
        assert_eq!(local_path("hdfs://host/t/f"), "hdfs://host/t/f");
    }
}
