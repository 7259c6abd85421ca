//! How a source answers: connectors, handles, splits and data sources.
//!
//! ```text
//! ConnectorRegistry --Connector--> DataSource <--splits-- Task
//!                        ^
//!        TableHandle, ColumnHandle: what the plan says, opaque to exec
//! ```
//!
//! Handles and splits are plain data that can be logged; a split never holds an open thing.

mod context;
mod source;

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

use vector::sync::Arc;
use vector::{Error, Result, RowType};

pub use context::{CompiledExpr, CompiledExprs, ConnectorQueryCtx, ExpressionEvaluator};
pub use source::{
    BatchListener, ColumnProgress, DataSource, DynamicFilters, EventSplit, FilterProgress,
    ScanBatchEvent, ScanDetails, SourcePoll, SourceProgress,
};

/// What table a scan reads; each connector has its own kind.
pub trait TableHandle: Any + fmt::Debug + Send + Sync {
    /// The connector it belongs to.
    fn connector_id(&self) -> &str;
    /// The table's name, for people.
    fn table_name(&self) -> &str;
    /// One line for plans: the table and what is pushed into its scan.
    fn describe(&self) -> String;
    /// Itself, for the connector to recognise its own kind.
    fn as_any(&self) -> &dyn Any;
}

/// Which column of a table an output column is; each connector has its own kind.
pub trait ColumnHandle: Any + fmt::Debug + Send + Sync {
    /// The table's name for the column.
    fn column_name(&self) -> &str;
    /// Itself, for the connector to recognise its own kind.
    fn as_any(&self) -> &dyn Any;
}

/// A unit of scan work; each connector has its own kind.
pub trait ConnectorSplit: Any + fmt::Debug + Send + Sync {
    /// The connector it belongs to.
    fn connector_id(&self) -> &str;
    /// One line for people and for error frames.
    fn describe(&self) -> String;
    /// Bytes to scan, as far as known.
    fn size_bytes(&self) -> u64;
    /// Rows that one read of it should ask for, if it matters (rule S11.21).
    fn batch_rows_hint(&self) -> Option<usize> {
        None
    }
    /// Itself, for the connector to recognise its own kind.
    fn as_any(&self) -> &dyn Any;
}

/// What one scan asks of a connector.
#[derive(Debug, Clone)]
pub struct DataSourceRequest {
    /// The columns the scan gives, by the plan's names.
    pub output_type: Arc<RowType>,
    /// The table.
    pub table: Arc<dyn TableHandle>,
    /// The column handle of each output column, by the plan's names.
    pub assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
}

impl DataSourceRequest {
    /// The handle assigned to each output column, in the order of the output; `Internal` for a
    /// column without one.
    pub fn output_handles(&self) -> Result<Vec<&Arc<dyn ColumnHandle>>> {
        let mut by_name: HashMap<&str, &Arc<dyn ColumnHandle>> = HashMap::new();
        for (name, handle) in &self.assignments {
            by_name.entry(name).or_insert(handle);
        }
        let names = self.output_type.names().iter();
        let handles = names.map(|name| {
            by_name.get(name.as_str()).copied().ok_or_else(|| {
                Error::internal("no column handle for an output column").with("column", name)
            })
        });
        handles.collect()
    }
}

/// Access to one kind of tables.
pub trait Connector: Send + Sync + fmt::Debug {
    /// The name that handles and splits refer to.
    fn id(&self) -> &str;

    /// Makes the data source of one driver's scan.
    fn data_source(
        &self,
        request: DataSourceRequest,
        ctx: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>>;

    /// True when data sources can be prepared ahead on another thread.
    fn supports_preload(&self) -> bool {
        false
    }
}

/// Connectors by id.
#[derive(Debug, Clone, Default)]
pub struct ConnectorRegistry {
    connectors: Vec<Arc<dyn Connector>>,
}

impl ConnectorRegistry {
    /// No connectors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector; it replaces an earlier one of the same id.
    pub fn register(&mut self, connector: Arc<dyn Connector>) {
        self.connectors.retain(|c| c.id() != connector.id());
        self.connectors.push(connector);
    }

    /// The connector called `id`; `NotFound` when there is none.
    pub fn get(&self, id: &str) -> Result<&Arc<dyn Connector>> {
        self.connectors
            .iter()
            .find(|c| c.id() == id)
            .ok_or_else(|| Error::not_found("no such connector").with("connector", id))
    }
}
