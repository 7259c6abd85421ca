//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: byte arrays whose lengths are delta streams.
//!
//! ```text
//! DELTA_LENGTH_BYTE_ARRAY   lengths | bytes of all values
//! DELTA_BYTE_ARRAY          prefix lengths | suffix lengths | bytes of all suffixes
//!                           value[i] = front of value[i - 1] + suffix[i]
//! ```
//!
//! Values of the first kind stand in the page as they are: [`DeltaLengthByteArray`] hands out where.
//! Values of the second kind are made one from the other: [`DeltaByteArray`] keeps the last one and
//! copies each out in turn. What the values of one page may add up to is bounded, since a few bytes of
//! input can stand for a long prefix time and again.

use vector::{Buffer, BufferMut, Error, Result};

use super::delta_binary_packed::DeltaBinaryPacked;
use super::plain::appended;

/// Lengths that are decoded at once.
const CHUNK: usize = 256;

/// What the values of one DELTA_BYTE_ARRAY page may add up to.
const MAX_PAGE_BYTES: usize = 1 << 30;

/// Bytes of the length in front of a PLAIN byte array.
const LENGTH_BYTES: usize = 4;

/// Some lengths of a stream, decoded into `chunk`.
fn next_lengths<'c>(
    stream: &mut DeltaBinaryPacked,
    num_values: usize,
    chunk: &'c mut [[u8; 4]; CHUNK],
) -> Result<&'c [[u8; 4]]> {
    let (lengths, _) = chunk.split_at_mut(num_values.min(CHUNK));
    stream.read(lengths)?;
    Ok(lengths)
}

/// A decoder over the values of a DELTA_LENGTH_BYTE_ARRAY page.
#[derive(Debug, Clone)]
pub struct DeltaLengthByteArray {
    lengths: DeltaBinaryPacked,
    bytes: Buffer<u8>,
    /// Where the next value starts.
    at: usize,
}

impl DeltaLengthByteArray {
    /// A decoder over the value bytes of a page with at most `max_values` values.
    pub fn new(bytes: Buffer<u8>, max_values: usize) -> Result<Self> {
        let lengths = DeltaBinaryPacked::new(bytes.clone(), 32, max_values)?;
        let at = lengths.end_position()?;
        Ok(DeltaLengthByteArray { lengths, bytes, at })
    }

    /// Values still to come.
    pub fn remaining(&self) -> usize {
        self.lengths.remaining()
    }

    /// Calls `value` with start and end of each of the next `num_values` values in the page's
    /// value bytes; both always lie inside.
    pub fn each(&mut self, num_values: usize, mut value: impl FnMut(usize, usize)) -> Result<()> {
        self.each_stored(num_values, |_, start, end| value(start, end))
    }

    /// Like [`DeltaLengthByteArray::each`], with the length as it is stored.
    fn each_stored(
        &mut self,
        num_values: usize,
        mut value: impl FnMut(&[u8; 4], usize, usize),
    ) -> Result<()> {
        let mut chunk = [[0; 4]; CHUNK];
        let mut left = num_values;
        while left > 0 {
            let lengths = next_lengths(&mut self.lengths, left, &mut chunk)?;
            for stored in lengths {
                // A negative length is larger than any page when it is taken as unsigned.
                let len = u32::from_le_bytes(*stored) as usize;
                if len > self.bytes.len().saturating_sub(self.at) {
                    return Err(too_long(*stored, self.at, self.bytes.len()));
                }
                value(stored, self.at, self.at + len);
                self.at += len;
            }
            left -= lengths.len();
        }
        Ok(())
    }

    /// Appends the next `num_values` values to `out`, each with its length in front as PLAIN has
    /// them.
    pub fn read(&mut self, num_values: usize, out: &mut BufferMut<u8>) -> Result<()> {
        let bytes = self.bytes.clone();
        self.each_stored(num_values, |length, start, end| {
            out.extend_from_slice(length);
            out.extend_from_slice(bytes.get(start..end).unwrap_or(&[]));
        })
    }

    /// Passes over `num_values` values.
    pub fn skip(&mut self, num_values: usize) -> Result<()> {
        self.each(num_values, |_, _| {})
    }

    /// `Corrupt` when fewer than `wanted` values are left.
    pub fn check_left(&self, wanted: usize) -> Result<()> {
        self.lengths.check_left(wanted)
    }

    /// Where the last value that was read or skipped ends.
    pub fn end(&self) -> usize {
        self.at
    }

