//! Memory in a driver: where an operator wants some, and when others hold it.
//!
//! | before | the operator wants | without room |
//! |---|---|---|
//! | it is given a batch | what it keeps of the batch | the batch is put aside, and given when the wait is over |
//! | it is asked for output | what it owes, or what the next batch takes, about | it is asked when the wait is over |
//!
//! A wait is for memory of other queries. It ends when there is room, and then the driver looks
//! again; or because waiting does not help, or because it has lasted for
//! [`MemoryWaits::limit`], and then the operator is called without the room: what it wants is an
//! estimate, and its own reservation decides. If that one fails, the error says how the wait has ended.
//! The driver is off its thread meanwhile, and the executor's timer ends waits that last too long.
//!
//! A source makes no more while another driver of its query waits for memory (rules S11.39, S11.70).

use std::time::{Duration, Instant};

use vector::sync::{Arc, Continuation, Mutex, promise};
use vector::{Error, ErrorKind, MemoryPool, Result};

use super::{Driver, StopReason};
use crate::blocking::{Blocked, BlockingReason};
use crate::executor::Executor;
use crate::executor::timer::TimerEntry;

/// How the drivers of a task wait for memory of other queries.
#[derive(Debug, Clone)]
pub struct MemoryWaits {
    /// The pool of the task.
    pub party: MemoryPool,
    /// The longest time of a wait.
    pub limit: Duration,
    /// The executor whose timer ends waits.
    pub executor: Arc<Executor>,
}

/// The memory waits of one driver, and how the last one has ended.
#[derive(Debug)]
pub(super) struct DriverMemory {
    /// `None` when waiting is of no use.
    waits: Option<MemoryWaits>,
    /// Ends the current wait when it has lasted too long.
    timer: Option<TimerEntry>,
    /// The operators whose last wait has ended without room, each with the error that ended it.
    refusals: Arc<Mutex<Vec<(usize, Error)>>>,
}

impl DriverMemory {
    pub(super) fn new(waits: Option<MemoryWaits>) -> Self {
        // Without a limit in the pools no driver ever waits.
        let waits = waits.filter(|waits| waits.party.is_limited());
        DriverMemory { waits, timer: None, refusals: Arc::default() }
    }

    fn party(&self) -> Option<&MemoryPool> {
        self.waits.as_ref().map(|waits| &waits.party)
    }

    fn was_refused(&self, i: usize) -> bool {
        self.refusals.lock().iter().any(|(refused, _)| *refused == i)
    }

    /// The driver leaves its thread for `reason`: starts the timer of a wait for memory.
    ///
    /// # Errors
    /// `Limit` when the system has no thread for the timer.
    pub(super) fn begin_wait(&mut self, reason: &StopReason) -> Result<()> {
        let (Some(waits), StopReason::Block(blocked)) = (&self.waits, reason) else {
            return Ok(());
        };
        if blocked.reason == BlockingReason::WaitForMemory {
            let (party, limit) = (waits.party.clone(), waits.limit);
            // An end beyond what the clock can express is no limit.
            if let Some(end) = Instant::now().checked_add(limit) {
                let expire = Box::new(move || party.expire_waits(limit));
                self.timer = Some(waits.executor.run_at(end, expire)?);
            }
        }
        Ok(())
    }

    /// The wait is over, or is not wanted any more.
    pub(super) fn end_wait(&mut self) {
        self.timer = None;
    }

    /// The error of operator `i`, with the way in which its wait for memory has ended.
    pub(super) fn explain(&self, i: usize, error: Error) -> Error {
        let refusals = self.refusals.lock();
        match refusals.iter().find(|(refused, _)| *refused == i) {
            Some((_, refusal)) if error.kind() == ErrorKind::Limit => {
                error.with("wait", refusal.message())
            }
            _ => error,
        }
    }
}

impl Driver {
    /// Reserves `wanted` bytes for the input of operator `i`, or returns the reason to leave the thread
    /// until there is room. `None` without room when waiting does not help, or did not.
    pub(super) fn room_for_input(&mut self, i: usize, wanted: u64) -> Option<StopReason> {
        self.memory.party()?;
        let until = self.reserve_or_wait(i, wanted)?;
        Some(self.wait_for_memory(i, BlockingReason::WaitForMemory, until))
    }

    /// As [`Driver::room_for_input`], for the next output of operator `i`. A source waits too while
    /// another driver of its task waits for memory.
    pub(super) fn room_for_output(&mut self, i: usize) -> Option<StopReason> {
        let party = self.memory.party()?;
        self.stages[i].pool.as_ref()?;
        let wanted = self.stages[i].operator.bytes_wanted();
        if wanted == 0 {
            return None;
        }
        let (reason, until) = match party.arbitration() {
            Some(over) if i == 0 => (BlockingReason::WaitForArbitration, over),
            _ => (BlockingReason::WaitForMemory, self.reserve_or_wait(i, wanted)?),
        };
        Some(self.wait_for_memory(i, reason, until))
    }

    /// Reserves `wanted` bytes for operator `i`, or returns a wait for them, if it is worth waiting.
    fn reserve_or_wait(&self, i: usize, wanted: u64) -> Option<Continuation> {
        let (pool, party) = self.stages[i].pool.as_ref().zip(self.memory.party())?;
        if wanted == 0 {
            return None;
        }
        if pool.reserve_ahead(wanted) {
            self.memory.refusals.lock().retain(|(refused, _)| *refused != i);
            return None;
        }
        // Until there was room again it is not worth another wait.
        if self.memory.was_refused(i) {
            return None;
        }
        pool.wait_for_room(wanted, party)
    }

    /// The reason to leave the thread until `until`, whose refusal is kept.
    fn wait_for_memory(
        &mut self,
        i: usize,
        reason: BlockingReason,
        until: Continuation,
    ) -> StopReason {
        self.current = i;
        let (promise, over) = promise();
        let refusals = Arc::clone(&self.memory.refusals);
        until.on_ready(move |outcome| {
            let refusal = outcome.err().filter(|error| error.kind() == ErrorKind::Limit);
            refusals.lock().extend(refusal.map(|refusal| (i, refusal)));
            promise.fulfil();
        });
        StopReason::Block(Blocked::new(reason, over))
    }

    /// Gives back what operator `i` was to have and did not take.
    pub(super) fn release_ahead(&self, i: usize) {
        if let (Some(pool), true) = (&self.stages[i].pool, self.memory.party().is_some()) {
            pool.release_ahead();
        }
    }
}
