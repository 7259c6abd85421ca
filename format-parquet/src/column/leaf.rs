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
//! of the [`ValueReader`], which knows nothing of levels.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation
    )
)]

use vector::{
    Bitmap, BitmapMut, Buffer, BufferMut, Error, MemoryPool, Result, ResultExt, VectorRef,
};

use crate::encoding::plain::appended;
use crate::levels::LevelDecoder;
use crate::levels::nested::{ListLevels, ListSlots, list_slots, slot_validity};
use crate::page::source::PageSource;
use crate::page::{ChunkParams, DictionaryPage, PageReader};
use crate::thrift::structs::Encoding;

/// Pairs of levels of a repeated leaf that are decoded at a time.
const BLOCK_LEVELS: usize = 4096;

/// The values of a leaf, without nulls: decodes pages and makes the window's vector.
pub(crate) trait ValueReader: Send {
    /// Forgets everything of the last chunk. `carries_prefixes`: the first value of a page may go
    /// on from the last one of the page before.
    fn start_chunk(&mut self, carries_prefixes: bool);

    /// Takes the chunk's dictionary.
    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()>;

    /// Goes on with the values of another page. The bytes are not looked at before a value is
    /// asked for: a page of nulls may have anything there.
    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>);

    /// Lets go of the page's bytes, as far as the window does not refer to them.
    fn end_page(&mut self);

    /// Appends the next `n` values to the window.
    fn read(&mut self, n: usize) -> Result<()>;

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
    counts: ColumnCounts,
    pool: MemoryPool,
}

/// The page that is being read.
struct Page {
    ordinal: usize,
    offset: u64,
    left: usize,
    repetition: LevelDecoder,
    definition: LevelDecoder,
    body: Buffer<u8>,
}