    /// The page's value bytes, which the positions of [`DeltaLengthByteArray::each`] are in.
    pub fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }
}

/// A decoder over the values of a DELTA_BYTE_ARRAY page.
#[derive(Debug, Clone)]
pub struct DeltaByteArray {
    prefixes: DeltaBinaryPacked,
    suffixes: DeltaBinaryPacked,
    bytes: Buffer<u8>,
    /// Where the next suffix starts.
    at: usize,
    /// The value read last.
    last: Vec<u8>,
    /// What the values read so far add up to.
    page_bytes: usize,
    longest: Longest,
    width: Option<usize>,
}

/// What a [`DeltaByteArray`] may rely on.
#[derive(Debug, Clone, Default)]
pub struct DeltaByteArrayParams {
    /// The most values there can be.
    pub max_values: usize,
    /// What each value takes, in a column of fixed length.
    pub width: Option<usize>,
    /// The last value of the page before, for writers that went on from there (PARQUET-246);
    /// `None` for all others, where the first value has no prefix.
    pub carried: Option<Vec<u8>>,
}

impl DeltaByteArray {
    /// A decoder over the value bytes of a page.
    pub fn new(bytes: Buffer<u8>, params: DeltaByteArrayParams) -> Result<Self> {
        let prefixes = DeltaBinaryPacked::new(bytes.clone(), 32, params.max_values)?;
        let second = prefixes.end_position()?;
        let rest = bytes.slice(second.min(bytes.len())..bytes.len());
        let suffixes = DeltaBinaryPacked::new(rest, 32, params.max_values)?;
        if prefixes.num_values() != suffixes.num_values() {
            return Err(Error::corrupt("a page has more prefixes than suffixes, or fewer")
                .with("prefixes", prefixes.num_values())
                .with("suffixes", suffixes.num_values()));
        }
        let at = second + suffixes.end_position()?;
        let last = params.carried.unwrap_or_default();
        let longest = Longest(last.len().saturating_add(bytes.len()));
        let width = params.width;
        Ok(DeltaByteArray { prefixes, suffixes, bytes, at, last, page_bytes: 0, longest, width })
    }

    /// Values still to come.
    pub fn remaining(&self) -> usize {
        self.prefixes.remaining()
    }

    /// Appends the next `num_values` values to `out`, each with its length in front as PLAIN has
    /// them, or without in a column of fixed length.
    ///
    /// `Limit` when the values of the page add up to more than is sane.
    pub fn read(&mut self, num_values: usize, out: &mut BufferMut<u8>) -> Result<()> {
        self.walk(num_values, Some(out))
    }

    /// Passes over `num_values` values: suffixes are put together, nothing else is copied.
    pub fn skip(&mut self, num_values: usize) -> Result<()> {
        self.walk(num_values, None)
    }

    /// The value read last, if it is the last one of the page: what
    /// [`DeltaByteArrayParams::carried`] of the next page takes.
    pub fn into_last(self) -> Option<Vec<u8>> {
        (self.remaining() == 0).then_some(self.last)
    }

    /// Makes the next `num_values` values, one from the other.
    fn walk(&mut self, num_values: usize, mut out: Option<&mut BufferMut<u8>>) -> Result<()> {
        let (mut prefixes, mut suffixes) = ([[0; 4]; CHUNK], [[0; 4]; CHUNK]);
        let mut left = num_values;
        while left > 0 {
            let prefixes = next_lengths(&mut self.prefixes, left, &mut prefixes)?;
            let suffixes = next_lengths(&mut self.suffixes, left, &mut suffixes)?;
            left -= prefixes.len();
            let lengths = prefixes.iter().zip(suffixes);
            let Some(out) = &mut out else {
                self.skip_chunk(lengths)?;
                continue;
            };
            // Before memory is taken for lengths that the values before do not have.
            self.check_chunk(prefixes.iter().zip(suffixes))?;
            let total = self.longest.checked_total(prefixes, suffixes)?;
            self.page_bytes = self.page_bytes.saturating_add(total);
            if self.page_bytes > MAX_PAGE_BYTES {
                return Err(Error::limit("the values of a page add up to too many bytes")
                    .with("max", MAX_PAGE_BYTES));
            }
            let between = if self.width.is_none() { LENGTH_BYTES } else { 0 };
            let slots = appended(out, total + between * prefixes.len())?;
            self.read_chunk(lengths, between, slots)?;
        }
        Ok(())
    }

