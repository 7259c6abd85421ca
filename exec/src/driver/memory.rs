//! Memory in a driver: reserves memory before calls of an operator, and waits while other queries
//! hold it.
//!
//! | before | amount requested | when memory is short |
//! |---|---|---|
//! | `add_input` | what the operator keeps of the batch | added after the wait |
//! | `get_output` | its deficit, or an estimate of the next batch | called after the wait |
//!
//! A driver waits for memory that other queries hold. The wait ends when memory is available, and
//! the driver then tries to reserve again. It also ends when waiting does not help, or after
//! [`MemoryWaits::limit`]; the operator is then called without the reservation. The amount
//! requested is only an estimate, and the operator's own reservation decides. If that reservation
//! fails, the error states how the wait ended. During the wait the driver is off its thread, and
//! the timer of the executor ends waits that exceed the limit.
//!
//! A source produces no rows while another driver of its query waits for memory: drivers are pulled
//! from the sink (rule S11.39), and a driver in memory arbitration counts as off thread (rule
//! S11.70).

use std::time::{Duration, Instant};

use vector::sync::{Arc, Continuation, Mutex, promise};
use vector::{Error, ErrorKind, MemoryPool, Result};

use super::{Driver, StopReason};
use crate::blocking::{Blocked, BlockingReason};
use crate::executor::Executor;
use crate::executor::timer::TimerEntry;

/// How the drivers of a task wait for memory that other queries hold.
#[derive(Debug, Clone)]
pub struct MemoryWaits {
    /// Pool of the task, which is the waiting member in arbitration.
    pub party: MemoryPool,
    /// Maximum duration of a wait.
    pub limit: Duration,
    /// Executor with the timer that ends waits.
    pub executor: Arc<Executor>,
}

/// Memory waits of one driver, and the outcome of the last wait of each operator.
#[derive(Debug)]
pub(super) struct DriverMemory {
    /// How to wait for memory; `None` when no pool has a limit, so that no driver ever waits.
    waits: Option<MemoryWaits>,
    /// Timer entry that ends the current wait at its limit.
    timer: Option<TimerEntry>,
    /// Operators that did not get memory in their last wait, each with the error that ended the
    /// wait.
    refusals: Arc<Mutex<Vec<(usize, Error)>>>,
}

impl DriverMemory {
    pub(super) fn new(waits: Option<MemoryWaits>) -> Self {
        // Drivers wait only if some pool has a limit.
        let waits = waits.filter(|waits| waits.party.is_limited());
        DriverMemory { waits, timer: None, refusals: Arc::default() }
    }

    fn party(&self) -> Option<&MemoryPool> {
        self.waits.as_ref().map(|waits| &waits.party)
    }

    fn was_refused(&self, i: usize) -> bool {
        self.refusals.lock().iter().any(|(refused, _)| *refused == i)
    }

    /// Starts the timer of a wait for memory, if `reason` is such a wait. Called when the driver
    /// leaves its thread.
    ///
    /// # Errors
    /// `Limit` when the system cannot start a thread for the timer.
    pub(super) fn begin_wait(&mut self, reason: &StopReason) -> Result<()> {
        let (Some(waits), StopReason::Block(blocked)) = (&self.waits, reason) else {
            return Ok(());
        };
        if blocked.reason == BlockingReason::WaitForMemory {
            let (party, limit) = (waits.party.clone(), waits.limit);
            // A deadline beyond the range of the clock counts as no limit.
            if let Some(end) = Instant::now().checked_add(limit) {
                let expire = Box::new(move || party.expire_waits(limit));
                self.timer = Some(waits.executor.run_at(end, expire)?);
            }
        }
        Ok(())
    }

    /// Removes the timer: the wait is over or no longer needed.
    pub(super) fn end_wait(&mut self) {
        self.timer = None;
    }

    /// Returns the error of operator `i`, extended by how its last wait for memory ended.
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
    /// Reserves `wanted` bytes for the input of operator `i`, or returns the reason to leave the
    /// thread until memory is available. Returns `None` without a reservation when waiting does not
    /// or did not help.
    pub(super) fn room_for_input(&mut self, i: usize, wanted: u64) -> Option<StopReason> {
        self.memory.party()?;
        let until = self.reserve_or_wait(i, wanted)?;
        Some(self.wait_for_memory(i, BlockingReason::WaitForMemory, until))
    }

    /// Reserves memory for the next output of operator `i`, like [`Driver::room_for_input`]. A
    /// source also waits while another driver of its task waits for memory.
    pub(super) fn room_for_output(&mut self, i: usize) -> Option<StopReason> {
        let party = self.memory.party()?;
        self.stages[i].pool.as_ref()?;
        let wanted = self.stages[i].operator.output_reservation();
        if wanted == 0 {
            return None;
        }
        let (reason, until) = match party.arbitration() {
            Some(over) if i == 0 => (BlockingReason::WaitForArbitration, over),
            _ => (BlockingReason::WaitForMemory, self.reserve_or_wait(i, wanted)?),
        };
        Some(self.wait_for_memory(i, reason, until))
    }

    /// Reserves `wanted` bytes for operator `i`. Returns a continuation to wait on if the
    /// reservation failed and waiting may help.
    fn reserve_or_wait(&self, i: usize, wanted: u64) -> Option<Continuation> {
        let (pool, party) = self.stages[i].pool.as_ref().zip(self.memory.party())?;
        if wanted == 0 {
            return None;
        }
        if pool.reserve_ahead(wanted) {
            self.memory.refusals.lock().retain(|(refused, _)| *refused != i);
            return None;
        }
        // After a refused wait, the operator does not wait again until a reservation has succeeded.
        if self.memory.was_refused(i) {
            return None;
        }
        pool.wait_for_room(wanted, party)
    }

    /// Returns the reason to leave the thread until `until` is ready. A refusal is recorded.
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

    /// Releases the part of the reservation of operator `i` that it did not use.
    pub(super) fn release_ahead(&self, i: usize) {
        if let (Some(pool), true) = (&self.stages[i].pool, self.memory.party().is_some()) {
            pool.release_ahead();
        }
    }
}
