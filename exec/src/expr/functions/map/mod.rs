//! Functions that construct maps, or arrays of the entries of maps.

pub(in crate::expr) mod construct;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[construct::FUNCTIONS];