    /// Checks that each prefix is at most as long as the value in front of it, and that the suffixes
    /// are there.
    fn check_chunk<'l>(&self, lengths: impl Iterator<Item = Lengths<'l>>) -> Result<()> {
        let (mut before, mut at) = (self.last.len(), self.at);
        for (prefix, suffix) in lengths {
            let prefix_bytes = self.prefix(prefix, before)?;
            let suffix_bytes = suffix_of(&self.bytes, at, *suffix)?.len();
            before = prefix_bytes + suffix_bytes;
            at += suffix_bytes;
        }
        Ok(())
    }

    /// Puts values together in `last`.
    fn skip_chunk<'l>(&mut self, lengths: impl Iterator<Item = Lengths<'l>>) -> Result<()> {
        for (prefix, suffix) in lengths {
            let prefix_bytes = self.prefix(prefix, self.last.len())?;
            let suffix = suffix_of(&self.bytes, self.at, *suffix)?;
            self.last.truncate(prefix_bytes);
            self.last.extend_from_slice(suffix);
            self.at += suffix.len();
            self.check_width(self.last.len())?;
        }
        Ok(())
    }

    /// Puts values together in `slots`, each from the one in front of it: `between` bytes are left
    /// for the length of each.
    fn read_chunk<'l>(
        &mut self,
        lengths: impl Iterator<Item = Lengths<'l>>,
        between: usize,
        mut slots: &mut [u8],
    ) -> Result<()> {
        let mut last: &[u8] = &self.last;
        for (prefix, suffix) in lengths {
            let prefix_bytes = self.prefix(prefix, last.len())?;
            let suffix = suffix_of(&self.bytes, self.at, *suffix)?;
            let len = prefix_bytes + suffix.len();
            self.check_width(len)?;
            let parts = slots.split_at_mut_checked(between).and_then(|(head, rest)| {
                let (value, rest) = rest.split_at_mut_checked(len)?;
                Some((head, value, rest, last.get(..prefix_bytes)?))
            });
            let Some((head, value, rest, front)) = parts else {
                return Err(Error::internal("values are longer than their lengths"));
            };
            // Prefixes come from values before, so that no value is longer than its page.
            let stored = u32::try_from(len)
                .map_err(|_| Error::corrupt("a value is too long").with("length", len))?;
            for (to, from) in head.iter_mut().zip(stored.to_le_bytes()) {
                *to = from;
            }
            let (value_front, value_back) = value.split_at_mut(front.len());
            value_front.copy_from_slice(front);
            value_back.copy_from_slice(suffix);
            self.at += suffix.len();
            (last, slots) = (value, rest);
        }
        self.last = last.to_vec();
        Ok(())
    }

    /// The bytes that a value shares with the one before, which has `before`.
    #[inline(always)]
    fn prefix(&self, stored: &[u8; 4], before: usize) -> Result<usize> {
        let prefix_bytes = u32::from_le_bytes(*stored) as usize;
        if prefix_bytes > before { Err(prefix_too_long(*stored, before)) } else { Ok(prefix_bytes) }
    }

    #[inline(always)]
    fn check_width(&self, found: usize) -> Result<()> {
        match self.width {
            Some(width) if width != found => Err(wrong_width(found, width)),
            _ => Ok(()),
        }
    }
}

/// Prefix and suffix length of a value, as stored.
type Lengths<'l> = (&'l [u8; 4], &'l [u8; 4]);

#[inline(always)]
fn suffix_of(bytes: &Buffer<u8>, at: usize, stored: [u8; 4]) -> Result<&[u8]> {
    let len = u32::from_le_bytes(stored) as usize;
    let rest = bytes.as_slice().get(at..).unwrap_or(&[]);
    rest.get(..len).ok_or_else(|| too_long(stored, at, bytes.len()))
}

/// The longest value that a page can have: all there is.
#[derive(Debug, Clone, Copy)]
struct Longest(usize);

impl Longest {
    /// What lengths add up to, each of which is at most that long.
    fn checked_total(self, prefixes: &[[u8; 4]], suffixes: &[[u8; 4]]) -> Result<usize> {
        let lengths = prefixes.iter().chain(suffixes);
        let (mut total, mut longest) = (0, [0; 4]);
        for length in lengths {
            total += u64::from(u32::from_le_bytes(*length));
            if u32::from_le_bytes(*length) > u32::from_le_bytes(longest) {
                longest = *length;
            }
        }
        if u32::from_le_bytes(longest) as usize > self.0 {
            return Err(too_long(longest, 0, self.0));
        }
        usize::try_from(total).map_err(|_| too_long(longest, 0, self.0))
    }
}

