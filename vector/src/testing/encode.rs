//! Encodes given rows in a random encoding.
//!
//! All freedom that the invariants of vectors leave is used: arbitrary values in the slots of null
//! rows, indices out of bounds under a dictionary's own nulls, bases with unused rows, array spans
//! out of order and with gaps, children longer than their parents, and a validity without nulls.

use super::random::RandomVectors;
use crate::bitmap::Bitmap;
use crate::build::vector_of;
use crate::encoding::{ArrayVector, MapVector, RowVector};
use crate::encoding::{
    DictionaryVector, FlatValues, FlatVector, LazyVector, StringValues, Vector, VectorLoader,
    VectorRef,
};
use crate::error::Result;
use crate::memory::buffer::Buffer;
use crate::rows::RowSet;
use crate::sync::Arc;
use crate::types::string_view::INLINE_LIMIT;
use crate::types::{RowType, StringView, Type, Value};

/// A loader that already has its rows.
struct Ready(VectorRef);

impl VectorLoader for Ready {
    fn load(self: Box<Self>, _: &RowSet) -> Result<VectorRef> {
        Ok(self.0)
    }
}

impl RandomVectors {
    /// Returns the given rows in a random encoding.
    pub fn encode(&mut self, ty: &Type, values: &[Value]) -> VectorRef {
        let wraps = self.random.below(self.options.max_wraps + 1);
        self.wrapped(ty, values, wraps)
    }

    /// Returns the given rows without a wrapper; the children of nested vectors may be wrapped.
    pub fn encode_flat(&mut self, ty: &Type, values: &[Value]) -> VectorRef {
        self.wrapped(ty, values, 0)
    }

    fn wrapped(&mut self, ty: &Type, values: &[Value], wraps: usize) -> VectorRef {
        if wraps == 0 {
            return self.unwrapped(ty, values);
        }
        if let Some(first) = values.first()
            && values.iter().all(|v| is_same(v, first))
            && self.random.chance(0.7)
        {
            return Vector::constant(ty.clone(), first.clone(), values.len()).unwrap().into();
        }
        if self.options.lazy && self.random.chance(0.2) {
            return self.lazy(ty, values, wraps);
        }
        self.dictionary(ty, values, wraps)
    }

    fn lazy(&mut self, ty: &Type, values: &[Value], wraps: usize) -> VectorRef {
        let mut loaded = values.to_vec();
        if self.random.chance(0.3) {
            loaded.push(self.value(ty));
        }
        let loaded = self.wrapped(ty, &loaded, wraps - 1);
        Arc::new(Vector::Lazy(LazyVector::new(ty.clone(), values.len(), Ready(loaded))))
    }

    fn dictionary(&mut self, ty: &Type, values: &[Value], wraps: usize) -> VectorRef {
        let mut base: Vec<Value> = Vec::new();
        let mut indices = Vec::with_capacity(values.len());
        let mut validity = Vec::with_capacity(values.len());
        let own_nulls = self.random.chance(0.5);
        for value in values {
            if own_nulls && value.is_null() && self.random.chance(0.7) {
                let anything = if self.options.junk_under_nulls { u32::MAX } else { 0 };
                indices.push(anything);
                validity.push(false);
                continue;
            }
            let known = base.iter().position(|b| is_same(b, value));
            let index = known.filter(|_| self.random.chance(0.9)).unwrap_or_else(|| {
                base.push(value.clone());
                base.len() - 1
            });
            indices.push(index as u32);
            validity.push(true);
        }
        for _ in 0..self.random.below(3) {
            base.push(self.value(ty));
        }
        // Shuffles the base rows, so that the indices are not ascending.
        let mut places: Vec<u32> = (0..base.len() as u32).collect();
        self.random.shuffle(&mut places);
        let mut moved = vec![Value::Null; base.len()];
        for (value, place) in base.into_iter().zip(&places) {
            moved[*place as usize] = value;
        }
        let picked: Buffer<u32> =
            indices.iter().map(|i| places.get(*i as usize).copied().unwrap_or(*i)).collect();
        let base = self.wrapped(ty, &moved, wraps - 1);
        let validity = own_nulls.then(|| validity.into_iter().collect());
        Arc::new(Vector::Dictionary(DictionaryVector::new(base, picked, validity).unwrap()))
    }

    fn unwrapped(&mut self, ty: &Type, values: &[Value]) -> VectorRef {
        let vector = match ty {
            Type::Array(element) => Vector::Array(self.array(element, values)),
            Type::Map(key, value) => Vector::Map(self.map(key, value, values)),
            Type::Row(row_type) => Vector::Row(self.row(row_type, values)),
            Type::Unknown => Vector::nulls(ty.clone(), values.len()),
            scalar => self.flat(scalar, values),
        };
        Arc::new(vector)
    }

    /// Returns the validity of the values; it is absent only if no row is null, and not always
    /// then.
    fn validity(&mut self, values: &[Value]) -> Option<Bitmap> {
        let bits: Bitmap = values.iter().map(|v| !v.is_null()).collect();
        if bits.all_ones() && self.random.chance(0.8) { None } else { Some(bits) }
    }

