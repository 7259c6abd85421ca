//! Filters on vectors of values: which rows of a selection pass.
//!
//! ```text
//! selection words   1 1 0 1 1 ...            null rows are removed, or kept if null passes
//! flat values       v v v v v ...   -> 64 tests make one word, and-ed into the selection
//! dictionary        base tested once, each row looks up the result of its base entry
//! constant          tested once
//! ```
//!
//! The kind of the filter and the type of the values are dispatched on once per batch. Words
//! without a selected row are skipped, and words with few selected rows are tested row by row.
//! Readers that have not built a vector use [`Filter::retain`], [`Filter::retain_strings`] and
//! [`Filter::passing`].

use vector::cpu::{self, Level};
use vector::encoding::StringValues;
use vector::types::string_view::StringView;
use vector::{
    Bitmap, BitmapMut, DecodedVector, Error, FlatValues, Mapping, Result, SelectivityVector,
    Vector, bits, match_flat,
};

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::values::{BytesVisitor, FilterValue, TestVisitor, visit_bytes_test, wanted_bool};
use super::{Filter, ValueTest};

/// Maximum number of selected rows of a word that is tested row by row.
const FEW_ROWS: u32 = 6;

impl Filter {
    /// Removes the rows that do not pass from `rows`, which are rows of `vector`. Null rows stay if
    /// the filter accepts null.
    ///
    /// # Errors
    /// `Internal` if `rows` and `vector` differ in length or the filter does not test values of the
    /// vector's type.
    pub fn apply(&self, vector: &DecodedVector, rows: &mut SelectivityVector) -> Result<()> {
        if vector.len() != rows.len() {
            return Err(Error::internal("a filter's rows are not those of its vector")
                .with("rows", rows.len())
                .with("vector", vector.len()));
        }
        let mut words = rows.words().to_vec();
        // Null rows that pass; their slots are not read.
        let mut nulls = Vec::new();
        if let Some(validity) = vector.validity() {
            if self.test_null() {
                nulls.clone_from(&words);
                bits::and_not_assign(&mut nulls, validity.words());
            }
            bits::and_assign(&mut words, validity.words());
        }
        self.retain_valid(vector, &mut words)?;
        if !nulls.is_empty() {
            bits::or_assign(&mut words, &nulls);
        }
        rows.intersect_words(&words);
        Ok(())
    }

    /// Removes the rows that do not pass from `words`. No selected row is null.
    fn retain_valid(&self, vector: &DecodedVector, words: &mut [u64]) -> Result<()> {
        let test = match self {
            Filter::AlwaysTrue | Filter::IsNotNull => return Ok(()),
            Filter::AlwaysFalse | Filter::IsNull => {
                words.fill(0);
                return Ok(());
            }
            Filter::Values { test, .. } => test,
        };
        if words.iter().all(|w| *w == 0) {
            return Ok(());
        }
        let Vector::Flat(base) = vector.base().as_ref() else {
            return Err(Error::internal(
                "a filter of scalar values was applied to a nested column",
            )
            .with("filter", self)
            .with("type", vector.ty()));
        };
        match vector.mapping() {
            Mapping::Identity => test.retain_flat(base.values(), words),
            Mapping::Constant => {
                let mut first = [1];
                test.retain_flat(base.values(), &mut first)?;
                if first == [0] {
                    words.fill(0);
                }
                Ok(())
            }
            Mapping::Indices(indices) => {
                let selected = bits::count_ones(words, vector.len());
                if base.len() <= selected {
                    let passing = test.passing(base.values(), base.validity())?;
                    retain_rows(indices, words, |index| passing.get(index as usize));
                    Ok(())
                } else {
                    test.retain_mapped(base.values(), indices, words)
                }
            }
        }
    }

    /// Returns a bit for each value, set if it passes: the results for a dictionary, to be looked
    /// up by index. Null entries, if there are any, pass if the filter accepts null.
    ///
    /// # Errors
    /// `Internal` if the filter does not test values of this type.
    pub fn passing(&self, values: &FlatValues, validity: Option<&Bitmap>) -> Result<Bitmap> {
        let Filter::Values { test, null_allowed } = self else {
            let data_handle = self.test_any_value().unwrap_or(false);
            return Ok(match validity {
                Some(validity) if data_handle && !self.test_null() => validity.clone(),
                Some(validity) if !data_handle && self.test_null() => validity.not(),
                _ => Bitmap::filled(values.len(), data_handle),
            });
        };
        let passing = test.passing(values, validity)?;
        Ok(match validity {
            Some(validity) if *null_allowed => {
                let mut words = passing.words().to_vec();
                bits::or_assign(&mut words, validity.not().words());
                bitmap_of(&words, values.len())
            }
            _ => passing,
        })
    }

