//! Decodes vectors inside of a plan, which are in base64 of Velox's own serialization, into values.
//!
//! ```text
//! encoding i32 | type i32 length, JSON | rows i32 | contents of the encoding
//!
//! buffer = length i32, bytes        optional buffer = 0, or 1 and a buffer
//! ```
//!
//! All numbers are little-endian. Plans contain few values, so each value is materialized
//! separately.

use vector::types::string_view::INLINE_LIMIT;
use vector::{Error, Result, Timestamp, Type, TypeKind, Value};

use super::json::Json;
use super::types::read_type;

/// Maximum number of rows of a vector: a constant vector can state any number in a few bytes.
const MAX_ROWS: i32 = 1 << 20;
/// Maximum nesting depth of vectors.
const MAX_DEPTH: usize = 64;
/// Number of bytes of a string entry: the size, then either the text or its location.
const ENTRY_BYTES: usize = 16;

/// A vector as values of its type.
#[derive(Debug, PartialEq)]
pub(super) struct Values {
    /// Type that the vector states.
    pub(super) ty: Type,
    /// Value of each row.
    pub(super) rows: Vec<Value>,
}

/// Decodes all vectors that are stored one after another in `bytes`.
pub(super) fn read_vectors(bytes: &[u8]) -> Result<Vec<Values>> {
    let mut reader = Reader { rest: bytes, depth: 0 };
    let mut vectors = Vec::new();
    while !reader.rest.is_empty() {
        vectors.push(reader.vector()?);
    }
    Ok(vectors)
}

struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| broken("ends early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn int(&mut self) -> Result<i32> {
        int_at(self.take(4)?, 0)
    }

    fn len(&mut self) -> Result<usize> {
        usize::try_from(self.int()?).map_err(|_| broken("has a negative length"))
    }

    fn buffer(&mut self) -> Result<&'a [u8]> {
        let len = self.len()?;
        self.take(len)
    }

    fn optional_buffer(&mut self) -> Result<Option<&'a [u8]>> {
        match self.byte()? {
            0 => Ok(None),
            _ => self.buffer().map(Some),
        }
    }

    fn ty(&mut self) -> Result<Type> {
        let text: serde_json::Value = serde_json::from_slice(self.buffer()?)
            .map_err(|e| broken("has a type that is not JSON").caused_by(e))?;
        read_type(&Json::root("type of a vector", &text))
    }

    fn vector(&mut self) -> Result<Values> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(broken("is nested too deep"));
        }
        let encoding = self.int()?;
        let ty = self.ty()?;
        let size = self.int()?;
        if !(0..=MAX_ROWS).contains(&size) {
            return Err(broken("has too many rows").with("rows", size));
        }
        let rows = match encoding {
            0 => self.flat(&ty, size as usize)?,
            1 => vec![self.constant(&ty)?; size as usize],
            2 => self.dictionary(size as usize)?,
            3 => {
                self.byte()?;
                self.vector()?.rows
            }
            other => {
                return Err(Error::unsupported("an encoding of a serialized vector")
                    .with("encoding", other));
            }
        };
        if rows.len() != size as usize {
            return Err(broken("has other numbers of rows inside"));
        }
        self.depth -= 1;
        Ok(Values { ty, rows })
    }

    fn flat(&mut self, ty: &Type, size: usize) -> Result<Vec<Value>> {
        let nulls = self.optional_buffer()?;
        let valid = |row: usize| match nulls {
            Some(bits) => bit(bits, row),
            None => Ok(true),
        };
        let validity = (0..size).map(valid).collect::<Result<Vec<_>>>()?;
        let fill = |value: &mut dyn FnMut(usize) -> Result<Value>| {
            let rows = validity.iter().enumerate();
            rows.map(|(row, valid)| if *valid { value(row) } else { Ok(Value::Null) }).collect()
        };
        match ty {
            Type::Row(row) => {
                let count = self.len()?;
                if count != row.len() {
                    return Err(broken("has other numbers of children and fields"));
                }
                let mut children = Vec::with_capacity(count);
                for _ in 0..count {
                    children.push(match self.byte()? {
                        0 => vec![Value::Null; size],
                        _ => self.vector()?.rows,
                    });
                }
                fill(&mut |row| {
                    let field = |child: &Vec<Value>| child.get(row).cloned();
                    let fields = children.iter().map(field).collect::<Option<_>>();
                    Ok(Value::Row(fields.ok_or_else(|| broken("has a short child"))?))
                })
            }
            Type::Array(_) => {
                let (offsets, sizes) = (self.buffer()?, self.buffer()?);
                let elements = self.vector()?.rows;
                fill(&mut |row| Ok(Value::Array(span(&elements, offsets, sizes, row)?.into())))
            }
            Type::Map(..) => {
                let (offsets, sizes) = (self.buffer()?, self.buffer()?);
                let keys = self.vector()?.rows;
                let values = self.vector()?.rows;
                fill(&mut |row| {
                    let keys = span(&keys, offsets, sizes, row)?.iter().cloned();
                    let values = span(&values, offsets, sizes, row)?.iter().cloned();
                    Ok(Value::Map(keys.zip(values).collect()))
                })
            }
            Type::Varchar | Type::Varbinary => {
                let entries = self.optional_buffer()?.unwrap_or_default();
                let mut text = Vec::new();
                for _ in 0..self.len()? {
                    text.extend_from_slice(self.buffer()?);
                }
                fill(&mut |row| string(part(entries, row * ENTRY_BYTES, ENTRY_BYTES)?, &text))
            }
            ty => {
                let values = self.optional_buffer()?.unwrap_or_default();
                fill(&mut |row| match ty.kind() {
                    TypeKind::Boolean => Ok(Value::Boolean(bit(values, row)?)),
                    _ => {
                        let width = width(ty)?;
                        scalar(ty, part(values, row * width, width)?)
                    }
                })
            }
        }
    }

    fn constant(&mut self, ty: &Type) -> Result<Value> {
        if self.byte()? == 1 {
            return Ok(Value::Null);
        }
        if self.byte()? == 0 {
            let base = self.vector()?.rows;
            let index = self.len()?;
            return base.get(index).cloned().ok_or_else(|| broken("has an index out of range"));
        }
        match ty.kind() {
            TypeKind::Varchar | TypeKind::Varbinary => {
                let entry = self.take(ENTRY_BYTES)?;
                if int_at(entry, 0)? as usize <= INLINE_LIMIT {
                    return string(entry, &[]);
                }
                self.buffer().map(Value::bytes)
            }
            TypeKind::Boolean => Ok(Value::Boolean(self.byte()? != 0)),
            _ => scalar(ty, self.take(width(ty)?)?),
        }
    }

    fn dictionary(&mut self, size: usize) -> Result<Vec<Value>> {
        let nulls = self.optional_buffer()?;
        let indices = self.buffer()?;
        let base = self.vector()?.rows;
        let row = |row: usize| {
            if let Some(bits) = nulls
                && !bit(bits, row)?
            {
                return Ok(Value::Null);
            }
            let index = usize::try_from(int_at(indices, row)?).ok();
            let value = index.and_then(|index| base.get(index)).cloned();
            value.ok_or_else(|| broken("has an index out of range"))
        };
        (0..size).map(row).collect()
    }
}

