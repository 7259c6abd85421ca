//! Hashes of rows: equal rows have equal hashes, regardless of their encodings.
//!
//! Columns are hashed one after the other into the same array, which has one hash per row. Each
//! column mixes the hash of its value into that of the previous columns, so that a key of several
//! columns requires no copy of its rows:
//!
//! ```text
//! hashes          0        0        0
//! column a   mix(0, a0)  mix(0, a1) ...      one kernel per column
//! column b   mix(.., b0) mix(.., b1) ...
//! ```
//!
//! Equality is that of [`compare_rows`](crate::compare_rows): all NaNs have the same hash, as have
//! -0 and +0, null has a hash of its own, and the hashes of the entries of a map are combined
//! independently of their order. A dictionary whose base is not larger than its number of rows is
//! hashed by entry. The seed is fixed, so hashes are the same in every run and every driver and may
//! determine the partition of a row; they never leave the process.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::fast::FixedState;

use crate::bitmap::Bitmap;
use crate::decoded::{DecodedVector, Mapping};
use crate::encoding::{FlatType, Vector, VectorRef};
use crate::error::{Error, Result};
use crate::gather;
use crate::match_flat;
use crate::types::Timestamp;

const SEED: FixedState = FixedState::with_seed(0x6f63_696f_725f_7631);
const NULL_HASH: u64 = 0x9ae1_6a3b_2f90_404f;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes the hash of every row of `vector` into `hashes`, which has one hash per row.
///
/// # Errors
/// `Internal` if the lengths differ; the errors of loading lazy children and of copying rows.
pub fn hash_into(vector: &DecodedVector, hashes: &mut [u64]) -> Result<()> {
    if vector.len() != hashes.len() {
        return Err(Error::internal("another number of hashes than rows")
            .with("hashes", hashes.len())
            .with("rows", vector.len()));
    }
    if vector.all_null() {
        hashes.iter_mut().for_each(|hash| *hash = mix(*hash, NULL_HASH));
        return Ok(());
    }
    match vector.base().as_ref() {
        Vector::Flat(flat) => match_flat!(
            flat.values(),
            fixed(values) => {
                let values = values.as_slice();
                spread(vector, hashes, |i| values[i].hash_word());
            },
            boolean(values) => spread(vector, hashes, |i| hash_u64(u64::from(values.get(i)))),
            string(values) => spread(vector, hashes, |i| hash_bytes(values.get(i)))
        ),
        Vector::Row(_) | Vector::Array(_) | Vector::Map(_) => return hash_nested(vector, hashes),
        other => {
            return Err(Error::internal("a vector that cannot be hashed").with("type", other.ty()));
        }
    }
    Ok(())
}

/// Returns the hash of a string or binary value as [`hash_into`] computes it, for a key of bytes.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = SEED.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// Combines two hashes; their order matters.
#[inline]
pub fn mix(before: u64, hash: u64) -> u64 {
    let product = u128::from(before.rotate_left(23) ^ hash) * u128::from(MULTIPLIER);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn hash_u64(word: u64) -> u64 {
    let mut hasher = SEED.build_hasher();
    hasher.write_u64(word);
    hasher.finish()
}

#[inline]
fn hash_u128(word: u128) -> u64 {
    let mut hasher = SEED.build_hasher();
    hasher.write_u128(word);
    hasher.finish()
}

/// Mixes the hashes of all rows into `hashes`; `entry` computes the hash of a non-null base row.
#[inline]
fn spread(vector: &DecodedVector, hashes: &mut [u64], entry: impl Fn(usize) -> u64) {
    let num_rows = hashes.len();
    match (vector.mapping(), vector.validity()) {
        (Mapping::Constant, _) => {
            // Constant nulls were handled before, so the one value is not null, but a dictionary
            // around it may have nulls of its own.
            let hash = entry(0);
            for (i, slot) in hashes.iter_mut().enumerate() {
                *slot = mix(*slot, if vector.is_null(i) { NULL_HASH } else { hash });
            }
        }
        (Mapping::Indices(indices), validity) if vector.base().len() <= num_rows => {
            let base_validity = base_validity(vector.base());
            // The slot of a null entry may hold anything, including a view outside of its buffer.
            let hash = |i| match base_validity {
                Some(validity) if !validity.get(i) => NULL_HASH,
                _ => entry(i),
            };
            let entries: Vec<u64> = (0..vector.base().len()).map(hash).collect();
            for (i, (slot, index)) in hashes.iter_mut().zip(indices.iter()).enumerate() {
                let valid = validity.is_none_or(|v| v.get(i));
                *slot = mix(*slot, if valid { entries[*index as usize] } else { NULL_HASH });
            }
        }
        (Mapping::Identity, None) => {
            for (i, slot) in hashes.iter_mut().enumerate() {
                *slot = mix(*slot, entry(i));
            }
        }
        (mapping, validity) => {
            for (i, slot) in hashes.iter_mut().enumerate() {
                let valid = validity.is_none_or(|v| v.get(i));
                *slot = mix(*slot, if valid { entry(mapping.index(i)) } else { NULL_HASH });
            }
        }
    }
}

fn base_validity(base: &Vector) -> Option<&Bitmap> {
    match base {
        Vector::Flat(v) => v.validity(),
        Vector::Row(v) => v.validity(),
        Vector::Array(v) => v.validity(),
        Vector::Map(v) => v.validity(),
        Vector::Constant(_) | Vector::Dictionary(_) | Vector::Lazy(_) => None,
    }
}

/// Hashes all rows of the children first and then combines them into the hashes of their parents.
fn hash_nested(vector: &DecodedVector, hashes: &mut [u64]) -> Result<()> {
    // For a few rows of a large base, a copy of these rows is hashed instead of all children.
    let picked;
    let vector = match vector.mapping() {
        Mapping::Indices(_) if vector.base().len() > vector.len() => {
            picked = DecodedVector::new(&gather::copy_rows(vector)?)?;
            &picked
        }
        _ => vector,
    };
    match vector.base().as_ref() {
        Vector::Row(row) => {
            let mut rows = vec![0; row.len()];
            for child in row.children() {
                let child = Vector::slice(child, 0, row.len())?;
                hash_into(&DecodedVector::new(&child)?, &mut rows)?;
            }
            spread(vector, hashes, |i| rows[i]);
        }
        Vector::Array(array) => {
            let elements = hash_rows(array.elements())?;
            spread(vector, hashes, |i| fold(&elements, array.span(i)));
        }
        Vector::Map(map) => {
            let mut entries = hash_rows(map.keys())?;
            hash_into(&DecodedVector::new(map.values())?, &mut entries)?;
            spread(vector, hashes, |i| sum(&entries, map.span(i)));
        }
        _ => return hash_into(vector, hashes),
    }
    Ok(())
}

fn hash_rows(vector: &VectorRef) -> Result<Vec<u64>> {
    let mut hashes = vec![0; vector.len()];
    hash_into(&DecodedVector::new(vector)?, &mut hashes)?;
    Ok(hashes)
}

fn fold(entries: &[u64], span: Range<usize>) -> u64 {
    let length = hash_u64(span.len() as u64);
    entries[span].iter().fold(length, |before, hash| mix(before, *hash))
}

/// Returns the hash of a map from the hashes of its entries, independent of their stored order.
fn sum(entries: &[u64], span: Range<usize>) -> u64 {
    let length = hash_u64(span.len() as u64);
    entries[span].iter().fold(length, |sum, hash| sum.wrapping_add(*hash))
}

/// A fixed-width value whose hash is the same for equal values.
trait HashWord: FlatType {
    fn hash_word(self) -> u64;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl HashWord for $t {
            #[inline]
            fn hash_word(self) -> u64 {
                hash_u64(i64::from(self) as u64)
            }
        }
    )* };
}
integers!(i8, i16, i32, i64);

