//! Runs of strings: strings that are adjacent in one buffer, processed as one text.
//!
//! ```text
//! buffer   ...|len|a first comment|len|a second one|len|and a third|...
//! views        row 0 --^               row 1 --^        row 2 --^
//! run              [-----------------------------------------------)
//! ```
//!
//! The strings of a page have this layout. For many short strings, the cost of a test (such as a
//! search for a word, or a check for ASCII) is mostly the overhead per string. One test of the
//! whole run runs at memory speed, and only the rows in question are examined individually. Inline
//! strings, strings in another order, and distant rows are visited row by row, so the searched text
//! is not much longer than the strings themselves.

use vector::{SelectivityVector, StringValues};

use super::kernel::for_each_row;

/// Maximum number of rows of a run, so that their views and their text stay in the CPU caches.
const MAX_ROWS: usize = 1024;
/// Minimum number of rows of a run.
const MIN_ROWS: usize = 8;
/// Maximum ratio of the length of a run to the total length of its strings.
const MAX_STRETCH: usize = 2;

/// Rows with strings in ascending order and without overlap in one text.
#[derive(Debug)]
pub(super) struct Run<'a> {
    strings: &'a StringValues,
    /// Text from the first byte of the first string to the last byte of the last one.
    pub(super) text: &'a [u8],
    /// Rows in ascending order; none of their strings is inline in its view.
    pub(super) rows: &'a [u32],
    /// Offset of the text in its buffer.
    offset: usize,
}

impl Run<'_> {
    /// Returns start and end of the string of row `rows[i]` in the text.
    #[inline]
    pub(super) fn range(&self, i: usize) -> (usize, usize) {
        let view = self.strings.views()[self.rows[i] as usize];
        let start = view.location().1 - self.offset;
        (start, start + view.len())
    }
}

/// Visits the rows of a string column, in runs where possible.
pub(super) trait RunVisitor {
    /// Visits a single row.
    fn row(&mut self, row: usize);
    /// Visits all rows of a run.
    fn run(&mut self, run: &Run<'_>);
}

/// Passes each of `rows` to `visitor` once. The strings must be valid for these rows.
pub(super) fn visit_runs(
    strings: &StringValues,
    rows: &SelectivityVector,
    visitor: &mut impl RunVisitor,
) {
    let mut open =
        Open { buffer: 0, start: 0, end: 0, num_bytes: 0, num_rows: 0, rows: [0; MAX_ROWS] };
    let views = strings.views().as_slice();
    for_each_row(rows, |row| {
        let view = views[row];
        if view.is_inline() {
            return visitor.row(row);
        }
        let (buffer, start) = view.location();
        let follows = buffer == open.buffer && start >= open.end && open.num_rows > 0;
        if !follows || open.num_rows == MAX_ROWS {
            open.close(strings, visitor);
            (open.buffer, open.start) = (buffer, start);
        }
        open.end = start + view.len();
        open.num_bytes += view.len();
        open.rows[open.num_rows % MAX_ROWS] = row as u32;
        open.num_rows += 1;
    });
    open.close(strings, visitor);
}

/// A run to which rows may still be added.
struct Open {
    buffer: usize,
    start: usize,
    end: usize,
    /// Total length of the strings in bytes.
    num_bytes: usize,
    num_rows: usize,
    rows: [u32; MAX_ROWS],
}

impl Open {
    fn close(&mut self, strings: &StringValues, visitor: &mut impl RunVisitor) {
        let rows = &self.rows[..self.num_rows];
        let is_dense = self.end - self.start <= MAX_STRETCH * self.num_bytes;
        if rows.len() >= MIN_ROWS && is_dense {
            let text = &strings.buffers()[self.buffer][self.start..self.end];
            visitor.run(&Run { strings, text, rows, offset: self.start });
        } else {
            rows.iter().for_each(|row| visitor.row(*row as usize));
        }
        (self.num_rows, self.num_bytes) = (0, 0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::testing::Random;
    use vector::{Buffer, StringView};

    /// Checks that the ranges of runs hold the strings of their rows.
    struct Collected<'a> {
        strings: &'a StringValues,
        rows: Vec<usize>,
        num_in_runs: usize,
    }

    impl RunVisitor for Collected<'_> {
        fn row(&mut self, row: usize) {
            self.rows.push(row);
        }

        fn run(&mut self, run: &Run<'_>) {
            let mut last_end = 0;
            for (i, row) in run.rows.iter().enumerate() {
                let (start, end) = run.range(i);
                assert!(start >= last_end);
                assert_eq!(&run.text[start..end], self.strings.get(*row as usize));
                last_end = end;
                self.rows.push(*row as usize);
            }
            assert_eq!((run.range(0).0, last_end), (0, run.text.len()));
            self.num_in_runs += run.rows.len();
        }
    }

    /// Returns the strings of a page in `order`; every tenth is short.
    fn page(num_rows: usize, order: impl Fn(usize) -> usize) -> StringValues {
        let mut bytes = Vec::new();
        let mut views = Vec::new();
        for i in 0..num_rows {
            let text = if i % 10 == 0 { "short".into() } else { format!("text {i:020}") };
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            views.push(StringView::new(text.as_bytes(), 0, bytes.len() as u32));
            bytes.extend_from_slice(text.as_bytes());
        }
        let views: Buffer<StringView> = (0..num_rows).map(|row| views[order(row)]).collect();
        StringValues::new(views, vec![Buffer::from_slice(&bytes)])
    }

    fn collect<'a>(strings: &'a StringValues, rows: &SelectivityVector) -> Collected<'a> {
        let mut collected = Collected { strings, rows: Vec::new(), num_in_runs: 0 };
        visit_runs(strings, rows, &mut collected);
        collected.rows.sort_unstable();
        assert!(collected.rows.iter().copied().eq(rows.iter()));
        collected
    }

    #[test]
    fn long_strings_of_a_page_are_runs() {
        let strings = page(5000, |row| row);
        let collected = collect(&strings, &SelectivityVector::all(5000));
        assert_eq!(collected.num_in_runs, 4500);
    }

    #[test]
    fn strings_in_another_order_and_sparse_rows_stand_alone() {
        let strings = page(1000, |row| 999 - row);
        assert_eq!(collect(&strings, &SelectivityVector::all(1000)).num_in_runs, 0);
        let strings = page(1000, |row| row);
        let mut rows = SelectivityVector::none(1000);
        (0..1000).step_by(7).for_each(|row| rows.set(row, true));
        assert_eq!(collect(&strings, &rows).num_in_runs, 0);
    }

    #[test]
    fn every_selected_row_is_given_once_whatever_the_order() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let num_rows = random.below(3000);
            let block = random.below(300) + 1;
            let strings = page(num_rows, |row| (row * block) % num_rows);
            let mut rows = SelectivityVector::all(num_rows);
            let share = *random.pick(&[0.1, 0.5, 0.9, 1.0]);
            (0..num_rows).for_each(|row| rows.set(row, random.chance(share)));
            collect(&strings, &rows);
        }
    }
}
