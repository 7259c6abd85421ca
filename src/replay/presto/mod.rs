//! Presto's serialized pages: how engines of the Presto family hand batches of rows about.
//!
//! ```text
//! page | rows i32, codec u8, size unpacked i32, size i32, checksum i64 | body
//! body | columns i32 | column ...            packed as a whole, if the codec says so
//! column | length of a name i32, name | what a block of that name has
//! ```
//!
//! | file | does |
//! |---|---|
//! | `page` | headers, checksums, compression: a stream of pages to batches |
//! | `columns` | blocks to vectors |
//! | `write` | batches to pages |
//!
//! All numbers are little-endian. No length is believed before as many bytes are there.

mod columns;
mod page;
mod write;

pub use page::PageReader;
pub use write::write_page;