#[cold]
fn too_long(stored: [u8; 4], at: usize, bytes: usize) -> Error {
    Error::corrupt("a byte array reaches behind the end of its page")
        .with("offset", at)
        .with("length", i32::from_le_bytes(stored))
        .with("left", bytes.saturating_sub(at))
}

#[cold]
fn prefix_too_long(stored: [u8; 4], before: usize) -> Error {
    Error::corrupt("a prefix is longer than the value before")
        .with("prefix", i32::from_le_bytes(stored))
        .with("before", before)
}

#[cold]
fn wrong_width(found: usize, expected: usize) -> Error {
    Error::corrupt("a value has not the fixed length of its column")
        .with("expected", expected)
        .with("found", found)
}

#[cfg(test)]
mod tests {
    use super::super::delta_binary_packed::tests::encode;
    use super::*;
    use vector::ErrorKind;

    fn lengths(values: impl Iterator<Item = usize>) -> Vec<u8> {
        encode(&values.map(|v| v as i64).collect::<Vec<_>>(), 32, (128, 4))
    }

    fn encode_lengths(values: &[Vec<u8>]) -> Vec<u8> {
        let mut out = lengths(values.iter().map(Vec::len));
        out.extend(values.concat());
        out
    }

    fn encode_prefixes(values: &[Vec<u8>], carried: &[u8]) -> Vec<u8> {
        let mut before = carried;
        let (mut prefixes, mut suffixes) = (Vec::new(), Vec::new());
        for value in values {
            let shared = before.iter().zip(value).take_while(|(a, b)| a == b).count();
            prefixes.push(shared);
            suffixes.push(&value[shared..]);
            before = value;
        }
        let mut out = lengths(prefixes.into_iter());
        out.extend(lengths(suffixes.iter().map(|s| s.len())));
        out.extend(suffixes.concat());
        out
    }

    fn samples() -> Vec<Vec<Vec<u8>>> {
        let text = |n: usize| format!("{}{n}", "prefix/".repeat(n % 5)).into_bytes();
        vec![
            vec![],
            vec![vec![]],
            ["axis", "axle", "babble", "babyhood"].map(|s| s.as_bytes().to_vec()).to_vec(),
            ["Hello", "World", "Foobar", "ABCDEF"].map(|s| s.as_bytes().to_vec()).to_vec(),
            (0..700).map(text).collect(),
            vec![b"the same again".to_vec(); 300],
        ]
    }

    fn open_lengths(bytes: &[u8]) -> Result<DeltaLengthByteArray> {
        DeltaLengthByteArray::new(Buffer::from_slice(bytes), 1000)
    }

    fn open_prefixes(bytes: &[u8]) -> Result<DeltaByteArray> {
        let params = DeltaByteArrayParams { max_values: 1000, ..Default::default() };
        DeltaByteArray::new(Buffer::from_slice(bytes), params)
    }

    fn read_lengths(decoder: &mut DeltaLengthByteArray, n: usize) -> Result<Vec<Vec<u8>>> {
        let mut out = Vec::new();
        let bytes = decoder.bytes.clone();
        decoder.each(n, |start, end| out.push(bytes[start..end].to_vec()))?;
        Ok(out)
    }

    fn read_prefixes(decoder: &mut DeltaByteArray, n: usize) -> Result<Vec<Vec<u8>>> {
        let mut out = BufferMut::new();
        decoder.read(n, &mut out)?;
        Ok(from_plain(&out))
    }

