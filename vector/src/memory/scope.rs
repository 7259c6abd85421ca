//! The pool that the buffers of a thread are charged to, set around each call of an operator.
//!
//! ```text
//! PoolScope::enter(pool of the operator)
//!   BufferMut::new() in a kernel, a builder, a copy --> charged to that pool until it is freed
//! end of the scope: the pool of the enclosing scope, or none
//! ```
//!
//! Kernels and builders take no pool argument and cannot omit the accounting; ClickHouse tracks
//! memory per thread in the same way. As in Velox, a buffer is charged to the pool of the operator
//! that allocated it, wherever the buffer is held later. Scopes do not affect buffers made with an
//! explicit pool ([`super::buffer::BufferMut::new_in`]).
//!
//! A scope takes memory from its pool in portions of `PORTION` bytes, so that small buffers cost no
//! atomic operation. The unused rest of a portion is returned when the scope ends.
//!
//! A scope may have a budget: fallible growth beyond it is refused, so that the caller can process
//! fewer rows instead ([`PoolScope::with_budget`]).

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use super::MemoryPool;
use crate::error::{Error, Result};

/// Number of bytes that a scope takes from its pool at a time for small buffers.
const PORTION: u64 = 64 << 10;

/// Maximum number of freed bytes that a scope keeps as credit.
const MAX_CREDIT: u64 = 4 * PORTION;

