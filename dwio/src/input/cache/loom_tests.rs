//! Loom models: a load that another reader waits for, a load that fails, and a block that is
//! evicted during a lookup.

use super::*;
use vector::Error;
use vector::sync::{ModelArc, thread};

/// A file of two blocks that counts its reads and can make them fail.
#[derive(Debug)]
struct Model {
    reads: ModelArc<AtomicU64>,
    fails: bool,
}

impl ReadFile for Model {
    fn path(&self) -> &str {
        "f"
    }

    fn len(&self) -> u64 {
        8
    }

    fn version(&self) -> Option<FileVersion> {
        Some(FileVersion([0; 4]))
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            return Err(Error::io("broken"));
        }
        (offset..).zip(out).for_each(|(at, byte)| *byte = at as u8);
        Ok(())
    }
}

struct Reader {
    file: Arc<dyn ReadFile>,
    cached: CachedFile,
    pool: MemoryPool,
}

impl Reader {
    fn read(&self, wanted: Range<u64>) -> Option<Vec<u8>> {
        let parts = self.cached.read(&*self.file, wanted, 100, &self.pool).unwrap();
        Some(parts?.iter().flat_map(|part| part.to_vec()).collect())
    }
}

/// Returns two readers of one file over a cache of `max_bytes`, and the number of reads of the
/// file.
fn readers(max_bytes: u64, fails: bool) -> (RegionCache, [Reader; 2], ModelArc<AtomicU64>) {
    let root = MemoryPool::root("engine", 1_000);
    let cache = RegionCache::with_blocks(&root, max_bytes, 4);
    let reads = ModelArc::new(AtomicU64::new(0));
    let readers = [1, 2].map(|_| {
        let file: Arc<dyn ReadFile> = Arc::new(Model { reads: ModelArc::clone(&reads), fails });
        let counter = CacheCounter::default();
        let access = CacheAccess { cache: cache.clone(), keeps: true, counter };
        let cached = CachedFile::new(&file, access, None).unwrap();
        Reader { file, cached, pool: root.leaf("scan") }
    });
    (cache, readers, reads)
}

#[test]
fn loom_two_readers_of_a_block_read_it_once() {
    loom::model(|| {
        let (cache, [a, b], reads) = readers(500, false);
        let other = thread::spawn(move || assert_eq!(b.read(1..3).unwrap(), [1, 2]));
        assert_eq!(a.read(0..4).unwrap(), [0, 1, 2, 3]);
        other.join().unwrap();
        assert_eq!(reads.load(Ordering::SeqCst), 1);
        cache.clear();
        assert_eq!(cache.pool().used(), 0);
    });
}

#[test]
fn loom_a_load_that_fails_leaves_nothing_and_lets_everybody_go() {
    loom::model(|| {
        let (cache, [a, b], _) = readers(500, true);
        let other = thread::spawn(move || assert!(b.read(0..4).is_none()));
        assert!(a.read(0..4).is_none());
        other.join().unwrap();
        assert!(!cache.0.blocks.lock().has(&a.cached.key(0)));
        assert_eq!(cache.pool().used(), 0);
    });
}

#[test]
fn loom_readers_of_blocks_of_each_other_do_not_wait_for_each_other_for_ever() {
    loom::model(|| {
        let (_cache, [a, b], reads) = readers(500, false);
        let other = thread::spawn(move || assert_eq!(b.read(2..8).unwrap(), [2, 3, 4, 5, 6, 7]));
        assert_eq!(a.read(6..8).unwrap(), [6, 7]);
        other.join().unwrap();
        assert!(reads.load(Ordering::SeqCst) <= 2);
    });
}

#[test]
fn loom_a_block_that_goes_while_somebody_comes_is_whole_or_read_again() {
    loom::model(|| {
        let (cache, [a, b], _) = readers(500, false);
        assert!(b.read(0..4).is_some());
        let evicting = cache.clone();
        let other = thread::spawn(move || evicting.0.reclaim(1));
        assert_eq!(a.read(0..4).unwrap(), [0, 1, 2, 3]);
        other.join().unwrap();
        cache.clear();
        assert_eq!(cache.pool().used(), 0);
    });
}

#[test]
fn loom_who_needs_memory_gets_that_of_the_cache_also_while_somebody_looks_at_it() {
    loom::model(|| {
        let root = MemoryPool::root("engine", 1_000);
        let cache = RegionCache::with_blocks(&root, 500, 4);
        let reads = ModelArc::new(AtomicU64::new(0));
        let file: Arc<dyn ReadFile> = Arc::new(Model { reads, fails: false });
        let counter = CacheCounter::default();
        let access = CacheAccess { cache: cache.clone(), keeps: true, counter };
        let cached = CachedFile::new(&file, access, None).unwrap();
        cached.read(&*file, 0..4, 100, &root.leaf("scan")).unwrap().unwrap();
        let other = thread::spawn(move || cached.missing(0..8));
        root.leaf("sort").reserve(1_000).unwrap();
        other.join().unwrap();
        assert_eq!(cache.pool().used(), 0);
    });
}
