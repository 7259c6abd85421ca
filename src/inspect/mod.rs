//! What a file says of itself, as batches that print in any output format.
//!
//! ```text
//! path --open--> InspectedFile --schema | file | row_groups | columns | kv | stats--> RowVector
//!                              --pages | dict | bloom-->  Shown: rows, and what was broken
//!                              --verify--> Report: what was checked, and what does not hold
//! ```
//!
//! Hints that a writer may have filled with nonsense are shown as they are. Of a broken file as much
//! is shown as can be read; where it breaks comes as errors beside the rows.

mod bloom;
mod chunks;
mod columns;
mod dict;
mod facts;
mod fate;
mod file;
mod kv;
mod pages;
mod row_groups;
mod schema;
mod stats;
mod verify;

use dwio::fs::FileSystem;
use dwio::input::BufferedInput;
use format_parquet::chunk_source::{ChunkSource, FileSource};
use format_parquet::decrypt::KeyProvider;
use format_parquet::footer::{Footer, read_footer_to_look_at};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result, RowVector};

pub use bloom::bloom;
pub use chunks::ChunksOf;
pub use columns::columns;
pub use dict::dict;
pub use file::{file, file_by_property};
pub use kv::kv;
pub use pages::{pages, pages_under, pages_without_footer};
pub use row_groups::row_groups;
pub use schema::{SchemaView, schema};
pub use stats::stats;
pub use verify::{Check, Report, verify};

/// A file that is open to be looked at.
#[derive(Debug)]
pub struct InspectedFile {
    /// Its footer; one that does not fit the file has a defect.
    pub footer: Arc<Footer>,
    /// Its bytes.
    pub input: BufferedInput,
}

/// What could be read, and what could not.
#[derive(Debug)]
pub struct Shown {
    /// The rows to print.
    pub rows: RowVector,
    /// Why there are not more.
    pub broken: Vec<Error>,
}

impl InspectedFile {
    /// Opens one Parquet file; `keys` are for encrypted ones, and `pool` must be a leaf.
    pub fn open(
        files: &dyn FileSystem,
        path: &str,
        keys: Option<&Arc<dyn KeyProvider>>,
        pool: MemoryPool,
    ) -> Result<Self> {
        let input = BufferedInput::new(files.open(path)?, pool);
        let footer = Arc::new(read_footer_to_look_at(&input, keys)?);
        Ok(InspectedFile { footer, input })
    }

    fn chunk(&self, row_group: usize, leaf: usize) -> ChunkSource<'_> {
        let file = FileSource { input: &self.input, decryptor: self.footer.decryptor.as_ref() };
        file.chunk(&self.footer, row_group, leaf)
    }
}
