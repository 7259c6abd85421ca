//! Reading: opens the files of splits and returns batches of the table's type.
//!
//! ```text
//! data_source      splits -> batches that passed the remaining filter
//!   split_reader   one split -> batches with constants and row numbers
//!     file_handle       opens the file, counts its reads
//!     binding, mapping  columns of the file, constants of the split
//!     entries           removes entries of maps and lists that the query does not use
//!     timestamps        truncates to the unit of the session
//!   remaining      evaluates the remaining filter
//!   outputs        output columns, with extractions (extract_vector) and post-processors
//!   source_stats   metrics
//! ```
//!
//! `deferred` keeps lazy columns lazy when rows are selected or columns are transformed. The files
//! use all other folders of the crate.

pub(crate) mod binding;
pub(crate) mod data_source;
pub(crate) mod deferred;
pub(crate) mod entries;
pub(crate) mod extract_vector;
pub(crate) mod file_handle;
pub(crate) mod mapping;
pub(crate) mod outputs;
pub(crate) mod remaining;
pub(crate) mod source_stats;
pub(crate) mod split_reader;
pub(crate) mod timestamps;
