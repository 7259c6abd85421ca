//! Functions of numbers.

mod arithmetic;
mod bitwise;
mod decimal;
mod decimal_rounding;
mod elementary;
mod random;
mod result_types;
mod rounding;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[
    arithmetic::FUNCTIONS,
    bitwise::FUNCTIONS,
    elementary::FUNCTIONS,
    random::FUNCTIONS,
    rounding::FUNCTIONS,
];
