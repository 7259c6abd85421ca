//! Decodes the blocks of a page into vectors.
//!
//! ```text
//! fixed width     rows, nulls, values of the rows that are not null
//! VARIABLE_WIDTH  rows, an end offset for each row, nulls, bytes
//! ARRAY           elements, rows, rows + 1 offsets, nulls
//! MAP             keys, values, a hash table or -1, rows, rows + 1 offsets, nulls
//! ROW             rows, nulls, fields of the rows that are not null
//! RLE             rows, a block of one row
//! DICTIONARY      rows, a block, an index for each row, an id
//!
//! nulls           0, or 1 and a bit for each row, the most significant bit first
//! ```
//!
//! In traces the nulls of structs are before the fields; in pages of Presto's wire protocol they
//! are after the fields.

use dwio::input::cursor::Cursor;
use vector::sync::Arc;
use vector::{
    ArrayVector, Bitmap, BitmapMut, Buffer, DecodedVector, DictionaryVector, Error, FlatType,
    FlatValues, FlatVector, Interval, MapVector, Result, ResultExt, RowType, RowVector,
    StringBuilder, Timestamp, Type, TypeKind, Vector, VectorRef, gather,
};

use super::super::values::interval;

/// Maximum number of rows of a block that stores no bytes for them.
const MAX_ROWS: usize = 1 << 24;
/// Maximum nesting depth of blocks.
const MAX_DEPTH: usize = 64;
/// Maximum number of bytes of a string, so that offsets into its buffer fit 32 bits.
const MAX_STRING_BYTES: usize = 1 << 30;
/// Number of bytes of the id after the indices of a dictionary.
const DICTIONARY_ID_BYTES: usize = 24;

/// Decodes the body of a page after decompression.
pub(super) fn read_body(
    body: &[u8],
    row_type: &Arc<RowType>,
    num_rows: usize,
) -> Result<RowVector> {
    let mut blocks = Blocks { cursor: Cursor::new(body), depth: 0 };
    let num_columns = blocks.count()?;
    if num_columns != row_type.len() {
        return Err(differs(
            "a page has other columns than the plan says",
            row_type.len(),
            num_columns,
        ));
    }
    if num_columns == 0 && num_rows > MAX_ROWS {
        return Err(Error::limit("a page has too many rows").with("rows", num_rows));
    }
    let mut columns = Vec::with_capacity(num_columns);
    for (name, ty) in row_type.fields() {
        let column = blocks.block(ty).in_named("column", name)?;
        if column.len() != num_rows {
            let error = differs("a column has other rows than its page", num_rows, column.len());
            return Err(error).in_named("column", name);
        }
        columns.push(column);
    }
    match blocks.cursor.remaining() {
        0 => RowVector::batch(Arc::clone(row_type), num_rows, columns),
        rest => Err(Error::corrupt("a page has bytes behind its columns").with("bytes", rest)),
    }
}

#[cold]
fn differs(what: &'static str, expected: usize, found: usize) -> Error {
    Error::corrupt(what).with("expected", expected).with("found", found)
}

struct Blocks<'a> {
    cursor: Cursor<'a>,
    depth: usize,
}

impl<'a> Blocks<'a> {
    fn int(&mut self) -> Result<i32> {
        self.cursor.take_array().map(i32::from_le_bytes)
    }

    fn count(&mut self) -> Result<usize> {
        let at = self.cursor.position();
        let count = self.int()?;
        usize::try_from(count).map_err(|_| {
            Error::corrupt("a count is negative").with("offset", at).with("found", count)
        })
    }

