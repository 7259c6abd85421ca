//! Values of fixed width: decoded from pages into flat vectors.
//!
//! [`FixedValues`] is generic over the way PLAIN values are read and converted (`encoding::plain`);
//! a dictionary holds converted values, so reading a page of indices is a gather of vector values.
//!
//! | page | selected values | filter |
//! |---|---|---|
//! | PLAIN | converted from the page directly | blocks are converted in the L1 cache and tested |
//! | indices | looked up | tested once for each dictionary entry, then by index |
//! | others | blocks with a selected value decoded | the same; blocks with failing bounds skipped |

use dwio::filter::{Filter, Match};
use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, BufferMut, FlatVector, MemoryPool, Result, Type, Vector, VectorRef, bits,
};

use super::current_page::{CurrentPage, PageEnd, PageValues, no_dictionary, no_page};
use super::leaf::ValueReader;
use super::spread::{LastWindow, spread};
use crate::created_by::PageQuirks;
use crate::encoding::dictionary::Dictionary;
use crate::encoding::dictionary_filter::CachedFilter;
use crate::encoding::plain::{PlainValues, appended};
use crate::encoding::recoded::{Recoded, STEP, Storage};
use crate::encoding::selection::append_selected;
use crate::page::DictionaryPage;
use crate::thrift::structs::Encoding;

/// A reader of values that flat vectors store in one array.
pub(super) struct FixedValues<P: PlainValues> {
    ty: Type,
    plain: P,
    dictionary: Option<Dictionary<P::Out>>,
    /// The memory of the dictionary, kept for the next one.
    last_dictionary: LastWindow<P::Out>,
    answers: CachedFilter,
    page: CurrentPage,
    /// The values of the window; `None` before the first value of a window is read.
    window: Option<BufferMut<P::Out>>,
    last: LastWindow<P::Out>,
    /// Decides whether the bounds of blocks are tested.
    bounds: BoundsUse,
    /// PLAIN bytes of the current block of a page in another encoding.
    recoded: BufferMut<u8>,
    /// The values of the current block, which are tested before any is kept.
    block: BufferMut<P::Out>,
    pool: MemoryPool,
}

impl<P: PlainValues> FixedValues<P> {
    /// Creates a reader of values of type `ty` of this storage.
    pub(super) fn new(ty: Type, plain: P, storage: Storage, pool: &MemoryPool) -> Self {
        FixedValues {
            ty,
            plain,
            dictionary: None,
            last_dictionary: LastWindow::new(),
            answers: CachedFilter::default(),
            page: CurrentPage::new(storage),
            window: None,
            last: LastWindow::new(),
            bounds: BoundsUse::default(),
            recoded: BufferMut::new_in(pool),
            block: BufferMut::new_in(pool),
            pool: pool.clone(),
        }
    }

    /// Decodes the next `n` values in blocks, skipping blocks without a selected value that may
    /// pass `filter`, and calls `each` for each decoded block with its values, its selection and
    /// the window. Returns the number of values that were decoded from an encoding other than
    /// PLAIN.
    fn in_blocks(
        &mut self,
        n: usize,
        words: &mut [u64],
        filter: Option<&Filter>,
        mut each: impl FnMut(&[P::Out], &mut [u64], &mut BufferMut<P::Out>) -> Result<()>,
    ) -> Result<usize> {
        let window = self.window.get_or_insert_with(|| self.last.take(&self.pool));
        let page = self.page.open()?;
        let mut num_recoded = 0;
        for (start, words) in (0..n).step_by(STEP).zip(words.chunks_mut(STEP / 64)) {
            let now = STEP.min(n - start);
            let mut is_wanted = words.iter().any(|word| *word != 0);
            if let (true, Some(filter), PageValues::Recoded(recoded)) = (is_wanted, filter, &*page)
                && P::ARE_STORED_INTEGERS
                && self.bounds.exclude(recoded, now, filter)?
            {
                words.fill(0);
                is_wanted = false;
            }
            self.block.clear();
            match page {
                PageValues::Plain { bytes, at } => {
                    let rest = bytes.get(*at..).unwrap_or(&[]);
                    *at += match is_wanted {
                        true => self.plain.read(rest, now, &mut self.block)?,
                        false => self.plain.skip(rest, now)?,
                    };
                }
                PageValues::Recoded(recoded) if is_wanted => {
                    self.recoded.clear();
                    recoded.read(now, &mut self.recoded)?;
                    self.plain.read(&self.recoded, now, &mut self.block)?;
                    num_recoded += now;
                }
                PageValues::Recoded(recoded) => recoded.skip(now)?,
                _ => return Err(no_page()),
            }
            if is_wanted {
                each(&self.block, words, window)?;
            }
        }
        Ok(num_recoded)
    }
}

/// Decides when bounds of blocks are tested: for every block while they exclude blocks, rarely
/// otherwise.
#[derive(Debug, Default)]
struct BoundsUse {
    /// Number of blocks since the last one that was excluded.
    vain_blocks: u32,
}

impl BoundsUse {
    /// Number of blocks per test after a test that excluded nothing.
    const PAUSE: u32 = 8;

    /// Returns true when none of the next `n` values can pass.
    fn exclude(&mut self, recoded: &Recoded, n: usize, filter: &Filter) -> Result<bool> {
        if self.vain_blocks.is_multiple_of(Self::PAUSE)
            && let Some((lower, upper)) = recoded.integer_bounds(n)?
            && filter.match_i64(lower, upper) == Match::None
        {
            self.vain_blocks = 0;
            return Ok(true);
        }
        self.vain_blocks = self.vain_blocks.wrapping_add(1);
        Ok(false)
    }
}

