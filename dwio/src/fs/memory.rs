//! File systems for tests: files in memory, and a wrapper that observes another file system.

use std::collections::BTreeMap;
use std::time::Duration;

use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, Mutex, sleep, thread};
use vector::{Buffer, Error, Result, ResultExt};

use super::{FileEntry, FileSystem, FileVersion, ReadFile};

/// Files that exist only in memory; the prefixes of their paths are directories.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles {
    files: Arc<Mutex<BTreeMap<String, MemoryFile>>>,
    /// Number of files put so far, used as file versions; `None` if files have no versions.
    num_puts: Option<Arc<AtomicU64>>,
}

impl MemoryFiles {
    /// Returns a file system without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a file system without files, whose files get versions: each file that is put has a
    /// version of its own.
    pub fn with_versions() -> Self {
        MemoryFiles { num_puts: Some(Arc::default()), ..Self::default() }
    }

    /// Puts a file at `path`, replacing an earlier one.
    pub fn put(&self, path: impl Into<String>, bytes: Vec<u8>) {
        let (path, bytes) = (path.into(), Buffer::from_owner(bytes));
        let num_puts = self.num_puts.as_ref().map(|puts| puts.fetch_add(1, Ordering::Relaxed));
        let version = num_puts.map(|number| FileVersion([u128::from(number), 0, 0, 0]));
        self.files.lock().insert(path.clone(), MemoryFile { path, bytes, version });
    }
}

#[derive(Debug, Clone)]
struct MemoryFile {
    path: String,
    bytes: Buffer<u8>,
    version: Option<FileVersion>,
}

impl ReadFile for MemoryFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Option<FileVersion> {
        self.version
    }

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.bytes.get(start..start.checked_add(out.len())?))
            .ok_or_else(|| Error::io("read past the end").with("offset", offset))
            .in_named("file", &self.path)?;
        out.copy_from_slice(bytes);
        Ok(())
    }
}

impl FileSystem for MemoryFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        match self.files.lock().get(path) {
            Some(file) => Ok(Arc::new(file.clone())),
            None => Err(Error::not_found("no such file").in_named("file", path)),
        }
    }

    fn stat(&self, path: &str) -> Result<FileEntry> {
        let path = path.trim_end_matches('/');
        let files = self.files.lock();
        let entry = |is_directory, len| FileEntry {
            path: path.to_string(),
            is_directory,
            len,
            modified: None,
        };
        if let Some(file) = files.get(path) {
            return Ok(entry(false, file.len()));
        }
        let inside = format!("{path}/");
        if files.keys().any(|k| k.starts_with(&inside)) {
            return Ok(entry(true, 0));
        }
        Err(Error::not_found("no such file or directory").in_named("path", path))
    }

    fn list(&self, path: &str) -> Result<Vec<FileEntry>> {
        let inside = format!("{}/", path.trim_end_matches('/'));
        let files = self.files.lock();
        let mut entries: Vec<FileEntry> = Vec::new();
        for (name, file) in files.iter() {
            let Some(rest) = name.strip_prefix(&inside) else { continue };
            let (path, is_directory, len) = match rest.split_once('/') {
                Some((directory, _)) => (format!("{inside}{directory}"), true, 0),
                None => (name.clone(), false, file.len()),
            };
            if entries.last().is_none_or(|last| last.path != path) {
                entries.push(FileEntry { path, is_directory, len, modified: None });
            }
        }
        if entries.is_empty() {
            return Err(Error::not_found("no such directory").in_named("path", path));
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }
}

/// Fault that an [`ObservedFiles`] injects.
#[derive(Debug, Clone)]
pub enum Fault {
    /// No fault.
    None,
    /// Opening a file whose path contains the text fails with an `Io` error.
    Open(String),
    /// Reads that include this byte offset fail with an `Io` error.
    ReadAt(u64),
    /// Each read takes at least this long.
    Slow(Duration),
}

#[derive(Debug, Default)]
struct Counters {
    opens: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    opened: Mutex<Vec<String>>,
    /// Thread of each read.
    readers: Mutex<Vec<thread::ThreadId>>,
}

