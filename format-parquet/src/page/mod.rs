//! The page reader: iterates over the pages of one column chunk.
//!
//! ```text
//! chunk   | header, dictionary | header, data | header, index | header, data |
//!           kept                 returned       skipped         returned
//! v1      compressed( repetition levels | definition levels | values )
//! v2      repetition levels | definition levels | compressed( values )
//! ```
//!
//! [`PageReader::peek`] parses the next data page's header; then either [`PageReader::skip`] skips
//! the page without touching its bytes, or [`PageReader::read`] decompresses it and divides it into
//! levels and values. The dictionary page is decompressed only when it is requested. Decompressed
//! bytes are written to buffers that are reused when they are no longer referenced
//! ([`PageReader::recycle`]); uncompressed pages are not copied. Where pages are read in sequence,
//! two may be decompressed together (`ahead`).
//!
//! The [`PageSource`] supplies the bytes. If it has the locations of pages from an offset index,
//! `peek` and `skip` read no byte at all.
//!
//! At most the number of values in the chunk's metadata is returned; bytes after them are ignored.
//! The claims of headers are checked in `claims`, which documents the rules.

mod ahead;
mod brotli;
mod claims;
pub mod decompress;
mod dictionary;
mod hadoop;
mod lz4;
mod lzo;
mod snappy;
mod snappy_fast;
pub mod source;
pub mod stored;

use std::collections::VecDeque;

use dwio::input::cursor::Cursor;
use vector::sync::Arc;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::{Buffer, BufferMut, Error, MemoryPool, Result, ResultExt};

use crate::created_by::PageQuirks;
use crate::decrypt::{ChunkDecryptor, ModuleKind};
use crate::encoding::recoded::Storage;
use crate::levels::{LevelDecoder, bit_packed_bytes};
use crate::thrift::structs::{Codec, DataPageHeader, DataPageHeaderV2, Encoding, PageKind};
use ahead::{Ahead, Packed};
pub(crate) use claims::starts_with_levels;
use claims::{check_header, check_inside, check_levels_in_front, check_needless_levels};
use decompress::{Decompressor, MAX_PAGE_BYTES, check_size};
use source::PageSource;
use stored::{HeaderLocation, StoredPage};

/// Maximum number of pages of which the memory is kept for reuse, and of those that may be returned
/// later.
const MAX_SPARE: usize = 2;

/// The metadata of a chunk that is needed to read its pages.
#[derive(Debug, Clone)]
pub struct ChunkParams {
    /// Offset of the chunk in the file, for messages.
    pub offset: u64,
    /// Compression codec of the pages.
    pub codec: Codec,
    /// Total size in bytes of all pages, as stated by the footer; the source may have more bytes
    /// after it.
    pub declared_bytes: u64,
    /// Physical type and width of the values.
    pub storage: Storage,
    /// Number of rows of the row group.
    pub num_rows: u64,
    /// Number of values, nulls included, of all data pages.
    pub num_values: u64,
    /// The leaf's maximum definition level.
    pub max_def: u8,
    /// The leaf's maximum repetition level.
    pub max_rep: u8,
    /// Deviations of the writer from the specification that have to be tolerated.
    pub quirks: PageQuirks,
    /// Options of the reader.
    pub options: PageOptions,
    /// The decryptor, when headers and bodies are encrypted.
    pub decryptor: Option<ChunkDecryptor>,
    /// Counters to which the work on the pages is added.
    pub counters: Arc<PageCounters>,
}

/// Options for reading pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageOptions {
    /// True when pages that have a checksum are compared with it before they are decompressed.
    pub verifies_checksums: bool,
    /// Maximum size of a page in bytes after decompression. Its memory is reserved from the pool
    /// before it is decompressed.
    pub max_page_bytes: usize,
}

impl Default for PageOptions {
    fn default() -> Self {
        PageOptions { verifies_checksums: false, max_page_bytes: MAX_PAGE_BYTES }
    }
}

