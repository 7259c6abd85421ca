//! The row id: a number of a row that is unique in its table (rule S6.58).
//!
//! ```text
//! row number in the file | file name | metadata version | partition id | table guid
//!        of the row      |                     of the split
//! ```

use vector::sync::Arc;
use vector::{Error, Result, RowVector, Type, Value, Vector, VectorRef};

use crate::handles::ROW_ID_FIELDS;
use crate::split::HiveSplit;

/// What a split tells of the rows' table and partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowIdProperties {
    /// The version of the table's metadata.
    pub metadata_version: i64,
    /// The partition.
    pub partition_id: i64,
    /// The table.
    pub table_guid: String,
}

/// The fields of a row id that all rows of a split share.
pub fn row_id_constants(split: &HiveSplit) -> Result<[Value; ROW_ID_FIELDS - 1]> {
    let Some(properties) = &split.row_id else {
        return Err(Error::internal("a split without the properties that row ids need")
            .with("split", &split.path));
    };
    Ok([
        Value::bytes(split.file_name()),
        Value::BigInt(properties.metadata_version),
        Value::BigInt(properties.partition_id),
        Value::bytes(&properties.table_guid),
    ])
}

/// The row ids of rows with these numbers.
pub fn row_ids(ty: &Type, numbers: VectorRef, constants: &[Value]) -> Result<VectorRef> {
    let Type::Row(row_type) = ty else {
        return Err(Error::internal("a row id column must be a ROW").with("type", ty));
    };
    let num_rows = numbers.len();
    let mut children = vec![numbers];
    for (value, ty) in constants.iter().zip(row_type.types().iter().skip(1)) {
        children.push(Arc::new(Vector::constant(ty.clone(), value.clone(), num_rows)?));
    }
    Ok(Arc::new(Vector::Row(RowVector::new(Arc::clone(row_type), num_rows, None, children)?)))
}

/// True for the type that a row id column must have.
pub fn is_row_id_type(ty: &Type) -> bool {
    let wanted = [Type::BigInt, Type::Varchar, Type::BigInt, Type::BigInt, Type::Varchar];
    matches!(ty, Type::Row(row) if row.types() == wanted)
}
