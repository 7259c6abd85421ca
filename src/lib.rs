//! A columnar scan engine: Hive tables in Parquet, read selectively.
//!
//! [`Engine`] is the front door: it plans and runs SQL queries and plain scans, and gives the rows
//! batch by batch.

pub mod cli;
pub mod engine;
pub mod inspect;
pub mod output;
mod sql;

pub use engine::{Engine, EngineBuilder, Plan, QueryOptions, QueryResult, ScanRequest};
