//! The values of the page that a leaf is at, opened when the first one is asked for.

use dwio::input::cursor::Cursor;
use vector::{Buffer, Error, Result};

use crate::created_by::PageQuirks;
use crate::encoding::byte_arrays::skip_byte_arrays;
use crate::encoding::dictionary::DictionaryIndices;
use crate::encoding::recoded::{Recoded, Storage};
use crate::encoding::{ValueEncoding, value_encoding};
use crate::levels::LevelDecoder;
use crate::thrift::structs::{Encoding, PhysicalType};

/// A leaf's current page.
#[derive(Debug)]
pub(crate) struct CurrentPage {
    storage: Storage,
    values: PageValues,
    /// Of the chunk's writer.
    quirks: PageQuirks,
    /// The last value of the page before, where that is so.
    carried: Option<Vec<u8>>,
}

/// The values of a page, by how they are written.
#[derive(Debug)]
pub(crate) enum PageValues {
    /// No page, or its bytes are given back.
    Absent,
    /// Not looked at yet.
    Closed(Encoding, Buffer<u8>),
    /// Values as they are, from `at` on.
    Plain { bytes: Buffer<u8>, at: usize },
    /// Indices into the dictionary.
    Indices(DictionaryIndices),
    /// Booleans in runs.
    BooleanRuns(LevelDecoder),
    /// Anything else.
    Recoded(Box<Recoded>),
}

impl CurrentPage {
    /// No page of a leaf that is stored like that.
    pub(crate) fn new(storage: Storage) -> Self {
        let quirks = PageQuirks::default();
        CurrentPage { storage, values: PageValues::Absent, quirks, carried: None }
    }

    /// Another chunk starts.
    pub(crate) fn start_chunk(&mut self, quirks: PageQuirks) {
        *self = CurrentPage { quirks, ..Self::new(self.storage) };
    }

    /// Another page starts; its bytes are not looked at.
    pub(crate) fn start(&mut self, encoding: Encoding, bytes: Buffer<u8>) {
        self.values = PageValues::Closed(encoding, bytes);
    }

    /// Lets go of the page.
    pub(crate) fn end(&mut self) {
        match std::mem::replace(&mut self.values, PageValues::Absent) {
            PageValues::Recoded(recoded) if self.quirks.carries_prefixes => {
                self.carried = recoded.into_carried();
            }
            // A page without values stands in nobody's way.
            PageValues::Absent | PageValues::Closed(..) => {}
            _ => self.carried = None,
        }
    }

    /// Checks that the values that are left in the page end it.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the bytes hold fewer or more values.
    pub(crate) fn check_end(&mut self, end: PageEnd) -> Result<()> {
        let PageEnd { values_left: left, walks, .. } = end;
        if let (PageValues::Absent | PageValues::Closed(..), 0) = (&self.values, left) {
            // Every value is null: the bytes may be anything.
            return Ok(());
        }
        let (storage, after_indices) = (self.storage, self.quirks.after_indices);
        let found = match self.open()? {
            PageValues::Absent => return Err(no_page()),
            PageValues::Plain { bytes, at } if storage.physical == PhysicalType::Boolean => {
                // The position counts bits, and the last byte may have some to spare.
                let expected = at.saturating_add(left).div_ceil(8);
                return end.check_bytes(expected, bytes);
            }
            PageValues::Plain { bytes, at } => {
                let taken = match storage.width() {
                    Some(width) => left.saturating_mul(width),
                    None if left == 0 => 0,
                    None if !walks => return Ok(()),
                    None => skip_byte_arrays(bytes.get(*at..).unwrap_or(&[]), left)?,
                };
                let is_fixed = storage.physical == PhysicalType::FixedLenByteArray;
                let end = if is_fixed { end.without_padding() } else { end };
                return end.check_bytes(at.saturating_add(taken), bytes);
            }
            PageValues::Closed(..) => return Err(no_page()),
            PageValues::Indices(indices) => return indices.check_end(left, after_indices),
            PageValues::BooleanRuns(runs) => {
                runs.skip(left)?;
                return runs.check_end();
            }
            PageValues::Recoded(recoded) => {
                let found = recoded.remaining();
                if found == left && walks {
                    recoded.skip(left)?;
                }
                match recoded.as_ref() {
                    Recoded::Lengths(lengths) if found == left && lengths.remaining() == 0 => {
                        return end.without_padding().check_bytes(lengths.end(), lengths.bytes());
                    }
                    _ => found,
                }
            }
        };
        if found == left {
            return Ok(());
        }
        Err(Error::corrupt("the value bytes of a page hold another number of values")
            .with("expected_left", left)
            .with("found_left", found))
    }

    /// The page, opened.
    #[inline]
    pub(crate) fn open(&mut self) -> Result<&mut PageValues> {
        if let PageValues::Closed(encoding, bytes) = &self.values {
            let encoding = value_encoding(*encoding, self.storage.physical)?;
            self.values = match encoding {
                ValueEncoding::Plain => PageValues::Plain { bytes: bytes.clone(), at: 0 },
                ValueEncoding::Dictionary => PageValues::Indices(DictionaryIndices::new(bytes)?),
                ValueEncoding::BooleanRle => PageValues::BooleanRuns(boolean_runs(bytes)?),
                ValueEncoding::DeltaBinaryPacked
                | ValueEncoding::DeltaLengthByteArray
                | ValueEncoding::DeltaByteArray
                | ValueEncoding::ByteStreamSplit
                | ValueEncoding::Alp => {
                    let (bytes, carried) = (bytes.clone(), self.carried.take());
                    let recoded = Recoded::open(encoding, self.storage, bytes, carried)?;
                    PageValues::Recoded(Box::new(recoded))
                }
            };
        }
        Ok(&mut self.values)
    }
}

