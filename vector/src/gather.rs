//! Copies of rows: selected, flattened or concatenated, always into a vector without wrappers.
//!
//! ```text
//! gather(vector, rows)     wrap, then copy          rows of one vector
//! concat(vectors)          copy one after another   all rows of several vectors
//! flatten(vector)          copy, unless flat        all rows of one vector
//!                \   |   /
//!      copy(type, [DecodedVector])    one kernel per storage kind, children by recursion
//! ```
//!
//! Results are deep copies: the children of arrays and maps contain exactly the entries of the
//! rows, in row order, and null rows have no entries. Only the bytes of long strings may be shared
//! with the source, see [`strings`].

pub mod strings;

use std::ops::Range;

use crate::bitmap::{Bitmap, BitmapMut};
use crate::bits;
use crate::build::VectorBuilder;
use crate::decoded::{DecodedVector, Mapping};
use crate::encoding::{ArrayVector, MapVector, RowVector};
use crate::encoding::{DictionaryVector, FlatType, FlatValues, FlatVector, Vector, VectorRef};
use crate::error::{Error, Result, ResultExt};
use crate::memory::buffer::{Buffer, BufferMut};
use crate::stop::{ROWS_PER_LOOK, check_stop};
use crate::sync::Arc;
use crate::types::{RowType, Timestamp, Type, TypeKind};

/// Returns a copy of the rows `indices` of `vector`, in that order.
///
/// # Errors
/// `Internal` if an index is outside of the vector; the errors of loading lazy vectors; `Limit` if
/// memory is refused; `Cancelled`.
pub fn gather(vector: &VectorRef, indices: &[u32]) -> Result<VectorRef> {
    check_indices(vector.len(), indices)?;
    gather_checked(vector, &Buffer::from_slice(indices))
}

/// Returns a copy of the rows `indices` of a batch, in that order.
///
/// # Errors
/// As [`gather`].
pub fn gather_batch(batch: &RowVector, indices: &[u32]) -> Result<RowVector> {
    check_indices(batch.len(), indices)?;
    let indices = Buffer::from_slice(indices);
    let children = batch.children().iter().map(|child| gather_checked(child, &indices));
    let validity = batch.validity().map(|v| v.gather(&indices));
    RowVector::new(
        Arc::clone(batch.row_type()),
        indices.len(),
        validity,
        children.collect::<Result<_>>()?,
    )
}

/// Returns all rows without wrappers: scalar columns are flat, and so are the children of nested
/// vectors. A vector that already has this form is returned unchanged.
///
/// # Errors
/// The errors of loading lazy vectors; `Limit` if memory is refused; `Cancelled`.
pub fn flatten(vector: &VectorRef) -> Result<VectorRef> {
    if is_flat(vector) {
        return Ok(Arc::clone(vector));
    }
    copy_rows(&DecodedVector::new(vector)?)
}

/// Returns all rows of all vectors, one vector after the other, with the type of the first.
///
/// # Errors
/// `Internal` if there is no vector or the types differ; otherwise as [`flatten`].
pub fn concat(vectors: &[VectorRef]) -> Result<VectorRef> {
    match vectors {
        [] => Err(Error::internal("nothing to concatenate")),
        [one] => flatten(one),
        [first, ..] => concat_as(first.ty(), vectors),
    }
}

/// Returns all rows of all batches as one batch of `row_type`, which has no rows if there are no
/// batches.
///
/// # Errors
/// `Limit` if the number of rows does not fit 32 bits; otherwise as [`concat()`].
pub fn concat_batches(row_type: &Arc<RowType>, batches: &[RowVector]) -> Result<RowVector> {
    let len = rows_of(batches.iter().map(RowVector::len))?;
    let mut children = Vec::with_capacity(row_type.len());
    for (column, ty) in row_type.types().iter().enumerate() {
        let parts = batches.iter().map(|batch| {
            let child = batch.child(column)?;
            Vector::slice(child, 0, batch.len())
        });
        let parts: Vec<VectorRef> = parts.collect::<Result<_>>()?;
        children.push(concat_as(ty, &parts).in_place("concatenated column", column)?);
    }
    let validity = join_validity(batches.iter().map(|b| (b.validity(), b.len())));
    RowVector::new(Arc::clone(row_type), len, validity, children)
}

