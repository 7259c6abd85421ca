//! Values of a leaf of a handmade file, with their levels and their text.

use std::fmt::Write;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};

use super::one_of;
use super::schema::text;
use crate::support::oracle::{hex, quoted_timestamp};
use crate::support::random::Random;

/// Kind of the values of a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scalar {
    Integer,
    Bool,
    Text,
    Int96,
    Uuid,
    Float16,
    Interval,
    /// Big-endian numbers of `width` bytes, or of any length.
    Decimal {
        digits: usize,
        scale: usize,
        width: Option<usize>,
    },
}

impl Scalar {
    pub(super) fn random(random: &mut Random) -> Scalar {
        match random.below(8) {
            0 => Scalar::Integer,
            1 => Scalar::Bool,
            2 => Scalar::Text,
            3 => Scalar::Int96,
            4 => Scalar::Uuid,
            5 => Scalar::Float16,
            6 => Scalar::Interval,
            _ => {
                let digits: usize = one_of(random, &[1, 9, 18, 19, 38, 39, 60, 76, 120]);
                let scale = random.below(digits as u64 + 1) as usize;
                // log2(10) bits for each digit, and one for the sign.
                let bits = (digits * 3322).div_ceil(1000) + 1;
                let width = bits.div_ceil(8) + random.below(3) as usize;
                Scalar::Decimal { digits, scale, width: random.once_in(2).then_some(width) }
            }
        }
    }

    /// Returns the physical type and annotation for a schema.
    pub(super) fn declaration(self) -> (String, String) {
        let (storage, annotation) = match self {
            Scalar::Integer => ("int32", ""),
            Scalar::Bool => ("boolean", ""),
            Scalar::Text => ("binary", "(STRING)"),
            Scalar::Int96 => ("int96", ""),
            Scalar::Uuid => ("fixed_len_byte_array(16)", "(UUID)"),
            Scalar::Float16 => ("fixed_len_byte_array(2)", "(FLOAT16)"),
            Scalar::Interval => ("fixed_len_byte_array(12)", "(INTERVAL)"),
            Scalar::Decimal { digits, scale, width } => {
                let storage = width.map(|width| format!("fixed_len_byte_array({width})"));
                let storage = storage.unwrap_or_else(|| "binary".to_string());
                return (storage, format!("(DECIMAL({digits},{scale}))"));
            }
        };
        (storage.to_string(), annotation.to_string())
    }
}

