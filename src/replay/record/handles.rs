//! Writes tables and columns of scans as Velox's JSON.

use connector_hive::{ColumnKind, ColumnMapping, HiveColumnHandle, HiveTableHandle};
use dwio::connector::{ColumnHandle, TableHandle};
use exec::plan::PlanNode;
use serde_json::{Value as Json, json};
use vector::{Error, Result, RowType};

use super::case::CONNECTOR;
use super::expressions::expr_json;
use super::filters::filter_json;
use super::types::{row_json, type_json};

/// Returns the JSON of a table handle.
pub(super) fn table_json(table: &dyn TableHandle) -> Result<Json> {
    let table = HiveTableHandle::of(table)?;
    let filters = table.filters().iter().map(|(subfield, filter)| {
        Ok(json!({"subfield": subfield.to_string(), "filter": filter_json(filter)?}))
    });
    let mut json = json!({
        "name": "HiveTableHandle",
        "connectorId": CONNECTOR,
        "tableName": table.table_name(),
        "filterPushdownEnabled": true,
        "subfieldFilters": filters.collect::<Result<Vec<_>>>()?,
        "tableParameters": table.parameters(),
    });
    if let Some(filter) = table.remaining_filter() {
        json["remainingFilter"] = expr_json(filter)?;
    }
    if let Some(columns) = table.data_columns() {
        json["dataColumns"] = if is_by_name(table) {
            row_json(&known_to_velox(columns))?
        } else {
            row_json(columns)?
        };
    }
    if !table.filter_columns().is_empty() {
        let columns = table.filter_columns().iter().map(|column| column_json(column));
        json["filterColumnHandles"] = json!(columns.collect::<Result<Vec<_>>>()?);
    }
    if table.sample_rate() < 1.0 {
        json["sampleRate"] = json!(table.sample_rate());
    }
    if !table.field_ids().is_empty() {
        return Err(Error::unsupported("field ids of a table cannot be recorded")
            .with("table", table.table_name()));
    }
    Ok(json)
}

/// Returns the columns whose types Velox has: where columns are found by name, the others may be
/// left out, because positions do not matter.
fn known_to_velox(columns: &RowType) -> RowType {
    let known = columns.fields().filter(|(_, ty)| type_json(ty).is_ok());
    RowType::new(known.map(|(name, ty)| (name, ty.clone())).collect::<Vec<_>>())
}

fn is_by_name(table: &HiveTableHandle) -> bool {
    table.column_mapping() == Some(ColumnMapping::Name)
}

/// Returns the JSON of a column handle.
pub(super) fn column_json(column: &dyn ColumnHandle) -> Result<Json> {
    let column = HiveColumnHandle::of(column)?;
    let is_plain = column.extractions().is_empty()
        && column.file_column().is_none()
        && column.post_processor().is_none();
    if !is_plain {
        return Err(Error::unsupported("a column that is changed while it is read")
            .with("column", column.name()));
    }
    let kind = match column.kind() {
        ColumnKind::Regular => "Regular",
        ColumnKind::PartitionKey => "PartitionKey",
        ColumnKind::Synthesized => "Synthesized",
        ColumnKind::RowIndex => "RowIndex",
        ColumnKind::RowId => "RowId",
    };
    let subfields: Vec<String> =
        column.required_subfields().iter().map(ToString::to_string).collect();
    Ok(json!({
        "name": "HiveColumnHandle",
        "hiveColumnHandleName": column.name(),
        "columnType": kind,
        "dataType": type_json(column.ty())?,
        "hiveType": type_json(column.schema_type())?,
        "requiredSubfields": subfields,
    }))
}

/// Settings for reading the tables of a plan that are not a part of their handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReadsTables {
    /// Number of fraction digits of timestamps.
    timestamp_digits: u8,
    by_name: bool,
}

impl ReadsTables {
    /// Returns the settings of the tables of a plan; `None` for a plan without tables,
    /// `Unsupported` when tables have different settings.
    pub(super) fn of(root: &PlanNode) -> Result<Option<Self>> {
        let tables = root.scans().into_iter().map(|scan| HiveTableHandle::of(&*scan.table));
        let mut found = None;
        for table in tables {
            let table = table?;
            let timestamp_digits = table.timestamp_unit().digits();
            let reads = ReadsTables { timestamp_digits, by_name: is_by_name(table) };
            if found.is_some_and(|before| before != reads) {
                return Err(Error::unsupported("tables of one plan that are read differently")
                    .with("table", table.table_name()));
            }
            found = Some(reads);
        }
        Ok(found)
    }

    /// Returns the settings as settings of a session.
    pub(super) fn session(self) -> Json {
        json!({
            "hive.reader.timestamp_unit": self.timestamp_digits.to_string(),
            "parquet_use_column_names": self.by_name.to_string(),
        })
    }

    /// Returns the settings as settings of a connector.
    pub(super) fn connector(self) -> Json {
        json!({
            "hive.reader.timestamp-unit": self.timestamp_digits.to_string(),
            "hive.parquet.use-column-names": self.by_name.to_string(),
        })
    }
}
