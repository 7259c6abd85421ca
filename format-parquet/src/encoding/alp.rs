//! ALP: floats stored as decimal integers; values that are not decimals are stored as exceptions.
//!
//! ```text
//! page     mode 0 | integer encoding 0 | log2 of values of a vector | number of values (i32)
//!          offset of each vector (u32) | vector | vector ...
//! vector   e | f | exceptions (u16) | frame | width | deltas | positions (u16) | values
//!
//! value = (frame + delta) * 10^f * 10^-e
//! ```
//!
//! A vector is decoded as a whole when its first value is read; vectors that are skipped are not
//! examined.

use dwio::input::cursor::Cursor;
use vector::{Buffer, BufferMut, Error, Result};

use super::delta_unpack::{self, Packed};
use super::plain::appended;

const HEADER_BYTES: usize = 7;
const OFFSET_BYTES: usize = 4;
/// Positive and negative powers of ten, each the nearest number of its type.
const TENS_F64: [(f64, f64); 19] = [
    (1e0, 1e-0),
    (1e1, 1e-1),
    (1e2, 1e-2),
    (1e3, 1e-3),
    (1e4, 1e-4),
    (1e5, 1e-5),
    (1e6, 1e-6),
    (1e7, 1e-7),
    (1e8, 1e-8),
    (1e9, 1e-9),
    (1e10, 1e-10),
    (1e11, 1e-11),
    (1e12, 1e-12),
    (1e13, 1e-13),
    (1e14, 1e-14),
    (1e15, 1e-15),
    (1e16, 1e-16),
    (1e17, 1e-17),
    (1e18, 1e-18),
];
const TENS_F32: [(f32, f32); 11] = [
    (1e0, 1e-0),
    (1e1, 1e-1),
    (1e2, 1e-2),
    (1e3, 1e-3),
    (1e4, 1e-4),
    (1e5, 1e-5),
    (1e6, 1e-6),
    (1e7, 1e-7),
    (1e8, 1e-8),
    (1e9, 1e-9),
    (1e10, 1e-10),
];

/// A decoder of the value bytes of a page.
#[derive(Debug, Clone)]
pub struct Alp {
    bytes: Buffer<u8>,
    is_double: bool,
    vector_values: usize,
    num_values: usize,
    /// Number of the next value.
    at: usize,
    /// Number of the vector that is decoded in `plain`.
    decoded: Option<usize>,
    plain: Vec<u8>,
    integers: Vec<u64>,
}

impl Alp {
    /// Creates a decoder of DOUBLE or FLOAT values.
    ///
    /// # Errors
    ///
    /// `Unsupported` for an unknown mode or integer encoding; `Corrupt` when the header is invalid
    /// or the page is too short for its offsets.
    pub fn new(bytes: Buffer<u8>, is_double: bool) -> Result<Self> {
        let mut cursor = Cursor::new(&bytes);
        let [mode, integers, log_values] = cursor.take_array::<3>()?;
        if mode != 0 || integers != 0 {
            return Err(Error::unsupported("ALP of another kind than is known")
                .with("mode", mode)
                .with("integer_encoding", integers));
        }
        if !(3..=15).contains(&log_values) {
            return Err(
                Error::corrupt("ALP vectors of an impossible size").with("log2", log_values)
            );
        }
        let declared = i32::from_le_bytes(cursor.take_array()?);
        let num_values = usize::try_from(declared)
            .map_err(|_| Error::corrupt("a negative number of values").with("found", declared))?;
        let vector_values = 1 << log_values;
        cursor.take(num_values.div_ceil(vector_values).saturating_mul(OFFSET_BYTES))?;
        Ok(Alp {
            bytes,
            is_double,
            vector_values,
            num_values,
            at: 0,
            decoded: None,
            plain: Vec::new(),
            integers: Vec::new(),
        })
    }

    /// Returns the number of values that are not yet read or skipped.
    pub fn remaining(&self) -> usize {
        self.num_values.saturating_sub(self.at)
    }