thread_local! {
    static SCOPE: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct State {
    pool: MemoryPool,
    /// Bytes that the pool has granted and that no buffer uses.
    credit: Cell<u64>,
    /// Bytes of buffers allocated in this scope, minus those of buffers freed in it.
    taken: Cell<u64>,
    budget: u64,
}

/// Guard of a scope: while it lives, the buffers that this thread allocates are charged to a pool.
#[derive(Debug)]
pub struct PoolScope {
    state: Rc<State>,
    around: Option<Rc<State>>,
    /// Keeps the scope on the thread that entered it.
    not_send: PhantomData<*const ()>,
}

impl PoolScope {
    /// Charges the allocations of this thread to the leaf `pool` until the guard is dropped.
    pub fn enter(pool: &MemoryPool) -> Self {
        PoolScope::new(pool.clone(), u64::MAX)
    }

    /// Enters a scope with the pool of the enclosing scope, in which fallible growth beyond
    /// `budget` bytes is refused with a `Limit` error. Returns `None` outside of a scope.
    pub fn with_budget(budget: u64) -> Option<Self> {
        current().map(|pool| PoolScope::new(pool, budget))
    }

    fn new(pool: MemoryPool, budget: u64) -> Self {
        let state = Rc::new(State { pool, credit: Cell::new(0), taken: Cell::new(0), budget });
        let around = SCOPE.with(|scope| scope.borrow_mut().replace(Rc::clone(&state)));
        PoolScope { state, around, not_send: PhantomData }
    }

    /// Returns the bytes of the buffers that were allocated in this scope, minus those freed in it.
    pub fn taken(&self) -> u64 {
        self.state.taken.get()
    }
}

impl Drop for PoolScope {
    fn drop(&mut self) {
        SCOPE.with(|scope| *scope.borrow_mut() = self.around.take());
        self.state.pool.release(self.state.credit.take());
    }
}

/// Returns the pool of this thread's scope, or `None` outside of a scope.
pub fn current() -> Option<MemoryPool> {
    // An exiting thread has no scope any more.
    SCOPE.try_with(|scope| scope.borrow().as_ref().map(|state| state.pool.clone())).ok().flatten()
}

/// Returns the state of this thread's scope if its pool is `pool`.
fn state_of(pool: &MemoryPool) -> Option<Rc<State>> {
    let state = SCOPE.try_with(|scope| scope.borrow().clone()).ok().flatten()?;
    state.pool.is(pool).then_some(state)
}

/// Checks that `bytes` more could be reserved in this thread's scope; always succeeds outside of a
/// scope. It is meant for memory that a function allocates and frees itself and that is not in a
/// buffer.
///
/// # Errors
/// `Limit` if the budget of the scope or the limit of a pool would be exceeded.
pub fn check_room(bytes: usize) -> Result<()> {
    let Some(state) = SCOPE.with(|scope| scope.borrow().clone()) else { return Ok(()) };
    state.check_budget(bytes as u64)?;
    state.pool.reserve(bytes as u64)?;
    state.pool.release(bytes as u64);
    Ok(())
}

/// Reserves `bytes` in `pool`, using the credit of this thread's scope if the scope has that pool.
pub(super) fn reserve(pool: &MemoryPool, bytes: u64) -> Result<()> {
    let Some(state) = state_of(pool) else { return pool.reserve(bytes) };
    state.check_budget(bytes)?;
    if !state.take_credit(bytes) {
        pool.reserve(bytes)?;
    }
    state.taken.set(state.taken.get().saturating_add(bytes));
    Ok(())
}

/// Charges `bytes` as [`reserve`] does, but regardless of limits.
pub(super) fn charge(pool: &MemoryPool, bytes: u64) -> Result<()> {
    match state_of(pool) {
        None => pool.charge(bytes),
        Some(state) => {
            if !state.take_credit(bytes) {
                pool.charge(bytes);
            }
            state.taken.set(state.taken.get().saturating_add(bytes));
        }
    }
    Ok(())
}

/// Returns `bytes` to `pool`, or to the credit of this thread's scope if the scope has that pool.
pub(super) fn release(pool: &MemoryPool, bytes: u64) {
    let Some(state) = state_of(pool) else { return pool.release(bytes) };
    state.taken.set(state.taken.get().saturating_sub(bytes));
    let credit = state.credit.get().saturating_add(bytes);
    if credit <= MAX_CREDIT {
        return state.credit.set(credit);
    }
    state.credit.set(PORTION);
    pool.release(credit - PORTION);
}

impl State {
    fn check_budget(&self, bytes: u64) -> Result<()> {
        if self.taken.get().saturating_add(bytes) <= self.budget {
            return Ok(());
        }
        Err(Error::limit("the results of a batch are larger than a batch may be")
            .with("bytes", self.taken.get())
            .with("wanted", bytes)
            .with("limit", self.budget))
    }

    /// Takes `bytes` from the credit, which is first filled up by one portion if the credit is too
    /// small and the pool has a portion left. Returns false if the credit does not suffice.
    fn take_credit(&self, bytes: u64) -> bool {
        let credit = self.credit.get();
        if credit >= bytes {
            self.credit.set(credit - bytes);
            return true;
        }
        let fills = bytes <= PORTION && self.pool.try_reserve(PORTION);
        if fills {
            self.credit.set(credit + PORTION - bytes);
        }
        fills
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::memory::buffer::BufferMut;

    #[test]
    fn buffers_of_a_scope_are_paid_for_by_its_pool_until_they_are_freed() {
        let root = MemoryPool::root("query", 1 << 20);
        let (outer, inner) = (root.leaf("outer"), root.leaf("inner"));
        let scope = PoolScope::enter(&outer);
        let first = BufferMut::<u64>::with_capacity(64).freeze();
        let second = {
            let _scope = PoolScope::enter(&inner);
            BufferMut::<u64>::with_capacity(128).freeze()
        };
        assert_eq!(inner.used(), 1024);
        assert_eq!(scope.taken(), 512);
        drop(scope);
        assert_eq!((outer.used(), inner.used(), root.used()), (512, 1024, 1536));
        assert_eq!(BufferMut::<u64>::with_capacity(8).freeze().held_bytes(crate::Held::Unpaid), 64);
        drop((first, second));
        assert_eq!((root.used(), root.peak() <= 3 * PORTION), (0, true));
    }

    #[test]
    fn what_a_scope_frees_is_used_again_and_the_rest_goes_back_at_its_end() {
        let root = MemoryPool::root("query", u64::MAX);
        let leaf = root.leaf("operator");
        let scope = PoolScope::enter(&leaf);
        for _ in 0..1000 {
            drop(BufferMut::<u8>::with_capacity(1 << 10));
        }
        assert_eq!((root.peak(), scope.taken()), (PORTION, 0));
        drop(BufferMut::<u8>::with_capacity(10 << 20));
        assert!(root.used() <= MAX_CREDIT);
        drop(scope);
        assert_eq!(root.used(), 0);
    }

    #[test]
    fn growth_beyond_limit_or_budget_is_refused_where_it_can_fail() {
        let root = MemoryPool::root("query", 100_000);
        let leaf = root.leaf("operator");
        assert!(PoolScope::with_budget(10_000).is_none(), "there is no pool");
        let outer = PoolScope::enter(&leaf);
        let scope = PoolScope::with_budget(10_000).unwrap();
        let mut buffer = BufferMut::<u8>::new();
        buffer.try_reserve(9_000).unwrap();
        let error = buffer.try_reserve(20_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(check_room(2_000).is_err());
        check_room(500).unwrap();
        drop((buffer, scope));
        assert_eq!(root.used(), 0);
        assert!(BufferMut::<u8>::new().try_reserve(200_000).is_err());
        let mut small = BufferMut::<u8>::new();
        small.try_reserve(99_000).unwrap();
        drop((small, outer));
        assert_eq!(root.used(), 0);
    }
}
