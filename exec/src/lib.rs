//! Plans, expressions, operators and tasks.
pub mod expr;
pub mod plan;
