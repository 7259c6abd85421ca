//! Hive text tables (LazySimpleSerDe): a file format behind the reader traits of `dwio`.
//!
//! ```text
//! file --codec--> bytes --lines--> lines --fields--> texts of columns --cells--> vectors
//!      bytes.rs         lines.rs         fields.rs                   cells.rs
//!                                                                    values.rs: one scalar
//!      dialect.rs: separators, escape, text of null      row_reader.rs: filters, windows
//! ```
//!
//! A text file has no schema of its own: the caller passes the table's columns (rule S7.8), and a
//! value is parsed as the type that the plan requests. A text that is not a valid value is null, as
//! in Hive, unless the setting `text.bad-values` makes it an error. A line ends at LF, CR or CR LF
//! and belongs to the split in which it starts. A compressed file cannot be divided and belongs to
//! the split that contains its first byte. Memory is bounded by the window of lines and the maximum
//! line length.
//!
//! Files in reading order: `dialect`, `bytes`, `lines`, `fields`, `values`, `base64`, `cells`,
//! `row_reader`, `reader`.
//!
//! # Examples
//!
//! ```
//! use dwio::adaptation::ScanAdaptation;
//! use dwio::config::Config;
//! use dwio::fs::{FileSystem, MemoryFiles};
//! use dwio::input::BufferedInput;
//! use dwio::reader::{ReadOutcome, ReadRequest, ReaderFactory, ReaderParams, RowReaderParams};
//! use dwio::scan_spec::{BoundColumn, ScanSpec, SplitBinding};
//! # use ocior_format_text as format_text;
//! use format_text::TextReaderFactory;
//! use vector::sync::Arc;
//! use vector::{MemoryPool, RowType, Type, print_rows};
//!
//! let files = MemoryFiles::new();
//! files.put("nation", b"CANADA,3\nJAPAN,\\N\n".to_vec());
//! let pool = MemoryPool::unlimited();
//! let columns = Arc::new(RowType::new([("name", Type::Varchar), ("region", Type::BigInt)]));
//!
//! let input = BufferedInput::new(files.open("nation")?, pool.clone());
//! let options = Config::from_iter([("serde.field.delim", ",")]);
//! let params = ReaderParams { options, pool, file_schema: Some(Arc::clone(&columns)) };
//! let reader = TextReaderFactory.open(input, params)?;
//!
//! let spec = Arc::new(ScanSpec::of_row_type(&columns));
//! let bound = (0..2).map(|ordinal| BoundColumn::File { ordinal });
//! let binding = Arc::new(SplitBinding::new(bound.collect()));
//! let mut rows = reader.row_reader(RowReaderParams::new(spec, binding, 0..u64::MAX))?;
//! let mut adaptation = ScanAdaptation::new(2);
//! let ReadOutcome::Rows(read) = rows.next(ReadRequest::new(1000, &mut adaptation))? else {
//!     panic!("the file has rows");
//! };
//! let text = print_rows(&read.batch, 10)?;
//! assert!(text.ends_with("0: name=\"CANADA\" region=3\n1: name=\"JAPAN\" region=NULL\n"));
//! # Ok::<(), vector::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod base64;
mod bytes;
mod cells;
mod dialect;
mod fields;
mod lines;
mod reader;
mod row_reader;
mod values;

#[cfg(test)]
mod tests;

pub use dialect::{SERDE_PARAMETERS, check_parameter};
pub use reader::{FORMAT_NAME, TextReaderFactory};
