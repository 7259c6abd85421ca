//! Read-ahead files, for file systems whose reads have a high latency.
//!
//! A reader announces the ranges that it will read ([`ReadFile::prefetch`]). Threads of the file
//! system fetch them in the background, and a read takes the bytes already fetched.
//!
//! | region  | a fetching thread           | a read of it                                |
//! |---------|-----------------------------|---------------------------------------------|
//! | queued  | takes it: reading           | removes it and reads on demand: dropped     |
//! | reading | done when the bytes are in  | waits                                       |
//! | done    |                             | copies; the last byte releases the region   |
//! | dropped | skips it                    | (is no longer found)                        |
//!
//! A region that could not be fetched is read again on demand, so that its reader gets the error.
//! Regions beyond the limit on bytes are not fetched.

use std::collections::VecDeque;
use std::ops::Range;

use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, Condvar, Mutex, thread};
use vector::{Buffer, Error, Result};

use super::{FileEntry, FileSystem, FileVersion, ReadFile};

#[cfg(all(test, loom))]
mod loom_tests;

/// A file system that reads its files ahead.
#[derive(Debug, Clone)]
pub struct AheadFiles {
    inner: Arc<dyn FileSystem>,
    threads: Arc<Threads>,
}

impl AheadFiles {
    /// Reads the files of `inner` ahead with at most `num_threads` threads, at least one, which
    /// hold at most `max_bytes` bytes that have not been read.
    pub fn new(inner: Arc<dyn FileSystem>, num_threads: usize, max_bytes: u64) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            fetched: Condvar::new(),
            held_bytes: AtomicU64::new(0),
            max_bytes,
        });
        AheadFiles { inner, threads: Arc::new(Threads { shared, max: num_threads.max(1) }) }
    }

    /// Waits until all announced regions of all files are in memory or have failed.
    pub fn wait_until_fetched(&self) {
        let shared = &self.threads.shared;
        let mut queue = shared.queue.lock();
        while !queue.regions.is_empty() || queue.reading > 0 {
            queue = shared.fetched.wait(queue);
        }
    }
}

impl FileSystem for AheadFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        let file = self.inner.open(path)?;
        Ok(Arc::new(AheadFile {
            file,
            threads: Arc::clone(&self.threads),
            regions: Mutex::default(),
        }))
    }

    fn is_local(&self) -> bool {
        self.inner.is_local()
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        self.inner.stat(path)
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        self.inner.list(path)
    }
}

/// The fetching threads; they end when the last owner is dropped.
#[derive(Debug)]
struct Threads {
    shared: Arc<Shared>,
    max: usize,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    /// Signals that no region is queued or being read.
    fetched: Condvar,
    /// Number of bytes of all regions that are not released.
    held_bytes: AtomicU64,
    max_bytes: u64,
}

#[derive(Debug, Default)]
struct Queue {
    regions: VecDeque<Arc<Region>>,
    idle: usize,
    /// Number of regions that threads have taken and not finished.
    reading: usize,
    closed: bool,
    threads: Vec<thread::JoinHandle<()>>,
}

/// A range of bytes of a file that a reader has announced.
#[derive(Debug)]
struct Region {
    file: Arc<dyn ReadFile>,
    range: Range<u64>,
    state: Mutex<State>,
    done: Condvar,
    /// Counts the bytes of the region until the region is dropped.
    shared: Arc<Shared>,
}

#[derive(Debug)]
enum State {
    Queued,
    Reading,
    /// The bytes; `None` if they could not be read.
    Done(Option<Buffer<u8>>),
    Dropped,
}

impl Threads {
    /// Queues a region to be fetched; returns `None` if that would exceed the limit on bytes or no
    /// thread can be started.
    fn fetch(&self, file: &Arc<dyn ReadFile>, range: Range<u64>) -> Option<Arc<Region>> {
        let (file, shared) = (Arc::clone(file), Arc::clone(&self.shared));
        let bytes = range.end.saturating_sub(range.start);
        let held = shared.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (state, done) = (Mutex::new(State::Queued), Condvar::new());
        let region = Arc::new(Region { file, range, state, done, shared });
        if held.saturating_add(bytes) > self.shared.max_bytes {
            return None;
        }
        let mut queue = self.shared.queue.lock();
        queue.regions.push_back(Arc::clone(&region));
        if queue.idle < queue.regions.len() && queue.threads.len() < self.max {
            let shared = Arc::clone(&self.shared);
            match thread::Builder::new().spawn(move || shared.work()) {
                Ok(thread) => queue.threads.push(thread),
                // The system cannot start another thread: the existing threads fetch the region.
                Err(_) if !queue.threads.is_empty() => {}
                Err(_) => {
                    queue.regions.pop_back();
                    return None;
                }
            }
        }
        drop(queue);
        self.shared.work.notify_one();
        Some(region)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let threads = {
            let mut queue = self.shared.queue.lock();
            queue.closed = true;
            queue.regions.clear();
            std::mem::take(&mut queue.threads)
        };
        self.shared.work.notify_all();
        for thread in threads {
            // A thread that panicked needs no handling: its region is done without bytes.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(region) = queue.regions.pop_front() {
                queue.reading += 1;
                drop(queue);
                let turn = Turn(self);
                region.read();
                drop(region);
                drop(turn);
                queue = self.queue.lock();
            } else if queue.closed {
                return;
            } else {
                queue.idle += 1;
                queue = self.work.wait(queue);
                queue.idle -= 1;
            }
        }
    }
}

