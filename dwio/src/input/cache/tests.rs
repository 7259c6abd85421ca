//! Tests of the cache through inputs: reads of the file, retained blocks, and errors seen by
//! concurrent readers.

use super::*;
use crate::fs::{Fault, FileSystem, MemoryFiles, ObservedFiles};
use crate::input::{BufferedInput, InputOptions};
use vector::ErrorKind;
use vector::sync::{Continuation, promise, thread};

const BLOCK: u64 = 1_000;

/// A file system with one observed file `f`, and a cache of `max_bytes`.
struct World {
    root: MemoryPool,
    cache: RegionCache,
    files: MemoryFiles,
    observed: ObservedFiles,
}

impl World {
    fn new(max_bytes: u64, fault: Fault) -> Self {
        let root = MemoryPool::root("engine", 1 << 20);
        let files = MemoryFiles::with_versions();
        files.put("f", (0..10_500u32).map(|i| i as u8).collect());
        World {
            cache: RegionCache::with_blocks(&root, max_bytes, BLOCK),
            observed: ObservedFiles::failing(Arc::new(files.clone()), fault),
            files,
            root,
        }
    }

    fn access(&self, keeps: bool) -> CacheAccess {
        CacheAccess { cache: self.cache.clone(), keeps, counter: CacheCounter::default() }
    }

    fn input_with(&self, access: CacheAccess) -> BufferedInput {
        let file = self.observed.open("f").unwrap();
        let options = InputOptions { cache: Some(access), ..InputOptions::default() };
        BufferedInput::with_options(file, self.root.leaf("scan"), options)
    }

    fn input(&self) -> BufferedInput {
        self.input_with(self.access(true))
    }

    /// Returns the number of reads and of bytes read from the file so far.
    fn read(&self) -> (u64, u64) {
        (self.observed.reads(), self.observed.read_bytes())
    }
}

fn wanted(start: u64, len: u64) -> Vec<u8> {
    (start..start + len).map(|i| i as u8).collect()
}

#[test]
fn what_one_has_read_another_finds_in_memory() {
    let world = World::new(100_000, Fault::None);
    let first = world.input();
    assert_eq!(first.read(100, 50).unwrap().as_slice(), wanted(100, 50));
    assert_eq!(world.read(), (1, BLOCK), "a whole block");
    let access = world.access(true);
    let second = world.input_with(access.clone());
    assert_eq!(second.read(900, 50).unwrap().as_slice(), wanted(900, 50));
    assert_eq!((world.read(), access.counter.hits()), ((1, BLOCK), (50, 1)));
    // Consecutive absent blocks are one read; the blocks before and after them are in memory.
    assert_eq!(second.read(950, 9_000).unwrap().as_slice(), wanted(950, 9_000));
    assert_eq!((world.read(), access.counter.hits()), ((2, 10 * BLOCK), (100, 2)));
    assert_eq!(second.read(0, 10_500).unwrap().as_slice(), wanted(0, 10_500));
    assert_eq!(world.read(), (3, 10_500), "the last block is short");
    let (used, peak) = (world.cache.pool().used(), world.cache.pool().peak());
    assert!((10_500..12_000).contains(&used) && used == peak, "{used} of {peak}");
    drop((first, second));
    world.cache.clear();
    assert_eq!(world.root.used(), 0);
}

#[test]
fn announced_regions_come_out_of_the_cache_too() {
    let world = World::new(100_000, Fault::None);
    for _ in 0..2 {
        let mut input = world.input();
        for start in [100, 5_000, 9_000] {
            input.enqueue(start..start + 10).unwrap();
        }
        input.load().unwrap();
        assert_eq!(input.read(5_000, 10).unwrap().as_slice(), wanted(5_000, 10));
        input.load_end(3).unwrap();
    }
    assert_eq!(world.read(), (2, 10_500), "near regions are one read, then there is nothing left");
}

