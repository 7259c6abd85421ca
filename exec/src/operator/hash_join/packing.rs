//! Normalized keys: integer key columns packed side by side into one `u64` code.
//!
//! ```text
//! build   minimum and maximum of each key column --> its width in bits
//! row     (a - min a)  <<  bits below  |  (b - min b)      the code; equal keys have equal codes
//! probe   a value outside of the build side's range has no partner: its row has no code
//! ```
//!
//! Dates, times and decimals of up to 18 digits count as integers. A single key of any width fits.

use vector::{Bitmap, DecodedVector, FlatType, FlatValues, Mapping};

/// The bits of one key column in the code.
#[derive(Debug, Clone, Copy)]
struct Place {
    min: i64,
    /// The maximum value minus `min`.
    width: u64,
    shift: u32,
}

/// The mapping from the keys of a row to its code.
#[derive(Debug)]
pub(super) struct Packing {
    places: Vec<Place>,
}

/// The rows that have a code, ascending, with their codes.
#[derive(Debug, Default)]
pub(super) struct Codes {
    pub(super) rows: Vec<u32>,
    pub(super) codes: Vec<u64>,
}

/// Evaluates `$body` with the values of an integer column of any width, and `$other` for other
/// columns.
macro_rules! match_integers {
    ($values:expr, $v:ident => $body:expr, other => $other:expr) => {
        match $values {
            Some(FlatValues::TinyInt($v)) => $body,
            Some(FlatValues::SmallInt($v)) => $body,
            Some(FlatValues::Integer($v)) => $body,
            Some(FlatValues::BigInt($v)) => $body,
            _ => $other,
        }
    };
}

impl Packing {
    /// Returns the packing of `columns`, computed from their rows that are not null. `None` when a
    /// column is not an integer column or when the columns do not fit into 64 bits.
    pub(super) fn of(columns: &[DecodedVector]) -> Option<Self> {
        let mut places = Vec::with_capacity(columns.len());
        let mut shift = 0;
        for column in columns {
            let (min, max) = match_integers!(
                column.flat_values(),
                values => bounds(column, values.as_slice()),
                other => return None
            )
            .unwrap_or((0, 0));
            let width = max.abs_diff(min);
            places.push(Place { min, width, shift });
            shift += 64 - width.leading_zeros();
        }
        (shift <= 64).then_some(Packing { places })
    }

    /// Returns the number of possible codes.
    pub(super) fn num_codes(&self) -> u128 {
        let bits = self.places.last().map_or(0, |last| {
            // The codes of the last column need not fill their bits.
            (u128::from(last.width) + 1) << last.shift
        });
        bits.max(1)
    }

    /// Sets `out` to the codes of a batch's rows. Rows with a null key, or with a value outside of
    /// the build side's range, are omitted.
    pub(super) fn pack(&self, columns: &[DecodedVector], num_rows: usize, out: &mut Codes) {
        out.rows.clear();
        out.codes.clear();
        let mut columns = columns.iter().zip(&self.places);
        match columns.next() {
            None => {
                out.rows.extend(0..num_rows as u32);
                out.codes.resize(num_rows, 0);
            }
            Some((column, place)) => match_integers!(
                column.flat_values(),
                values => first(column, values.as_slice(), place, out),
                // All values are null.
                other => {}
            ),
        }
        for (column, place) in columns {
            match_integers!(
                column.flat_values(),
                values => further(column, values.as_slice(), place, out),
                other => out.truncate(0)
            );
        }
    }
}

impl Codes {
    fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
        self.codes.truncate(len);
    }
}

fn bounds<T: FlatType + Into<i64>>(column: &DecodedVector, values: &[T]) -> Option<(i64, i64)> {
    let valid = (0..column.len()).filter(|row| !column.is_null(*row));
    valid.map(|row| values[column.index(row)].into()).fold(None, |bounds, v: i64| match bounds {
        None => Some((v, v)),
        Some((min, max)) => Some((min.min(v), max.max(v))),
    })
}

