//! Leaves without repetition: each row is one value or null.
//!
//! ```text
//! rows       1 0 1 1 0 1     selected
//! levels     1 1 0 1 1 1     has a value
//! values     1 0   1 0 1     wanted = the selection of values
//!            1     0   0     ... after a filter
//! rows       1 0 ? 0 0 0     mapped back to rows; null rows pass if the filter accepts null
//! ```
//!
//! The selection of rows is mapped to one of values and back, word by word with bit extraction and
//! deposit, so that neither values nor rows are counted one by one (rules P6.15, P6.25). Pages
//! without a selected row are skipped in their stored form.

use vector::{BitmapMut, BufferMut, Error, Result, bits};

use super::{LeafReader, Page, Task, too_few_rows};
use crate::encoding::plain::appended;
use crate::encoding::selection::append_selected;
use crate::levels::{LevelDecoder, count_of};

/// Levels and selection of a piece of a page; reused to keep the memory.
#[derive(Default)]
pub(super) struct Piece {
    /// The rows that are selected.
    selected: Vec<u64>,
    /// The rows that have a value.
    present: BitmapMut,
    /// Their definition levels, where the maximum is more than 1.
    levels: BufferMut<u8>,
    /// The values that are selected.
    wanted: Vec<u64>,
    /// Result of mapping rows to values or back.
    mapped: Vec<u64>,
}

impl LeafReader {
    /// Reads rows into the window and their validity into `bits`.
    pub(super) fn read_flat(&mut self, num_rows: usize, bits: &mut BitmapMut) -> Result<()> {
        let mut left = num_rows;
        while left > 0 {
            let page = self.flat_page(left)?;
            let n = left.min(page.left);
            page.left -= n;
            let Some(page) = &mut self.page else { return Err(no_page()) };
            let present = match self.max_def {
                0 => Ok(n),
                1 => page.definition.read_bits(n, bits),
                max => read_levels(&mut page.definition, max, n, &mut self.window.levels.def),
            };
            let done = present.and_then(|present| match present {
                0 => Ok(()),
                present => {
                    page.num_present += present;
                    self.counts.values_decoded += present as u64;
                    self.values.read(present)
                }
            });
            done.map_err(|e| page.place(e))?;
            left -= n;
        }
        Ok(())
    }

    /// Skips rows.
    pub(super) fn skip_flat(&mut self, num_rows: usize) -> Result<()> {
        let mut left = num_rows;
        while left > 0 {
            if self.skips_pages {
                left -= self.skip_pages(left)?;
                if left == 0 {
                    break;
                }
            }
            let page = self.flat_page(left)?;
            let n = left.min(page.left);
            page.left -= n;
            let Some(page) = &mut self.page else { return Err(no_page()) };
            let present = self.piece.read_present(&mut page.definition, self.max_def, n);
            let done = present.and_then(|present| match present {
                0 => Ok(()),
                present => {
                    page.num_present += present;
                    self.values.skip(present)
                }
            });
            done.map_err(|e| page.place(e))?;
            left -= n;
        }
        Ok(())
    }

    /// Skips the rest of the current page and whole pages, as long as they have at most `max_rows`
    /// rows, and returns the number of skipped rows.
    fn skip_pages(&mut self, max_rows: usize) -> Result<usize> {
        let mut skipped = 0;
        if let Some(page) = &self.page {
            if page.left > max_rows {
                return Ok(0);
            }
            skipped += page.left;
            self.finish_page()?;
        }
        let counts = &mut self.counts;
        let pages = self.pages.as_mut().ok_or_else(super::no_chunk)?;
        while skipped < max_rows
            && let Some(info) = pages.peek()?
            && info.num_values <= max_rows - skipped
        {
            pages.skip()?;
            counts.pages_skipped += 1;
            skipped += info.num_values;
        }
        Ok(skipped)
    }

    /// Returns the current page, or the next one when it is used up; `left` is the number of rows
    /// that are still to be read, for the error message.
    fn flat_page(&mut self, left: usize) -> Result<&mut Page> {
        if self.page.as_ref().is_none_or(|page| page.left == 0) {
            self.finish_page()?;
            if self.pages()?.peek()?.is_none() {
                return Err(too_few_rows(left));
            }
            self.start_page()?;
        }
        self.page.as_mut().ok_or_else(no_page)
    }

