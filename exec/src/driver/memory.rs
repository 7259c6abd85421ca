//! Memory in a driver: where an operator wants some, and when others hold it.
//!
//! | before | the operator wants | without room |
//! |---|---|---|
//! | it is given a batch | what it keeps of the batch | the batch is put aside, and given when the wait is over |
//! | it is asked for output | what it owes, or what the next batch takes, about | it is asked when the wait is over |
//!
//! A wait is for memory of other queries. It ends when there is room, and then the operator asks
//! again; or because waiting does not help, or has lasted too long, and then the operator tries and
//! fails, or not: it knows better how much it needs. The driver is off its thread meanwhile.
//!
//! A source makes no more while another driver of its query waits for memory (rules S11.39, S11.70).

use vector::sync::atomic::{AtomicBool, Ordering};
use vector::sync::{Arc, Continuation, promise};
use vector::{ErrorKind, MemoryPool};

use super::{Driver, StopReason};
use crate::operator::{Blocked, BlockingReason};

/// Whose memory a driver's is, and how its last wait for output ended.
#[derive(Debug)]
pub(super) struct DriverMemory {
    /// The pool of its task; none when waiting is of no use.
    party: Option<MemoryPool>,
    /// The operator that has waited last,
    waited: usize,
    /// and whether that has ended without room.
    refused: Arc<AtomicBool>,
}

impl DriverMemory {
    /// For a driver of the task whose pool is `party`.
    pub(super) fn new(party: Option<MemoryPool>) -> Self {
        // Without a limit nobody ever waits, and there is nothing to ask.
        let party = party.filter(MemoryPool::is_limited);
        DriverMemory { party, waited: 0, refused: Arc::default() }
    }

    fn was_refused(&self, i: usize) -> bool {
        i == self.waited && self.refused.load(Ordering::Relaxed)
    }
}

impl Driver {
    /// Reserves `wanted` bytes for operator `i`. Where others hold the memory, gives a wait for
    /// them; where waiting does not help, the operator may try.
    pub(super) fn wait_for_memory(&self, i: usize, wanted: u64) -> Option<Continuation> {
        let (pool, party) = self.stages[i].pool.as_ref().zip(self.memory.party.as_ref())?;
        if wanted == 0 || pool.reserve_ahead(wanted) {
            return None;
        }
        pool.wait_for_room(wanted, party)
    }

    /// Sees to it that operator `i` has the memory that it wants for its next output, or a reason to
    /// leave the thread until then.
    pub(super) fn room_for_output(&mut self, i: usize) -> Option<StopReason> {
        let party = self.memory.party.as_ref()?;
        let pool = self.stages[i].pool.as_ref()?;
        let wanted = self.stages[i].operator.bytes_wanted();
        if wanted == 0 {
            return None;
        }
        let (reason, until) = match party.arbitration() {
            Some(over) if i == 0 => (BlockingReason::WaitForArbitration, over),
            _ if pool.reserve_ahead(wanted) => {
                self.memory.refused.store(false, Ordering::Relaxed);
                return None;
            }
            // Until there was room again it is not worth another wait.
            _ if self.memory.was_refused(i) => return None,
            _ => (BlockingReason::WaitForMemory, pool.wait_for_room(wanted, party)?),
        };
        (self.current, self.memory.waited) = (i, i);
        let (promise, over) = promise();
        let refused = Arc::clone(&self.memory.refused);
        until.on_ready(move |outcome| {
            let is_refusal = outcome.is_err_and(|error| error.kind() == ErrorKind::Limit);
            refused.store(is_refusal, Ordering::Relaxed);
            promise.fulfil();
        });
        Some(StopReason::Block(Blocked::new(reason, over)))
    }

    /// Gives back what operator `i` was to have and did not take.
    pub(super) fn release_ahead(&self, i: usize) {
        if let (Some(pool), true) = (&self.stages[i].pool, self.memory.party.is_some()) {
            pool.release_ahead();
        }
    }
}