    fn bytes(&mut self, count: usize, width: usize) -> Result<&'a [u8]> {
        self.cursor.take(count.saturating_mul(width))
    }

    fn ints(&mut self, count: usize) -> Result<Vec<i32>> {
        let (ints, _) = self.bytes(count, 4)?.as_chunks::<4>();
        Ok(ints.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
    }

    fn block(&mut self, ty: &Type) -> Result<VectorRef> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::corrupt("blocks are nested too deep").with("max", MAX_DEPTH));
        }
        let at = self.cursor.position();
        let len = self.count()?;
        let name = self.cursor.take(len)?;
        let vector = match (name, ty.kind()) {
            (b"RLE", _) => self.run(ty)?,
            (b"DICTIONARY", _) => self.dictionary(ty)?,
            (b"BYTE_ARRAY", TypeKind::Boolean) => self.booleans(ty)?,
            (b"BYTE_ARRAY", TypeKind::TinyInt) => self.fixed(ty, i8::from_le_bytes)?,
            (b"BYTE_ARRAY", TypeKind::Unknown) => self.all_null(ty)?,
            (b"SHORT_ARRAY", TypeKind::SmallInt) => self.fixed(ty, i16::from_le_bytes)?,
            (b"INT_ARRAY", TypeKind::Integer) => self.fixed(ty, i32::from_le_bytes)?,
            (b"INT_ARRAY", TypeKind::Real) => self.fixed(ty, f32::from_le_bytes)?,
            (b"LONG_ARRAY", TypeKind::BigInt) => self.fixed(ty, i64::from_le_bytes)?,
            (b"LONG_ARRAY", TypeKind::Double) => self.fixed(ty, f64::from_le_bytes)?,
            (b"LONG_ARRAY", TypeKind::Timestamp) => self.fixed(ty, timestamp)?,
            (b"LONG_ARRAY" | b"INT_ARRAY", TypeKind::HugeInt) if *ty == Type::Interval => {
                self.intervals(ty, name == b"INT_ARRAY")?
            }
            (b"INT128_ARRAY", TypeKind::HugeInt) => self.fixed(ty, sign_and_magnitude)?,
            (b"VARIABLE_WIDTH", TypeKind::Varchar | TypeKind::Varbinary) => self.strings(ty)?,
            (b"ARRAY", _) if let Type::Array(element) = ty => self.array(element)?,
            (b"MAP", _) if let Type::Map(key, value) = ty => self.map(key, value)?,
            (b"ROW", _) if let Type::Row(row) = ty => self.row(row)?,
            _ => {
                return Err(Error::corrupt("a block does not hold the column's type")
                    .with("offset", at)
                    .with("expected", ty)
                    .with("found", String::from_utf8_lossy(name)));
            }
        };
        self.depth -= 1;
        Ok(Arc::new(vector))
    }

    /// Reads which of `count` rows are not null; `None` when all are.
    fn validity(&mut self, count: usize) -> Result<Option<Bitmap>> {
        let at = self.cursor.position();
        match self.cursor.u8()? {
            0 => Ok(None),
            1 => {
                let bits = self.cursor.take(count.div_ceil(8))?;
                let is_valid = |row: usize| {
                    bits.get(row / 8).is_some_and(|byte| byte & (0x80 >> (row % 8)) == 0)
                };
                let mut validity = BitmapMut::new();
                validity.extend_from_fn(count, is_valid);
                Ok(Some(validity.freeze()))
            }
            other => Err(Error::corrupt("the mark of nulls is neither 0 nor 1")
                .with("offset", at)
                .with("found", other)),
        }
    }

    /// Reads the values of the rows that are not null, each `N` bytes wide, and which rows these
    /// are.
    fn present<const N: usize>(&mut self) -> Result<Present<'a, N>> {
        let count = self.count()?;
        let validity = self.validity(count)?;
        let num_present = validity.as_ref().map_or(count, Bitmap::count_ones);
        let (values, _) = self.bytes(num_present, N)?.as_chunks::<N>();
        Ok(Present { count, validity, values })
    }

    fn fixed<const N: usize, T: FlatType + Default>(
        &mut self,
        ty: &Type,
        decode: impl Fn([u8; N]) -> T,
    ) -> Result<Vector> {
        let Present { count, validity, values } = self.present::<N>()?;
        let values = spread(count, validity.as_ref(), values.iter().map(|bytes| decode(*bytes)));
        FlatVector::from_buffer(ty.clone(), values, validity).map(Vector::Flat)
    }

    fn booleans(&mut self, ty: &Type) -> Result<Vector> {
        let Present { count, validity, values } = self.present::<1>()?;
        let values = values.iter().map(|[byte]| i8::from(*byte != 0));
        let bytes = spread(count, validity.as_ref(), values);
        let mut bits = BitmapMut::new();
        bits.extend_from_fn(count, |row| bytes.get(row).is_some_and(|byte| *byte != 0));
        FlatVector::new(ty.clone(), FlatValues::Boolean(bits.freeze()), validity).map(Vector::Flat)
    }

    /// Reads a column whose type has no values: values that are present are an error.
    fn all_null(&mut self, ty: &Type) -> Result<Vector> {
        let Present { count, values, .. } = self.present::<1>()?;
        match values.len() {
            0 => Ok(Vector::nulls(ty.clone(), count)),
            found => Err(differs("a column of nulls has values", 0, found)),
        }
    }

    /// Reads intervals, which are 64-bit milliseconds or 32-bit months.
    fn intervals(&mut self, ty: &Type, are_months: bool) -> Result<Vector> {
        let (count, validity, amounts) = if are_months {
            let Present { count, validity, values } = self.present::<4>()?;
            let amounts = values.iter().map(|v| i64::from(i32::from_le_bytes(*v))).collect();
            (count, validity, amounts)
        } else {
            let Present { count, validity, values } = self.present::<8>()?;
            let amounts: Vec<i64> = values.iter().map(|v| i64::from_le_bytes(*v)).collect();
            (count, validity, amounts)
        };
        let stored = amounts.iter().map(|v| interval(*v, are_months).map(Interval::to_stored));
        let stored = stored.collect::<Result<Vec<i128>>>()?;
        let values = spread(count, validity.as_ref(), stored.into_iter());
        FlatVector::from_buffer(ty.clone(), values, validity).map(Vector::Flat)
    }

    fn strings(&mut self, ty: &Type) -> Result<Vector> {
        let count = self.count()?;
        let ends = self.ints(count)?;
        let validity = self.validity(count)?;
        let total = self.count()?;
        let text = self.cursor.take(total)?;
        let mut strings = StringBuilder::new();
        let mut start = 0;
        for (row, end) in ends.into_iter().enumerate() {
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            let string = text.get(start..end).filter(|s| s.len() < MAX_STRING_BYTES);
            let string = string.ok_or_else(|| {
                Error::corrupt("the ends of strings do not rise within their bytes")
                    .with("row", row)
                    .with("start", start)
                    .with("end", end)
                    .with("bytes", total)
            })?;
            strings.push(string);
            start = end;
        }
        let values = FlatValues::String(strings.finish()?);
        FlatVector::new(ty.clone(), values, validity).map(Vector::Flat)
    }

    fn array(&mut self, element: &Type) -> Result<Vector> {
        let elements = self.block(element)?;
        let (offsets, lengths, validity) = self.spans(elements.len())?;
        ArrayVector::new(offsets, lengths, validity, elements).map(Vector::Array)
    }

    fn map(&mut self, key: &Type, value: &Type) -> Result<Vector> {
        let (keys, values) = (self.block(key)?, self.block(value)?);
        if keys.len() != values.len() {
            return Err(differs("a map has other values than keys", keys.len(), values.len()));
        }
        // The hash table of the keys is not used.
        if let Ok(slots) = usize::try_from(self.int()?) {
            self.bytes(slots, 4)?;
        }
        let (offsets, lengths, validity) = self.spans(keys.len())?;
        MapVector::new(offsets, lengths, validity, keys, values).map(Vector::Map)
    }

    /// Reads the offsets and lengths of the lists of a block, and which lists are not null.
    fn spans(&mut self, num_elements: usize) -> Result<(Buffer<u32>, Buffer<u32>, Option<Bitmap>)> {
        let count = self.count()?;
        let offsets = self.ints(count.saturating_add(1))?;
        let validity = self.validity(count)?;
        let rise = offsets.iter().zip(offsets.iter().skip(1)).all(|(a, b)| a <= b);
        let inside = |at: Option<&i32>| {
            at.is_some_and(|at| usize::try_from(*at).is_ok_and(|at| at <= num_elements))
        };
        if !rise || !inside(offsets.first()) || !inside(offsets.last()) {
            return Err(Error::corrupt("the offsets of lists do not rise within their elements")
                .with("elements", num_elements)
                .with("first", offsets.first().copied().unwrap_or_default())
                .with("last", offsets.last().copied().unwrap_or_default()));
        }
        let pairs = offsets.iter().zip(offsets.iter().skip(1));
        let lengths = pairs.map(|(start, end)| (end - start).cast_unsigned()).collect();
        let starts = offsets.iter().take(count).map(|start| start.cast_unsigned()).collect();
        Ok((starts, lengths, validity))
    }

    fn row(&mut self, row_type: &Arc<RowType>) -> Result<Vector> {
        let count = self.count()?;
        let validity = self.validity(count)?;
        let num_present = validity.as_ref().map_or(count, Bitmap::count_ones);
        let num_fields = self.count()?;
        if num_fields != row_type.len() {
            return Err(differs("a struct has other fields", row_type.len(), num_fields));
        }
        if num_fields == 0 && count > MAX_ROWS {
            return Err(Error::limit("a block has too many rows").with("rows", count));
        }
        let mut fields = Vec::with_capacity(num_fields);
        for ty in row_type.types() {
            let field = self.block(ty)?;
            if field.len() != num_present {
                return Err(differs("a field has other rows", num_present, field.len()));
            }
            fields.push(match &validity {
                None => field,
                Some(_) if num_present == 0 => Arc::new(Vector::nulls(ty.clone(), count)),
                Some(validity) => gather(&field, &places(validity))?,
            });
        }
        RowVector::new(Arc::clone(row_type), count, validity, fields).map(Vector::Row)
    }

    fn run(&mut self, ty: &Type) -> Result<Vector> {
        let count = self.count()?;
        if count > MAX_ROWS {
            return Err(Error::limit("a block has too many rows").with("rows", count));
        }
        let value = self.block(ty)?;
        if value.len() != 1 {
            return Err(differs("what repeats is not one row", 1, value.len()));
        }
        Vector::constant(ty.clone(), DecodedVector::new(&value)?.value(0)?, count)
    }

    fn dictionary(&mut self, ty: &Type) -> Result<Vector> {
        let count = self.count()?;
        let base = self.block(ty)?;
        let indices = self.ints(count)?;
        self.cursor.take(DICTIONARY_ID_BYTES)?;
        let inside = |index: &i32| usize::try_from(*index).is_ok_and(|i| i < base.len());
        if let Some(index) = indices.iter().find(|index| !inside(index)) {
            return Err(Error::corrupt("an index lies outside of its dictionary")
                .with("index", index)
                .with("entries", base.len()));
        }
        let indices: Buffer<u32> = indices.into_iter().map(i32::cast_unsigned).collect();
        DictionaryVector::new(base, indices, None).map(Vector::Dictionary)
    }
}

