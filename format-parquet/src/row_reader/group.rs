//! The row group that is being scanned, as far as its columns depend on it.
//!
//! ```text
//! chunk        | how its pages are read
//! -------------|------------------------------------------------------------------
//! small        | with those of the other columns that are opened at the same time
//! large        | in pieces, as the decoder reaches them
//! few pages    | by the offset index: only the pages with rows that metadata left,
//! selected     | or with the few rows that passed
//! ```
//!
//! Columns may be opened long after the row group was started, and by any thread that loads a lazy
//! vector; therefore the parameters of opening are shared.

use std::ops::Range;

use dwio::input::{BufferedInput, Coalescing};
use vector::sync::Arc;
use vector::{Result, ResultExt};

use crate::chunk_pages::{chunk_params, chunk_region};
use crate::chunk_source::FileSource;
use crate::footer::{Footer, MAGIC_BYTES, check_head};
use crate::page::source::{FoundPages, PageSource};
use crate::page::{ChunkParams, PageCounters, PageOptions};
use crate::page_index::{OffsetIndex, RowRanges, read_page_index};
use crate::prune::all_pages_dictionary_encoded;
use crate::statistics::TrustOptions;

/// Approximate maximum number of stored bytes of one row group that all columns of a scan hold
/// together.
const MAX_HELD_BYTES: usize = 32 << 20;

/// Minimum length of the pieces in which large chunks are read, unless the input reads less at a
/// time.
const MIN_PIECE_BYTES: usize = 64 << 10;

/// Minimum size of a chunk for which the offset index is read to select pages; below it, reading
/// the index would cost as much as reading the whole chunk.
const MIN_PLACED_BYTES: u64 = 64 << 10;

/// Expected density of the rows that are read of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Most pages have a requested row.
    Most,
    /// Most pages have none.
    Few,
}

/// The parameters of a scan that are the same for all row groups.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) footer: Arc<Footer>,
    /// The input of the file, without loaded regions.
    pub(super) file: BufferedInput,
    /// Maximum number of bytes of a piece of a chunk that is held.
    pub(super) max_piece: usize,
    pub(super) page_options: PageOptions,
    /// Counters of the pages that are read and skipped.
    pub(super) pages: Arc<PageCounters>,
}

/// A row group that is being scanned.
#[derive(Debug)]
pub(super) struct GroupScan {
    pub(super) pass: Arc<Pass>,
    pub(super) number: usize,
    /// The file row of its first row.
    pub(super) first_row: u64,
    pub(super) num_rows: u64,
    /// The rows that metadata does not exclude.
    pub(super) wanted: RowRanges,
    /// The offset indexes that were read already, each with the number of its leaf.
    pub(super) offsets: Vec<(usize, OffsetIndex)>,
}

/// Returns the size in bytes of the pieces of a scan that reads `num_leaves` leaves, at most what
/// the input reads at a time.
pub(super) fn piece_bytes(num_leaves: usize, coalescing: Coalescing) -> usize {
    let most = usize::try_from(coalescing.load_quantum).unwrap_or(usize::MAX).max(1);
    (MAX_HELD_BYTES / num_leaves.max(1)).clamp(MIN_PIECE_BYTES.min(most), most)
}

impl GroupScan {
    /// Enqueues a chunk that is to be loaded with others.
    pub(super) fn announce(
        &self,
        leaf: usize,
        expected: Expected,
        input: &mut BufferedInput,
    ) -> Result<()> {
        let (_, region) = chunk_region(&self.pass.footer, self.number, leaf)?;
        let bytes = region.end.saturating_sub(region.start);
        if bytes <= self.pass.max_piece as u64 && !self.may_have_places(leaf, expected) {
            input.enqueue(self.with_head(region))?;
        }
        Ok(())
    }

    /// Extends the first region of a file by the magic, if opening the file did not check it.
    fn with_head(&self, region: Range<u64>) -> Range<u64> {
        match self.pass.footer.unchecked_head {
            Some(_) if region.start == MAGIC_BYTES => 0..region.end,
            _ => region,
        }
    }

    /// Checks the magic of such a file after its first chunk is read. Where only some pages of this
    /// chunk are read, the magic is neither read nor checked.
    fn check_head(&self, start: u64, shared: Option<&BufferedInput>) -> Result<()> {
        let Pass { footer, file, .. } = self.pass.as_ref();
        let Some(magic) = footer.unchecked_head.filter(|_| start == MAGIC_BYTES) else {
            return Ok(());
        };
        let head = match shared.and_then(|shared| shared.loaded(0, MAGIC_BYTES)) {
            Some(head) => head,
            // A chunk that is read in pieces is large enough to justify another read.
            None => file.read(0, MAGIC_BYTES)?,
        };
        check_head(&head, magic)
    }

