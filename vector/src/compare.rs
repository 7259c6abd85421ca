//! Order and equality of rows, regardless of their encodings.
//!
//! The order is that of [`Value::compare`](crate::Value::compare): NaN is a single value above all
//! numbers, -0 equals +0, strings and binaries are compared as unsigned bytes, and nested values
//! entry by entry and then by length. The entries of a map are compared in the order of their keys,
//! so that the order in which a map stores them does not matter (`compare/maps.rs`).
//!
//! ```text
//! sort keys of a batch ---> RowComparator: one closure per column, selected by kind once
//! two rows, once       ---> compare_rows, equal_rows: selected by kind at each call
//! ```
//!
//! Nulls inside nested values are greater than all other values and equal to each other. The
//! position of null keys is given by [`SortOrder`].

mod maps;

use std::cmp::Ordering;
use std::ops::Range;

use crate::bitmap::Bitmap;
use crate::decoded::{DecodedVector, Mapping};
use crate::encoding::{FlatType, FlatValues, StringValues, Vector, VectorRef};
use crate::error::{Error, Result, ResultExt};
use crate::memory::buffer::Buffer;
use crate::stoppable_sort::stoppable_sort;
use crate::sync::Arc;
use crate::types::Timestamp;
use crate::types::value::compare_floats;
use maps::EntryOrder;

/// Direction of one sort key; by default ascending with nulls last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SortOrder {
    /// Whether larger values precede smaller ones; the position of nulls does not depend on it.
    pub descending: bool,
    /// Whether nulls precede all values, in both directions.
    pub nulls_first: bool,
}

type Compare = Box<dyn Fn(usize, usize) -> Ordering + Send + Sync>;

/// Compares rows of two lists of columns, which are decoded once.
///
/// The left and the right columns may be the same (sorting) or those of two batches (merging,
/// joining).
pub struct RowComparator {
    columns: Vec<Compare>,
}

impl RowComparator {
    /// Compares column `c` of `left` with column `c` of `right`, ascending with nulls last. Loads
    /// lazy columns.
    ///
    /// # Errors
    /// `Internal` if the lists differ in length or types; the errors of loading and decoding.
    pub fn new(left: &[VectorRef], right: &[VectorRef]) -> Result<Self> {
        Self::with_orders(left, right, &vec![SortOrder::default(); left.len()])
    }

    /// Compares columns as [`RowComparator::new`] does, with an order per column.
    ///
    /// # Errors
    /// As [`RowComparator::new`].
    pub fn with_orders(
        left: &[VectorRef],
        right: &[VectorRef],
        orders: &[SortOrder],
    ) -> Result<Self> {
        if left.len() != right.len() || left.len() != orders.len() {
            return Err(Error::internal("compared rows differ in their number of columns")
                .with("left", left.len())
                .with("right", right.len())
                .with("orders", orders.len()));
        }
        let columns = left.iter().zip(right).zip(orders).enumerate();
        let columns = columns.map(|(column, ((l, r), order))| {
            let decoded = DecodedVector::new(l)?;
            let other = if Arc::ptr_eq(l, r) { decoded.clone() } else { DecodedVector::new(r)? };
            column_compare(&decoded, &other, *order).in_place("compared column", column)
        });
        Ok(RowComparator { columns: columns.collect::<Result<_>>()? })
    }

    /// Returns the number of columns.
    pub fn num_columns(&self) -> usize {
        self.columns.len()
    }

    /// Compares row `left_row` of the left side with row `right_row` of the right side by one
    /// column.
    ///
    /// # Panics
    /// If the column or a row does not exist.
    #[inline]
    pub fn compare(&self, column: usize, left_row: usize, right_row: usize) -> Ordering {
        (self.columns[column])(left_row, right_row)
    }

