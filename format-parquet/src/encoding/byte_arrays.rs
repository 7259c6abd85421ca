//! PLAIN byte arrays and fixed-length values: the position of each value, and views of them.
//!
//! ```text
//! byte arrays    | len | bytes | len | bytes |     found by walking the lengths
//! fixed length   | bytes | bytes |                 found by multiplication
//! ```
//!
//! Every read pays for the walk, also over values that are not selected, since each length is
//! needed to find the next one; an unselected value costs no more than that ([`each_selected`]).

use vector::types::string_view::INLINE_LIMIT;
use vector::{Error, Result, StringView, bits};

/// Number of bytes of the length prefix of a byte array.
pub(super) const LENGTH_BYTES: usize = 4;

/// Location, among the buffers of a vector, of the bytes that views point into.
#[derive(Debug, Clone, Copy)]
pub struct BufferOffset {
    /// Index of the buffer.
    pub buffer: u32,
    /// Offset of the first byte in the buffer.
    pub offset: u32,
}

impl BufferOffset {
    /// Returns the location of the start of buffer number `buffer`, which consists of `bytes`.
    ///
    /// A page has less than 4 GiB, but the total size of values that share prefixes can exceed that
    /// of their page.
    ///
    /// # Errors
    ///
    /// `Limit` when `bytes` has 4 GiB or more.
    pub fn start_of(buffer: u32, bytes: &[u8]) -> Result<BufferOffset> {
        match u32::try_from(bytes.len()) {
            Ok(_) => Ok(BufferOffset { buffer, offset: 0 }),
            Err(_) => Err(Error::limit("the values of a page add up to too many bytes")
                .with("bytes", bytes.len())),
        }
    }
}

/// Returns the view of `start..end` of `bytes`, which must lie inside; `bytes` has less than 4 GiB.
#[inline(always)]
pub fn view_of(bytes: &[u8], start: usize, end: usize, place: BufferOffset) -> StringView {
    let value = bytes.get(start..end).unwrap_or(&[]);
    if value.len() <= INLINE_LIMIT
        && let Some(block) = bytes.get(start..).and_then(|rest| rest.first_chunk::<INLINE_LIMIT>())
    {
        return StringView::inline_of(block, value.len());
    }
    let start = u32::try_from(start).unwrap_or(u32::MAX);
    StringView::new(value, place.buffer, place.offset.wrapping_add(start))
}

/// Calls `f` with each of the first `num_values` byte arrays and returns the number of bytes they
/// take.
///
/// # Errors
///
/// `Corrupt` when `bytes` is too short for them.
pub fn each_byte_array(bytes: &[u8], num_values: usize, mut f: impl FnMut(&[u8])) -> Result<usize> {
    check_count(bytes, num_values, LENGTH_BYTES)?;
    let mut at = 0;
    for _ in 0..num_values {
        let (start, end) = next_byte_array(bytes, at)?;
        f(bytes.get(start..end).unwrap_or(&[]));
        at = end;
    }
    Ok(at)
}

/// Calls `f(start, end)` with the position of each of the first `num_values` values and returns the
/// number of bytes they take. Values have `width` bytes, or a length prefix when `width` is `None`.
///
/// # Errors
///
/// `Corrupt` when `bytes` is too short for them.
pub fn each_place(
    bytes: &[u8],
    num_values: usize,
    width: Option<usize>,
    mut f: impl FnMut(usize, usize),
) -> Result<usize> {
    let Some(width) = width else {
        check_count(bytes, num_values, LENGTH_BYTES)?;
        let mut at = 0;
        for _ in 0..num_values {
            let (start, end) = next_byte_array(bytes, at)?;
            f(start, end);
            at = end;
        }
        return Ok(at);
    };
    let taken = fixed_bytes(bytes, num_values, width)?;
    (0..num_values).for_each(|i| f(i * width, (i + 1) * width));
    Ok(taken)
}

/// Calls `f(i, start, end)` for each selected value among the first `num_values` byte arrays, with
/// its number and its position in `bytes`; bit `i` of `wanted` stands for value `i`. Returns the
/// number of bytes that all of them take.
///
/// # Errors
///
/// `Corrupt` when `bytes` is too short for them.
#[inline]
pub fn each_selected(
    bytes: &[u8],
    num_values: usize,
    wanted: &[u64],
    mut f: impl FnMut(usize, usize, usize),
) -> Result<usize> {
    check_count(bytes, num_values, LENGTH_BYTES)?;
    let mut at = 0;
    for (first, word) in (0..num_values).step_by(64).zip(wanted) {
        let n = (num_values - first).min(64);
        if *word == 0 {
            for _ in 0..n {
                (_, at) = next_byte_array(bytes, at)?;
            }
            continue;
        }
        let mut word = *word;
        for i in first..first + n {
            let (start, end) = next_byte_array(bytes, at)?;
            if word & 1 != 0 {
                f(i, start, end);
            }
            word >>= 1;
            at = end;
        }
    }
    Ok(at)
}

