//! Two pages at once: the one that is wanted, and the one behind it while both are in memory.
//!
//! ```text
//! read 4    alone                      the page before was passed over, or there was none
//! read 5    5 and 6 at once            pages follow each other: 6 is kept
//! read 6    what was kept
//! skip 7    8 will be read alone
//! ```
//!
//! Where an offset index tells the places of pages, a selection may leave any of them out: two are
//! taken there only once several were read in a row.
//!
//! Some codecs decompress two blocks in little more time than one. Only a page whose bytes are
//! there anyway is taken along, and what is wrong with it is told when it is wanted.

use vector::{Buffer, BufferMut, Result};

use super::decompress::check_plausible;
use super::stored::{HeaderPlace, StoredPage};
use super::{PageCounters, PageInfo, PageReader};
use crate::thrift::structs::PageKind;

/// The largest page that is taken along.
const MAX_BYTES: usize = 1 << 20;

/// Where pages may be left out (their places are known, so one can be gone to without those in front
/// of it), so many have to be read one after the other before the next one is expected to be.
const STEADY_READS: usize = 4;

/// What is known of the page behind the current one.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Pages read since one was passed over.
    pub(super) reads_on: usize,
    /// A decompressed page that was not asked for yet, with its number.
    kept: Option<(usize, Buffer<u8>)>,
}

/// The part of a page that is compressed, and the bytes that it becomes.
pub(super) struct Packed {
    pub(super) stored: Buffer<u8>,
    pub(super) uncompressed: usize,
}

impl PageReader {
    /// The bytes of data page `info`, whose compressed part is `packed`.
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

    /// The page behind `found`, when it is in memory, may be decompressed and probably will be.
    fn next_packed(&self, found: &StoredPage, info: PageInfo) -> Option<Packed> {
        let chunk = &self.chunk;
        let steady = if self.source.has_places() { STEADY_READS } else { 1 };
        let is_wanted = self.ahead.reads_on >= steady
            && self.values_left > 0
            && self.decompressor.takes_two(chunk.codec)
            && chunk.decryptor.is_none()
            && !chunk.options.verifies_checksums;
        if !is_wanted {
            return None;
        }
        let at = found.body.end;
        let bytes = self.source.in_memory(at)?;
        let place = HeaderPlace {
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

    /// What of a data page with values is compressed.
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

    /// Decompresses a page, and the next one to be kept.
    fn two_bodies(&mut self, first: Packed, next: (usize, Packed)) -> Result<Buffer<u8>> {
        check_plausible(self.chunk.codec, first.stored.len(), first.uncompressed)?;
        let mut memory = self.memory(first.uncompressed)?;
        let (ordinal, next) = next;
        // Where there is no memory for two, one has to do.
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

    /// Memory of a page that was lent and that nobody holds any more.
    fn returned(&mut self) -> Option<BufferMut<u8>> {
        let at = self.lent.iter().position(Buffer::is_unique)?;
        self.lent.remove(at)?.into_mut().ok()
    }

    /// Memory for a decompressed page, to be overwritten.
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
