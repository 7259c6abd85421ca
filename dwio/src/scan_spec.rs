//! What a scan wants of each column, and where one split has it.
//!
//! Velox keeps plan, split and learning in one mutable tree; here they are three types with three
//! lifetimes:
//!
//! ```text
//! ScanSpec        the plan's part: columns, filters, channels      frozen, shared by all splits
//! SplitBinding    the split's part: file column or constant        made when a split is opened
//! ScanAdaptation  the driver's part: dynamic filters, filter cost  outlives splits (adaptation.rs)
//! ```

use vector::sync::Arc;
use vector::{RowType, Type, Value};

use crate::filter::Filter;

/// Where a column's values come from, as the table declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// The file, if it has the column.
    Regular,
    /// The split: a constant for all its rows.
    SplitConstant,
    /// The row's number in its file.
    RowIndex,
    /// The row's number, beside constants of the split that say in which file (rule S6.58).
    RowId,
}

/// What is wanted of one column, or of one field of a nested column.
#[derive(Debug, Clone)]
pub struct ColumnSpec {
    /// The table's name for the column, or the field's name; `element`, `key` and `value` below
    /// lists and maps.
    pub name: String,
    /// The type the plan asks for; the file's may be narrower.
    pub ty: Type,
    /// Where it comes from.
    pub source: ColumnSource,
    /// Position in the reader's output; `None` when the column only filters.
    pub channel: Option<usize>,
    /// The static filter on the column's own value.
    pub filter: Option<Arc<Filter>>,
    /// What is wanted below it.
    pub nested: NestedSpec,
}

/// What is wanted below a column.
#[derive(Debug, Clone, Default)]
pub enum NestedSpec {
    /// Everything there is.
    #[default]
    Whole,
    /// These fields, one for each field of the type in order.
    Row(Vec<FieldSpec>),
    /// Elements, at most `max_elements` of each row.
    Array {
        /// What is wanted of an element.
        element: Box<ColumnSpec>,
        /// Elements kept of each row.
        max_elements: usize,
    },
    /// Keys that pass the key's filter, and their values.
    Map {
        /// What is wanted of a key.
        key: Box<ColumnSpec>,
        /// What is wanted of a value.
        value: Box<ColumnSpec>,
    },
}

/// One field of a struct.
#[derive(Debug, Clone)]
pub enum FieldSpec {
    /// Read as the spec says.
    Wanted(ColumnSpec),
    /// Null in every row (rule S3.8).
    Pruned,
}

impl ColumnSpec {
    /// A regular column that is read whole and comes out at `channel`.
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

    /// True when this column or a field below it has a filter.
    pub fn has_filter(&self) -> bool {
        self.filter.is_some() || self.nested.has_filter()
    }
}

impl NestedSpec {
    /// True when a field has a filter that drops rows.
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

/// The columns of a scan. Frozen once built.
#[derive(Debug, Clone, Default)]
pub struct ScanSpec {
    columns: Vec<ColumnSpec>,
}

impl ScanSpec {
    /// A scan of the columns; those with a channel form the output `0..n` without gaps.
    pub fn new(columns: Vec<ColumnSpec>) -> Self {
        ScanSpec { columns }
    }

    /// Every column of a row type, whole and unfiltered.
    pub fn of_row_type(row_type: &RowType) -> Self {
        let columns = row_type
            .fields()
            .enumerate()
            .map(|(channel, (name, ty))| ColumnSpec::whole(name, ty.clone(), channel));
        ScanSpec { columns: columns.collect() }
    }

    /// The columns in the order of the plan.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// The columns of the output, by channel.
    pub fn output_type(&self) -> RowType {
        let mut output: Vec<_> =
            self.columns.iter().filter_map(|c| Some((c.channel?, c))).collect();
        output.sort_by_key(|(channel, _)| *channel);
        RowType::new(output.into_iter().map(|(_, c)| (c.name.clone(), c.ty.clone())))
    }
}

/// Where one split has a column.
#[derive(Debug, Clone, PartialEq)]
pub enum BoundColumn {
    /// Top-level column `ordinal` of the file.
    File {
        /// Position among the file's top-level columns.
        ordinal: usize,
    },
    /// The same value in every row: a partition value, a missing column's null.
    Constant(Value),
    /// The row's number in the file.
    RowIndex,
}

/// Which parts of a file's nested column the parts of the wanted one are.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum NestedBinding {
    /// The reader finds fields by their names.
    #[default]
    ByName,
    /// One entry for each wanted field; `None` where the file has no such field (rule S7.60).
    Row(Vec<Option<BoundField>>),
    /// Below a list; `None` when its elements are null in every row.
    Array(Option<Box<NestedBinding>>),
    /// Below the values of a map; keys always are what they are in the file. `None` when its
    /// values are null in every row.
    Map(Option<Box<NestedBinding>>),
}

/// A field of a struct in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundField {
    /// Position among the fields of the file's struct.
    pub ordinal: usize,
    /// What is below it.
    pub nested: NestedBinding,
}

/// Where one split has each column of a [`ScanSpec`], by the spec's order.
#[derive(Debug, Clone, Default)]
pub struct SplitBinding {
    columns: Vec<BoundColumn>,
    nested: Vec<NestedBinding>,
}

impl SplitBinding {
    /// One entry for each column of the spec.
    pub fn new(columns: Vec<BoundColumn>) -> Self {
        SplitBinding { columns, nested: Vec::new() }
    }

    /// The same, with what is below the columns, by the spec's order.
    pub fn with_nested(mut self, nested: Vec<NestedBinding>) -> Self {
        self.nested = nested;
        self
    }

    /// The entries in the spec's order.
    pub fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    /// Column `i`, the spec's order.
    pub fn column(&self, i: usize) -> Option<&BoundColumn> {
        self.columns.get(i)
    }

    /// What is below column `i`, the spec's order.
    pub fn nested(&self, i: usize) -> &NestedBinding {
        self.nested.get(i).unwrap_or(&NestedBinding::ByName)
    }
}