/// Counters of work on pages, over all chunks that share them.
#[derive(Debug, Default)]
pub struct PageCounters {
    /// Number of data pages that were decompressed or are stored uncompressed.
    pub read: AtomicU64,
    /// Number of data pages that were skipped without being read.
    pub skipped: AtomicU64,
    /// Number of dictionary pages that were read.
    pub dictionaries: AtomicU64,
    /// Number of bytes in stored form of the pages that were read.
    pub stored_bytes: AtomicU64,
    /// Number of bytes that decompression produced.
    pub decompressed_bytes: AtomicU64,
}

impl PageCounters {
    // The counters are only summed and order no other access.
    fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// The properties of a data page that are known before it is decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageInfo {
    /// Number of the page among the data pages of the chunk.
    pub ordinal: usize,
    /// Number of values, nulls included; for nested columns the number of pairs of levels.
    pub num_values: usize,
    /// Number of rows, which only pages of version 2 state. Below a repeated field a number that
    /// equals that of the values is ignored unless the sum over all pages is correct, because some
    /// writers count values.
    pub num_rows: Option<usize>,
    /// Number of nulls, which only pages of version 2 state.
    pub num_nulls: Option<usize>,
}

/// A data page, ready for decoding.
#[derive(Debug)]
pub struct DataPage {
    /// The counts in the header.
    pub info: PageInfo,
    /// Offset of the header in the file.
    pub offset: u64,
    /// Encoding of the values.
    pub encoding: Encoding,
    /// Repetition levels, one for each value.
    pub repetition: LevelDecoder,
    /// Definition levels, one for each value.
    pub definition: LevelDecoder,
    /// The bytes of the values that are not null.
    pub values: Buffer<u8>,
    /// All bytes of the page, to be returned with [`PageReader::recycle`].
    pub body: Buffer<u8>,
}

/// A dictionary page, ready for decoding.
#[derive(Debug)]
pub struct DictionaryPage {
    /// Number of values.
    pub num_values: usize,
    /// True when the header states that the values ascend, which is not checked.
    pub is_sorted: bool,
    /// The values in PLAIN encoding.
    pub values: Buffer<u8>,
}

/// Iterates over the pages of one column chunk.
#[derive(Debug)]
pub struct PageReader {
    chunk: ChunkParams,
    source: PageSource,
    /// Offset of the next header in the chunk.
    at: usize,
    values_left: u64,
    next_ordinal: usize,
    /// The dictionary page with its stored bytes, which may no longer be in the source when they
    /// are used.
    dictionary: Option<(StoredPage, Buffer<u8>)>,
    next: Option<NextPage>,
    /// True when the headers of the chunk were compared with the footer.
    is_checked: bool,
    has_only_indices: Option<bool>,
    /// True when all headers were examined and the sum of their rows is that of the row group.
    rows_add_up: bool,
    /// Number of data pages with values before the next one.
    pages_with_values: usize,
    decompressor: Decompressor,
    ahead: Ahead,
    /// Memory of pages that is no longer referenced.
    spare: Vec<BufferMut<u8>>,
    /// The last decompressed dictionary; its memory is reused for the next one.
    last_dictionary: Option<Buffer<u8>>,
    /// Pages that were read and are still referenced, probably not for long.
    lent: VecDeque<Buffer<u8>>,
    pool: MemoryPool,
}

/// The next data page.
#[derive(Debug)]
enum NextPage {
    /// A page with a parsed header.
    Parsed(StoredPage, PageInfo),
    /// A page with a known location.
    Placed(PageInfo),
}

impl NextPage {
    fn info(&self) -> PageInfo {
        match self {
            NextPage::Parsed(_, info) | NextPage::Placed(info) => *info,
        }
    }
}

