//! The source of the stored bytes of one chunk, which fetches them as its pages are requested.
//!
//! | form | bytes | locations of pages |
//! |---|---|---|
//! | loaded | in memory, perhaps among those of other chunks | each header leads to the next |
//! | file | fetched in pieces ahead of the page; the next piece is announced | as above |
//! | file with places | the page, and more once pages are read in sequence | the offset index |
//!
//! ```text
//! chunk   | page | page | page | page | page | page |
//! places    read   ------- skipped ------   read, then ahead: page, two pages, ...
//! ```
//!
//! With places, skipping a page costs nothing, not even its header. The content of an offset index
//! is compared with the header of each page that is read; and an index is used only when its pages
//! cover every byte of the chunk, so that no page is missing in it.

use std::ops::Range;

use dwio::input::BufferedInput;
use vector::{Buffer, Error, Result};

use super::stored::{HeaderLocation, MAX_HEADER_BYTES, StoredPage};
use crate::page_index::{OffsetIndex, RowRanges};

/// Minimum number of bytes that are fetched for a header: most are shorter, and so are many pages.
const HEADER_WINDOW: usize = 16 << 10;

/// Number of bytes that are first fetched ahead where pages are read in sequence.
const FIRST_AHEAD: usize = 64 << 10;

/// The stored bytes of a chunk.
#[derive(Debug)]
pub struct PageSource {
    bytes: Bytes,
    /// Number of bytes that the pages may take.
    len: usize,
    places: Option<FoundPages>,
    /// The content of an offset index that was read for another purpose, for comparison with
    /// headers.
    locations: Option<PageLocations>,
}

/// The data pages of a flat chunk according to its offset index.
#[derive(Debug)]
struct PageLocations {
    index: OffsetIndex,
    /// Offset of the chunk's bytes in the file.
    start: u64,
    num_rows: u64,
}

#[derive(Debug)]
enum Bytes {
    Loaded(Buffer<u8>),
    File(Box<Pieces>),
}

/// The bytes of a file, of which one piece is in memory.
#[derive(Debug)]
struct Pieces {
    input: BufferedInput,
    /// Offset of the chunk in the file.
    start: u64,
    /// Range of the chunk that is in memory.
    loaded: Range<usize>,
    /// Range that was announced as the next read.
    announced: Range<usize>,
    /// Limit of the bytes after the first piece that will be announced; `None` after the
    /// announcement.
    unannounced: Option<usize>,
    /// Length of the longest part so far.
    longest_part: usize,
    /// Minimum number of bytes that are fetched at the start of the chunk.
    first_piece: usize,
    max_piece: usize,
}

/// The locations of the data pages of a flat chunk, and which of them may be read.
#[derive(Debug)]
pub struct FoundPages {
    pages: Vec<PagePlace>,
    /// Number of bytes that are fetched beyond a page that follows the previous one.
    ahead: usize,
    /// The pages that are in memory.
    fetched: Range<usize>,
}

/// The location of one data page.
#[derive(Debug, Clone)]
struct PagePlace {
    /// Range of header and body, relative to the start of the chunk.
    bytes: Range<usize>,
    num_rows: usize,
    is_wanted: bool,
}

impl From<Buffer<u8>> for PageSource {
    /// Creates a source of pages in memory, which may be followed by some bytes of the next chunk.
    fn from(bytes: Buffer<u8>) -> Self {
        PageSource { len: bytes.len(), bytes: Bytes::Loaded(bytes), places: None, locations: None }
    }
}

