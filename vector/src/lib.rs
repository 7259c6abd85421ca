//! Types, values, memory and vectors: the lowest crate of Ocior, on which all others build.
//!
//! A **vector** is one column of a batch: a [`Type`], a row count and an encoding. A **batch** is a
//! [`RowVector`]. All higher crates exchange batches; this crate does not depend on where they come
//! from.
//!
//! ```text
//! error, panics, metrics, sync, cpu, bits   basics that every other module uses
//!        types                    Type, Value, Timestamp, StringView
//!        memory, select           MemoryPool, Buffer; values compressed and expanded by a bitmap
//!        bitmap, rows, encoding   Vector: flat, constant, dictionary, lazy, row, array, map
//!        stop, stoppable_sort, load, decoded, build, compare, hash, gather, check, print, testing
//! ```
//!
//! Each line depends only on the lines above it.

pub mod bitmap;
pub mod bits;
pub mod build;
pub mod check;
pub mod compare;
pub mod cpu;
pub mod decoded;
pub mod encoding;
pub mod error;
mod flat_bytes;
pub mod gather;
pub mod hash;
pub mod load;
pub mod memory;
pub mod metrics;
pub mod panics;
pub mod print;
pub mod rows;
pub mod select;
pub mod stop;
pub mod stoppable_sort;
pub mod sync;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod types;

pub use bitmap::{BitWriter, Bitmap, BitmapMut};
pub use build::{StringBuilder, VectorBuilder};
pub use check::{check, check_batch};
pub use compare::{RowComparator, SortOrder, compare_rows, equal_rows, sorted_rows};
pub use decoded::{DecodedVector, Mapping, ValueReader};
pub use encoding::{
    ArrayVector, ConstantVector, DictionaryVector, Encoding, FlatType, FlatValues, FlatVector,
    LazyLoads, LazyVector, MapVector, RowVector, StringValues, Vector, VectorLoader, VectorRef,
    lazy_loads, measure_lazy_loads,
};
pub use error::{Error, ErrorKind, Result, ResultExt};
pub use gather::{concat, concat_batches, concat_into, flatten, gather, gather_batch};
pub use hash::hash_into;
pub use load::{is_loaded, load_rows};
pub use memory::buffer::{Buffer, BufferMut, Native};
pub use memory::scope::{check_room, current as current_pool};
pub use memory::{Held, MemoryPool, PoolScope, Reclaim};
pub use metrics::{MetricUnit, Metrics, RuntimeMetric};
pub use panics::{catch_panic, ignore_panic};
pub use print::{print_rows, value_text, write_value};
pub use rows::{RowSet, SelectivityVector};
pub use stoppable_sort::stoppable_sort;
pub use types::{Interval, RowType, StringView, TimeUnit, Timestamp, Type, TypeKind, Value};
