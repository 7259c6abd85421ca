//! Reader of one leaf: decodes its pages into levels and values, window by window.
//!
//! ```text
//! PageReader -> page --levels--> window's levels  --> validity, slots, lengths
//!                    --values--> ValueReader      --> one vector
//! ```
//!
//! The representation of levels depends on the leaf and is chosen once:
//!
//! | max rep | max def | levels of a window |
//! |---|---|---|
//! | 0 | 0 | none: every row has a value |
//! | 0 | 1 | bits, which are the validity |
//! | 0 | more | definition levels as bytes |
//! | more | any | both kinds as bytes; a row ends where the next begins with repetition level 0 |
//!
//! A window is divided at page boundaries; the non-null values of each piece are decoded by one
//! call of the [`ValueReader`], which does not handle levels. `flat` and `nested` contain the loops
//! for leaves without and with repetition.

mod ending;
mod filtering;
mod flat;
mod nested;

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{
    Bitmap, BitmapMut, Buffer, Error, MemoryPool, Result, ResultExt, SelectivityVector, VectorRef,
};

use super::current_page::PageEnd;
use super::entries::{self, EntryFilter, Levels};
use crate::created_by::PageQuirks;
use crate::levels::LevelDecoder;
use crate::levels::nested::{ListLevels, ListSlots, list_slots, slot_validity};
use crate::page::source::PageSource;
use crate::page::{ChunkParams, DictionaryPage, PageInfo, PageReader};
use crate::thrift::structs::Encoding;

/// A reader of the non-null values of a leaf: decodes pages and builds the window's vector.
pub(crate) trait ValueReader: Send {
    /// Starts another chunk and drops all state of the previous one; `quirks` are those of its
    /// writer.
    fn start_chunk(&mut self, quirks: PageQuirks);

    /// Sets the chunk's dictionary.
    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()>;

    /// Starts another page. Its bytes are not validated before a value is read: a page in which all
    /// values are null may have arbitrary bytes.
    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>);

    /// Checks that the current page ends as `end` states.
    fn check_end(&mut self, end: PageEnd) -> Result<()>;

    /// Releases the page's bytes, unless the window refers to them.
    fn end_page(&mut self);

    /// Appends the next `n` values to the window.
    fn read(&mut self, n: usize) -> Result<()>;

    /// Appends the selected ones of the next `n` values to the window and returns the number of
    /// values that were decoded for it. Bit `i` of `wanted` stands for value `i`; bits behind the
    /// last value are zero.
    fn read_selected(&mut self, n: usize, wanted: &[u64]) -> Result<usize>;

    /// Returns true when `filter` and `filter_and_read` are supported.
    fn filters(&self) -> bool {
        false
    }

    /// Skips the next `n` values and clears the bits in `wanted` of those that fail. Returns the
    /// number of values that were decoded for it; values that are tested in encoded form do not
    /// count.
    fn filter(&mut self, _: &Arc<Filter>, _: usize, _: &mut [u64]) -> Result<usize> {
        Err(no_filter())
    }

    /// Tests the next `n` values as `filter` does and appends those that pass to the window.
    fn filter_and_read(&mut self, _: &Arc<Filter>, _: usize, _: &mut [u64]) -> Result<usize> {
        Err(no_filter())
    }

    /// Returns false when the chunk has a dictionary of which no entry passes.
    fn dictionary_may_match(&mut self, _: &Arc<Filter>) -> Result<bool> {
        Ok(true)
    }

    /// Skips the next `n` values.
    fn skip(&mut self, n: usize) -> Result<()>;

    /// Returns the window's vector of `num_slots` rows, in which the values belong to the valid
    /// rows, and starts a new window.
    fn finish(&mut self, num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef>;
}

/// The work done by reading a column so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ColumnCounts {
    /// Number of values that were materialized or converted.
    pub(crate) values_decoded: u64,
    /// Number of data pages that were decompressed or decoded.
    pub(crate) pages_read: u64,
    /// Number of data pages that were skipped without being read.
    pub(crate) pages_skipped: u64,
}

impl std::ops::AddAssign for ColumnCounts {
    fn add_assign(&mut self, other: Self) {
        self.values_decoded += other.values_decoded;
        self.pages_read += other.pages_read;
        self.pages_skipped += other.pages_skipped;
    }
}

