//! Read-ahead of one page: decompresses the requested page together with the next one, if both are
//! in memory.
//!
//! ```text
//! read 4    alone                      the previous page was skipped, or there was none
//! read 5    5 and 6 together           pages are read in sequence: 6 is kept
//! read 6    the kept page
//! skip 7    8 will be read alone
//! ```
//!
//! Where an offset index states the locations of pages, a selection may skip any of them: two pages
//! are decompressed together only after several were read in sequence.
//!
//! Some codecs decompress two blocks in little more time than one. The next page is included only
//! if its bytes are in memory already, and errors in it are reported when it is read.

use vector::{Buffer, BufferMut, Result};

use super::decompress::check_plausible;
use super::stored::{HeaderLocation, StoredPage};
use super::{PageCounters, PageInfo, PageReader};
use crate::thrift::structs::PageKind;

/// Maximum size in bytes of a page that is decompressed ahead.
const MAX_BYTES: usize = 1 << 20;

/// Number of pages that have to be read in sequence before the next one is expected to be read,
/// where the locations of pages are known and any page may be skipped.
const STEADY_READS: usize = 4;

/// State of the page after the current one.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Number of pages that were read since one was skipped.
    pub(super) read_ahead_pages: usize,
    /// A decompressed page that was not requested yet, with its number.
    kept: Option<(usize, Buffer<u8>)>,
}

/// The compressed part of a page, and its size after decompression.
pub(super) struct Packed {
    pub(super) stored: Buffer<u8>,
    pub(super) uncompressed: usize,
}

impl PageReader {
    /// Returns the bytes of data page `info`, of which `packed` is the compressed part.
    pub(super) fn data_body(
        &mut self,
        packed: Packed,
        (found, info): (&StoredPage, PageInfo),
    ) -> Result<Buffer<u8>> {
        if let Some((ordinal, body)) = self.ahead.kept.take() {
            if ordinal == info.ordinal {
                PageCounters::add(&self.chunk.counters.decompressed_bytes, packed.uncompressed);
                return Ok(body);
            }
            self.recycle(body);
        }
        match self.next_packed(found, info) {
            Some(next) => self.two_bodies(packed, (info.ordinal.saturating_add(1), next)),
            None => self.decompressed(packed),
        }
    }

    /// Returns the page after `found`, when it is in memory, may be decompressed and is likely to
    /// be read.
    fn next_packed(&self, found: &StoredPage, info: PageInfo) -> Option<Packed> {
        let chunk = &self.chunk;
        let steady = if self.source.has_places() { STEADY_READS } else { 1 };
        let is_wanted = self.ahead.read_ahead_pages >= steady
            && self.values_left > 0
            && self.decompressor.takes_two(chunk.codec)
            && chunk.decryptor.is_none()
            && !chunk.options.verifies_checksums;
        if !is_wanted {
            return None;
        }
        let at = found.body.end;
        let bytes = self.source.in_memory(at)?;
        let place = HeaderLocation {
            chunk_offset: chunk.offset,
            chunk_bytes: self.source.num_bytes(),
            at,
            ordinal: info.ordinal.checked_add(1)?,
            decryptor: None,
        };
        let next = place.page(&bytes).ok()?;
        let body = next.body.start.checked_sub(at)?..next.body.end.checked_sub(at)?;
        if body.end > bytes.len() {
            return None;
        }
        let packed = self.packed_part(&next, bytes.slice(body))?;
        let is_sound = packed.uncompressed <= MAX_BYTES
            && check_plausible(chunk.codec, packed.stored.len(), packed.uncompressed).is_ok();
        is_sound.then_some(packed)
    }

    /// Returns the compressed part of a data page with values.
    fn packed_part(&self, page: &StoredPage, stored: Buffer<u8>) -> Option<Packed> {
        let uncompressed = page.header.uncompressed_bytes;
        match &page.header.kind {
            PageKind::Data(v1) if v1.num_values > 0 => Some(Packed { stored, uncompressed }),
            PageKind::DataV2(v2) if v2.num_values > 0 => {
                let is_compressed = v2.is_compressed || self.chunk.quirks.ignore_is_compressed;
                let levels = v2.repetition_bytes.checked_add(v2.definition_bytes)?;
                let uncompressed = uncompressed.checked_sub(levels)?;
                (is_compressed && levels < stored.len())
                    .then(|| Packed { stored: stored.slice(levels..stored.len()), uncompressed })
            }
            _ => None,
        }
    }

    /// Decompresses a page together with the next one, which is kept.
    fn two_bodies(&mut self, first: Packed, next: (usize, Packed)) -> Result<Buffer<u8>> {
        check_plausible(self.chunk.codec, first.stored.len(), first.uncompressed)?;
        let mut memory = self.memory(first.uncompressed)?;
        let (ordinal, next) = next;
        // Without memory for two pages only one is decompressed.
        let Ok(mut next_memory) = self.memory(next.uncompressed) else {
            self.spare.push(memory);
            return self.decompressed(first);
        };
        let (of_first, of_next) = self.decompressor.decompress_two(
            self.chunk.codec,
            (&first.stored, memory.as_mut_slice()),
            (&next.stored, next_memory.as_mut_slice()),
        );
        self.ahead.kept = of_next.ok().map(|()| (ordinal, next_memory.freeze()));
        of_first?;
        PageCounters::add(&self.chunk.counters.decompressed_bytes, first.uncompressed);
        Ok(memory.freeze())
    }

    /// Decompresses a page.
    pub(super) fn decompressed(&mut self, packed: Packed) -> Result<Buffer<u8>> {
        check_plausible(self.chunk.codec, packed.stored.len(), packed.uncompressed)?;
        let mut memory = self.memory(packed.uncompressed)?;
        self.decompressor.decompress(self.chunk.codec, &packed.stored, memory.as_mut_slice())?;
        PageCounters::add(&self.chunk.counters.decompressed_bytes, packed.uncompressed);
        Ok(memory.freeze())
    }

    /// Returns the memory of a page that was handed out and is no longer referenced.
    fn returned(&mut self) -> Option<BufferMut<u8>> {
        let at = self.lent.iter().position(Buffer::is_unique)?;
        self.lent.remove(at)?.into_mut().ok()
    }

    /// Returns memory for a decompressed page, with unspecified content.
    fn memory(&mut self, bytes: usize) -> Result<BufferMut<u8>> {
        let mut memory = match self.spare.pop() {
            Some(memory) => memory,
            None => self.returned().unwrap_or_else(|| BufferMut::new_in(&self.pool)),
        };
        memory.clear();
        memory.try_reserve(bytes)?;
        memory.resize_unspecified(bytes);
        Ok(memory)
    }
}