impl PageReader {
    /// Creates a reader of the pages of a chunk.
    pub fn new(chunk: ChunkParams, source: impl Into<PageSource>, pool: MemoryPool) -> Self {
        PageReader {
            values_left: chunk.num_values,
            chunk,
            source: source.into(),
            at: 0,
            next_ordinal: 0,
            dictionary: None,
            next: None,
            is_checked: false,
            has_only_indices: None,
            rows_add_up: false,
            pages_with_values: 0,
            decompressor: Decompressor::default(),
            ahead: Ahead::default(),
            spare: Vec::new(),
            last_dictionary: None,
            lent: VecDeque::new(),
            pool,
        }
    }

    /// Continues with another chunk of the same leaf, keeping contexts and memory.
    pub fn reopen(&mut self, chunk: ChunkParams, source: impl Into<PageSource>) {
        let fresh = Self::new(chunk, source, self.pool.clone());
        let old = std::mem::replace(self, fresh);
        self.decompressor = old.decompressor;
        self.spare = old.spare;
        self.last_dictionary = old.last_dictionary;
        self.lent = old.lent;
        self.source.succeed(old.source);
    }

    /// Releases the chunk's bytes, after which there are no more pages.
    pub fn close(&mut self) {
        self.source.close();
        self.values_left = 0;
        self.next = None;
        self.ahead = Ahead::default();
        self.lent.clear();
        self.dictionary = None;
    }

    /// Returns the number of values of pages that were neither read nor skipped yet.
    pub fn values_left(&self) -> u64 {
        self.values_left
    }

    /// Returns the next data page that has values; `None` at the end of the chunk.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a header is invalid or contradicts the chunk, `Unsupported` for a page of
    /// unknown type, and errors of reading the file.
    pub fn peek(&mut self) -> Result<Option<PageInfo>> {
        while self.next.is_none() && self.values_left > 0 {
            let found =
                if self.source.has_places() { self.next_place() } else { self.next_header() };
            found.in_place("page", self.next_ordinal)?;
        }
        if let (false, Some(NextPage::Parsed(first, _))) = (self.is_checked, &self.next) {
            (self.has_only_indices, self.rows_add_up) = self.check_chunk(first)?;
            self.is_checked = true;
        }
        Ok(self.next.as_ref().map(|next| self.believed(next.info())))
    }

    /// Returns the trusted part of a page's header.
    fn believed(&self, info: PageInfo) -> PageInfo {
        let counts_values = self.chunk.max_rep > 0 && info.num_rows == Some(info.num_values);
        let num_rows = info.num_rows.filter(|_| self.rows_add_up || !counts_values);
        PageInfo { num_rows, ..info }
    }

    /// Skips the page that [`PageReader::peek`] returned.
    ///
    /// # Errors
    ///
    /// The same as [`PageReader::peek`].
    pub fn skip(&mut self) -> Result<()> {
        self.take_next()?;
        self.ahead.read_ahead_pages = 0;
        PageCounters::add(&self.chunk.counters.skipped, 1);
        Ok(())
    }

    /// Reads the page that [`PageReader::peek`] returned.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page is invalid, `Unsupported` for an unknown codec or encoding, `Limit`
    /// when the page is too large or memory is not granted, and errors of reading the file.
    pub fn read(&mut self) -> Result<DataPage> {
        let (found, info) = match self.take_next()? {
            NextPage::Parsed(found, info) => (found, info),
            NextPage::Placed(info) => {
                let found = self.placed_page(info);
                let found = found.map_err(|e| e.in_place("page", info.ordinal))?;
                let info = page_info(&found.header.kind, info.ordinal).unwrap_or(info);
                (found, info)
            }
        };
        let info = self.believed(info);
        let offset = self.file_offset(found.header_at);
        let page = match &found.header.kind {
            PageKind::Data(v1) => self.read_v1(&found, v1, info),
            PageKind::DataV2(v2) => self.read_v2(&found, v2, info),
            _ => Err(Error::internal("not a data page")),
        };
        self.ahead.read_ahead_pages = self.ahead.read_ahead_pages.saturating_add(1);
        PageCounters::add(&self.chunk.counters.read, 1);
        page.map_err(|e| e.in_place("page", info.ordinal).in_place("offset", offset))
    }

