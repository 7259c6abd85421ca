//! The values of the page that a leaf is at, opened when the first one is asked for.

use dwio::input::cursor::Cursor;
use vector::{Buffer, Error, Result};

use crate::encoding::dictionary::DictionaryIndices;
use crate::encoding::recoded::{Recoded, Storage};
use crate::encoding::{ValueEncoding, value_encoding};
use crate::levels::LevelDecoder;
use crate::thrift::structs::Encoding;

/// A leaf's current page.
#[derive(Debug)]
pub(crate) struct CurrentPage {
    storage: Storage,
    values: PageValues,
    /// The chunk's writer lets the first value of a page go on from the page before.
    carries_prefixes: bool,
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
        CurrentPage { storage, values: PageValues::Absent, carries_prefixes: false, carried: None }
    }

    /// Another chunk starts.
    pub(crate) fn start_chunk(&mut self, carries_prefixes: bool) {
        *self = CurrentPage { carries_prefixes, ..Self::new(self.storage) };
    }

    /// Another page starts; its bytes are not looked at.
    pub(crate) fn start(&mut self, encoding: Encoding, bytes: Buffer<u8>) {
        self.values = PageValues::Closed(encoding, bytes);
    }

    /// Lets go of the page.
    pub(crate) fn end(&mut self) {
        match std::mem::replace(&mut self.values, PageValues::Absent) {
            PageValues::Recoded(recoded) if self.carries_prefixes => {
                self.carried = recoded.into_carried();
            }
            // A page without values stands in nobody's way.
            PageValues::Absent | PageValues::Closed(..) => {}
            _ => self.carried = None,
        }
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