#[test]
fn what_was_not_used_for_the_longest_time_goes_when_there_is_no_room() {
    let world = World::new(2_100, Fault::None);
    let input = world.input();
    let touch = |block: u64| {
        let before = world.observed.reads();
        assert_eq!(input.read(block * BLOCK, 10).unwrap().as_slice(), wanted(block * BLOCK, 10));
        world.observed.reads() == before
    };
    assert!(!touch(0) && !touch(1) && touch(0));
    assert!(!touch(2), "block 1 goes for it");
    assert!(touch(0) && touch(2) && !touch(1));
    assert!(world.cache.pool().peak() <= 2_100);
}

#[test]
fn what_somebody_holds_stays_and_what_finds_no_room_is_read_past_the_cache() {
    let world = World::new(2_100, Fault::None);
    let input = world.input();
    let held = [input.read(0, 10).unwrap(), input.read(BLOCK, 10).unwrap()];
    for _ in 0..2 {
        assert_eq!(input.read(2 * BLOCK, 10).unwrap().as_slice(), wanted(2 * BLOCK, 10));
    }
    assert_eq!(world.read(), (4, 2 * BLOCK + 20), "only what is wanted");
    assert_eq!(input.read(5, 10).unwrap().as_slice(), wanted(5, 10));
    drop(held);
    input.read(2 * BLOCK, 10).unwrap();
    input.read(2 * BLOCK, 10).unwrap();
    assert_eq!(world.read(), (5, 3 * BLOCK + 20));
}

#[test]
fn a_file_that_has_changed_is_another_file() {
    let world = World::new(100_000, Fault::None);
    let before = world.input();
    assert_eq!(before.read(0, 1).unwrap().as_slice(), [0]);
    world.files.put("f", vec![7; 10_500]);
    assert_eq!(world.input().read(0, 1).unwrap().as_slice(), [7]);
    assert_eq!(before.read(1, 1).unwrap().as_slice(), [1], "who has it open sees what it opened");
    world.files.put("f", vec![8; 9]);
    assert_eq!(world.input().read(0, 9).unwrap().as_slice(), [8; 9]);
}

#[test]
fn a_reader_that_keeps_nothing_leaves_nothing_and_uses_what_is_there() {
    let world = World::new(100_000, Fault::None);
    world.input_with(world.access(false)).read(0, 10).unwrap();
    assert_eq!((world.read(), world.cache.pool().used()), ((1, 10), 0));
    world.input().read(0, 10).unwrap();
    let access = world.access(false);
    let input = world.input_with(access.clone());
    assert_eq!(input.read(20, 10).unwrap().as_slice(), wanted(20, 10));
    assert_eq!((world.observed.reads(), access.counter.hits()), (2, (10, 1)));
    assert_eq!(input.read(990, 20).unwrap().as_slice(), wanted(990, 20), "half of it is there");
    assert_eq!(world.read(), (3, BLOCK + 30));
}

#[test]
fn an_error_is_met_by_who_wants_the_broken_bytes_and_by_nobody_else() {
    let world = World::new(100_000, Fault::ReadAt(500));
    let input = world.input();
    for _ in 0..2 {
        assert_eq!(input.read(0, 500).unwrap().as_slice(), wanted(0, 500));
        let error = input.read(400, 200).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("injected read failure"), "{error}");
    }
    assert_eq!(world.cache.pool().used(), 0);
    assert_eq!(input.read(BLOCK, 10).unwrap().as_slice(), wanted(BLOCK, 10));
}

#[test]
fn queries_that_are_short_of_memory_get_that_of_the_cache() {
    let world = World::new(100_000, Fault::None);
    let input = world.input();
    let held = input.read(0, 10).unwrap();
    input.read(0, 10_500).unwrap();
    let query = world.root.aggregate("query", u64::MAX).leaf("sort");
    let all = (1 << 20) - world.root.used();
    query.reserve(all + 5_000).unwrap();
    let left = world.cache.pool().used();
    assert!((4_000..7_000).contains(&left), "{left} bytes: what was wanted, and no more");
    query.reserve(left - 1_024).unwrap();
    assert!(query.reserve(200).is_err(), "one block is held");
    assert_eq!(held.as_slice(), wanted(0, 10));
    // Without memory for a block the file is read as if there were no cache.
    assert_eq!(input.read(3 * BLOCK, 10).unwrap().as_slice(), wanted(3 * BLOCK, 10));
}

