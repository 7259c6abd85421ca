//! Nodes without a source: rows of a table, and rows that the plan holds.

use std::fmt;

use vector::sync::Arc;
use vector::{RowType, RowVector};

use dwio::connector::{ColumnHandle, TableHandle};

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// See [`PlanNode::TableScan`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct TableScanNode {
    pub id: PlanNodeId,
    pub output_type: Arc<RowType>,
    pub table: Arc<dyn TableHandle>,
    /// Column handle of each output column, by output name.
    pub assignments: Vec<(String, Arc<dyn ColumnHandle>)>,
}

impl NodeInfo for TableScanNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "TableScan"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        Vec::new()
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Splits
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn keeps_row_order(&self) -> bool {
        true
    }

    fn filter_origin(&self, _: usize) -> FilterOrigin<'_> {
        FilterOrigin::Scan
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.table.describe())
    }
}

/// See [`PlanNode::Values`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct ValuesNode {
    pub id: PlanNodeId,
    pub output_type: Arc<RowType>,
    pub batches: Vec<RowVector>,
}

impl NodeInfo for ValuesNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "Values"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        Vec::new()
    }

    /// The rows exist once; several drivers would return them several times.
    fn parallelism(&self) -> Parallelism {
        Parallelism::OneDriver
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let num_rows: usize = self.batches.iter().map(RowVector::len).sum();
        write!(f, "[{num_rows} rows]")
    }
}