    /// Appends the next `num_values` values to `out`, in the layout of PLAIN.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values or a vector is invalid.
    pub fn read(&mut self, num_values: usize, out: &mut BufferMut<u8>) -> Result<()> {
        self.check_left(num_values)?;
        let width = if self.is_double { 8 } else { 4 };
        let mut left = num_values;
        while left > 0 {
            let (vector, first) = (self.at / self.vector_values, self.at % self.vector_values);
            if self.decoded != Some(vector) {
                self.decoded = None;
                self.decode(vector).map_err(|e| e.in_place("vector", vector))?;
                self.decoded = Some(vector);
            }
            let now = left.min(self.vector_values - first);
            let values = self.plain.get(first * width..(first + now) * width).unwrap_or(&[]);
            appended(out, values.len())?.copy_from_slice(values);
            self.at += now;
            left -= now;
        }
        Ok(())
    }

    /// Skips `num_values` values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page has fewer values.
    pub fn skip(&mut self, num_values: usize) -> Result<()> {
        self.check_left(num_values)?;
        self.at += num_values;
        Ok(())
    }

    fn check_left(&self, wanted: usize) -> Result<()> {
        if wanted <= self.remaining() {
            return Ok(());
        }
        Err(Error::corrupt("the page has too few values")
            .with("wanted", wanted)
            .with("left", self.remaining()))
    }

    fn decode(&mut self, vector: usize) -> Result<()> {
        let num_values = self.vector_values.min(self.num_values - vector * self.vector_values);
        let body = self.bytes.get(HEADER_BYTES..).unwrap_or(&[]);
        let mut offsets = Cursor::new(body);
        offsets.take(vector.saturating_mul(OFFSET_BYTES))?;
        let offset = offsets.u32_le()? as usize;
        let first = self.num_values.div_ceil(self.vector_values) * OFFSET_BYTES;
        let mut cursor = match body.get(offset..) {
            Some(bytes) if offset >= first => Cursor::new(bytes),
            _ => {
                return Err(Error::corrupt("an ALP vector outside of its page")
                    .with("offset", offset)
                    .with("first", first)
                    .with("bytes", body.len()));
            }
        };
        let [e, f] = cursor.take_array()?;
        let num_exceptions = usize::from(u16::from_le_bytes(cursor.take_array()?));
        let (frame, max_width) = if self.is_double {
            (i64::from_le_bytes(cursor.take_array()?), 64)
        } else {
            (i64::from(i32::from_le_bytes(cursor.take_array()?)), 32)
        };
        let width = cursor.u8()?;
        if width > max_width || f > e || num_exceptions > num_values {
            return Err(Error::corrupt("an ALP vector with impossible parameters")
                .with("exponent", e)
                .with("factor", f)
                .with("width", width)
                .with("exceptions", num_exceptions));
        }
        let packed = cursor.take((num_values * usize::from(width)).div_ceil(8))?;
        self.integers.clear();
        self.integers.resize(num_values, 0);
        let packed = Packed { bytes: packed, width, first: 0 };
        delta_unpack::unpack_all(packed, &mut self.integers);
        self.plain.clear();
        let tens = (usize::from(e), usize::from(f));
        let no_exponent = || Error::corrupt("an ALP exponent out of range").with("exponent", e);
        if self.is_double {
            let (Some((_, down)), Some((up, _))) = (TENS_F64.get(tens.0), TENS_F64.get(tens.1))
            else {
                return Err(no_exponent());
            };
            // Exactly these two roundings: the writer checked that they reproduce the value.
            self.plain.extend(self.integers.iter().flat_map(|delta| {
                let integer = frame.wrapping_add(delta.cast_signed());
                ((integer as f64 * up) * down).to_le_bytes()
            }));
            set_exceptions::<8>(&mut cursor, num_exceptions, &mut self.plain)
        } else {
            let (Some((_, down)), Some((up, _))) = (TENS_F32.get(tens.0), TENS_F32.get(tens.1))
            else {
                return Err(no_exponent());
            };
            self.plain.extend(self.integers.iter().flat_map(|delta| {
                let sum = frame.wrapping_add(delta.cast_signed());
                let [low @ .., _, _, _, _] = sum.to_le_bytes();
                let integer = i32::from_le_bytes(low);
                ((integer as f32 * up) * down).to_le_bytes()
            }));
            set_exceptions::<4>(&mut cursor, num_exceptions, &mut self.plain)
        }
    }
}

