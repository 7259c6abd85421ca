//! Casts: conversions between types, and values as text.

mod nested;
mod scalar;
mod value_text;
mod varchar;

pub(in crate::expr) use scalar::bind;
pub use scalar::can_cast;