/// Reads one leaf.
pub(crate) struct LeafReader {
    name: String,
    max_def: u8,
    max_rep: u8,
    values: Box<dyn ValueReader>,
    pages: Option<PageReader>,
    page: Option<Page>,
    row_started: bool,
    /// True when pages can be skipped without being read, because none depends on its predecessor.
    skips_pages: bool,
    window: Window,
    /// Repetition levels of a repeated leaf that are decoded; those from `block_at` on are not
    /// consumed yet.
    block_rep: Vec<u8>,
    block_def: Vec<u8>,
    block_at: usize,
    /// The form of the last page of this chunk that was left early and walked over.
    walked: Option<PageForm>,
    /// Buffers for the current piece of a page.
    piece: flat::Piece,
    counts: ColumnCounts,
    pool: MemoryPool,
}

/// The operation on the selected rows of a leaf without repetition.
#[derive(Clone, Copy)]
enum Task<'a> {
    /// Reads them into the window.
    Read,
    /// Deselects those that do not pass.
    Filter(&'a Arc<Filter>),
    /// Deselects those that do not pass and reads the others into the window.
    FilterAndRead(&'a Arc<Filter>),
}

/// The rows that a walk over a repeated leaf reads.
#[derive(Clone, Copy)]
enum Rows<'a> {
    All,
    None,
    /// The rows with a set bit.
    Selected(&'a [u64]),
}

/// The current page.
struct Page {
    ordinal: usize,
    offset: u64,
    left: usize,
    /// Number of non-null values among the levels that were decoded.
    num_present: usize,
    /// Number of rows that start in the levels that were decoded; counted below repeated fields.
    num_rows: usize,
    /// The contents of the page header.
    info: PageInfo,
    form: PageForm,
    repetition: LevelDecoder,
    definition: LevelDecoder,
    body: Buffer<u8>,
}

/// The properties of a page header that determine how the page is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageForm {
    /// True for a page of version 1, in which length prefixes separate levels and values.
    is_v1: bool,
    /// True when definition or repetition levels are in the deprecated encoding.
    has_packed_levels: bool,
    encoding: Encoding,
}

/// The levels of the rows of the current window.
struct Window {
    num_rows: usize,
    /// For a maximum definition level of 1: a bit for each row, set when the row has a value.
    bits: BitmapMut,
    /// The same bits once the window is complete; `None` when every row has a value.
    validity: Option<Bitmap>,
    levels: Levels,
    /// The filters that drop entries of lists and maps.
    entry_filters: Vec<EntryFilter>,
    /// The window's vector, where it had to be built before it is requested.
    made: Option<VectorRef>,
}

/// The slots of a node, as its vector needs them.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Number of slots.
    pub(crate) num: usize,
    /// The slots that are not null; `None` when none is null.
    pub(crate) validity: Option<Bitmap>,
}

impl LeafReader {
    /// Creates a reader of the leaf with the path `name`.
    pub(crate) fn new(
        name: String,
        (max_def, max_rep): (u8, u8),
        values: Box<dyn ValueReader>,
        pool: MemoryPool,
    ) -> Self {
        LeafReader {
            name,
            max_def,
            max_rep,
            values,
            pages: None,
            page: None,
            row_started: false,
            skips_pages: true,
            window: Window {
                num_rows: 0,
                bits: BitmapMut::new(),
                validity: None,
                levels: Levels::new(&pool),
                entry_filters: Vec::new(),
                made: None,
            },
            block_rep: Vec::new(),
            block_def: Vec::new(),
            block_at: 0,
            walked: None,
            piece: flat::Piece::default(),
            counts: ColumnCounts::default(),
            pool,
        }
    }

    /// Returns the leaf's maximum repetition level.
    pub(crate) fn max_rep(&self) -> u8 {
        self.max_rep
    }

    /// Returns the work done so far.
    pub(crate) fn counts(&self) -> ColumnCounts {
        self.counts
    }

    /// Checks the page at which the leaf is positioned and releases the chunk's bytes.
    /// `is_read_to_end` is true when the last row of the row group was read.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page or the chunk contains more than its header states.
    pub(crate) fn end_chunk(&mut self, is_read_to_end: bool) -> Result<()> {
        let checked = self.check_chunk_end(is_read_to_end);
        self.drop_chunk();
        checked.map_err(|e| self.in_column(e))
    }

