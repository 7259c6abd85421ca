//! The Parquet format: reads Parquet files into Ocior vectors.
//!
//! ```text
//! "PAR1" | pages of column chunks ... | indexes | footer | footer length | "PAR1"
//!          ^ row group, then leaf                ^ FileMetaData: schema, row groups, chunks
//! ```
//!
//! In reading order:
//!
//! | file | contains |
//! |---|---|
//! | `footer` | search, validation and parsing of the footer |
//! | `thrift` | the compact protocol and the structs of the format |
//! | `schema` | the tree of columns with levels and types |
//! | `created_by` | the writing program, and whether its bounds are sound |
//! | `statistics`, `page_index`, `bloom` | trusted statistics of chunks and pages; bloom filters |
//! | `chunk_source` | reading of the parts of a chunk other than its pages |
//! | `chunk_pages` | the bytes of a chunk's pages, and the parameters of reading them |
//! | `prune` | exclusion of row groups and pages before a value is read |
//! | `decrypt` | keys and decryption of encrypted modules |
//! | `page` | the pages of a column chunk, decompressed and divided into levels and values |
//! | `levels` | definition and repetition levels, and their meaning in nested columns |
//! | `encoding` | decoding of value bytes into numbers, strings and dictionary indices |
//! | `column` | readers of one column of any nesting, window by window |
//! | `read_plan` | the rows of a row group that metadata leaves to be read |
//! | `condition` | the same for a condition on several columns |
//! | `row_reader` | one scan of the file: row groups, windows, filters |
//! | `reader` | an open file, and the factory that opens it |
//! | `shared_footers` | footers shared between concurrent readers of a file |
//!
//! Bytes of files are read through checked readers. The lints below enforce this for every file of
//! the crate: no code may panic, slice or narrow a number without a check. Kernels with an
//! exception state the reason, and `tests/it/tidy.rs` lists them.
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

pub mod bloom;
pub mod chunk_pages;
pub mod chunk_source;
mod column;
mod condition;
pub mod created_by;
pub mod decrypt;
pub mod encoding;
pub mod footer;
pub mod levels;
pub mod page;
pub mod page_index;
pub mod prune;
mod read_plan;
pub mod reader;
mod row_reader;
pub mod schema;
mod shared_footers;
pub mod statistics;
pub mod thrift;

pub use reader::{FORMAT_NAME, ParquetReader, ParquetReaderFactory};
