//! One row group that is being scanned, as far as its columns need to know it.
//!
//! ```text
//! chunk        | how its pages are read
//! -------------|------------------------------------------------------------------
//! small        | with those of the other columns that are opened at the same time
//! large        | in pieces, as the decoder comes to them
//! few pages    | by the offset index: page ranges that metadata left, or few rows
//! wanted       |
//! ```
//!
//! Columns may be opened long after the row group was started, and by whoever loads a lazy vector;
//! so what is needed for that is shared.

use std::ops::Range;

use dwio::input::{BufferedInput, Coalescing};
use vector::sync::Arc;
use vector::{Result, ResultExt};

use crate::chunk_pages::{chunk_params, chunk_region};
use crate::chunk_source::FileSource;
use crate::footer::{Footer, MAGIC_BYTES, check_head};
use crate::page::source::{PagePlaces, PageSource};
use crate::page::{ChunkParams, PageCounters, PageOptions};
use crate::page_index::{OffsetIndex, RowRanges, read_page_index};
use crate::prune::all_pages_dictionary_encoded;
use crate::statistics::TrustOptions;

/// What all columns of a pass together hold of the stored bytes of one row group, about.
const MAX_HELD_BYTES: usize = 32 << 20;

/// The pieces that large chunks are read in are at least this long, unless the input reads less at
/// once.
const MIN_PIECE_BYTES: usize = 64 << 10;

/// Chunks smaller than this are read whole even when few of their pages are wanted: reading the
/// offset index would cost as much.
const MIN_PLACED_BYTES: u64 = 64 << 10;

/// What is expected of the rows of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Most pages have a wanted row.
    Most,
    /// Most pages have none.
    Few,
}

/// A pass over a file, as far as it is the same for all row groups.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) footer: Arc<Footer>,
    /// The file, with nothing loaded.
    pub(super) file: BufferedInput,
    /// The largest piece of a chunk that is held.
    pub(super) max_piece: usize,
    pub(super) page_options: PageOptions,
    /// What is done with all pages.
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
    /// The rows that metadata left.
    pub(super) wanted: RowRanges,
    /// Offset indexes that were read already, by leaf.
    pub(super) offsets: Vec<(usize, OffsetIndex)>,
}

/// The pieces of a pass that reads `num_leaves` leaves, at most what the input reads at once.
pub(super) fn piece_bytes(num_leaves: usize, coalescing: Coalescing) -> usize {
    let most = usize::try_from(coalescing.load_quantum).unwrap_or(usize::MAX).max(1);
    (MAX_HELD_BYTES / num_leaves.max(1)).clamp(MIN_PIECE_BYTES.min(most), most)
}

impl GroupScan {
    /// Announces a chunk that is to be loaded with others.
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

    /// Adds the magic to the first region of a file that was opened without looking at it.
    fn with_head(&self, region: Range<u64>) -> Range<u64> {
        match self.pass.footer.unchecked_head {
            Some(_) if region.start == MAGIC_BYTES => 0..region.end,
            _ => region,
        }
    }

    /// Looks at the magic of such a file, once its first chunk is read. Where only some pages of that are
    /// wanted, nothing is read for it.
    fn check_head(&self, start: u64, shared: Option<&BufferedInput>) -> Result<()> {
        let Pass { footer, file, .. } = self.pass.as_ref();
        let Some(magic) = footer.unchecked_head.filter(|_| start == MAGIC_BYTES) else {
            return Ok(());
        };
        let head = match shared.and_then(|shared| shared.loaded(0, MAGIC_BYTES)) {
            Some(head) => head,
            // A chunk that is read in pieces is large enough for another read.
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
        // Pages of data stand behind the dictionary, if there is one.
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

    /// Adds the offset index that rows were left out by: what it says is compared with each page.
    fn with_locations(&self, leaf: usize, start: u64, source: PageSource) -> PageSource {
        let has_left_out = self.wanted.num_rows() < self.num_rows;
        match self.offsets.iter().find(|(read, _)| *read == leaf) {
            Some((_, index)) if has_left_out => {
                source.with_locations(index.clone(), start, self.num_rows)
            }
            _ => source,
        }
    }

    /// Says that a chunk will be read when the scan comes to this row group: whole, with those of
    /// other columns, or its first piece.
    pub(super) fn announce_later(&self, leaf: usize, input: &mut BufferedInput) -> Result<()> {
        let (_, region) = chunk_region(&self.pass.footer, self.number, leaf)?;
        let piece = region.start.saturating_add(self.pass.max_piece as u64);
        if region.end <= piece {
            return input.enqueue(self.with_head(region));
        }
        input.will_need(region.start..piece);
        Ok(())
    }

    /// True when every value of the leaves is proved to stand in a dictionary.
    pub(super) fn is_in_dictionaries(&self, leaves: &[usize]) -> bool {
        leaves.iter().all(|leaf| {
            let chunk = self.pass.footer.column_chunk(self.number, *leaf).ok();
            let meta = chunk.and_then(|chunk| chunk.meta_data.as_ref());
            meta.is_some_and(all_pages_dictionary_encoded)
        })
    }

    /// True when it is worth knowing where the pages of a chunk are.
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

    fn places(&self, leaf: usize) -> Result<Option<PagePlaces>> {
        let Pass { footer, file, .. } = self.pass.as_ref();
        let region: Range<u64> = footer.chunk(self.number, leaf)?.1;
        let of = |index: &OffsetIndex| PagePlaces::new(index, &region, self.num_rows, &self.wanted);
        if let Some((_, index)) = self.offsets.iter().find(|(read, _)| *read == leaf) {
            return Ok(of(index));
        }
        let source = FileSource { input: file, decryptor: footer.decryptor.as_ref() };
        let chunk = source.chunk(footer, self.number, leaf);
        let index = read_page_index(chunk, false, TrustOptions::default())?;
        Ok(index.offsets().and_then(of))
    }
}
