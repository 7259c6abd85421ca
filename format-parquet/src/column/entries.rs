//! Entries of lists and maps that nobody wants: dropped while levels are read, so that what is below
//! them is not decoded.
//!
//! ```text
//! map {a: 1, b: 2}, {}, {b: 3}, {c: 4}      keys that pass: b
//! levels of keys and values                 rep 0 1 | 0 | 0 | 0      def 2 2 | 1 | 2 | 2
//! what is left of them                      rep   0 | 0 | 0 | 0      def   2 | 1 | 2 | 1
//! ```
//!
//! Each leaf's levels are rewritten as if the dropped entries had never been written: the first entry
//! that is kept starts the slot, and a slot without one is empty. Nothing behind that knows of it.
//! Lists keep a prefix (rule S3.16). Of maps the keys are read first; the filter on them (rules S3.13,
//! S3.19) gives a bit for each entry, by which the leaves below the values are read.

use std::ops::Range;

use dwio::filter::Filter;
use vector::sync::Arc;
use vector::{
    Bitmap, BufferMut, DecodedVector, Error, MemoryPool, Result, RowSet, SelectivityVector,
    VectorRef,
};

use super::leaf::LeafReader;
use crate::levels::nested::ListLevels;

/// Which entries of a list or map column are kept.
pub(super) struct EntryRule {
    pub(super) levels: ListLevels,
    pub(super) rule: Rule,
    /// The leaves below it, by their place among the column's readers.
    pub(super) leaves: Range<usize>,
}

/// What decides on an entry.
pub(super) enum Rule {
    /// Its place in the list.
    Prefix(usize),
    /// Its key.
    Key {
        /// The leaf of the keys, which comes before those of the values,
        leaf: usize,
        /// whose slots exist from this definition level on.
        slot_def: u8,
        filter: Arc<Filter>,
        /// The answers for the current window, once the keys are read.
        kept: Option<Bitmap>,
    },
}

impl EntryRule {
    /// The rule as it is applied to the levels of leaf number `leaf`; `None` where it is not, or
    /// not yet.
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

/// Reads a window of all leaves of a column, the entries by `rules`; outer rules come first.
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

/// The keys that pass, of those that are not null; `None` for all.
pub(super) fn passing_keys(keys: &VectorRef, filter: &Filter) -> Result<Option<RowSet>> {
    let keys = DecodedVector::new(keys)?;
    let mut passing = SelectivityVector::all(keys.len());
    filter.apply(&keys, &mut passing)?;
    passing.deselect_nulls(keys.validity());
    Ok((!passing.is_all()).then(|| passing.to_rows()))
}

/// Pairs of levels.
pub(super) struct Levels {
    pub(super) rep: BufferMut<u8>,
    pub(super) def: BufferMut<u8>,
}

impl Levels {
    /// No pairs.
    pub(super) fn new(pool: &MemoryPool) -> Self {
        Levels { rep: BufferMut::new_in(pool), def: BufferMut::new_in(pool) }
    }

    /// Forgets all pairs.
    pub(super) fn clear(&mut self) {
        self.rep.clear();
        self.def.clear();
    }
}

/// Which entries stay.
enum Kept {
    /// The first ones of each list.
    Prefix(usize),
    /// One bit for each entry of the window.
    Bits(Bitmap),
}

/// Drops entries out of a stream of levels.
pub(super) struct EntryFilter {
    levels: ListLevels,
    kept: Kept,
    /// The repetition level of the slot whose entries were all dropped so far.
    pending: Option<u8>,
    /// The entry that pairs belong to is kept, or there is none.
    is_kept: bool,
    /// Entries so far, of the window or of the list.
    num_entries: usize,
}

impl EntryFilter {
    fn new(levels: ListLevels, kept: Kept) -> Self {
        EntryFilter { levels, kept, pending: None, is_kept: true, num_entries: 0 }
    }

    /// The filter that keeps entries whose bit is one.
    pub(super) fn by_bits(levels: ListLevels, bits: Bitmap) -> Self {
        Self::new(levels, Kept::Bits(bits))
    }

    /// True when the entry that starts now is kept.
    fn keeps_next(&mut self) -> bool {
        let entry = self.num_entries;
        self.num_entries += 1;
        match &self.kept {
            Kept::Prefix(max) => entry < *max,
            // More entries than keys: whoever puts them together finds out.
            Kept::Bits(bits) => entry >= bits.len() || bits.get(entry),
        }
    }
}

/// Takes the next pair through the filters from the outermost in; true when it is kept.
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
            // An empty or null slot, or none at all.
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

/// Ends the window: what was dropped last may leave an empty slot.
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

/// The bits of entries that are kept.
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
        // Lists of lists, the first element of the first two lists each.
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
