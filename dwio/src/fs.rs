//! File systems: opening, listing and reading files by position.
//!
//! [`LocalFiles`] reads with `pread` or maps files into memory that cannot shrink; both stand behind [`ReadFile`], so
//! nothing above knows which. [`AheadFiles`] fetches what others will read, for file systems that are
//! far away. [`MemoryFiles`] and [`ObservedFiles`] serve tests: files that exist
//! in memory only, and counting or failing of what passes through.
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

/// Who a file is, for a [`ReadFile`] that reads the one in its field in another way: same path, same
/// length, same version, same distance. What is left out here would be lost without anybody noticing.
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

/// An open file, read by position from any thread.
pub trait ReadFile: Send + Sync + fmt::Debug {
    /// The path it was opened by.
    fn path(&self) -> &str;

    /// Its length in bytes when it was opened.
    fn len(&self) -> u64;

    /// True for an empty file.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with the bytes from `offset` on. A file that has become shorter is an `Io`
    /// error; fewer bytes are never given.
    fn read_exact_at(&self, offset: u64, out: &mut [u8]) -> Result<()>;

    /// Tells the state in which the file was opened from its earlier and later ones; `None` when the
    /// file system cannot. What was read of a file holds for another one of the same path and version.
    fn version(&self) -> Option<FileVersion> {
        None
    }

    /// True when a read takes so long, whatever its length, that none is worth a few bytes that can
    /// come with another one.
    fn is_far(&self) -> bool {
        false
    }

    /// Says that these bytes are going to be read. A file whose reads take long may begin with them;
    /// nobody waits, and nothing follows from it but time. True when it begins.
    fn will_need(&self, offset: u64, len: u64) -> bool {
        let _ = (offset, len);
        false
    }

    /// The same file for reads of values, where they are told from reads of what the file says of
    /// itself.
    fn of_values(&self) -> Option<Arc<dyn ReadFile>> {
        None
    }

    /// The bytes without a copy, where the file is mapped into memory.
    fn mapped(&self, offset: u64, len: usize) -> Option<Buffer<u8>> {
        let _ = (offset, len);
        None
    }
}

/// A state of a file, to be compared with others of the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileVersion(pub [u128; 4]);

/// What is known of a directory entry without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// The full path.
    pub path: String,
    /// True for a directory.
    pub is_directory: bool,
    /// Bytes; 0 for a directory.
    pub len: u64,
    /// Last change, where the system tells it.
    pub modified: Option<SystemTime>,
}

/// A place that has files.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Opens a file; `NotFound` when there is none.
    fn open(&self, path: &str) -> Result<Arc<dyn ReadFile>>;

    /// What `path` is; `NotFound` when there is nothing.
    fn stat(&self, path: &str) -> Result<FileEntry>;

    /// The entries of a directory in the order of their names, hidden ones included.
    fn list(&self, path: &str) -> Result<Vec<FileEntry>>;

    /// True when the paths are those of this machine, so that what is written there can be read.
    fn is_local(&self) -> bool {
        false
    }
}
