//! Memory of an operator that stands in no buffer: what it takes, and what of that is reserved.
//!
//! Buffers are charged to the pool of the operator that allocates them (`vector::PoolScope`). The
//! rest (hash tables, states of groups, buffers that came without a pool) is told here. What is known
//! before is reserved before ([`Reservation::grow`]). How much a batch brings is often known only when
//! it was taken: it is told ([`Reservation::resize`]), the driver sees the deficit
//! ([`Operator::output_reservation`](super::Operator::output_reservation)), waits for memory where that helps, and
//! the next call reserves it ([`Reservation::commit`]). What one batch brings is so taken before it is
//! reserved, and no more than that.

use vector::{MemoryPool, Result};

/// Reservations of operators that grow all the time grow in steps of this.
const STEP: u64 = 64 << 10;

/// Bytes of a pool, given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    pool: MemoryPool,
    /// What is needed.
    size: u64,
    /// What the pool has granted; never more than `size`.
    reserved: u64,
}

impl Reservation {
    /// Nothing of `pool` yet.
    pub fn new(pool: &MemoryPool) -> Self {
        Reservation { pool: pool.clone(), size: 0, reserved: 0 }
    }

    /// Reserves `bytes` of `pool`; fails with `Limit` when the pool cannot supply them.
    pub fn of(bytes: u64, pool: &MemoryPool) -> Result<Self> {
        let mut reservation = Reservation::new(pool);
        reservation.grow(bytes).map(|()| reservation)
    }

    /// Sets what is needed; what is not needed any more goes back to the pool at once.
    pub fn resize(&mut self, bytes: u64) {
        self.size = bytes;
        if self.size < self.reserved {
            self.pool.release(self.reserved - self.size);
            self.reserved = self.size;
        }
    }

    /// As [`Reservation::resize`], for what grows all the time: in large steps.
    pub fn resize_in_steps(&mut self, bytes: u64) {
        self.resize(bytes.checked_next_multiple_of(STEP).unwrap_or(bytes));
    }

    /// Reserves `bytes` more; fails with `Limit` and clears the need when the pool lacks them.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        let before = self.size;
        self.size = before.saturating_add(bytes);
        self.commit().inspect_err(|_| self.size = before.max(self.reserved))
    }

    /// Bytes that are needed.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that are needed and not reserved.
    pub fn deficit(&self) -> u64 {
        self.size - self.reserved
    }

    /// Reserves what is needed; `Limit` when that is more than there is.
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
