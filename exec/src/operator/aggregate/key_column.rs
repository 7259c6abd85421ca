//! The keys of all groups in one column: appended, compared with rows, given back.

use std::ops::Range;

use vector::build::vector_of;
use vector::sync::Arc;
use vector::types::value::compare_floats;
use vector::{
    Bitmap, Buffer, DecodedVector, Error, FlatType, FlatValues, FlatVector, Mapping, Result,
    StringBuilder, Timestamp, Type, TypeKind, Value, Vector, VectorRef,
};

/// One key column of a group table.
#[derive(Debug)]
pub(super) struct KeyColumn {
    ty: Type,
    keys: Keys,
    valid: Vec<bool>,
    num_nulls: usize,
}

#[derive(Debug)]
enum Keys {
    Boolean(Vec<bool>),
    TinyInt(Vec<i8>),
    SmallInt(Vec<i16>),
    Integer(Vec<i32>),
    BigInt(Vec<i64>),
    HugeInt(Vec<i128>),
    Real(Vec<f32>),
    Double(Vec<f64>),
    Timestamp(Vec<Timestamp>),
    /// All bytes one after the other; string `i` ends at `ends[i]`.
    Strings {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
    /// Nested values, and UNKNOWN, which has only nulls.
    Values(Vec<Value>),
}

/// Runs `$fixed` with keys and values of the same fixed-width type.
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
    /// Without keys.
    pub(super) fn new(ty: &Type) -> Self {
        let keys = match ty.kind() {
            TypeKind::Boolean => Keys::Boolean(Vec::new()),
            TypeKind::TinyInt => Keys::TinyInt(Vec::new()),
            TypeKind::SmallInt => Keys::SmallInt(Vec::new()),
            TypeKind::Integer => Keys::Integer(Vec::new()),
            TypeKind::BigInt => Keys::BigInt(Vec::new()),
            TypeKind::HugeInt => Keys::HugeInt(Vec::new()),
            TypeKind::Real => Keys::Real(Vec::new()),
            TypeKind::Double => Keys::Double(Vec::new()),
            TypeKind::Timestamp => Keys::Timestamp(Vec::new()),
            TypeKind::Varchar | TypeKind::Varbinary => {
                Keys::Strings { bytes: Vec::new(), ends: Vec::new() }
            }
            TypeKind::Array | TypeKind::Map | TypeKind::Row | TypeKind::Unknown => {
                Keys::Values(Vec::new())
            }
        };
        KeyColumn { ty: ty.clone(), keys, valid: Vec::new(), num_nulls: 0 }
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
                bytes.extend_from_slice(rows.string(row));
                ends.push(bytes.len());
            },
            other => match &mut self.keys {
                Keys::Values(keys) => keys.push(rows.value(row)?),
                _ => {
                    return Err(Error::internal("a key of another type than its column")
                        .with("type", rows.ty())
                        .with("column_type", &self.ty));
                }
            }
        );
        self.valid.push(true);
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
            Keys::Strings { bytes, ends } => ends.push(bytes.len()),
            Keys::Values(keys) => keys.push(Value::Null),
        }
        self.valid.push(false);
        self.num_nulls += 1;
    }

    /// True when the key of `group` equals row `row`; null equals null.
    #[inline]
    pub(super) fn equals(&self, group: usize, rows: &DecodedVector, row: usize) -> bool {
        let null = rows.is_null(row);
        if null || !self.valid[group] {
            return null != self.valid[group];
        }
        let index = rows.index(row);
        match_keys!(
            &self.keys,
            rows.flat_values(),
            fixed(keys, values) => same(keys[group], values[index]),
            boolean(keys, values) => keys[group] == values.get(index),
            string(bytes, ends) => {
                let start = if group == 0 { 0 } else { ends[group - 1] };
                bytes[start..ends[group]] == *rows.string(row)
            },
            other => match &self.keys {
                // A row that cannot be looked at was refused when it was hashed.
                Keys::Values(keys) => rows.value(row).is_ok_and(|value| keys[group] == value),
                _ => false,
            }
        )
    }

    /// Appends the rows whose keys are not those of their groups.
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

    /// The keys of some groups.
    pub(super) fn output(&self, groups: Range<usize>) -> Result<VectorRef> {
        let validity = (self.num_nulls > 0)
            .then(|| self.valid[groups.clone()].iter().copied().collect::<Bitmap>());
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
                    strings.push(&bytes[start..*end]);
                    start = *end;
                }
                FlatVector::new(ty, FlatValues::String(strings.finish()?), validity)?
            }
            Keys::Values(keys) => return vector_of(&ty, &keys[groups]),
        };
        Ok(Arc::new(Vector::Flat(vector)))
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Boolean(keys) => keys.capacity(),
            Keys::TinyInt(keys) => keys.capacity(),
            Keys::SmallInt(keys) => keys.capacity() * 2,
            Keys::Integer(keys) => keys.capacity() * 4,
            Keys::BigInt(keys) => keys.capacity() * 8,
            Keys::HugeInt(keys) => keys.capacity() * 16,
            Keys::Real(keys) => keys.capacity() * 4,
            Keys::Double(keys) => keys.capacity() * 8,
            Keys::Timestamp(keys) => keys.capacity() * size_of::<Timestamp>(),
            Keys::Strings { bytes, ends } => bytes.capacity() + ends.capacity() * 8,
            Keys::Values(keys) => keys.capacity() * size_of::<Value>(),
        };
        keys + self.valid.capacity()
    }
}

/// Equality of the order of ORDER BY: all NaNs are one value, -0 is +0.
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
