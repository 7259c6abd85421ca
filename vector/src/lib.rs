//! Types, values, memory and vectors: the ground floor of Ocior.
//!
//! A **vector** is one column of a batch: a [`Type`](types::Type), a row count and an encoding.
//! A **batch** is a [`RowVector`]. Everything above moves batches, nothing here knows where they
//! come from.

pub mod bits;
pub mod error;
pub mod memory;
pub mod sync;
pub mod types;
pub use error::{Error, ErrorKind, Result, ResultExt};
pub use memory::MemoryPool;
pub use memory::buffer::{Buffer, BufferMut, Native};
pub use types::{Interval, RowType, StringView, TimeUnit, Timestamp, Type, TypeKind, Value};
