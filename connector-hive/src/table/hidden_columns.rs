//! Columns that each table has without declaring them: names, types, and the type of row ids.
//!
//! The values of `$path`, `$file_size`, `$file_modified_time` and `$bucket` are synthesized: they come
//! from the split and are the same for all of its rows. Row numbers and row ids differ by row.

use vector::Type;

/// Column with the path of the row's file.
pub const PATH: &str = "$path";
/// Column with the length of the row's file in bytes.
pub const FILE_SIZE: &str = "$file_size";
/// Column with the time of the last change of the row's file, in milliseconds since 1970.
pub const FILE_MODIFIED_TIME: &str = "$file_modified_time";
/// Column with the row's bucket.
pub const BUCKET: &str = "$bucket";
/// Column with the row's number in its file.
pub const ROW_INDEX: &str = "$row_index";

/// Number of fields of a row id column (rule S6.58).
pub(crate) const ROW_ID_FIELDS: usize = 5;

/// Returns the type of a synthesized column by its conventional name; `None` for other names (rule
/// S7.81).
pub fn synthesized_column_type(name: &str) -> Option<Type> {
    match name {
        PATH => Some(Type::Varchar),
        FILE_SIZE | FILE_MODIFIED_TIME => Some(Type::BigInt),
        BUCKET => Some(Type::Integer),
        _ => None,
    }
}

/// Returns true if `ty` is the type of a row id column.
pub(crate) fn is_row_id_type(ty: &Type) -> bool {
    let fields = [Type::BigInt, Type::Varchar, Type::BigInt, Type::BigInt, Type::Varchar];
    matches!(ty, Type::Row(row) if row.types() == fields)
}
