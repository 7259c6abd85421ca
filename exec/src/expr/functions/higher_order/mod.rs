//! Functions that evaluate lambdas over the elements of arrays and maps.
//!
//! ```text
//! rows   a [1, 2]  b []  c [3]        captured column k
//! elements  1 2 3                     a lambda is evaluated over them once per batch,
//! row of    a a c                     with k as a dictionary over their rows
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `elements.rs` | the elements of the selected rows, and lists of them |
//! | `arrays.rs`, `maps.rs` | transform, filter, matches, zip_with; functions of maps |
//! | `reduce.rs` | reduce: processes the n-th elements of all rows in one step |
//!
//! In typing rules, the type of a lambda is the type of its result. `lambda.rs` evaluates lambdas.
//! Only elements of selected rows are evaluated, so that failures of other rows are not reported.

mod arrays;
mod elements;
mod maps;
mod reduce;

use vector::Type;

use crate::expr::coercion::can_coerce;
use crate::expr::registry::Function;

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] =
    &[arrays::FUNCTIONS, maps::FUNCTIONS, reduce::FUNCTIONS];

/// Returns true when a lambda returns BOOLEAN, or a type that converts to it.
fn is_test(ty: &Type) -> bool {
    can_coerce(ty, &Type::Boolean)
}
