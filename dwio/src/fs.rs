//! File systems: opening and listing files, and positional reads.
//!
//! [`LocalFiles`] reads with `pread` or through mappings of files that cannot shrink; both
//! implement [`ReadFile`], so that callers do not depend on the access method. [`AheadFiles`]
//! fetches announced ranges in the background, for file systems with high latency. [`MemoryFiles`]
//! and [`ObservedFiles`] are for tests: the first holds files in memory, the second counts the
//! calls that it forwards and can make them fail.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss
    )
)]

mod ahead;
mod local;
mod memory;
mod unshrinkable;

use std::fmt;
use std::time::SystemTime;

use vector::sync::Arc;
use vector::{Buffer, Result};

pub use ahead::AheadFiles;
pub use local::{LocalAccess, LocalFiles};
pub use memory::{Fault, MemoryFiles, ObservedFiles};

/// Implements `path`, `len`, `version` and `is_far` of [`ReadFile`] by delegation to the file in a field.
/// Every wrapper of a `ReadFile` uses it: a forgotten method would fall back to its default without
/// an error.
#[macro_export]
macro_rules! same_file_as {
    ($field:ident) => {
        fn path(&self) -> &str {
            self.$field.path()
        }

        fn len(&self) -> u64 {
            self.$field.len()
        }

        fn version(&self) -> Option<$crate::fs::FileVersion> {
            self.$field.version()
        }

        fn is_far(&self) -> bool {
            self.$field.is_far()
        }
    };
}

/// An open file that supports positional reads from any thread.
pub trait ReadFile: Send + Sync + fmt::Debug {
    /// Returns the path with which the file was opened.
    fn path(&self) -> &str;

    /// Returns the length of the file in bytes at the time it was opened.
    fn len(&self) -> u64;

    /// Returns true for an empty file.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with the bytes from `offset` on. Never returns fewer bytes.
    ///
    /// # Errors
    /// `Io` if the read fails or the file has become shorter.
    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Returns a value that distinguishes the state in which the file was opened from earlier and
    /// later states; `None` if the file system cannot distinguish them. Cached bytes of a file are
    /// valid for any file of the same path and version.
    fn version(&self) -> Option<FileVersion> {
        None
    }

    /// Returns true if a read takes so long, whatever its length, that a few bytes are read together
    /// with other bytes rather than by a read of their own.
    fn is_far(&self) -> bool {
        false
    }

    /// Announces that a range of bytes will be read, so that a file with slow reads can start to
    /// fetch it. Does not block and affects nothing but timing. Returns true if a fetch starts.
    fn prefetch(&self, offset: u64, len: u64) -> bool {
        let _ = (offset, len);
        false
    }

    /// Returns a handle to the same file whose reads count as data instead of metadata; `None` if
    /// the file system does not distinguish the two.
    fn data_handle(&self) -> Option<Arc<dyn ReadFile>> {
        None
    }

    /// Returns the bytes without a copy; `None` if the file is not mapped into memory.
    fn mapped(&self, offset: u64, len: usize) -> Option<Buffer<u8>> {
        let _ = (offset, len);
        None
    }
}

/// State of a file, comparable with other states of the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileVersion(pub [u128; 4]);

/// Properties of a directory entry that are available without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Full path of the entry.
    pub path: String,
    /// True for a directory.
    pub is_directory: bool,
    /// Length in bytes; 0 for a directory.
    pub len: u64,
    /// Time of the last modification; `None` if the file system does not report it.
    pub modified: Option<SystemTime>,
}

/// A file system.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound` if the file does not exist; `Io` if it cannot be opened.
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>>;

    /// Returns the properties of `path`.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `Io` if they cannot be read.
    fn stat(&self, path: &str) -> Result<FileEntry>;

    /// Returns the entries of a directory, ordered by name, including hidden ones.
    ///
    /// # Errors
    /// `NotFound` if the directory does not exist; `Io` if it cannot be read.
    fn list(&self, path: &str) -> Result<Vec<FileEntry>>;

    /// Returns true if the paths are paths of this machine, so that a file written locally can be
    /// read through this file system.
    fn is_local(&self) -> bool {
        false
    }
}
