//! One column of a scan: its reader and its row position.
//!
//! A column is opened in a row group by the first read, and advances only when it is read: rows and
//! row groups that are not requested of it cost nothing. Positions are rows of the row group, so
//! that a read cannot return other rows than the requested ones.

use std::ops::Range;

use dwio::filter::Filter;
use dwio::input::BufferedInput;
use dwio::reader::ColumnCounts;
use vector::sync::{Arc, Mutex};
use vector::{Error, Result, ResultExt, SelectivityVector, Vector, VectorRef};

use super::group::{Expected, GroupScan};
use crate::column::ColumnReader;

/// A column that is shared by the scan and the holders of its lazy vectors.
pub(super) type SharedColumn = Arc<Mutex<ScanColumn>>;

/// The reader of a column.
pub(super) struct ScanColumn {
    pub(super) reader: ColumnReader,
    /// The number of the row group with the open chunks.
    group: Option<usize>,
    /// Number of rows of that row group.
    num_rows: u64,
    /// The row of the row group that is read next.
    next_row: u64,
    /// Number of rows that the column's filters tested, and of those that passed.
    rows_tested: (u64, u64),
}

impl ScanColumn {
    pub(super) fn new(reader: ColumnReader) -> Self {
        ScanColumn { reader, group: None, num_rows: 0, next_row: 0, rows_tested: (0, 0) }
    }

    pub(super) fn is_open_in(&self, group: &GroupScan) -> bool {
        self.group == Some(group.number)
    }

    /// Announces the bytes that opening will read.
    pub(super) fn announce(
        &self,
        group: &GroupScan,
        expected: Expected,
        input: &mut BufferedInput,
    ) -> Result<()> {
        let leaves = self.reader.leaf_numbers();
        leaves.iter().try_for_each(|leaf| group.announce(*leaf, expected, input))
    }

    /// Announces the bytes that opening will read when the scan reaches `group`.
    pub(super) fn announce_later(
        &self,
        group: &GroupScan,
        input: &mut BufferedInput,
    ) -> Result<()> {
        let leaves = self.reader.leaf_numbers();
        leaves.iter().try_for_each(|leaf| group.announce_later(*leaf, input))
    }

    /// Opens the chunks of a row group; `shared` contains those that were announced.
    pub(super) fn open(
        &mut self,
        group: &GroupScan,
        expected: Expected,
        shared: Option<&BufferedInput>,
    ) -> Result<()> {
        (self.group, self.next_row) = (None, 0);
        self.reader.start_row_group(|leaf| group.open(leaf, expected, shared))?;
        self.group = Some(group.number);
        self.num_rows = group.num_rows;
        Ok(())
    }

    /// Compares what was read of the row group with the counts in its headers, and releases its
    /// bytes.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a page or chunk contains more than its header states.
    pub(super) fn close(&mut self) -> Result<()> {
        let Some(number) = self.group.take() else { return Ok(()) };
        if self.next_row == u64::MAX {
            self.reader.drop_row_group();
            return Ok(());
        }
        let ended = self.reader.end_row_group(self.next_row == self.num_rows);
        ended.in_place("row group", number)
    }

    /// Advances to `row`; a column cannot move backwards.
    fn seek(&mut self, group: &GroupScan, row: u64, expected: Expected) -> Result<()> {
        if !self.is_open_in(group) {
            self.open(group, expected, None)?;
        }
        let Some(distance) = row.checked_sub(self.next_row) else {
            return Err(Error::internal("the column has been read beyond the wanted row")
                .with("row", row)
                .with("next_row", self.next_row));
        };
        let distance = usize::try_from(distance)
            .map_err(|_| Error::limit("a row group has more rows than can be counted"))?;
        self.reader.skip(distance);
        self.next_row = row;
        Ok(())
    }

    /// Counts the rows of a window that were tested, and those that passed.
    pub(super) fn tested(&mut self, rows_in: u64, rows_out: u64) {
        let (tested, passed) = self.rows_tested;
        self.rows_tested = (tested.saturating_add(rows_in), passed.saturating_add(rows_out));
    }

    /// Returns the work done so far.
    pub(super) fn counts(&self) -> ColumnCounts {
        let counts = self.reader.counts();
        ColumnCounts {
            column: 0,
            rows_in: self.rows_tested.0,
            rows_out: self.rows_tested.1,
            values_decoded: counts.values_decoded,
            pages_read: counts.pages_read,
            pages_skipped: counts.pages_skipped,
        }
    }

