//! A columnar scan engine: Hive tables in Parquet, read selectively.
pub mod output;