fn broken(why: &'static str) -> Error {
    Error::invalid_input("a serialized vector cannot be read").with("why", why)
}

fn part(bytes: &[u8], start: usize, len: usize) -> Result<&[u8]> {
    bytes.get(start..start + len).ok_or_else(|| broken("has a short buffer"))
}

fn int_at(bytes: &[u8], index: usize) -> Result<i32> {
    part(bytes, index * 4, 4).map(|b| i32::from_le_bytes(array(b)))
}

fn bit(bytes: &[u8], index: usize) -> Result<bool> {
    Ok(part(bytes, index / 8, 1)?[0] >> (index % 8) & 1 != 0)
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    let len = bytes.len().min(N);
    array[..len].copy_from_slice(&bytes[..len]);
    array
}

fn span<'v>(values: &'v [Value], offsets: &[u8], sizes: &[u8], row: usize) -> Result<&'v [Value]> {
    let bound = |value: i32| usize::try_from(value).ok();
    let (start, len) = (bound(int_at(offsets, row)?), bound(int_at(sizes, row)?));
    let range = start.zip(len).and_then(|(start, len)| values.get(start..start + len));
    range.ok_or_else(|| broken("has a list out of range"))
}

fn string(entry: &[u8], text: &[u8]) -> Result<Value> {
    let len = u32::from_le_bytes(array(entry)) as usize;
    if len <= INLINE_LIMIT {
        return part(entry, 4, len).map(Value::bytes);
    }
    let offset = i64::from_le_bytes(array(part(entry, 8, 8)?));
    let range =
        usize::try_from(offset).ok().and_then(|start| start.checked_add(len).map(|end| start..end));
    let bytes = range.and_then(|range| text.get(range));
    bytes.map(Value::bytes).ok_or_else(|| broken("has a string out of range"))
}

