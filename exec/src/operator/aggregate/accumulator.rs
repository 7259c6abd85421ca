//! Accumulators: the state of one aggregate for all groups, updated a batch at a time.
//!
//! [`fold`] branches on the grouping, the encoding and the nulls once per batch. The loops inside
//! run over plain slices and call an update step that is inlined into them.

use std::ops::Range;

use vector::build::vector_of;
use vector::{BufferMut, DecodedVector, Mapping, Result, Type, Value, VectorRef, bits};

/// The state of one aggregate for all groups.
pub(super) trait Accumulator: Send {
    /// Resizes the state to groups `0..num_groups`, which are never fewer than before.
    fn resize(&mut self, num_groups: usize);

    /// Adds rows of arguments to the states of their groups.
    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()>;

    /// Adds rows of another accumulator's intermediate output to the states of their groups.
    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()>;

    /// Adopts a second function of the same arguments if the state contains all that it needs, and
    /// returns the number of its output. The function of the accumulator itself is output 0.
    /// Returns `None` if the function cannot be adopted.
    fn adopt(&mut self, _function: &str, _raw_types: &[Type]) -> Option<usize> {
        None
    }

    /// Returns the values of the groups of one of the outputs.
    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef>;

    /// Returns the number of bytes of memory in use that no buffer with a pool contains.
    fn bytes(&self) -> usize;

    /// Returns the approximate number of bytes of the output of all groups.
    fn value_bytes(&self) -> usize {
        self.bytes()
    }
}

/// The kind of output of an accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The intermediate value, which another accumulator merges.
    Intermediate,
    /// The final result of the function.
    Result,
}

/// The groups of the rows of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Groups<'a> {
    /// All rows are in group 0.
    One { num_rows: usize },
    /// Row `i` is in group `ids[i]`.
    Each { ids: &'a [u32] },
    /// Row `i` is in group `ids[i]`, and `lists` contains the rows of each group.
    Listed { ids: &'a [u32], lists: &'a GroupLists },
}

impl Groups<'_> {
    pub(super) fn num_rows(&self) -> usize {
        match self {
            Groups::One { num_rows } => *num_rows,
            Groups::Each { ids } | Groups::Listed { ids, .. } => ids.len(),
        }
    }
}

/// The rows of a batch by group, in ascending order within each group.
///
/// An update of a state in memory depends on the previous update when both rows are in the same
/// group, which is usual when there are few groups. With lists, the state of a group stays in
/// registers for all of its rows. Building the lists costs about as much as updating one aggregate
/// without them, or less when there are so few groups that the rows of each are picked by a
/// separate scan.
#[derive(Debug, Default)]
pub(super) struct GroupLists {
    rows: BufferMut<u32>,
    /// The end of each group's rows in `rows`.
    ends: Vec<u32>,
    /// A bitmap of the rows of one group.
    words: Vec<u64>,
}

/// Maximum number of groups that are picked one by one. Each group takes a scan of all rows, 64
/// rows at a time.
const MAX_PICKED_GROUPS: usize = 8;

impl GroupLists {
    /// Lists the rows of groups `0..num_groups`.
    pub(super) fn build(&mut self, ids: &[u32], num_groups: usize) {
        if num_groups <= MAX_PICKED_GROUPS {
            self.pick(ids, num_groups);
        } else {
            self.distribute(ids, num_groups);
        }
    }

    fn pick(&mut self, ids: &[u32], num_groups: usize) {
        self.rows.clear();
        self.ends.clear();
        for group in 0..num_groups as u32 {
            self.words.clear();
            let (blocks, rest) = ids.as_chunks::<64>();
            let mut tests = [0u8; 64];
            for block in blocks {
                for (test, id) in tests.iter_mut().zip(block) {
                    *test = u8::from(*id == group);
                }
                self.words.push(bits::word_of_bytes(&tests));
            }
            let last = rest.iter().rev().fold(0, |word, id| word << 1 | u64::from(*id == group));
            self.words.push(last);
            bits::ones_into(&self.words, ids.len(), &mut self.rows);
            self.ends.push(self.rows.len() as u32);
        }
    }

    fn distribute(&mut self, ids: &[u32], num_groups: usize) {
        // The two halves of the rows are processed in parallel, because the update of a count
        // depends on the previous one when both rows are in the same group.
        let (first, second) = ids.split_at(ids.len() / 2);
        let (second, rest) = second.split_at(first.len());
        let mut places = vec![[0u32; 2]; num_groups];
        for (a, b) in first.iter().zip(second) {
            places[*a as usize][0] += 1;
            places[*b as usize][1] += 1;
        }
        rest.iter().for_each(|id| places[*id as usize][1] += 1);
        let mut end = 0;
        self.ends.clear();
        for place in &mut places {
            let [in_first, in_second] = *place;
            *place = [end, end + in_first];
            end += in_first + in_second;
            self.ends.push(end);
        }
        self.rows.resize(ids.len(), 0);
        let half = first.len() as u32;
        for (row, (a, b)) in (0..half).zip(first.iter().zip(second)) {
            let at = &mut places[*a as usize][0];
            self.rows[*at as usize] = row;
            *at += 1;
            let at = &mut places[*b as usize][1];
            self.rows[*at as usize] = half + row;
            *at += 1;
        }
        for (row, id) in (2 * half..).zip(rest) {
            self.rows[places[*id as usize][1] as usize] = row;
        }
    }

