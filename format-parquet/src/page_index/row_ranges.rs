//! Sets of rows as ranges: the rows of a row group that page indexes leave to be read.

use std::fmt;
use std::ops::Range;

/// A set of rows of a row group, as ascending ranges that do not touch.
///
/// ```
/// # use ocior_format_parquet::page_index::RowRanges;
/// let some = RowRanges::from_iter([0..10, 20..30]);
/// let others = RowRanges::from_iter([5..15, 15..25]);
/// assert_eq!(some.intersect(&others).to_string(), "5..10 20..25");
/// assert_eq!(some.union(&others).to_string(), "0..30");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowRanges {
    ranges: Vec<Range<u64>>,
}

impl RowRanges {
    /// Returns the empty set.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the set of the first `num_rows` rows.
    pub fn all(num_rows: u64) -> Self {
        std::iter::once(0..num_rows).collect()
    }

    /// Returns the ranges in order.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Returns true when the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns true when the set contains a row of `rows`.
    pub fn overlaps(&self, rows: &Range<u64>) -> bool {
        let next = self.ranges.partition_point(|range| range.end <= rows.start);
        self.ranges.get(next).is_some_and(|range| range.start.max(rows.start) < rows.end)
    }

    /// Adds rows that start within or after the last range.
    fn push(&mut self, rows: Range<u64>) {
        match self.ranges.last_mut() {
            _ if rows.is_empty() => {}
            Some(last) if rows.start <= last.end => last.end = last.end.max(rows.end),
            _ => self.ranges.push(rows),
        }
    }

    /// Returns the rows that are in both sets.
    pub fn intersect(&self, other: &RowRanges) -> RowRanges {
        let mut both = RowRanges::none();
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            both.push(x.start.max(y.start)..x.end.min(y.end));
            if x.end <= y.end {
                a.next();
            } else {
                b.next();
            }
        }
        both
    }

    /// Returns the rows that are in either set.
    pub fn union(&self, other: &RowRanges) -> RowRanges {
        let mut either = RowRanges::none();
        let (mut a, mut b) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.start <= y.start => a.next(),
                (Some(_), None) => a.next(),
                _ => b.next(),
            };
            let Some(next) = next else { return either };
            either.push(next.clone());
        }
    }
}

impl fmt::Display for RowRanges {
    /// Writes the ranges separated by spaces, as in `0..40 70..100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.ranges.iter().enumerate() {
            let space = if number > 0 { " " } else { "" };
            write!(f, "{space}{}..{}", range.start, range.end)?;
        }
        Ok(())
    }
}

impl FromIterator<Range<u64>> for RowRanges {
    /// Collects ranges in any order; they may overlap.
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut rows = RowRanges::none();
        ranges.into_iter().for_each(|range| rows.push(range));
        rows
    }
}

#[cfg(test)]
mod tests {
    use vector::testing::Random;

    use super::*;

    const NUM_ROWS: u64 = 40;

    fn some(random: &mut Random) -> RowRanges {
        let range = |random: &mut Random| {
            let start = random.below(NUM_ROWS as usize) as u64;
            start..(start + random.below(8) as u64).min(NUM_ROWS)
        };
        let num_ranges = random.below(7);
        (0..num_ranges).map(|_| range(random)).collect()
    }

    fn rows(ranges: &RowRanges) -> Vec<bool> {
        let mut rows = vec![false; NUM_ROWS as usize];
        for range in ranges.ranges() {
            assert!(range.start < range.end);
            rows[range.start as usize..range.end as usize].fill(true);
        }
        assert!(ranges.ranges().windows(2).all(|pair| pair[0].end < pair[1].start));
        assert_eq!(ranges.num_rows(), rows.iter().filter(|row| **row).count() as u64);
        rows
    }

    #[test]
    fn intersection_and_union_are_those_of_the_rows() {
        let mut random = Random::new(5);
        for _ in 0..3_000 {
            let (a, b) = (some(&mut random), some(&mut random));
            let pairs = || rows(&a).into_iter().zip(rows(&b));
            let both: Vec<bool> = pairs().map(|(a, b)| a & b).collect();
            let either: Vec<bool> = pairs().map(|(a, b)| a | b).collect();
            assert_eq!(rows(&a.intersect(&b)), both);
            assert_eq!(rows(&a.union(&b)), either);
            let start = random.below(NUM_ROWS as usize);
            let end = start + random.below(NUM_ROWS as usize - start);
            let overlaps = rows(&a)[start..end].contains(&true);
            assert_eq!(a.overlaps(&(start as u64..end as u64)), overlaps);
        }
        assert!(RowRanges::all(0).is_empty());
        assert_eq!(RowRanges::all(7).num_rows(), 7);
    }
}
