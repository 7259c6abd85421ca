//! What an operator holds, and what of it is paid for.
//!
//! How much an operator takes is often known only when it has taken it: groups that a batch brought, a
//! table of rows. It says so ([`Account::hold`]); the driver sees what is owed
//! ([`Operator::bytes_wanted`](super::Operator::bytes_wanted)), waits for memory where that helps, and
//! the next call pays ([`Account::pay`]). What one batch brings is so taken before it is paid for, and
//! no more than that.

use vector::{MemoryPool, Result};

/// Reservations of operators that grow all the time grow in steps of this.
const STEP: u64 = 64 << 10;

/// The memory of an operator, given back when it is dropped.
#[derive(Debug)]
pub struct Account {
    pool: MemoryPool,
    held: u64,
    paid: u64,
}

impl Account {
    /// Nothing yet, to be paid by `pool`.
    pub fn new(pool: &MemoryPool) -> Self {
        Account { pool: pool.clone(), held: 0, paid: 0 }
    }

    /// Bytes that are paid for at once; `Limit` when there are not so many.
    pub fn of(bytes: u64, pool: &MemoryPool) -> Result<Self> {
        let mut account = Account::new(pool);
        account.hold(bytes);
        account.pay().map(|()| account)
    }

    /// The operator holds so much now; what it does not hold any more is given back.
    pub fn hold(&mut self, bytes: u64) {
        self.held = bytes;
        if self.held < self.paid {
            self.pool.release(self.paid - self.held);
            self.paid = self.held;
        }
    }

    /// As [`Account::hold`], for what grows all the time: in large steps.
    pub fn hold_in_steps(&mut self, bytes: u64) {
        self.hold(bytes.checked_next_multiple_of(STEP).unwrap_or(bytes));
    }

    /// What is held and not paid for.
    pub fn owed(&self) -> u64 {
        self.held - self.paid
    }

    /// Pays what is owed; `Limit` when that is more than there is.
    pub fn pay(&mut self) -> Result<()> {
        let owed = self.owed();
        if owed > 0 {
            self.pool.reserve(owed)?;
            self.paid = self.held;
        }
        Ok(())
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.hold(0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::ErrorKind;

    #[test]
    fn what_is_held_is_owed_until_it_is_paid_and_given_back_when_it_shrinks() {
        let root = MemoryPool::root("query", 100_000);
        let leaf = root.leaf("aggregation");
        let mut account = Account::new(&leaf);
        account.hold_in_steps(1);
        assert_eq!((account.owed(), leaf.used()), (STEP, 0));
        account.pay().unwrap();
        account.hold_in_steps(STEP);
        assert_eq!((account.owed(), leaf.used()), (0, STEP));
        account.hold(200_000);
        assert_eq!(account.pay().unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!((account.owed(), leaf.used()), (200_000 - STEP, STEP));
        account.hold(10);
        assert_eq!((account.owed(), leaf.used()), (0, 10));
        drop(account);
        assert!(Account::of(100_001, &leaf).is_err());
        let paid = Account::of(100_000, &leaf).unwrap();
        assert_eq!(root.used(), 100_000);
        drop(paid);
        assert_eq!(root.used(), 0);
    }
}
