//! The schema of a table: the columns of its files and its partition keys as one row type.
//!
//! Files are written at different times: later ones may have additional columns and wider types.
//! The merged columns of several files are those of the first file, widened, followed by the
//! additional columns of the other files ([`merged_columns`]).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use dwio::stored::StoredColumn;
use vector::sync::Arc;
use vector::{RowType, TimeUnit, Type};

use crate::table::column_handle::{ColumnKind, HiveColumnHandle};
use crate::table::hidden_columns::{ROW_INDEX, synthesized_column_type};
use crate::table::table_handle::{ColumnMapping, HiveTableHandle};

/// The columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSchema {
    columns: Arc<RowType>,
    data_columns: Arc<RowType>,
    partition_columns: Arc<RowType>,
    stored: StoredColumns,
}

/// Metadata of a table's columns in its files, other than their types.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredColumns(HashMap<String, StoredColumn>);

impl StoredColumns {
    /// Merges the column metadata of one or more files.
    pub fn add(&mut self, columns: impl IntoIterator<Item = StoredColumn>) {
        for column in columns {
            match self.0.entry(column.name.to_lowercase()) {
                Entry::Occupied(mut known) => {
                    if *known.get() != column {
                        let merged = known.get().merged(&column);
                        known.insert(merged);
                    }
                }
                Entry::Vacant(new) => {
                    new.insert(column);
                }
            }
        }
    }

    /// Returns the metadata of all known columns.
    pub fn into_columns(self) -> impl Iterator<Item = StoredColumn> {
        self.0.into_values()
    }

    /// Returns the metadata of the column `name`, compared without case.
    pub fn column(&self, name: &str) -> Option<&StoredColumn> {
        self.0.get(&name.to_lowercase())
    }
}