/// Values of fixed width, for the rows that are not null.
struct Present<'a, const N: usize> {
    /// Number of rows, including null ones.
    count: usize,
    validity: Option<Bitmap>,
    values: &'a [[u8; N]],
}

/// Expands `present` to `count` rows: each row that is not null takes the next value, null rows
/// take a default.
fn spread<T: FlatType + Default>(
    count: usize,
    validity: Option<&Bitmap>,
    mut present: impl Iterator<Item = T>,
) -> Buffer<T> {
    match validity {
        None => present.collect(),
        Some(validity) => (0..count)
            .map(|row| if validity.get(row) { present.next() } else { None }.unwrap_or_default())
            .collect(),
    }
}

/// Returns the position of each row among those that are not null; the position of a null row is
/// arbitrary.
fn places(validity: &Bitmap) -> Vec<u32> {
    let mut next = 0u32;
    let place = |row: usize| {
        if !validity.get(row) {
            return 0;
        }
        next += 1;
        next - 1
    };
    (0..validity.len()).map(place).collect()
}

/// Decodes seconds, followed by nanoseconds.
fn timestamp(bytes: [u8; 16]) -> Timestamp {
    let both = u128::from_le_bytes(bytes);
    let (seconds, nanos) = (both as u64, (both >> 64) as u64);
    Timestamp::new(seconds.cast_signed(), nanos)
}