impl PageSource {
    /// Creates a source of pages in a region of a file, of which about `max_piece` bytes are held
    /// at a time.
    ///
    /// # Errors
    ///
    /// `Limit` when the chunk is larger than the address space.
    pub fn of_file(input: BufferedInput, region: Range<u64>, max_piece: usize) -> Result<Self> {
        let bytes = region.end.saturating_sub(region.start);
        let len = usize::try_from(bytes).map_err(|_| {
            Error::limit("a column chunk is larger than the address space").with("bytes", bytes)
        })?;
        let (start, loaded, announced) = (region.start, 0..0, 0..0);
        let pieces = Pieces {
            input,
            start,
            loaded,
            announced,
            unannounced: None,
            longest_part: 0,
            first_piece: 0,
            max_piece,
        };
        Ok(PageSource { bytes: Bytes::File(Box::new(pieces)), len, places: None, locations: None })
    }

    /// Sets the minimum number of bytes that are fetched at the start, so that a dictionary page
    /// that is larger than a piece is read at once.
    pub fn with_first_piece(mut self, bytes: usize) -> Self {
        if let Bytes::File(pieces) = &mut self.bytes {
            pieces.first_piece = bytes;
        }
        self
    }

    /// Announces that the chunk will be read from its start.
    pub fn announce(&mut self) {
        if let (Bytes::File(pieces), None) = (&mut self.bytes, &self.places) {
            pieces.announce(0, self.len);
        }
    }

    /// Returns the same source with the locations of its pages.
    pub fn with_places(mut self, places: FoundPages) -> Self {
        self.places = Some(places);
        self
    }

    /// Returns the same source with an offset index by which rows were excluded, so that pages are
    /// compared with it. The chunk starts at `start` in the file and is that of a column without
    /// repetition.
    pub(crate) fn with_locations(mut self, index: OffsetIndex, start: u64, num_rows: u64) -> Self {
        self.locations = Some(PageLocations { index, start, num_rows });
        self
    }

    /// Compares a data page with the offset index, if there is one; `number` pages with values
    /// precede it.
    pub(super) fn check_location(&self, page: &StoredPage, number: usize) -> Result<()> {
        let Some(PageLocations { index, start, num_rows }) = &self.locations else { return Ok(()) };
        let pages = index.pages.get(number..).unwrap_or(&[]);
        let found = start.saturating_add(page.header_at as u64);
        let bytes = page.body.end.saturating_sub(page.header_at) as u64;
        let values = page.num_values().unwrap_or(0) as u64;
        if let Some(expected) = pages.first() {
            let end = pages.get(1).map_or(*num_rows, |next| next.first_row);
            let rows = end.saturating_sub(expected.first_row);
            if (expected.offset, u64::from(expected.compressed_bytes), rows)
                == (found, bytes, values)
            {
                return Ok(());
            }
            return Err(Error::corrupt("the page is another one than the offset index says")
                .with("expected_offset", expected.offset)
                .with("expected_bytes", expected.compressed_bytes)
                .with("expected_rows", rows)
                .with("bytes", bytes)
                .with("values", values));
        }
        Err(Error::corrupt("the offset index has fewer pages than the chunk")
            .with("pages", index.pages.len()))
    }

    /// Returns the number of bytes that the pages may take.
    pub(super) fn num_bytes(&self) -> usize {
        self.len
    }

    /// Releases all bytes.
    pub(super) fn close(&mut self) {
        match &mut self.bytes {
            Bytes::Loaded(bytes) => *bytes = Buffer::empty(),
            Bytes::File(pieces) => pieces.release(),
        }
        (self.len, self.places, self.locations) = (0, None, None);
    }

    /// Takes over the memory of the preceding source.
    pub(super) fn succeed(&mut self, before: PageSource) {
        if let (Bytes::File(pieces), Bytes::File(before)) = (&mut self.bytes, before.bytes) {
            pieces.input.release_with(before.input);
        }
    }

    /// Returns the bytes of a part of the chunk.
    pub(super) fn read(&mut self, part: Range<usize>) -> Result<Buffer<u8>> {
        let ahead = if self.places.is_some() { part.end } else { self.len };
        self.part(part, ahead)
    }

