//! Traces: somebody is told what operators are given while a query runs.
//!
//! ```text
//! Tracer --operator--> OperatorTrace of one operator in one driver
//!                        ^ splits, input, output, end
//!              Traced: the operator with its trace around it
//! ```
//!
//! The operators themselves know nothing of it: a traced one stands inside of another that looks at
//! what passes. Without a tracer there is none.

use std::fmt;

use dwio::connector::ConnectorSplit;
use vector::sync::Arc;
use vector::{Result, RowVector};

use crate::plan::{AggregationStep, PlanNodeId};
use crate::stats::OperatorStats;

/// An operator that may be traced.
#[derive(Debug, Clone, Copy)]
pub struct TracedOperator<'a> {
    /// The plan node that it works for.
    pub node: &'a PlanNodeId,
    /// What it is called.
    pub name: &'static str,
    /// Which part of an aggregation it does, if it does one.
    pub step: Option<AggregationStep>,
    /// The pipeline of its driver.
    pub pipeline: usize,
    /// Which of the pipeline's drivers.
    pub driver: usize,
}

/// Decides what is traced.
pub trait Tracer: fmt::Debug + Send + Sync {
    /// Who is told of what an operator is given; `None` for an operator that is not traced.
    fn operator(&self, operator: &TracedOperator<'_>) -> Result<Option<Arc<dyn OperatorTrace>>>;
}

/// Is told what one operator in one driver is given.
pub trait OperatorTrace: Send + Sync {
    /// The operator takes a split.
    fn split(&self, split: &dyn ConnectorSplit) -> Result<()>;
    /// The operator is given a batch; columns that were not read yet may be read.
    fn input(&self, batch: &RowVector) -> Result<()>;
    /// The operator has given a batch.
    fn output(&self, batch: &RowVector);
    /// The operator is done, well or not.
    fn finish(&self, stats: &OperatorStats);
}
