//! Interface through which the front end reads tables; implemented by the engine and by tests.

use std::fmt;

use dwio::connector::ConnectorSplit;
use dwio::expr::TypedExpr;
use dwio::stored::StoredColumn;
use exec::plan::{PlanNodeId, TableScanNode};
use vector::sync::Arc;
use vector::{Result, Type};

/// Resolves table names.
pub(crate) trait Catalog {
    /// Finds the table that FROM names: a registered name, or a path when it is `quoted`.
    fn find(&self, name: &str, quoted: bool) -> Result<Box<dyn FoundTable + '_>>;
}

/// A table that was found and of which only the partition columns are known so far.
pub(crate) trait FoundTable {
    /// Returns the name that qualifies its columns when the table has no alias.
    fn name(&self) -> &str;

    /// Returns the columns that are known without opening a file.
    fn partition_columns(&self) -> &[TableColumn];

    /// Reads the schema of the other columns. `condition`, over the partition columns, selects the
    /// files that the query reads, so that no other file is opened.
    fn open(self: Box<Self>, condition: Option<&TypedExpr>) -> Result<Arc<dyn CatalogTable>>;
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableColumn {
    /// Name that the user sees; it may be repeated in a file.
    pub(crate) name: String,
    /// Name that plans use, unique within the table.
    pub(crate) field: Arc<str>,
    /// Type of the column.
    pub(crate) ty: Type,
    /// True for columns that `*` does not select, such as `$path`.
    pub(crate) hidden: bool,
}

/// A column that a scan returns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScanColumn {
    /// Position of the column in the table.
    pub(crate) index: usize,
    /// Required struct fields, each as the path of positions from the outermost struct inwards;
    /// empty when the whole column is required. Other fields may be returned as null.
    pub(crate) fields: Vec<Vec<usize>>,
}

/// Parameters of a scan.
#[derive(Debug)]
pub(crate) struct ScanParts<'a> {
    /// Id of the scan node.
    pub(crate) id: PlanNodeId,
    /// Required columns, in output order.
    pub(crate) columns: &'a [ScanColumn],
    /// Condition that returned rows meet, over the `field` names.
    pub(crate) filter: Option<&'a TypedExpr>,
}

/// A table whose columns are known.
pub(crate) trait CatalogTable: fmt::Debug + Send + Sync {
    /// Returns all columns in order.
    fn columns(&self) -> &[TableColumn];

    /// Returns what the files state about a column beside its type, by the table's name for the
    /// column; `None` when nothing is known.
    fn stored_column(&self, name: &str) -> Option<&StoredColumn> {
        let _ = name;
        None
    }

    /// Returns true if the table may have columns that are missing here, because only the schemas of the
    /// files that the query reads were read. After a `NotFound` error the engine plans once more, with
    /// the schemas of all files.
    fn may_have_more_columns(&self) -> bool {
        false
    }

    /// Returns which files the schema was read from when it was not read from all of them: the
    /// other files may have columns that are missing here.
    fn schema_gap(&self) -> Option<SchemaGap<'_>> {
        None
    }

    /// Returns a scan node whose output columns have their `field` names.
    fn scan(&self, parts: ScanParts<'_>) -> Result<TableScanNode>;

    /// Returns the estimated number of rows of all files: the row count of one footer, scaled by
    /// the file sizes.
    fn estimated_rows(&self) -> Result<u64>;

    /// Returns the number of bytes of all files.
    fn total_bytes(&self) -> u64;

    /// Returns the splits that may have rows for `filter`, of about `target_bytes` each.
    fn splits(&self, filter: Option<&TypedExpr>, target_bytes: u64) -> Result<TableSplits>;
}

/// A table whose schema was read from a part of its files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaGap<'a> {
    /// Name of the table.
    pub(crate) table: &'a str,
    /// Description of the files whose schema was read: `1000 of 5000 files`.
    pub(crate) files: &'a str,
}

/// The splits of a table, with counts of its files.
#[derive(Debug, Default)]
pub(crate) struct TableSplits {
    /// The splits.
    pub(crate) splits: Vec<Arc<dyn ConnectorSplit>>,
    /// Number of non-empty files of the table, including those without splits.
    pub(crate) num_files: usize,
    /// Number of files that the filter pruned.
    pub(crate) num_files_left_out: usize,
}
