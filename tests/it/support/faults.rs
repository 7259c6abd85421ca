//! A file system whose operations a test may delay or let fail.

use std::fmt;
use std::sync::Arc;

use dwio::fs::{FileEntry, FileSystem, ReadFile};
use vector::{Buffer, Result};

/// Something done to a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileOp<'a> {
    Open { path: &'a str },
    Read { path: &'a str },
}

/// Runs before each operation, which fails with its error.
pub(crate) type Fault = dyn Fn(FileOp<'_>) -> Result<()> + Send + Sync;

/// Files of another system behind a fault.
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
        // Every byte is read, so that every read may fail.
        None
    }
}
