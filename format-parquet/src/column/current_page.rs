//! The values of the page that a leaf is at, opened when the first one is asked for.

use dwio::input::cursor::Cursor;
use vector::{Buffer, Error, Result};

use crate::created_by::PageQuirks;
use crate::encoding::byte_arrays::skip_byte_arrays;
use crate::encoding::dictionary::DictionaryIndices;
use crate::encoding::recoded::{Recoded, Storage};
use crate::encoding::{ValueEncoding, value_encoding};
use crate::levels::LevelDecoder;
use crate::page::starts_with_levels;
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