/// How a page has to end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageEnd {
    /// Values that were neither read nor skipped.
    pub(crate) values_left: usize,
    /// Slots of the whole page.
    pub(crate) num_slots: usize,
    /// Values that are left are walked over, which costs as much as skipping each of them.
    pub(crate) walks: bool,
    /// A few bytes may stand behind PLAIN values: the page is of version 1.
    pub(crate) may_have_padding: bool,
}

/// Bytes that some writers leave behind PLAIN values.
const MAX_PADDING_BYTES: usize = 8;

impl PageEnd {
    /// Nothing may stand behind the last value.
    fn without_padding(self) -> Self {
        PageEnd { may_have_padding: false, ..self }
    }

    /// Compares the end of the values with that of the page.
    fn check_bytes(self, expected: usize, bytes: &[u8]) -> Result<()> {
        let is_padded = |padding| {
            self.may_have_padding
                && padding <= MAX_PADDING_BYTES
                && !starts_with_levels(bytes, self.num_slots)
        };
        match bytes.len().checked_sub(expected) {
            Some(0) => Ok(()),
            Some(padding) if is_padded(padding) => Ok(()),
            _ => Err(Error::corrupt("the value bytes of a page hold another number of values")
                .with("expected_bytes", expected)
                .with("bytes", bytes.len())),
        }
    }
}

/// True when a page may start with the definition levels of all its slots, with their length in
/// front: those of an OPTIONAL column that is read as REQUIRED. Of byte arrays they are taken for
/// the first value.
fn starts_with_levels(bytes: &[u8], num_slots: usize) -> bool {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return false };
    let levels = usize::try_from(u32::from_le_bytes(*length)).ok().and_then(|len| rest.get(..len));
    levels.is_some_and(|levels| num_levels(levels).is_ok_and(|num| num.contains(&num_slots)))
}

/// How many levels up to 1 the runs in `bytes` have, all of which are used and none of which is cut
/// short; an error where the bytes are no such runs, as hardly any text is.
fn num_levels(bytes: &[u8]) -> Result<std::ops::RangeInclusive<usize>> {
    let no_levels = || Error::corrupt("not levels");
    let mut cursor = Cursor::new(bytes);
    let (mut num, mut spare) = (0usize, 0);
    while cursor.position() < bytes.len() {
        let header = cursor.uleb128()?;
        let len = usize::try_from(header >> 1).map_err(|_| no_levels())?;
        if len == 0 {
            return Err(no_levels());
        }
        let in_run = match header & 1 {
            0 if cursor.u8()? > 1 => return Err(no_levels()),
            0 => len,
            _ => {
                cursor.take(len)?;
                // The last group of the last run may have levels to spare.
                spare = if cursor.position() == bytes.len() { 7 } else { 0 };
                len.saturating_mul(8)
            }
        };
        num = num.saturating_add(in_run);
    }
    Ok(num.saturating_sub(spare)..=num)
}

/// SPEC (RLE for booleans): the length of the runs stands in front, in both page versions.
fn boolean_runs(bytes: &Buffer<u8>) -> Result<LevelDecoder> {
    let mut cursor = Cursor::new(bytes);
    let len = cursor.u32_le()? as usize;
    let start = cursor.position();
    cursor.take(len)?;
    LevelDecoder::rle(bytes.slice(start..start + len), 1)
}

#[cold]
pub(crate) fn no_dictionary() -> Error {
    Error::corrupt("a page of dictionary indices in a column chunk without a dictionary")
}

#[cold]
pub(crate) fn no_page() -> Error {
    Error::internal("values were asked for without a page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_in_front_of_a_page_are_told_from_values() {
        let section =
            |levels: &[u8]| [&(levels.len() as u32).to_le_bytes()[..], levels, b"values"].concat();
        let starts = |levels: &[u8], num| starts_with_levels(&section(levels), num);
        // A repeated run, a packed one, and both.
        assert!(starts(&[6, 1], 3) && starts(&[3, 0x2d], 6) && starts(&[3, 0x2d, 6, 0], 11));
        assert!(starts(&[6, 1, 5, 0xff, 0xff], 12) && starts(&[6, 1, 5, 0xff, 0xff], 19));
        // Of another number of values, and what is no run of levels.
        assert!(!starts(&[6, 1], 2) && !starts(&[6, 1], 4) && !starts(&[6, 1, 3, 0xff], 3));
        assert!(!starts(&[6, 2], 3) && !starts(&[5, 0xff], 10));
        assert!(!starts(b"sts.amazonaws.com", 1) && !starts(b"sts.amazonaws.com", 100));
        assert!(!starts_with_levels(b"\x09\0\0\0short", 3) && !starts_with_levels(b"", 0));
    }
}
