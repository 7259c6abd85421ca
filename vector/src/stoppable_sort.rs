//! A sort that checks the stop flag while it runs.
//!
//! ```text
//! all rows   --partition by a pivot, a check every few thousand rows-->   two parts, and so on
//! parts of `chunk` rows or less  --sorted by the standard library-->  in order
//! ```
//!
//! The sort of the standard library cannot be left before its end, and it may panic if its
//! comparison is made inconsistent to stop it. Rows are often already in ascending or descending
//! order, which is detected first.

use std::cmp::Ordering;

use crate::error::Result;
use crate::stop::{ROWS_PER_LOOK, check_stop, stoppable_chunks};

/// Minimum number of rows that a pivot is chosen from, in parts that have as many.
const SAMPLE: usize = 63;
/// Maximum number of partitions that leave nearly all rows on one side; beyond it the standard
/// library sorts the remaining parts.
const MAX_BAD_PIVOTS: usize = 16;

/// Sorts `rows`, of which no two may compare equal, in parts of about `chunk` rows.
///
/// # Errors
/// `Cancelled` if the thread's query is to stop; the order of the rows is then unspecified.
pub fn stoppable_sort<T: Copy>(
    rows: &mut [T],
    chunk: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<()> {
    if rows.len() > chunk {
        if is_ordered(rows, |a, b| compare(a, b).is_lt())? {
            return Ok(());
        }
        if is_ordered(rows, |a, b| compare(a, b).is_gt())? {
            rows.reverse();
            return Ok(());
        }
    }
    let mut bad_pivots = 0;
    let mut rest = vec![rows];
    while let Some(part) = rest.pop() {
        check_stop()?;
        if part.len() <= chunk || bad_pivots > MAX_BAD_PIVOTS {
            part.sort_unstable_by(&compare);
            continue;
        }
        let pivot = pivot(part, &compare);
        let at = partition(part, |row| compare(row, &pivot).is_lt())?;
        let (below, above) = part.split_at_mut(at);
        if below.len().min(above.len()) < (below.len() + above.len()) / 16 {
            bad_pivots += 1;
        }
        rest.extend([below, above]);
    }
    Ok(())
}

fn is_ordered<T>(rows: &[T], before: impl Fn(&T, &T) -> bool) -> Result<bool> {
    for chunk in stoppable_chunks(rows.len().saturating_sub(1)) {
        let chunk = chunk?;
        let pairs = rows[chunk.start..=chunk.end].windows(2);
        if !pairs.into_iter().all(|pair| before(&pair[0], &pair[1])) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the median of a sample of `rows`. At least one row is less than the median, so that both
/// parts of a partition shrink.
fn pivot<T: Copy>(rows: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> T {
    let step = (rows.len() / SAMPLE).max(1);
    let mut sample: Vec<T> = rows.iter().step_by(step).copied().collect();
    let middle = sample.len() / 2;
    *sample.select_nth_unstable_by(middle, compare).1
}

/// Moves the rows for which `is_below` holds to the front and returns their number.
fn partition<T: Copy>(rows: &mut [T], is_below: impl Fn(&T) -> bool) -> Result<usize> {
    let mut below = 0;
    for start in (0..rows.len()).step_by(ROWS_PER_LOOK) {
        check_stop()?;
        for at in start..rows.len().min(start + ROWS_PER_LOOK) {
            // The swap is unconditional and only the position advances by condition, so no branch
            // depends on the data.
            let is_below = is_below(&rows[at]);
            rows.swap(below, at);
            below += usize::from(is_below);
        }
    }
    Ok(below)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::stop::{num_stop_looks, stop_scope};
    use crate::sync::CancelFlag;
    use crate::testing::Random;

    fn inputs(len: usize) -> Vec<Vec<(u64, u32)>> {
        let mut random = Random::new(5);
        let mut of = |value: &mut dyn FnMut(usize, &mut Random) -> u64| {
            (0..len).map(|i| (value(i, &mut random), i as u32)).collect::<Vec<_>>()
        };
        let mut reversed = of(&mut |i, _| i as u64);
        reversed.reverse();
        vec![
            of(&mut |_, random| random.below(1 << 30) as u64),
            of(&mut |_, random| random.below(3) as u64),
            of(&mut |i, _| i as u64),
            reversed,
            of(&mut |_, _| 7),
            of(&mut |i, _| (i % 100) as u64),
            of(&mut |i, _| if i % 2 == 0 { 0 } else { i as u64 }),
            of(&mut |i, _| (len - i).min(i) as u64),
        ]
    }

    #[test]
    fn rows_are_sorted_whatever_their_order_was() {
        for len in [0, 1, 2, 63, 64, 65, 1_000, 30_000] {
            for rows in inputs(len) {
                let mut expected = rows.clone();
                expected.sort_unstable();
                for chunk in [1, 10, 1_000, 100_000] {
                    let mut sorted = rows.clone();
                    stoppable_sort(&mut sorted, chunk, Ord::cmp).unwrap();
                    assert_eq!(sorted, expected, "{len} rows, chunks of {chunk}");
                }
            }
        }
    }

    #[test]
    fn a_sort_looks_every_few_thousand_rows_and_stops_where_it_looks() {
        let rows = inputs(200_000).swap_remove(0);
        let before = num_stop_looks();
        stoppable_sort(&mut rows.clone(), 1_000, Ord::cmp).unwrap();
        // Each level of partitions checks the flag at least 24 times for 200,000 rows, and there
        // are at least 7 levels.
        assert!(num_stop_looks() - before > 24 * 7);
        let flag = CancelFlag::new();
        let _scope = stop_scope(&flag);
        let compares = std::cell::Cell::new(0);
        let outcome: std::result::Result<(), Error> =
            stoppable_sort(&mut rows.clone(), 1_000, |a, b| {
                compares.set(compares.get() + 1);
                if compares.get() == 300_000 {
                    flag.cancel();
                }
                a.cmp(b)
            });
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
        let more = compares.get() - 300_000;
        assert!(more <= ROWS_PER_LOOK.max(1_000 * 20), "{more} comparisons after the stop");
    }
}
