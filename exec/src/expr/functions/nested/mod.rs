//! Constructors and access to the contents of arrays, maps and structs.

pub(super) mod access;
pub(super) mod constructors;
pub(super) mod equality;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[access::FUNCTIONS, constructors::FUNCTIONS];