impl TableSchema {
    /// Combines the columns of files with partition keys. A key that is also a column of the files
    /// keeps the column's position and has the key's type, since its values are those of the
    /// directories. Other keys follow the columns of the files.
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
        let stored = StoredColumns::default();
        TableSchema { columns, data_columns, partition_columns, stored }
    }

    /// Returns the schema with metadata of the columns in the files.
    pub fn with_stored_columns(self, stored: StoredColumns) -> Self {
        TableSchema { stored, ..self }
    }

    /// Returns the metadata of a column in the files; `None` for partition keys and unknown
    /// columns.
    pub fn stored_column(&self, name: &str) -> Option<&StoredColumn> {
        match self.partition_columns.index_of(name) {
            Some(_) => None,
            None => self.stored.column(name),
        }
    }

    /// All columns of `SELECT *`.
    pub fn columns(&self) -> &Arc<RowType> {
        &self.columns
    }

    /// Columns of the files.
    pub fn data_columns(&self) -> &Arc<RowType> {
        &self.data_columns
    }

    /// Partition keys.
    pub fn partition_columns(&self) -> &Arc<RowType> {
        &self.partition_columns
    }

    /// Returns the handle of a column by its exact name, including hidden columns (`$path`,
    /// `$file_size`, `$file_modified_time`, `$row_index`).
    pub fn column_handle(&self, name: &str) -> Option<HiveColumnHandle> {
        let handle = |kind, ty| Some(HiveColumnHandle::new(name, kind, ty));
        if let Some(ty) = self.partition_columns.type_of(name) {
            return handle(ColumnKind::PartitionKey, ty.clone());
        }
        if let Some(ty) = self.columns.type_of(name) {
            return handle(ColumnKind::Regular, ty.clone());
        }
        if let Some(ty) = synthesized_column_type(name) {
            return handle(ColumnKind::Synthesized, ty);
        }
        (name == ROW_INDEX)
            .then(|| HiveColumnHandle::new(name, ColumnKind::RowIndex, vector::Type::BigInt))
    }

    /// Returns the table handle of a scan without filters. It specifies the columns of the files,
    /// the partition keys, columns whose names repeat in the files, and columns of the files whose
    /// names are those of synthesized columns. Columns are matched by name without case, since the
    /// files of a directory may differ. Conditions on `$path` and other synthesized columns drop
    /// splits, and timestamps keep the precision of the files.
    pub fn table_handle(&self, connector_id: &str, name: &str) -> HiveTableHandle {
        let handle = HiveTableHandle::new(connector_id, name)
            .with_data_columns(Arc::clone(&self.data_columns))
            .with_column_mapping(ColumnMapping::Name)
            .with_names_in_any_case()
            .with_timestamp_unit(TimeUnit::Nanos)
            .with_unchosen_splits();
        let keys = self
            .partition_columns
            .fields()
            .map(|(name, ty)| HiveColumnHandle::new(name, ColumnKind::PartitionKey, ty.clone()));
        let of_files = self.repeated_columns().chain(self.claimed_columns());
        keys.chain(of_files).fold(handle, HiveTableHandle::with_filter_column)
    }

    /// Returns the columns of the files that have the name of a synthesized column.
    fn claimed_columns(&self) -> impl Iterator<Item = HiveColumnHandle> {
        let claimed = |name: &str| synthesized_column_type(name).is_some() || name == ROW_INDEX;
        let of_files = self.data_columns.fields().filter(move |(name, _)| {
            claimed(name) && self.partition_columns.index_of(name).is_none()
        });
        of_files.map(|(name, ty)| HiveColumnHandle::new(name, ColumnKind::Regular, ty.clone()))
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

/// Merges two row types: the columns of `first`, widened to hold the values of `other` too, and the
/// additional columns of `other`. Columns and fields correspond if their names are equal without
/// case. A column whose types have no common type keeps that of `first`; reading the other file
/// then reports the error. If names repeat, columns cannot be matched, and `first` is returned
/// unchanged.
pub(crate) fn merged_columns(first: &RowType, other: &RowType) -> RowType {
    let (Some(of_first), Some(of_other)) = (by_lower_name(first), by_lower_name(other)) else {
        return first.clone();
    };
    let widened = first.fields().map(|(name, ty)| {
        let twin = of_other.get(&name.to_lowercase());
        let ty = twin.and_then(|twin| common_type(ty, twin)).unwrap_or_else(|| ty.clone());
        (name.to_string(), ty)
    });
    let added = other.fields().filter(|(name, _)| !of_first.contains_key(&name.to_lowercase()));
    let added = added.map(|(name, ty)| (name.to_string(), ty.clone()));
    RowType::new(widened.chain(added))
}

/// Returns the types by lower-case name; `None` if two names are equal without case.
fn by_lower_name(row: &RowType) -> Option<HashMap<String, &Type>> {
    let types: HashMap<String, &Type> =
        row.fields().map(|(name, ty)| (name.to_lowercase(), ty)).collect();
    (types.len() == row.len()).then_some(types)
}

/// Returns the type to which values of both types convert without loss (rules S7.51 to S7.56).
fn common_type(a: &Type, b: &Type) -> Option<Type> {
    let integers = [Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt];
    let width = |ty: &Type| integers.iter().position(|integer| integer == ty);
    let fits_double = |ty: &Type| {
        matches!(ty, Type::Real | Type::Double) || width(ty).is_some_and(|w| w < integers.len() - 1)
    };
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (Type::Unknown, known) | (known, Type::Unknown) => known.clone(),
        (Type::Array(a), Type::Array(b)) => Type::array(common_type(a, b)?),
        (Type::Map(a_key, a), Type::Map(b_key, b)) => {
            Type::map(common_type(a_key, b_key)?, common_type(a, b)?)
        }
        (Type::Row(a), Type::Row(b)) => Type::Row(Arc::new(merged_columns(a, b))),
        (Type::Decimal { precision: p, scale: s }, Type::Decimal { precision: q, scale: t }) => {
            let scale = *s.max(t);
            let whole = p.saturating_sub(*s).max(q.saturating_sub(*t));
            Type::decimal(whole + scale, scale).ok()?
        }
        (a, b) => match (width(a), width(b)) {
            (Some(of_a), Some(of_b)) => {
                if of_a > of_b {
                    a.clone()
                } else {
                    b.clone()
                }
            }
            _ if fits_double(a) && fits_double(b) => Type::Double,
            _ => return None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_several_files_are_widened_and_columns_added() {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        let first = RowType::new([
            ("a", Type::Integer),
            ("b", Type::Real),
            ("c", decimal(5, 2)),
            ("d", Type::Varchar),
            ("s", Type::row([("x", Type::TinyInt)])),
        ]);
        let other = RowType::new([
            ("new", Type::Date),
            ("D", Type::BigInt),
            ("C", decimal(4, 3)),
            ("b", Type::SmallInt),
            ("s", Type::row([("y", Type::array(Type::Real)), ("x", Type::Integer)])),
            ("a", Type::BigInt),
        ]);
        let merged = merged_columns(&first, &other);
        let expected = RowType::new([
            ("a", Type::BigInt),
            ("b", Type::Double),
            ("c", decimal(6, 3)),
            // The two types have no common type.
            ("d", Type::Varchar),
            ("s", Type::row([("x", Type::Integer), ("y", Type::array(Type::Real))])),
            ("new", Type::Date),
        ]);
        assert_eq!(merged, expected);
        assert_eq!(common_type(&Type::BigInt, &Type::Double), None);
        let twins = RowType::new([("a", Type::BigInt), ("A", Type::BigInt)]);
        assert_eq!(merged_columns(&first, &twins), first);
        assert_eq!(merged_columns(&twins, &first), twins);
    }
}