    /// Releases the chunk's bytes.
    pub(crate) fn drop_chunk(&mut self) {
        self.end_page();
        if let Some(pages) = &mut self.pages {
            pages.close();
        }
    }

    /// Continues with another chunk of the leaf.
    pub(crate) fn start_chunk(&mut self, chunk: ChunkParams, source: PageSource) {
        self.end_page();
        self.values.start_chunk(chunk.quirks);
        self.skips_pages = !chunk.quirks.carries_prefixes;
        self.row_started = false;
        self.block_rep.clear();
        self.block_def.clear();
        self.block_at = 0;
        self.walked = None;
        match &mut self.pages {
            Some(pages) => pages.reopen(chunk, source),
            None => self.pages = Some(PageReader::new(chunk, source, self.pool.clone())),
        }
    }

    /// Starts a window without rows.
    pub(crate) fn begin(&mut self) {
        self.window.num_rows = 0;
        self.window.bits.clear();
        self.window.validity = None;
        self.window.levels.clear();
        self.window.entry_filters.clear();
        self.window.made = None;
    }

    /// Sets the filters that drop entries of lists and maps from the window.
    pub(super) fn set_entry_filters(&mut self, filters: Vec<EntryFilter>) {
        self.window.entry_filters = filters;
    }

    /// Drops the entries of the window of which the key in this leaf does not pass. Returns the
    /// bits of the entries that are kept, by which the other leaves below the map are filtered;
    /// `None` when all pass.
    pub(super) fn keep_entries(
        &mut self,
        slot_def: u8,
        levels: ListLevels,
        filter: &Filter,
    ) -> Result<Option<Bitmap>> {
        let keys = self.vector(slot_def)?;
        let passing = entries::passing_keys(&keys, filter).map_err(|e| self.in_column(e))?;
        let Some(passing) = passing else {
            self.window.made = Some(keys);
            return Ok(None);
        };
        let bits = entries::bits_of(&passing, keys.len())?;
        let mut rewritten = Levels::new(&self.pool);
        let mut filters = [EntryFilter::by_bits(levels, bits.clone())];
        let before = &self.window.levels;
        for (rep, def) in before.rep.iter().zip(before.def.iter()) {
            entries::push(&mut filters, *rep, *def, &mut rewritten);
        }
        entries::finish(&mut filters, &mut rewritten);
        self.window.levels = rewritten;
        self.window.made = Some(vector::gather(&keys, &passing.to_positions())?);
        Ok(Some(bits))
    }

    /// Reads the next `num_rows` rows into the window.
    pub(crate) fn read(&mut self, num_rows: usize) -> Result<()> {
        self.window.num_rows += num_rows;
        let result = if self.max_rep > 0 {
            self.walk_nested(num_rows, Rows::All)
        } else {
            let mut bits = std::mem::take(&mut self.window.bits);
            let result = self.read_flat(num_rows, &mut bits);
            self.window.bits = bits;
            result
        };
        result.map_err(|e| self.in_column(e))
    }

    /// Ends the window, after which its slots and its vector can be requested.
    pub(crate) fn end(&mut self) {
        let Window { levels, entry_filters, .. } = &mut self.window;
        entries::finish(entry_filters, levels);
        if self.has_bits() {
            self.window.validity = std::mem::take(&mut self.window.bits).freeze_validity();
        }
    }

    /// Reads the selected ones of the next `num_rows` rows into the window; no later row is
    /// selected.
    pub(crate) fn read_selected(
        &mut self,
        rows: &SelectivityVector,
        num_rows: usize,
    ) -> Result<()> {
        if num_rows == 0 {
            return Ok(());
        }
        let result = if self.max_rep > 0 {
            self.window.num_rows += rows.count();
            self.walk_nested(num_rows, Rows::Selected(rows.words()))
        } else {
            self.walk_selected(&mut rows.words().to_vec(), num_rows, Task::Read)
        };
        result.map_err(|e| self.in_column(e))
    }

    fn set_dictionary(&mut self, dictionary: DictionaryPage) -> Result<()> {
        self.values.set_dictionary(dictionary).in_named("page", "dictionary")
    }

