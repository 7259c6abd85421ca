//! A filter's answers for a dictionary: it is asked once for each entry, and then never again.
//!
//! ```text
//! entries that pass      what a row costs
//!   none, all            nothing: indices are not even unpacked
//!   one                  a comparison
//!   first..first + n     a subtraction and a comparison
//!   others               a look into a table
//! ```
//!
//! Any filter becomes one of these (rules P6.10, P6.11). A repeat run is decided whole.

use std::ops::Range;

use dwio::filter::{self, Filter};
use vector::sync::Arc;
use vector::{Bitmap, Result, bits};

use super::dictionary::IndexVisitor;
use super::selection::{BlockWords, clear_at};

/// Which entries of a dictionary pass.
#[derive(Debug)]
pub struct Answers {
    num_entries: usize,
    passing: Passing,
}

#[derive(Debug)]
enum Passing {
    None,
    All,
    One(u32),
    Interval {
        first: u32,
        len: u32,
    },
    /// A byte for each entry, padded to a power of two.
    Table(Box<[u8]>),
}

impl Answers {
    /// The answers for entries whose bit is one when they pass.
    pub fn new(bitmap: &Bitmap) -> Self {
        let count = bitmap.count_ones();
        let mut ones = bitmap.ones();
        let (first, last) = (ones.next().unwrap_or(0), ones.last());
        let last = last.unwrap_or(first);
        let passing = match (u32::try_from(first), u32::try_from(count)) {
            _ if count == 0 => Passing::None,
            _ if count == bitmap.len() => Passing::All,
            (Ok(first), Ok(1)) => Passing::One(first),
            (Ok(begin), Ok(len)) if last - first + 1 == count => {
                Passing::Interval { first: begin, len }
            }
            _ => {
                let mut table = vec![0; bitmap.len().next_power_of_two()];
                for (i, answer) in table.iter_mut().enumerate().take(bitmap.len()) {
                    *answer = u8::from(bitmap.get(i));
                }
                Passing::Table(table.into())
            }
        };
        Answers { num_entries: bitmap.len(), passing }
    }

    /// The number of entries.
    pub fn num_entries(&self) -> usize {
        self.num_entries
    }

    /// True when no entry passes.
    pub fn is_none(&self) -> bool {
        matches!(self.passing, Passing::None)
    }

    /// True when every entry passes.
    pub fn is_all(&self) -> bool {
        matches!(self.passing, Passing::All)
    }

    fn passes(&self, index: u32) -> bool {
        match &self.passing {
            Passing::None => false,
            Passing::All => true,
            Passing::One(one) => index == *one,
            Passing::Interval { first, len } => index.wrapping_sub(*first) < *len,
            Passing::Table(table) => table.get(index as usize).is_some_and(|answer| *answer != 0),
        }
    }

    fn retain(&self, indices: &[u32], words: &mut [u64]) {
        match &self.passing {
            Passing::None => words.fill(0),
            Passing::All => {}
            Passing::One(one) => filter::retain(indices, words, |index| index == *one),
            Passing::Interval { first, len } => {
                filter::retain(indices, words, |index| index.wrapping_sub(*first) < *len);
            }
            Passing::Table(table) => {
                let mask = table.len() - 1;
                filter::retain(indices, words, |index| {
                    table.get(index as usize & mask).is_some_and(|answer| *answer != 0)
                });
            }
        }
    }
}

/// Clears the bits of indices whose entry fails.
pub(super) struct Retain<'a> {
    pub(super) answers: &'a Answers,
    pub(super) words: &'a mut [u64],
}

impl IndexVisitor for Retain<'_> {
    fn words(&self) -> &[u64] {
        self.words
    }

    fn repeat(&mut self, range: Range<usize>, _: usize, index: u32) {
        if !self.answers.passes(index) {
            bits::fill(self.words, range, false);
        }
    }

    fn block(&mut self, at: usize, indices: &[u32], selected: &BlockWords) {
        let mut failed = *selected;
        self.answers.retain(indices, &mut failed);
        for (failed, selected) in failed.iter_mut().zip(selected) {
            *failed ^= selected;
        }
        clear_at(self.words, at, &failed);
    }
}

/// The answers for the dictionary at hand, as long as the same filter asks.
#[derive(Debug, Default)]
pub(crate) struct CachedAnswers(Option<(Arc<Filter>, Answers)>);

impl CachedAnswers {
    /// Forgets them: there is another dictionary.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// The answers of `filter`; `ask` gives them if it was not asked yet.
    pub(crate) fn of(
        &mut self,
        filter: &Arc<Filter>,
        ask: impl FnOnce() -> Result<Bitmap>,
    ) -> Result<&Answers> {
        let cached = match self.0.take() {
            Some((asked, answers)) if Arc::ptr_eq(&asked, filter) => (asked, answers),
            _ => (Arc::clone(filter), Answers::new(&ask()?)),
        };
        Ok(&self.0.insert(cached).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_answers_keeps_the_indices_that_pass() {
        let sets: [&[u32]; 6] =
            [&[], &[0, 1, 2, 3, 4, 5, 6], &[3], &[2, 3, 4], &[0, 2, 6], &[5, 6]];
        let indices: Vec<u32> = (0..200).map(|i| i * 5 % 7).collect();
        for set in sets {
            let bitmap: Bitmap = (0..7).map(|i| set.contains(&i)).collect();
            let answers = Answers::new(&bitmap);
            assert_eq!((answers.is_none(), answers.is_all()), (set.is_empty(), set.len() == 7));
            let mut words = [u64::MAX, 0x1111, 0xff00, 0x3f];
            let before = words;
            answers.retain(&indices, &mut words);
            for (i, index) in indices.iter().enumerate() {
                assert_eq!(answers.passes(*index), set.contains(index));
                let kept = bits::get(&before, i) && set.contains(index);
                assert_eq!(bits::get(&words, i), kept, "{set:?} {i}");
            }
        }
    }

    #[test]
    fn a_filter_is_asked_once_for_a_dictionary() {
        let mut cached = CachedAnswers::default();
        let filters = [Filter::IsNull, Filter::IsNotNull].map(Arc::new);
        let mut asked = 0;
        for filter in [&filters[0], &filters[0], &filters[1], &filters[1]] {
            let ask = || {
                asked += 1;
                Ok(Bitmap::filled(3, true))
            };
            assert!(cached.of(filter, ask).unwrap().is_all());
        }
        assert_eq!(asked, 2);
    }
}
