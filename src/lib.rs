//! A columnar scan engine that reads Hive tables in Parquet selectively.
//!
//! [`Engine`] is the main entry point: it plans and runs SQL queries and plain scans, and returns
//! the rows batch by batch.
//!
//! ```
//! let engine = ocior::Engine::new();
//! let result = engine.query(
//!     "SELECT name AS country, ds FROM 'examples/warehouse/nation'
//!      WHERE ds = '2026-09-01' AND nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4",
//! )?;
//! assert_eq!(result.row_type().to_string(), "country VARCHAR,ds DATE");
//! let rows: usize = result.collect_batches()?.iter().map(|batch| batch.len()).sum();
//! assert_eq!(rows, 1);
//! # Ok::<(), vector::Error>(())
//! ```
//!
//! ```text
//! cli      command line      inspect  metadata of files      output  rows as text
//!   \___________________________ engine ____________________________/
//!       sql: text to plan nodes, copy: rows to files (private)   replay: Velox plans
//! exec       plans, expressions, operators, tasks
//! connector_hive                       tables
//! format_parquet, format_text          files
//! dwio, vector                         interfaces, data
//! ```

pub mod cli;
mod copy;
pub mod engine;
pub mod inspect;
pub mod output;
pub mod replay;
mod sql;
mod staging;

pub use engine::{Engine, EngineBuilder, Plan, QueryOptions, QueryResult, ScanRequest};
