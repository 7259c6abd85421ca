//! Comparisons, tests and logic.

mod greatest_least;
pub(in crate::expr) mod logic;
pub(in crate::expr) mod operators;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] =
    &[greatest_least::FUNCTIONS, logic::FUNCTIONS, operators::FUNCTIONS];
