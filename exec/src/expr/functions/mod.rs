//! The built-in functions, in folders by domain.
//!
//! A file of functions has a table `FUNCTIONS`, with the name, signatures, typing rule (where the
//! signatures are not sufficient), implementation and flags of each of its functions. A folder lists
//! the tables of its files. A new function is an entry in a table, and a new file is also a line in
//! the list of its folder.
//!
//! | folder | functions |
//! |---|---|
//! | `array/` | arrays |
//! | `cast/` | conversions between types, which the registry does not list |
//! | `comparison/` | comparisons, tests and logic |
//! | `higher_order/` | functions with lambdas |
//! | `map/` | maps, their entries, keys and values |
//! | `math/` | numbers |
//! | `nested/` | functions of more than one of arrays, maps and structs: constructors, access to elements, equality |
//! | `special_forms.rs` | AND, OR, IF, COALESCE and others, which determine what is evaluated |
//! | `string/` | strings and binaries |
//! | `temporal/` | dates, timestamps and intervals |

pub(super) mod array;
pub(super) mod cast;
pub(super) mod comparison;
mod higher_order;
pub(super) mod map;
mod math;
mod nested;
mod special_forms;
mod string;
mod temporal;

use super::registry::{Function, FunctionRegistry};

/// The tables of each folder.
const FOLDERS: &[&[&[Function]]] = &[
    array::FUNCTIONS,
    comparison::FUNCTIONS,
    higher_order::FUNCTIONS,
    map::FUNCTIONS,
    math::FUNCTIONS,
    nested::FUNCTIONS,
    &[special_forms::FUNCTIONS],
    string::FUNCTIONS,
    temporal::FUNCTIONS,
];

impl FunctionRegistry {
    /// Creates a registry of all built-in functions and special forms.
    pub fn builtin() -> Self {
        let mut registry = Self::empty();
        for function in FOLDERS.iter().copied().flatten().copied().flatten() {
            registry.register(function.clone());
        }
        registry
    }
}
