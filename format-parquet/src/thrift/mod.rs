//! Thrift's compact protocol, as far as Parquet uses it.
//!
//! [`ThriftReader`] walks a borrowed slice and gives numbers, borrowed byte strings and lists. The
//! structs of the format are in [`structs`]; [`file_metadata`] and [`page_header`] fill them, those of
//! columns when they are wanted ([`chunks`]).
//!
//! ```text
//! struct   field field ... 00
//! field    (id delta << 4 | type) [zigzag id if delta is 0] body
//! list     (size << 4 | type) [varint size if the nibble is 15] element ...
//! varint   7 bits a byte, low group first; signed numbers are zigzagged
//! ```
//!
//! Nothing here trusts a declared size: a list is refused when its elements could not fit into the
//! bytes that are left, and what the parsed structs take in memory counts against a budget that
//! follows from the input. Every error says at which offset, what was expected and what was found.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

pub mod chunks;
pub mod file_metadata;
pub mod memory;
pub mod page_header;
pub mod structs;

use memory::MetadataMemory;
use vector::sync::Arc;
use vector::{Error, Result};

pub use file_metadata::parse_file_metadata;
pub use page_header::parse_page_header;

/// The sentence of the error for input that stops in the middle of an item. A caller that holds
/// only the head of the input may read more and try again.
pub const ENDS_EARLY: &str = "thrift data ends early";

/// Structs, lists and maps may be nested this deep in fields we do not know.
const MAX_SKIP_DEPTH: u32 = 64;
/// The longest byte string that is taken.
const MAX_BINARY_BYTES: u64 = 100_000_000;
/// Memory for parsed lists: so many bytes for each byte of input, and so much to start with.
const BUDGET_PER_INPUT_BYTE: usize = 16;
const BUDGET_BASE_BYTES: usize = 64 << 20;
/// What is taken from the pool at once for small elements of a large footer.
const PREPAID_BYTES: usize = 16 << 10;
/// Elements that a list reserves at once; more grow as they are really there.
const MAX_RESERVED_ELEMENTS: usize = 1024;

/// The type nibble of a field or element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WireType {
    Stop,
    True,
    False,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List,
    Set,
    Map,
    Struct,
    Uuid,
}

impl WireType {
    fn from_nibble(nibble: u8) -> Option<WireType> {
        Some(match nibble {
            0 => WireType::Stop,
            1 => WireType::True,
            2 => WireType::False,
            3 => WireType::Byte,
            4 => WireType::I16,
            5 => WireType::I32,
            6 => WireType::I64,
            7 => WireType::Double,
            8 => WireType::Binary,
            9 => WireType::List,
            10 => WireType::Set,
            11 => WireType::Map,
            12 => WireType::Struct,
            13 => WireType::Uuid,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            WireType::Stop => "stop",
            WireType::True | WireType::False => "bool",
            WireType::Byte => "i8",
            WireType::I16 => "i16",
            WireType::I32 => "i32",
            WireType::I64 => "i64",
            WireType::Double => "double",
            WireType::Binary => "binary",
            WireType::List => "list",
            WireType::Set => "set",
            WireType::Map => "map",
            WireType::Struct => "struct",
            WireType::Uuid => "uuid",
        }
    }
}

/// The header of a struct field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// The number that the format gives the field.
    pub id: i16,
    /// How its body is written.
    pub wire: WireType,
}

/// A cursor over bytes in the compact protocol.
pub struct ThriftReader<'a> {
    bytes: &'a [u8],
    offset: usize,
    budget_bytes: usize,
    /// What pays for the parsed structs, if anything does.
    memory: Option<&'a Arc<MetadataMemory>>,
    /// Bytes that are paid for and not used yet.
    prepaid_bytes: usize,
    prepays: bool,
}

