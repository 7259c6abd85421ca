//! Sorting by order-preserving prefixes, so that most comparisons are of two integers.
//!
//! Each value of a sort column is turned into 64 bits whose unsigned order is that of the column,
//! direction and nulls included; the first two columns make one number if the first is exact.
//!
//! | values | bits before direction and nulls | exact |
//! |---|---|---|
//! | integers, dates, times, short decimals | value, sign flipped | yes |
//! | 128-bit integers, timestamps in nanoseconds | the same, held at the ends of 64 bits | unless held |
//! | floats | bits made monotone, one NaN, one zero | yes |
//! | booleans | 0, 1 | yes |
//! | strings | the first 8 bytes | no |
//! | nested values | 0 | no |
//!
//! Nulls take the least or greatest number; a value that has it too makes the column inexact.
//! Where a prefix is inexact, equal prefixes are resolved by a [`RowComparator`]. Row numbers come
//! last, so that an unstable sort keeps equal rows in their order.

use vector::stop::{check_stop, stoppable_chunks};
use vector::{
    Buffer, DecodedVector, FlatValues, Mapping, Result, RowComparator, SortOrder, Timestamp,
    VectorRef, stoppable_sort,
};

/// Rows that are sorted between two looks at the stop flag: some milliseconds by their prefixes alone,
const CHUNK: usize = 1 << 18;
/// and where strings or nested values may be compared.
const CHUNK_WITH_TIES: usize = 1 << 13;

/// The prefixes of the rows of a sort column.
#[derive(Debug)]
pub(crate) struct Prefixes {
    pub(crate) values: Vec<u64>,
    /// True when equal prefixes mean equal values.
    pub(crate) exact: bool,
}

/// Returns the prefix of every row of a sort column.
pub(crate) fn prefixes(column: &VectorRef, order: SortOrder) -> Result<Prefixes> {
    let decoded = DecodedVector::new(column)?;
    let mut exact = true;
    let values = match decoded.flat_values() {
        _ if decoded.all_null() => spread(&decoded, order, &mut exact, |_| 0)?,
        Some(FlatValues::TinyInt(v)) => spread(&decoded, order, &mut exact, |i| signed(v[i]))?,
        Some(FlatValues::SmallInt(v)) => spread(&decoded, order, &mut exact, |i| signed(v[i]))?,
        Some(FlatValues::Integer(v)) => spread(&decoded, order, &mut exact, |i| signed(v[i]))?,
        Some(FlatValues::BigInt(v)) => spread(&decoded, order, &mut exact, |i| signed(v[i]))?,
        Some(FlatValues::HugeInt(v)) => {
            exact = v.iter().all(|v| i64::try_from(*v).is_ok());
            spread(&decoded, order, &mut exact, |i| held(v[i]))?
        }
        Some(FlatValues::Timestamp(v)) => {
            exact = v.iter().all(|v| i64::try_from(nanos(*v)).is_ok());
            spread(&decoded, order, &mut exact, |i| held(nanos(v[i])))?
        }
        Some(FlatValues::Real(v)) => spread(&decoded, order, &mut exact, |i| float(v[i].into()))?,
        Some(FlatValues::Double(v)) => spread(&decoded, order, &mut exact, |i| float(v[i]))?,
        Some(FlatValues::Boolean(v)) => spread(&decoded, order, &mut exact, |i| v.get(i).into())?,
        Some(FlatValues::String(v)) => {
            let values = spread(&decoded, order, &mut exact, |i| first_bytes(v.get(i)))?;
            exact = false;
            values
        }
        None => {
            exact = false;
            vec![0; decoded.len()]
        }
    };
    Ok(Prefixes { values, exact })
}

/// Returns the rows `0..num_rows` in the order of the keys; equal rows keep their order.
pub(crate) fn sorted(
    keys: &[VectorRef],
    orders: &[SortOrder],
    num_rows: usize,
) -> Result<Buffer<u32>> {
    let mut firsts = Vec::new();
    for (key, order) in keys.iter().zip(orders).take(2) {
        let first = prefixes(key, *order)?;
        let exact = first.exact;
        firsts.push(first);
        // The next column must not decide after an inexact prefix.
        if !exact {
            break;
        }
    }
    let exact = firsts.len() == keys.len() && firsts.iter().all(|first| first.exact);
    let ties = if exact { None } else { Some(RowComparator::with_orders(keys, keys, orders)?) };
    Ok(match firsts.as_slice() {
        [] => (0..num_rows as u32).collect(),
        [only] => by_prefix(num_rows, |row| only.values[row], ties.as_ref())?,
        [first, second, ..] => {
            let both =
                |row: usize| (u128::from(first.values[row]) << 64) | u128::from(second.values[row]);
            by_prefix(num_rows, both, ties.as_ref())?
        }
    })
}

