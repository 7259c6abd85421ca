//! Memory of parsed metadata, which is charged to the pool of the reader that parses it.
//!
//! A list of empty structs takes three bytes for each on the wire and fifty in memory, so that a footer
//! of 500 MiB could become gigabytes. Each list, text and chunk is charged before its memory is taken,
//! for as long as the footer is held: by the reader that parsed it, also where others share it.

use vector::sync::Arc;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::{MemoryPool, Result};

/// What parsed metadata takes from a pool; dropping it releases that.
#[derive(Debug)]
pub struct MetadataMemory {
    pool: MemoryPool,
    bytes: AtomicU64,
}

impl MetadataMemory {
    /// Nothing yet of `pool`, which must be a leaf.
    pub fn new(pool: &MemoryPool) -> Arc<Self> {
        Arc::new(MetadataMemory { pool: pool.clone(), bytes: AtomicU64::new(0) })
    }

    /// Takes `bytes` more.
    ///
    /// # Errors
    ///
    /// `Limit` when the pool has no room for them.
    pub fn reserve(&self, bytes: usize) -> Result<()> {
        self.pool.reserve(bytes as u64)?;
        // Only the sum is needed, by the owner that drops it.
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// The bytes taken so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Drop for MetadataMemory {
    fn drop(&mut self) {
        self.pool.release(self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_released_once_nobody_holds_it() {
        let root = MemoryPool::root("root", 1000);
        let memory = MetadataMemory::new(&root.leaf("leaf"));
        memory.reserve(600).unwrap();
        assert_eq!(memory.reserve(600).unwrap_err().kind(), vector::ErrorKind::Limit);
        let shared = Arc::clone(&memory);
        drop(memory);
        assert_eq!((shared.bytes(), root.used()), (600, 600));
        drop(shared);
        assert_eq!(root.used(), 0);
    }
}
