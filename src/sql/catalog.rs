//! What the front end needs to know of tables; implemented by the engine, and by tests.

use std::fmt;

use dwio::connector::ConnectorSplit;
use dwio::expr::TypedExpr;
use dwio::stored::StoredColumn;
use exec::plan::{PlanNodeId, TableScanNode};
use vector::sync::Arc;
use vector::{Result, Type};

/// Finds tables.
pub(crate) trait Catalog {
    /// The table that FROM names: a registered name, or a path when it is `quoted`.
    fn find(&self, name: &str, quoted: bool) -> Result<Box<dyn FoundTable + '_>>;
}

/// A table that exists, of which nothing but partition keys is known yet.
pub(crate) trait FoundTable {
    /// The name by which its columns can be qualified when it has no alias.
    fn name(&self) -> &str;

    /// The columns that are known without opening a file.
    fn partition_columns(&self) -> &[TableColumn];

    /// Learns the other columns. `condition`, over the partition columns, tells which files the
    /// query will read, so that no other file need be opened.
    fn open(self: Box<Self>, condition: Option<&TypedExpr>) -> Result<Arc<dyn CatalogTable>>;
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableColumn {
    /// The name that people use; a file may have it twice.
    pub(crate) name: String,
    /// The name that plans use, unique in the table.
    pub(crate) field: Arc<str>,
    /// The column's type.
    pub(crate) ty: Type,
    /// True for columns that `*` does not give, such as `$path`.
    pub(crate) hidden: bool,
}

/// A column that a scan gives.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScanColumn {
    /// Its position in the table.
    pub(crate) index: usize,
    /// The struct fields wanted, as positions from the outermost struct inwards; empty when the
    /// column is wanted whole. Other fields may come out as nulls.
    pub(crate) fields: Vec<Vec<usize>>,
}

/// What a scan gives.
#[derive(Debug)]
pub(crate) struct ScanParts<'a> {
    /// The scan's id.
    pub(crate) id: PlanNodeId,
    /// The columns wanted, in the order wanted.
    pub(crate) columns: &'a [ScanColumn],
    /// The condition that the rows must meet, over `field` names.
    pub(crate) filter: Option<&'a TypedExpr>,
}

/// A table.
pub(crate) trait CatalogTable: fmt::Debug + Send + Sync {
    /// All columns in order.
    fn columns(&self) -> &[TableColumn];

    /// What the files say of a column beside its type, by the table's name for it; `None` where
    /// nothing is known.
    fn stored_column(&self, name: &str) -> Option<&StoredColumn> {
        let _ = name;
        None
    }

    /// True when the table may have columns that are missing here, because only files that the
    /// query reads were asked. A `NotFound` error makes the engine plan once more with all of them.
    fn may_have_more_columns(&self) -> bool {
        false
    }

    /// The files that the columns were learned from, where those are not all: the others may have
    /// columns that are missing here.
    fn schema_gap(&self) -> Option<SchemaGap<'_>> {
        None
    }

    /// A scan; its output columns are called by their `field` names.
    fn scan(&self, parts: ScanParts<'_>) -> Result<TableScanNode>;

    /// Rows of all files, about: counted in the footer of one and taken for the others by size.
    fn estimated_rows(&self) -> Result<u64>;

    /// Bytes of all files.
    fn total_bytes(&self) -> u64;

    /// The splits that may have rows for `filter`, of about `target_bytes` each.
    fn splits(&self, filter: Option<&TypedExpr>, target_bytes: u64) -> Result<TableSplits>;
}

/// A table whose columns are not all known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaGap<'a> {
    /// The table's name.
    pub(crate) table: &'a str,
    /// The files that were asked, in words: `1000 of 5000 files`.
    pub(crate) files: &'a str,
}

/// The splits of a table.
#[derive(Debug, Default)]
pub(crate) struct TableSplits {
    /// The splits.
    pub(crate) splits: Vec<Arc<dyn ConnectorSplit>>,
    /// Files of the table that have bytes, those without splits included.
    pub(crate) num_files: usize,
    /// Files that the filter left out.
    pub(crate) num_files_left_out: usize,
}