fn by_prefix<P: Ord + Copy>(
    num_rows: usize,
    prefix: impl Fn(usize) -> P,
    ties: Option<&RowComparator>,
) -> Result<Buffer<u32>> {
    let mut rows: Vec<(P, u32)> = Vec::with_capacity(num_rows);
    for chunk in stoppable_chunks(num_rows) {
        rows.extend(chunk?.map(|row| (prefix(row), row as u32)));
    }
    match ties {
        None => stoppable_sort(&mut rows, CHUNK, Ord::cmp)?,
        Some(ties) => stoppable_sort(&mut rows, CHUNK_WITH_TIES, |a, b| {
            let by_ties = || ties.compare_all(a.1 as usize, b.1 as usize);
            a.0.cmp(&b.0).then_with(by_ties).then(a.1.cmp(&b.1))
        })?,
    }
    check_stop()?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Returns the prefixes of all rows, given those of the base rows.
#[inline]
fn spread(
    decoded: &DecodedVector,
    order: SortOrder,
    exact: &mut bool,
    of: impl Fn(usize) -> u64,
) -> Result<Vec<u64>> {
    let direction = if order.descending { u64::MAX } else { 0 };
    let of = |row: usize| of(row) ^ direction;
    let mut values: Vec<u64> = match decoded.mapping() {
        _ if decoded.all_null() => vec![0; decoded.len()],
        Mapping::Constant => vec![of(0); decoded.len()],
        mapping => {
            let mut values = Vec::with_capacity(decoded.len());
            for chunk in stoppable_chunks(decoded.len()) {
                let chunk = chunk?;
                match mapping {
                    Mapping::Indices(indices) => {
                        values.extend(indices[chunk].iter().map(|row| of(*row as usize)));
                    }
                    _ => values.extend(chunk.map(&of)),
                }
            }
            values
        }
    };
    if let Some(validity) = decoded.validity() {
        let null = if order.nulls_first { 0 } else { u64::MAX };
        for chunk in stoppable_chunks(values.len()) {
            for row in chunk? {
                let value = &mut values[row];
                if validity.get(row) {
                    *exact &= *value != null;
                } else {
                    *value = null;
                }
            }
        }
    }
    Ok(values)
}

#[inline]
fn signed(value: impl Into<i64>) -> u64 {
    (value.into() ^ i64::MIN) as u64
}

#[inline]
fn held(value: i128) -> u64 {
    signed(value.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

#[inline]
fn nanos(value: Timestamp) -> i128 {
    i128::from(value.seconds()) * 1_000_000_000 + i128::from(value.nanos())
}

#[inline]
fn float(value: f64) -> u64 {
    let bits = if value.is_nan() {
        f64::NAN.to_bits() & !(1 << 63)
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    };
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

#[inline]
fn first_bytes(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    u64::from_be_bytes(first)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::sync::Arc;
    use vector::{Type, Value, Vector, sorted_rows};

    fn columns() -> Vec<VectorRef> {
        let of = |ty: Type, values: Vec<Value>| {
            let mut cycle = vec![Value::Null];
            cycle.extend(values);
            let base = vector_of(&ty, &cycle).unwrap();
            let len = cycle.len() as u32;
            Vector::wrap(&base, &(0..60).map(|i| i * 7 % len).collect())
        };
        let doubles = [0.0, -0.0, 1.5, -1.5, f64::NAN, -f64::NAN, f64::INFINITY, f64::MIN];
        let huge = [0, 1, -1, i128::MAX, i128::MIN, 1 << 70, i64::MAX.into(), i64::MIN.into()];
        let times = [(0, 0), (0, 1), (-1, 999), (1 << 40, 5), (1 << 40, 4), (-(1 << 40), 0)];
        let words = ["", "a", "a\0", "abcdefgh", "abcdefghi", "abcdefgi", "\u{ff}"];
        vec![
            of(Type::BigInt, [0, i64::MIN, i64::MAX, -5, 5].map(Value::BigInt).to_vec()),
            of(Type::TinyInt, [0, -128, 127, 3].map(Value::TinyInt).to_vec()),
            of(Type::HugeInt, huge.map(Value::HugeInt).to_vec()),
            of(Type::Double, doubles.map(Value::Double).to_vec()),
            of(Type::Real, [0.5, -0.5, f32::NAN].map(Value::Real).to_vec()),
            of(Type::Boolean, [true, false].map(Value::Boolean).to_vec()),
            of(Type::Varchar, words.map(Value::bytes).to_vec()),
            of(
                Type::Timestamp,
                times.map(|(s, n)| Value::Timestamp(Timestamp::new(s, n))).to_vec(),
            ),
            Arc::new(Vector::nulls(Type::Integer, 60)),
            of(
                Type::array(Type::Integer),
                [3, 1, 2].map(|v| Value::Array([Value::Integer(v)].into())).to_vec(),
            ),
        ]
    }

    #[test]
    fn rows_are_in_the_order_that_comparing_them_gives() {
        let columns = columns();
        for (descending, nulls_first) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let orders = [SortOrder { descending, nulls_first }, SortOrder::default()];
            for a in &columns {
                let one = std::slice::from_ref(a);
                let naive = sorted_rows(one, &orders[..1], 60).unwrap();
                assert_eq!(sorted(one, &orders[..1], 60).unwrap().as_slice(), naive.as_slice());
                for b in &columns {
                    let two = [Arc::clone(a), Arc::clone(b)];
                    let naive = sorted_rows(&two, &orders, 60).unwrap();
                    assert_eq!(sorted(&two, &orders, 60).unwrap().as_slice(), naive.as_slice());
                }
            }
        }
        let three = [&columns[5], &columns[8], &columns[6]].map(Arc::clone);
        let orders = [SortOrder::default(); 3];
        let naive = sorted_rows(&three, &orders, 60).unwrap();
        assert_eq!(sorted(&three, &orders, 60).unwrap().as_slice(), naive.as_slice());
    }
}