    /// Compares two rows by all columns in order; the first difference decides.
    #[inline]
    pub fn compare_all(&self, left_row: usize, right_row: usize) -> Ordering {
        for compare in &self.columns {
            let order = compare(left_row, right_row);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

impl std::fmt::Debug for RowComparator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowComparator({} columns)", self.columns.len())
    }
}

/// Number of rows that are sorted between two checks of the stop flag.
const SORT_CHUNK: usize = 1 << 13;

/// Returns the rows `0..num_rows` in the order of the keys; equal rows keep their relative order.
///
/// # Errors
/// As [`RowComparator::with_orders`]; `Cancelled` if the thread's query is to stop.
pub fn sorted_rows(
    keys: &[VectorRef],
    orders: &[SortOrder],
    num_rows: usize,
) -> Result<Buffer<u32>> {
    let comparator = RowComparator::with_orders(keys, keys, orders)?;
    let mut rows: Vec<u32> = (0..num_rows as u32).collect();
    stoppable_sort(&mut rows, SORT_CHUNK, |a, b| {
        comparator.compare_all(*a as usize, *b as usize).then(a.cmp(b))
    })?;
    Ok(Buffer::from_slice(&rows))
}

/// Compares row `i` of `a` with row `j` of `b`, nulls last.
///
/// Decodes the children of nested values at every call; for many rows use a [`RowComparator`].
///
/// # Errors
/// `Internal` if the types differ; the errors of loading lazy children.
pub fn compare_rows(a: &DecodedVector, i: usize, b: &DecodedVector, j: usize) -> Result<Ordering> {
    match (a.is_null(i), b.is_null(j)) {
        (true, true) => return Ok(Ordering::Equal),
        (true, false) => return Ok(Ordering::Greater),
        (false, true) => return Ok(Ordering::Less),
        (false, false) => {}
    }
    let (i, j) = (a.index(i), b.index(j));
    let children = |x: &VectorRef, y: &VectorRef| -> Result<_> {
        Ok((DecodedVector::new(x)?, DecodedVector::new(y)?))
    };
    match (a.base().as_ref(), b.base().as_ref()) {
        (Vector::Flat(x), Vector::Flat(y)) => compare_flat(x.values(), i, y.values(), j),
        (Vector::Row(x), Vector::Row(y)) if x.children().len() == y.children().len() => {
            for (x, y) in x.children().iter().zip(y.children()) {
                let (x, y) = children(x, y)?;
                let order = compare_rows(&x, i, &y, j)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ok(Ordering::Equal)
        }
        (Vector::Array(x), Vector::Array(y)) => {
            let (left, right) = children(x.elements(), y.elements())?;
            compare_spans(x.span(i), y.span(j), |i, j| compare_rows(&left, i, &right, j))
        }
        (Vector::Map(x), Vector::Map(y)) => {
            Ok(EntryOrder::new(x, y)?.compare(x.span(i), y.span(j)))
        }
        _ => Err(differing_types(a, b)),
    }
}

/// Returns true if row `i` of `a` equals row `j` of `b`; null equals null.
///
/// # Errors
/// As [`compare_rows`].
#[inline]
pub fn equal_rows(a: &DecodedVector, i: usize, b: &DecodedVector, j: usize) -> Result<bool> {
    if let (Some(FlatValues::String(x)), Some(FlatValues::String(y))) =
        (a.flat_values(), b.flat_values())
    {
        let (null, other_null) = (a.is_null(i), b.is_null(j));
        if null || other_null {
            return Ok(null == other_null);
        }
        return Ok(equal_strings(x, a.index(i), y, b.index(j)));
    }
    if let (Vector::Map(x), Vector::Map(y)) = (a.base().as_ref(), b.base().as_ref())
        && !a.is_null(i)
        && !b.is_null(j)
        && x.span(a.index(i)).len() != y.span(b.index(j)).len()
    {
        return Ok(false);
    }
    compare_rows(a, i, b, j).map(Ordering::is_eq)
}

/// Compares two strings for equality. Most unequal strings already differ in their length or their
/// first four bytes.
#[inline]
fn equal_strings(a: &StringValues, i: usize, b: &StringValues, j: usize) -> bool {
    let (x, y) = (a.views()[i], b.views()[j]);
    if x.head() != y.head() {
        return false;
    }
    if x.is_inline() { x == y } else { a.get(i) == b.get(j) }
}

/// Compares two strings as unsigned bytes. Short strings are padded with zeros, the smallest byte,
/// so that different prefixes always decide: a string that ends within the prefix is either a
/// prefix of the other string or differs from it before its end.
#[inline]
fn compare_strings(a: &StringValues, i: usize, b: &StringValues, j: usize) -> Ordering {
    let prefix =
        |values: &StringValues, i: usize| ((values.views()[i].head() >> 32) as u32).swap_bytes();
    prefix(a, i).cmp(&prefix(b, j)).then_with(|| a.get(i).cmp(b.get(j)))
}

/// A fixed-width value with the order of Ocior.
trait Ordered: FlatType {
    fn order(self, other: Self) -> Ordering;
}

macro_rules! ordered {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            #[inline]
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        }
    )* };
}
ordered!(i8, i16, i32, i64, i128, Timestamp);

impl Ordered for f32 {
    #[inline]
    fn order(self, other: Self) -> Ordering {
        compare_floats(f64::from(self), f64::from(other))
    }
}

