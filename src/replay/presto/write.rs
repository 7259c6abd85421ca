//! Writes batches as pages, without compression and checksums.

use vector::sync::Arc;
use vector::{DecodedVector, Error, Interval, Result, ResultExt, RowVector, Type, TypeKind, Value};
use vector::{Vector, VectorRef};

/// Writes a batch as one page.
pub fn write_page(batch: &RowVector) -> Result<Vec<u8>> {
    let mut body = Body { bytes: Vec::new() };
    body.count(batch.children().len())?;
    let rows: Vec<usize> = (0..batch.len()).collect();
    for (name, column) in batch.row_type().names().iter().zip(batch.children()) {
        body.block(column, &rows).in_named("column", name)?;
    }
    let mut page = Body { bytes: Vec::with_capacity(body.bytes.len() + 21) };
    page.count(batch.len())?;
    page.bytes.push(0);
    page.count(body.bytes.len())?;
    page.count(body.bytes.len())?;
    page.bytes.extend(0u64.to_le_bytes());
    page.bytes.extend(body.bytes);
    Ok(page.bytes)
}

struct Body {
    bytes: Vec<u8>,
}

impl Body {
    fn count(&mut self, count: usize) -> Result<()> {
        let count = i32::try_from(count)
            .map_err(|_| Error::limit("a page is too large to be recorded").with("count", count))?;
        self.bytes.extend(count.to_le_bytes());
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<()> {
        self.count(name.len())?;
        self.bytes.extend(name.as_bytes());
        Ok(())
    }

    /// Writes the block of rows `rows` of a vector.
    fn block(&mut self, vector: &VectorRef, rows: &[usize]) -> Result<()> {
        let column = DecodedVector::new(vector)?;
        match vector.ty().kind() {
            TypeKind::Array => self.array(&column, rows),
            TypeKind::Map => self.map(&column, rows),
            TypeKind::Row => self.row(&column, rows),
            TypeKind::Varchar | TypeKind::Varbinary => self.strings(&column, rows),
            kind => {
                self.name(match (kind, column.ty()) {
                    (TypeKind::Boolean | TypeKind::TinyInt | TypeKind::Unknown, _) => "BYTE_ARRAY",
                    (TypeKind::SmallInt, _) => "SHORT_ARRAY",
                    (TypeKind::Integer | TypeKind::Real, _) => "INT_ARRAY",
                    (TypeKind::HugeInt, ty) if *ty != Type::Interval => "INT128_ARRAY",
                    _ => "LONG_ARRAY",
                })?;
                self.count(rows.len())?;
                self.nulls(&column, rows);
                rows.iter().filter(|row| !column.is_null(**row)).try_for_each(|row| {
                    let value = column.value(*row)?;
                    self.value(&value, column.ty())
                })
            }
        }
    }

    fn value(&mut self, value: &Value, ty: &Type) -> Result<()> {
        match value {
            Value::Boolean(v) => self.bytes.push(u8::from(*v)),
            Value::TinyInt(v) => self.bytes.extend(v.to_le_bytes()),
            Value::SmallInt(v) => self.bytes.extend(v.to_le_bytes()),
            Value::Integer(v) => self.bytes.extend(v.to_le_bytes()),
            Value::BigInt(v) => self.bytes.extend(v.to_le_bytes()),
            Value::Real(v) => self.bytes.extend(v.to_le_bytes()),
            Value::Double(v) => self.bytes.extend(v.to_le_bytes()),
            Value::Timestamp(v) => {
                self.bytes.extend(v.seconds().to_le_bytes());
                self.bytes.extend(v.nanos().to_le_bytes());
            }
            Value::HugeInt(v) if *ty == Type::Interval => {
                let interval = Interval::from_stored(*v);
                if interval.months != 0 {
                    return Err(Error::unsupported("an interval of months cannot be recorded"));
                }
                let millis = i64::from(interval.days) * 86_400_000 + i64::from(interval.millis);
                self.bytes.extend(millis.to_le_bytes());
            }
            Value::HugeInt(v) => {
                let sign = u128::from(*v < 0) << 127;
                self.bytes.extend((v.unsigned_abs() & (u128::MAX >> 1) | sign).to_le_bytes());
            }
            other => {
                return Err(Error::internal("a value of another type than its column")
                    .with("value", format_args!("{other:?}")));
            }
        }
        Ok(())
    }

    /// Writes the nulls: 0, or 1 and a bit for each row, the most significant bit first.
    fn nulls(&mut self, column: &DecodedVector, rows: &[usize]) {
        if !rows.iter().any(|row| column.is_null(*row)) {
            self.bytes.push(0);
            return;
        }
        self.bytes.push(1);
        for eight in rows.chunks(8) {
            let bits = eight.iter().enumerate();
            let byte =
                bits.fold(0, |byte, (i, row)| byte | u8::from(column.is_null(*row)) << (7 - i));
            self.bytes.push(byte);
        }
    }

    fn strings(&mut self, column: &DecodedVector, rows: &[usize]) -> Result<()> {
        self.name("VARIABLE_WIDTH")?;
        self.count(rows.len())?;
        let text = |row: &usize| if column.is_null(*row) { &[] } else { column.string(*row) };
        let mut end = 0;
        for row in rows {
            end += text(row).len();
            self.count(end)?;
        }
        self.nulls(column, rows);
        self.count(end)?;
        rows.iter().for_each(|row| self.bytes.extend(text(row)));
        Ok(())
    }

    fn array(&mut self, column: &DecodedVector, rows: &[usize]) -> Result<()> {
        self.name("ARRAY")?;
        let (places, ends) = match column.base().as_ref() {
            Vector::Array(array) => spans(column, rows, |row| array.span(row)),
            _ => spans(column, rows, |_| 0..0),
        };
        match (column.base().as_ref(), column.ty()) {
            (Vector::Array(array), _) => self.block(array.elements(), &places)?,
            (_, Type::Array(element)) => self.nothing(element)?,
            (_, ty) => return Err(not_stored_so(ty)),
        }
        self.lists(column, rows, &ends)
    }

    fn map(&mut self, column: &DecodedVector, rows: &[usize]) -> Result<()> {
        self.name("MAP")?;
        let (places, ends) = match column.base().as_ref() {
            Vector::Map(map) => spans(column, rows, |row| map.span(row)),
            _ => spans(column, rows, |_| 0..0),
        };
        match (column.base().as_ref(), column.ty()) {
            (Vector::Map(map), _) => {
                self.block(map.keys(), &places)?;
                self.block(map.values(), &places)?;
            }
            (_, Type::Map(key, value)) => {
                self.nothing(key)?;
                self.nothing(value)?;
            }
            (_, ty) => return Err(not_stored_so(ty)),
        }
        self.bytes.extend((-1i32).to_le_bytes());
        self.lists(column, rows, &ends)
    }

    /// Writes a block without rows.
    fn nothing(&mut self, ty: &Type) -> Result<()> {
        self.block(&Arc::new(Vector::nulls(ty.clone(), 0)), &[])
    }

    fn lists(&mut self, column: &DecodedVector, rows: &[usize], ends: &[usize]) -> Result<()> {
        self.count(rows.len())?;
        self.count(0)?;
        ends.iter().try_for_each(|end| self.count(*end))?;
        self.nulls(column, rows);
        Ok(())
    }

    fn row(&mut self, column: &DecodedVector, rows: &[usize]) -> Result<()> {
        self.name("ROW")?;
        self.count(rows.len())?;
        self.nulls(column, rows);
        let Type::Row(fields) = column.ty() else { return Err(not_stored_so(column.ty())) };
        self.count(fields.len())?;
        let present: Vec<usize> =
            rows.iter().copied().filter(|row| !column.is_null(*row)).collect();
        match column.base().as_ref() {
            Vector::Row(row) => {
                let places: Vec<usize> = present.iter().map(|row| column.index(*row)).collect();
                row.children().iter().try_for_each(|child| self.block(child, &places))
            }
            _ if present.is_empty() => fields.types().iter().try_for_each(|ty| self.nothing(ty)),
            _ => Err(not_stored_so(column.ty())),
        }
    }
}

fn not_stored_so(ty: &Type) -> Error {
    Error::internal("a column is stored otherwise than its type says").with("type", ty)
}

/// Returns the positions of the elements of all rows, and the end offset of each row.
fn spans(
    column: &DecodedVector,
    rows: &[usize],
    span: impl Fn(usize) -> std::ops::Range<usize>,
) -> (Vec<usize>, Vec<usize>) {
    let (mut places, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
    for row in rows {
        if !column.is_null(*row) {
            places.extend(span(column.index(*row)));
        }
        ends.push(places.len());
    }
    (places, ends)
}

#[cfg(test)]
mod tests {
    use vector::RowType;
    use vector::build::vector_of;

    use super::super::PageReader;
    use super::*;

    fn batch_of(columns: &[(&str, Type, Vec<Value>)]) -> RowVector {
        let row_type = RowType::new(columns.iter().map(|(name, ty, _)| (*name, ty.clone())));
        let vectors = columns.iter().map(|(_, ty, values)| vector_of(ty, values).unwrap());
        RowVector::batch(Arc::new(row_type), columns[0].2.len(), vectors.collect()).unwrap()
    }

    fn values_of(vector: &VectorRef) -> Vec<Value> {
        let decoded = DecodedVector::new(vector).unwrap();
        (0..vector.len()).map(|row| decoded.value(row).unwrap()).collect()
    }

    /// Returns columns of many types, with nulls.
    fn batch() -> RowVector {
        let list = |items: &[Option<&str>]| {
            Value::Array(items.iter().map(|i| i.map_or(Value::Null, Value::bytes)).collect())
        };
        let point = |x: i64, y: Value| Value::Row([Value::BigInt(x), y].into());
        let point_type = Type::row([("x", Type::BigInt), ("y", Type::array(Type::Varchar))]);
        let decimal = Type::Decimal { precision: 30, scale: 2 };
        let map = Value::Map([(Value::Integer(1), Value::Real(0.5))].into());
        batch_of(&[
            ("b", Type::Boolean, vec![Value::Boolean(true), Value::Null, Value::Boolean(false)]),
            ("d", decimal, vec![Value::HugeInt(-5), Value::HugeInt(7), Value::Null]),
            (
                "l",
                Type::array(Type::Varchar),
                vec![list(&[Some("a"), None]), Value::Null, list(&[])],
            ),
            ("m", Type::map(Type::Integer, Type::Real), vec![Value::Null, map, Value::Null]),
            (
                "p",
                point_type,
                vec![point(1, list(&[Some("z")])), Value::Null, point(3, Value::Null)],
            ),
            ("u", Type::Unknown, vec![Value::Null; 3]),
        ])
    }

    #[test]
    fn what_is_written_is_read_again() {
        let batch = batch();
        let page = write_page(&batch).unwrap();
        let row_type = Arc::clone(batch.row_type());
        let mut reader = PageReader::new(&page[..], page.len() as u64, row_type);
        let read = reader.next_page().unwrap().unwrap();
        for (a, b) in batch.children().iter().zip(read.children()) {
            assert_eq!(values_of(a), values_of(b), "{}", a.ty());
        }
        assert!(reader.next_page().unwrap().is_none());
        // Rows of a dictionary vector are written as plain values.
        let wrapped = batch.wrap(&[2u32, 0].into_iter().collect());
        let page = write_page(&wrapped).unwrap();
        let row_type = Arc::clone(batch.row_type());
        let read = PageReader::new(&page[..], page.len() as u64, row_type).next_page().unwrap();
        for (a, b) in wrapped.children().iter().zip(read.unwrap().children()) {
            assert_eq!(values_of(a), values_of(b), "{}", a.ty());
        }
    }

    #[test]
    fn a_page_with_any_byte_changed_is_read_or_refused() {
        let batch = batch();
        let page = write_page(&batch).unwrap();
        for at in 0..page.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = page.clone();
                changed[at] ^= flip;
                let row_type = Arc::clone(batch.row_type());
                let mut reader = PageReader::new(&changed[..], changed.len() as u64, row_type);
                if let Ok(Some(read)) = reader.next_page() {
                    vector::check_batch(&read).unwrap();
                }
            }
        }
    }
}
