//! Functions of maps.

pub(in crate::expr) mod construct;
mod keys_values;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[construct::FUNCTIONS, keys_values::FUNCTIONS];
