//! Filtering of list and map entries: entries that are not requested are dropped while levels are
//! read, so that nothing below them is decoded.
//!
//! ```text
//! map {a: 1, b: 2}, {}, {b: 3}, {c: 4}      keys that pass: b
//! levels of keys and values                 rep 0 1 | 0 | 0 | 0      def 2 2 | 1 | 2 | 2
//! the remaining levels                      rep   0 | 0 | 0 | 0      def   2 | 1 | 2 | 1
//! ```
//!
//! The levels of each leaf are rewritten as if the dropped entries had never been written: the
//! first entry that is kept starts the slot, and a slot without one is empty. Code that uses the
//! levels is not affected.
//!
//! Of a list, elements beyond the largest requested subscript are dropped (rule S3.16). Of a map,
//! the keys are read first; the filter on them yields a bit for each entry, which selects the
//! entries in the leaves below the values. The filter passes the requested keys, and never a null
//! key (rules S3.13, S3.19).

use std::ops::Range;

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{
    Bitmap, BufferMut, DecodedVector, Error, MemoryPool, Result, RowSet, SelectivityVector,
    VectorRef,
};

use super::leaf::LeafReader;
use crate::levels::nested::ListLevels;

/// A rule for which entries of a list or map column are kept.
pub(super) struct EntryRule {
    pub(super) levels: ListLevels,
    pub(super) rule: Rule,
    /// The leaves below the list or map, by their index among the column's readers.
    pub(super) leaves: Range<usize>,
}

/// The criterion by which an entry is kept.
pub(super) enum Rule {
    /// Its position in the list: only this many first elements are kept.
    Prefix(usize),
    /// Its key.
    Key {
        /// Index of the leaf of the keys, which comes before those of the values.
        leaf: usize,
        /// Definition level from which on slots of the keys exist.
        slot_def: u8,
        filter: Arc<Filter>,
        /// The entries of the current window that are kept; `None` before the keys are read, and
        /// when all are kept.
        kept: Option<Bitmap>,
    },
}

impl EntryRule {
    /// Returns the rule as it applies to the levels of leaf number `leaf`; `None` where it does not
    /// apply, or not yet.
    fn filter_for(&self, leaf: usize) -> Option<EntryFilter> {
        let kept = match &self.rule {
            _ if !self.leaves.contains(&leaf) => return None,
            Rule::Prefix(max) => Kept::Prefix(*max),
            Rule::Key { leaf: keys, .. } if *keys == leaf => return None,
            Rule::Key { kept, .. } => Kept::Bits(kept.clone()?),
        };
        Some(EntryFilter::new(self.levels, kept))
    }
}

/// Reads a window of all leaves of a column and filters the entries by `rules`; outer rules come
/// first.
pub(super) fn read_window(
    leaves: &mut [LeafReader],
    rules: &mut [EntryRule],
    mut read: impl FnMut(&mut LeafReader) -> Result<()>,
) -> Result<()> {
    for rule in rules.iter_mut() {
        if let Rule::Key { kept, .. } = &mut rule.rule {
            *kept = None;
        }
    }
    for (number, leaf) in leaves.iter_mut().enumerate() {
        leaf.begin();
        leaf.set_entry_filters(rules.iter().filter_map(|rule| rule.filter_for(number)).collect());
        read(leaf)?;
        leaf.end();
        for EntryRule { levels, rule, .. } in rules.iter_mut() {
            if let Rule::Key { leaf: keys, slot_def, filter, kept } = rule
                && *keys == number
            {
                *kept = leaf.keep_entries(*slot_def, *levels, filter)?;
            }
        }
    }
    Ok(())
}

/// Returns the non-null keys that pass the filter; `None` when all keys do.
pub(super) fn passing_keys(keys: &VectorRef, filter: &Filter) -> Result<Option<RowSet>> {
    let keys = DecodedVector::new(keys)?;
    let mut passing = SelectivityVector::all(keys.len());
    filter.apply(&keys, &mut passing)?;
    passing.deselect_nulls(keys.validity());
    Ok((!passing.is_all()).then(|| passing.to_rows()))
}

/// Pairs of repetition and definition levels.
pub(super) struct Levels {
    pub(super) rep: BufferMut<u8>,
    pub(super) def: BufferMut<u8>,
}

impl Levels {
    /// Creates an empty sequence.
    pub(super) fn new(pool: &MemoryPool) -> Self {
        Levels { rep: BufferMut::new_in(pool), def: BufferMut::new_in(pool) }
    }

    /// Removes all pairs.
    pub(super) fn clear(&mut self) {
        self.rep.clear();
        self.def.clear();
    }
}

/// The entries that are kept.
enum Kept {
    /// The first ones of each list.
    Prefix(usize),
    /// Those with a set bit; there is one bit for each entry of the window.
    Bits(Bitmap),
}

/// Drops entries from a stream of levels.
pub(super) struct EntryFilter {
    levels: ListLevels,
    kept: Kept,
    /// The repetition level of the current slot, if all its entries so far were dropped.
    pending: Option<u8>,
    /// True when the current entry is kept, or when there is no current entry.
    is_kept: bool,
    /// Number of entries so far, of the window or of the list.
    num_entries: usize,
}

impl EntryFilter {
    fn new(levels: ListLevels, kept: Kept) -> Self {
        EntryFilter { levels, kept, pending: None, is_kept: true, num_entries: 0 }
    }

