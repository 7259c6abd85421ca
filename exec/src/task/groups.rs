//! Grouped execution: splits belong to groups, and each group is executed by itself (rule S11.61).
//!
//! ```text
//! add_split(scan, group, split) --> group 3: Task (its own drivers, splits, joins) --\
//!                                   group 7: Task                                    +--> rows
//!                                   group 9: queued until a running group ended   --/
//! ```
//!
//! Grouped execution suits tables that are bucketed alike: rows that join or aggregate together are
//! in one group, and only the groups that run at the same time hold memory. The first split of a
//! group queues it.
//!
//! | state | entered | left |
//! |---|---|---|
//! | queued | with the first split of the group | when fewer than `max_running` groups run |
//! | running | when fewer than `max_running` groups run | at the end of its rows and splits |
//! | completed | at the end of its rows, or when it is declared to have no splits | |
//!
//! The first error of a group, or a cancellation, ends all groups.

use std::collections::{BTreeMap, VecDeque};

use vector::sync::{Arc, Mutex, Promise, promise};
use vector::{Error, Result, RowVector};

use dwio::connector::ConnectorSplit;

use super::{Cursor, Poll, Task};
use crate::plan::{PlanNode, PlanNodeId};
use crate::query_ctx::QueryCtx;

/// A plan that is executed once for each group of splits.
#[derive(Debug, Clone)]
pub struct GroupedTask {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plan: Arc<PlanNode>,
    query: Arc<QueryCtx>,
    drivers: usize,
    max_running: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: BTreeMap<u32, Group>,
    queued: VecDeque<u32>,
    /// Scans that have all of their splits, for all groups.
    closed: Vec<PlanNodeId>,
    cancelled: bool,
    started: bool,
    /// Promise of the cursor while it waits for groups.
    waiting: Option<Promise>,
}

#[derive(Debug)]
enum Group {
    /// No split has been added; these scans have all of theirs.
    Empty(Vec<PlanNodeId>),
    /// The group is queued or runs.
    Open(Arc<Task>),
    Completed,
}

/// Number of groups in each state.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct GroupCounts {
    /// Groups that wait until fewer than the maximum run.
    pub queued: usize,
    /// Groups that were started and have not returned all rows.
    pub running: usize,
    /// Groups that have returned all rows.
    pub completed: usize,
}

impl GroupedTask {
    /// Prepares a plan for grouped execution with at most `max_running` running groups, each with
    /// `drivers` drivers per scan.
    pub fn new(
        plan: Arc<PlanNode>,
        query: Arc<QueryCtx>,
        drivers: usize,
        max_running: usize,
    ) -> Self {
        let (max_running, state) = (max_running.max(1), Mutex::default());
        GroupedTask { shared: Arc::new(Shared { plan, query, drivers, max_running, state }) }
    }

    /// Adds a split of `group` to the scan with this node id; the first split of a group queues it.
    /// The split is dropped when the task was cancelled.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan, and when the group or the scan already has all of
    /// its splits; the errors of [`Task::new`] for the first split of a group.
    pub fn add_split(&self, scan: &str, group: u32, split: Arc<dyn ConnectorSplit>) -> Result<()> {
        let mut state = self.shared.state.lock();
        if state.cancelled {
            return Ok(());
        }
        if state.closed.iter().any(|closed| &**closed == scan) {
            return Err(Error::internal("a split was added after the last one")
                .with("split", split.describe()));
        }
        let closed_scans = match state.groups.get(&group) {
            Some(Group::Empty(closed)) => closed.clone(),
            _ => Vec::new(),
        };
        let task = match state.groups.get(&group) {
            Some(Group::Open(task)) => Arc::clone(task),
            Some(Group::Completed) => {
                return Err(Error::internal("a split was added to a group that is complete")
                    .with("group", group)
                    .with("split", split.describe()));
            }
            None | Some(Group::Empty(_)) => {
                let shared = &self.shared;
                let (plan, query) = (Arc::clone(&shared.plan), Arc::clone(&shared.query));
                let task = Arc::new(Task::new(plan, query, shared.drivers)?);
                for closed in state.closed.iter().chain(&closed_scans) {
                    task.no_more_splits(closed)?;
                }
                // An invalid scan id is detected before the group is added.
                task.split_counts(scan)?;
                state.groups.insert(group, Group::Open(Arc::clone(&task)));
                state.queued.push_back(group);
                task
            }
        };
        let waiting = state.waiting.take();
        drop(state);
        waiting.into_iter().for_each(Promise::fulfil);
        task.add_split(scan, split)
    }