fn width(ty: &Type) -> Result<usize> {
    if *ty == Type::Interval {
        return Err(Error::unsupported("intervals in a serialized vector"));
    }
    Ok(match ty.kind() {
        TypeKind::Boolean | TypeKind::TinyInt | TypeKind::Unknown => 1,
        TypeKind::SmallInt => 2,
        TypeKind::Integer | TypeKind::Real => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::HugeInt | TypeKind::Timestamp => 16,
        _ => return Err(broken("has a type without a width")),
    })
}

fn scalar(ty: &Type, b: &[u8]) -> Result<Value> {
    Ok(match ty.kind() {
        TypeKind::TinyInt => Value::TinyInt(i8::from_le_bytes(array(b))),
        TypeKind::SmallInt => Value::SmallInt(i16::from_le_bytes(array(b))),
        TypeKind::Integer => Value::Integer(i32::from_le_bytes(array(b))),
        TypeKind::BigInt => Value::BigInt(i64::from_le_bytes(array(b))),
        TypeKind::HugeInt => Value::HugeInt(i128::from_le_bytes(array(b))),
        TypeKind::Real => Value::Real(f32::from_le_bytes(array(b))),
        TypeKind::Double => Value::Double(f64::from_le_bytes(array(b))),
        TypeKind::Timestamp => {
            let (seconds, nanos) = (part(b, 0, 8)?, part(b, 8, 8)?);
            let nanos = u64::from_le_bytes(array(nanos));
            Value::Timestamp(Timestamp::new(i64::from_le_bytes(array(seconds)), nanos))
        }
        _ => return Err(broken("has a value of a type without values")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(encoding: i32, ty: &str, rows: i32) -> Vec<u8> {
        let mut bytes = encoding.to_le_bytes().to_vec();
        bytes.extend((ty.len() as i32).to_le_bytes());
        bytes.extend(ty.as_bytes());
        bytes.extend(rows.to_le_bytes());
        bytes
    }

    fn buffer(bytes: &[u8]) -> Vec<u8> {
        let mut all = (bytes.len() as i32).to_le_bytes().to_vec();
        all.extend(bytes);
        all
    }

    const BIGINT: &str = r#"{"name":"Type","type":"BIGINT"}"#;

    fn bigints() -> Vec<u8> {
        let values: Vec<u8> = [7i64, -1, 9].iter().flat_map(|v| v.to_le_bytes()).collect();
        [header(0, BIGINT, 3), vec![1], buffer(&[0b101]), vec![1], buffer(&values)].concat()
    }

    #[test]
    fn flat_constant_and_dictionary_vectors_are_read() {
        let rows = [Value::BigInt(7), Value::Null, Value::BigInt(9)];
        let vectors = read_vectors(&[bigints(), bigints()].concat()).unwrap();
        assert_eq!(vectors.len(), 2);
        assert_eq!(vectors[1], Values { ty: Type::BigInt, rows: rows.to_vec() });

        let list = r#"{"name":"Type","type":"ARRAY","cTypes":[{"name":"Type","type":"BIGINT"}]}"#;
        let (offset, size) = (buffer(&0i32.to_le_bytes()), buffer(&3i32.to_le_bytes()));
        let lists = [header(0, list, 1), vec![0], offset, size, bigints()].concat();
        let constant = [header(1, list, 2), vec![0, 0], lists, vec![0; 4]].concat();
        let vectors = read_vectors(&constant).unwrap();
        assert_eq!(vectors[0].rows, vec![Value::Array(rows.clone().into()); 2]);

        let indices: Vec<u8> = [2i32, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let dictionary = [header(2, BIGINT, 2), vec![0], buffer(&indices), bigints()].concat();
        let vectors = read_vectors(&dictionary).unwrap();
        assert_eq!(vectors[0].rows, [Value::BigInt(9), Value::BigInt(7)]);
    }

    #[test]
    fn vectors_that_end_early_or_point_outside_are_errors() {
        let whole = bigints();
        for len in 1..whole.len() {
            assert!(read_vectors(&whole[..len]).is_err(), "{len}");
        }
        let indices = buffer(&3i32.to_le_bytes());
        let outside = [header(2, BIGINT, 1), vec![0], indices, bigints()].concat();
        assert!(read_vectors(&outside).is_err());
        assert!(read_vectors(&header(1, BIGINT, i32::MAX)).is_err());
    }
}
