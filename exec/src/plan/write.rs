//! TableWrite: rows that go into files, or wherever else, instead of to the next node.
//!
//! ```text
//! WriteTarget --one for each driver--> RowWriter: batches in, what it counted out
//! ```
//!
//! The drivers of the source write side by side, each what it has (Velox's TableWriter). What they
//! have written counts when whoever made the target has the counts of all of them.

use std::fmt;

use vector::sync::Arc;
use vector::{MemoryPool, Result, RowType, RowVector};

use super::{NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// See [`PlanNode::TableWrite`].
#[derive(Debug, Clone)]
pub struct TableWriteNode {
    /// The node's id.
    pub id: PlanNodeId,
    /// Where rows come from.
    pub source: Arc<PlanNode>,
    /// Where they go.
    pub target: Arc<dyn WriteTarget>,
    /// The columns of what writers count.
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

/// Where rows go.
pub trait WriteTarget: Send + Sync + fmt::Debug {
    /// True when one writer must have all rows.
    fn is_single(&self) -> bool;

    /// A writer for one driver.
    fn writer(&self, place: WriterPlace) -> Result<Box<dyn RowWriter>>;
}

/// What a writer is for.
#[derive(Debug)]
pub struct WriterPlace {
    /// Which of the node's drivers.
    pub driver: usize,
    /// How many there are.
    pub num_drivers: usize,
    /// The leaf pool that pays for what waits to be written.
    pub pool: MemoryPool,
}

/// Writes the rows of one driver; what it has written is nothing when it is dropped unfinished.
pub trait RowWriter: Send {
    /// Takes a batch of which nothing is lazy.
    fn write(&mut self, batch: &RowVector) -> Result<()>;

    /// Ends, and gives what was counted as a row of the node's type.
    fn finish(self: Box<Self>) -> Result<RowVector>;
}