    /// Declares that the scan with this node id has all of its splits of `group`. A group is complete
    /// when all scans have declared this without a split.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan.
    pub fn no_more_splits_of_group(&self, scan: &str, group: u32) -> Result<()> {
        let scans = self.shared.plan.scans();
        let Some(node) = scans.iter().find(|node| &*node.id == scan) else {
            return Err(Error::internal("the plan has no scan with this id").with("node", scan));
        };
        let task = {
            let mut state = self.shared.state.lock();
            let state = state.groups.entry(group).or_insert_with(|| Group::Empty(Vec::new()));
            match state {
                Group::Open(task) => Arc::clone(task),
                Group::Completed => return Ok(()),
                Group::Empty(closed) => {
                    if !closed.contains(&node.id) {
                        closed.push(Arc::clone(&node.id));
                    }
                    if closed.len() == scans.len() {
                        *state = Group::Completed;
                    }
                    return Ok(());
                }
            }
        };
        task.no_more_splits(scan)
    }

    /// Declares that the scan with this node id has all of its splits, for all groups.
    ///
    /// # Errors
    /// `Internal` for a node that is not a scan.
    pub fn no_more_splits(&self, scan: &str) -> Result<()> {
        let scans = self.shared.plan.scans();
        let Some(node) = scans.iter().find(|node| &*node.id == scan) else {
            return Err(Error::internal("the plan has no scan with this id").with("node", scan));
        };
        let (tasks, waiting) = {
            let mut state = self.shared.state.lock();
            if !state.closed.contains(&node.id) {
                state.closed.push(Arc::clone(&node.id));
            }
            let tasks = state.groups.values().filter_map(|group| match group {
                Group::Open(task) => Some(Arc::clone(task)),
                Group::Completed | Group::Empty(_) => None,
            });
            (tasks.collect::<Vec<_>>(), state.waiting.take())
        };
        waiting.into_iter().for_each(Promise::fulfil);
        tasks.iter().try_for_each(|task| task.no_more_splits(scan))
    }

    /// Returns the number of groups in each state.
    pub fn counts(&self) -> GroupCounts {
        let state = self.shared.state.lock();
        let queued = state.queued.len();
        let completed = state.groups.values().filter(|g| matches!(g, Group::Completed)).count();
        let open = state.groups.values().filter(|g| matches!(g, Group::Open(_))).count();
        GroupCounts { queued, running: open - queued, completed }
    }

    /// Stops all groups; the cursor reports `Cancelled`.
    pub fn cancel(&self) {
        self.shared.cancel();
    }

    /// Creates the cursor, which starts groups as others end; possible once.
    ///
    /// # Errors
    /// `Internal` on a second start.
    pub fn start(&self) -> Result<GroupedCursor> {
        if std::mem::replace(&mut self.shared.state.lock().started, true) {
            return Err(Error::internal("a task was started twice"));
        }
        Ok(GroupedCursor {
            shared: Arc::clone(&self.shared),
            running: VecDeque::new(),
            error: None,
        })
    }
}

impl Shared {
    fn cancel(&self) {
        let (tasks, waiting) = {
            let mut state = self.state.lock();
            state.cancelled = true;
            state.queued.clear();
            let groups = std::mem::take(&mut state.groups).into_values();
            (groups.collect::<Vec<_>>(), state.waiting.take())
        };
        for group in tasks {
            if let Group::Open(task) = group {
                task.cancel();
            }
        }
        waiting.into_iter().for_each(Promise::fulfil);
    }

    fn num_scans_open(&self, state: &State) -> usize {
        self.plan.scans().len().saturating_sub(state.closed.len())
    }
}

/// The rows of all groups. Batches of groups that run at the same time are interleaved. Dropping
/// the cursor stops all groups.
pub struct GroupedCursor {
    shared: Arc<Shared>,
    running: VecDeque<(u32, Cursor)>,
    error: Option<Error>,
}

