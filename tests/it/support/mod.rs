//! Helpers that the tests share: running the binary, files written by the Arrow crates, and an
//! oracle.

pub(crate) mod command;
pub(crate) mod encryption;
pub(crate) mod faults;
pub(crate) mod file_parts;
pub(crate) mod files;
pub(crate) mod injection;
pub(crate) mod oracle;
pub(crate) mod pages;
pub(crate) mod random;
pub(crate) mod source;
pub(crate) mod thrift;