    /// Skips the next `num_rows` rows.
    pub(crate) fn skip(&mut self, num_rows: usize) -> Result<()> {
        if num_rows == 0 {
            return Ok(());
        }
        let result = if self.max_rep > 0 {
            self.walk_nested(num_rows, Rows::None)
        } else {
            self.skip_flat(num_rows)
        };
        result.map_err(|e| self.in_column(e))
    }

    /// Returns the vector of the window's values, for slots that exist from `slot_def` on.
    pub(crate) fn vector(&mut self, slot_def: u8) -> Result<VectorRef> {
        if let Some(made) = self.window.made.take() {
            return Ok(made);
        }
        let slots = self.slots(self.max_rep, slot_def, self.max_def);
        self.values.finish(slots.num, slots.validity).map_err(|e| self.in_column(e))
    }

    /// Returns the slots of the window at a node above this leaf or at the leaf itself: slots exist
    /// from `slot_def` on and are valid from `valid_def` on.
    pub(crate) fn slots(&self, slot_rep: u8, slot_def: u8, valid_def: u8) -> Slots {
        let window = &self.window;
        if self.max_rep > 0 {
            let (num, validity) = slot_validity(
                Some(&window.levels.rep),
                &window.levels.def,
                slot_rep,
                slot_def,
                valid_def,
            );
            return Slots { num, validity };
        }
        let validity = match valid_def {
            0 => None,
            _ if self.has_bits() => window.validity.clone(),
            _ => slot_validity(None, &window.levels.def, 0, 0, valid_def).1,
        };
        Slots { num: window.num_rows, validity }
    }

    /// Returns the slots of the window at a list above this leaf.
    pub(crate) fn list_slots(&self, levels: ListLevels) -> Result<ListSlots> {
        list_slots(&self.window.levels.rep, &self.window.levels.def, levels, &self.pool)
            .map_err(|e| self.in_column(e))
    }

    #[cold]
    fn in_column(&self, error: Error) -> Error {
        error.in_named("column", &self.name)
    }

    fn pages(&mut self) -> Result<&mut PageReader> {
        self.pages.as_mut().ok_or_else(no_chunk)
    }

    /// Returns true when definition levels are kept as bits.
    fn has_bits(&self) -> bool {
        self.max_rep == 0 && self.max_def == 1
    }

    fn start_page(&mut self) -> Result<()> {
        let pages = self.pages.as_mut().ok_or_else(no_chunk)?;
        let page = pages.read()?;
        self.counts.pages_read += 1;
        let dictionary = match page.encoding {
            Encoding::PlainDictionary | Encoding::RleDictionary => pages.take_dictionary()?,
            _ => None,
        };
        if let Some(dictionary) = dictionary {
            self.set_dictionary(dictionary)?;
        }
        self.values.start_page(page.encoding, page.values);
        self.page = Some(Page {
            ordinal: page.info.ordinal,
            offset: page.offset,
            left: page.info.num_values,
            num_present: 0,
            num_rows: 0,
            form: PageForm {
                is_v1: page.info.num_nulls.is_none(),
                has_packed_levels: page.repetition.is_bit_packed()
                    || page.definition.is_bit_packed(),
                encoding: page.encoding,
            },
            info: page.info,
            repetition: page.repetition,
            definition: page.definition,
            body: page.body,
        });
        Ok(())
    }

    fn end_page(&mut self) {
        self.values.end_page();
        if let (Some(page), Some(pages)) = (self.page.take(), &mut self.pages) {
            // The level decoders refer to the same memory and must be dropped first.
            let Page { repetition, definition, body, .. } = page;
            drop((repetition, definition));
            pages.recycle(body);
        }
    }
}

impl Page {
    #[cold]
    fn place(&self, error: Error) -> Error {
        error.in_place("page", self.ordinal).in_place("offset", self.offset)
    }
}

#[cold]
fn no_filter() -> Error {
    Error::internal("values of this kind are not filtered while they are read")
}

#[cold]
fn no_chunk() -> Error {
    Error::internal("the leaf has no chunk")
}

#[cold]
fn too_few_rows(missing: usize) -> Error {
    Error::corrupt("the column chunk has fewer rows than its row group").with("missing", missing)
}