impl GroupedCursor {
    /// Returns the next batch; `None` when all groups have ended and no further groups can be
    /// added. After an error, every further call returns the same error.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<RowVector>> {
        loop {
            match self.poll()? {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::End | Poll::Barrier => return Ok(None),
                Poll::Wait(until) => drop(until.wait()),
            }
        }
    }

    /// Returns the next batch like [`GroupedCursor::next`], but returns a continuation instead of
    /// blocking the thread. The error of a group is returned when the drivers of all groups have
    /// closed; until then the cursor returns continuations for that.
    pub fn poll(&mut self) -> Result<Poll> {
        if self.error.is_none() {
            match self.poll_groups() {
                Ok(poll) => return Ok(poll),
                Err(error) => self.error = Some(error),
            }
            self.shared.cancel();
            self.running.iter().for_each(|(_, cursor)| cursor.cancel());
        }
        while let Some((_, cursor)) = self.running.front_mut() {
            // Only the first error is reported; the errors of other groups are ignored.
            if let Ok(Poll::Wait(until)) = cursor.poll() {
                return Ok(Poll::Wait(until));
            }
            self.running.pop_front();
        }
        match &self.error {
            Some(error) => Err(error.duplicate()),
            None => Err(Error::internal("groups that were cancelled without an error")),
        }
    }

    fn poll_groups(&mut self) -> Result<Poll> {
        loop {
            // Any change from here on fulfils the promise, even before the continuation is
            // returned.
            let (promise, any) = promise();
            let promise = Arc::new(Mutex::new(Some(promise)));
            if !self.start_groups(&promise)? {
                return Ok(Poll::End);
            }
            let mut ended = false;
            for _ in 0..self.running.len() {
                let Some((group, mut cursor)) = self.running.pop_front() else { break };
                match cursor.poll()? {
                    Poll::Batch(batch) => {
                        self.running.push_back((group, cursor));
                        return Ok(Poll::Batch(batch));
                    }
                    Poll::Wait(until) => {
                        let promise = Arc::clone(&promise);
                        // The outcome of the wait is returned by the next poll of this cursor.
                        until.on_ready(move |_| fulfil(&promise));
                        self.running.push_back((group, cursor));
                    }
                    // Barriers are never requested from the task of a group.
                    Poll::Barrier => self.running.push_back((group, cursor)),
                    Poll::End => {
                        let task = self.shared.state.lock().groups.insert(group, Group::Completed);
                        // This may be the last owner of the task, so it is dropped outside of the
                        // lock.
                        drop(task);
                        ended = true;
                    }
                }
            }
            if !ended {
                return Ok(Poll::Wait(any));
            }
        }
    }

    /// Starts queued groups up to the maximum, and registers the promise for changes. Returns false
    /// when all groups have ended and no further groups can be added.
    fn start_groups(&mut self, promise: &Arc<Mutex<Option<Promise>>>) -> Result<bool> {
        while self.running.len() < self.shared.max_running {
            let mut state = self.shared.state.lock();
            if state.cancelled {
                return Err(Error::cancelled("the query was cancelled"));
            }
            let Some(group) = state.queued.pop_front() else { break };
            let Some(Group::Open(task)) = state.groups.get(&group) else { continue };
            let task = Arc::clone(task);
            drop(state);
            self.running.push_back((group, task.start()?));
        }
        let mut state = self.shared.state.lock();
        if self.running.is_empty() && self.shared.num_scans_open(&state) == 0 {
            return Ok(!state.queued.is_empty());
        }
        let (news, until) = vector::sync::promise();
        let promise = Arc::clone(promise);
        until.on_ready(move |_| fulfil(&promise));
        let before = state.waiting.replace(news);
        drop(state);
        // Wakes a previous waiter, which polls again.
        before.into_iter().for_each(Promise::fulfil);
        Ok(true)
    }
}

fn fulfil(promise: &Mutex<Option<Promise>>) {
    let promise = promise.lock().take();
    promise.into_iter().for_each(Promise::fulfil);
}

impl Drop for GroupedCursor {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}

impl std::fmt::Debug for GroupedCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupedCursor").field("running", &self.running).finish_non_exhaustive()
    }
}
