//! Splits: how they are made from the files of a table, and what a split specifies about its rows.
//!
//! Files in reading order: `hive_split`, `discovery`, then `synthesized_filters`, `row_id`, `bucket`
//! with `bucket_hash`, and `sample`, which a split reader applies. They use `table` and `plan`.

pub(crate) mod bucket;
pub(crate) mod bucket_hash;
pub(crate) mod discovery;
pub(crate) mod hive_split;
pub(crate) mod row_id;
pub(crate) mod sample;
pub(crate) mod synthesized_filters;
