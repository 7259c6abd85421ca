//! Presto's serialized pages, the format in which engines of the Presto family exchange batches.
//!
//! ```text
//! page | rows i32, codec u8, uncompressed size i32, size i32, checksum i64 | body
//! body | columns i32 | column ...            compressed as a whole, if the codec states so
//! column | length of a name i32, name | contents of a block of that name
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `page` | headers, checksums, compression: a stream of pages to batches |
//! | `columns` | blocks to vectors |
//! | `write` | batches to pages |
//!
//! All numbers are little-endian. Memory for a length is allocated only after that number of bytes
//! is known to be present.

mod columns;
mod page;
mod write;

pub use page::PageReader;
pub use write::write_page;