    /// Applies `task` to the selected ones of the next `num_rows` rows, of which the last one is
    /// selected.
    pub(super) fn walk_selected(
        &mut self,
        words: &mut [u64],
        num_rows: usize,
        task: Task<'_>,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(next) = next_one(words, at, num_rows) {
            self.skip_flat(next - at)?;
            let n = self.flat_page(num_rows - next)?.left.min(num_rows - next);
            self.selected_piece(words, next, n, task)?;
            at = next + n;
        }
        Ok(())
    }

    /// Applies `task` to `n` rows of the current page, which are selected by `words` from bit `at`
    /// on.
    fn selected_piece(
        &mut self,
        words: &mut [u64],
        at: usize,
        n: usize,
        task: Task<'_>,
    ) -> Result<()> {
        let (piece, max_def) = (&mut self.piece, self.max_def);
        let page = self.page.as_mut().ok_or_else(no_page)?;
        page.left -= n;
        piece_of(words, at, n, &mut piece.selected);
        let present = piece.read_present(&mut page.definition, max_def, n);
        let num_present = present.map_err(|e| page.place(e))?;
        page.num_present += num_present;
        piece.wanted.clear();
        if num_present == n {
            piece.wanted.extend_from_slice(&piece.selected);
        } else {
            bits::compress(&piece.selected, piece.present.words(), &mut piece.wanted);
        }
        let wanted = piece.wanted.as_mut_slice();
        let num_wanted = bits::count_ones(wanted, num_present);
        let values = &mut self.values;
        let decoded = match task {
            _ if num_present == 0 => Ok(0),
            _ if num_wanted == 0 => values.skip(num_present).map(|()| 0),
            Task::Read if num_wanted == num_present => {
                values.read(num_present).map(|()| num_present)
            }
            Task::Read => values.read_selected(num_present, wanted),
            Task::Filter(filter) => match filter.test_any_value() {
                Some(passes) => {
                    if !passes {
                        wanted.fill(0);
                    }
                    values.skip(num_present).map(|()| 0)
                }
                None => values.filter(filter, num_present, wanted),
            },
            Task::FilterAndRead(filter) => match filter.test_any_value() {
                Some(true) => values.read_selected(num_present, wanted),
                Some(false) => {
                    wanted.fill(0);
                    values.skip(num_present).map(|()| 0)
                }
                None => values.filter_and_read(filter, num_present, wanted),
            },
        };
        let decoded = decoded.map_err(|e| page.place(e))?;
        self.counts.values_decoded += decoded as u64;
        if let Task::Filter(filter) | Task::FilterAndRead(filter) = task {
            if num_present == n {
                piece.selected.copy_from_slice(&piece.wanted);
            } else {
                piece.mapped.clear();
                let present = piece.present.words();
                bits::expand(&piece.wanted, present, &mut piece.mapped);
                let null_rows = if filter.test_null() { u64::MAX } else { 0 };
                let passing = piece.mapped.iter().zip(present);
                for (selected, (passing, present)) in piece.selected.iter_mut().zip(passing) {
                    *selected &= passing | (null_rows & !present);
                }
            }
            bits::copy(&piece.selected, 0, words, at, n);
        }
        if let Task::Read | Task::FilterAndRead(_) = task {
            let num_kept = bits::count_ones(&piece.selected, n);
            self.window.num_rows += num_kept;
            match max_def {
                0 => {}
                1 if num_present == n => self.window.bits.push_n(true, num_kept),
                1 => {
                    piece.mapped.clear();
                    bits::compress(piece.present.words(), &piece.selected, &mut piece.mapped);
                    self.window.bits.extend_from_words(&piece.mapped, 0, num_kept);
                }
                _ => {
                    let def = &mut self.window.levels.def;
                    append_selected(&piece.levels, &piece.selected, def, |level| level)?;
                }
            }
        }
        Ok(())
    }
}

impl Piece {
    /// Decodes the levels of `n` rows and returns how many of them have a value.
    pub(super) fn read_present(
        &mut self,
        levels: &mut LevelDecoder,
        max_def: u8,
        n: usize,
    ) -> Result<usize> {
        self.present.clear();
        match max_def {
            0 => Ok(n),
            1 => levels.read_bits(n, &mut self.present),
            max => {
                self.levels.clear();
                let num_present = read_levels(levels, max, n, &mut self.levels)?;
                if num_present < n {
                    let mut writer = self.present.writer();
                    for levels in self.levels.chunks(64) {
                        writer.push(bits::word_where(levels, |level| level == max), levels.len());
                    }
                }
                Ok(num_present)
            }
        }
    }
}

/// Appends `n` levels and returns how many of them are the maximum.
fn read_levels(
    levels: &mut LevelDecoder,
    max: u8,
    n: usize,
    out: &mut BufferMut<u8>,
) -> Result<usize> {
    let out = appended(out, n)?;
    levels.read(out)?;
    Ok(count_of(out, max))
}

/// Copies bits `at..at + n` of `words` to separate words; the bits behind them are zero.
fn piece_of(words: &[u64], at: usize, n: usize, out: &mut Vec<u64>) {
    out.clear();
    let starts = (0..n).step_by(64);
    out.extend(starts.map(|i| bits::word_at(words, at + i) & bits::low_mask(n - i)));
}

/// Returns the position of the first set bit at or after `from`, below `len`.
fn next_one(words: &[u64], from: usize, len: usize) -> Option<usize> {
    let mut at = from;
    while at < len {
        let word = words.get(at / 64)? >> (at % 64);
        if word != 0 {
            return Some(at + word.trailing_zeros() as usize).filter(|at| *at < len);
        }
        at = (at / 64 + 1) * 64;
    }
    None
}

#[cold]
fn no_page() -> Error {
    Error::internal("no page")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_one_is_found_behind_any_gap() {
        let words = [1 << 3, 0, 0, 1 << 63 | 1, 1];
        let found = |from| next_one(&words, from, 260);
        assert_eq!(
            [0, 3, 4, 193, 256, 257].map(found),
            [Some(3), Some(3), Some(192), Some(255), Some(256), None]
        );
        assert_eq!(next_one(&words, 193, 255), None);
        let mut piece = Vec::new();
        piece_of(&[!0, !0, 0], 60, 70, &mut piece);
        assert_eq!(piece, [!0, 0xf]);
    }
}
