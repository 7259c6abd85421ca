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

use crate::operator::{Blocked, Operator, SplitPoll, SplitSource};
use crate::plan::{AggregationStep, PlanNodeId};
use crate::preload::SplitPreloader;
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

/// An operator together with its trace.
pub(crate) struct Traced {
    inner: Box<dyn Operator>,
    trace: Arc<dyn OperatorTrace>,
}

impl Traced {
    /// Wraps `inner` and reports its calls to `trace`.
    pub(crate) fn new(inner: Box<dyn Operator>, trace: Arc<dyn OperatorTrace>) -> Self {
        Traced { inner, trace }
    }
}

impl Operator for Traced {
    fn needs_input(&self) -> bool {
        self.inner.needs_input()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.trace.input(&batch)?;
        self.inner.add_input(batch)
    }

    fn bytes_to_keep(&self, batch: &RowVector) -> u64 {
        self.inner.bytes_to_keep(batch)
    }

    fn bytes_wanted(&self) -> u64 {
        self.inner.bytes_wanted()
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        let output = self.inner.get_output()?;
        if let Some(batch) = &output {
            self.trace.output(batch);
        }
        Ok(output)
    }

    fn is_blocked(&mut self) -> Option<Blocked> {
        self.inner.is_blocked()
    }

    fn no_more_input(&mut self) {
        self.inner.no_more_input();
    }

    fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    fn at_barrier(&self) -> Option<u64> {
        self.inner.at_barrier()
    }

    fn start_drain(&mut self, number: u64) -> bool {
        self.inner.start_drain(number)
    }

    fn go_on(&mut self) {
        self.inner.go_on();
    }

    fn has_enough(&self) -> bool {
        self.inner.has_enough()
    }

    fn drop_output(&mut self) {
        self.inner.drop_output();
    }

    fn reading(&self) -> Option<String> {
        self.inner.reading()
    }

    fn add_stats(&self, stats: &mut OperatorStats) {
        self.inner.add_stats(stats);
    }

    fn close(&mut self) {
        let mut stats = OperatorStats::default();
        self.inner.add_stats(&mut stats);
        self.trace.finish(&stats);
        self.inner.close();
    }
}

/// The splits of a traced scan.
pub(crate) struct TracedSplits {
    inner: Arc<dyn SplitSource>,
    trace: Arc<dyn OperatorTrace>,
}

impl TracedSplits {
    /// Wraps the splits of `inner`, which are reported to `trace`.
    pub(crate) fn new(inner: Arc<dyn SplitSource>, trace: Arc<dyn OperatorTrace>) -> Self {
        TracedSplits { inner, trace }
    }
}

impl SplitSource for TracedSplits {
    fn next_split(&self, passed: u64, preloader: Option<&dyn SplitPreloader>) -> Result<SplitPoll> {
        let poll = self.inner.next_split(passed, preloader)?;
        if let SplitPoll::Split(taken) = &poll {
            self.trace.split(&*taken.split)?;
        }
        Ok(poll)
    }

    fn is_at_barrier(&self, passed: u64) -> bool {
        self.inner.is_at_barrier(passed)
    }

    fn split_done(&self) {
        self.inner.split_done();
    }
}