impl Ordered for f64 {
    #[inline]
    fn order(self, other: Self) -> Ordering {
        compare_floats(self, other)
    }
}

/// Evaluates `$fixed` with both buffers bound if both sides store the same fixed-width type.
macro_rules! match_both {
    ($left:expr, $right:expr, fixed($x:ident, $y:ident) => $fixed:expr,
     boolean($b:ident, $c:ident) => $boolean:expr, string($s:ident, $t:ident) => $string:expr,
     other => $other:expr) => {
        match ($left, $right) {
            (FlatValues::TinyInt($x), FlatValues::TinyInt($y)) => $fixed,
            (FlatValues::SmallInt($x), FlatValues::SmallInt($y)) => $fixed,
            (FlatValues::Integer($x), FlatValues::Integer($y)) => $fixed,
            (FlatValues::BigInt($x), FlatValues::BigInt($y)) => $fixed,
            (FlatValues::HugeInt($x), FlatValues::HugeInt($y)) => $fixed,
            (FlatValues::Real($x), FlatValues::Real($y)) => $fixed,
            (FlatValues::Double($x), FlatValues::Double($y)) => $fixed,
            (FlatValues::Timestamp($x), FlatValues::Timestamp($y)) => $fixed,
            (FlatValues::Boolean($b), FlatValues::Boolean($c)) => $boolean,
            (FlatValues::String($s), FlatValues::String($t)) => $string,
            _ => $other,
        }
    };
}

fn compare_flat(a: &FlatValues, i: usize, b: &FlatValues, j: usize) -> Result<Ordering> {
    Ok(match_both!(
        a,
        b,
        fixed(x, y) => x[i].order(y[j]),
        boolean(x, y) => x.get(i).cmp(&y.get(j)),
        string(x, y) => compare_strings(x, i, y, j),
        other => return Err(Error::internal("compared values differ in their storage"))
    ))
}

fn compare_spans(
    left: Range<usize>,
    right: Range<usize>,
    compare: impl Fn(usize, usize) -> Result<Ordering>,
) -> Result<Ordering> {
    for (i, j) in left.clone().zip(right.clone()) {
        let order = compare(i, j)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(left.len().cmp(&right.len()))
}

fn differing_types(a: &DecodedVector, b: &DecodedVector) -> Error {
    Error::internal("compared columns differ in type").with("left", a.ty()).with("right", b.ty())
}

/// Returns the comparison of two columns, which compares nulls first and then values by kind.
fn column_compare(
    left: &DecodedVector,
    right: &DecodedVector,
    order: SortOrder,
) -> Result<Compare> {
    // If one side has no values, only nulls are compared; the base may then have any form.
    let values: Compare = if left.all_null() || right.all_null() {
        Box::new(|_, _| Ordering::Equal)
    } else {
        value_compare(left, right)?
    };
    let (l, r) = (left.validity().cloned(), right.validity().cloned());
    let SortOrder { descending, nulls_first } = order;
    if l.is_none() && r.is_none() {
        return Ok(if descending { Box::new(move |i, j| values(i, j).reverse()) } else { values });
    }
    let null_order = if nulls_first { Ordering::Less } else { Ordering::Greater };
    let is_null = |v: &Option<Bitmap>, i: usize| v.as_ref().is_some_and(|v| !v.get(i));
    Ok(Box::new(move |i, j| match (is_null(&l, i), is_null(&r, j)) {
        (false, false) if descending => values(i, j).reverse(),
        (false, false) => values(i, j),
        (true, true) => Ordering::Equal,
        (true, false) => null_order,
        (false, true) => null_order.reverse(),
    }))
}

fn value_compare(left: &DecodedVector, right: &DecodedVector) -> Result<Compare> {
    let (lm, rm) = (left.mapping().clone(), right.mapping().clone());
    match (left.base().as_ref(), right.base().as_ref()) {
        (Vector::Flat(l), Vector::Flat(r)) => match_both!(
            l.values(),
            r.values(),
            fixed(x, y) => Ok(fixed_compare(x, lm, y, rm)),
            boolean(x, y) => {
                let (x, y) = (x.clone(), y.clone());
                Ok(Box::new(move |i, j| x.get(lm.index(i)).cmp(&y.get(rm.index(j)))))
            },
            string(x, y) => {
                let (x, y) = (x.clone(), y.clone());
                Ok(Box::new(move |i, j| compare_strings(&x, lm.index(i), &y, rm.index(j))))
            },
            other => Err(differing_types(left, right))
        ),
        (Vector::Row(l), Vector::Row(r)) if l.children().len() == r.children().len() => {
            let fields = l.children().iter().zip(r.children()).map(|(l, r)| child_compare(l, r));
            let columns = RowComparator { columns: fields.collect::<Result<_>>()? };
            Ok(Box::new(move |i, j| columns.compare_all(lm.index(i), rm.index(j))))
        }
        (Vector::Array(l), Vector::Array(r)) => {
            let entries =
                RowComparator { columns: vec![child_compare(l.elements(), r.elements())?] };
            let (l, r) = (l.clone(), r.clone());
            Ok(Box::new(move |i, j| {
                entry_order(l.span(lm.index(i)), r.span(rm.index(j)), &entries)
            }))
        }
        (Vector::Map(l), Vector::Map(r)) => {
            let entries = EntryOrder::new(l, r)?;
            let (l, r) = (l.clone(), r.clone());
            Ok(Box::new(move |i, j| entries.compare(l.span(lm.index(i)), r.span(rm.index(j)))))
        }
        _ => Err(differing_types(left, right)),
    }
}

/// Returns the comparison of two columns of children, nulls last. A vector that is on both sides is
/// decoded once, so that the comparison can detect that both sides are the same.
fn child_compare(left: &VectorRef, right: &VectorRef) -> Result<Compare> {
    let decoded = DecodedVector::new(left)?;
    let other = if Arc::ptr_eq(left, right) { decoded.clone() } else { DecodedVector::new(right)? };
    column_compare(&decoded, &other, SortOrder::default())
}

fn entry_order(left: Range<usize>, right: Range<usize>, entries: &RowComparator) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    left.zip(right)
        .map(|(i, j)| entries.compare_all(i, j))
        .find(|order| order.is_ne())
        .unwrap_or(lengths)
}

