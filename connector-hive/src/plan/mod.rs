//! The plan of a scan, which is made once and is valid for all splits.
//!
//! ```text
//! handles  -- columns -------------->  columns of the scan
//! filters, condition  -- pushdown -->  filters | terms of partitions | sampling | remaining filter
//! both  -- scan_spec, subfields ---->  ScanSpec: columns, subfields and filters of the reader
//! ```
//!
//! Files in reading order: `columns`, `prune`, `pushdown`, `expr_subfields`, `subfields`,
//! `scan_spec`. They use `table` and no other folder of the crate.

pub(crate) mod columns;
pub(crate) mod expr_subfields;
pub(crate) mod prune;
pub(crate) mod pushdown;
pub(crate) mod scan_spec;
pub(crate) mod subfields;