/// Concatenates as [`concat_batches`] does, but releases the batches column by column: the copy
/// needs no more additional memory than their largest column.
///
/// # Errors
/// As [`concat_batches`].
pub fn concat_into(row_type: &Arc<RowType>, batches: Vec<RowVector>) -> Result<RowVector> {
    let num_rows = rows_of(batches.iter().map(RowVector::len))?;
    let lens: Vec<usize> = batches.iter().map(RowVector::len).collect();
    let validity = join_validity(batches.iter().map(|b| (b.validity(), b.len())));
    let mut columns: Vec<Vec<VectorRef>> = Vec::with_capacity(row_type.len());
    for column in 0..row_type.len() {
        let parts = batches.iter().map(|batch| batch.child(column).cloned());
        columns.push(parts.collect::<Result<_>>()?);
    }
    drop(batches);
    let mut children = Vec::with_capacity(row_type.len());
    for (i, (parts, ty)) in columns.into_iter().zip(row_type.types()).enumerate() {
        let parts = parts.iter().zip(&lens).map(|(part, len)| Vector::slice(part, 0, *len));
        let parts: Vec<VectorRef> = parts.collect::<Result<_>>()?;
        children.push(concat_as(ty, &parts).in_place("concatenated column", i)?);
    }
    RowVector::new(Arc::clone(row_type), num_rows, validity, children)
}

/// Returns the total number of rows of all parts.
///
/// # Errors
/// `Limit` if it does not fit 32 bits, because row numbers have 32 bits everywhere.
fn rows_of(parts: impl Iterator<Item = usize>) -> Result<usize> {
    let num_rows = parts.fold(0usize, usize::saturating_add);
    match u32::try_from(num_rows) {
        Ok(_) => Ok(num_rows),
        Err(_) => {
            let message = "more rows are kept together than 32 bits count";
            Err(Error::limit(message).with("rows", num_rows))
        }
    }
}

/// Returns a copy of all rows of a decoded vector.
pub(crate) fn copy_rows(vector: &DecodedVector) -> Result<VectorRef> {
    copy(vector.ty(), std::slice::from_ref(vector))
}

fn check_indices(num_rows: usize, indices: &[u32]) -> Result<()> {
    match indices.iter().max() {
        Some(max) if *max as usize >= num_rows => {
            Err(Error::internal("a row to copy does not exist")
                .with("row", max)
                .with("rows", num_rows))
        }
        _ => Ok(()),
    }
}

fn gather_checked(vector: &VectorRef, indices: &Buffer<u32>) -> Result<VectorRef> {
    copy_rows(&DecodedVector::new(&Vector::wrap(vector, indices))?)
}

fn concat_as(ty: &Type, vectors: &[VectorRef]) -> Result<VectorRef> {
    if let Some(other) = vectors.iter().find(|v| !v.ty().is_equivalent(ty)) {
        return Err(Error::internal("vectors to concatenate differ in type")
            .with("type", ty)
            .with("other", other.ty()));
    }
    let parts: Vec<DecodedVector> =
        vectors.iter().map(DecodedVector::new).collect::<Result<_>>()?;
    copy(ty, &parts)
}

fn is_flat(vector: &Vector) -> bool {
    match vector {
        Vector::Flat(_) => true,
        Vector::Constant(constant) => constant.ty().kind() == TypeKind::Unknown,
        Vector::Row(row) => row.children().iter().all(|c| c.len() == row.len() && is_flat(c)),
        Vector::Array(array) => is_flat(array.elements()),
        Vector::Map(map) => is_flat(map.keys()) && is_flat(map.values()),
        Vector::Dictionary(_) | Vector::Lazy(_) => false,
    }
}

