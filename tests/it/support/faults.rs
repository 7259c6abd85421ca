//! A file system whose operations a test may delay or let fail, and a gate that delays them.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use dwio::fs::{FileEntry, FileSystem, ReadFile};
use vector::{Buffer, Result};

/// An operation on a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileOp<'a> {
    Open { path: &'a str },
    Read { path: &'a str },
}

/// Callback before each operation, which fails with the callback's error.
pub(crate) type Fault = dyn Fn(FileOp<'_>) -> Result<()> + Send + Sync;

/// Files of another file system, whose operations call a fault first.
#[derive(Clone)]
pub(crate) struct FaultyFiles {
    inner: Arc<dyn FileSystem>,
    fault: Arc<Fault>,
}

impl FaultyFiles {
    pub(crate) fn new(
        inner: Arc<dyn FileSystem>,
        fault: impl Fn(FileOp<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        FaultyFiles { inner, fault: Arc::new(fault) }
    }
}

impl fmt::Debug for FaultyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyFiles({:?})", self.inner)
    }
}

impl FileSystem for FaultyFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        (self.fault)(FileOp::Open { path })?;
        let inner = self.inner.open(path)?;
        Ok(Arc::new(FaultyFile { inner, fault: Arc::clone(&self.fault) }))
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        self.inner.stat(path)
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        self.inner.list(path)
    }
}

struct FaultyFile {
    inner: Arc<dyn ReadFile>,
    fault: Arc<Fault>,
}

impl fmt::Debug for FaultyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyFile({})", self.inner.path())
    }
}

impl ReadFile for FaultyFile {
    dwio::same_file_as!(inner);

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        (self.fault)(FileOp::Read { path: self.path() })?;
        self.inner.read_exact_at(offset, out)
    }

    fn mapped(&self, _: u64, _: usize) -> Option<Buffer<u8>> {
        // Files are not mapped, so that every read may fail.
        None
    }
}

/// A timeout that is longer than any operation takes, also on a busy machine.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(120);

/// A gate: threads that reach it while it is shut wait until it is opened.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    is_shut: bool,
    num_waiting: usize,
}

impl Gate {
    pub(crate) fn shut(&self) {
        self.state.lock().unwrap().is_shut = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().is_shut = false;
        self.opened.notify_all();
    }

    /// Waits until the gate is open.
    pub(crate) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.num_waiting += 1;
        let waited = self.opened.wait_timeout_while(state, FOR_EVER, |state| state.is_shut);
        state = waited.unwrap().0;
        state.num_waiting -= 1;
        assert!(!state.is_shut, "nobody has opened the gate");
    }

    /// Returns true when a thread waits at the gate.
    pub(crate) fn is_waited_at(&self) -> bool {
        self.state.lock().unwrap().num_waiting > 0
    }
}

/// Waits until a condition is true; fails the test after a timeout.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < FOR_EVER, "not yet: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
