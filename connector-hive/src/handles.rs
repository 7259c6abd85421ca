//! Handles: what a plan says about a Hive table and its columns.
//!
//! Both are plain data that can be printed; `exec` carries them without looking inside. A column
//! handle names the *table's* column; the plan's name for it stands in the scan's assignments and
//! is not used below (rule S6.2).

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write;

use dwio::connector::{ColumnHandle, TableHandle};
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

/// The path of the file that a row is in.
pub const PATH: &str = "$path";
/// The length in bytes of the file that a row is in.
pub const FILE_SIZE: &str = "$file_size";
/// The last change of the file that a row is in, in milliseconds since 1970.
pub const FILE_MODIFIED_TIME: &str = "$file_modified_time";
/// The bucket that a row is in.
pub const BUCKET: &str = "$bucket";
/// The row's number in its file.
pub const ROW_INDEX: &str = "$row_index";

/// The type of a column that is made from the split, by its conventional name (rule S7.81).
pub fn info_column_type(name: &str) -> Option<Type> {
    match name {
        PATH => Some(Type::Varchar),
        FILE_SIZE | FILE_MODIFIED_TIME => Some(Type::BigInt),
        BUCKET => Some(Type::Integer),
        _ => None,
    }
}

/// Where the values of a column come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// The file, if it has the column, else null.
    Regular,
    /// The directory name: one value for a file.
    PartitionKey,
    /// The split's info columns: one value for a file.
    Synthesized,
    /// The row's number in its file.
    RowIndex,
    /// Row number, file and partition together (rule S6.58).
    RowId,
}

impl ColumnKind {
    /// True when all rows of a split have the same value.
    pub fn is_split_constant(self) -> bool {
        matches!(self, ColumnKind::PartitionKey | ColumnKind::Synthesized)
    }
}

/// One column of a Hive table.
#[derive(Debug, Clone, PartialEq)]
pub struct HiveColumnHandle {
    name: String,
    kind: ColumnKind,
    ty: Type,
    required_subfields: Vec<Subfield>,
    file_column: Option<FileColumn>,
}

/// A top-level column of files that have its name more than once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileColumn {
    /// The name in the files.
    pub name: String,
    /// How many columns before it have exactly this name.
    pub occurrence: usize,
}

impl HiveColumnHandle {
    /// The column `name`, wanted whole.
    pub fn new(name: impl Into<String>, kind: ColumnKind, ty: Type) -> Self {
        let required_subfields = Vec::new();
        HiveColumnHandle { name: name.into(), kind, ty, required_subfields, file_column: None }
    }

    /// The column of the files that has this handle's name and `occurrence` others of exactly the
    /// same name before it; its type is `ty`. Since columns of a scan are told apart by name, all
    /// but the first get a number behind theirs: `x`, `x#2`, `x#3`.
    pub fn with_occurrence(mut self, occurrence: usize, ty: Type) -> Self {
        let name = self.file_name().to_string();
        self.name = occurrence_name(&name, occurrence);
        self.ty = ty;
        self.file_column = Some(FileColumn { name, occurrence });
        self
    }

    /// The same column, of which only `subfields` are wanted; none means all. `InvalidInput` when
    /// one of them belongs to another column (rule S3.7).
    pub fn with_required_subfields(mut self, subfields: Vec<Subfield>) -> Result<Self> {
        if let Some(foreign) = subfields.iter().find(|s| s.column_name() != self.name) {
            return Err(Error::invalid_input("a required subfield belongs to another column")
                .with("subfield", foreign))
            .map_err(|e| e.in_named("column", &self.name));
        }
        self.required_subfields = subfields;
        Ok(self)
    }

    /// The table's name for the column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files' name for the column.
    pub fn file_name(&self) -> &str {
        self.file_column.as_ref().map_or(&self.name, |c| &c.name)
    }

    /// Which of several columns of the files it is, if that was told.
    pub fn file_column(&self) -> Option<&FileColumn> {
        self.file_column.as_ref()
    }

    /// Where its values come from.
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }

    /// The type the table declares.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The parts that are wanted; none means the whole column.
    pub fn required_subfields(&self) -> &[Subfield] {
        &self.required_subfields
    }

    /// The Hive handle inside a handle; `Internal` when it is of another connector.
    pub fn of(handle: &dyn ColumnHandle) -> Result<&HiveColumnHandle> {
        handle.as_any().downcast_ref().ok_or_else(|| {
            Error::internal("a column handle of another connector")
                .with("column", handle.column_name())
        })
    }
}