    fn advance(&mut self, num_rows: usize) {
        self.next_row = self.next_row.saturating_add(num_rows as u64);
    }

    /// Returns the reader's result. After a failure the position is unknown, so no more rows of the
    /// row group can be read.
    fn placed<T>(&mut self, given: Result<T>) -> Result<T> {
        if given.is_err() {
            self.next_row = u64::MAX;
        }
        given
    }

    /// Reads `num_rows` rows from `row` on.
    pub(super) fn read(
        &mut self,
        group: &GroupScan,
        row: u64,
        num_rows: usize,
    ) -> Result<VectorRef> {
        self.seek(group, row, Expected::Most)?;
        self.advance(num_rows);
        let read = self.reader.read(num_rows);
        self.placed(read)
    }

    /// Reads the selected rows from `row` on; the vector contains only these.
    pub(super) fn read_selected(
        &mut self,
        group: &GroupScan,
        row: u64,
        (selection, expected): (&SelectivityVector, Expected),
    ) -> Result<VectorRef> {
        if let Some(span) = contiguous(selection) {
            self.seek(group, row.saturating_add(span.start as u64), expected)?;
            self.advance(span.len());
            let read = self.reader.read(span.len());
            return self.placed(read);
        }
        self.seek(group, row, expected)?;
        self.advance(selection.len());
        let read = self.reader.read_selected(selection);
        self.placed(read)
    }

    /// Returns true when filters on the column can be tested without building a vector.
    pub(super) fn filters_in_place(&self) -> bool {
        self.reader.filters_in_place()
    }

    /// Deselects the rows from `row` on that fail.
    pub(super) fn filter(
        &mut self,
        group: &GroupScan,
        row: u64,
        filter: &Arc<Filter>,
        selection: &mut SelectivityVector,
    ) -> Result<()> {
        self.seek(group, row, Expected::Most)?;
        self.advance(selection.len());
        let tested = self.reader.filter(filter, selection);
        self.placed(tested)
    }

    /// Filters as [`ScanColumn::filter`] does and returns the values of the rows that pass.
    pub(super) fn filter_and_read(
        &mut self,
        group: &GroupScan,
        row: u64,
        filter: &Arc<Filter>,
        selection: &mut SelectivityVector,
    ) -> Result<VectorRef> {
        self.seek(group, row, Expected::Most)?;
        self.advance(selection.len());
        let read = self.reader.filter_and_read(filter, selection);
        let vector = self.placed(read)?;
        if vector.len() != selection.count() {
            return Err(Error::internal("a filter gave another number of rows than it kept"));
        }
        Ok(vector)
    }
}

/// Opens columns in a row group; small chunks are loaded together in few reads.
pub(super) fn open_together<'a>(
    columns: impl Iterator<Item = &'a SharedColumn> + Clone,
    group: &GroupScan,
    expected: Expected,
    input: &mut BufferedInput,
) -> Result<()> {
    for column in columns.clone() {
        let column = column.lock();
        if !column.is_open_in(group) {
            column.announce(group, expected, input)?;
        }
    }
    input.load()?;
    for column in columns {
        let mut column = column.lock();
        if !column.is_open_in(group) {
            column.open(group, expected, Some(input))?;
        }
    }
    Ok(())
}

/// Returns the range of the selected rows, if it has no gaps.
fn contiguous(rows: &SelectivityVector) -> Option<Range<usize>> {
    let first = rows.iter().next()?;
    let words = rows.words();
    let last_word = words.iter().rposition(|word| *word != 0)?;
    let bits = 64 - words.get(last_word)?.leading_zeros() as usize;
    let end = last_word * 64 + bits;
    (end - first == rows.count()).then_some(first..end)
}

/// Returns a vector without rows.
pub(super) fn no_rows(ty: &vector::Type) -> VectorRef {
    Arc::new(Vector::nulls(ty.clone(), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_contiguous_when_none_is_left_out_between_the_first_and_the_last() {
        let of = |rows: &[usize]| {
            let mut selection = SelectivityVector::none(200);
            rows.iter().for_each(|row| selection.set(*row, true));
            contiguous(&selection)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[63]), Some(63..64));
        assert_eq!(of(&[64, 65]), Some(64..66));
        assert_eq!(of(&(60..140).collect::<Vec<_>>()), Some(60..140));
        assert_eq!(of(&[60, 61, 63]), None);
        assert_eq!(contiguous(&SelectivityVector::all(200)), Some(0..200));
    }
}