    /// Takes back a page's memory, to reuse it for a later page once it is no longer referenced.
    pub fn recycle(&mut self, body: Buffer<u8>) {
        if self.spare.len() == MAX_SPARE {
            return;
        }
        match body.into_mut() {
            Ok(memory) => self.spare.push(memory),
            // An uncompressed page is memory of the source.
            Err(_) if self.chunk.codec == Codec::Uncompressed => {}
            Err(body) => {
                // Views of a batch still refer to the page; most batches are dropped before the
                // page after the next.
                self.lent.truncate(MAX_SPARE - 1);
                self.lent.push_front(body);
            }
        }
    }

    fn file_offset(&self, at: usize) -> u64 {
        self.chunk.offset.saturating_add(at as u64)
    }

    /// Parses the header at `self.at` and advances behind its page. The header ends before `end`,
    /// and `ordinal` data pages precede it.
    fn header(&mut self, ordinal: usize, end: usize) -> Result<StoredPage> {
        let place = HeaderLocation {
            chunk_offset: self.chunk.offset,
            chunk_bytes: self.source.num_bytes(),
            at: self.at,
            ordinal,
            decryptor: self.chunk.decryptor.as_ref(),
        };
        let found = self.source.page_at(place, end)?;
        self.at = found.body.end;
        Ok(found)
    }

    /// Parses one header; a dictionary or data page is kept, other pages are skipped.
    fn next_header(&mut self) -> Result<()> {
        if self.at >= self.source.num_bytes() {
            return Err(self.too_few_values());
        }
        let found = self.header(self.next_ordinal, self.source.num_bytes())?;
        let checked = check_inside(&found, &self.chunk);
        checked
            .and_then(|()| check_header(&found.header.kind, &self.chunk))
            .in_place("offset", self.file_offset(found.header_at))?;
        match &found.header.kind {
            PageKind::Dictionary(_) if self.dictionary.is_some() || self.next_ordinal > 0 => {
                return Err(Error::corrupt("a dictionary page that is not the first page")
                    .with("offset", self.file_offset(found.header_at)));
            }
            PageKind::Dictionary(_) => self.keep_dictionary(found)?,
            // Pages of unknown type were refused above, so this is an index page.
            PageKind::Index | PageKind::Unknown(_) => {}
            PageKind::Data(_) | PageKind::DataV2(_) => {
                let info = page_info(&found.header.kind, self.next_ordinal);
                match info.filter(|info| info.num_values > 0) {
                    Some(info) => {
                        self.source
                            .check_location(&found, self.pages_with_values)
                            .in_place("offset", self.file_offset(found.header_at))?;
                        self.pages_with_values += 1;
                        self.next = Some(NextPage::Parsed(found, info));
                    }
                    // A page without values is valid, and its body may be arbitrary.
                    None => self.next_ordinal += 1,
                }
            }
        }
        Ok(())
    }

    /// Returns the next page according to the offset index.
    fn next_place(&mut self) -> Result<()> {
        let ordinal = self.next_ordinal;
        let num_rows = self.source.rows_of_page(ordinal).ok_or_else(|| self.too_few_values())?;
        // The column is flat, so each row is a value.
        let info =
            PageInfo { ordinal, num_values: num_rows, num_rows: Some(num_rows), num_nulls: None };
        self.next = Some(NextPage::Placed(info));
        Ok(())
    }

    /// Returns the page to which the offset index refers, after comparing it with the index.
    fn placed_page(&mut self, info: PageInfo) -> Result<StoredPage> {
        self.find_dictionary()?;
        let bytes = self.source.fetch_page(info.ordinal)?;
        self.at = bytes.start;
        let found = self.header(info.ordinal, bytes.end)?;
        check_header(&found.header.kind, &self.chunk)
            .in_place("offset", self.file_offset(found.header_at))?;
        if found.num_values() != Some(info.num_values) || found.body.end != bytes.end {
            return Err(self.other_than_indexed(bytes.start));
        }
        Ok(found)
    }