impl HashWord for i128 {
    #[inline]
    fn hash_word(self) -> u64 {
        hash_u128(self as u128)
    }
}

impl HashWord for f32 {
    #[inline]
    fn hash_word(self) -> u64 {
        f64::from(self).hash_word()
    }
}

impl HashWord for f64 {
    #[inline]
    fn hash_word(self) -> u64 {
        let one_of_its_equals = match self {
            x if x.is_nan() => f64::NAN,
            // Adding +0 turns -0 into +0 and leaves all other numbers unchanged.
            x => x + 0.0,
        };
        hash_u64(one_of_its_equals.to_bits())
    }
}

impl HashWord for Timestamp {
    #[inline]
    fn hash_word(self) -> u64 {
        hash_u128(u128::from(self.seconds() as u64) << 64 | u128::from(self.nanos()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::build::vector_of;
    use crate::types::{Type, Value};

    fn hashes(ty: &Type, values: &[Value]) -> Vec<u64> {
        hash_rows(&vector_of(ty, values).unwrap()).unwrap()
    }

    #[test]
    fn floats_that_compare_equal_hash_equal() {
        let payload = f64::from_bits(f64::NAN.to_bits() | 7);
        let values = [0.0, -0.0, f64::NAN, -f64::NAN, payload].map(Value::Double);
        let h = hashes(&Type::Double, &values);
        assert_eq!(h[0], h[1]);
        assert!(h[2] == h[3] && h[3] == h[4]);
        assert_ne!(h[0], h[2]);
    }

    #[test]
    fn the_order_of_columns_and_of_elements_counts() {
        let one = vector_of(&Type::BigInt, &[Value::BigInt(1)]).unwrap();
        let two = vector_of(&Type::BigInt, &[Value::BigInt(2)]).unwrap();
        let hash = |columns: [&VectorRef; 2]| {
            let mut hashes = [0];
            for column in columns {
                hash_into(&DecodedVector::new(column).unwrap(), &mut hashes).unwrap();
            }
            hashes[0]
        };
        assert_ne!(hash([&one, &two]), hash([&two, &one]));
        let list = |a, b| Value::Array([Value::BigInt(a), Value::BigInt(b)].into());
        let h = hashes(&Type::array(Type::BigInt), &[list(1, 2), list(2, 1), list(1, 2)]);
        assert_ne!(h[0], h[1]);
        assert_eq!(h[0], h[2]);
    }

    #[test]
    fn small_numbers_do_not_collide() {
        let values: Vec<Value> = (0..20_000).map(Value::BigInt).collect();
        let mut h = hashes(&Type::BigInt, &values);
        h.sort_unstable();
        h.dedup();
        assert_eq!(h.len(), 20_000);
    }
}
