//! TableWrite: writes rows to files or to another destination, instead of passing them to the next
//! node.
//!
//! ```text
//! WriteTarget --one per driver--> RowWriter: batches in, counters out
//! ```
//!
//! The drivers of the source write in parallel, each its own rows, like Velox's TableWriter. What
//! they have written becomes valid when the creator of the target has received the counters of all
//! writers.

use std::fmt;

use vector::sync::Arc;
use vector::{MemoryPool, Result, RowType, RowVector};

use super::{NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// See [`PlanNode::TableWrite`].
#[derive(Debug, Clone)]
pub struct TableWriteNode {
    /// Id of the node.
    pub id: PlanNodeId,
    /// Source of the rows.
    pub source: Arc<PlanNode>,
    /// Destination of the rows.
    pub target: Arc<dyn WriteTarget>,
    /// Columns of the writers' counters.
    pub output_type: Arc<RowType>,
}

impl NodeInfo for TableWriteNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "TableWrite"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        if self.target.is_single() { Parallelism::Gathered } else { Parallelism::RowWise }
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:?}]", self.target)
    }
}

/// Destination of rows.
pub trait WriteTarget: Send + Sync + fmt::Debug {
    /// Returns true when one writer must receive all rows.
    fn is_single(&self) -> bool;

    /// Creates a writer for one driver.
    fn writer(&self, place: WriterPlace) -> Result<Box<dyn RowWriter>>;
}

/// Parameters of a writer.
#[derive(Debug)]
pub struct WriterPlace {
    /// Index of the driver.
    pub driver: usize,
    /// Number of drivers of the node.
    pub num_drivers: usize,
    /// Leaf pool that data waiting to be written is charged to.
    pub pool: MemoryPool,
}

/// Writes the rows of one driver. Dropping a writer before `finish` discards its output.
pub trait RowWriter: Send {
    /// Writes a batch without lazy columns.
    fn write(&mut self, batch: &RowVector) -> Result<()>;

    /// Completes the output and returns the counters as a row of the node's output type.
    fn finish(self: Box<Self>) -> Result<RowVector>;
}