/// A file whose reads block until a gate is opened.
#[derive(Debug)]
struct Gated {
    file: Arc<dyn ReadFile>,
    gate: Mutex<Option<Continuation>>,
    reads: AtomicU64,
}

impl ReadFile for Gated {
    crate::same_file_as!(file);

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.lock().take();
        if let Some(gate) = gate {
            gate.wait()?;
        }
        self.file.read_exact_at(offset, out)
    }
}

/// Returns a gated file, the promise that opens the gate for its first read, and inputs over it
/// that share one cache.
fn gated(
    world: &World,
    cancel: &CancelFlag,
) -> (Arc<Gated>, vector::sync::Promise, [BufferedInput; 2]) {
    let (promise, gate) = promise();
    let (file, gate) = (world.observed.open("f").unwrap(), Mutex::new(Some(gate)));
    let file = Arc::new(Gated { file, gate, reads: AtomicU64::new(0) });
    let inputs = [1, 2].map(|_| {
        let (cache, cancel) = (Some(world.access(true)), Some(cancel.clone()));
        let options = InputOptions { cache, cancel, ..InputOptions::default() };
        BufferedInput::with_options(Arc::clone(&file) as _, world.root.leaf("scan"), options)
    });
    (file, promise, inputs)
}

/// Starts a read that blocks at the gate.
fn stand_at_the_gate(file: &Gated, input: BufferedInput) -> thread::JoinHandle<Result<Vec<u8>>> {
    let reading = thread::spawn(move || input.read(10, 10).map(|bytes| bytes.to_vec()));
    while file.reads.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    reading
}

#[test]
fn two_threads_that_want_the_same_read_it_once() {
    let world = World::new(100_000, Fault::None);
    let (file, promise, [a, b]) = gated(&world, &CancelFlag::new());
    let first = stand_at_the_gate(&file, a);
    let second = thread::spawn(move || b.read(15, 10).map(|bytes| bytes.to_vec()));
    thread::yield_now();
    promise.fulfil();
    assert_eq!(first.join().unwrap().unwrap(), wanted(10, 10));
    assert_eq!(second.join().unwrap().unwrap(), wanted(15, 10));
    assert_eq!(file.reads.load(Ordering::SeqCst), 1);
}

#[test]
fn who_waits_for_a_load_that_fails_reads_for_itself() {
    let world = World::new(100_000, Fault::None);
    let (file, promise, [a, b]) = gated(&world, &CancelFlag::new());
    let first = stand_at_the_gate(&file, a);
    let second = thread::spawn(move || b.read(15, 10).map(|bytes| bytes.to_vec()));
    promise.fail(vector::Error::io("broken once"));
    // The first reader repeats its read, as the second one does.
    assert_eq!(first.join().unwrap().unwrap(), wanted(10, 10));
    assert_eq!(second.join().unwrap().unwrap(), wanted(15, 10));
}

#[test]
fn who_is_cancelled_does_not_wait_for_the_load_of_another() {
    let world = World::new(100_000, Fault::None);
    let cancel = CancelFlag::new();
    let (file, promise, [a, b]) = gated(&world, &cancel);
    let first = stand_at_the_gate(&file, a);
    let second = thread::spawn(move || b.read(15, 10).map(|bytes| bytes.to_vec()));
    cancel.cancel();
    assert_eq!(second.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    promise.fulfil();
    assert_eq!(first.join().unwrap().unwrap(), wanted(10, 10), "the load itself goes on");
}
