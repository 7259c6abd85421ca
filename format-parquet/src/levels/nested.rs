//! Interpretation of levels: slots, lengths and validity at one node of a nested column.
//!
//! Each pair of levels of a leaf is an event. For a node inside of the repeated field with
//! definition level P (0 at the top), and for a list with the levels R and D of its repeated field:
//!
//! | pair | meaning |
//! |---|---|
//! | `rep < R` and `def >= P` | a slot of the list starts |
//! | ... with `def >= D` | and has its first element |
//! | ... with `def == D - 1` | and is empty |
//! | ... with `def < D - 1` | and is null |
//! | `rep == R` | one more element |
//! | `rep > R` | belongs to a deeper list |
//! | `def < P` | there is no slot: an enclosing list is empty or null |
//!
//! A null struct still has a slot in each of its children, which is null there too.

use vector::bits::{
    compress_word, count_ones, expand_word, low_mask, ranks_into, word_at, word_where,
};
use vector::{Bitmap, BitmapMut, Buffer, BufferMut, Error, MemoryPool, Result};

/// The levels of a list or map column from which its slots are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListLevels {
    /// Minimum definition level at which the enclosing slot exists.
    pub slot_def: u8,
    /// Minimum definition level at which the list is not null.
    pub list_def: u8,
    /// Minimum definition level at which an element exists.
    pub element_def: u8,
    /// Repetition level of a further element of the same list.
    pub element_rep: u8,
}

/// The slots of a list column.
#[derive(Debug)]
pub struct ListSlots {
    /// Index of the first element of each slot.
    pub offsets: Buffer<u32>,
    /// Number of elements of each slot.
    pub lengths: Buffer<u32>,
    /// The slots that are not null; `None` when none is null.
    pub validity: Option<Bitmap>,
    /// Total number of elements of all slots.
    pub num_elements: usize,
}

/// Derives the slots of a list from the levels of a leaf below it. The first pair must start a row.
///
/// # Errors
///
/// `Corrupt` when a pair continues a list that has no element; `Limit` when there are too many
/// levels or memory is not granted.
pub fn list_slots(
    rep: &[u8],
    def: &[u8],
    levels: ListLevels,
    pool: &MemoryPool,
) -> Result<ListSlots> {
    let ListLevels { slot_def, list_def, element_def, element_rep } = levels;
    if u32::try_from(rep.len()).is_err() {
        return Err(Error::limit("too many elements in one batch").with("levels", rep.len()));
    }
    let num_words = rep.len().div_ceil(64);
    let (mut starts, mut elements) = (Vec::with_capacity(num_words), Vec::with_capacity(num_words));
    let mut valid = BitmapMut::new();
    let mut validity = valid.writer();
    // State of the preceding pair: it has no element. There is no element before the first pair.
    let (mut misplaced, mut before_is_empty) = (0, 1);
    for (rep, def) in rep.chunks(64).zip(def.chunks(64)) {
        let may_start = word_where(rep, |rep| rep < element_rep);
        let slots = may_start & word_where(def, |def| def >= slot_def);
        let has_element = word_where(def, |def| def >= element_def);
        elements.push(word_where(rep, |rep| rep <= element_rep) & has_element);
        starts.push(slots);
        let empty = low_mask(rep.len()) & !has_element;
        misplaced |= !may_start & low_mask(rep.len()) & (empty | empty << 1 | before_is_empty);
        before_is_empty = empty >> (rep.len() - 1) & 1;
        if list_def > slot_def {
            let not_null = word_where(def, |def| def >= list_def);
            validity.push(compress_word(not_null, slots), slots.count_ones() as usize);
        }
    }
    drop(validity);
    if misplaced != 0 {
        return Err(Error::corrupt("an element is repeated in a list that has none")
            .with("repetition_level", element_rep));
    }
    let num_slots = count_ones(&starts, rep.len());
    let num_elements = count_ones(&elements, rep.len());
    let mut offsets = BufferMut::<u32>::with_capacity_in(num_slots, pool)?;
    ranks_into(&starts, &elements, &mut offsets);
    let mut lengths = BufferMut::<u32>::with_capacity_in(num_slots, pool)?;
    let ends = offsets.iter().skip(1).copied().chain(u32::try_from(num_elements));
    lengths.extend(offsets.iter().zip(ends).map(|(start, end)| end - start));
    let validity = if list_def > slot_def { valid.freeze_validity() } else { None };
    Ok(ListSlots { offsets: offsets.freeze(), lengths: lengths.freeze(), validity, num_elements })
}

