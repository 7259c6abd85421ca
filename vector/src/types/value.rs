//! A single value, scalar or nested: literals, partition keys, constants and statistics.
//!
//! A [`Value`] has a storage kind, but no logical type; the type is passed along with it. Batches
//! are never processed as [`Value`]s, which are for data that exists once per query or split.

use crate::sync::Arc;
use std::cmp::Ordering;

use super::{Timestamp, Type, TypeKind};

/// One value of a [`TypeKind`], or null.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Value {
    Null,
    Boolean(bool),
    TinyInt(i8),
    SmallInt(i16),
    Integer(i32),
    BigInt(i64),
    HugeInt(i128),
    Real(f32),
    Double(f64),
    Timestamp(Timestamp),
    /// A VARCHAR or VARBINARY value.
    Bytes(Arc<[u8]>),
    Array(Arc<[Value]>),
    Map(Arc<[(Value, Value)]>),
    Row(Arc<[Value]>),
}

impl Value {
    /// Creates a string or binary value.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Value {
        Value::Bytes(Arc::from(bytes.as_ref()))
    }

    /// Returns true for [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the value as a 64-bit integer if it is stored as an integer of at most 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::TinyInt(v) => Some(v.into()),
            Value::SmallInt(v) => Some(v.into()),
            Value::Integer(v) => Some(v.into()),
            Value::BigInt(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the value as a 128-bit integer if it is stored as an integer.
    pub fn as_i128(&self) -> Option<i128> {
        match *self {
            Value::HugeInt(v) => Some(v),
            _ => self.as_i64().map(i128::from),
        }
    }

    /// Returns the bytes of a string or binary value.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns true if a column of type `ty` can hold this value. Null fits every type.
    pub fn fits(&self, ty: &Type) -> bool {
        match (self, ty) {
            (Value::Null, _) => true,
            (Value::Array(items), Type::Array(element)) => items.iter().all(|v| v.fits(element)),
            (Value::Map(pairs), Type::Map(key, value)) => {
                pairs.iter().all(|(k, v)| k.fits(key) && v.fits(value))
            }
            (Value::Row(fields), Type::Row(row)) => {
                fields.len() == row.len() && fields.iter().zip(row.types()).all(|(v, t)| v.fits(t))
            }
            (scalar, ty) => scalar.scalar_kinds().contains(&ty.kind()),
        }
    }

    fn scalar_kinds(&self) -> &'static [TypeKind] {
        match self {
            Value::Boolean(_) => &[TypeKind::Boolean],
            Value::TinyInt(_) => &[TypeKind::TinyInt],
            Value::SmallInt(_) => &[TypeKind::SmallInt],
            Value::Integer(_) => &[TypeKind::Integer],
            Value::BigInt(_) => &[TypeKind::BigInt],
            Value::HugeInt(_) => &[TypeKind::HugeInt],
            Value::Real(_) => &[TypeKind::Real],
            Value::Double(_) => &[TypeKind::Double],
            Value::Timestamp(_) => &[TypeKind::Timestamp],
            Value::Bytes(_) => &[TypeKind::Varchar, TypeKind::Varbinary],
            Value::Null | Value::Array(_) | Value::Map(_) | Value::Row(_) => &[],
        }
    }

    /// Compares two values in the order of ORDER BY: NaN equals itself and is greater than all
    /// other numbers (rule S2.25), -0 equals +0 (rule S2.26), bytes are compared as unsigned
    /// numbers, and null is the greatest value. Integers of all widths are compared by value; other
    /// values of different kinds are ordered by kind, so that the order is total. The entries of
    /// maps are compared in the order of their keys, not in the order in which they are stored.
    pub fn compare(&self, other: &Value) -> Ordering {
        use Value::*;
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Boolean(a), Boolean(b)) => a.cmp(b),
            (Real(a), Real(b)) => compare_floats(f64::from(*a), f64::from(*b)),
            (Double(a), Double(b)) => compare_floats(*a, *b),
            (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Bytes(a), Bytes(b)) => a.cmp(b),
            (Array(a), Array(b)) | (Row(a), Row(b)) => compare_lists(a, b, Value::compare),
            (Map(a), Map(b)) => compare_maps(a, b),
            (a, b) => match (a.as_i128(), b.as_i128()) {
                (Some(x), Some(y)) => x.cmp(&y),
                _ => a.rank().cmp(&b.rank()),
            },
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Boolean(_) => 0,
            Value::TinyInt(_)
            | Value::SmallInt(_)
            | Value::Integer(_)
            | Value::BigInt(_)
            | Value::HugeInt(_) => 1,
            Value::Real(_) => 2,
            Value::Double(_) => 3,
            Value::Timestamp(_) => 4,
            Value::Bytes(_) => 5,
            Value::Array(_) => 6,
            Value::Map(_) => 7,
            Value::Row(_) => 8,
            Value::Null => 9,
        }
    }
}

/// Compares floats in the order of Ocior: NaN equals itself and is greater than infinity, and -0
/// equals +0.
#[inline]
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compare_lists<T>(a: &[T], b: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Ordering {
    a.iter()
        .zip(b)
        .map(|(x, y)| compare(x, y))
        .find(|o| o.is_ne())
        .unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare_maps(a: &[(Value, Value)], b: &[(Value, Value)]) -> Ordering {
    fn entries(x: &(Value, Value), y: &(Value, Value)) -> Ordering {
        x.0.compare(&y.0).then_with(|| x.1.compare(&y.1))
    }
    if compare_lists(a, b, entries).is_eq() {
        return Ordering::Equal;
    }
    let sorted = |map: &[(Value, Value)]| {
        let mut sorted: Vec<usize> = (0..map.len()).collect();
        sorted.sort_unstable_by(|x, y| entries(&map[*x], &map[*y]));
        sorted
    };
    compare_lists(&sorted(a), &sorted(b), |x, y| entries(&a[*x], &b[*y]))
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other).is_eq()
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nan_is_the_largest_number_and_null_comes_last() {
        let nan = Value::Double(f64::NAN);
        assert_eq!(nan, Value::Double(-f64::NAN));
        assert!(nan > Value::Double(f64::INFINITY));
        assert_eq!(Value::Double(-0.0), Value::Double(0.0));
        assert!(Value::Null > nan);
        assert!(Value::bytes("b") > Value::bytes("aa"));
    }

    #[test]
    fn a_value_fits_the_types_of_its_kind() {
        assert!(Value::Integer(1).fits(&Type::Date));
        assert!(!Value::Integer(1).fits(&Type::BigInt));
        assert!(Value::Null.fits(&Type::Uuid));
        let row = Type::row([("a", Type::BigInt)]);
        assert!(Value::Row(Arc::from([Value::BigInt(1)])).fits(&row));
        assert!(!Value::Row(Arc::from([])).fits(&row));
    }
}
