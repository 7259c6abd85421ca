//! Functions of strings and binaries.

pub(super) mod characters;
pub(super) mod concat;
mod encoding;
mod letter_case;
mod like;
mod pad;
pub(super) mod split_replace;

use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] = &[
    characters::FUNCTIONS,
    concat::FUNCTIONS,
    encoding::FUNCTIONS,
    like::FUNCTIONS,
    pad::FUNCTIONS,
    split_replace::FUNCTIONS,
];
