//! What the tests share: the binary run, files written by the Arrow crates, and an oracle.

pub mod command;
pub mod files;
pub mod oracle;
pub mod random;