    /// Clears the bits of `words` whose value does not pass. Bit `i` corresponds to `values[i]`,
    /// and cleared bits stay cleared. No selected value is null.
    ///
    /// # Errors
    /// `Internal` if the filter does not test values of this type.
    pub fn retain<T: FilterValue>(&self, values: &[T], words: &mut [u64]) -> Result<()> {
        self.retain_with(cpu::level(), values, words)
    }

    /// Evaluates [`Filter::retain`] with the instructions of `level` at most.
    ///
    /// # Errors
    /// Those of [`Filter::retain`].
    pub fn retain_with<T: FilterValue>(
        &self,
        level: Level,
        values: &[T],
        words: &mut [u64],
    ) -> Result<()> {
        match self {
            Filter::Values { test, .. } => T::visit_test(test, Retain { level, values, words }),
            Filter::AlwaysTrue | Filter::IsNotNull => Ok(()),
            Filter::AlwaysFalse | Filter::IsNull => {
                words.fill(0);
                Ok(())
            }
        }
    }

    /// Clears the bits of `words` whose string does not pass, as [`Filter::retain`] does.
    ///
    /// # Errors
    /// `Internal` if the filter does not test strings.
    pub fn retain_strings(&self, values: &StringValues, words: &mut [u64]) -> Result<()> {
        match self {
            Filter::Values { test, .. } => test.retain_strings(values, words),
            Filter::AlwaysTrue | Filter::IsNotNull => Ok(()),
            Filter::AlwaysFalse | Filter::IsNull => {
                words.fill(0);
                Ok(())
            }
        }
    }
}

impl ValueTest {
    fn retain_flat(&self, values: &FlatValues, words: &mut [u64]) -> Result<()> {
        match_flat!(
            values,
            fixed(values) => {
                FilterValue::visit_test(self, Retain { level: cpu::level(), values, words })
            },
            boolean(values) => {
                if wanted_bool(self)? {
                    bits::and_assign(words, values.words());
                } else {
                    bits::and_not_assign(words, values.words());
                }
                Ok(())
            },
            string(values) => self.retain_strings(values, words)
        )
    }

    fn retain_strings(&self, values: &StringValues, words: &mut [u64]) -> Result<()> {
        let views = values.views();
        match self.inline_views() {
            Some((wanted, found)) => {
                match *wanted {
                    [wanted] => retain(views, words, |view| (view == wanted) == found),
                    _ => retain(views, words, |view| wanted.contains(&view) == found),
                }
                Ok(())
            }
            // A slot that is not selected may be null and have an arbitrary view, so it must not be
            // read.
            None => visit_bytes_test(self, RetainBytes { values, index: |i| i, words }),
        }
    }

    /// Returns the views to compare with, and the result of the test for a string that matches one
    /// of them.
    fn inline_views(&self) -> Option<(Vec<StringView>, bool)> {
        match self {
            ValueTest::BytesValues(set) => Some((set.inline_views()?, true)),
            ValueTest::NegatedBytesValues(set) => Some((set.inline_views()?, false)),
            _ => None,
        }
    }

    /// Removes the rows of `words` that do not pass. Row `i` has value `indices[i]`.
    fn retain_mapped(&self, values: &FlatValues, indices: &[u32], words: &mut [u64]) -> Result<()> {
        match_flat!(
            values,
            fixed(values) => FilterValue::visit_test(self, RetainMapped { values, indices, words }),
            boolean(values) => {
                let wanted = wanted_bool(self)?;
                retain_rows(indices, words, |index| values.get(index as usize) == wanted);
                Ok(())
            },
            string(values) => {
                let index = |i: usize| indices.get(i).map_or(0, |index| *index as usize);
                visit_bytes_test(self, RetainBytes { values, index, words })
            }
        )
    }

    /// Returns a bit for each value, set if it passes; null values do not pass.
    fn passing(&self, values: &FlatValues, validity: Option<&Bitmap>) -> Result<Bitmap> {
        let mut words = SelectivityVector::all(values.len()).words().to_vec();
        if let Some(validity) = validity {
            bits::and_assign(&mut words, validity.words());
        }
        self.retain_flat(values, &mut words)?;
        Ok(bitmap_of(&words, values.len()))
    }
}

fn bitmap_of(words: &[u64], len: usize) -> Bitmap {
    let mut bitmap = BitmapMut::new();
    bitmap.extend_from_words(words, 0, len);
    bitmap.freeze()
}

/// Tests values that are contiguous in memory.
struct Retain<'a, T> {
    level: Level,
    values: &'a [T],
    words: &'a mut [u64],
}

