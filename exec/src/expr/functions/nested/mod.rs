//! Functions of more than one of arrays, maps and structs: constructors, access to elements, equality.

pub(super) mod access;
pub(super) mod constructors;
pub(super) mod equality;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[access::FUNCTIONS, constructors::FUNCTIONS];