/// Replaces the values that are not decimals with their stored bytes.
fn set_exceptions<const N: usize>(
    cursor: &mut Cursor<'_>,
    num_exceptions: usize,
    plain: &mut [u8],
) -> Result<()> {
    let positions = cursor.take(num_exceptions * 2)?.as_chunks::<2>().0;
    let values = cursor.take(num_exceptions * N)?.as_chunks::<N>().0;
    let (slots, _) = plain.as_chunks_mut::<N>();
    for (position, value) in positions.iter().zip(values) {
        let position = u16::from_le_bytes(*position);
        let Some(slot) = slots.get_mut(usize::from(position)) else {
            return Err(Error::corrupt("an ALP exception behind the end of its vector")
                .with("position", position));
        };
        *slot = *value;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::delta_unpack::tests::pack;
    use super::*;

    /// Encodes pages of vectors of eight values, all of them `10^-2` over a frame, with one
    /// exception each.
    fn encode(values: &[f64]) -> Vec<u8> {
        let mut vectors = Vec::new();
        for vector in values.chunks(8) {
            let integers: Vec<i64> = vector.iter().map(|v| (v * 100.0).round() as i64).collect();
            let exact = |v: f64, i: i64| ((i as f64 * 1.0) * 1e-2).to_bits() == v.to_bits();
            let frame = integers.iter().copied().min().unwrap();
            let deltas: Vec<u64> = integers.iter().map(|i| i.wrapping_sub(frame) as u64).collect();
            let width = 64 - deltas.iter().max().unwrap().leading_zeros() as u8;
            let odd: Vec<usize> =
                (0..vector.len()).filter(|i| !exact(vector[*i], integers[*i])).collect();
            let mut out = vec![2, 0];
            out.extend((odd.len() as u16).to_le_bytes());
            out.extend(frame.to_le_bytes());
            out.push(width);
            out.extend(pack(&deltas, width));
            odd.iter().for_each(|i| out.extend((*i as u16).to_le_bytes()));
            odd.iter().for_each(|i| out.extend(vector[*i].to_le_bytes()));
            vectors.push(out);
        }
        let mut out = vec![0, 0, 3];
        out.extend((values.len() as i32).to_le_bytes());
        let mut offset = 4 * vectors.len();
        for vector in &vectors {
            out.extend((offset as u32).to_le_bytes());
            offset += vector.len();
        }
        out.extend(vectors.concat());
        out
    }

    fn read(bytes: &[u8], skipped: usize, n: usize, step: usize) -> Result<Vec<f64>> {
        let mut decoder = Alp::new(Buffer::from_slice(bytes), true)?;
        decoder.skip(skipped)?;
        let mut out = BufferMut::new();
        let mut left = n;
        while left > 0 {
            decoder.read(left.min(step), &mut out)?;
            left -= left.min(step);
        }
        Ok(out.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect())
    }

    fn sample() -> Vec<f64> {
        let odd = [f64::INFINITY, -0.0, std::f64::consts::PI];
        (0..45).map(|i| if i % 11 == 5 { odd[i % 3] } else { i as f64 * 1.37 }).collect()
    }

    #[test]
    fn the_worked_example_of_the_format_decodes() {
        let bytes = [
            &[0, 0, 10, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 4][..],
            &[0xa0],
        ]
        .concat();
        assert_eq!(read(&bytes, 0, 2, 9).unwrap(), [1.5, 2.5]);
        let floats = [0, 0, 10, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 15, 0, 0, 0, 4, 0xa0];
        let mut decoder = Alp::new(Buffer::from_slice(&floats), false).unwrap();
        let mut out = BufferMut::new();
        decoder.read(2, &mut out).unwrap();
        assert_eq!(out.as_slice(), [1.5f32.to_le_bytes(), 2.5f32.to_le_bytes()].concat());
    }

    #[test]
    fn values_and_exceptions_read_in_any_cuts_and_after_skips() {
        let values = sample();
        let bytes = encode(&values);
        for skipped in [0, 1, 7, 8, 20, 44, 45] {
            for step in [1, 3, 8, 100] {
                let found = read(&bytes, skipped, 45 - skipped, step).unwrap();
                let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found), bits(&values[skipped..]), "{skipped} {step}");
            }
        }
        assert!(read(&bytes, 0, 46, 100).is_err());
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        let values = sample();
        let bytes = encode(&values);
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len], 0, 45, 100).is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                let _ = read(&bytes, 0, 45, 100);
            }
        }
    }
}