    /// Does the same as [`PageSource::read`]; if the part has to be fetched, bytes up to `ahead`
    /// may be fetched with it.
    fn part(&mut self, part: Range<usize>, ahead: usize) -> Result<Buffer<u8>> {
        if part.start > part.end || part.end > self.len {
            return Err(Error::internal("bytes outside of the column chunk"));
        }
        match &mut self.bytes {
            Bytes::Loaded(bytes) => Ok(bytes.slice(part)),
            Bytes::File(pieces) => pieces.part(part, ahead.min(self.len)),
        }
    }

    /// Returns the bytes of the chunk from `at` on that are in memory.
    pub(super) fn in_memory(&self, at: usize) -> Option<Buffer<u8>> {
        match &self.bytes {
            Bytes::Loaded(bytes) => Some(bytes.slice(at.min(bytes.len())..bytes.len())),
            Bytes::File(pieces) => {
                let len = pieces.loaded.end.checked_sub(at)?;
                pieces.input.loaded(pieces.start.saturating_add(at as u64), len as u64)
            }
        }
    }

    /// Returns the page with the header at `place`, which must end before `end`.
    pub(super) fn page_at(&mut self, place: HeaderLocation<'_>, end: usize) -> Result<StoredPage> {
        let rest = end.min(self.len).saturating_sub(place.at).min(MAX_HEADER_BYTES);
        let mut window = HEADER_WINDOW.min(rest);
        loop {
            let end = place.at.saturating_add(window);
            let bytes = match &self.bytes {
                // Limiting the window would save nothing.
                Bytes::Loaded(bytes) => {
                    let from = place.at.min(bytes.len());
                    window = rest;
                    bytes.slice(from..bytes.len())
                }
                Bytes::File(_) => self.read(place.at..end)?,
            };
            match place.page(&bytes) {
                // The header may extend beyond the window.
                Err(_) if window < rest => window = window.saturating_mul(32).min(rest),
                page => return page,
            }
        }
    }

    /// Returns true when the locations of the pages are known.
    pub(super) fn has_places(&self) -> bool {
        self.places.is_some()
    }

    /// Returns the number of rows of a data page, if the locations of the pages are known.
    pub(super) fn rows_of_page(&self, page: usize) -> Option<usize> {
        Some(self.places.as_ref()?.pages.get(page)?.num_rows)
    }

    /// Returns the offset of the first data page, if it is known.
    pub(super) fn first_page_at(&self) -> Option<usize> {
        Some(self.places.as_ref()?.pages.first()?.bytes.start)
    }

    /// Fetches a data page and returns its range.
    pub(super) fn fetch_page(&mut self, page: usize) -> Result<Range<usize>> {
        let max_piece = match &self.bytes {
            Bytes::Loaded(_) => 0,
            Bytes::File(pieces) => pieces.max_piece,
        };
        let found = self.places.as_mut().and_then(|places| places.fetch(page, max_piece));
        let Some((bytes, ahead)) = found else {
            return Err(Error::internal("a page that the offset index does not have"));
        };
        self.part(bytes.clone(), ahead)?;
        Ok(bytes)
    }
}

impl Pieces {
    fn part(&mut self, part: Range<usize>, ahead: usize) -> Result<Buffer<u8>> {
        let bytes_of = |part: &Range<usize>| {
            let offset = self.start.saturating_add(part.start as u64);
            (offset, part.len() as u64)
        };
        let (offset, len) = bytes_of(&part);
        self.longest_part = self.longest_part.max(part.len());
        if part.start < self.loaded.start || part.end > self.loaded.end {
            let is_announced = self.announced.contains(&part.start);
            let piece = match is_announced && part.end <= self.announced.end {
                true => self.announced.end,
                false => self.piece_end(part.start).min(ahead).max(part.end),
            };
            let (offset, len) = bytes_of(&(part.start..piece));
            self.input.release();
            self.input.enqueue(offset..offset.saturating_add(len))?;
            self.input.load()?;
            let is_first = self.loaded.is_empty();
            self.loaded = part.start..piece;
            self.unannounced = (piece < ahead).then_some(ahead);
            if !is_first {
                self.announce_behind(&part);
            }
        } else if part.end >= self.loaded.start.saturating_add(self.loaded.len() / 4) {
            // The length of pages is not known before several of the first piece were requested.
            self.announce_behind(&part);
        }
        self.input.read(offset, len)
    }

