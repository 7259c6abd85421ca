//! Parquet bytes as rows of Ocior vectors.
//!
//! ```text
//! "PAR1" | pages of column chunks ... | indexes | footer | footer length | "PAR1"
//!          ^ row group, then leaf                ^ FileMetaData: schema, row groups, chunks
//! ```
//!
//! In reading order:
//!
//! | file | gives |
//! |---|---|
//! | `footer` | the footer found, checked and parsed |
//! | `thrift` | the compact protocol and the structs of the format |
//! | `schema` | the tree of columns with levels and types |
//! | `created_by` | the writing program, and whether its bounds are sound |
//! | `statistics`, `page_index`, `bloom` | what is known of values and pages, as far as it is believed |
//! | `chunk_source` | from where the parts beside a chunk's pages are read |
//! | `chunk_pages` | the bytes of a chunk's pages, and how they are to be read |
//! | `prune` | what filters leave of row groups and pages before a value is read |
//! | `decrypt` | keys, and what encrypted files have in place of plain bytes |
//! | `page` | the pages of a column chunk, decompressed and cut into levels and values |
//! | `levels` | definition and repetition levels, and what they mean in nested columns |
//! | `encoding` | the bytes of values as numbers, strings and dictionary indices |
//! | `column` | one column of any shape, window by window |
//! | `read_plan` | the rows of a row group that metadata leaves |
//! | `condition` | the same for a condition on several columns |
//! | `row_reader` | one pass over the file: row groups, windows, filters |
//! | `reader` | an open file, and the factory that opens it |
//!
//! Bytes of files go through checked readers. The lints below hold that for every file here: no
//! place may panic, slice or narrow a number. Kernels that are excepted say why, and
//! `tests/it/tidy.rs` lists them.
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
