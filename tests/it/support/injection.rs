//! A file system that injects a fault into the call with a given number.
//!
//! ```text
//! call 0, 1, .. number - 1    unchanged
//! call number                 fails, is late or short, has bytes of another call, or wrong bytes
//! later calls                 unchanged
//! ```

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dwio::fs::{FileEntry, FileSystem, FileVersion, ReadFile};
use vector::{Buffer, Error, Result};

/// Fault of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Injection {
    /// The call fails.
    Fail,
    /// The call is delayed.
    Delay,
    /// A file has half of its length; a read fills half of the bytes and fails. Listings are
    /// complete, because nothing else states which files a directory has.
    Shorten,
    /// A read returns the bytes of the previous read of the same file, from their first byte on. A
    /// whole file is not replaced by another one, because that is authentic and no reader can
    /// detect it.
    Repeat,
    /// One of the bytes that are read is changed.
    Change,
}

/// Files of another file system with an injected fault.
#[derive(Clone)]
pub(crate) struct InjectingFiles {
    inner: Arc<dyn FileSystem>,
    calls: Arc<Calls>,
}

/// The number of calls so far, and the call that gets the fault.
#[derive(Debug, Default)]
struct Calls(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    num_calls: u64,
    planned: Option<(u64, Injection)>,
    last_read: (String, Vec<u8>),
}

impl Calls {
    /// Counts a call; returns its fault.
    fn next(&self) -> Option<Injection> {
        let mut state = self.0.lock().unwrap();
        let number = state.num_calls;
        state.num_calls += 1;
        let injection = state.planned.filter(|(at, _)| *at == number).map(|(_, found)| found);
        drop(state);
        if injection == Some(Injection::Delay) {
            std::thread::sleep(Duration::from_millis(2));
        }
        injection
    }
}

fn failed(path: &str) -> Error {
    Error::io("the device has failed").in_named("file", path)
}

impl InjectingFiles {
    pub(crate) fn new(inner: Arc<dyn FileSystem>) -> Self {
        InjectingFiles { inner, calls: Arc::default() }
    }

    /// Resets the count of calls, and plans the fault of a call.
    pub(crate) fn plan(&self, planned: Option<(u64, Injection)>) {
        *self.calls.0.lock().unwrap() = State { planned, ..State::default() };
    }

    /// Returns the number of calls since the last plan.
    pub(crate) fn num_calls(&self) -> u64 {
        self.calls.0.lock().unwrap().num_calls
    }
}

impl fmt::Debug for InjectingFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InjectingFiles({:?})", self.inner)
    }
}

impl FileSystem for InjectingFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        let injection = self.calls.next();
        if injection == Some(Injection::Fail) {
            return Err(failed(path));
        }
        let inner = self.inner.open(path)?;
        let len = match injection {
            Some(Injection::Shorten) => inner.len() / 2,
            _ => inner.len(),
        };
        Ok(Arc::new(InjectedFile { inner, len, calls: Arc::clone(&self.calls) }))
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        match self.calls.next() {
            Some(Injection::Fail) => Err(failed(path)),
            Some(Injection::Shorten) => {
                let entry = self.inner.stat(path)?;
                Ok(FileEntry { len: entry.len / 2, ..entry })
            }
            _ => self.inner.stat(path),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        match self.calls.next() {
            Some(Injection::Fail) => Err(failed(path)),
            _ => self.inner.list(path),
        }
    }
}

struct InjectedFile {
    inner: Arc<dyn ReadFile>,
    len: u64,
    calls: Arc<Calls>,
}

impl fmt::Debug for InjectedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InjectedFile({})", self.inner.path())
    }
}

impl ReadFile for InjectedFile {
    fn path(&self) -> &str {
        self.inner.path()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn version(&self) -> Option<FileVersion> {
        // Open files have no common version, so that each footer is read.
        None
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let injection = self.calls.next();
        if injection == Some(Injection::Fail) {
            return Err(failed(self.path()));
        }
        self.inner.read_exact_at(offset, out)?;
        let half = out.len() / 2;
        let mut state = self.calls.0.lock().unwrap();
        match injection {
            Some(Injection::Shorten) => {
                out[half..].fill(0xa5);
                return Err(Error::io("the file ends early").in_named("file", self.path()));
            }
            Some(Injection::Repeat) => {
                let (path, bytes) = &state.last_read;
                if path == self.path() {
                    let len = out.len().min(bytes.len());
                    out[..len].copy_from_slice(&bytes[..len]);
                }
            }
            Some(Injection::Change) => {
                let at = (offset as usize).wrapping_mul(31) % out.len().max(1);
                if let Some(byte) = out.get_mut(at) {
                    *byte ^= 0x40;
                }
            }
            Some(Injection::Fail | Injection::Delay) | None => {}
        }
        state.last_read = (self.path().to_string(), out.to_vec());
        Ok(())
    }

    fn mapped(&self, _: u64, _: usize) -> Option<Buffer<u8>> {
        // Files are not mapped, so that every byte is read by a call.
        None
    }
}
