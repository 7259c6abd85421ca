//! One key column of a group table: the keys of all groups, appended, compared with rows, and
//! output.

use std::ops::Range;

use vector::build::vector_of;
use vector::sync::Arc;
use vector::types::value::compare_floats;
use vector::{
    Bitmap, Buffer, BufferMut, DecodedVector, Error, FlatType, FlatValues, FlatVector, Mapping,
    Result, StringBuilder, StringView, Timestamp, Type, TypeKind, Value, Vector, VectorRef,
};

use super::min_max_by::value_bytes;

/// The keys of all groups in one key column.
#[derive(Debug)]
pub(super) struct KeyColumn {
    ty: Type,
    keys: Keys,
    valid: BufferMut<u8>,
    num_nulls: usize,
    /// Number of bytes that nested values take outside of their slots.
    value_bytes: usize,
}

#[derive(Debug)]
enum Keys {
    Boolean(Vec<bool>),
    TinyInt(BufferMut<i8>),
    SmallInt(BufferMut<i16>),
    Integer(BufferMut<i32>),
    BigInt(BufferMut<i64>),
    HugeInt(BufferMut<i128>),
    Real(BufferMut<f32>),
    Double(BufferMut<f64>),
    Timestamp(BufferMut<Timestamp>),
    /// The bytes of all strings, concatenated; string `i` ends at `ends[i]`.
    Strings {
        bytes: BufferMut<u8>,
        ends: BufferMut<u64>,
    },
    /// Nested values, and values of type UNKNOWN, which are all null.
    Values(Vec<Value>),
}

/// Evaluates `$fixed`, `$boolean` or `$string` with keys and values of the same type, and `$other`
/// otherwise.
macro_rules! match_keys {
    ($keys:expr, $values:expr, fixed($k:ident, $v:ident) => $fixed:expr,
     boolean($b:ident, $c:ident) => $boolean:expr,
     string($bytes:ident, $ends:ident) => $string:expr, other => $other:expr) => {
        match ($keys, $values) {
            (Keys::TinyInt($k), Some(FlatValues::TinyInt($v))) => $fixed,
            (Keys::SmallInt($k), Some(FlatValues::SmallInt($v))) => $fixed,
            (Keys::Integer($k), Some(FlatValues::Integer($v))) => $fixed,
            (Keys::BigInt($k), Some(FlatValues::BigInt($v))) => $fixed,
            (Keys::HugeInt($k), Some(FlatValues::HugeInt($v))) => $fixed,
            (Keys::Real($k), Some(FlatValues::Real($v))) => $fixed,
            (Keys::Double($k), Some(FlatValues::Double($v))) => $fixed,
            (Keys::Timestamp($k), Some(FlatValues::Timestamp($v))) => $fixed,
            (Keys::Boolean($b), Some(FlatValues::Boolean($c))) => $boolean,
            (Keys::Strings { bytes: $bytes, ends: $ends }, Some(FlatValues::String(_))) => $string,
            _ => $other,
        }
    };
}

impl KeyColumn {
    /// Creates a column without keys.
    pub(super) fn new(ty: &Type) -> Self {
        let keys = match ty.kind() {
            TypeKind::Boolean => Keys::Boolean(Vec::new()),
            TypeKind::TinyInt => Keys::TinyInt(BufferMut::new()),
            TypeKind::SmallInt => Keys::SmallInt(BufferMut::new()),
            TypeKind::Integer => Keys::Integer(BufferMut::new()),
            TypeKind::BigInt => Keys::BigInt(BufferMut::new()),
            TypeKind::HugeInt => Keys::HugeInt(BufferMut::new()),
            TypeKind::Real => Keys::Real(BufferMut::new()),
            TypeKind::Double => Keys::Double(BufferMut::new()),
            TypeKind::Timestamp => Keys::Timestamp(BufferMut::new()),
            TypeKind::Varchar | TypeKind::Varbinary => {
                Keys::Strings { bytes: BufferMut::new(), ends: BufferMut::new() }
            }
            TypeKind::Array | TypeKind::Map | TypeKind::Row | TypeKind::Unknown => {
                Keys::Values(Vec::new())
            }
        };
        KeyColumn { ty: ty.clone(), keys, valid: BufferMut::new(), num_nulls: 0, value_bytes: 0 }
    }

    /// Appends row `row` as the key of the next group.
    pub(super) fn push(&mut self, rows: &DecodedVector, row: usize) -> Result<()> {
        if rows.is_null(row) {
            self.push_null();
            return Ok(());
        }
        let index = rows.index(row);
        match_keys!(
            &mut self.keys,
            rows.flat_values(),
            fixed(keys, values) => keys.push(values[index]),
            boolean(keys, values) => keys.push(values.get(index)),
            string(bytes, ends) => {
                let key = rows.string(row);
                if bytes.len() + key.len() > bytes.capacity() {
                    bytes.try_grow(key.len())?;
                }
                bytes.extend_from_slice(key);
                ends.push(bytes.len() as u64);
            },
            other => match &mut self.keys {
                Keys::Values(keys) => {
                    let value = rows.value(row)?;
                    self.value_bytes += value_bytes(&value);
                    keys.push(value);
                }
                _ => {
                    return Err(Error::internal("a key of another type than its column")
                        .with("type", rows.ty())
                        .with("column_type", &self.ty));
                }
            }
        );
        self.valid.push(1);
        Ok(())
    }

