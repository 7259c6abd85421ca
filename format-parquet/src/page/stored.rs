//! Pages in their stored form: their positions and their headers.
//!
//! ```text
//! chunk's bytes  | header, body | header, body | ...   --page_at-->  StoredPage
//! ```
//!
//! No body is decompressed or decrypted here. [`PageReader`](super::PageReader) reads one page
//! after the other; [`StoredPages`] is for inspection and returns all pages, including those that
//! readers skip, up to the first invalid bytes.

use std::ops::Range;

use vector::{Buffer, Error, Result, ResultExt};

use super::decompress::crc32;
use crate::decrypt::{ChunkDecryptor, ModuleKind};
use crate::statistics::Statistics;
use crate::thrift::page_header::{parse_page_header, parse_page_statistics};
use crate::thrift::structs::{PageHeader, PageKind};

/// Maximum number of bytes of a page header; headers may hold bounds of long strings.
pub(super) const MAX_HEADER_BYTES: usize = 16 << 20;

/// A page with a parsed header.
#[derive(Debug)]
pub struct StoredPage {
    /// The header.
    pub header: PageHeader,
    /// Offset of the header in the chunk's bytes.
    pub header_at: usize,
    /// Range of the body in the chunk's bytes.
    pub body: Range<usize>,
}

impl StoredPage {
    /// Returns the number of values of a data page, nulls included; `None` for other pages.
    pub fn num_values(&self) -> Option<usize> {
        match &self.header.kind {
            PageKind::Data(v1) => Some(v1.num_values),
            PageKind::DataV2(v2) => Some(v2.num_values),
            PageKind::Dictionary(_) | PageKind::Index | PageKind::Unknown(_) => None,
        }
    }

    /// Compares the body with the checksum in the header, if there is one. SPEC: the checksum is
    /// computed over the bytes as stored in the file (rule P3.10).
    ///
    /// # Errors
    ///
    /// `Corrupt` when they differ.
    pub fn verify_checksum(&self, body: &[u8]) -> Result<()> {
        let Some(stored) = self.header.crc else { return Ok(()) };
        let computed = crc32(body);
        if stored == computed {
            return Ok(());
        }
        Err(Error::corrupt("the page's bytes do not match its checksum")
            .with("stored", format_args!("{stored:08x}"))
            .with("computed", format_args!("{computed:08x}")))
    }
}

/// The position of a header.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderLocation<'a> {
    /// Offset of the chunk in the file, for messages.
    pub(super) chunk_offset: u64,
    /// Number of bytes that the chunk's pages may take.
    pub(super) chunk_bytes: usize,
    /// Offset of the header in these bytes.
    pub(super) at: usize,
    /// Number of data pages before it.
    pub(super) ordinal: usize,
    pub(super) decryptor: Option<&'a ChunkDecryptor>,
}

impl HeaderLocation<'_> {
    /// Returns the page with the header at the start of `bytes`.
    pub(super) fn page(self, bytes: &[u8]) -> Result<StoredPage> {
        let offset = self.chunk_offset.saturating_add(self.at as u64);
        let window = bytes.get(..MAX_HEADER_BYTES).unwrap_or(bytes);
        let (header, header_bytes) = self.header(window).in_place("page header at", offset)?;
        let start = self.at.saturating_add(header_bytes);
        let end = start.checked_add(header.compressed_bytes).filter(|e| *e <= self.chunk_bytes);
        let Some(end) = end else {
            return Err(Error::corrupt("a page reaches behind the end of its column chunk")
                .with("offset", offset)
                .with("page_bytes", header.compressed_bytes)
                .with("left", self.chunk_bytes.saturating_sub(start)));
        };
        Ok(StoredPage { header, header_at: self.at, body: start..end })
    }

    /// Returns a header, and the number of bytes that it takes in the chunk.
    fn header(self, bytes: &[u8]) -> Result<(PageHeader, usize)> {
        let Some(decryptor) = self.decryptor else { return parse_page_header(bytes) };
        // The kind of a header is part of the additional data of its encryption; the first one may
        // be of either kind.
        let mut opened = decryptor.decrypt(ModuleKind::DataPageHeader(self.ordinal), bytes);
        if opened.is_err() && self.at == 0 {
            opened = decryptor.decrypt(ModuleKind::DictionaryPageHeader, bytes);
        }
        let (plain, taken) = opened?;
        parse_page_header(&plain).map(|(header, _)| (header, taken))
    }
}

