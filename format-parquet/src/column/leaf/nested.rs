//! Leaves below lists and maps: each row is one or more pairs of levels.
//!
//! ```text
//! repetition   0 1 1 | 0 | 0 1 |      a row starts where it is 0
//! row          0       1   2
//! ```
//!
//! Levels are decoded in blocks, and a block may contain the end of one call's rows and the start
//! of the next one's. Neither levels nor values of rows that are not selected are kept; the values
//! are skipped. Pages of version 2 start at a row boundary and state their number of rows, so that
//! pages without a selected row are skipped in their stored form.

use std::ops::Range;

use vector::{Error, Result, bits};

use super::{LeafReader, Rows, Window, too_few_rows};
use crate::column::entries::push;
use crate::encoding::plain::appended;
use crate::encoding::selection::append_selected;
use crate::levels::count_of;
use crate::levels::nested::pairs_of_rows;

/// Number of pairs of levels that are decoded at a time.
const BLOCK_LEVELS: usize = 4096;

impl Rows<'_> {
    fn has(self, row: usize) -> bool {
        match self {
            Rows::All => true,
            Rows::None => false,
            Rows::Selected(words) => bits::get(words, row),
        }
    }

    fn has_any(self, range: Range<usize>) -> bool {
        match self {
            Rows::All => true,
            Rows::None => false,
            Rows::Selected(words) => bits::count_ones_in(words, range) > 0,
        }
    }
}

/// Appends a bit for each level, which is set when the level equals `level`.
fn bits_where(levels: &[u8], level: u8, out: &mut Vec<u64>) {
    out.extend(levels.chunks(64).map(|levels| bits::word_where(levels, |l| l == level)));
}

impl LeafReader {
    /// Reads the selected ones of the next `num_rows` rows into the window.
    pub(super) fn walk_nested(&mut self, num_rows: usize, rows: Rows<'_>) -> Result<()> {
        let mut rows_started = 0;
        // True while the current row is selected.
        let mut is_kept = false;
        let mut wanted = Vec::new();
        loop {
            if self.block_at == self.block_rep.len() {
                if !is_kept {
                    rows_started += self.skip_pages_of_rows(rows_started..num_rows, rows)?;
                    if rows_started == num_rows && self.is_between_rows()? {
                        break;
                    }
                }
                if !self.fill_block()? {
                    break;
                }
            }
            let rep = self.block_rep.get(self.block_at..).unwrap_or(&[]);
            let def = self.block_def.get(self.block_at..).unwrap_or(&[]);
            let mut n = rep.len();
            let starts = count_of(rep, 0);
            let first_row = rows_started;
            if rows_started + starts > num_rows {
                // The start of a row beyond the requested ones ends the window.
                let ends_window = num_rows - rows_started;
                let mut zeros = rep.iter().enumerate().filter(|(_, rep)| **rep == 0);
                n = zeros.nth(ends_window).map_or(n, |(at, _)| at);
                rows_started = num_rows;
            } else {
                rows_started += starts;
            }
            let (rep, def) = (rep.get(..n).unwrap_or(&[]), def.get(..n).unwrap_or(&[]));
            let present = count_of(def, self.max_def);
            let Window { levels, entry_filters, .. } = &mut self.window;
            let all_wanted = match rows {
                Rows::None => Some(false),
                _ if !entry_filters.is_empty() => {
                    wanted.clear();
                    wanted.resize(bits::words_for(present), 0);
                    let (mut row, mut value) = (first_row, 0);
                    for (rep, def) in rep.iter().zip(def) {
                        if *rep == 0 {
                            is_kept = rows.has(row);
                            row += 1;
                        }
                        let is_wanted = is_kept && push(entry_filters, *rep, *def, levels);
                        if *def == self.max_def {
                            if is_wanted {
                                bits::set(&mut wanted, value);
                            }
                            value += 1;
                        }
                    }
                    None
                }
                Rows::All => {
                    is_kept = true;
                    appended(&mut levels.rep, n)?.copy_from_slice(rep);
                    appended(&mut levels.def, n)?.copy_from_slice(def);
                    Some(true)
                }
                Rows::Selected(rows) => {
                    let (mut starts, mut pairs) = (Vec::new(), Vec::new());
                    bits_where(rep, 0, &mut starts);
                    is_kept = pairs_of_rows(&starts, rows, first_row, is_kept, &mut pairs);
                    append_selected(rep, &pairs, &mut levels.rep, |level| level)?;
                    append_selected(def, &pairs, &mut levels.def, |level| level)?;
                    let (values, kept) = (&mut starts, &pairs);
                    values.clear();
                    bits_where(def, self.max_def, values);
                    wanted.clear();
                    bits::compress(kept, values, &mut wanted);
                    None
                }
            };
            let done = match all_wanted {
                _ if present == 0 => Ok(0),
                Some(true) => self.values.read(present).map(|()| present),
                None if bits::count_ones(&wanted, present) > 0 => {
                    self.values.read_selected(present, &wanted)
                }
                _ => self.values.skip(present).map(|()| 0),
            };
            let done = done.map(|decoded| self.counts.values_decoded += decoded as u64);
            done.map_err(|e| match &self.page {
                Some(page) => page.place(e),
                None => e,
            })?;
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

    /// Skips whole pages of which no row is selected and returns the number of skipped rows. The
    /// position must be at a row boundary.
    fn skip_pages_of_rows(&mut self, left: Range<usize>, rows: Rows<'_>) -> Result<usize> {
        let mut skipped = 0;
        if !self.skips_pages || self.page.as_ref().is_some_and(|page| page.left > 0) {
            return Ok(0);
        }
        while let Some(info) = self.pages()?.peek()?
            && let Some(num_rows) = info.num_rows
            && num_rows > 0
            && num_rows <= left.len() - skipped
        {
            let first = left.start + skipped;
            if rows.has_any(first..first + num_rows) {
                break;
            }
            self.finish_page()?;
            self.pages()?.skip()?;
            self.counts.pages_skipped += 1;
            self.row_started = true;
            skipped += num_rows;
        }
        Ok(skipped)
    }

    /// Returns true at the end of a page, if the next page is known to start with a row.
    fn is_between_rows(&mut self) -> Result<bool> {
        if self.page.as_ref().is_some_and(|page| page.left > 0) {
            return Ok(false);
        }
        Ok(self.pages()?.peek()?.is_some_and(|info| info.num_rows.is_some()))
    }

    /// Decodes the next levels; returns false at the end of the chunk.
    fn fill_block(&mut self) -> Result<bool> {
        if self.page.as_ref().is_none_or(|page| page.left == 0) {
            self.finish_page()?;
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
        let is_page_start = page.left == page.info.num_values;
        page.left -= n;
        page.num_rows += count_of(&self.block_rep, 0);
        page.num_present += count_of(&self.block_def, self.max_def);
        // SPEC (data page v2): "pages start at the beginning of a row".
        let starts_row = !self.row_started || is_page_start && page.info.num_rows.is_some();
        if starts_row && self.block_rep.first().is_some_and(|rep| *rep != 0) {
            return Err(page.place(Error::corrupt("the page starts in the middle of a row")));
        }
        self.row_started = true;
        Ok(true)
    }
}
