//! Size of the rows of a batch as flat vectors, which operators report as the amount of data they
//! process.
//!
//! The memory that a vector keeps alive may be larger than its rows (a few rows of a large
//! dictionary) or smaller (a constant), so neither measures the amount of data. Lazy columns that
//! are not loaded count as zero bytes.

use crate::encoding::RowVector;
use crate::encoding::{FlatValues, Vector};
use crate::types::{StringView, TypeKind, Value};

impl Vector {
    /// Returns the approximate size in bytes of the rows as a flat vector. Each row of a dictionary
    /// counts as much as an average row of its base.
    pub fn flat_bytes(&self) -> u64 {
        let own = |len: usize, width: usize| (len as u64).saturating_mul(width as u64);
        match self {
            Vector::Flat(v) => match v.values() {
                FlatValues::String(strings) => {
                    let views = strings.views();
                    let texts = views.iter().map(|view| view.len() as u64).sum::<u64>();
                    texts.saturating_add(own(views.len(), size_of::<StringView>()))
                }
                _ => own(v.len(), width_of(v.ty().kind())),
            },
            Vector::Constant(v) => own(v.len(), width_of(v.ty().kind()) + length_of(v.value())),
            Vector::Dictionary(v) => share(v.base().flat_bytes(), v.len(), v.base().len()),
            Vector::Lazy(v) => v
                .loaded_if_ready()
                .map_or(0, |loaded| share(loaded.flat_bytes(), v.len(), loaded.len())),
            Vector::Row(v) => v.flat_bytes(),
            Vector::Array(v) => {
                let elements: u64 = v.lengths().iter().map(|len| u64::from(*len)).sum();
                let below = v.elements();
                own(v.len(), 8) + share_of(below.flat_bytes(), elements, below.len())
            }
            Vector::Map(v) => {
                let entries: u64 = v.lengths().iter().map(|len| u64::from(*len)).sum();
                let below = v.keys().flat_bytes().saturating_add(v.values().flat_bytes());
                own(v.len(), 8) + share_of(below, entries, v.keys().len())
            }
        }
    }
}

impl RowVector {
    /// Returns the approximate size in bytes of the rows as flat vectors.
    pub fn flat_bytes(&self) -> u64 {
        self.children().iter().map(|child| child.flat_bytes()).fold(0, u64::saturating_add)
    }
}

fn share(bytes: u64, len: usize, of: usize) -> u64 {
    share_of(bytes, len as u64, of)
}

fn share_of(bytes: u64, len: u64, of: usize) -> u64 {
    let part = u128::from(bytes) * u128::from(len) / (of as u128).max(1);
    u64::try_from(part).unwrap_or(u64::MAX)
}

fn width_of(kind: TypeKind) -> usize {
    match kind {
        TypeKind::Boolean | TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::Integer | TypeKind::Real => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::HugeInt | TypeKind::Timestamp => 16,
        TypeKind::Varchar | TypeKind::Varbinary => size_of::<StringView>(),
        TypeKind::Array | TypeKind::Map => 8,
        TypeKind::Row | TypeKind::Unknown => 0,
    }
}

fn length_of(value: &Value) -> usize {
    value.as_bytes().map_or(0, <[u8]>::len)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::build::vector_of;
    use crate::memory::buffer::Buffer;
    use crate::types::Type;

    #[test]
    fn rows_count_what_they_would_take_side_by_side() {
        let values = ["a", "bcd"].map(Value::bytes);
        let texts = vector_of(&Type::Varchar, &values).unwrap();
        assert_eq!(texts.flat_bytes(), 16 * 2 + 4);
        let picked = Vector::wrap(&texts, &Buffer::from_slice(&[0, 1, 1, 0]));
        assert_eq!(picked.flat_bytes(), 2 * 36);
        let same = Vector::constant(Type::BigInt, Value::BigInt(7), 100).unwrap();
        assert_eq!(same.flat_bytes(), 800);
        let list = Value::Array([Value::Integer(1), Value::Integer(2)].into());
        let lists = vector_of(&Type::array(Type::Integer), &[list, Value::Null]).unwrap();
        assert_eq!(lists.flat_bytes(), 2 * 8 + 2 * 4);
    }
}