/// Copies the rows of `parts`, each of type `ty`, one part after the other; the single entry point
/// of all kernels.
fn copy(ty: &Type, parts: &[DecodedVector]) -> Result<VectorRef> {
    let len = rows_of(parts.iter().map(DecodedVector::len))?;
    if u32::try_from(len).is_err() {
        return Err(Error::limit("a vector cannot have so many rows").with("rows", len));
    }
    let validity = join_validity(parts.iter().map(|p| (p.validity(), p.len())));
    macro_rules! fixed {
        ($t:ty) => {
            Vector::Flat(FlatVector::from_buffer::<$t>(
                ty.clone(),
                copy_fixed(parts, len)?,
                validity,
            )?)
        };
    }
    Ok(Arc::new(match (ty.kind(), ty) {
        (TypeKind::Boolean, _) => {
            let values = FlatValues::Boolean(copy_booleans(parts)?);
            Vector::Flat(FlatVector::new(ty.clone(), values, validity)?)
        }
        (TypeKind::TinyInt, _) => fixed!(i8),
        (TypeKind::SmallInt, _) => fixed!(i16),
        (TypeKind::Integer, _) => fixed!(i32),
        (TypeKind::BigInt, _) => fixed!(i64),
        (TypeKind::HugeInt, _) => fixed!(i128),
        (TypeKind::Real, _) => fixed!(f32),
        (TypeKind::Double, _) => fixed!(f64),
        (TypeKind::Timestamp, _) => fixed!(Timestamp),
        (TypeKind::Varchar | TypeKind::Varbinary, _) => {
            let values = FlatValues::String(strings::copy_strings(parts, len)?);
            Vector::Flat(FlatVector::new(ty.clone(), values, validity)?)
        }
        (_, Type::Array(element)) => {
            let (offsets, lengths, [elements]) = copy_spans(parts, len, [element], |base| {
                let array = match base {
                    Vector::Array(array) => array,
                    other => return Err(unexpected(other)),
                };
                Ok(([array.elements()], array.offsets(), array.lengths()))
            })?;
            Vector::Array(ArrayVector::new(offsets, lengths, validity, elements)?)
        }
        (_, Type::Map(key, value)) => {
            let (offsets, lengths, [keys, values]) =
                copy_spans(parts, len, [key, value], |base| {
                    let map = match base {
                        Vector::Map(map) => map,
                        other => return Err(unexpected(other)),
                    };
                    Ok(([map.keys(), map.values()], map.offsets(), map.lengths()))
                })?;
            Vector::Map(MapVector::new(offsets, lengths, validity, keys, values)?)
        }
        (_, Type::Row(row_type)) => Vector::Row(copy_structs(row_type, parts, len, validity)?),
        _ => Vector::nulls(ty.clone(), len),
    }))
}

fn unexpected(base: &Vector) -> Error {
    Error::internal("a vector is stored otherwise than its type").with("type", base.ty())
}

fn join_validity<'a>(
    parts: impl Iterator<Item = (Option<&'a Bitmap>, usize)> + Clone,
) -> Option<Bitmap> {
    if parts.clone().all(|(validity, _)| validity.is_none()) {
        return None;
    }
    let mut joined = BitmapMut::new();
    for (validity, len) in parts {
        match validity {
            Some(validity) => joined.extend_from_words(validity.words(), 0, len),
            None => joined.push_n(true, len),
        }
    }
    joined.freeze_validity()
}

/// Returns the flat values of a part, or `None` if all its rows are null, in which case the base
/// may have any form. Copies of many parts check the stop flag here.
fn values_of(part: &DecodedVector) -> Result<Option<&FlatValues>> {
    check_stop()?;
    match part.flat_values() {
        _ if part.all_null() || part.is_empty() => Ok(None),
        Some(values) => Ok(Some(values)),
        None => Err(unexpected(part.base())),
    }
}

fn copy_fixed<T: FlatType>(parts: &[DecodedVector], len: usize) -> Result<Buffer<T>> {
    let mut out = BufferMut::<T>::new();
    out.try_reserve(len)?;
    for part in parts {
        let start = out.len();
        let Some(values) = values_of(part)? else {
            out.resize(start + part.len(), T::default());
            continue;
        };
        let values = T::unwrap(values).ok_or_else(|| unexpected(part.base()))?;
        match part.mapping() {
            Mapping::Identity => out.extend_from_slice(&values[..part.len()]),
            Mapping::Constant => out.resize(start + part.len(), values[0]),
            Mapping::Indices(indices) => {
                let values = values.as_slice();
                out.resize_unspecified(start + indices.len());
                let slots = out[start..].chunks_mut(ROWS_PER_LOOK);
                for (slots, indices) in slots.zip(indices.chunks(ROWS_PER_LOOK)) {
                    check_stop()?;
                    for (slot, index) in slots.iter_mut().zip(indices) {
                        *slot = values[*index as usize];
                    }
                }
            }
        }
    }
    Ok(out.freeze())
}