/// Returns the number of slots of a node, and the bitmap of those that are not null, or `None` when
/// none is null.
///
/// Slots are the pairs with `def >= slot_def` that are not deeper than the node: `rep <= slot_rep`.
/// They are valid from `valid_def` on. Without repetition levels every `rep` is 0.
pub fn slot_validity(
    rep: Option<&[u8]>,
    def: &[u8],
    slot_rep: u8,
    slot_def: u8,
    valid_def: u8,
) -> (usize, Option<Bitmap>) {
    let Some(rep) = rep else {
        let validity = if valid_def == 0 { None } else { bits_of(def, |d| d >= valid_def) };
        return (def.len(), validity);
    };
    let mut bits = BitmapMut::new();
    let mut writer = bits.writer();
    let mut num_slots = 0;
    for (rep, def) in rep.chunks(64).zip(def.chunks(64)) {
        let slots = word_where(rep, |rep| rep <= slot_rep) & word_where(def, |def| def >= slot_def);
        let n = slots.count_ones() as usize;
        num_slots += n;
        if valid_def > slot_def {
            let valid = word_where(def, |def| def >= valid_def);
            writer.push(if n == 64 { valid } else { compress_word(valid, slots) }, n);
        }
    }
    drop(writer);
    let validity = if valid_def > slot_def { bits.freeze_validity() } else { None };
    (num_slots, validity)
}

/// Appends a bit for each pair, which is set when the pair's row is one of `rows`; the first row
/// that starts has the number `first_row`. The pairs before the first start belong to the preceding
/// row, which is selected when `is_kept`. Returns whether the row of the last pair is selected.
///
/// ```text
/// starts   1 0 0 1 0 1 0 0
/// rows     1     0   1
/// out      1 1 1 0 0 1 1 1
/// ```
pub fn pairs_of_rows(
    starts: &[u64],
    rows: &[u64],
    first_row: usize,
    is_kept: bool,
    out: &mut Vec<u64>,
) -> bool {
    let (mut row, mut kept) = (first_row, u64::from(is_kept));
    for starts in starts {
        let n = starts.count_ones() as usize;
        let begun = word_at(rows, row) & low_mask(n);
        let ended = (begun << 1 | kept) & low_mask(n);
        // The ones from the start of a row to its end are the difference of the two words.
        let ends = expand_word(ended, *starts);
        out.push(ends.wrapping_sub(expand_word(begun, *starts)).wrapping_sub(kept));
        if n > 0 {
            kept = begun >> (n - 1) & 1;
        }
        row += n;
    }
    kept != 0
}