    /// Opens a chunk, which `shared` may have loaded.
    pub(super) fn open(
        &self,
        leaf: usize,
        expected: Expected,
        shared: Option<&BufferedInput>,
    ) -> Result<(ChunkParams, PageSource)> {
        let Pass { footer, file, .. } = self.pass.as_ref();
        let (meta, region) = chunk_region(footer, self.number, leaf)?;
        let mut params = chunk_params(footer, self.number, leaf, (meta, &region))?;
        params.options = self.pass.page_options;
        params.counters = Arc::clone(&self.pass.pages);
        let bytes = region.end.saturating_sub(region.start);
        if let Some(loaded) = shared.and_then(|shared| shared.loaded(region.start, bytes)) {
            self.check_head(region.start, shared)?;
            return Ok((params, self.with_locations(leaf, region.start, loaded.into())));
        }
        let places = match self.may_have_places(leaf, expected) {
            true => self.places(leaf)?,
            false => None,
        };
        // The data pages follow the dictionary page, if there is one.
        let dictionary_bytes = meta.data_page_offset.saturating_sub(region.start);
        let mut source = PageSource::of_file(file.reopened(), region, self.pass.max_piece)
            .in_named("column", footer.schema.leaf_name(leaf))?
            .with_first_piece(usize::try_from(dictionary_bytes).unwrap_or(0));
        match places {
            Some(places) => source = source.with_places(places),
            None => {
                source.announce();
                self.check_head(params.offset, None)?;
                source = self.with_locations(leaf, params.offset, source);
            }
        }
        Ok((params, source))
    }

    /// Adds the offset index by which rows were excluded, so that its content is compared with each
    /// page.
    fn with_locations(&self, leaf: usize, start: u64, source: PageSource) -> PageSource {
        let has_left_out = self.wanted.num_rows() < self.num_rows;
        match self.offsets.iter().find(|(read, _)| *read == leaf) {
            Some((_, index)) if has_left_out => {
                source.with_locations(index.clone(), start, self.num_rows)
            }
            _ => source,
        }
    }

    /// Announces that a chunk will be read when the scan reaches this row group: the whole chunk,
    /// loaded with those of other columns, or its first piece.
    pub(super) fn announce_later(&self, leaf: usize, input: &mut BufferedInput) -> Result<()> {
        let (_, region) = chunk_region(&self.pass.footer, self.number, leaf)?;
        let piece = region.start.saturating_add(self.pass.max_piece as u64);
        if region.end <= piece {
            return input.enqueue(self.with_head(region));
        }
        input.prefetch(region.start..piece);
        Ok(())
    }

    /// Returns true when metadata proves that dictionaries contain every value of the leaves.
    pub(super) fn is_in_dictionaries(&self, leaves: &[usize]) -> bool {
        leaves.iter().all(|leaf| {
            let chunk = self.pass.footer.column_chunk(self.number, *leaf).ok();
            let meta = chunk.and_then(|chunk| chunk.meta_data.as_ref());
            meta.is_some_and(all_pages_dictionary_encoded)
        })
    }

    /// Returns true when it pays off to read the locations of a chunk's pages.
    fn may_have_places(&self, leaf: usize, expected: Expected) -> bool {
        let Pass { footer, .. } = self.pass.as_ref();
        let chunk = footer.column_chunk(self.number, leaf).ok();
        let (Some(chunk), Some(leaf)) = (chunk, footer.schema.leaves().get(leaf)) else {
            return false;
        };
        let bytes = chunk.meta_data.as_ref().map_or(0, |meta| meta.total_compressed_bytes);
        let is_partial = expected == Expected::Few || self.wanted.num_rows() < self.num_rows;
        is_partial && chunk.offset_index.is_some() && leaf.max_rep == 0 && bytes >= MIN_PLACED_BYTES
    }

    fn places(&self, leaf: usize) -> Result<Option<FoundPages>> {
        let Pass { footer, file, .. } = self.pass.as_ref();
        let region: Range<u64> = footer.chunk(self.number, leaf)?.1;
        let of = |index: &OffsetIndex| FoundPages::new(index, &region, self.num_rows, &self.wanted);
        if let Some((_, index)) = self.offsets.iter().find(|(read, _)| *read == leaf) {
            return Ok(of(index));
        }
        let source = FileSource { input: file, decryptor: footer.decryptor.as_ref() };
        let chunk = source.chunk(footer, self.number, leaf);
        let index = read_page_index(chunk, false, TrustOptions::default())?;
        Ok(index.offsets().and_then(of))
    }
}