/// Counts the calls to another file system, and makes chosen operations fail.
#[derive(Debug, Clone)]
pub struct ObservedFiles {
    inner: Arc<dyn FileSystem>,
    counters: Arc<Counters>,
    fault: Fault,
}

impl ObservedFiles {
    /// Observes `inner`.
    pub fn new(inner: Arc<dyn FileSystem>) -> Self {
        Self::failing(inner, Fault::None)
    }

    /// Observes `inner` and injects `fault`.
    pub fn failing(inner: Arc<dyn FileSystem>, fault: Fault) -> Self {
        ObservedFiles { inner, counters: Arc::default(), fault }
    }

    /// Returns the number of files opened so far.
    pub fn opens(&self) -> u64 {
        self.counters.opens.load(Ordering::Relaxed)
    }

    /// Returns the paths opened so far, in order.
    pub fn opened(&self) -> Vec<String> {
        self.counters.opened.lock().clone()
    }

    /// Returns the number of reads so far.
    pub fn reads(&self) -> u64 {
        self.counters.reads.load(Ordering::Relaxed)
    }

    /// Returns the number of reads by the current thread so far.
    pub fn reads_here(&self) -> u64 {
        let here = thread::current().id();
        self.counters.readers.lock().iter().filter(|id| **id == here).count() as u64
    }

    /// Returns the number of bytes requested by reads so far.
    pub fn read_bytes(&self) -> u64 {
        self.counters.read_bytes.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct ObservedFile {
    inner: Arc<dyn ReadFile>,
    counters: Arc<Counters>,
    fault: Fault,
}

impl ReadFile for ObservedFile {
    crate::same_file_as!(inner);

    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.counters.reads.fetch_add(1, Ordering::Relaxed);
        self.counters.read_bytes.fetch_add(out.len() as u64, Ordering::Relaxed);
        self.counters.readers.lock().push(thread::current().id());
        if let Fault::Slow(time) = self.fault {
            sleep(time);
        }
        if let Fault::ReadAt(at) = self.fault
            && (offset..offset.saturating_add(out.len() as u64)).contains(&at)
        {
            return Err(Error::io("injected read failure").with("offset", at))
                .in_named("file", self.path());
        }
        self.inner.read_exact_at(offset, out)
    }

    fn prefetch(&self, offset: u64, len: u64) -> bool {
        self.inner.prefetch(offset, len)
    }
}

impl FileSystem for ObservedFiles {
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>> {
        self.counters.opens.fetch_add(1, Ordering::Relaxed);
        self.counters.opened.lock().push(path.to_string());
        if let Fault::Open(part) = &self.fault
            && path.contains(part.as_str())
        {
            return Err(Error::io("injected open failure").in_named("file", path));
        }
        let inner = self.inner.open(path)?;
        let counters = Arc::clone(&self.counters);
        Ok(Arc::new(ObservedFile { inner, counters, fault: self.fault.clone() }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use vector::ErrorKind;

    #[test]
    fn prefixes_of_paths_are_directories() {
        let files = MemoryFiles::new();
        files.put("t/ds=1/a", vec![1]);
        files.put("t/ds=1/b", vec![1, 2]);
        files.put("t/c", vec![]);
        let names: Vec<_> = files.list("t").unwrap().into_iter().map(|e| e.path).collect();
        assert_eq!(names, ["t/c", "t/ds=1"]);
        assert_eq!(files.list("t/ds=1/").unwrap()[1].len, 2);
        assert!(files.stat("t/ds=1").unwrap().is_directory);
        assert_eq!(files.list("x").unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_passes_is_counted_and_fails_where_told() {
        let files = MemoryFiles::new();
        files.put("a", vec![0; 100]);
        let observed = ObservedFiles::failing(Arc::new(files), Fault::ReadAt(50));
        let file = observed.open("a").unwrap();
        file.read_exact_at(0, &mut [0; 50]).unwrap();
        assert_eq!(file.read_exact_at(41, &mut [0; 10]).unwrap_err().kind(), ErrorKind::Io);
        assert_eq!((observed.opens(), observed.reads(), observed.read_bytes()), (1, 2, 60));
    }
}