    #[cold]
    fn other_than_indexed(&self, at: usize) -> Error {
        Error::corrupt("the page is another one than the offset index says")
            .with("offset", self.file_offset(at))
    }

    #[cold]
    fn too_few_values(&self) -> Error {
        Error::corrupt("the column chunk ends before its values do")
            .with("missing_values", self.values_left)
    }

    /// Returns the stored bytes of a data page, decrypted.
    fn stored(&mut self, found: &StoredPage, info: PageInfo) -> Result<Buffer<u8>> {
        let stored = self.source.read(found.body.clone())?;
        self.opened(found, stored, ModuleKind::DataPage(info.ordinal))
    }

    /// Returns a page's stored bytes after comparing them with its checksum and decrypting them, as
    /// needed.
    fn opened(
        &mut self,
        found: &StoredPage,
        stored: Buffer<u8>,
        kind: ModuleKind,
    ) -> Result<Buffer<u8>> {
        PageCounters::add(&self.chunk.counters.stored_bytes, stored.len());
        if self.chunk.options.verifies_checksums {
            found.verify_checksum(&stored)?;
        }
        let Some(decryptor) = &self.chunk.decryptor else { return Ok(stored) };
        let mut plain = BufferMut::new_in(&self.pool);
        decryptor.decrypt_page(kind, &stored, &mut plain)?;
        Ok(plain.freeze())
    }

    fn take_next(&mut self) -> Result<NextPage> {
        let next =
            self.next.take().ok_or_else(|| Error::internal("no page to read; peek first"))?;
        let info = next.info();
        self.next_ordinal += 1;
        let values = info.num_values as u64;
        let Some(left) = self.values_left.checked_sub(values) else {
            return Err(Error::corrupt("the pages have more values than the column chunk")
                .with("page_values", values)
                .with("left", self.values_left)
                .in_place("page", info.ordinal));
        };
        self.values_left = left;
        Ok(next)
    }

    fn read_v1(
        &mut self,
        found: &StoredPage,
        header: &DataPageHeader,
        info: PageInfo,
    ) -> Result<DataPage> {
        let stored = self.stored(found, info)?;
        let packed = Packed { stored, uncompressed: found.header.uncompressed_bytes };
        let body = self.body(packed, true, Some((found, info)))?;
        let mut at = 0;
        let mut levels = |encoding, max| levels_v1(&body, &mut at, encoding, max, info.num_values);
        let repetition = levels(header.repetition_encoding, self.chunk.max_rep)
            .in_named("section", "repetition levels")?;
        let definition = levels(header.definition_encoding, self.chunk.max_def)
            .in_named("section", "definition levels")?;
        let values = body.slice(at..body.len());
        let is_index =
            matches!(header.encoding, Encoding::PlainDictionary | Encoding::RleDictionary);
        if self.chunk.max_def == 0 && is_index {
            check_levels_in_front(&values, info.num_values)?;
        }
        Ok(DataPage {
            info,
            offset: self.file_offset(found.header_at),
            encoding: header.encoding,
            repetition,
            definition,
            values,
            body,
        })
    }

