//! Barriers: all rows of the splits so far, before others come (rules S11.30, S11.72).
//!
//! ```text
//! request --> scans end their splits --> drivers wait, exchanges are empty --> cursor: barrier
//! ```
//!
//! A driver is pulled from its end, and a scan is asked for another split only when the rows of the
//! one before have gone through its pipeline. So nothing needs to be sent through the operators: when
//! no split is queued or read, no driver has anything to run, and the cursor finds nothing to take,
//! all rows have come out. That holds for operators that keep no rows; plans with others are refused.

use vector::sync::{Arc, Continuation, Mutex, Promise, promise};
use vector::{Error, Result};

use crate::plan::PlanNode;

/// The barrier of a task, if somebody asked for one.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// Who waits for it; none when nobody asked.
    waiting: Mutex<Vec<Promise>>,
}

impl Barrier {
    /// Asks for a barrier; those who ask before it is passed share it.
    pub(super) fn request(&self) -> Continuation {
        let (promise, passed) = promise();
        self.waiting.lock().push(promise);
        passed
    }

    pub(super) fn is_requested(&self) -> bool {
        !self.waiting.lock().is_empty()
    }

    /// The barrier is passed, or the task has ended.
    pub(super) fn pass(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        waiting.into_iter().for_each(Promise::fulfil);
    }
}

/// `Unsupported` when a node of the plan keeps rows until the end of its input.
pub(super) fn check_plan(plan: &Arc<PlanNode>) -> Result<()> {
    let mut rest = vec![plan];
    while let Some(node) = rest.pop() {
        match &**node {
            PlanNode::TableScan(_)
            | PlanNode::Filter(_)
            | PlanNode::Project(_)
            | PlanNode::Limit(_)
            | PlanNode::Unnest(_)
            | PlanNode::LocalPartition(_) => rest.extend(node.sources()),
            PlanNode::Values(_)
            | PlanNode::Aggregation(_)
            | PlanNode::OrderBy(_)
            | PlanNode::TopN(_)
            | PlanNode::HashJoin(_)
            | PlanNode::LocalMerge(_)
            | PlanNode::EnforceSingleRow(_)
            | PlanNode::TableWrite(_) => {
                return Err(Error::unsupported("a barrier in a plan whose nodes keep rows")
                    .with("node", format!("{}[{}]", node.name(), node.id())));
            }
        }
    }
    Ok(())
}