fn copy_booleans(parts: &[DecodedVector]) -> Result<Bitmap> {
    let mut out = BitmapMut::new();
    for part in parts {
        let values = match values_of(part)? {
            None => {
                out.push_n(false, part.len());
                continue;
            }
            Some(FlatValues::Boolean(values)) => values,
            Some(_) => return Err(unexpected(part.base())),
        };
        match part.mapping() {
            Mapping::Identity => out.extend_from_words(values.words(), 0, part.len()),
            Mapping::Constant => out.push_n(values.get(0), part.len()),
            Mapping::Indices(indices) => {
                let (indices, words) = (indices.as_slice(), values.words());
                out.extend_from_fn(indices.len(), |i| bits::get(words, indices[i] as usize));
            }
        }
    }
    Ok(out.freeze())
}

/// Calls `f` for every row of a part, with its base row or `None` if the row is null.
#[inline]
fn for_each_row(part: &DecodedVector, mut f: impl FnMut(Option<usize>)) {
    match part.validity() {
        None => (0..part.len()).for_each(|i| f(Some(part.index(i)))),
        Some(validity) => {
            for i in 0..part.len() {
                f(validity.get(i).then(|| part.index(i)));
            }
        }
    }
}

/// Children, offsets and lengths of an array or map vector.
type SpanParts<'a, const N: usize> = ([&'a VectorRef; N], &'a Buffer<u32>, &'a Buffer<u32>);
type CopiedSpans<const N: usize> = (Buffer<u32>, Buffer<u32>, [VectorRef; N]);

/// Copies rows of arrays (`N` = 1) or maps (`N` = 2) with new offsets; the entries of non-null rows
/// are contiguous in the result.
fn copy_spans<const N: usize>(
    parts: &[DecodedVector],
    len: usize,
    types: [&Type; N],
    open: impl for<'a> Fn(&'a Vector) -> Result<SpanParts<'a, N>>,
) -> Result<CopiedSpans<N>> {
    let (mut new_offsets, mut new_lengths) = (BufferMut::new(), BufferMut::new());
    new_offsets.try_reserve(len)?;
    new_lengths.try_reserve(len)?;
    let mut children: [Vec<VectorRef>; N] = std::array::from_fn(|_| Vec::new());
    let mut num_entries: usize = 0;
    for part in parts {
        if part.all_null() || part.is_empty() {
            new_offsets.resize(new_offsets.len() + part.len(), num_entries as u32);
            new_lengths.resize(new_lengths.len() + part.len(), 0);
            continue;
        }
        check_stop()?;
        let (sources, offsets, lengths) = open(part.base())?;
        let mut picked = Picked::for_rows(part, offsets, lengths)?;
        for_each_row(part, |row| {
            let length = row.map_or(0, |i| lengths[i]);
            new_offsets.push(num_entries as u32);
            new_lengths.push(length);
            if let Some(i) = row {
                let start = offsets[i] as usize;
                picked.add(start..start + length as usize);
                num_entries += length as usize;
            }
        });
        if u32::try_from(num_entries).is_err() {
            return Err(
                Error::limit("a vector cannot have so many entries").with("entries", num_entries)
            );
        }
        for (child, entries) in children.iter_mut().zip(picked.of(sources)?) {
            child.push(entries);
        }
    }
    let copied: Vec<VectorRef> =
        types.iter().zip(&children).map(|(ty, c)| concat_as(ty, c)).collect::<Result<_>>()?;
    let copied = <[VectorRef; N]>::try_from(copied)
        .map_err(|_| Error::internal("another number of children than types"))?;
    Ok((new_offsets.freeze(), new_lengths.freeze(), copied))
}

/// Entries to copy: a range while the spans are contiguous, otherwise their positions.
#[derive(Default)]
struct Picked {
    run: Range<usize>,
    /// With room for all of them.
    positions: Option<BufferMut<u32>>,
}

