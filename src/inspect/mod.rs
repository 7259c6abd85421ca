//! What the footer of a file says, as batches that print in any output format.
//!
//! ```text
//! path --open--> Footer --schema | file | row_groups | columns--> RowVector --> output
//! ```
//!
//! Nothing but the footer is read. Hints that a writer may have filled with nonsense are shown as
//! they are; only what a reader relies on was checked when the footer was opened.

mod columns;
mod facts;
mod file;
mod row_groups;
mod schema;

use dwio::fs::FileSystem;
use dwio::input::BufferedInput;
use format_parquet::decrypt::KeyProvider;
use format_parquet::footer::{Footer, read_footer};
use vector::sync::Arc;
use vector::{MemoryPool, Result};

pub use columns::{ColumnsOf, columns};
pub use file::{file, file_by_property};
pub use row_groups::row_groups;
pub use schema::{SchemaView, schema};

/// Reads the footer of one Parquet file; `keys` are for encrypted ones.
pub fn open(
    files: &dyn FileSystem,
    path: &str,
    keys: Option<&Arc<dyn KeyProvider>>,
) -> Result<Footer> {
    let file = files.open(path)?;
    read_footer(&BufferedInput::new(file, MemoryPool::unlimited()), keys)
}