fn fixed_compare<T: Ordered>(l: &Buffer<T>, lm: Mapping, r: &Buffer<T>, rm: Mapping) -> Compare {
    let (l, r) = (l.clone(), r.clone());
    match (lm, rm) {
        (Mapping::Identity, Mapping::Identity) => Box::new(move |i, j| l[i].order(r[j])),
        (lm, rm) => Box::new(move |i, j| l[lm.index(i)].order(r[rm.index(j)])),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::build::vector_of;
    use crate::types::{Type, Value};

    fn numbers(values: &[Option<i64>]) -> VectorRef {
        let values: Vec<Value> =
            values.iter().map(|v| v.map_or(Value::Null, Value::BigInt)).collect();
        vector_of(&Type::BigInt, &values).unwrap()
    }

    fn sorted(key: &VectorRef, descending: bool, nulls_first: bool) -> Vec<u32> {
        let order = SortOrder { descending, nulls_first };
        sorted_rows(std::slice::from_ref(key), &[order], key.len()).unwrap().to_vec()
    }

    #[test]
    fn nulls_stand_where_the_order_says_in_both_directions() {
        let key = numbers(&[Some(2), None, Some(1), Some(3)]);
        assert_eq!(sorted(&key, false, false), [2, 0, 3, 1]);
        assert_eq!(sorted(&key, true, false), [3, 0, 2, 1]);
        assert_eq!(sorted(&key, false, true), [1, 2, 0, 3]);
        assert_eq!(sorted(&key, true, true), [1, 3, 0, 2]);
    }

    #[test]
    fn later_columns_decide_between_equal_rows() {
        let keys = [numbers(&[Some(1), Some(1), Some(0)]), numbers(&[Some(5), Some(4), Some(9)])];
        let rows = sorted_rows(&keys, &[SortOrder::default(); 2], 3).unwrap();
        assert_eq!(rows.as_slice(), &[2, 1, 0]);
    }

    #[test]
    fn strings_are_ordered_as_unsigned_bytes_also_within_the_prefix() {
        let texts: [&[u8]; 9] = [
            b"",
            b"\0",
            b"a",
            b"a\0",
            b"ab",
            b"abcd",
            b"abcd and more than inline",
            b"abce",
            b"\xff",
        ];
        let values: Vec<Value> = texts.iter().map(Value::bytes).collect();
        let key = vector_of(&Type::Varbinary, values.iter().rev()).unwrap();
        assert_eq!(sorted(&key, false, false), [8, 7, 6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn columns_of_other_types_are_refused() {
        let text = vector_of(&Type::Varchar, &[Value::bytes("1")]).unwrap();
        let error = RowComparator::new(&[numbers(&[Some(1)])], &[text]).unwrap_err();
        assert_eq!(error.message(), "compared columns differ in type");
        assert!(RowComparator::new(&[], &[numbers(&[])]).is_err());
    }
}
