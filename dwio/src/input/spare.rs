//! Spare memory: buffers of an input that are kept for its next reads until the memory pool
//! reclaims them.

use vector::sync::{Arc, Mutex, Weak};
use vector::{Buffer, BufferMut, MemoryPool, Reclaim, Result};

/// The spare buffers of one input. They are released when their pool is short of memory.
#[derive(Debug)]
pub(super) struct Spare {
    pool: MemoryPool,
    /// Created when the first buffer is kept, since most inputs never keep one.
    kept: Option<Arc<Kept>>,
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<BufferMut<u8>>>);

impl Reclaim for Kept {
    fn reclaim(&self, _: u64) {
        // Blocking on the lock is safe, because no thread reserves memory while it holds the lock.
        // The buffers are dropped after it is released, because returning memory to the pool may
        // wake waiting threads.
        let taken = std::mem::take(&mut *self.0.lock());
        drop(taken);
    }
}

impl Spare {
    /// Returns an empty instance whose new buffers are allocated from `pool`.
    pub(super) fn new(pool: MemoryPool) -> Self {
        Spare { pool, kept: None }
    }

    /// Returns the pool that accounts for the buffers.
    pub(super) fn pool(&self) -> &MemoryPool {
        &self.pool
    }

    /// Keeps the memory of `bytes` if it is the only reference.
    pub(super) fn keep(&mut self, bytes: Buffer<u8>) {
        let Ok(memory) = bytes.into_mut() else { return };
        self.kept().0.lock().push(memory);
    }

    /// Takes over the buffers that another input has kept.
    pub(super) fn absorb(&mut self, other: Spare) {
        let Some(other) = other.kept else { return };
        let mut taken = std::mem::take(&mut *other.0.lock());
        if !taken.is_empty() {
            self.kept().0.lock().append(&mut taken);
        }
    }

    /// Returns a buffer with a capacity of at least `len` bytes: the smallest kept one that is
    /// large enough, or else a new one.
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
            pool.register_reclaimer(Arc::downgrade(&kept) as Weak<dyn Reclaim>);
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
                // A buffer that is too small now is probably too small for later reads as well.
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