impl<P: PlainValues> ValueReader for FixedValues<P> {
    fn start_chunk(&mut self, quirks: PageQuirks) {
        self.dictionary = None;
        self.answers.clear();
        self.page.start_chunk(quirks);
        self.window = None;
    }

    fn set_dictionary(&mut self, page: DictionaryPage) -> Result<()> {
        let DictionaryPage { num_values, values, .. } = page;
        self.answers.clear();
        self.dictionary = None;
        let memory = self.last_dictionary.take(&self.pool);
        let dictionary = Dictionary::decode(&self.plain, &values, num_values, memory)?;
        self.last_dictionary.remember(dictionary.memory());
        self.dictionary = Some(dictionary);
        Ok(())
    }

    fn start_page(&mut self, encoding: Encoding, values: Buffer<u8>) {
        self.page.start(encoding, values);
    }

    fn check_end(&mut self, end: PageEnd) -> Result<()> {
        self.page.check_end(end)
    }

    fn end_page(&mut self) {
        self.page.end();
    }

    fn read(&mut self, n: usize) -> Result<()> {
        let window = self.window.get_or_insert_with(|| self.last.take(&self.pool));
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                let rest = bytes.get(*at..).unwrap_or(&[]);
                *at += self.plain.read(rest, n, window)?;
                Ok(())
            }
            PageValues::Indices(indices) => {
                let dictionary = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
                indices.gather(dictionary, appended(window, n)?)
            }
            PageValues::Recoded(recoded) => {
                let mut left = n;
                while left > 0 {
                    let now = left.min(STEP);
                    self.recoded.clear();
                    recoded.read(now, &mut self.recoded)?;
                    self.plain.read(&self.recoded, now, window)?;
                    left -= now;
                }
                Ok(())
            }
            _ => Err(no_page()),
        }
    }

    fn skip(&mut self, n: usize) -> Result<()> {
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                *at += self.plain.skip(bytes.get(*at..).unwrap_or(&[]), n)?;
                Ok(())
            }
            PageValues::Indices(indices) => indices.skip(n),
            PageValues::Recoded(recoded) => recoded.skip(n),
            _ => Err(no_page()),
        }
    }

    fn read_selected(&mut self, n: usize, wanted: &[u64]) -> Result<usize> {
        let window = self.window.get_or_insert_with(|| self.last.take(&self.pool));
        let before = window.len();
        match self.page.open()? {
            PageValues::Plain { bytes, at } => {
                let rest = bytes.get(*at..).unwrap_or(&[]);
                *at += self.plain.read_selected(rest, n, wanted, window)?;
            }
            PageValues::Indices(indices) => {
                let dictionary = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
                indices.gather_selected(dictionary, n, wanted, window)?;
            }
            PageValues::Recoded(_) => {
                let wanted = &mut wanted.to_vec();
                return self.in_blocks(n, wanted, None, |block, words, window| {
                    append_selected(block, words, window, |value| value)
                });
            }
            _ => return Err(no_page()),
        }
        Ok(window.len() - before)
    }

    fn filters(&self) -> bool {
        true
    }

    fn filter(&mut self, filter: &Arc<Filter>, n: usize, wanted: &mut [u64]) -> Result<usize> {
        if let PageValues::Indices(indices) = self.page.open()? {
            let dictionary = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
            let asked = (filter, || dictionary.passing(filter));
            return self.answers.filter(indices, asked, n, wanted).map(|()| 0);
        }
        self.in_blocks(n, wanted, Some(filter), |block, words, _| filter.retain(block, words))
    }

    fn filter_and_read(
        &mut self,
        filter: &Arc<Filter>,
        n: usize,
        wanted: &mut [u64],
    ) -> Result<usize> {
        if let PageValues::Indices(indices) = self.page.open()? {
            let dictionary = self.dictionary.as_ref().ok_or_else(no_dictionary)?;
            let answers = self.answers.of(filter, || dictionary.passing(filter))?;
            let window = self.window.get_or_insert_with(|| self.last.take(&self.pool));
            let before = window.len();
            indices.filter_and_gather((answers, dictionary), n, wanted, window)?;
            return Ok(window.len() - before);
        }
        let num_recoded = self.in_blocks(n, wanted, Some(filter), |block, words, window| {
            filter.retain(block, words)?;
            append_selected(block, words, window, |value| value)
        })?;
        let is_plain = num_recoded == 0;
        Ok(if is_plain { bits::count_ones(wanted, n) } else { num_recoded })
    }

    fn dictionary_may_match(&mut self, filter: &Arc<Filter>) -> Result<bool> {
        let Some(dictionary) = &self.dictionary else { return Ok(true) };
        Ok(!self.answers.of(filter, || dictionary.passing(filter))?.is_none())
    }

    fn finish(&mut self, _num_slots: usize, validity: Option<Bitmap>) -> Result<VectorRef> {
        let mut values = self.window.take().unwrap_or_else(|| self.last.take(&self.pool));
        if let Some(validity) = &validity {
            spread(&mut values, validity)?;
        }
        let values = self.last.hand_out(values);
        let vector = FlatVector::from_buffer(self.ty.clone(), values, validity)?;
        Ok(Vector::Flat(vector).into())
    }
}
