//! Functions of arrays.

mod construct;
mod contains;
pub(super) mod lists;
mod order;
pub(in crate::expr) mod sets;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] =
    &[construct::FUNCTIONS, contains::FUNCTIONS, order::FUNCTIONS, sets::FUNCTIONS];