/// Does the same as [`each_selected`] for values of `width` bytes without length prefixes.
///
/// # Errors
///
/// `Corrupt` when `bytes` is too short for them.
#[inline]
pub fn each_selected_fixed(
    bytes: &[u8],
    num_values: usize,
    width: usize,
    wanted: &[u64],
    mut f: impl FnMut(usize, usize, usize),
) -> Result<usize> {
    let taken = fixed_bytes(bytes, num_values, width)?;
    bits::ones(wanted, num_values).for_each(|i| f(i, i * width, (i + 1) * width));
    Ok(taken)
}

/// Returns the number of bytes that the first `num_values` byte arrays take.
///
/// # Errors
///
/// `Corrupt` when `bytes` is too short for them.
pub fn skip_byte_arrays(bytes: &[u8], num_values: usize) -> Result<usize> {
    each_byte_array(bytes, num_values, |_| {})
}

/// Returns the number of bytes that `num_values` values of `width` bytes take.
///
/// # Errors
///
/// `Corrupt` when `bytes` is too short for them.
pub fn fixed_bytes(bytes: &[u8], num_values: usize, width: usize) -> Result<usize> {
    check_count(bytes, num_values, width)?;
    Ok(num_values * width)
}

/// Returns the start and end of the byte array that has its length prefix at `at`.
#[inline(always)]
pub(super) fn next_byte_array(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    if let Some((length, rest)) =
        bytes.get(at..).and_then(|rest| rest.split_first_chunk::<LENGTH_BYTES>())
    {
        let len = u32::from_le_bytes(*length) as usize;
        if len <= rest.len() {
            let start = at + LENGTH_BYTES;
            return Ok((start, start + len));
        }
    }
    Err(byte_array_too_long(bytes, at))
}

#[cold]
fn byte_array_too_long(bytes: &[u8], at: usize) -> Error {
    let error = Error::corrupt("a byte array reaches behind the end of its page")
        .with("offset", at)
        .with("left", bytes.len().saturating_sub(at));
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<LENGTH_BYTES>()) {
        Some(length) => error.with("length", u32::from_le_bytes(*length)),
        None => error,
    }
}

/// Checks that `bytes` can hold `num_values` values of at least `min_bytes` bytes.
///
/// # Errors
///
/// `Corrupt` when there are fewer bytes.
pub fn check_count(bytes: &[u8], num_values: usize, min_bytes: usize) -> Result<()> {
    match num_values.checked_mul(min_bytes) {
        Some(needed) if needed <= bytes.len() => Ok(()),
        _ => Err(Error::corrupt("the page is too short for its values")
            .with("values", num_values)
            .with("bytes_of_a_value", min_bytes)
            .with("bytes", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_short_and_long_strings_point_where_they_should() {
        let long = b"a string of more than twelve bytes";
        let mut bytes = vec![0xee; 7];
        for text in [&b"short"[..], long, b"", b"exactly 12 b"] {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text);
        }
        let place = BufferOffset { buffer: 2, offset: 7 };
        let rest = &bytes[7..];
        let mut out = Vec::new();
        let push = |_, start, end| out.push(view_of(rest, start, end, place));
        let taken = each_selected(rest, 4, &[0b1111], push).unwrap();
        assert_eq!(taken, rest.len());
        assert_eq!(out[0], StringView::inline(b"short"));
        assert_eq!(out[1], StringView::new(long, 2, 7 + 9 + 4));
        assert_eq!(out[2], StringView::inline(b""));
        assert_eq!(out[3], StringView::inline(b"exactly 12 b"));
        assert_eq!(skip_byte_arrays(rest, 4).unwrap(), taken);
        for len in 0..taken {
            assert!(each_selected(&rest[..len], 4, &[1], |_, _, _| {}).is_err());
        }
    }

    #[test]
    fn only_wanted_values_are_handed_out_and_all_are_walked() {
        let strings: Vec<Vec<u8>> = (0..200u8).map(|i| vec![i; usize::from(i % 5)]).collect();
        let mut bytes = Vec::new();
        for string in &strings {
            bytes.extend((string.len() as u32).to_le_bytes());
            bytes.extend(string);
        }
        let wanted = [0x5555, 0, u64::MAX, 0x80];
        let mut found = Vec::new();
        let taken = each_selected(&bytes, 200, &wanted, |i, start, end| {
            assert_eq!(&bytes[start..end], strings[i]);
            found.push(i);
        });
        assert_eq!(taken.unwrap(), bytes.len());
        assert!(found.into_iter().eq(bits::ones(&wanted, 200)));
    }

    #[test]
    fn fixed_strings_may_have_no_width_at_all() {
        let places = |bytes: &[u8], width| {
            let mut found = Vec::new();
            each_selected_fixed(bytes, 2, width, &[3], |i, s, e| found.push((i, s, e))).unwrap();
            found
        };
        assert_eq!(places(b"abcdef", 3), [(0, 0, 3), (1, 3, 6)]);
        assert_eq!(places(b"", 0), [(0, 0, 0), (1, 0, 0)]);
        assert!(each_selected_fixed(b"abcde", 2, 3, &[3], |_, _, _| {}).is_err());
    }
}