impl<'a> ThriftReader<'a> {
    /// Starts at the first of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        let budget_bytes =
            bytes.len().saturating_mul(BUDGET_PER_INPUT_BYTE).saturating_add(BUDGET_BASE_BYTES);
        ThriftReader {
            bytes,
            offset: 0,
            budget_bytes,
            memory: None,
            prepaid_bytes: 0,
            prepays: true,
        }
    }

    /// The same reader, whose parsed structs are charged to `memory`.
    pub fn with_memory(self, memory: Option<&'a Arc<MetadataMemory>>) -> Self {
        ThriftReader { memory, ..self }
    }

    /// The same reader, which takes no more from `memory` than it needs: it parses one small part.
    pub fn without_prepaying(self) -> Self {
        ThriftReader { prepays: false, ..self }
    }

    /// What pays for the parsed structs, if anything does.
    pub fn memory(&self) -> Option<&'a Arc<MetadataMemory>> {
        self.memory
    }

    /// Starts somewhere in `bytes`, at an offset that another reader told.
    pub fn at(bytes: &'a [u8], offset: usize) -> Self {
        ThriftReader { offset, ..Self::new(bytes) }
    }

    /// The bytes taken so far.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes still to come.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    /// Reads a struct: calls `on_field` for each field header, which reads or skips the body.
    /// `name` is the struct's, for errors.
    #[inline]
    pub fn read_struct(
        &mut self,
        name: &'static str,
        mut on_field: impl FnMut(&mut Self, Field) -> Result<()>,
    ) -> Result<()> {
        let mut last_id = 0;
        loop {
            let field = match self.field(last_id) {
                Ok(Some(field)) => field,
                Ok(None) => return Ok(()),
                Err(e) => return Err(e.in_named("struct", name)),
            };
            last_id = field.id;
            if let Err(e) = on_field(self, field) {
                return Err(e.in_place("field", field.id).in_named("struct", name));
            }
        }
    }

    /// Reads a list in `field`, with `read` for each element of type `element`.
    /// `min_element_bytes` is the least an element takes on the wire.
    pub fn read_list<T>(
        &mut self,
        field: Field,
        element: WireType,
        min_element_bytes: usize,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        if field.wire != WireType::Set {
            self.expect(field, WireType::List)?;
        }
        let len = self.list_header(Some(element), min_element_bytes)?.1;
        let mut values = Vec::new();
        for index in 0..len {
            if values.len() == values.capacity() {
                let left = len.saturating_sub(index);
                let more = left.min(index.max(MAX_RESERVED_ELEMENTS));
                self.charge(more.saturating_mul(size_of::<T>()))?;
                values.reserve_exact(more);
            }
            values.push(read(self).map_err(|e| e.in_place("element", index))?);
        }
        Ok(values)
    }

    /// Reads a list of 64-bit numbers in `field`.
    pub fn read_i64_list(&mut self, field: Field) -> Result<Vec<i64>> {
        self.read_list(field, WireType::I64, 1, |r| r.zigzag())
    }

    /// The value of a boolean field, which stands in the field header.
    pub fn read_bool(&mut self, field: Field) -> Result<bool> {
        match field.wire {
            WireType::True => Ok(true),
            WireType::False => Ok(false),
            found => Err(self.wrong_type("bool", found)),
        }
    }

    /// The value of an 8-bit field.
    pub fn read_i8(&mut self, field: Field) -> Result<i8> {
        self.expect(field, WireType::Byte)?;
        Ok(self.byte()?.cast_signed())
    }

    /// The value of a 16-bit field.
    pub fn read_i16(&mut self, field: Field) -> Result<i16> {
        self.expect(field, WireType::I16)?;
        self.zigzag_i16()
    }

    /// The value of a 32-bit field.
    #[inline]
    pub fn read_i32(&mut self, field: Field) -> Result<i32> {
        self.expect(field, WireType::I32)?;
        self.zigzag_i32()
    }

    /// The value of a 64-bit field.
    #[inline]
    pub fn read_i64(&mut self, field: Field) -> Result<i64> {
        self.expect(field, WireType::I64)?;
        self.zigzag()
    }

    /// The value of a 32-bit field that counts or measures something.
    #[inline]
    pub fn read_u32(&mut self, field: Field) -> Result<u32> {
        let start = self.offset;
        let value = self.read_i32(field)?;
        u32::try_from(value).map_err(|_| negative(start, value.into()))
    }

    /// The value of a 64-bit field that counts or measures something.
    #[inline]
    pub fn read_u64(&mut self, field: Field) -> Result<u64> {
        let start = self.offset;
        let value = self.read_i64(field)?;
        u64::try_from(value).map_err(|_| negative(start, value))
    }

    /// The bytes of a string or binary field.
    pub fn read_binary(&mut self, field: Field) -> Result<&'a [u8]> {
        self.expect(field, WireType::Binary)?;
        self.binary()
    }

    /// The text of a string field; bytes that are not UTF-8 become replacement characters.
    pub fn read_text(&mut self, field: Field) -> Result<String> {
        let bytes = self.read_binary(field)?;
        self.charge(bytes.len())?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Fails unless `field` is written as `wire`.
    #[inline]
    pub fn expect(&self, field: Field, wire: WireType) -> Result<()> {
        if field.wire == wire { Ok(()) } else { Err(self.wrong_type(wire.as_str(), field.wire)) }
    }

    /// Passes over a field's body, whatever it is.
    pub fn skip(&mut self, field: Field) -> Result<()> {
        // A boolean field has no body, a boolean element has one byte.
        if matches!(field.wire, WireType::True | WireType::False) {
            return Ok(());
        }
        self.skip_value(field.wire, MAX_SKIP_DEPTH)
    }

    /// A byte string: length, then bytes.
    pub fn binary(&mut self) -> Result<&'a [u8]> {
        let start = self.offset;
        let declared = self.varint()?;
        if declared > MAX_BINARY_BYTES {
            return Err(Error::corrupt("thrift byte string is too long")
                .with("offset", start)
                .with("found", declared)
                .with("max", MAX_BINARY_BYTES));
        }
        let len = usize::try_from(declared).unwrap_or(usize::MAX);
        self.take(len)
    }

    /// A boolean element of a list.
    pub fn bool_element(&mut self) -> Result<bool> {
        // SPEC (compact protocol): 1 is true; false is 2, and 0 with older writers.
        match self.byte()? {
            1 => Ok(true),
            0 | 2 => Ok(false),
            found => Err(Error::corrupt("thrift boolean is neither true nor false")
                .with("offset", self.offset.saturating_sub(1))
                .with("expected", "0, 1 or 2")
                .with("found", found)),
        }
    }

    /// A zigzag number of at most 32 bits.
    #[inline]
    pub fn zigzag_i32(&mut self) -> Result<i32> {
        let start = self.offset;
        let value = self.zigzag()?;
        i32::try_from(value).map_err(|_| out_of_range(start, "i32", value))
    }

    /// A zigzag number.
    #[inline]
    pub fn zigzag(&mut self) -> Result<i64> {
        let raw = self.varint()?;
        Ok((raw >> 1).cast_signed() ^ (raw & 1).cast_signed().wrapping_neg())
    }

    fn zigzag_i16(&mut self) -> Result<i16> {
        let start = self.offset;
        let value = self.zigzag()?;
        i16::try_from(value).map_err(|_| out_of_range(start, "i16", value))
    }

    #[inline]
    fn varint(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        self.long_varint(first)
    }

    fn long_varint(&mut self, first: u8) -> Result<u64> {
        let start = self.offset.saturating_sub(1);
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            let group = u64::from(byte & 0x7f);
            if shift == 63 && group > 1 {
                break;
            }
            value |= group << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("thrift number has more than 64 bits")
            .with("offset", start)
            .with("expected", "at most 10 bytes"))
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        match self.bytes.get(self.offset) {
            Some(byte) => {
                self.offset = self.offset.saturating_add(1);
                Ok(*byte)
            }
            None => Err(self.ends_early(1)),
        }
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.offset.saturating_add(len);
        match self.bytes.get(self.offset..end) {
            Some(bytes) => {
                self.offset = end;
                Ok(bytes)
            }
            None => Err(self.ends_early(len)),
        }
    }

    #[inline]
    fn field(&mut self, last_id: i16) -> Result<Option<Field>> {
        let start = self.offset;
        let head = self.byte()?;
        let wire = self.wire_type(head & 0x0f, start)?;
        if wire == WireType::Stop {
            // Any delta may stand beside STOP: the nibble alone ends a struct.
            return Ok(None);
        }
        let delta = head >> 4;
        let id = match delta {
            0 => self.zigzag_i16()?,
            _ => last_id.checked_add(i16::from(delta)).ok_or_else(|| {
                Error::corrupt("thrift field number overflows")
                    .with("offset", start)
                    .with("expected", "at most 32767")
                    .with("found", i32::from(last_id).saturating_add(i32::from(delta)))
            })?,
        };
        Ok(Some(Field { id, wire }))
    }

    fn wire_type(&self, nibble: u8, offset: usize) -> Result<WireType> {
        WireType::from_nibble(nibble).ok_or_else(|| {
            Error::corrupt("unknown thrift type")
                .with("offset", offset)
                .with("expected", "0 to 13")
                .with("found", nibble)
        })
    }

    /// Element type and size of a list or set.
    fn list_header(
        &mut self,
        expected: Option<WireType>,
        min_element_bytes: usize,
    ) -> Result<(WireType, usize)> {
        let start = self.offset;
        let head = self.byte()?;
        let declared = match head >> 4 {
            15 => self.varint()?,
            size => u64::from(size),
        };
        let element = self.wire_type(head & 0x0f, start)?;
        if declared == 0 {
            return Ok((element, 0));
        }
        let agrees = match expected {
            Some(WireType::True) => matches!(element, WireType::True | WireType::False),
            Some(expected) => element == expected,
            None => element != WireType::Stop,
        };
        if !agrees {
            let expected = expected.map_or("an element type", WireType::as_str);
            return Err(self.wrong_type(expected, element));
        }
        let len = self.bounded_size(declared, min_element_bytes, start)?;
        Ok((element, len))
    }

    /// Refuses a declared size that the bytes to come cannot hold.
    fn bounded_size(
        &self,
        declared: u64,
        min_element_bytes: usize,
        offset: usize,
    ) -> Result<usize> {
        let most = self.remaining().checked_div(min_element_bytes).unwrap_or(0);
        match usize::try_from(declared) {
            Ok(size) if size <= most => Ok(size),
            _ => Err(Error::corrupt("thrift list is longer than the data")
                .with("offset", offset)
                .with("expected", format_args!("at most {most} elements"))
                .with("found", declared)),
        }
    }

    fn skip_value(&mut self, wire: WireType, depth: u32) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::corrupt("thrift data is nested too deep")
                .with("offset", self.offset)
                .with("max", MAX_SKIP_DEPTH));
        };
        match wire {
            WireType::Stop => Err(self.wrong_type("a value", WireType::Stop)),
            WireType::True | WireType::False | WireType::Byte => self.take(1).map(drop),
            WireType::I16 | WireType::I32 | WireType::I64 => self.varint().map(drop),
            WireType::Double => self.take(8).map(drop),
            WireType::Uuid => self.take(16).map(drop),
            WireType::Binary => self.binary().map(drop),
            WireType::List | WireType::Set => {
                let (element, len) = self.list_header(None, 1)?;
                for _ in 0..len {
                    self.skip_value(element, depth)?;
                }
                Ok(())
            }
            WireType::Map => self.skip_map(depth),
            WireType::Struct => {
                let mut last_id = 0;
                while let Some(field) = self.field(last_id)? {
                    last_id = field.id;
                    if !matches!(field.wire, WireType::True | WireType::False) {
                        self.skip_value(field.wire, depth)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn skip_map(&mut self, depth: u32) -> Result<()> {
        let start = self.offset;
        let declared = self.varint()?;
        if declared == 0 {
            return Ok(());
        }
        let types = self.byte()?;
        let key = self.wire_type(types >> 4, start)?;
        let value = self.wire_type(types & 0x0f, start)?;
        for _ in 0..self.bounded_size(declared, 2, start)? {
            self.skip_value(key, depth)?;
            self.skip_value(value, depth)?;
        }
        Ok(())
    }

    /// Counts memory that parsed elements take, before it is taken.
    fn charge(&mut self, bytes: usize) -> Result<()> {
        if let Some(memory) = self.memory {
            if bytes > self.prepaid_bytes {
                let missing = bytes.saturating_sub(self.prepaid_bytes);
                // A large footer pays for many small elements at once.
                let at_once =
                    if self.prepays { PREPAID_BYTES.min(self.bytes.len() / 16) } else { 0 };
                let more = missing.max(at_once);
                memory.reserve(more)?;
                self.prepaid_bytes = self.prepaid_bytes.saturating_add(more);
            }
            self.prepaid_bytes = self.prepaid_bytes.saturating_sub(bytes);
        }
        match self.budget_bytes.checked_sub(bytes) {
            Some(rest) => {
                self.budget_bytes = rest;
                Ok(())
            }
            None => Err(Error::limit("metadata needs too much memory for its size")
                .with("offset", self.offset)
                .with("metadata_bytes", self.bytes.len())),
        }
    }

    #[cold]
    fn ends_early(&self, needed: usize) -> Error {
        Error::corrupt(ENDS_EARLY)
            .with("offset", self.offset)
            .with("expected", format_args!("{needed} bytes"))
            .with("found", self.remaining())
    }

    #[cold]
    fn wrong_type(&self, expected: &'static str, found: WireType) -> Error {
        Error::corrupt("thrift value has the wrong type")
            .with("offset", self.offset)
            .with("expected", expected)
            .with("found", found.as_str())
    }
}

/// The value of a field that the format requires.
pub fn required<T>(value: Option<T>, name: &'static str) -> Result<T> {
    value.ok_or_else(|| Error::corrupt("required field is missing").with("field", name))
}

#[cold]
fn out_of_range(offset: usize, expected: &'static str, found: i64) -> Error {
    Error::corrupt("thrift number is out of range")
        .with("offset", offset)
        .with("expected", expected)
        .with("found", found)
}

#[cold]
fn negative(offset: usize, found: i64) -> Error {
    Error::corrupt("a count or size is negative")
        .with("offset", offset)
        .with("expected", "0 or more")
        .with("found", found)
}

#[cfg(test)]
mod tests;