enum Values {
    Integers(Vec<i32>),
    Bools(Vec<bool>),
    Days(Vec<Int96>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// Levels and values of one chunk.
pub(super) struct Leaf {
    scalar: Scalar,
    values: Values,
    def: Vec<i16>,
    rep: Vec<i16>,
    /// Number of distinct values; few distinct values lead to dictionaries and runs.
    variety: u64,
    seed: u64,
}

impl Leaf {
    pub(super) fn new(scalar: Scalar, random: &mut Random) -> Leaf {
        let values = match scalar {
            Scalar::Integer => Values::Integers(Vec::new()),
            Scalar::Bool => Values::Bools(Vec::new()),
            Scalar::Int96 => Values::Days(Vec::new()),
            Scalar::Text | Scalar::Decimal { width: None, .. } => Values::Bytes(Vec::new()),
            _ => Values::Fixed(Vec::new()),
        };
        let (variety, seed) = (one_of(random, &[1, 3, 20, u64::MAX]), random.next());
        Leaf { scalar, values, def: Vec::new(), rep: Vec::new(), variety, seed }
    }

    pub(super) fn put_absent(&mut self, rep: i16, def: i16) {
        self.rep.push(rep);
        self.def.push(def);
    }

    /// Adds a random value, and its text to `out`.
    pub(super) fn put(&mut self, rep: i16, def: i16, random: &mut Random, out: &mut String) {
        self.put_absent(rep, def);
        let random = &mut Random::new(self.seed ^ random.below(self.variety));
        match &mut self.values {
            Values::Integers(values) => {
                let any = random.next() as i32;
                let value = one_of(random, &[0, -1, 7, i32::MIN, i32::MAX, any]);
                write!(out, "{value}").unwrap();
                values.push(value);
            }
            Values::Bools(values) => {
                let value = random.once_in(2);
                write!(out, "{value}").unwrap();
                values.push(value);
            }
            Values::Days(values) => {
                const EPOCH: i64 = 2_440_588;
                const NANOS_PER_DAY: u64 = 86_400_000_000_000;
                // Years 54 to 9911.
                let day = random.below(3_600_000) as i64 - 700_000;
                let any = random.below(NANOS_PER_DAY);
                let nanos = one_of(random, &[0, NANOS_PER_DAY - 1, any]);
                quoted_timestamp(day, nanos as i64, out);
                let mut value = Int96::new();
                value.set_data(nanos as u32, (nanos >> 32) as u32, (day + EPOCH) as u32);
                values.push(value);
            }
            Values::Bytes(values) => values.push(self.scalar.bytes(random, out).into()),
            Values::Fixed(values) => {
                values.push(ByteArray::from(self.scalar.bytes(random, out)).into());
            }
        }
    }

    /// Writes all values to the next chunk of a file.
    pub(super) fn write(&self, writer: &mut ColumnWriter<'_>) {
        let (def, rep) = (Some(&self.def[..]), Some(&self.rep[..]));
        let written = match (&self.values, writer) {
            (Values::Integers(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(values, def, rep)
            }
            (Values::Bools(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, def, rep)
            }
            (Values::Days(values), ColumnWriter::Int96ColumnWriter(writer)) => {
                writer.write_batch(values, def, rep)
            }
            (Values::Bytes(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, def, rep)
            }
            (Values::Fixed(values), ColumnWriter::FixedLenByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, def, rep)
            }
            _ => unreachable!("the schema has other storage than the values"),
        };
        written.unwrap();
    }
}

impl Scalar {
    /// Returns a random value's bytes, and adds its text to `out`.
    fn bytes(self, random: &mut Random, out: &mut String) -> Vec<u8> {
        match self {
            Scalar::Text => {
                let value = text(random);
                write!(out, "{value:?}").unwrap();
                value.into_bytes()
            }
            Scalar::Uuid => {
                let bytes: Vec<u8> = (0..16).map(|_| random.next() as u8).collect();
                let mut digits = String::new();
                hex(&bytes, &mut digits);
                let digits = digits.trim_matches('"');
                let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
                write!(out, "\"{}\"", parts.join("-")).unwrap();
                bytes
            }
            Scalar::Float16 => half(random, out).to_le_bytes().to_vec(),
            Scalar::Interval => {
                let bytes: Vec<u8> = (0..12).map(|_| random.next() as u8).collect();
                hex(&bytes, out);
                bytes
            }
            Scalar::Decimal { digits, scale, width } => decimal(digits, scale, width, random, out),
            Scalar::Integer | Scalar::Bool | Scalar::Int96 => unreachable!("no bytes"),
        }
    }
}

/// Returns a random half-precision number. Whole numbers to 2048 are exact, and so are their texts.
fn half(random: &mut Random, out: &mut String) -> u16 {
    let (stored, text) = match random.below(8) {
        0 => (0x7e01, "\"NaN\"".to_string()),
        1 => (0x7c00, "\"Infinity\"".to_string()),
        2 => (0xfc00, "\"-Infinity\"".to_string()),
        3 => (0x8000, "-0.0".to_string()),
        4 => (0x0000, "0.0".to_string()),
        _ => {
            let number = 1 + random.below(2047) as u16;
            let exponent = number.ilog2() as u16;
            let fraction = (number << (10 - exponent)) & 0x3ff;
            let is_negative = random.once_in(2);
            let sign = if is_negative { "-" } else { "" };
            let stored = u16::from(is_negative) << 15 | (exponent + 15) << 10 | fraction;
            (stored, format!("{sign}{number}.0"))
        }
    };
    out.push_str(&text);
    stored
}

/// Returns random digits as a big-endian number in two's complement, by digit-wise arithmetic.
fn decimal(
    digits: usize,
    scale: usize,
    width: Option<usize>,
    random: &mut Random,
    out: &mut String,
) -> Vec<u8> {
    let len = if random.once_in(3) { digits } else { 1 + random.below(digits as u64) as usize };
    let text: Vec<u8> = (0..len).map(|_| random.below(10) as u8).collect();
    // The least significant byte is first, and there is space for the sign.
    let mut number = vec![0u8; width.unwrap_or(len / 2 + 1)];
    for digit in &text {
        let mut carry = u32::from(*digit);
        for byte in &mut number {
            carry += u32::from(*byte) * 10;
            *byte = carry as u8;
            carry >>= 8;
        }
        assert_eq!(carry, 0, "the number is as wide as its digits need");
    }
    let is_negative = random.once_in(2) && text.iter().any(|digit| *digit != 0);
    if is_negative {
        let mut carry = true;
        for byte in &mut number {
            (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
        }
    }
    number.reverse();
    let text: String = text.iter().map(|digit| char::from(b'0' + digit)).collect();
    let text = text.trim_start_matches('0');
    let text = format!("{text:0>width$}", width = scale + 1);
    let (whole, fraction) = text.split_at(text.len() - scale);
    let sign = if is_negative { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    write!(out, "\"{sign}{whole}{point}{fraction}\"").unwrap();
    number
}