/// The levels of the rows read last.
struct Window {
    num_rows: usize,
    /// For a greatest definition level of 1: which rows have it,
    bits: BitmapMut,
    /// and the same once the window is complete; `None` for all.
    validity: Option<Bitmap>,
    rep: BufferMut<u8>,
    def: BufferMut<u8>,
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
                rep: BufferMut::new_in(&pool),
                def: BufferMut::new_in(&pool),
            },
            block_rep: Vec::new(),
            block_def: Vec::new(),
            block_at: 0,
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

    /// Lets go of the chunk's bytes.
    pub(crate) fn end_chunk(&mut self) {
        self.end_page();
        if let Some(pages) = &mut self.pages {
            pages.close();
        }
    }

    /// Goes on with another chunk of the leaf.
    pub(crate) fn start_chunk(&mut self, chunk: ChunkParams, source: PageSource) {
        self.end_page();
        self.values.start_chunk(chunk.carries_prefixes);
        self.skips_pages = !chunk.carries_prefixes;
        self.row_started = false;
        self.block_rep.clear();
        self.block_def.clear();
        self.block_at = 0;
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
        self.window.rep.clear();
        self.window.def.clear();
    }

    /// Reads the next `num_rows` rows into the window.
    pub(crate) fn read(&mut self, num_rows: usize) -> Result<()> {
        self.window.num_rows += num_rows;
        let result = if self.max_rep > 0 {
            self.walk_repeated(num_rows, true)
        } else {
            let mut bits = std::mem::take(&mut self.window.bits);
            let result = self.walk_flat(num_rows, Some(&mut bits));
            self.window.bits = bits;
            result
        };
        result.map_err(|e| self.in_column(e))
    }

    /// Ends the window: from now on it can be asked for slots and its vector.
    pub(crate) fn end(&mut self) {
        if self.has_bits() {
            self.window.validity = std::mem::take(&mut self.window.bits).freeze_validity();
        }
    }

    /// Passes over the next `num_rows` rows.
    pub(crate) fn skip(&mut self, num_rows: usize) -> Result<()> {
        let result = if self.max_rep > 0 {
            self.walk_repeated(num_rows, false)
        } else {
            self.walk_flat(num_rows, None)
        };
        result.map_err(|e| self.in_column(e))
    }

    /// The vector of the window's values, for slots that exist from `slot_def` on.
    pub(crate) fn vector(&mut self, slot_def: u8) -> Result<VectorRef> {
        let slots = self.slots(self.max_rep, slot_def, self.max_def);
        self.values.finish(slots.num, slots.validity).map_err(|e| self.in_column(e))
    }

    /// The slots of the window at a node above or at this leaf: slots exist from `slot_def` on and
    /// are valid from `valid_def` on.
    pub(crate) fn slots(&self, slot_rep: u8, slot_def: u8, valid_def: u8) -> Slots {
        let window = &self.window;
        if self.max_rep > 0 {
            let (num, validity) =
                slot_validity(Some(&window.rep), &window.def, slot_rep, slot_def, valid_def);
            return Slots { num, validity };
        }
        let validity = match valid_def {
            0 => None,
            _ if self.has_bits() => window.validity.clone(),
            _ => slot_validity(None, &window.def, 0, 0, valid_def).1,
        };
        Slots { num: window.num_rows, validity }
    }

    /// The slots of the window at a list above this leaf.
    pub(crate) fn list_slots(&self, levels: ListLevels) -> Result<ListSlots> {
        list_slots(&self.window.rep, &self.window.def, levels, &self.pool)
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

    /// Reads rows into the window and `bits`, or passes over them when there are no `bits`.
    fn walk_flat(&mut self, num_rows: usize, mut bits: Option<&mut BitmapMut>) -> Result<()> {
        let mut left = num_rows;
        while left > 0 {
            if self.page.as_ref().is_none_or(|page| page.left == 0) {
                self.end_page();
                let Some(info) = self.pages()?.peek()? else {
                    return Err(too_few_rows(left));
                };
                if bits.is_none() && info.num_values <= left && self.skips_pages {
                    self.pages()?.skip()?;
                    self.counts.pages_skipped += 1;
                    left -= info.num_values;
                    continue;
                }
                self.start_page()?;
            }
            left -= self.flat_piece(left, bits.as_deref_mut())?;
        }
        Ok(())
    }

    /// Takes at most `left` rows from the current page.
    fn flat_piece(&mut self, left: usize, bits: Option<&mut BitmapMut>) -> Result<usize> {
        let Some(page) = &mut self.page else { return Err(Error::internal("no page")) };
        let n = left.min(page.left);
        let keep = bits.is_some();
        let present = match (self.max_def, bits) {
            (0, _) => Ok(n),
            (1, Some(bits)) => page.definition.read_bits(n, bits),
            (1, None) => page.definition.read_bits(n, &mut BitmapMut::new()),
            (max, Some(_)) => read_levels(&mut page.definition, max, n, &mut self.window.def),
            (max, None) => {
                let mut scratch = BufferMut::new_in(&self.pool);
                read_levels(&mut page.definition, max, n, &mut scratch)
            }
        };
        let values = &mut self.values;
        let done = present.and_then(|present| match (present, keep) {
            (0, _) => Ok(()),
            (present, true) => {
                self.counts.values_decoded += present as u64;
                values.read(present)
            }
            (present, false) => values.skip(present),
        });
        done.map_err(|e| page.place(e))?;
        page.left -= n;
        Ok(n)
    }

    fn walk_repeated(&mut self, num_rows: usize, keep: bool) -> Result<()> {
        let mut rows_started = 0;
        loop {
            if self.block_at == self.block_rep.len() && !self.fill_block()? {
                break;
            }
            let rep = self.block_rep.get(self.block_at..).unwrap_or(&[]);
            let def = self.block_def.get(self.block_at..).unwrap_or(&[]);
            let mut n = rep.len();
            let starts = rep.iter().filter(|rep| **rep == 0).count();
            if rows_started + starts > num_rows {
                // The start of a row that is not wanted any more ends the window.
                let ends_window = num_rows - rows_started;
                let mut zeros = rep.iter().enumerate().filter(|(_, rep)| **rep == 0);
                n = zeros.nth(ends_window).map_or(n, |(at, _)| at);
                rows_started = num_rows;
            } else {
                rows_started += starts;
            }
            let (rep, def) = (rep.get(..n).unwrap_or(&[]), def.get(..n).unwrap_or(&[]));
            if keep {
                appended(&mut self.window.rep, n)?.copy_from_slice(rep);
                appended(&mut self.window.def, n)?.copy_from_slice(def);
            }
            let present = def.iter().filter(|def| **def == self.max_def).count();
            if present > 0 {
                let done = if keep {
                    self.counts.values_decoded += present as u64;
                    self.values.read(present)
                } else {
                    self.values.skip(present)
                };
                done.map_err(|e| match &self.page {
                    Some(page) => page.place(e),
                    None => e,
                })?;
            }
            self.block_at += n;
            if self.block_at < self.block_rep.len() {
                break;
            }
        }
        if rows_started < num_rows {
            return Err(too_few_rows(num_rows - rows_started));
        }
        Ok(())
    }

    /// Decodes the next levels of a repeated leaf; false when the chunk is over.
    fn fill_block(&mut self) -> Result<bool> {
        if self.page.as_ref().is_none_or(|page| page.left == 0) {
            self.end_page();
            if self.pages()?.peek()?.is_none() {
                return Ok(false);
            }
            self.start_page()?;
        }
        let Some(page) = &mut self.page else { return Err(Error::internal("no page")) };
        let n = page.left.min(BLOCK_LEVELS);
        self.block_rep.resize(n, 0);
        self.block_def.resize(n, 0);
        self.block_at = 0;
        let read = page
            .repetition
            .read(&mut self.block_rep)
            .and_then(|()| page.definition.read(&mut self.block_def));
        read.map_err(|e| page.place(e))?;
        page.left -= n;
        if !self.row_started && self.block_rep.first().is_some_and(|rep| *rep != 0) {
            return Err(page.place(Error::corrupt("the first row starts in its middle")));
        }
        self.row_started = true;
        Ok(true)
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
            self.values.set_dictionary(dictionary).in_named("page", "dictionary")?;
        }
        self.values.start_page(page.encoding, page.values);
        self.page = Some(Page {
            ordinal: page.info.ordinal,
            offset: page.offset,
            left: page.info.num_values,
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

/// Appends `n` levels; gives how many are the maximum.
fn read_levels(
    levels: &mut LevelDecoder,
    max: u8,
    n: usize,
    out: &mut BufferMut<u8>,
) -> Result<usize> {
    let out = appended(out, n)?;
    levels.read(out)?;
    Ok(out.iter().filter(|level| **level == max).count())
}

#[cold]
fn no_chunk() -> Error {
    Error::internal("the leaf has no chunk")
}

#[cold]
fn too_few_rows(missing: usize) -> Error {
    Error::corrupt("the column chunk has fewer rows than its row group").with("missing", missing)
}
