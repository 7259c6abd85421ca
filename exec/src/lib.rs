//! Plans, expressions, operators and tasks.
pub mod plan;