/// Decodes Java's representation of a long decimal: 127 bits of magnitude below a sign bit.
fn sign_and_magnitude(bytes: [u8; 16]) -> i128 {
    let bits = u128::from_le_bytes(bytes);
    let magnitude = (bits & (u128::MAX >> 1)).cast_signed();
    if bits >> 127 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use vector::Value;

    use super::*;

    fn name(text: &str) -> Vec<u8> {
        [&(text.len() as i32).to_le_bytes()[..], text.as_bytes()].concat()
    }

    fn ints(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn integers(values: &[i32]) -> Vec<u8> {
        [name("INT_ARRAY"), ints(&[values.len() as i32]), vec![0], ints(values)].concat()
    }

    fn read(ty: Type, rows: usize, block: Vec<u8>) -> Result<Vec<Value>> {
        let row_type = Arc::new(RowType::new([("c", ty)]));
        let body = [ints(&[1]), block].concat();
        for len in 0..body.len() {
            assert!(read_body(&body[..len], &row_type, rows).is_err(), "{len}");
        }
        let batch = read_body(&body, &row_type, rows)?;
        let column = DecodedVector::new(batch.child(0)?)?;
        (0..rows).map(|row| column.value(row)).collect()
    }

    #[test]
    fn nulls_take_no_place_among_values_and_fields() {
        let block = [name("INT_ARRAY"), ints(&[4]), vec![1, 0b0101_0000], ints(&[7, 9])].concat();
        let rows = [Value::Integer(7), Value::Null, Value::Integer(9), Value::Null];
        assert_eq!(read(Type::Integer, 4, block).unwrap(), rows);

        let ty = Type::row([("a", Type::Integer)]);
        let block = [name("ROW"), ints(&[3]), vec![1, 0b0100_0000], ints(&[1]), integers(&[5, 6])];
        let of = |v: i32| Value::Row([Value::Integer(v)].into());
        assert_eq!(read(ty, 3, block.concat()).unwrap(), [of(5), Value::Null, of(6)]);
    }

    #[test]
    fn lists_maps_runs_and_dictionaries_are_read() {
        let lists = [name("ARRAY"), integers(&[1, 2, 3]), ints(&[2, 0, 1, 3]), vec![0]].concat();
        let list = |v: &[i32]| Value::Array(v.iter().map(|v| Value::Integer(*v)).collect());
        let ty = Type::array(Type::Integer);
        assert_eq!(read(ty, 2, lists).unwrap(), [list(&[1]), list(&[2, 3])]);

        let maps = [name("MAP"), integers(&[1]), integers(&[2]), ints(&[-1, 1, 0, 1]), vec![0]];
        let map = Value::Map([(Value::Integer(1), Value::Integer(2))].into());
        let ty = Type::map(Type::Integer, Type::Integer);
        assert_eq!(read(ty, 1, maps.concat()).unwrap(), [map]);

        let run = [name("RLE"), ints(&[3]), integers(&[8])].concat();
        assert_eq!(read(Type::Integer, 3, run).unwrap(), vec![Value::Integer(8); 3]);

        let parts = [name("DICTIONARY"), ints(&[2]), integers(&[5, 6]), ints(&[1, 0])];
        let dictionary = [parts.concat(), vec![0; 24]].concat();
        let rows = [Value::Integer(6), Value::Integer(5)];
        assert_eq!(read(Type::Integer, 2, dictionary).unwrap(), rows);
        let outside = [name("DICTIONARY"), ints(&[1]), integers(&[5]), ints(&[1]), vec![0; 24]];
        assert!(read(Type::Integer, 1, outside.concat()).is_err());
    }

    #[test]
    fn long_decimals_are_a_sign_and_a_magnitude() {
        let ty = Type::Decimal { precision: 38, scale: 0 };
        let minus_five = (5u128 | 1 << 127).to_le_bytes();
        let block = [name("INT128_ARRAY"), ints(&[1]), vec![0], minus_five.to_vec()].concat();
        assert_eq!(read(ty, 1, block).unwrap(), [Value::HugeInt(-5)]);
    }

    #[test]
    fn counts_that_no_bytes_stand_for_are_refused() {
        let ty = Type::row::<&str>([]);
        let block = [name("ROW"), ints(&[i32::MAX]), vec![0], ints(&[0])].concat();
        assert!(read(ty, i32::MAX as usize, block).is_err());
        let block = [name("INT_ARRAY"), ints(&[i32::MAX]), vec![0]].concat();
        assert!(read(Type::Integer, 1, block).is_err());
        let block = [name("RLE"), ints(&[i32::MAX]), integers(&[8])].concat();
        assert!(read(Type::Integer, i32::MAX as usize, block).is_err());
    }
}