    /// Announces the bytes after the piece in memory, of which `part` is requested. The last page
    /// of this piece may end in the next one, and is read with it.
    fn announce_behind(&mut self, part: &Range<usize>) {
        if let Some(ahead) = self.unannounced.take() {
            let start = self.loaded.end.saturating_sub(self.longest_part);
            self.announce(start.max(part.end), ahead);
        }
    }

    fn piece_end(&self, start: usize) -> usize {
        let first = if start == 0 { self.first_piece } else { 0 };
        start.saturating_add(self.max_piece.max(first))
    }

    /// Announces a piece that starts at `start` or within a page after it, and ends at `ahead` at
    /// most. It is as long as other pieces wherever it starts, so that pages can still be
    /// decompressed in pairs.
    fn announce(&mut self, start: usize, ahead: usize) {
        let end = self.piece_end(start).saturating_add(self.longest_part);
        self.announced = start..end.min(ahead);
        let offset = self.start.saturating_add(start as u64);
        let end = offset.saturating_add(self.announced.len() as u64);
        self.input.prefetch(offset..end);
    }

    fn release(&mut self) {
        self.input.release();
        (self.loaded, self.announced, self.unannounced) = (0..0, 0..0, None);
    }
}

impl FoundPages {
    /// Returns the locations of the pages of a chunk that takes `region` of the file, in a row
    /// group of `num_rows` rows of which `wanted` may be read. Returns `None` when the index does
    /// not cover all bytes of the chunk.
    pub fn new(
        index: &OffsetIndex,
        region: &Range<u64>,
        num_rows: u64,
        wanted: &RowRanges,
    ) -> Option<FoundPages> {
        let mut pages = Vec::with_capacity(index.pages.len());
        let mut expected = index.pages.first()?.offset;
        if index.pages.first()?.first_row != 0 {
            return None;
        }
        for (number, page) in index.pages.iter().enumerate() {
            if page.offset != expected {
                return None;
            }
            expected = page.offset.checked_add(u64::from(page.compressed_bytes))?;
            let next = index.pages.get(number.checked_add(1)?);
            let rows = page.first_row..next.map_or(num_rows, |next| next.first_row);
            let place = |offset: u64| usize::try_from(offset.checked_sub(region.start)?).ok();
            pages.push(PagePlace {
                bytes: place(page.offset)?..place(expected)?,
                num_rows: usize::try_from(rows.end.checked_sub(rows.start)?).ok()?,
                is_wanted: wanted.overlaps(&rows),
            });
        }
        (expected == region.end).then_some(FoundPages { pages, ahead: 0, fetched: 0..0 })
    }

    /// Returns the range of a page, and the offset up to which bytes are worth fetching with it.
    fn fetch(&mut self, page: usize, max_piece: usize) -> Option<(Range<usize>, usize)> {
        let bytes = self.pages.get(page)?.bytes.clone();
        if self.fetched.contains(&page) {
            return Some((bytes.clone(), bytes.end));
        }
        let follows = page > 0 && page == self.fetched.end;
        self.ahead = if follows { self.ahead.saturating_mul(2).max(FIRST_AHEAD) } else { 0 };
        let most = bytes.start.saturating_add(self.ahead.min(max_piece));
        let (mut end, mut next) = (bytes.end, page.saturating_add(1));
        while let Some(place) = self.pages.get(next)
            && place.is_wanted
            && place.bytes.end <= most
        {
            (end, next) = (place.bytes.end, next.saturating_add(1));
        }
        self.fetched = page..next;
        Some((bytes, end))
    }
}
