//! The schema of a table: the columns of its files and its partition keys as one row type.

use std::collections::HashMap;
use vector::RowType;

use vector::sync::Arc;

use crate::handles::{ColumnKind, HiveColumnHandle, ROW_INDEX, info_column_type};
use crate::mapping::ColumnMapping;
use crate::table_handle::HiveTableHandle;

/// The columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSchema {
    columns: Arc<RowType>,
    data_columns: Arc<RowType>,
    partition_columns: Arc<RowType>,
}

impl TableSchema {
    /// Joins the columns of files with partition keys. A key that the files have too keeps the
    /// file's place and takes the key's type, since its values are the directory's; the other keys
    /// follow behind.
    pub fn new(data_columns: Arc<RowType>, partition_columns: Arc<RowType>) -> Self {
        let keys = &partition_columns;
        let of_files = data_columns.fields().map(|(name, ty)| {
            let ty = keys.type_of(name).unwrap_or(ty);
            (name.to_string(), ty.clone())
        });
        let behind = keys
            .fields()
            .filter(|(name, _)| data_columns.index_of(name).is_none())
            .map(|(name, ty)| (name.to_string(), ty.clone()));
        let columns = Arc::new(RowType::new(of_files.chain(behind)));
        TableSchema { columns, data_columns, partition_columns }
    }

    /// All columns that `SELECT *` gives.
    pub fn columns(&self) -> &Arc<RowType> {
        &self.columns
    }

    /// The columns of the files.
    pub fn data_columns(&self) -> &Arc<RowType> {
        &self.data_columns
    }

    /// The partition keys.
    pub fn partition_columns(&self) -> &Arc<RowType> {
        &self.partition_columns
    }

    /// The handle of a column by its exact name; also of the hidden ones (`$path`, `$file_size`,
    /// `$file_modified_time`, `$row_index`).
    pub fn column_handle(&self, name: &str) -> Option<HiveColumnHandle> {
        let handle = |kind, ty| Some(HiveColumnHandle::new(name, kind, ty));
        if let Some(ty) = self.partition_columns.type_of(name) {
            return handle(ColumnKind::PartitionKey, ty.clone());
        }
        if let Some(ty) = self.columns.type_of(name) {
            return handle(ColumnKind::Regular, ty.clone());
        }
        if let Some(ty) = info_column_type(name) {
            return handle(ColumnKind::Synthesized, ty);
        }
        (name == ROW_INDEX)
            .then(|| HiveColumnHandle::new(name, ColumnKind::RowIndex, vector::Type::BigInt))
    }

    /// The handle of the table for a scan without filters. It knows the files' columns, which
    /// columns are partition keys, and those whose names the files have more than once. Columns are
    /// found by name in any case, since files of a directory may differ, and conditions on `$path`
    /// and the like drop splits.
    pub fn table_handle(&self, connector_id: &str, name: &str) -> HiveTableHandle {
        let handle = HiveTableHandle::new(connector_id, name)
            .with_data_columns(Arc::clone(&self.data_columns))
            .with_column_mapping(ColumnMapping::Name)
            .with_names_in_any_case()
            .with_unchosen_splits();
        let keys = self
            .partition_columns
            .fields()
            .map(|(name, ty)| HiveColumnHandle::new(name, ColumnKind::PartitionKey, ty.clone()));
        keys.chain(self.repeated_columns()).fold(handle, HiveTableHandle::with_filter_column)
    }

    fn repeated_columns(&self) -> impl Iterator<Item = HiveColumnHandle> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        self.data_columns.fields().filter_map(move |(name, ty)| {
            let count = seen.entry(name).or_default();
            let occurrence = *count;
            *count += 1;
            let handle = HiveColumnHandle::new(name, ColumnKind::Regular, ty.clone());
            (occurrence > 0).then(|| handle.with_occurrence(occurrence, ty.clone()))
        })
    }
}