    fn push_null(&mut self) {
        match &mut self.keys {
            Keys::Boolean(keys) => keys.push(false),
            Keys::TinyInt(keys) => keys.push(0),
            Keys::SmallInt(keys) => keys.push(0),
            Keys::Integer(keys) => keys.push(0),
            Keys::BigInt(keys) => keys.push(0),
            Keys::HugeInt(keys) => keys.push(0),
            Keys::Real(keys) => keys.push(0.0),
            Keys::Double(keys) => keys.push(0.0),
            Keys::Timestamp(keys) => keys.push(Timestamp::default()),
            Keys::Strings { bytes, ends } => ends.push(bytes.len() as u64),
            Keys::Values(keys) => keys.push(Value::Null),
        }
        self.valid.push(0);
        self.num_nulls += 1;
    }

    /// Returns true when the key of `group` equals row `row`; null equals null.
    #[inline]
    pub(super) fn equals(&self, group: usize, rows: &DecodedVector, row: usize) -> bool {
        let null = rows.is_null(row);
        let valid = self.valid[group] != 0;
        if null || !valid {
            return null != valid;
        }
        let index = rows.index(row);
        match_keys!(
            &self.keys,
            rows.flat_values(),
            fixed(keys, values) => same(keys[group], values[index]),
            boolean(keys, values) => keys[group] == values.get(index),
            string(bytes, ends) => {
                let start = if group == 0 { 0 } else { ends[group - 1] };
                bytes[start as usize..ends[group] as usize] == *rows.string(row)
            },
            other => match &self.keys {
                // A row whose value cannot be read has already been rejected when it was hashed.
                Keys::Values(keys) => rows.value(row).is_ok_and(|value| keys[group] == value),
                _ => false,
            }
        )
    }

    /// Appends to `wrong` the rows whose keys differ from those of their groups.
    pub(super) fn differing(&self, rows: &DecodedVector, groups: &[u32], wrong: &mut Vec<u32>) {
        let plain = self.num_nulls == 0 && rows.validity().is_none();
        match_keys!(
            &self.keys,
            rows.flat_values().filter(|_| plain),
            fixed(keys, values) => match rows.mapping() {
                Mapping::Identity => {
                    for (row, (group, value)) in groups.iter().zip(values.iter()).enumerate() {
                        if !same(keys[*group as usize], *value) {
                            wrong.push(row as u32);
                        }
                    }
                }
                mapping => {
                    for (row, group) in groups.iter().enumerate() {
                        if !same(keys[*group as usize], values[mapping.index(row)]) {
                            wrong.push(row as u32);
                        }
                    }
                }
            },
            boolean(_keys, _values) => self.differing_one_by_one(rows, groups, wrong),
            string(_bytes, _ends) => self.differing_one_by_one(rows, groups, wrong),
            other => self.differing_one_by_one(rows, groups, wrong)
        );
    }

    fn differing_one_by_one(&self, rows: &DecodedVector, groups: &[u32], wrong: &mut Vec<u32>) {
        for (row, group) in groups.iter().enumerate() {
            if !self.equals(*group as usize, rows, row) {
                wrong.push(row as u32);
            }
        }
    }

    /// Returns the keys of some groups as a vector.
    pub(super) fn output(&self, groups: Range<usize>) -> Result<VectorRef> {
        let validity = (self.num_nulls > 0).then(|| {
            self.valid[groups.clone()].iter().map(|valid| *valid != 0).collect::<Bitmap>()
        });
        let ty = self.ty.clone();
        fn flat<T: FlatType>(ty: Type, keys: &[T], validity: Option<Bitmap>) -> Result<FlatVector> {
            FlatVector::from_buffer(ty, Buffer::from_slice(keys), validity)
        }
        let vector = match &self.keys {
            Keys::Boolean(keys) => {
                let bits = keys[groups].iter().copied().collect();
                FlatVector::new(ty, FlatValues::Boolean(bits), validity)?
            }
            Keys::TinyInt(keys) => flat(ty, &keys[groups], validity)?,
            Keys::SmallInt(keys) => flat(ty, &keys[groups], validity)?,
            Keys::Integer(keys) => flat(ty, &keys[groups], validity)?,
            Keys::BigInt(keys) => flat(ty, &keys[groups], validity)?,
            Keys::HugeInt(keys) => flat(ty, &keys[groups], validity)?,
            Keys::Real(keys) => flat(ty, &keys[groups], validity)?,
            Keys::Double(keys) => flat(ty, &keys[groups], validity)?,
            Keys::Timestamp(keys) => flat(ty, &keys[groups], validity)?,
            Keys::Strings { bytes, ends } => {
                let mut strings = StringBuilder::new();
                let mut start = if groups.start == 0 { 0 } else { ends[groups.start - 1] };
                for end in &ends[groups] {
                    strings.push(&bytes[start as usize..*end as usize]);
                    start = *end;
                }
                FlatVector::new(ty, FlatValues::String(strings.finish()?), validity)?
            }
            Keys::Values(keys) => return vector_of(&ty, &keys[groups]),
        };
        Ok(Arc::new(Vector::Flat(vector)))
    }

