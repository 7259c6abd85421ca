//! Memory of an input that was used and is kept for its next reads, until somebody needs it more.

use vector::sync::{Arc, Mutex, Weak};
use vector::{Buffer, BufferMut, MemoryPool, Reclaim, Result};

/// The spare memory of one input. It is given back when its pool is short of memory.
#[derive(Debug)]
pub(super) struct Spare {
    pool: MemoryPool,
    /// Made when there is first something to keep: most inputs never have.
    kept: Option<Arc<Kept>>,
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<BufferMut<u8>>>);

impl Reclaim for Kept {
    fn reclaim(&self, _: u64) {
        // Waited for, because nobody asks for memory under this lock. Taken out first: giving memory
        // back may wake others.
        let taken = std::mem::take(&mut *self.0.lock());
        drop(taken);
    }
}

impl Spare {
    /// Nothing yet; what is missing comes from `pool`.
    pub(super) fn new(pool: MemoryPool) -> Self {
        Spare { pool, kept: None }
    }

    /// The pool that pays.
    pub(super) fn pool(&self) -> &MemoryPool {
        &self.pool
    }

    /// Keeps the memory of `bytes`, if nobody else holds it.
    pub(super) fn keep(&mut self, bytes: Buffer<u8>) {
        let Ok(memory) = bytes.into_mut() else { return };
        self.kept().0.lock().push(memory);
    }

    /// Takes over what another input has kept.
    pub(super) fn absorb(&mut self, other: Spare) {
        let Some(other) = other.kept else { return };
        let mut taken = std::mem::take(&mut *other.0.lock());
        if !taken.is_empty() {
            self.kept().0.lock().append(&mut taken);
        }
    }

    /// Memory for `len` bytes: the smallest kept one that has the room, or fresh.
    pub(super) fn take(&self, len: usize) -> Result<BufferMut<u8>> {
        match self.kept.as_ref().and_then(|kept| kept.take(len)) {
            Some(memory) => Ok(memory),
            None => BufferMut::with_capacity_in(len, &self.pool),
        }
    }

    fn kept(&mut self) -> &Kept {
        let pool = &self.pool;
        self.kept.get_or_insert_with(|| {
            let kept = Arc::new(Kept::default());
            pool.give_back_through(Arc::downgrade(&kept) as Weak<dyn Reclaim>);
            kept
        })
    }
}

impl Kept {
    fn take(&self, len: usize) -> Option<BufferMut<u8>> {
        let mut kept = self.0.lock();
        let fitting = kept.iter().enumerate().filter(|(_, memory)| memory.capacity() >= len);
        match fitting.min_by_key(|(_, memory)| memory.capacity()) {
            Some((i, _)) => {
                let mut memory = kept.swap_remove(i);
                memory.clear();
                Some(memory)
            }
            None => {
                // What is too small now will not be needed later either, most likely.
                let too_small = kept.pop();
                drop(kept);
                drop(too_small);
                None
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn spare_memory_serves_the_next_read_or_whoever_is_short_of_it() {
        let root = MemoryPool::root("engine", 1_000);
        let (scan, sort) = (root.leaf("scan"), root.leaf("sort"));
        let mut spare = Spare::new(scan.clone());
        let first = spare.take(600).unwrap();
        let bytes = scan.used();
        spare.keep(first.freeze());
        let second = spare.take(500).unwrap();
        assert_eq!((second.capacity() as u64, scan.used()), (bytes, bytes));
        drop(second);
        spare.keep(spare.take(600).unwrap().freeze());
        assert_eq!(scan.used(), bytes);
        sort.reserve(700).unwrap();
        assert_eq!((scan.used(), root.used()), (0, 700));
        assert!(spare.take(600).is_err());
        sort.release(700);
    }
}