    /// Creates a filter that keeps entries with a set bit.
    pub(super) fn by_bits(levels: ListLevels, bits: Bitmap) -> Self {
        Self::new(levels, Kept::Bits(bits))
    }

    /// Returns true when the entry that starts now is kept.
    fn keeps_next(&mut self) -> bool {
        let entry = self.num_entries;
        self.num_entries += 1;
        match &self.kept {
            Kept::Prefix(max) => entry < *max,
            // There are more entries than keys: the check of the slots reports it when the vectors
            // are built.
            Kept::Bits(bits) => entry >= bits.len() || bits.get(entry),
        }
    }
}

/// Passes the next pair through the filters, the outermost first, and returns true when it is kept.
pub(super) fn push(filters: &mut [EntryFilter], rep: u8, def: u8, out: &mut Levels) -> bool {
    let Some((first, inner)) = filters.split_first_mut() else {
        out.rep.push(rep);
        out.def.push(def);
        return true;
    };
    let ListLevels { element_def, element_rep, .. } = first.levels;
    let starts_entry = def >= element_def && rep <= element_rep;
    if rep < element_rep {
        end_slot(first, inner, out);
        if starts_entry {
            first.pending = Some(rep);
            if let Kept::Prefix(_) = first.kept {
                first.num_entries = 0;
            }
        } else {
            // The slot is empty or null, or does not exist.
            first.is_kept = true;
        }
    }
    if starts_entry {
        first.is_kept = first.keeps_next();
    }
    if !first.is_kept {
        return false;
    }
    let rep = if starts_entry { first.pending.take().unwrap_or(rep) } else { rep };
    push(inner, rep, def, out)
}

/// Ends the window: a last slot of which all entries were dropped becomes an empty slot.
pub(super) fn finish(filters: &mut [EntryFilter], out: &mut Levels) {
    if let Some((first, inner)) = filters.split_first_mut() {
        end_slot(first, inner, out);
        finish(inner, out);
    }
}

fn end_slot(first: &mut EntryFilter, inner: &mut [EntryFilter], out: &mut Levels) {
    if let Some(rep) = first.pending.take() {
        push(inner, rep, first.levels.element_def.saturating_sub(1), out);
    }
}

/// Returns a bitmap of the entries that are kept.
pub(super) fn bits_of(rows: &RowSet, num_entries: usize) -> Result<Bitmap> {
    let mut bits = SelectivityVector::none(num_entries);
    if rows.end() > num_entries {
        return Err(Error::internal("more keys than entries"));
    }
    rows.iter().for_each(|row| bits.set(row, true));
    Ok(bits.to_bitmap())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: ListLevels = ListLevels { slot_def: 0, list_def: 1, element_def: 2, element_rep: 1 };

    fn left(mut filters: Vec<EntryFilter>, pairs: &[(u8, u8)]) -> (Vec<(u8, u8)>, Vec<bool>) {
        let mut out = Levels::new(&MemoryPool::unlimited());
        let kept = pairs.iter().map(|(rep, def)| push(&mut filters, *rep, *def, &mut out));
        let kept = kept.collect();
        finish(&mut filters, &mut out);
        (out.rep.iter().copied().zip(out.def.iter().copied()).collect(), kept)
    }

    #[test]
    fn dropped_entries_leave_what_was_never_written() {
        // {a, b}, {}, null, {b}, {c}
        let pairs = [(0, 2), (1, 2), (0, 1), (0, 0), (0, 2), (0, 2)];
        let bits: Bitmap = [false, true, true, false].into_iter().collect();
        let (levels, kept) = left(vec![EntryFilter::by_bits(MAP, bits)], &pairs);
        assert_eq!(levels, [(0, 2), (0, 1), (0, 0), (0, 2), (0, 1)]);
        assert_eq!(kept, [false, true, true, true, true, false]);
        let prefix = |max| vec![EntryFilter::new(MAP, Kept::Prefix(max))];
        let (levels, _) = left(prefix(1), &pairs);
        assert_eq!(levels, [(0, 2), (0, 1), (0, 0), (0, 2), (0, 2)]);
        assert_eq!(left(prefix(0), &pairs).0, [(0, 1), (0, 1), (0, 0), (0, 1), (0, 1)]);
        assert_eq!(left(prefix(9), &pairs).0, pairs);
    }

    #[test]
    fn filters_work_inside_of_each_other() {
        // Lists of lists: the first element each of the first two lists.
        let inner = ListLevels { slot_def: 2, list_def: 3, element_def: 4, element_rep: 2 };
        let filters =
            vec![EntryFilter::new(MAP, Kept::Prefix(2)), EntryFilter::new(inner, Kept::Prefix(1))];
        // [[1, 2], [3], [4, 5]], [[], [6, 7]], [], [[8]]
        let pairs =
            [(0, 4), (2, 4), (1, 4), (1, 4), (2, 4), (0, 3), (1, 4), (2, 4), (0, 1), (0, 4)];
        let (levels, kept) = left(filters, &pairs);
        assert_eq!(levels, [(0, 4), (1, 4), (0, 3), (1, 4), (0, 1), (0, 4)]);
        let ones: Vec<usize> = (0..pairs.len()).filter(|i| kept[*i]).collect();
        assert_eq!(ones, [0, 2, 5, 6, 8, 9]);
    }
}
