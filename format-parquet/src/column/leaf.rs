//! One leaf: its pages as levels and values, window by window.
//!
//! ```text
//! PageReader -> page --levels--> window's levels  --> validity, slots, lengths
//!                    --values--> ValueReader      --> one vector
//! ```
//!
//! How levels are kept depends on the leaf, and is chosen once:
//!
//! | max rep | max def | levels of a window |
//! |---|---|---|
//! | 0 | 0 | none: every row has a value |
//! | 0 | 1 | bits, which are the validity |
//! | 0 | more | definition levels as bytes |
//! | more | any | both kinds as bytes; a row ends where the next begins with repetition level 0 |
//!
//! The window is cut at pages; for each piece the values that are there are decoded by one call
//! of the [`ValueReader`], which knows nothing of levels. `flat` and `nested` are the two walks.

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

/// The values of a leaf, without nulls: decodes pages and makes the window's vector.
pub(crate) trait ValueReader: Send {
    /// Forgets everything of the last chunk; `quirks` are those of the writer.
    fn start_chunk(&mut self, quirks: PageQuirks);

    /// Takes the chunk's dictionary.
    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()>;

    /// Goes on with the values of another page. The bytes are not looked at before a value is
    /// asked for: a page of nulls may have anything there.
    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>);

    /// Checks that the current page ends as `end` says.
    fn check_end(&mut self, end: PageEnd) -> Result<()>;

    /// Lets go of the page's bytes, as far as the window does not refer to them.
    fn end_page(&mut self);

    /// Appends the next `n` values to the window.
    fn read(&mut self, n: usize) -> Result<()>;

    /// Of the next `n` values appends those of `wanted` to the window: bit `i` stands for value
    /// `i`, and bits behind the last value are zero. Gives how many were decoded for that.
    fn read_selected(&mut self, n: usize, wanted: &[u64]) -> Result<usize>;

    /// True when the two functions below can be used.
    fn filters(&self) -> bool {
        false
    }

    /// Passes over the next `n` values and clears the bits of `wanted` whose value fails. Gives how
    /// many were decoded for that; values that are tested where they stand do not count.
    fn filter(&mut self, _: &Arc<Filter>, _: usize, _: &mut [u64]) -> Result<usize> {
        Err(no_filter())
    }

    /// Both at once: appends what passes.
    fn filter_and_read(&mut self, _: &Arc<Filter>, _: usize, _: &mut [u64]) -> Result<usize> {
        Err(no_filter())
    }

    /// False when the dictionary is there and none of its entries passes.
    fn dictionary_may_match(&mut self, _: &Arc<Filter>) -> Result<bool> {
        Ok(true)
    }

    /// Passes over the next `n` values.
    fn skip(&mut self, n: usize) -> Result<()>;

    /// The window's vector of `num_slots` rows; its values are those of the valid ones. A new
    /// window starts.
    fn finish(&mut self, num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef>;
}

/// What reading a column has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ColumnCounts {
    /// Values that were materialised or converted.
    pub(crate) values_decoded: u64,
    /// Data pages whose bytes were looked at,
    pub(crate) pages_read: u64,
    /// and those that were passed over unread.
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
    /// Pages can be passed over unread: none goes on from the one before.
    skips_pages: bool,
    window: Window,
    /// Levels of a repeated leaf that are decoded but not taken yet, from `block_at` on.
    block_rep: Vec<u8>,
    block_def: Vec<u8>,
    block_at: usize,
    /// The form of the page of this chunk that was left early last and walked over.
    walked: Option<PageForm>,
    /// Of the piece of a page that is being read.
    piece: flat::Piece,
    counts: ColumnCounts,
    pool: MemoryPool,
}

/// What is done with the selected rows of a leaf without repetition.
#[derive(Clone, Copy)]
enum Task<'a> {
    /// They go into the window.
    Read,
    /// Those that do not pass are deselected.
    Filter(&'a Arc<Filter>),
    /// Both.
    FilterAndRead(&'a Arc<Filter>),
}

/// The rows that a walk over a repeated leaf reads.
#[derive(Clone, Copy)]
enum Rows<'a> {
    All,
    None,
    /// Those whose bit is one.
    Selected(&'a [u64]),
}

/// The page that is being read.
struct Page {
    ordinal: usize,
    offset: u64,
    left: usize,
    /// Values of the levels that were decoded, nulls left out.
    num_present: usize,
    /// Rows that start in the levels that were decoded; counted below repeated fields.
    num_rows: usize,
    /// What the header says.
    info: PageInfo,
    form: PageForm,
    repetition: LevelDecoder,
    definition: LevelDecoder,
    body: Buffer<u8>,
}

/// How a page is written, as its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PageForm {
    /// The page is of version 1, whose levels and values are cut by what they say themselves.
    is_v1: bool,
    /// Definition or repetition levels are in the deprecated encoding.
    has_packed_levels: bool,
    encoding: Encoding,
}

/// The levels of the rows read last.
struct Window {
    num_rows: usize,
    /// For a greatest definition level of 1: which rows have it,
    bits: BitmapMut,
    /// and the same once the window is complete; `None` for all.
    validity: Option<Bitmap>,
    levels: Levels,
    /// What is left of lists and maps.
    entry_filters: Vec<EntryFilter>,
    /// The vector, where it had to be made before it is asked for.
    made: Option<VectorRef>,
}

/// The slots of a node, as its vector needs them.
#[derive(Debug)]
pub(crate) struct Slots {
    /// How many there are.
    pub(crate) num: usize,
    /// Which are not null; `None` for all.
    pub(crate) validity: Option<Bitmap>,
}

impl LeafReader {
    /// A reader of the leaf called `name` (its path).
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

    /// The leaf's greatest repetition level.
    pub(crate) fn max_rep(&self) -> u8 {
        self.max_rep
    }

    /// What was done so far.
    pub(crate) fn counts(&self) -> ColumnCounts {
        self.counts
    }

    /// Checks the page that the leaf stands in and releases the chunk's bytes. `is_read_to_end`: the
    /// last row of the row group was read.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the page or the chunk has more in it than its header says.
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

    /// Goes on with another chunk of the leaf.
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

    /// Entries of lists and maps that are dropped out of the window.
    pub(super) fn set_entry_filters(&mut self, filters: Vec<EntryFilter>) {
        self.window.entry_filters = filters;
    }

    /// Drops the entries of the window whose key in this leaf does not pass; `None` when all do. The
    /// others' bits are for the leaves beside it.
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

    /// Ends the window: from now on it can be asked for slots and its vector.
    pub(crate) fn end(&mut self) {
        let Window { levels, entry_filters, .. } = &mut self.window;
        entries::finish(entry_filters, levels);
        if self.has_bits() {
            self.window.validity = std::mem::take(&mut self.window.bits).freeze_validity();
        }
    }

    /// Of the next `num_rows` rows reads the selected ones into the window; no row behind them is
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

    /// Passes over the next `num_rows` rows.
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

    /// The vector of the window's values, for slots that exist from `slot_def` on.
    pub(crate) fn vector(&mut self, slot_def: u8) -> Result<VectorRef> {
        if let Some(made) = self.window.made.take() {
            return Ok(made);
        }
        let slots = self.slots(self.max_rep, slot_def, self.max_def);
        self.values.finish(slots.num, slots.validity).map_err(|e| self.in_column(e))
    }

    /// The slots of the window at a node above or at this leaf: slots exist from `slot_def` on and
    /// are valid from `valid_def` on.
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

    /// The slots of the window at a list above this leaf.
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

    /// Definition levels are bits.
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
            // The level decoders look at the same memory.
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
