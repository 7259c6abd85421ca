//! The pool that pays for the buffers a thread allocates: set around each call of an operator.
//!
//! ```text
//! PoolScope::enter(pool of the operator)
//!   BufferMut::new() in a kernel, a builder, a copy --> charged to that pool until it is freed
//! end of the scope: the pool of the scope around it, or none
//! ```
//!
//! Kernels and builders need not be handed a pool, and none can forget it (ClickHouse tracks memory
//! by thread in the same way). A buffer is paid for by the pool of the operator that made it, as in
//! Velox, wherever it is held; a buffer made with a pool of its own ([`super::buffer::BufferMut::new_in`])
//! is not touched by scopes.
//!
//! A scope takes memory from its pool in portions of `PORTION`, so that small buffers cost no
//! atomic operation; what is left of a portion goes back when the scope ends.
//!
//! A scope may have a budget: growth that can fail is refused beyond it, so that the caller can do
//! the same for fewer rows ([`PoolScope::with_budget`]).

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use super::MemoryPool;
use crate::error::{Error, Result};

/// Bytes that a scope takes from its pool at once for small buffers.
const PORTION: u64 = 64 << 10;

/// Bytes that a scope keeps at most of what was freed in it.
const MAX_CREDIT: u64 = 4 * PORTION;

thread_local! {
    static SCOPE: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct State {
    pool: MemoryPool,
    /// Bytes that the pool has granted and no buffer uses.
    credit: Cell<u64>,
    /// Bytes of buffers that were allocated in this scope, less those that were freed in it.
    taken: Cell<u64>,
    budget: u64,
}

/// While it lives, buffers that this thread allocates are charged to a pool.
#[derive(Debug)]
pub struct PoolScope {
    state: Rc<State>,
    around: Option<Rc<State>>,
    /// A scope is of one thread.
    not_send: PhantomData<*const ()>,
}

impl PoolScope {
    /// Charges to the leaf `pool` what this thread allocates.
    pub fn enter(pool: &MemoryPool) -> Self {
        PoolScope::new(pool.clone(), u64::MAX)
    }

    /// A scope of the same pool as the scope around it, in which growth that can fail is refused
    /// with a `Limit` error beyond `budget` bytes; `None` without a scope.
    pub fn with_budget(budget: u64) -> Option<Self> {
        current().map(|pool| PoolScope::new(pool, budget))
    }

    fn new(pool: MemoryPool, budget: u64) -> Self {
        let state = Rc::new(State { pool, credit: Cell::new(0), taken: Cell::new(0), budget });
        let around = SCOPE.with(|scope| scope.borrow_mut().replace(Rc::clone(&state)));
        PoolScope { state, around, not_send: PhantomData }
    }

    /// Bytes of the buffers that were allocated in this scope and not freed in it.
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

/// The pool of this thread's scope.
pub fn current() -> Option<MemoryPool> {
    // A thread that ends has no scope.
    SCOPE.try_with(|scope| scope.borrow().as_ref().map(|state| state.pool.clone())).ok().flatten()
}

/// The state of this thread's scope if that is of `pool`.
fn state_of(pool: &MemoryPool) -> Option<Rc<State>> {
    let state = SCOPE.try_with(|scope| scope.borrow().clone()).ok().flatten()?;
    state.pool.is(pool).then_some(state)
}

/// `Limit` unless `bytes` could be reserved in this thread's scope now; for memory that is
/// allocated and freed within a function and stands in no buffer.
pub fn check_room(bytes: usize) -> Result<()> {
    let Some(state) = SCOPE.with(|scope| scope.borrow().clone()) else { return Ok(()) };
    state.check_budget(bytes as u64)?;
    state.pool.reserve(bytes as u64)?;
    state.pool.release(bytes as u64);
    Ok(())
}

/// Takes `bytes` from `pool`, from the credit of this thread's scope where that is of the pool.
pub(super) fn reserve(pool: &MemoryPool, bytes: u64) -> Result<()> {
    let Some(state) = state_of(pool) else { return pool.reserve(bytes) };
    state.check_budget(bytes)?;
    if !state.take_credit(bytes) {
        pool.reserve(bytes)?;
    }
    state.taken.set(state.taken.get().saturating_add(bytes));
    Ok(())
}

/// As [`reserve`], past the limit where it must be.
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

/// Gives `bytes` back to `pool`.
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

    /// Takes `bytes` from the credit, which is filled up where there is room for a portion.
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