fn bits_of(values: &[u8], is_set: impl Fn(u8) -> bool) -> Option<Bitmap> {
    let mut bits = BitmapMut::new();
    let mut writer = bits.writer();
    for block in values.chunks(64) {
        writer.push(word_where(block, &is_set), block.len());
    }
    drop(writer);
    bits.freeze_validity()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(rep: &[u8], def: &[u8], levels: ListLevels) -> (Vec<Option<u32>>, usize) {
        let found = list_slots(rep, def, levels, &MemoryPool::unlimited()).unwrap();
        let mut expected_offset = 0;
        for (offset, length) in found.offsets.iter().zip(found.lengths.iter()) {
            assert_eq!(*offset, expected_offset);
            expected_offset += length;
        }
        let lengths = found.lengths.iter().enumerate().map(|(i, length)| {
            let valid = found.validity.as_ref().is_none_or(|v| v.get(i));
            assert!(valid || *length == 0);
            valid.then_some(*length)
        });
        (lengths.collect(), found.num_elements)
    }

    #[test]
    fn an_optional_list_of_optional_elements() {
        // [a, null], null, [], [b]
        let rep = [0, 1, 0, 0, 0];
        let def = [3, 2, 0, 1, 3];
        let levels = ListLevels { slot_def: 0, list_def: 1, element_def: 2, element_rep: 1 };
        assert_eq!(slots(&rep, &def, levels), (vec![Some(2), None, Some(0), Some(1)], 3));
        let (n, validity) = slot_validity(Some(&rep), &def, 1, 2, 3);
        assert_eq!(n, 3);
        assert_eq!(validity.unwrap().ones().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn a_list_of_lists_at_both_depths() {
        // [[1, 2], null, []], null, [], [[3]]; both lists and the element optional
        let rep = [0, 2, 1, 1, 0, 0, 0];
        let def = [5, 5, 2, 3, 0, 1, 5];
        let outer = ListLevels { slot_def: 0, list_def: 1, element_def: 2, element_rep: 1 };
        let inner = ListLevels { slot_def: 2, list_def: 3, element_def: 4, element_rep: 2 };
        assert_eq!(slots(&rep, &def, outer), (vec![Some(3), None, Some(0), Some(1)], 4));
        assert_eq!(slots(&rep, &def, inner), (vec![Some(2), None, Some(0), Some(1)], 3));
        assert_eq!(slot_validity(Some(&rep), &def, 2, 4, 5).0, 3);
        assert!(slot_validity(Some(&rep), &def, 2, 4, 5).1.is_none());
    }

    #[test]
    fn a_struct_below_a_list_has_a_slot_for_each_element() {
        // list<struct?>: [s, null], []
        let (rep, def) = ([0, 1, 0], [3, 2, 1]);
        let (n, validity) = slot_validity(Some(&rep), &def, 1, 2, 3);
        assert_eq!((n, validity.unwrap().ones().collect::<Vec<_>>()), (2, vec![0]));
    }

    #[test]
    fn a_node_without_repetition_has_a_slot_for_each_row() {
        let def = [0, 1, 2, 1];
        assert_eq!(slot_validity(None, &def, 0, 0, 1).1.unwrap().count_ones(), 3);
        assert!(slot_validity(None, &def, 0, 0, 0).1.is_none());
        let many: Vec<u8> = (0..1000).map(|i| u8::from(i % 3 == 0)).collect();
        let (n, validity) = slot_validity(None, &many, 0, 0, 1);
        assert_eq!((n, validity.unwrap().count_ones()), (1000, 334));
    }

    #[test]
    fn slots_of_many_pairs_are_those_that_a_walk_pair_by_pair_finds() {
        let mut random = vector::testing::Random::new(17);
        for round in 0..300 {
            let levels = match round % 3 {
                0 => ListLevels { slot_def: 0, list_def: 1, element_def: 2, element_rep: 1 },
                1 => ListLevels { slot_def: 2, list_def: 3, element_def: 4, element_rep: 2 },
                _ => ListLevels { slot_def: 0, list_def: 0, element_def: 1, element_rep: 1 },
            };
            let ListLevels { slot_def, list_def, element_def, element_rep } = levels;
            let n = random.below(200);
            let (mut rep, mut def) = (Vec::new(), Vec::<u8>::new());
            for i in 0..n {
                let may_go_on = i > 0 && def[i - 1] >= element_def;
                let repeats = may_go_on && random.below(2) == 0;
                rep.push(if repeats {
                    element_rep
                } else {
                    random.below(element_rep.into()) as u8
                });
                let least = if repeats { element_def } else { 0 };
                def.push(least + random.below(usize::from(element_def + 2 - least)) as u8);
            }
            let (mut offsets, mut valid, mut elements) = (Vec::new(), Vec::new(), 0);
            for (rep, def) in rep.iter().zip(&def) {
                if *rep < element_rep && *def >= slot_def {
                    offsets.push(elements);
                    valid.push(*def >= list_def);
                }
                elements += u32::from(*def >= element_def);
            }
            let found = list_slots(&rep, &def, levels, &MemoryPool::unlimited()).unwrap();
            assert_eq!(found.offsets.as_slice(), offsets);
            assert_eq!(found.num_elements, elements as usize);
            let is_valid = |i| found.validity.as_ref().is_none_or(|v| v.get(i));
            assert!(valid.iter().enumerate().all(|(i, valid)| is_valid(i) == *valid));
            // A pair that continues a list without an element.
            if let Some(at) = (1..n).find(|i| def[i - 1] < element_def) {
                rep[at] = element_rep;
                assert!(list_slots(&rep, &def, levels, &MemoryPool::unlimited()).is_err());
            }
        }
    }

    #[test]
    fn pairs_belong_to_the_row_that_started_last() {
        let mut random = vector::testing::Random::new(5);
        for _ in 0..300 {
            let density = 1 + random.below(5);
            let starts: Vec<u64> =
                (0..3).map(|_| (0..density).fold(u64::MAX, |w, _| w & random.bits())).collect();
            let rows: Vec<u64> = (0..4).map(|_| random.bits()).collect();
            let (first_row, before) = (random.below(30), random.below(2) == 0);
            let (mut row, mut kept, mut expected) = (first_row, before, Vec::new());
            for pair in 0..192 {
                if vector::bits::get(&starts, pair) {
                    kept = vector::bits::get(&rows, row);
                    row += 1;
                }
                expected.push(kept);
            }
            let mut out = Vec::new();
            assert_eq!(pairs_of_rows(&starts, &rows, first_row, before, &mut out), kept);
            assert!(expected.iter().enumerate().all(|(i, e)| vector::bits::get(&out, i) == *e));
        }
    }

    #[test]
    fn repeating_an_element_that_is_not_there_is_corrupt() {
        let levels = ListLevels { slot_def: 0, list_def: 1, element_def: 2, element_rep: 1 };
        assert!(list_slots(&[0, 1], &[3, 1], levels, &MemoryPool::unlimited()).is_err());
    }
}
