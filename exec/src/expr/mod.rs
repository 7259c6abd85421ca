//! Expressions: from [`dwio::expr::TypedExpr`] to vectors.
//!
//! | file | what |
//! |---|---|
//! | `registry.rs` | functions by name, resolution of calls |
//! | `signatures.rs` | the typing rules of the built-in functions |
//! | `coercion.rs` | implicit conversions, common types |

mod coercion;
mod registry;
mod signatures;

pub use coercion::{can_coerce, common_type};
pub use registry::{Function, FunctionRegistry, Resolved, nearest};
