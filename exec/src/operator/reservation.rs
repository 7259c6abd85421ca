//! Reservations for the memory of an operator that is not in pooled buffers.
//!
//! Buffers are charged to the pool of the operator that allocates them (`vector::PoolScope`). The
//! rest (hash tables, states of groups, buffers allocated without a pool) is recorded here. A size
//! known in advance is reserved in advance ([`Reservation::grow`]). The growth caused by a batch is
//! often known only after the batch was taken: the operator records it ([`Reservation::resize`]),
//! the driver sees the deficit
//! ([`Operator::output_reservation`](super::Operator::output_reservation)), waits for memory where that helps,
//! and the next call reserves it ([`Reservation::commit`]). At most the growth of one batch is thus
//! allocated before it is reserved.

use vector::{MemoryPool, Result};

/// Step in bytes by which reservations of continuously growing operators grow.
const STEP: u64 = 64 << 10;

/// Bytes reserved from a pool, which are released on drop.
#[derive(Debug)]
pub struct Reservation {
    pool: MemoryPool,
    /// Number of bytes needed.
    size: u64,
    /// Number of bytes that the pool has granted; never more than `size`.
    reserved: u64,
}

impl Reservation {
    /// Creates an empty reservation from `pool`.
    pub fn new(pool: &MemoryPool) -> Self {
        Reservation { pool: pool.clone(), size: 0, reserved: 0 }
    }

    /// Reserves `bytes` of `pool`; fails with `Limit` when the pool cannot supply them.
    pub fn of(bytes: u64, pool: &MemoryPool) -> Result<Self> {
        let mut reservation = Reservation::new(pool);
        reservation.grow(bytes).map(|()| reservation)
    }

    /// Sets the number of bytes needed; an excess is released to the pool at once.
    pub fn resize(&mut self, bytes: u64) {
        self.size = bytes;
        if self.size < self.reserved {
            self.pool.release(self.reserved - self.size);
            self.reserved = self.size;
        }
    }

    /// Sets the number of bytes needed as [`Reservation::resize`] does, in large steps.
    pub fn resize_in_steps(&mut self, bytes: u64) {
        self.resize(bytes.checked_next_multiple_of(STEP).unwrap_or(bytes));
    }

    /// Reserves `bytes` more; fails with `Limit`, and needs no more, if the pool lacks them.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        let before = self.size;
        self.size = before.saturating_add(bytes);
        self.commit().inspect_err(|_| self.size = before.max(self.reserved))
    }

    /// Returns the number of bytes needed.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of bytes that are needed and not reserved.
    pub fn deficit(&self) -> u64 {
        self.size - self.reserved
    }

    /// Reserves the bytes needed; fails with `Limit` when the pool cannot supply them.
    pub fn commit(&mut self) -> Result<()> {
        let deficit = self.deficit();
        if deficit > 0 {
            self.pool.reserve(deficit)?;
            self.reserved = self.size;
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::ErrorKind;

    #[test]
    fn what_is_needed_is_a_deficit_until_it_is_reserved_and_goes_back_when_it_shrinks() {
        let root = MemoryPool::root("query", 100_000);
        let leaf = root.leaf("aggregation");
        let mut memory = Reservation::new(&leaf);
        memory.resize_in_steps(1);
        assert_eq!((memory.deficit(), leaf.used()), (STEP, 0));
        memory.commit().unwrap();
        memory.resize_in_steps(STEP);
        assert_eq!((memory.deficit(), leaf.used()), (0, STEP));
        memory.resize(200_000);
        assert_eq!(memory.commit().unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!((memory.deficit(), leaf.used()), (200_000 - STEP, STEP));
        memory.resize(10);
        assert_eq!((memory.deficit(), leaf.used()), (0, 10));
        assert!(memory.grow(100_000).is_err());
        assert_eq!((memory.size(), leaf.used()), (10, 10));
        drop(memory);
        assert!(Reservation::of(100_001, &leaf).is_err());
        let all = Reservation::of(100_000, &leaf).unwrap();
        assert_eq!(root.used(), 100_000);
        drop(all);
        assert_eq!(root.used(), 0);
    }
}
