//! Table handles: what a plan specifies about a Hive table and pushes down into its scan.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Write;

use dwio::connector::TableHandle;
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::reader::FieldIds;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{Error, Result, RowType, TimeUnit};

use crate::table::column_handle::HiveColumnHandle;

/// A Hive table as seen by one scan: its name, the schema of its files and the pushed-down
/// conditions.
#[derive(Debug, Clone)]
pub struct HiveTableHandle {
    connector_id: String,
    name: String,
    database: Option<String>,
    filters: Vec<(Subfield, Arc<Filter>)>,
    remaining_filter: Option<TypedExpr>,
    data_columns: Option<Arc<RowType>>,
    filter_columns: Vec<HiveColumnHandle>,
    parameters: BTreeMap<String, String>,
    field_ids: Vec<FieldIds>,
    column_mapping: Option<ColumnMapping>,
    sample_rate: f64,
    splits_are_chosen: bool,
    names_in_any_case: bool,
    timestamp_unit: TimeUnit,
}

/// Method of finding the table's columns in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnMapping {
    /// By their position among the table's data columns.
    Position,
    /// By name.
    Name,
    /// By field id, as table formats assign them.
    FieldId,
}

impl HiveTableHandle {
    /// Returns the handle of table `name` of a connector, without filters and with an unknown
    /// schema.
    pub fn new(connector_id: impl Into<String>, name: impl Into<String>) -> Self {
        HiveTableHandle {
            connector_id: connector_id.into(),
            name: name.into(),
            database: None,
            filters: Vec::new(),
            remaining_filter: None,
            data_columns: None,
            filter_columns: Vec::new(),
            parameters: BTreeMap::new(),
            field_ids: Vec::new(),
            column_mapping: None,
            sample_rate: 1.0,
            splits_are_chosen: true,
            names_in_any_case: false,
            timestamp_unit: TimeUnit::Millis,
        }
    }

    /// Sets the database of the table.
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into());
        self
    }

    /// Adds a filter on one column or on a field of one.
    pub fn with_filter(mut self, subfield: Subfield, filter: Arc<Filter>) -> Self {
        self.filters.push((subfield, filter));
        self
    }

    /// Sets the condition on rows, which refers to the table's column names. The connector
    /// determines which parts of it can be tested earlier, as filters or on partitions.
    pub fn with_remaining_filter(mut self, filter: Option<TypedExpr>) -> Self {
        self.remaining_filter = filter;
        self
    }

    /// Sets the columns of the table's files. They are needed for filters on columns that are not
    /// read otherwise.
    pub fn with_data_columns(mut self, columns: Arc<RowType>) -> Self {
        self.data_columns = Some(columns);
        self
    }

    /// Adds the handle of a column that only filters use (rule S6.5). It states the kind of the
    /// column, such as a partition key.
    pub fn with_filter_column(mut self, column: HiveColumnHandle) -> Self {
        self.filter_columns.push(column);
        self
    }

    /// Sets a table parameter.
    pub fn with_parameter(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(key.into(), value.into());
        self
    }

    /// Sets the mapping of columns for splits that do not have their own (rule S7.46).
    pub fn with_column_mapping(mut self, mapping: ColumnMapping) -> Self {
        self.column_mapping = Some(mapping);
        self
    }

    /// Sets the field ids of the data columns, which must be set before (rule S6.1).
    ///
    /// # Errors
    /// `InvalidInput` if their number differs from that of the data columns.
    pub fn with_field_ids(mut self, ids: Vec<FieldIds>) -> Result<Self> {
        let columns = self.data_columns.as_ref().map_or(0, |d| d.len());
        if ids.len() != columns {
            return Err(Error::invalid_input("a table has other numbers of field ids and columns")
                .with("field_ids", ids.len())
                .with("data_columns", columns));
        }
        self.field_ids = ids;
        Ok(self)
    }

    /// Sets the fraction of rows that the scan reads.
    ///
    /// # Errors
    /// `Internal` if it is not above 0 and at most 1 (rule S4.29).
    pub fn with_sample_rate(mut self, rate: f64) -> Result<Self> {
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(Error::internal("a sample rate is outside of (0, 1]").with("rate", rate));
        }
        self.sample_rate = rate;
        Ok(self)
    }

    /// Allows column names to differ in case from those in the files if the match is unambiguous.
    /// Used for tables whose column names are written by users.
    pub fn with_names_in_any_case(mut self) -> Self {
        self.names_in_any_case = true;
        self
    }

    /// Sets the unit to which timestamps of files are truncated unless a setting overrides it (rule
    /// S7.57). The default is milliseconds.
    pub fn with_timestamp_unit(mut self, unit: TimeUnit) -> Self {
        self.timestamp_unit = unit;
        self
    }

    /// States that the splits were made without testing conditions on synthesized columns such as
    /// `$path`, so that such conditions drop splits. Otherwise these conditions count as already
    /// tested, and a split that violates one is an error (rule S7.82).
    pub fn with_unchosen_splits(mut self) -> Self {
        self.splits_are_chosen = false;
        self
    }

    /// Database of the table, if known.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Filters on single columns.
    pub fn filters(&self) -> &[(Subfield, Arc<Filter>)] {
        &self.filters
    }

    /// Condition on rows.
    pub fn remaining_filter(&self) -> Option<&TypedExpr> {
        self.remaining_filter.as_ref()
    }

    /// Columns of the files, if known.
    pub fn data_columns(&self) -> Option<&Arc<RowType>> {
        self.data_columns.as_ref()
    }

    /// Columns that only filters use.
    pub fn filter_columns(&self) -> &[HiveColumnHandle] {
        &self.filter_columns
    }

    /// Parameters of the table.
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// Field ids of the data columns; empty if they are not known.
    pub fn field_ids(&self) -> &[FieldIds] {
        &self.field_ids
    }

    /// Mapping of columns, if the table specifies it.
    pub fn column_mapping(&self) -> Option<ColumnMapping> {
        self.column_mapping
    }

    /// Returns true if column names may differ in case.
    pub fn names_in_any_case(&self) -> bool {
        self.names_in_any_case
    }

    /// Unit to which timestamps of files are truncated.
    pub fn timestamp_unit(&self) -> TimeUnit {
        self.timestamp_unit
    }

    /// Fraction of rows that the scan reads.
    pub fn sample_rate(&self) -> f64 {
        self.sample_rate
    }

    /// Returns true if the conditions on synthesized columns were tested when the splits were made.
    pub fn splits_are_chosen(&self) -> bool {
        self.splits_are_chosen
    }

    /// Downcasts a table handle to a Hive table handle.
    ///
    /// # Errors
    /// `Internal` if it belongs to another connector.
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

#[cfg(test)]
mod tests {
    use super::*;
    use vector::{Type, Value};

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

    #[test]
    fn s6_1_a_sample_rate_is_a_share_and_field_ids_are_as_many_as_columns() {
        let table = || HiveTableHandle::new("hive", "t");
        for wrong in [0.0, -0.5, 1.5, f64::NAN] {
            assert!(table().with_sample_rate(wrong).is_err(), "{wrong}");
        }
        assert_eq!(table().with_sample_rate(0.25).unwrap().sample_rate(), 0.25);
        assert!(table().with_field_ids(vec![FieldIds::default()]).is_err());
        let columns = Arc::new(RowType::new([("a", Type::BigInt)]));
        let table = table().with_data_columns(columns);
        assert!(table.with_field_ids(vec![FieldIds::default()]).is_ok());
    }
}