/// Iterates over the pages in some bytes, and returns an error at the end if the bytes are invalid.
#[derive(Debug)]
pub struct StoredPages {
    offset: u64,
    bytes: Buffer<u8>,
    decryptor: Option<ChunkDecryptor>,
    at: usize,
    next_ordinal: usize,
    /// Number of values that have to follow, and the stated end of the pages; `None` to continue to
    /// the end of the bytes.
    promised: Option<(u64, u64)>,
    is_over: bool,
}

impl StoredPages {
    /// Creates an iterator over the pages in `bytes`, which start at `offset` in the file.
    pub fn new(offset: u64, bytes: Buffer<u8>, decryptor: Option<ChunkDecryptor>) -> Self {
        StoredPages {
            offset,
            bytes,
            decryptor,
            at: 0,
            next_ordinal: 0,
            promised: None,
            is_over: false,
        }
    }

    /// Ends after the page with the last of `num_values` values; later pages without values are
    /// included if they are within `num_bytes`.
    pub fn until(mut self, num_values: u64, num_bytes: u64) -> Self {
        self.promised = Some((num_values, num_bytes));
        self
    }

    /// Returns the bytes that contain the pages.
    pub fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }

    /// Returns the offset in the file of a byte of [`StoredPages::bytes`].
    pub fn file_offset(&self, at: usize) -> u64 {
        self.offset.saturating_add(at as u64)
    }

    /// Returns the statistics in a page's header; `None` when there are none, and for encrypted
    /// headers.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the statistics are invalid.
    pub fn header_statistics(&self, page: &StoredPage) -> Result<Option<Statistics>> {
        let header = self.bytes.get(page.header_at..page.body.start).unwrap_or(&[]);
        match self.decryptor {
            Some(_) => Ok(None),
            None => parse_page_statistics(header, &page.header),
        }
    }

    /// Returns the next page, with its number if it is a data page.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the next header is invalid; also the errors of decryption.
    pub fn next_page(&mut self) -> Result<Option<(StoredPage, Option<usize>)>> {
        let is_complete = match self.promised {
            Some((values, bytes)) => {
                if values == 0 && self.at as u64 >= bytes {
                    self.is_over = true;
                }
                values == 0
            }
            None => false,
        };
        if self.is_over || (self.promised.is_none() && self.at >= self.bytes.len()) {
            return Ok(None);
        }
        if !is_complete && self.at >= self.bytes.len() {
            self.is_over = true;
            return Err(Error::corrupt("the column chunk ends before its values do")
                .with("offset", self.file_offset(self.at))
                .with("missing_values", self.promised.map_or(0, |(values, _)| values)));
        }
        let place = HeaderLocation {
            chunk_offset: self.offset,
            chunk_bytes: self.bytes.len(),
            at: self.at,
            ordinal: self.next_ordinal,
            decryptor: self.decryptor.as_ref(),
        };
        let page = match place.page(self.bytes.as_slice().get(self.at..).unwrap_or(&[])) {
            Ok(page) => page,
            Err(error) => {
                self.is_over = true;
                // Bytes after the last value are not read.
                return if is_complete {
                    Ok(None)
                } else {
                    Err(error.in_place("page", self.next_ordinal))
                };
            }
        };
        if is_complete && page.num_values() != Some(0) {
            self.is_over = true;
            return Ok(None);
        }
        self.at = page.body.end;
        let Some(num_values) = page.num_values() else { return Ok(Some((page, None))) };
        if let Some((values, _)) = &mut self.promised {
            *values = values.saturating_sub(num_values as u64);
        }
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        Ok(Some((page, Some(ordinal))))
    }
}