    fn read_v2(
        &mut self,
        found: &StoredPage,
        header: &DataPageHeaderV2,
        info: PageInfo,
    ) -> Result<DataPage> {
        let ChunkParams { max_rep, max_def, quirks, .. } = self.chunk;
        let stored = self.stored(found, info)?;
        let level_bytes = header.repetition_bytes.saturating_add(header.definition_bytes);
        let uncompressed = found.header.uncompressed_bytes.checked_sub(level_bytes);
        let (Some(uncompressed), true) = (uncompressed, level_bytes <= stored.len()) else {
            return Err(Error::corrupt("levels are larger than their page")
                .with("repetition_bytes", header.repetition_bytes)
                .with("definition_bytes", header.definition_bytes)
                .with("page_bytes", stored.len()));
        };
        let definition_at = header.repetition_bytes.min(level_bytes);
        for (max, levels) in [(max_rep, 0..definition_at), (max_def, definition_at..level_bytes)] {
            if max == 0 {
                check_needless_levels(&stored.slice(levels), info.num_values)?;
            }
        }
        let repetition = LevelDecoder::rle(stored.slice(0..definition_at), max_rep)
            .in_named("section", "repetition levels")?;
        let definition = LevelDecoder::rle(stored.slice(definition_at..level_bytes), max_def)
            .in_named("section", "definition levels")?;
        let is_compressed = header.is_compressed || quirks.ignore_is_compressed;
        let values = stored.slice(level_bytes..stored.len());
        let packed = Packed { stored: values, uncompressed };
        let values = self.body(packed, is_compressed, Some((found, info)))?;
        Ok(DataPage {
            info,
            offset: self.file_offset(found.header_at),
            encoding: header.encoding,
            repetition,
            definition,
            body: values.clone(),
            values,
        })
    }

    /// Returns the bytes of a page, decompressed if necessary; `data` describes it if it is a data
    /// page.
    fn body(
        &mut self,
        packed: Packed,
        is_compressed: bool,
        data: Option<(&StoredPage, PageInfo)>,
    ) -> Result<Buffer<u8>> {
        let Packed { stored, uncompressed } = &packed;
        check_size(*uncompressed, self.chunk.options.max_page_bytes)?;
        if self.chunk.codec == Codec::Uncompressed || !is_compressed {
            if stored.len() != *uncompressed {
                return Err(Error::corrupt("a page that is not compressed has two sizes")
                    .with("compressed_bytes", stored.len())
                    .with("uncompressed_bytes", *uncompressed));
            }
            return Ok(packed.stored);
        }
        // A page of only nulls may have no value bytes at all, not even compressed ones.
        if stored.is_empty() && *uncompressed == 0 {
            return Ok(packed.stored);
        }
        match data {
            Some(data) => self.data_body(packed, data),
            None => self.decompressed(packed),
        }
    }
}

fn page_info(kind: &PageKind, ordinal: usize) -> Option<PageInfo> {
    match kind {
        PageKind::Data(v1) => {
            Some(PageInfo { ordinal, num_values: v1.num_values, num_rows: None, num_nulls: None })
        }
        PageKind::DataV2(v2) => Some(PageInfo {
            ordinal,
            num_values: v2.num_values,
            num_rows: Some(v2.num_rows),
            num_nulls: Some(v2.num_nulls),
        }),
        PageKind::Dictionary(_) | PageKind::Index | PageKind::Unknown(_) => None,
    }
}

/// Returns the decoder of a section of levels. SPEC (data page v1): a section exists only when the
/// maximum is not 0; an RLE section has a length prefix, the length of a BIT_PACKED one follows
/// from the number of values.
fn levels_v1(
    body: &Buffer<u8>,
    at: &mut usize,
    encoding: Encoding,
    max: u8,
    num_values: usize,
) -> Result<LevelDecoder> {
    if max == 0 {
        return Ok(LevelDecoder::zero());
    }
    let mut cursor = Cursor::new(body.as_slice().get(*at..).unwrap_or(&[]));
    let len = match encoding {
        Encoding::Rle => cursor.u32_le()? as usize,
        Encoding::BitPacked => bit_packed_bytes(num_values, max)
            .ok_or_else(|| Error::corrupt("too many levels").with("levels", num_values))?,
        other => {
            return Err(Error::corrupt("levels in an encoding that is not for levels")
                .with("encoding", other));
        }
    };
    let start = at.saturating_add(cursor.position());
    cursor.take(len)?;
    *at = start.saturating_add(len);
    let section = body.slice(start..*at);
    match encoding {
        Encoding::Rle => LevelDecoder::rle(section, max),
        _ => Ok(LevelDecoder::bit_packed(section, max)),
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
