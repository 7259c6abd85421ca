//! The end of a page: its levels and values are compared with what its header claims.
//!
//! ```text
//! page read to its end    nothing may be left: compared at no cost
//! page left early         levels that are left are counted, value bytes follow from their number
//! ```
//!
//! Byte arrays have no place that follows from a number. Those that are left are walked over in the
//! first page of a chunk that is left early, and again where a page is written in another form than
//! the last one: what contradicts the schema does so in every page, and what contradicts a header
//! does so in pages that have the same.

use vector::{Error, Result};

use super::{LeafReader, Page};
use crate::column::current_page::PageEnd;
use crate::levels::count_of;
use crate::page::PageInfo;

/// Levels that are decoded at a time.
const BLOCK_LEVELS: usize = 1024;

impl LeafReader {
    /// Compares the current page with its header and ends it.
    pub(super) fn finish_page(&mut self) -> Result<()> {
        if self.page.is_some() {
            self.check_page_end()?;
        }
        self.end_page();
        Ok(())
    }

    fn check_page_end(&mut self) -> Result<()> {
        let unread = self.block_def.get(self.block_at..).unwrap_or(&[]);
        let mut values_left = count_of(unread, self.max_def);
        let Some(page) = &mut self.page else { return Ok(()) };
        let is_left_early = page.left > 0 || values_left > 0;
        let present = match self.max_rep {
            0 => self.piece.read_present(&mut page.definition, self.max_def, page.left),
            _ => page.count_rest(self.max_def),
        };
        let present = present.map_err(|e| page.place(e))?;
        page.left = 0;
        page.num_present += present;
        values_left += present;
        let walks = is_left_early && self.walked != Some(page.form);
        if walks {
            self.walked = Some(page.form);
        }
        let end = PageEnd {
            values_left,
            num_slots: page.info.num_values,
            walks,
            may_have_padding: page.form.is_v1,
        };
        let checked = page.check_levels(self.max_rep).and_then(|()| match page.num_present {
            // Its bytes may be anything.
            0 => Ok(()),
            _ => self.values.check_end(end),
        });
        checked.map_err(|e| page.place(e))
    }

    pub(super) fn check_chunk_end(&mut self, is_read_to_end: bool) -> Result<()> {
        self.finish_page()?;
        let values_left = self.pages.as_ref().map_or(0, |pages| pages.values_left());
        let levels_left = self.block_rep.len().saturating_sub(self.block_at);
        if is_read_to_end && (values_left > 0 || levels_left > 0) {
            return Err(Error::corrupt("the column chunk has more rows than its row group")
                .with("levels_left", values_left.saturating_add(levels_left as u64)));
        }
        Ok(())
    }
}

impl Page {
    /// Decodes the levels that are left of a repeated leaf; returns how many have a value.
    fn count_rest(&mut self, max_def: u8) -> Result<usize> {
        let (mut rep, mut def) = ([0; BLOCK_LEVELS], [0; BLOCK_LEVELS]);
        let (mut left, mut present) = (self.left, 0);
        while left > 0 {
            let n = left.min(BLOCK_LEVELS);
            let (rep, def) = (rep.split_at_mut(n).0, def.split_at_mut(n).0);
            self.repetition.read(rep)?;
            self.definition.read(def)?;
            self.num_rows += count_of(rep, 0);
            present += count_of(def, max_def);
            left -= n;
        }
        Ok(present)
    }

    /// Compares the levels, all of which were decoded, with the header.
    fn check_levels(&self, max_rep: u8) -> Result<()> {
        self.repetition.check_end()?;
        self.definition.check_end()?;
        let PageInfo { num_values, num_rows, num_nulls, .. } = self.info;
        let is_flat = max_rep == 0;
        if let Some(expected) = num_rows.filter(|rows| !is_flat && *rows != self.num_rows) {
            return Err(Error::corrupt("a page has other rows than its header says")
                .with("expected", expected)
                .with("found", self.num_rows));
        }
        let nulls = num_values.saturating_sub(self.num_present);
        if let Some(expected) = num_nulls.filter(|n| is_flat && *n > 0 && *n != nulls) {
            return Err(Error::corrupt("a page has other nulls than its header says")
                .with("expected", expected)
                .with("found", nulls));
        }
        Ok(())
    }
}