    fn from_plain(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        while let Some((len, rest)) = bytes.split_first_chunk::<4>() {
            let (value, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
            values.push(value.to_vec());
            bytes = rest;
        }
        values
    }

    #[test]
    fn the_worked_examples_of_the_format_decode() {
        let mut bytes = vec![0x80, 1, 4, 4, 0x0a, 0, 1, 0, 0, 0, 2, 0, 0, 0];
        bytes.extend(b"HelloWorldFoobarABCDEF");
        let values = read_lengths(&mut open_lengths(&bytes).unwrap(), 4).unwrap();
        assert_eq!(values, samples()[3]);

        let mut bytes = vec![0x80, 1, 4, 4, 0, 3, 3, 0, 0, 0, 0x44, 1];
        bytes.extend([0; 10]);
        bytes.extend([0x80, 1, 4, 4, 8, 3, 3, 0, 0, 0, 0x70]);
        bytes.extend([0; 11]);
        bytes.extend(b"axislebabbleyhood");
        let values = read_prefixes(&mut open_prefixes(&bytes).unwrap(), 4).unwrap();
        assert_eq!(values, samples()[2]);
    }

    #[test]
    fn reading_in_any_cuts_and_after_skips_gives_the_same_values() {
        for values in samples() {
            let (a, b) = (encode_lengths(&values), encode_prefixes(&values, b""));
            for cut in [0, 1, 3, 255, 256, 300] {
                let Some(rest) = values.get(cut..) else { continue };
                let mut decoder = open_lengths(&a).unwrap();
                decoder.skip(cut).unwrap();
                let mut plain = BufferMut::new();
                decoder.clone().read(rest.len(), &mut plain).unwrap();
                assert_eq!(from_plain(&plain), rest);
                assert_eq!(read_lengths(&mut decoder, rest.len()).unwrap(), rest);
                assert_eq!(decoder.remaining(), 0);
                assert!(decoder.skip(1).is_err());
                let mut decoder = open_prefixes(&b).unwrap();
                decoder.skip(cut).unwrap();
                let mut found = read_prefixes(&mut decoder, rest.len() / 2).unwrap();
                found.extend(read_prefixes(&mut decoder, rest.len() - rest.len() / 2).unwrap());
                assert_eq!(found, rest);
                assert!(decoder.skip(1).is_err());
                assert_eq!(decoder.into_last(), Some(values.last().cloned().unwrap_or_default()));
            }
        }
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        for values in samples() {
            let n = values.len();
            for (bytes, is_lengths) in
                [(encode_lengths(&values), true), (encode_prefixes(&values, b""), false)]
            {
                let read = |bytes: &[u8]| match is_lengths {
                    true => read_lengths(&mut open_lengths(bytes)?, n),
                    false => read_prefixes(&mut open_prefixes(bytes)?, n),
                };
                for len in 0..bytes.len() {
                    if let Ok(found) = read(&bytes[..len]) {
                        assert_eq!(found, values);
                    }
                }
                for at in 0..bytes.len().min(300) {
                    for flip in [1, 0x80, 0xff] {
                        let mut bytes = bytes.clone();
                        bytes[at] ^= flip;
                        let _ = read(&bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn lengths_below_zero_and_prefixes_out_of_nowhere_are_refused() {
        let mut bytes = encode(&[3, -1], 32, (128, 4));
        bytes.extend(b"abcdef");
        assert_eq!(
            open_lengths(&bytes).unwrap().skip(2).unwrap_err().to_string(),
            "corrupt: a byte array reaches behind the end of its page \
             (offset=13 length=-1 left=3)"
        );
        let values = [b"abcd".to_vec(), b"abce".to_vec()];
        let bytes = encode_prefixes(&values, b"abx");
        let error = open_prefixes(&bytes).unwrap().skip(2).unwrap_err();
        assert_eq!(error.message(), "a prefix is longer than the value before");
        let params =
            DeltaByteArrayParams { max_values: 2, width: Some(4), carried: Some(b"abx".to_vec()) };
        let mut decoder = DeltaByteArray::new(Buffer::from_slice(&bytes), params).unwrap();
        let mut out = BufferMut::new();
        decoder.read(2, &mut out).unwrap();
        assert_eq!(out.as_slice(), b"abcdabce");
    }

    #[test]
    fn values_of_a_column_of_fixed_length_have_that_length() {
        let bytes = encode_prefixes(&[b"abcd".to_vec(), b"abc".to_vec()], b"");
        let params = DeltaByteArrayParams { max_values: 2, width: Some(4), carried: None };
        let mut decoder = DeltaByteArray::new(Buffer::from_slice(&bytes), params).unwrap();
        decoder.skip(1).unwrap();
        let error = decoder.skip(1).unwrap_err();
        assert_eq!(error.message(), "a value has not the fixed length of its column");
    }

    #[test]
    fn a_long_prefix_over_and_over_ends_at_a_limit() {
        let long = vec![7u8; 5 << 20];
        let n = 250;
        let mut bytes = lengths((0..n).map(|i| if i == 0 { 0 } else { long.len() }));
        bytes.extend(lengths((0..n).map(|i| if i == 0 { long.len() } else { 0 })));
        bytes.extend(&long);
        let params = DeltaByteArrayParams { max_values: n, ..Default::default() };
        let mut decoder = DeltaByteArray::new(Buffer::from_slice(&bytes), params).unwrap();
        let error = decoder.clone().read(n, &mut BufferMut::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        decoder.skip(n).unwrap();
    }
}
