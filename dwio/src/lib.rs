//! Interfaces between the engine, the file formats and the connectors.
//!
//! ```text
//!          scan requests              file access                connector access
//!   expr/  typed expressions      fs      bytes of files      connector/  Connector, DataSource,
//!   filter/ single-column tests   input/  loaded regions                  splits and handles
//!   subfield, scan_spec           reader  Reader, RowReader
//!   adaptation                    stats   statistics against filters
//!   metadata_filter
//! ```
//!
//! The last two groups are independent of each other: `reader` and `input` never name `connector`,
//! and `connector` never names `reader`, `input` or `fs`. No file in this crate names a file format
//! or a kind of table.

pub mod adaptation;
pub mod config;
pub mod connector;
pub mod expr;
pub mod filter;
pub mod fs;
pub mod input;
pub mod metadata_filter;
pub mod reader;
pub mod scan_spec;
pub mod stats;
pub mod stored;
pub mod subfield;