impl Picked {
    /// None yet, with room for the entries of the rows of `part`, of which the entries of a base row stand
    /// where `offsets` and `lengths` say.
    fn for_rows(
        part: &DecodedVector,
        offsets: &Buffer<u32>,
        lengths: &Buffer<u32>,
    ) -> Result<Self> {
        let (mut num_entries, mut end, mut is_run) = (0usize, None, true);
        for_each_row(part, |row| {
            let Some(i) = row.filter(|i| lengths[*i] > 0) else { return };
            let (start, len) = (offsets[i] as usize, lengths[i] as usize);
            is_run &= end.is_none_or(|end| end == start);
            end = Some(start + len);
            num_entries = num_entries.saturating_add(len);
        });
        let mut picked = Picked::default();
        if !is_run {
            let mut positions = BufferMut::new();
            positions.try_reserve(num_entries)?;
            picked.positions = Some(positions);
        }
        Ok(picked)
    }

    fn add(&mut self, span: Range<usize>) {
        match &mut self.positions {
            Some(positions) => positions.extend(span.map(|i| i as u32)),
            None if span.is_empty() => {}
            None if self.run.is_empty() => self.run = span,
            None => self.run.end = span.end,
        }
    }

    fn of<const N: usize>(self, sources: [&VectorRef; N]) -> Result<Vec<VectorRef>> {
        let positions = self.positions.map(BufferMut::freeze);
        let pick = |source| match &positions {
            None => Vector::slice(source, self.run.start, self.run.len()),
            Some(positions) => Ok(Vector::wrap(source, positions)),
        };
        sources.into_iter().map(pick).collect()
    }
}

fn copy_structs(
    row_type: &Arc<RowType>,
    parts: &[DecodedVector],
    len: usize,
    validity: Option<Bitmap>,
) -> Result<RowVector> {
    let mut children: Vec<Vec<VectorRef>> = vec![Vec::with_capacity(parts.len()); row_type.len()];
    for part in parts {
        if part.all_null() || part.is_empty() {
            for (child, ty) in children.iter_mut().zip(row_type.types()) {
                child.push(Arc::new(Vector::nulls(ty.clone(), part.len())));
            }
            continue;
        }
        let row = part.base().as_row()?;
        let rows = match part.mapping() {
            Mapping::Identity => None,
            Mapping::Constant => Some(std::iter::repeat_n(0, part.len()).collect()),
            Mapping::Indices(indices) => Some(indices.clone()),
        };
        for (child, source) in children.iter_mut().zip(row.children()) {
            child.push(match &rows {
                None => Vector::slice(source, 0, part.len())?,
                Some(rows) => wrap_with_nulls(source, rows, part.validity()),
            });
        }
    }
    let fields = row_type.types().iter().zip(&children).map(|(ty, parts)| concat_as(ty, parts));
    RowVector::new(Arc::clone(row_type), len, validity, fields.collect::<Result<_>>()?)
}

fn wrap_with_nulls(source: &VectorRef, rows: &Buffer<u32>, validity: Option<&Bitmap>) -> VectorRef {
    match validity {
        None => Vector::wrap(source, rows),
        Some(validity) => Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(
            Arc::clone(source),
            rows.clone(),
            Some(validity.clone()),
        ))),
    }
}