    /// Reserves capacity for `additional` more keys, except for the bytes of strings.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<()> {
        self.valid.try_reserve(additional)?;
        match &mut self.keys {
            Keys::Boolean(keys) => keys.reserve(additional),
            Keys::TinyInt(keys) => keys.try_reserve(additional)?,
            Keys::SmallInt(keys) => keys.try_reserve(additional)?,
            Keys::Integer(keys) => keys.try_reserve(additional)?,
            Keys::BigInt(keys) => keys.try_reserve(additional)?,
            Keys::HugeInt(keys) => keys.try_reserve(additional)?,
            Keys::Real(keys) => keys.try_reserve(additional)?,
            Keys::Double(keys) => keys.try_reserve(additional)?,
            Keys::Timestamp(keys) => keys.try_reserve(additional)?,
            Keys::Strings { ends, .. } => ends.try_reserve(additional)?,
            Keys::Values(keys) => keys.reserve(additional),
        }
        Ok(())
    }

    /// Returns the number of bytes of the larger buffer to which the bytes of strings would move if
    /// `num_rows` keys of average length were added; 0 when the capacity suffices.
    pub(super) fn bytes_to_grow(&self, num_groups: usize, num_rows: usize) -> usize {
        match &self.keys {
            Keys::Strings { bytes, .. } => {
                let added = (bytes.len() / num_groups.max(1)).saturating_mul(num_rows);
                let is_full = bytes.len().saturating_add(added) > bytes.capacity();
                if is_full { added.max(2 * bytes.capacity()) } else { 0 }
            }
            _ => 0,
        }
    }

    /// Returns the number of bytes of all keys, without the bytes of strings.
    pub(super) fn fixed_bytes(&self) -> usize {
        let width = match &self.keys {
            Keys::Boolean(_) | Keys::TinyInt(_) => 1,
            Keys::SmallInt(_) => 2,
            Keys::Integer(_) | Keys::Real(_) => 4,
            Keys::BigInt(_) | Keys::Double(_) | Keys::Strings { .. } => 8,
            Keys::HugeInt(_) | Keys::Timestamp(_) => 16,
            Keys::Values(_) => size_of::<Value>(),
        };
        self.valid.len() * (width + 1)
    }

    /// Returns the number of bytes of all keys.
    pub(super) fn key_bytes(&self) -> usize {
        match &self.keys {
            Keys::Strings { bytes, ends } => bytes.len() + ends.len() * size_of::<StringView>(),
            Keys::Values(keys) => keys.len() * size_of::<Value>() + self.value_bytes,
            _ => self.valid.len() * size_of::<i128>(),
        }
    }

    /// Returns the number of bytes of memory in use that no memory pool accounts for.
    pub(super) fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Boolean(keys) => keys.capacity(),
            Keys::TinyInt(keys) => keys.unpaid_bytes(),
            Keys::SmallInt(keys) => keys.unpaid_bytes(),
            Keys::Integer(keys) => keys.unpaid_bytes(),
            Keys::BigInt(keys) => keys.unpaid_bytes(),
            Keys::HugeInt(keys) => keys.unpaid_bytes(),
            Keys::Real(keys) => keys.unpaid_bytes(),
            Keys::Double(keys) => keys.unpaid_bytes(),
            Keys::Timestamp(keys) => keys.unpaid_bytes(),
            Keys::Strings { bytes, ends } => bytes.unpaid_bytes() + ends.unpaid_bytes(),
            Keys::Values(keys) => keys.capacity() * size_of::<Value>() + self.value_bytes,
        };
        keys + self.valid.unpaid_bytes()
    }
}

/// Equality in the order of ORDER BY: all NaNs are equal, and -0 equals +0.
trait Same: Copy {
    fn same(self, other: Self) -> bool;
}

macro_rules! exactly_same {
    ($($t:ty),*) => { $(
        impl Same for $t {
            #[inline]
            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    )* };
}
exactly_same!(i8, i16, i32, i64, i128, Timestamp);

impl Same for f32 {
    #[inline]
    fn same(self, other: Self) -> bool {
        compare_floats(f64::from(self), f64::from(other)).is_eq()
    }
}

impl Same for f64 {
    #[inline]
    fn same(self, other: Self) -> bool {
        compare_floats(self, other).is_eq()
    }
}

#[inline]
fn same<T: Same>(a: T, b: T) -> bool {
    a.same(b)
}
