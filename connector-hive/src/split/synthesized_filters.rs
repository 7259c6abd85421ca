//! Filters on synthesized columns. They are assertions of the code that made the splits, so a split
//! that violates one is an error (rules S7.82, S7.83).

use dwio::filter::Filter;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{Error, Result, Type};

use crate::plan::columns::ScanColumns;
use crate::split::hive_split::HiveSplit;

/// Checks that a split satisfies the filters on its synthesized columns. A filter on a column that
/// the split does not define is ignored.
///
/// # Errors
/// `Internal` if a filter rejects the split's value, which means that the split should not have
/// been made, or if the column has an unsupported type.
pub(crate) fn check_synthesized_filters(
    filters: &[(Subfield, Arc<Filter>)],
    columns: &ScanColumns,
    split: &HiveSplit,
) -> Result<()> {
    for (subfield, filter) in filters {
        let name = subfield.column_name();
        let Some(text) = split.synthesized_columns.get(name) else { continue };
        let handle = columns.handle(name).ok_or_else(|| {
            Error::internal("column handle missing for a synthesized column")
                .in_named("column", name)
        })?;
        let passes = match handle.ty() {
            Type::BigInt | Type::Integer => {
                let value = text.parse().map_err(|e| {
                    Error::internal("a synthesized column is not a number")
                        .with("text", text)
                        .in_named("column", name)
                        .caused_by(e)
                })?;
                filter.test_i64(value)?
            }
            Type::Varchar => filter.test_bytes(text.as_bytes())?,
            other => {
                return Err(Error::internal("a filter on a synthesized column of this type")
                    .with("type", other)
                    .in_named("column", name));
            }
        };
        if !passes {
            return Err(Error::internal(
                "a split does not fulfil a filter on its synthesized column",
            )
            .with("filter", filter)
            .with("value", text)
            .with("split", &split.path)
            .in_named("column", name));
        }
    }
    Ok(())
}
