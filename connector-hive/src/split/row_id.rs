//! Row ids: a value that identifies a row uniquely in its table (rule S6.58).
//!
//! ```text
//! row number in the file | file name | metadata version | partition id | table guid
//!        of the row      |                     of the split
//! ```

use vector::sync::Arc;
use vector::{Error, Result, RowVector, Type, Value, Vector, VectorRef};

use crate::split::hive_split::HiveSplit;
use crate::table::hidden_columns::ROW_ID_FIELDS;

/// Returns the fields of a row id that all rows of a split share.
///
/// # Errors
/// `Internal` if the split has no row id properties.
pub(crate) fn row_id_constants(split: &HiveSplit) -> Result<[Value; ROW_ID_FIELDS - 1]> {
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

/// Returns the row ids of the rows with these numbers.
///
/// # Errors
/// `Internal` if `ty` is not a ROW.
pub(crate) fn row_ids(ty: &Type, numbers: VectorRef, constants: &[Value]) -> Result<VectorRef> {
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