/// The work of a thread on one region; it counts as finished even if the read panics.
struct Turn<'a>(&'a Shared);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue.lock();
        queue.reading -= 1;
        if queue.reading == 0 && queue.regions.is_empty() {
            self.0.fetched.notify_all();
        }
    }
}

impl Region {
    /// Reads the bytes, unless a reader has dropped the region from the queue.
    fn read(&self) {
        {
            let mut state = self.state.lock();
            match *state {
                State::Queued => *state = State::Reading,
                _ => return,
            }
        }
        // Threads that wait for the region are woken even if the read panics.
        let mut finish = Finish { region: self, bytes: None };
        let len = usize::try_from(self.range.end.saturating_sub(self.range.start));
        if let Ok(len) = len {
            let mut bytes = vec![0; len];
            let read = self.file.read_exact_at(self.range.start, &mut bytes);
            finish.bytes = read.ok().map(|()| Buffer::from_owner(bytes));
        }
    }

    /// Returns `len` bytes from `at` on, waiting for them if they are being read; `None` if the
    /// caller has to read them on demand.
    fn part(&self, at: u64, len: usize) -> Option<Buffer<u8>> {
        let start = usize::try_from(at.checked_sub(self.range.start)?).ok()?;
        let mut state = self.state.lock();
        loop {
            match &*state {
                State::Reading => state = self.done.wait(state),
                State::Done(bytes) => {
                    let bytes = bytes.as_ref()?;
                    let end = start.checked_add(len).filter(|end| *end <= bytes.len())?;
                    return Some(bytes.slice(start..end));
                }
                State::Queued => *state = State::Dropped,
                State::Dropped => return None,
            }
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let bytes = self.range.end.saturating_sub(self.range.start);
        self.shared.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

struct Finish<'a> {
    region: &'a Region,
    bytes: Option<Buffer<u8>>,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        *self.region.state.lock() = State::Done(self.bytes.take());
        self.region.done.notify_all();
    }
}

#[derive(Debug)]
struct AheadFile {
    file: Arc<dyn ReadFile>,
    threads: Arc<Threads>,
    /// Regions that are queued, being fetched or fetched, and not read to their end.
    regions: Mutex<Vec<Arc<Region>>>,
}

impl AheadFile {
    /// Returns the region that contains the byte at `at`, and the start of the next region.
    fn region_at(&self, at: u64) -> (Option<Arc<Region>>, u64) {
        let regions = self.regions.lock();
        let found = regions.iter().find(|region| region.range.contains(&at)).cloned();
        let starts = regions.iter().map(|region| region.range.start).filter(|start| *start > at);
        (found, starts.min().unwrap_or(u64::MAX))
    }