    fn flat(&mut self, ty: &Type, values: &[Value]) -> Vector {
        let validity = self.validity(values);
        let slots: Vec<Value> = values
            .iter()
            .map(|v| match v {
                Value::Null if self.options.junk_under_nulls => self.valid(ty),
                v => v.clone(),
            })
            .collect();
        if matches!(ty, Type::Varchar | Type::Varbinary) {
            let strings = FlatValues::String(self.strings(values));
            return Vector::Flat(FlatVector::new(ty.clone(), strings, validity).unwrap());
        }
        match vector_of(ty, &slots).unwrap().as_ref() {
            Vector::Flat(flat) => {
                let (ty, slots, _) = flat.clone().into_parts();
                Vector::Flat(FlatVector::new(ty, slots, validity).unwrap())
            }
            other => unreachable!("a scalar vector of another form: {other:?}"),
        }
    }

    /// Returns the strings, distributed over several buffers.
    fn strings(&mut self, values: &[Value]) -> StringValues {
        let mut buffers: Vec<Vec<u8>> = vec![Vec::new()];
        let mut views = Vec::with_capacity(values.len());
        for value in values {
            let Some(bytes) = value.as_bytes() else {
                // A view outside of any buffer, which must not be followed under a null.
                let junk = StringView::new(b"longer than a view holds", u32::MAX, u32::MAX);
                let junk_allowed = self.options.junk_under_nulls && self.random.chance(0.5);
                views.push(if junk_allowed { junk } else { StringView::default() });
                continue;
            };
            if bytes.len() <= INLINE_LIMIT {
                views.push(StringView::inline(bytes));
                continue;
            }
            if self.random.chance(0.1) {
                buffers.push(b"unused bytes".to_vec());
            }
            let last = buffers.len() - 1;
            let offset = buffers[last].len() as u32;
            buffers[last].extend_from_slice(bytes);
            views.push(StringView::new(bytes, last as u32, offset));
        }
        let buffers: Vec<Buffer<u8>> = buffers.iter().map(|b| Buffer::from_slice(b)).collect();
        StringValues::new(Buffer::from_slice(&views), buffers)
    }

    fn row(&mut self, row_type: &Arc<RowType>, values: &[Value]) -> RowVector {
        let validity = self.validity(values);
        let longer = usize::from(self.random.chance(0.2));
        let mut children = Vec::with_capacity(row_type.len());
        for (field, ty) in row_type.types().iter().enumerate() {
            let mut column: Vec<Value> = values
                .iter()
                .map(|value| match value {
                    Value::Row(fields) => fields[field].clone(),
                    _ => self.value(ty),
                })
                .collect();
            (0..longer).for_each(|_| column.push(self.value(ty)));
            children.push(self.encode(ty, &column));
        }
        RowVector::new(Arc::clone(row_type), values.len(), validity, children).unwrap()
    }

    fn array(&mut self, element: &Type, values: &[Value]) -> ArrayVector {
        let mut entries: Vec<Value> = Vec::new();
        let (offsets, lengths) = self.place(values, |this, value| {
            match value {
                Some(Value::Array(items)) => entries.extend(items.iter().cloned()),
                // These entries belong to no row.
                _ => entries.push(this.value(element)),
            }
            entries.len()
        });
        let elements = self.encode(element, &entries);
        ArrayVector::new(offsets, lengths, self.validity(values), elements).unwrap()
    }

    fn map(&mut self, key: &Type, value: &Type, values: &[Value]) -> MapVector {
        let (mut keys, mut items): (Vec<Value>, Vec<Value>) = Default::default();
        let (offsets, lengths) = self.place(values, |this, row| {
            match row {
                Some(Value::Map(pairs)) => {
                    keys.extend(pairs.iter().map(|pair| pair.0.clone()));
                    items.extend(pairs.iter().map(|pair| pair.1.clone()));
                }
                _ => {
                    keys.push(this.valid(key));
                    items.push(this.value(value));
                }
            }
            keys.len()
        });
        let (keys, items) = (self.encode(key, &keys), self.encode(value, &items));
        MapVector::new(offsets, lengths, self.validity(values), keys, items).unwrap()
    }

    /// Places the entries of each row, sometimes out of order or after a gap. `append` appends the
    /// entries of a row, or an entry of no row, and returns the number of entries so far.
    fn place(
        &mut self,
        values: &[Value],
        mut append: impl FnMut(&mut Self, Option<&Value>) -> usize,
    ) -> (Buffer<u32>, Buffer<u32>) {
        let mut order: Vec<usize> = (0..values.len()).collect();
        if self.random.chance(0.3) {
            self.random.shuffle(&mut order);
        }
        let gaps = if self.random.chance(0.3) { 0.3 } else { 0.0 };
        let junk = if self.options.junk_under_nulls { u32::MAX } else { 0 };
        let mut spans = vec![(junk, junk); values.len()];
        let mut num_entries = 0;
        for row in order {
            if self.random.chance(gaps) {
                num_entries = append(self, None);
            }
            if !values[row].is_null() {
                let start = num_entries;
                num_entries = append(self, Some(&values[row]));
                spans[row] = (start as u32, (num_entries - start) as u32);
            }
        }
        (spans.iter().map(|s| s.0).collect(), spans.iter().map(|s| s.1).collect())
    }
}

/// Returns true if both values are equal and, for floats, have the same bits: the sign of zero must
/// survive an encoding.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Real(x), Value::Real(y)) => x.to_bits() == y.to_bits(),
        (Value::Double(x), Value::Double(y)) => x.to_bits() == y.to_bits(),
        _ => a == b,
    }
}