impl VectorBuilder {
    /// Appends row `row` of `vector`, which must be of the builder's type. It is the typed
    /// counterpart of [`VectorBuilder::push`] for operators that keep a few rows of many batches.
    /// Nested rows are converted to a [`Value`](crate::Value) first; for many of them use
    /// [`gather`] or [`concat()`].
    ///
    /// # Errors
    /// `Internal` if the vector is of another type; otherwise as [`VectorBuilder::push`].
    pub fn push_from(&mut self, vector: &DecodedVector, row: usize) -> Result<()> {
        if vector.is_null(row) {
            self.push_null();
            return Ok(());
        }
        match vector.flat_values() {
            Some(values) => self.push_flat(values, vector.index(row)),
            None => self.push(&vector.value(row)?),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::build::vector_of;
    use crate::error::ErrorKind;
    use crate::memory::{MemoryPool, PoolScope};
    use crate::testing::{values_of, varchars};
    use crate::types::Value;

    #[test]
    fn maps_keep_keys_and_values_together_when_rows_are_picked() {
        let ty = Type::map(Type::Integer, Type::Varchar);
        let pair = |k: i32| (Value::Integer(k), Value::bytes(format!("value number {k:08}")));
        let rows: Vec<Value> = vec![
            Value::Map([pair(1), pair(2)].into()),
            Value::Null,
            Value::Map([].into()),
            Value::Map([pair(3)].into()),
        ];
        let vector = vector_of(&ty, &rows).unwrap();
        let picked = gather(&vector, &[3, 0, 1, 0, 2]).unwrap();
        let expected: Vec<Value> = [3, 0, 1, 0, 2].iter().map(|i| rows[*i].clone()).collect();
        assert_eq!(values_of(&picked), expected);
        assert!(matches!(picked.as_ref(), Vector::Map(map) if map.keys().len() == 5));
    }

    #[test]
    fn a_row_outside_is_an_error_and_nothing_cannot_be_joined() {
        let vector = varchars(&[Some("a")]);
        assert!(gather(&vector, &[0, 1]).is_err());
        assert!(concat(&[]).is_err());
        let other = vector_of(&Type::BigInt, &[Value::BigInt(1)]).unwrap();
        assert!(concat(&[vector, other]).is_err());
    }

    #[test]
    fn batches_without_columns_keep_their_row_counts() {
        let empty = Arc::new(RowType::empty());
        let batch = |len| RowVector::batch(empty.clone(), len, vec![]).unwrap();
        assert_eq!(concat_batches(&empty, &[batch(2), batch(3)]).unwrap().len(), 5);
        assert_eq!(gather_batch(&batch(4), &[3, 3]).unwrap().len(), 2);
    }

    #[test]
    fn a_flat_vector_is_not_copied_and_a_constant_is_expanded() {
        let flat = varchars(&[Some("a"), Some("b")]);
        assert!(Arc::ptr_eq(&flatten(&flat).unwrap(), &flat));
        let constant: VectorRef =
            Vector::constant(Type::BigInt, Value::BigInt(7), 3).unwrap().into();
        let expanded = flatten(&constant).unwrap();
        assert!(
            matches!(expanded.as_ref(), Vector::Flat(v) if v.slice_of::<i64>() == Some(&[7; 3]))
        );
    }

    /// Copies of rows that repeat take far more than their base: the pool is asked for all of it.
    #[test]
    fn copies_of_lists_never_pass_the_limit_of_their_pool() {
        let numbers = |range: std::ops::Range<i64>| range.map(Value::BigInt).collect::<Vec<_>>();
        let list = |n: i64| Value::Array(numbers(n..n + 50).into());
        let map = |n: i64| {
            let pairs = numbers(n..n + 50).into_iter().map(|key| (key, Value::BigInt(n)));
            Value::Map(pairs.collect::<Vec<_>>().into())
        };
        let nested = |n: i64| Value::Array(vec![list(n), list(n + 1)].into());
        let lists = Type::array(Type::BigInt);
        let cases: [(Type, Vec<Value>); 3] = [
            (lists.clone(), (0..4).map(list).collect()),
            (Type::map(Type::BigInt, Type::BigInt), (0..4).map(map).collect()),
            (Type::array(lists), (0..4).map(nested).collect()),
        ];
        for (ty, rows) in cases {
            let base = vector_of(&ty, &rows).unwrap();
            for (stride, num_rows) in [(0, 4_000), (1, 4_000), (3, 4_000), (3, 500)] {
                let indices: Vec<u32> = (0..num_rows).map(|i| i * stride % 4).collect();
                let mut ends = [0, 0];
                for limit in (16..26).map(|bits| 1u64 << bits) {
                    let root = MemoryPool::root("copies", limit);
                    let scope = PoolScope::enter(&root.leaf("copy"));
                    let copied = gather(&base, &indices);
                    ends[usize::from(copied.is_ok())] += 1;
                    if let Err(error) = &copied {
                        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                    }
                    // Small buffers are paid for in portions.
                    let peak = root.peak();
                    assert!(peak <= limit + (64 << 10), "{ty}: {peak} bytes of {limit}");
                    drop((copied, scope));
                    assert_eq!(root.used(), 0);
                }
                assert!(ends.iter().all(|ends| *ends > 0), "{ty}: {ends:?}");
            }
        }
    }
}