    fn let_go(&self, region: &Arc<Region>) {
        self.regions.lock().retain(|known| !Arc::ptr_eq(known, region));
    }
}

impl ReadFile for AheadFile {
    fn path(&self) -> &str {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn version(&self) -> Option<FileVersion> {
        self.file.version()
    }

    /// Files are put behind this one because their reads take long.
    fn is_far(&self) -> bool {
        true
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < out.len() {
            let at = offset.saturating_add(filled as u64);
            let (region, next) = self.region_at(at);
            let end = region.as_ref().map_or(next, |region| region.range.end);
            let most = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
            let Some((part, _)) = out.get_mut(filled..).map(|out| {
                let len = most.min(out.len());
                out.split_at_mut(len)
            }) else {
                return Err(Error::internal("more was read than was wanted"));
            };
            match region {
                None => self.file.read_exact_at(at, part)?,
                Some(region) => {
                    let Some(bytes) = region.part(at, part.len()) else {
                        self.let_go(&region);
                        continue;
                    };
                    part.copy_from_slice(&bytes);
                    if part.len() == most {
                        self.let_go(&region);
                    }
                }
            }
            filled += part.len();
        }
        Ok(())
    }

    fn mapped(&self, offset: u64, len: usize) -> Option<Buffer<u8>> {
        self.file.mapped(offset, len)
    }

    fn prefetch(&self, offset: u64, len: u64) -> bool {
        let range = offset..offset.saturating_add(len).min(self.len());
        let is_coming = |region: &Arc<Region>| {
            region.range.start <= range.start && range.end <= region.range.end
        };
        if range.is_empty() || self.regions.lock().iter().any(is_coming) {
            return false;
        }
        let fetched = self.threads.fetch(&self.file, range.clone());
        let mut regions = self.regions.lock();
        let begins = fetched.is_some();
        match fetched {
            Some(region) => regions.push(region),
            // The oldest region is the least likely to be read: it is released so that later
            // regions fit.
            None if !regions.is_empty() => drop(regions.remove(0)),
            None => {}
        }
        begins
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fs::{Fault, MemoryFiles, ObservedFiles};
    use vector::ErrorKind;

    const LEN: usize = 10_000;

    struct Opened {
        slow: ObservedFiles,
        files: AheadFiles,
        file: Arc<dyn ReadFile>,
    }

    impl Opened {
        fn new(max_bytes: u64) -> Opened {
            let files = MemoryFiles::new();
            files.put("f", (0..LEN).map(|i| (i % 251) as u8).collect());
            let slow = Fault::Slow(Duration::from_millis(5));
            let slow = ObservedFiles::failing(Arc::new(files), slow);
            let files = AheadFiles::new(Arc::new(slow.clone()), 2, max_bytes);
            Opened { file: files.open("f").unwrap(), files, slow }
        }

        fn read(&self, range: Range<usize>) {
            let mut out = vec![0; range.len()];
            self.file.read_exact_at(range.start as u64, &mut out).unwrap();
            assert!(out.iter().zip(range).all(|(byte, i)| *byte == (i % 251) as u8));
        }

        /// Returns the number of reads made by this thread and by other threads.
        fn reads(&self) -> (u64, u64) {
            let own = self.slow.reads_here();
            (own, self.slow.reads() - own)
        }

        fn held_bytes(&self) -> u64 {
            self.files.threads.shared.held_bytes.load(Ordering::Relaxed)
        }

        /// Waits until everything announced has been fetched.
        fn settle(&self) {
            let is_idle = || {
                let queue = self.files.threads.shared.queue.lock();
                queue.regions.is_empty() && queue.idle == queue.threads.len()
            };
            while !is_idle() {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn what_was_announced_is_read_by_other_threads() {
        let opened = Opened::new(1 << 20);
        opened.file.prefetch(1_000, 2_000);
        opened.file.prefetch(3_000, 1_000);
        opened.settle();
        // Across two regions, in pieces, and to the end of both.
        opened.read(1_500..3_500);
        opened.read(3_500..4_000);
        assert_eq!(opened.reads(), (0, 2));
        assert_eq!(opened.held_bytes(), 0);
        opened.read(1_000..1_100);
        assert_eq!(opened.reads().0, 1);
    }

    #[test]
    fn a_read_takes_what_is_there_and_reads_the_rest() {
        let opened = Opened::new(1 << 20);
        assert!(opened.file.prefetch(1_000, 1_000));
        assert!(!opened.file.prefetch(1_200, 100), "that is on its way");
        opened.settle();
        opened.read(500..2_500);
        assert_eq!(opened.reads(), (2, 1));
    }

    #[test]
    fn a_read_that_comes_early_waits_or_does_it_itself() {
        for _ in 0..20 {
            let opened = Opened::new(1 << 20);
            assert!((0..6).all(|i| opened.file.prefetch(i * 1_000, 1_000)));
            opened.read(0..6_000);
            let (own, others) = opened.reads();
            assert!(own <= 6 && others <= 6 && own + others >= 6, "{own} {others}");
            opened.settle();
            assert_eq!(opened.held_bytes(), 0);
        }
    }

    #[test]
    fn what_is_held_is_bounded_and_what_nobody_reads_makes_room() {
        let opened = Opened::new(2_500);
        let begins = [0, 1, 2].map(|i| opened.file.prefetch(i * 1_000, 1_000));
        assert_eq!(begins, [true, true, false]);
        opened.settle();
        assert_eq!(opened.held_bytes(), 1_000, "the third is refused, the first lets go");
        opened.file.prefetch(3_000, 1_000);
        opened.settle();
        opened.read(0..4_000);
        assert_eq!(opened.held_bytes(), 0);
        let Opened { files, file, .. } = opened;
        drop(files);
        file.prefetch(0, 100);
        drop(file);
    }

    #[test]
    fn bytes_that_are_not_there_are_an_error_of_whoever_reads_them() {
        let opened = Opened::new(1 << 20);
        opened.file.prefetch(9_990, 1_000);
        opened.file.prefetch(u64::MAX, 10);
        opened.settle();
        opened.read(9_990..LEN);
        let error = opened.file.read_exact_at(9_990, &mut [0; 100]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
