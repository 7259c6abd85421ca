//! Wrappers that trace operators and splits: each call is forwarded and reported.

use vector::sync::Arc;
use vector::{ErrorKind, Result, RowVector};

use super::Operator;
use crate::blocking::Blocked;
use crate::preload::SplitPreloader;
use crate::split_source::{SplitPoll, SplitSource};
use crate::stats::OperatorStats;
use crate::trace::OperatorTrace;

/// An operator together with its trace.
pub(crate) struct Traced {
    inner: Box<dyn Operator>,
    trace: Arc<dyn OperatorTrace>,
    /// True if the next input is the batch that was refused last.
    is_repeated: bool,
}

impl Traced {
    /// Wraps `inner` and reports its calls to `trace`.
    pub(crate) fn new(inner: Box<dyn Operator>, trace: Arc<dyn OperatorTrace>) -> Self {
        Traced { inner, trace, is_repeated: false }
    }
}

impl Operator for Traced {
    fn needs_input(&self) -> bool {
        self.inner.needs_input()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        // A batch that is refused for lack of memory is added again later, and is reported once.
        if !self.is_repeated {
            self.trace.input(&batch)?;
        }
        let added = self.inner.add_input(batch);
        self.is_repeated = added.as_ref().is_err_and(|error| error.kind() == ErrorKind::Limit);
        added
    }

    fn input_reservation(&self, batch: &RowVector) -> u64 {
        self.inner.input_reservation(batch)
    }

    fn output_reservation(&self) -> u64 {
        self.inner.output_reservation()
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

    fn resume_after_barrier(&mut self) {
        self.inner.resume_after_barrier();
    }

    fn is_satisfied(&self) -> bool {
        self.inner.is_satisfied()
    }

    fn discard_until_barrier(&mut self) {
        self.inner.discard_until_barrier();
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
        // The operator is closed even if its trace panics.
        self.inner.close();
        self.trace.finish(&stats);
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