impl<T: Copy> TestVisitor<T> for Retain<'_, T> {
    type Output = ();

    fn visit(self, test: impl Fn(T) -> bool) {
        retain_with(self.level, self.values, self.words, test, |_| true);
    }

    fn visit_sparse(self, test: impl Fn(T) -> bool, may_pass_between: impl Fn(T, T) -> bool)
    where
        T: Ord,
    {
        // In nearly sorted columns, 64 consecutive values span such a small range that most blocks
        // fail as a whole.
        let may_pass = |values: &[T; 64]| {
            let [first, rest @ ..] = values;
            let (mut min, mut max) = (*first, *first);
            for value in rest {
                (min, max) = (min.min(*value), max.max(*value));
            }
            may_pass_between(min, max)
        };
        retain_with(self.level, self.values, self.words, test, may_pass);
    }
}

/// Tests values that are looked up by index.
struct RetainMapped<'a, T> {
    values: &'a [T],
    indices: &'a [u32],
    words: &'a mut [u64],
}

impl<T: Copy> TestVisitor<T> for RetainMapped<'_, T> {
    type Output = ();

    fn visit(self, test: impl Fn(T) -> bool) {
        let values = self.values;
        retain_rows(self.indices, self.words, |index| {
            values.get(index as usize).is_some_and(|v| test(*v))
        });
    }
}

/// Tests strings; reads only those of selected rows.
struct RetainBytes<'a, I> {
    values: &'a StringValues,
    index: I,
    words: &'a mut [u64],
}

impl<I: Fn(usize) -> usize> BytesVisitor for RetainBytes<'_, I> {
    type Output = ();

    fn visit(self, test: impl Fn(&[u8]) -> bool) {
        for (i, word) in self.words.iter_mut().enumerate() {
            *word = retain_in_word(*word, |bit| test(self.values.get((self.index)(i * 64 + bit))));
        }
    }
}

/// Clears the bits of `words` whose value fails `test`. The test may also be evaluated on values
/// that are not selected. Intended for tests that are not a [`Filter`]; filters have
/// [`Filter::retain`].
#[inline]
pub fn retain<T: Copy>(values: &[T], words: &mut [u64], test: impl Fn(T) -> bool) {
    retain_with(cpu::level(), values, words, test, |_| true);
}

/// Implements [`retain`] for `level`. A block of 64 values for which `may_pass` returns false is
/// not tested.
fn retain_with<T: Copy>(
    level: Level,
    values: &[T],
    words: &mut [u64],
    test: impl Fn(T) -> bool,
    may_pass: impl Fn(&[T; 64]) -> bool,
) {
    // Wider values are not compared faster with AVX2, and each level adds code.
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() <= 8 && level.has_avx2() {
        return avx2::retain(level, values, words, (test, may_pass));
    }
    let _ = level;
    in_blocks(values, words, (test, may_pass), bits::word_of_bytes);
}

/// The loop of [`retain`], compiled for each level with that level's conversion of 64 results to
/// bits. The results are first written as bytes, which the compiler turns into wide comparisons.
#[inline(always)]
pub(super) fn in_blocks<T: Copy>(
    values: &[T],
    words: &mut [u64],
    (test, may_pass): (impl Fn(T) -> bool, impl Fn(&[T; 64]) -> bool),
    word_of_answers: impl Fn(&[u8; 64]) -> u64,
) {
    for (values, word) in values.chunks(64).zip(words) {
        let selected = word.count_ones();
        if selected == 0 {
            continue;
        }
        if let Ok(values) = <&[T; 64]>::try_from(values)
            && selected > FEW_ROWS
        {
            if !may_pass(values) {
                *word = 0;
                continue;
            }
            let mut answers = [0u8; 64];
            for (answer, value) in answers.iter_mut().zip(values) {
                *answer = test(*value).into();
            }
            *word &= word_of_answers(&answers);
        } else {
            *word = retain_few(values, *word, &test);
        }
    }
}

/// Tests a word with few selected values, or the last, incomplete word. Not inlined, so that all
/// levels share the code.
#[inline(never)]
fn retain_few<T: Copy>(values: &[T], word: u64, test: &impl Fn(T) -> bool) -> u64 {
    retain_in_word(word, |bit| values.get(bit).is_some_and(|v| test(*v)))
}

/// Clears the bits whose base row fails.
#[inline]
fn retain_rows(indices: &[u32], words: &mut [u64], passes: impl Fn(u32) -> bool) {
    for (indices, word) in indices.chunks(64).zip(words) {
        if *word == u64::MAX {
            let mut passing = 0;
            for (bit, index) in indices.iter().enumerate() {
                passing |= u64::from(passes(*index)) << bit;
            }
            *word = passing;
        } else {
            *word = retain_in_word(*word, |bit| indices.get(bit).is_some_and(|i| passes(*i)));
        }
    }
}

/// Returns the bits of `word` that pass, testing each one separately.
#[inline]
fn retain_in_word(word: u64, passes: impl Fn(usize) -> bool) -> u64 {
    let (mut rest, mut kept) = (word, 0);
    while rest != 0 {
        let bit = rest.trailing_zeros();
        kept |= u64::from(passes(bit as usize)) << bit;
        rest &= rest - 1;
    }
    kept
}
