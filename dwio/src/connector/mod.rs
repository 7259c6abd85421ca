//! Connectors, their handles and splits, and the data sources that they create.
//!
//! ```text
//! ConnectorRegistry --Connector--> DataSource <--splits-- Task
//!                        ^
//!        TableHandle, ColumnHandle: contents of the plan, opaque to exec
//! ```
//!
//! Handles and splits are plain data that can be logged; a split never holds an open resource.

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

/// Identifies the table that a scan reads. Each connector has its own type.
pub trait TableHandle: Any + fmt::Debug + Send + Sync {
    /// Returns the id of the connector that the table belongs to.
    fn connector_id(&self) -> &str;
    /// Returns the name of the table for display.
    fn table_name(&self) -> &str;
    /// Returns one line for plans: the table and the filters pushed into its scan.
    fn describe(&self) -> String;
    /// Returns `self`, so that the connector can downcast to its own type.
    fn as_any(&self) -> &dyn Any;
}

/// Identifies the table column of an output column. Each connector has its own type.
pub trait ColumnHandle: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the column in the table.
    fn column_name(&self) -> &str;
    /// Returns `self`, so that the connector can downcast to its own type.
    fn as_any(&self) -> &dyn Any;
}

/// A unit of scan work. Each connector has its own type.
pub trait ConnectorSplit: Any + fmt::Debug + Send + Sync {
    /// Returns the id of the connector that the split belongs to.
    fn connector_id(&self) -> &str;
    /// Returns one line for display and for the context of errors.
    fn describe(&self) -> String;
    /// Returns the number of bytes to scan, as far as known.
    fn size_bytes(&self) -> u64;
    /// Returns the number of rows that one read of the split should request; `None` if the batch
    /// size can be chosen freely (rule S11.21).
    fn batch_rows_hint(&self) -> Option<usize> {
        None
    }
    /// Returns `self`, so that the connector can downcast to its own type.
    fn as_any(&self) -> &dyn Any;
}

/// Parameters for creating a data source.
#[derive(Debug, Clone)]
pub struct DataSourceRequest {
    /// Output columns of the scan, with the names used in the plan.
    pub output_type: Arc<RowType>,
    /// Table to scan.
    pub table: Arc<dyn TableHandle>,
    /// Column handle of each output column, by the name used in the plan.
    pub assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
}

impl DataSourceRequest {
    /// Returns the handle assigned to each output column, in the order of the output.
    ///
    /// # Errors
    /// `Internal` if an output column has no handle.
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

/// Access to tables of one kind.
pub trait Connector: Send + Sync + fmt::Debug {
    /// Returns the id by which handles and splits refer to the connector.
    fn id(&self) -> &str;

    /// Creates the data source of one driver's scan.
    ///
    /// # Errors
    /// `Internal` if a handle belongs to another connector, or an error of the table or of its
    /// filters.
    fn data_source(
        &self,
        request: DataSourceRequest,
        ctx: &Arc<ConnectorQueryCtx>,
    ) -> Result<Box<dyn DataSource>>;

    /// Returns true if data sources can be prepared in advance on another thread.
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
    /// Returns a registry without connectors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector, replacing an earlier one of the same id.
    pub fn register(&mut self, connector: Arc<dyn Connector>) {
        self.connectors.retain(|c| c.id() != connector.id());
        self.connectors.push(connector);
    }

    /// Returns the connector with the given id.
    ///
    /// # Errors
    /// `NotFound` if no connector is registered under it.
    pub fn get(&self, id: &str) -> Result<&Arc<dyn Connector>> {
        self.connectors
            .iter()
            .find(|c| c.id() == id)
            .ok_or_else(|| Error::not_found("no such connector").with("connector", id))
    }
}
