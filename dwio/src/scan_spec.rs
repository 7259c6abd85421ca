//! Scan specifications: the columns and filters that a scan requests, and their location in one
//! split.
//!
//! Velox keeps the plan, the split and the adaptation in one mutable tree; here they are three
//! types with three lifetimes:
//!
//! ```text
//! ScanSpec        from the plan: columns, filters, channels       immutable, shared by all splits
//! SplitBinding    from the split: file columns or constants       created when a split is opened
//! ScanAdaptation  from the driver: dynamic filters, filter costs  outlives splits (adaptation.rs)
//! ```

use vector::sync::Arc;
use vector::{RowType, Type, Value};

use crate::filter::Filter;

/// Source of the values of a column, as declared by the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// The file, if it contains the column.
    Regular,
    /// The split, for partition keys and synthesized columns such as `$path`. All rows of a split
    /// have the same value.
    Synthesized,
    /// The row number in the file.
    RowIndex,
    /// The row number in the file, combined with constants of the split that identify the file
    /// (rule S6.58).
    RowId,
}

/// Request for one column, or for one field of a nested column.
#[derive(Debug, Clone)]
pub struct ColumnSpec {
    /// Name of the column in the table or name of the field; `element`, `key` and `value` for the
    /// children of lists and maps.
    pub name: String,
    /// Type that the plan requests; the type in the file may be narrower.
    pub ty: Type,
    /// Source of the values.
    pub source: ColumnSource,
    /// Position in the output of the reader; `None` if the column is used only for filtering.
    pub channel: Option<usize>,
    /// Static filter on the column's own value.
    pub filter: Option<Arc<Filter>>,
    /// Requests for the children of the column.
    pub nested: NestedSpec,
}

/// Requests for the children of a column.
#[derive(Debug, Clone, Default)]
pub enum NestedSpec {
    /// All children, read completely.
    #[default]
    Whole,
    /// One entry for each field of the type, in order.
    Row(Vec<FieldSpec>),
    /// At most `max_elements` elements of each row.
    Array {
        /// Request for an element.
        element: Box<ColumnSpec>,
        /// Maximum number of elements kept of each row.
        max_elements: usize,
    },
    /// The keys that pass the filter on the key, and their values.
    Map {
        /// Request for a key.
        key: Box<ColumnSpec>,
        /// Request for a value.
        value: Box<ColumnSpec>,
    },
}

/// One field of a struct.
#[derive(Debug, Clone)]
pub enum FieldSpec {
    /// Read as the spec states.
    Wanted(ColumnSpec),
    /// Not read: null in every row, because pruning changes neither the type of a column nor its
    /// number of rows (rule S3.8).
    Pruned,
}

impl ColumnSpec {
    /// Returns a regular column that is read completely and written to `channel`.
    pub fn whole(name: impl Into<String>, ty: Type, channel: usize) -> Self {
        ColumnSpec {
            name: name.into(),
            ty,
            source: ColumnSource::Regular,
            channel: Some(channel),
            filter: None,
            nested: NestedSpec::Whole,
        }
    }

    /// Returns true if this column or a struct field nested in it has a filter.
    pub fn has_filter(&self) -> bool {
        self.filter.is_some() || self.nested.has_filter()
    }
}

impl NestedSpec {
    /// Returns true if a nested field has a filter that drops rows.
    pub fn has_filter(&self) -> bool {
        match self {
            NestedSpec::Row(fields) => {
                fields.iter().any(|f| matches!(f, FieldSpec::Wanted(spec) if spec.has_filter()))
            }
            // Filters below lists and maps remove entries, not rows (rule S3.21).
            NestedSpec::Whole | NestedSpec::Array { .. } | NestedSpec::Map { .. } => false,
        }
    }
}

/// Columns of a scan. Immutable once built.
#[derive(Debug, Clone, Default)]
pub struct ScanSpec {
    columns: Vec<ColumnSpec>,
}

impl ScanSpec {
    /// Returns a scan of the columns. The channels of the columns that have one form the output
    /// `0..n` without gaps.
    pub fn new(columns: Vec<ColumnSpec>) -> Self {
        ScanSpec { columns }
    }

    /// Returns a scan of all columns of a row type, complete and without filters.
    pub fn of_row_type(row_type: &RowType) -> Self {
        let columns = row_type
            .fields()
            .enumerate()
            .map(|(channel, (name, ty))| ColumnSpec::whole(name, ty.clone(), channel));
        ScanSpec { columns: columns.collect() }
    }

    /// Returns the columns in the order of the plan.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// Returns the type of the output, ordered by channel.
    pub fn output_type(&self) -> RowType {
        let mut output: Vec<_> =
            self.columns.iter().filter_map(|c| Some((c.channel?, c))).collect();
        output.sort_by_key(|(channel, _)| *channel);
        RowType::new(output.into_iter().map(|(_, c)| (c.name.clone(), c.ty.clone())))
    }
}

/// Location of a column in one split.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundColumn {
    /// A top-level column of the file.
    File {
        /// Position among the top-level columns of the file.
        ordinal: usize,
    },
    /// The same value in every row: a partition value, or null for a missing column.
    Constant(Value),
    /// The row number in the file.
    RowIndex,
}

/// Mapping of the requested children of a nested column to those in a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum NestedBinding {
    /// The reader finds fields by name.
    #[default]
    ByName,
    /// One entry for each requested field; `None` if the file has no such field, which is then null
    /// in every row where the struct is not null (rule S7.60).
    Row(Vec<Option<BoundField>>),
    /// Mapping of the elements of a list; `None` if its elements are null in every row.
    Array(Option<Box<NestedBinding>>),
    /// Mapping of the values of a map; keys always have the form they have in the file. `None` if
    /// the values are null in every row.
    Map(Option<Box<NestedBinding>>),
}

/// Location of a field of a struct in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundField {
    /// Position among the fields of the struct in the file.
    pub ordinal: usize,
    /// Mapping of the children of the field.
    pub nested: NestedBinding,
}

/// Locations of all columns of a [`ScanSpec`] in one split, in the order of the spec.
#[derive(Debug, Clone, Default)]
pub struct SplitBinding {
    columns: Vec<BoundColumn>,
    nested: Vec<NestedBinding>,
}

impl SplitBinding {
    /// Returns a binding with one entry for each column of the spec.
    pub fn new(columns: Vec<BoundColumn>) -> Self {
        SplitBinding { columns, nested: Vec::new() }
    }

    /// Sets the mappings of nested columns, in the order of the spec.
    pub fn with_nested(mut self, nested: Vec<NestedBinding>) -> Self {
        self.nested = nested;
        self
    }

    /// Returns the entries in the order of the spec.
    pub fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    /// Returns the location of column `i` of the spec.
    pub fn column(&self, i: usize) -> Option<&BoundColumn> {
        self.columns.get(i)
    }

    /// Returns the mapping of the children of column `i` of the spec.
    pub fn nested(&self, i: usize) -> &NestedBinding {
        self.nested.get(i).unwrap_or(&NestedBinding::ByName)
    }
}
