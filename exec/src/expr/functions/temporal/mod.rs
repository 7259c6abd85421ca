//! Functions of dates, timestamps and intervals.

pub(super) mod calendar;
mod date_arithmetic;
mod date_format;
mod date_trunc;
mod parts;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[
    calendar::FUNCTIONS,
    date_arithmetic::FUNCTIONS,
    date_format::FUNCTIONS,
    date_trunc::FUNCTIONS,
    parts::FUNCTIONS,
];
