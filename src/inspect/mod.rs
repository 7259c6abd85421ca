//! Inspection of a Parquet file: its metadata and stored pages as batches that can be printed in
//! any output format.
//!
//! ```text
//! path --open--> InspectedFile --schema | file | row_groups | columns | kv | stats--> RowVector
//!                              --pages | dict | bloom-->  Shown: rows, and what was broken
//!                              --verify--> Report: number of checks, and problems
//! ```
//!
//! Metadata that a writer may have filled with wrong values is shown as stored. Of a broken file,
//! everything readable is shown, and the errors are returned beside the rows.

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

/// An open file for inspection.
#[derive(Debug)]
pub struct InspectedFile {
    /// Footer of the file; a footer that does not fit the file has a defect.
    pub footer: Arc<Footer>,
    /// Input of the file.
    pub input: BufferedInput,
}

/// The readable part of a file, and the errors of the unreadable part.
#[derive(Debug)]
pub struct Shown {
    /// Rows to print.
    pub rows: RowVector,
    /// Errors because of which rows are missing.
    pub broken: Vec<Error>,
}

impl InspectedFile {
    /// Opens a Parquet file. `keys` are required for an encrypted one, and `pool` must be a leaf.
    ///
    /// # Errors
    /// `NotFound` or `Io` of the file system, `Corrupt` or `Unsupported` if the footer cannot be
    /// read, `InvalidInput` if the file is encrypted and its key is missing.
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