    /// Returns the groups that have rows, each with its rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[u32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .enumerate()
            .filter(|(_, (start, end))| start < *end)
            .map(|(group, (start, end))| (group, &self.rows[start as usize..*end as usize]))
    }
}

/// A column of a batch: the original vector and its decoded form.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) vector: VectorRef,
    pub(super) decoded: DecodedVector,
}

impl Column {
    pub(super) fn new(vector: VectorRef) -> Result<Self> {
        let decoded = DecodedVector::new(&vector)?;
        Ok(Column { vector, decoded })
    }
}

/// Applies `step` to every row that is not null: to the state of its group and its value.
///
/// `values` are the values of the input's base vector.
#[inline]
pub(super) fn fold<T: Copy, S: Default>(
    groups: Groups<'_>,
    input: &DecodedVector,
    values: &[T],
    states: &mut [S],
    mut step: impl FnMut(&mut S, T),
) {
    match (groups, input.mapping(), input.validity()) {
        (Groups::One { num_rows }, Mapping::Identity, None) => {
            let Some(state) = states.first_mut() else { return };
            with_state(state, |state| {
                values[..num_rows].iter().for_each(|value| step(state, *value));
            });
        }
        (Groups::One { .. }, Mapping::Indices(indices), None) => {
            let Some(state) = states.first_mut() else { return };
            with_state(state, |state| {
                indices.iter().for_each(|index| step(state, values[*index as usize]));
            });
        }
        (Groups::Listed { lists, .. }, Mapping::Identity, None) => {
            for (group, rows) in lists.iter() {
                with_state(&mut states[group], |state| {
                    rows.iter().for_each(|row| step(state, values[*row as usize]));
                });
            }
        }
        (Groups::Listed { lists, .. }, Mapping::Indices(indices), None) => {
            for (group, rows) in lists.iter() {
                with_state(&mut states[group], |state| {
                    let indices = rows.iter().map(|row| indices[*row as usize]);
                    indices.for_each(|index| step(state, values[index as usize]));
                });
            }
        }
        (Groups::Each { ids }, Mapping::Identity, None) => {
            for (id, value) in ids.iter().zip(values) {
                step(&mut states[*id as usize], *value);
            }
        }
        (Groups::Each { ids }, Mapping::Indices(indices), None) => {
            for (id, index) in ids.iter().zip(indices.iter()) {
                step(&mut states[*id as usize], values[*index as usize]);
            }
        }
        (Groups::One { .. }, ..) => {
            let Some(state) = states.first_mut() else { return };
            each_valid(input, |row| step(state, values[input.index(row)]));
        }
        (Groups::Each { ids } | Groups::Listed { ids, .. }, ..) => {
            each_valid(input, |row| {
                step(&mut states[ids[row] as usize], values[input.index(row)]);
            });
        }
    }
}

/// Runs `f` on a local copy of a state, so that the state can stay in registers.
#[inline]
fn with_state<S: Default>(state: &mut S, f: impl FnOnce(&mut S)) {
    let mut held = std::mem::take(state);
    f(&mut held);
    *state = held;
}

/// Returns a column of the values of some groups, null for groups without a value.
pub(super) fn column_of_values(ty: &Type, states: &[Option<Value>]) -> Result<VectorRef> {
    let null = Value::Null;
    vector_of(ty, states.iter().map(|state| state.as_ref().unwrap_or(&null)))
}

/// Applies `step` to every row that is not null: to the state of its group and the row number.
#[inline]
pub(super) fn fold_rows<S>(
    groups: Groups<'_>,
    input: &DecodedVector,
    states: &mut [S],
    mut step: impl FnMut(&mut S, usize),
) {
    match groups {
        Groups::One { .. } => {
            let Some(state) = states.first_mut() else { return };
            each_valid(input, |row| step(state, row));
        }
        Groups::Each { ids } | Groups::Listed { ids, .. } => {
            each_valid(input, |row| step(&mut states[ids[row] as usize], row));
        }
    }
}

#[inline]
fn each_valid(input: &DecodedVector, mut visit: impl FnMut(usize)) {
    match input.validity() {
        None => (0..input.len()).for_each(visit),
        Some(validity) => {
            for row in validity.ones() {
                visit(row);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::testing::Random;

    #[test]
    fn lists_have_the_rows_of_each_group_in_their_order() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let num_groups = random.below(2 * MAX_PICKED_GROUPS) + 1;
            let num_rows = random.below(300);
            let ids: Vec<u32> = (0..num_rows).map(|_| random.below(num_groups) as u32).collect();
            let mut lists = GroupLists::default();
            // The lists of an earlier batch must not affect the result.
            lists.build(&[0; 70], 1);
            lists.build(&ids, num_groups);
            let expected = (0..num_groups).map(|group| {
                let rows = (0..num_rows as u32).filter(|row| ids[*row as usize] == group as u32);
                (group, rows.collect::<Vec<_>>())
            });
            let expected: Vec<_> = expected.filter(|(_, rows)| !rows.is_empty()).collect();
            let found: Vec<_> = lists.iter().map(|(group, rows)| (group, rows.to_vec())).collect();
            assert_eq!(found, expected, "seed {seed}");
        }
    }
}
