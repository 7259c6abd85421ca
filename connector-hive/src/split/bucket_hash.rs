//! The Hive bucket function, bit for bit (rules S9.1 to S9.7).
//!
//! Each value has a 32-bit hash; null has 0. Hashes of several keys, of elements and of fields are
//! combined by `h * 31 + next`. Those of map entries are combined by a sum, which does not depend
//! on their order. All arithmetic wraps.

use vector::{
    DecodedVector, Error, FlatValues, Mapping, Result, Type, Vector, VectorRef, match_flat,
};

/// Returns the bucket of each row, from 0 to `num_buckets - 1`, computed from the key columns in
/// order (rules S9.5, S9.7).
///
/// # Errors
/// `Unsupported` for a key type without a bucket hash, `Internal` without keys or buckets.
pub(crate) fn buckets(keys: &[VectorRef], num_rows: usize, num_buckets: u32) -> Result<Vec<u32>> {
    if num_buckets == 0 || keys.is_empty() {
        return Err(Error::internal("buckets need keys and at least one bucket")
            .with("keys", keys.len())
            .with("buckets", num_buckets));
    }
    let mut joined = vec![0u32; num_rows];
    for key in keys {
        let hashes = hashes(key)?;
        if hashes.len() < num_rows {
            return Err(Error::internal("a bucket column has fewer rows than its batch"));
        }
        // The first key is combined with 0, which does not change its hash.
        for (joined, hash) in joined.iter_mut().zip(hashes) {
            *joined = join(*joined, hash);
        }
    }
    Ok(joined.into_iter().map(|hash| (hash & 0x7fff_ffff) % num_buckets).collect())
}

/// Returns the hash of each row.
///
/// # Errors
/// `Unsupported` for types for which Hive has no bucket hash.
pub(crate) fn hashes(column: &VectorRef) -> Result<Vec<u32>> {
    check_type(column.ty())?;
    let decoded = DecodedVector::new(column)?;
    let of_base = base_hashes(&decoded)?;
    let is_plain = matches!(decoded.mapping(), Mapping::Identity) && decoded.validity().is_none();
    if is_plain && of_base.len() == decoded.len() {
        return Ok(of_base);
    }
    let hash = |row: usize| match decoded.is_null(row) {
        true => 0,
        false => of_base.get(decoded.index(row)).copied().unwrap_or(0),
    };
    Ok((0..decoded.len()).map(hash).collect())
}

fn check_type(ty: &Type) -> Result<()> {
    let refused = || {
        Err(Error::unsupported("the Hive bucket function does not know this type").with("type", ty))
    };
    match ty {
        Type::HugeInt | Type::Uuid | Type::Interval | Type::Float16 => refused(),
        Type::Decimal { precision, .. } if *precision > vector::types::MAX_SHORT_PRECISION => {
            refused()
        }
        Type::Array(element) => check_type(element),
        Type::Map(key, value) => check_type(key).and_then(|()| check_type(value)),
        Type::Row(row) => row.types().iter().try_for_each(check_type),
        _ => Ok(()),
    }
}

/// Returns the hash of each row of the base; the hash of a null row is unspecified.
fn base_hashes(decoded: &DecodedVector) -> Result<Vec<u32>> {
    Ok(match decoded.base().as_ref() {
        Vector::Flat(flat) => flat_hashes(flat.values()),
        Vector::Array(array) => {
            let elements = hashes(array.elements())?;
            let of_row = |row: usize| match array.is_null(row) {
                true => 0,
                false => array.span(row).fold(0, |h, e| join(h, elements[e])),
            };
            (0..array.len()).map(of_row).collect()
        }
        Vector::Map(map) => {
            let (keys, values) = (hashes(map.keys())?, hashes(map.values())?);
            let of_row = |row: usize| match map.is_null(row) {
                true => 0,
                false => map.span(row).fold(0u32, |h, e| h.wrapping_add(keys[e] ^ values[e])),
            };
            (0..map.len()).map(of_row).collect()
        }
        Vector::Row(row) => {
            let mut joined = vec![0u32; row.len()];
            for child in row.children() {
                for (joined, hash) in joined.iter_mut().zip(hashes(child)?) {
                    *joined = join(*joined, hash);
                }
            }
            joined
        }
        // Any other base consists of nulls only.
        _ => Vec::new(),
    })
}

fn flat_hashes(values: &FlatValues) -> Vec<u32> {
    match_flat!(values,
        fixed(values) => values.iter().map(|v| v.hive_hash()).collect(),
        boolean(bits) => (0..bits.len()).map(|i| u32::from(bits.get(i))).collect(),
        string(strings) => (0..strings.views().len()).map(|i| hash_bytes(strings.get(i))).collect())
}

fn join(hash: u32, next: u32) -> u32 {
    hash.wrapping_mul(31).wrapping_add(next)
}

fn hash_bytes(bytes: &[u8]) -> u32 {
    // Hive treats bytes as signed.
    bytes.iter().fold(0, |h, b| join(h, *b as i8 as i32 as u32))
}

fn fold(bits: u64) -> u32 {
    ((bits >> 32) ^ bits) as u32
}

/// Hash of a value of fixed width. Floats are hashed by their bits, without normalizing zeros or
/// NaN (rule S9.3).
trait HiveHash {
    fn hive_hash(&self) -> u32;
}

macro_rules! hive_hash {
    ($($t:ty => |$v:ident| $hash:expr),* $(,)?) => { $(
        impl HiveHash for $t {
            fn hive_hash(&self) -> u32 {
                let $v = *self;
                $hash
            }
        }
    )* };
}

hive_hash! {
    i8 => |v| v as i32 as u32,
    i16 => |v| v as i32 as u32,
    i32 => |v| v as u32,
    i64 => |v| fold(v as u64),
    // `check_type` has rejected these types.
    i128 => |v| fold(v as u64),
    f32 => |v| v.to_bits(),
    f64 => |v| fold(v.to_bits()),
    vector::Timestamp => |v| fold((v.seconds().wrapping_shl(30) | v.nanos() as i64) as u64),
}

#[cfg(test)]
mod tests;