impl ColumnHandle for HiveColumnHandle {
    fn column_name(&self) -> &str {
        &self.name
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A Hive table as one scan sees it: its name, its files' schema and what is pushed into the scan.
#[derive(Debug, Clone)]
pub struct HiveTableHandle {
    connector_id: String,
    name: String,
    filters: Vec<(Subfield, Arc<Filter>)>,
    remaining_filter: Option<TypedExpr>,
    data_columns: Option<Arc<RowType>>,
    filter_columns: Vec<HiveColumnHandle>,
    parameters: BTreeMap<String, String>,
}

impl HiveTableHandle {
    /// The table `name` of a connector, unfiltered, of unknown schema.
    pub fn new(connector_id: impl Into<String>, name: impl Into<String>) -> Self {
        HiveTableHandle {
            connector_id: connector_id.into(),
            name: name.into(),
            filters: Vec::new(),
            remaining_filter: None,
            data_columns: None,
            filter_columns: Vec::new(),
            parameters: BTreeMap::new(),
        }
    }

    /// Adds a filter on one column or a field of it.
    pub fn with_filter(mut self, subfield: Subfield, filter: Arc<Filter>) -> Self {
        self.filters.push((subfield, filter));
        self
    }

    /// Sets the condition that is evaluated on rows, over the table's column names. What of it can
    /// be done earlier (filters, partitions) is found by the connector.
    pub fn with_remaining_filter(mut self, filter: Option<TypedExpr>) -> Self {
        self.remaining_filter = filter;
        self
    }

    /// Sets the columns that the table's files have, needed for filters on columns that are not
    /// read otherwise.
    pub fn with_data_columns(mut self, columns: Arc<RowType>) -> Self {
        self.data_columns = Some(columns);
        self
    }

    /// Adds a column that only filters use (rule S6.5); this is how the connector learns that it
    /// is a partition key.
    pub fn with_filter_column(mut self, column: HiveColumnHandle) -> Self {
        self.filter_columns.push(column);
        self
    }

    /// Sets a table parameter.
    pub fn with_parameter(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(key.into(), value.into());
        self
    }

    /// The filters on single columns.
    pub fn filters(&self) -> &[(Subfield, Arc<Filter>)] {
        &self.filters
    }

    /// The condition on rows.
    pub fn remaining_filter(&self) -> Option<&TypedExpr> {
        self.remaining_filter.as_ref()
    }

    /// The columns of the files, if known.
    pub fn data_columns(&self) -> Option<&Arc<RowType>> {
        self.data_columns.as_ref()
    }

    /// The columns that only filters use.
    pub fn filter_columns(&self) -> &[HiveColumnHandle] {
        &self.filter_columns
    }

    /// The table's parameters.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The Hive handle inside a handle; `Internal` when it is of another connector.
    pub fn of(handle: &dyn TableHandle) -> Result<&HiveTableHandle> {
        handle.as_any().downcast_ref().ok_or_else(|| {
            Error::internal("a table handle of another connector")
                .with("table", handle.table_name())
                .with("connector", handle.connector_id())
        })
    }
}

impl TableHandle for HiveTableHandle {
    fn connector_id(&self) -> &str {
        &self.connector_id
    }

    fn table_name(&self) -> &str {
        &self.name
    }

    fn describe(&self) -> String {
        let mut text = self.name.clone();
        for (i, (subfield, filter)) in self.filters.iter().enumerate() {
            text.push_str(if i == 0 { ", filters: " } else { " and " });
            // Writing to a string cannot fail.
            let _ = write!(text, "{subfield} {filter}");
        }
        if let Some(filter) = &self.remaining_filter {
            let _ = write!(text, ", remaining filter: {filter}");
        }
        text
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The name of one of several columns of a file that have the same.
pub fn occurrence_name(name: &str, occurrence: usize) -> String {
    match occurrence {
        0 => name.to_string(),
        before => format!("{name}#{}", before + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwio::subfield::PathElement;
    use vector::{ErrorKind, Value};

    #[test]
    fn required_subfields_of_another_column_are_refused() {
        let handle =
            HiveColumnHandle::new("a", ColumnKind::Regular, Type::row([("b", Type::BigInt)]));
        let own = Subfield::column("a").then(PathElement::Field("b".into()));
        assert!(handle.clone().with_required_subfields(vec![own]).is_ok());
        let error = handle.with_required_subfields(vec![Subfield::column("b")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            error.to_string(),
            "invalid input: a required subfield belongs to another column (subfield=b)\n  \
             in column \"a\""
        );
    }

    #[test]
    fn a_table_describes_what_is_pushed_into_it() {
        let ten = TypedExpr::constant(Value::BigInt(10), Type::BigInt);
        let lt =
            TypedExpr::call("lt", vec![TypedExpr::field("x", Type::BigInt), ten], Type::Boolean);
        let table = HiveTableHandle::new("hive", "t");
        assert_eq!(table.describe(), "t");
        let table = table
            .with_filter(Subfield::column("a"), Arc::new(Filter::IsNotNull))
            .with_remaining_filter(Some(lt));
        assert_eq!(table.describe(), "t, filters: a is not null, remaining filter: lt(x, 10)");
    }
}
