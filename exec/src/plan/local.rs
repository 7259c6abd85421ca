//! Nodes that state how rows of several drivers meet.
//!
//! ```text
//! LocalPartition    all rows of all sources, distributed over drivers     (UNION ALL)
//! LocalMerge        all rows of sorted sources, in order
//! ```
//!
//! The partitioning never changes the set of rows, so a plan does not need the first two nodes for
//! parallelism: [`Task`](crate::Task) adds the exchanges that its drivers require.

use std::fmt;

use vector::sync::Arc;
use vector::{Error, Result, RowType};

use super::sort::write_keys;
use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId, SortKey};

/// Distribution of rows over drivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partitioning {
    /// One driver receives all rows.
    Gather,
    /// Drivers receive batches in turn.
    RoundRobin,
    /// Rows with equal values in these columns go to the same driver.
    Hash(Vec<String>),
}

/// See [`PlanNode::LocalPartition`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LocalPartitionNode {
    pub id: PlanNodeId,
    /// Sources, at least one, all with the same columns.
    pub sources: Vec<Arc<PlanNode>>,
    pub partitioning: Partitioning,
    pub output_type: Arc<RowType>,
}

impl LocalPartitionNode {
    /// Creates a node that returns the rows of `sources` with the given partitioning.
    ///
    /// # Errors
    /// `InvalidInput` when there is no source or the columns of the sources differ.
    pub fn new(
        id: PlanNodeId,
        sources: Vec<Arc<PlanNode>>,
        partitioning: Partitioning,
    ) -> Result<Self> {
        let output_type = common_type(&id, &sources)?;
        Ok(LocalPartitionNode { id, sources, partitioning, output_type })
    }
}

/// See [`PlanNode::LocalMerge`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LocalMergeNode {
    pub id: PlanNodeId,
    /// Sources, at least one, all with the same columns and sorted by the keys.
    pub sources: Vec<Arc<PlanNode>>,
    pub keys: Vec<SortKey>,
    pub output_type: Arc<RowType>,
}

impl LocalMergeNode {
    /// Creates a node that merges the rows of `sources` by `keys`.
    ///
    /// # Errors
    /// `InvalidInput` when there is no source or the columns of the sources differ.
    pub fn new(id: PlanNodeId, sources: Vec<Arc<PlanNode>>, keys: Vec<SortKey>) -> Result<Self> {
        let output_type = common_type(&id, &sources)?;
        Ok(LocalMergeNode { id, sources, keys, output_type })
    }
}

fn common_type(id: &PlanNodeId, sources: &[Arc<PlanNode>]) -> Result<Arc<RowType>> {
    let mut types = sources.iter().map(|source| source.output_type());
    let first = types.next();
    let first = first.ok_or_else(|| Error::invalid_input("a plan node needs a source"));
    let first = first.map_err(|error| error.with("node", id))?;
    match types.find(|other| *other != first) {
        None => Ok(Arc::clone(first)),
        Some(other) => Err(Error::invalid_input("the sources of a plan node differ in columns")
            .with("node", id)
            .with("one", first)
            .with("other", other)),
    }
}

impl NodeInfo for LocalPartitionNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "LocalPartition"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        self.sources.iter().collect()
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Special
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        let name = self.output_type.names().get(channel);
        name.map_or(FilterOrigin::None, |name| FilterOrigin::AllSources(name))
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.partitioning {
            Partitioning::Gather => f.write_str("[gather]"),
            Partitioning::RoundRobin => f.write_str("[round robin]"),
            Partitioning::Hash(keys) => write!(f, "[hash of {}]", keys.join(", ")),
        }
    }
}

impl NodeInfo for LocalMergeNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "LocalMerge"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        self.sources.iter().collect()
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Special
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        let name = self.output_type.names().get(channel);
        name.map_or(FilterOrigin::None, |name| FilterOrigin::AllSources(name))
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_keys(f, &self.keys)
    }
}
