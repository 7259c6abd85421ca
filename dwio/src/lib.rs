//! Contracts: what may be asked of data, how files answer, how sources answer.
//!
//! ```text
//!          what may be asked            how files answer           how sources answer
//!   expr/  typed expressions      fs      bytes of files      connector/  Connector, DataSource,
//!   filter/ single-column tests   input/  loaded regions                  splits and handles
//!   subfield, scan_spec           reader  Reader, RowReader
//!   adaptation                    stats   "can this match?"
//!   metadata_filter
//! ```
//!
//! The three stand beside each other: `reader` and `input` never name `connector`, `connector`
//! never names `reader`, `input` or `fs`. No file here names a file format or a table kind.

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
