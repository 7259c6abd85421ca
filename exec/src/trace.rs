//! Tracing: observes the splits, input and output of operators while a query runs.
//!
//! ```text
//! Tracer --operator--> OperatorTrace of one operator in one driver
//!                        ^ splits, input, output, end
//!              Traced: wraps the operator and its trace
//! ```
//!
//! Operators do not depend on tracing: a traced operator is wrapped in a `Traced` operator, which
//! observes its calls. Without a tracer there is no wrapper.

use std::fmt;

use dwio::connector::ConnectorSplit;
use vector::sync::Arc;
use vector::{Result, RowVector};

use crate::plan::{AggregationStep, PlanNodeId};
use crate::stats::OperatorStats;

/// Describes an operator that may be traced.
#[derive(Debug, Clone, Copy)]
pub struct TracedOperator<'a> {
    /// Plan node of the operator.
    pub node: &'a PlanNodeId,
    /// Name of the operator.
    pub name: &'static str,
    /// Step of an aggregation; `None` for other operators.
    pub step: Option<AggregationStep>,
    /// Index of the pipeline.
    pub pipeline: usize,
    /// Index of the driver within its pipeline.
    pub driver: usize,
}

/// Decides which operators are traced.
pub trait Tracer: fmt::Debug + Send + Sync {
    /// Returns the trace of an operator; `None` for an operator that is not traced.
    fn operator(&self, operator: &TracedOperator<'_>) -> Result<Option<Arc<dyn OperatorTrace>>>;
}

/// Receives the splits and batches of one operator in one driver.
pub trait OperatorTrace: Send + Sync {
    /// Called when the operator takes a split.
    fn split(&self, split: &dyn ConnectorSplit) -> Result<()>;
    /// Called before the operator receives a batch. Columns that were not read yet may be loaded.
    fn input(&self, batch: &RowVector) -> Result<()>;
    /// Called when the operator has returned a batch.
    fn output(&self, batch: &RowVector);
    /// Called when the operator closes, whether or not it succeeded.
    fn finish(&self, stats: &OperatorStats);
}