/// Computes the codes of the first column; all rows are candidates.
fn first<T: FlatType + Into<i64>>(
    column: &DecodedVector,
    values: &[T],
    place: &Place,
    out: &mut Codes,
) {
    let num_rows = column.len();
    out.rows.resize(num_rows, 0);
    out.codes.resize(num_rows, 0);
    let (rows, codes) = (&mut out.rows[..num_rows], &mut out.codes[..num_rows]);
    let mut found = 0;
    let mut add = |row: usize, value: T, valid: bool| {
        let code = value.into().wrapping_sub(place.min) as u64;
        // The row is always written and kept only if `found` advances: this avoids unpredictable
        // branches.
        rows[found] = row as u32;
        codes[found] = code << place.shift;
        found += usize::from(valid & (code <= place.width));
    };
    match (column.mapping(), column.validity()) {
        (Mapping::Identity, None) => {
            values[..num_rows].iter().enumerate().for_each(|(row, v)| add(row, *v, true));
        }
        (mapping, validity) => {
            for row in 0..num_rows {
                add(row, values[mapping.index(row)], is_valid(validity, row));
            }
        }
    }
    out.truncate(found);
}

/// Adds the codes of a further column; candidates without a code in this column are dropped.
fn further<T: FlatType + Into<i64>>(
    column: &DecodedVector,
    values: &[T],
    place: &Place,
    out: &mut Codes,
) {
    let mut found = 0;
    for i in 0..out.rows.len() {
        let row = out.rows[i];
        let value: i64 = values[column.index(row as usize)].into();
        let code = value.wrapping_sub(place.min) as u64;
        out.rows[found] = row;
        out.codes[found] = out.codes[i] | code.checked_shl(place.shift).unwrap_or(0);
        found += usize::from(is_valid(column.validity(), row as usize) & (code <= place.width));
    }
    out.truncate(found);
}

#[inline]
fn is_valid(validity: Option<&Bitmap>, row: usize) -> bool {
    validity.is_none_or(|v| v.get(row))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::{Type, Value};

    fn column(ty: Type, values: &[Option<i64>]) -> DecodedVector {
        let value = |v: &Option<i64>| match (v, &ty) {
            (None, _) => Value::Null,
            (Some(v), Type::Integer) => Value::Integer(*v as i32),
            (Some(v), _) => Value::BigInt(*v),
        };
        let values: Vec<Value> = values.iter().map(value).collect();
        DecodedVector::new(&vector_of(&ty, &values).unwrap()).unwrap()
    }

    #[test]
    fn rows_with_nulls_or_values_that_the_build_side_has_not_get_no_code() {
        let a = column(Type::BigInt, &[Some(-5), Some(10), None]);
        let b = column(Type::Integer, &[Some(7), Some(7), Some(1_000)]);
        let packing = Packing::of(&[a, b]).unwrap();
        let a = column(Type::BigInt, &[Some(-5), Some(11), None, Some(10), Some(0)]);
        let b = column(Type::Integer, &[Some(7), Some(7), Some(7), Some(1_000), Some(6)]);
        let mut out = Codes::default();
        packing.pack(&[a, b], 5, &mut out);
        assert_eq!(out.rows, [0, 3]);
        assert_eq!(out.codes, [0, 15 | 993 << 4]);
        assert_eq!(packing.num_codes(), 994 << 4);
    }

    #[test]
    fn one_key_of_all_64_bits_fits_and_two_do_not() {
        let wide = column(Type::BigInt, &[Some(i64::MIN), Some(i64::MAX)]);
        let narrow = column(Type::BigInt, &[Some(3), Some(3)]);
        let packing = Packing::of(std::slice::from_ref(&wide)).unwrap();
        assert_eq!(packing.num_codes(), 1 << 64);
        let mut out = Codes::default();
        packing.pack(std::slice::from_ref(&wide), 2, &mut out);
        assert_eq!(out.codes, [0, u64::MAX]);
        // A column with a single distinct value takes no bits.
        let packing = Packing::of(&[wide.clone(), narrow.clone()]).unwrap();
        packing.pack(&[wide.clone(), narrow], 2, &mut out);
        assert_eq!(out.codes, [0, u64::MAX]);
        assert!(Packing::of(&[wide.clone(), wide]).is_none());
    }
}
