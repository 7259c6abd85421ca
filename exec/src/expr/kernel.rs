//! Building blocks of functions: a call over decoded arguments, and the loops that kernels share.
//!
//! ```text
//! DecodedVector --Operand--> Side::Many(&[T]) or Side::One(T) --map/zip--> Buffer<R> or Bitmap
//! ```
//!
//! A kernel is chosen once per expression, and branches on the shape of its arguments once per
//! batch. The loops below run over all rows of the batch, including null and unselected ones, which
//! have valid values in their slots. Only after a failure are the rows checked for one that counts.

use vector::{
    Bitmap, BitmapMut, Buffer, BufferMut, DecodedVector, Error, FlatType, FlatValues, FlatVector,
    Mapping, Native, Result, SelectivityVector, StringValues, Type, Value, Vector, bits,
};

/// How a function handles null arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// A null argument makes the result null; the kernel does not evaluate such rows.
    Propagate,
    /// The kernel receives null arguments.
    Seen,
}

/// Properties of an argument that are known before execution.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'a> {
    /// Type of the argument after implicit conversion.
    pub ty: &'a Type,
    /// Value of the argument, if it is constant.
    pub constant: Option<&'a Value>,
}

/// One call of a function over a batch.
#[derive(Debug)]
pub struct Call<'a> {
    /// Arguments, each as long as the batch.
    pub args: &'a [DecodedVector],
    /// Rows that are counted: the selected rows, without null arguments if nulls propagate.
    pub rows: &'a SelectivityVector,
    /// Validity of the result if nulls propagate; otherwise `None`.
    pub validity: Option<Bitmap>,
    /// Type of the result.
    pub ty: &'a Type,
}

/// Evaluates a bound function over a batch.
type Run = dyn Fn(&Call<'_>) -> Result<Vector> + Send + Sync;

/// A function that is bound to the types of its arguments.
pub struct Kernel {
    nulls: Nulls,
    /// False when rows with equal arguments may have different results.
    deterministic: bool,
    run: Box<Run>,
}

impl Kernel {
    /// Creates a kernel that never receives a null argument.
    pub fn new(run: impl Fn(&Call<'_>) -> Result<Vector> + Send + Sync + 'static) -> Self {
        Kernel { nulls: Nulls::Propagate, deterministic: true, run: Box::new(run) }
    }

    /// Creates a kernel that handles null arguments itself.
    pub fn seeing_nulls(run: impl Fn(&Call<'_>) -> Result<Vector> + Send + Sync + 'static) -> Self {
        Kernel { nulls: Nulls::Seen, deterministic: true, run: Box::new(run) }
    }

    /// Returns the kernel as non-deterministic: it is evaluated for each row, even if all arguments
    /// are equal.
    pub fn non_deterministic(self) -> Self {
        Kernel { deterministic: false, ..self }
    }

    /// Returns false when the function must be evaluated for each row.
    pub fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    /// Returns how null arguments are handled.
    pub fn nulls(&self) -> Nulls {
        self.nulls
    }

    /// Evaluates the function over one batch.
    pub fn run(&self, call: &Call<'_>) -> Result<Vector> {
        (self.run)(call)
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kernel({:?})", self.nulls)
    }
}

impl Call<'_> {
    /// Returns the number of rows of the batch.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the result with fixed-width values.
    pub fn fixed<T: FlatType>(&self, values: Buffer<T>) -> Result<Vector> {
        FlatVector::from_buffer(self.ty.clone(), values, self.validity.clone()).map(Vector::Flat)
    }

    /// Returns the result with booleans.
    pub fn boolean(&self, values: Bitmap) -> Result<Vector> {
        FlatVector::boolean(values, self.validity.clone()).map(Vector::Flat)
    }

    /// Returns the result with strings.
    pub fn strings(&self, values: StringValues) -> Result<Vector> {
        let values = FlatValues::String(values);
        FlatVector::new(self.ty.clone(), values, self.validity.clone()).map(Vector::Flat)
    }

    /// Returns the first counted row for which `failed` returns true.
    pub fn first_row(&self, failed: impl Fn(usize) -> bool) -> Option<usize> {
        self.rows.iter().find(|row| failed(*row))
    }
}

/// Fixed-width values of an argument, one per row or one for all rows.
#[derive(Debug)]
pub(super) enum Operand<'a, T: FlatType> {
    Slice(&'a [T]),
    Gathered(Buffer<T>),
    One(T),
}

/// Borrowed form of [`Operand`], on which loops branch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'a, T> {
    Many(&'a [T]),
    One(T),
}

impl<'a, T: FlatType> Operand<'a, T> {
    /// Reads an argument.
    ///
    /// # Errors
    /// `Internal` when the argument has another storage.
    pub(super) fn new(argument: &'a DecodedVector) -> Result<Self> {
        let base = argument.base_slice::<T>().ok_or_else(|| wrong_storage(argument.ty()))?;
        Ok(match argument.mapping() {
            Mapping::Identity => Operand::Slice(&base[..argument.len()]),
            Mapping::Constant => Operand::One(base[0]),
            Mapping::Indices(indices) => {
                Operand::Gathered(map_slice(indices, |i| base[i as usize]))
            }
        })
    }

    pub(super) fn side(&self) -> Side<'_, T> {
        match self {
            Operand::Slice(values) => Side::Many(values),
            Operand::Gathered(values) => Side::Many(values),
            Operand::One(value) => Side::One(*value),
        }
    }
}

impl<T: Copy> Side<'_, T> {
    /// Returns the value of a row.
    #[inline]
    pub(super) fn at(&self, row: usize) -> T {
        match self {
            Side::Many(values) => values[row],
            Side::One(value) => *value,
        }
    }
}

#[cold]
pub(super) fn wrong_storage(ty: &Type) -> Error {
    Error::internal("an argument is stored otherwise than its function expects").with("type", ty)
}

/// Applies `f` to every value.
#[inline]
pub(super) fn map_slice<A: Copy, R: Native>(values: &[A], mut f: impl FnMut(A) -> R) -> Buffer<R> {
    let mut out = BufferMut::new();
    out.resize_unspecified(values.len());
    for (slot, value) in out.as_mut_slice().iter_mut().zip(values) {
        *slot = f(*value);
    }
    out.freeze()
}

/// Applies `f` to every row.
#[inline]
pub(super) fn map<A: Copy, R: Native>(
    side: Side<'_, A>,
    len: usize,
    mut f: impl FnMut(A) -> R,
) -> Buffer<R> {
    match side {
        Side::Many(values) => map_slice(values, f),
        Side::One(value) => {
            let mut out = BufferMut::new();
            out.resize(len, f(value));
            out.freeze()
        }
    }
}

/// Applies `f` to every pair of rows.
#[inline]
pub(super) fn zip<A: Copy, B: Copy, R: Native>(
    left: Side<'_, A>,
    right: Side<'_, B>,
    len: usize,
    mut f: impl FnMut(A, B) -> R,
) -> Buffer<R> {
    match (left, right) {
        (Side::Many(left), Side::Many(right)) => {
            let mut out = BufferMut::new();
            out.resize_unspecified(len);
            for ((slot, x), y) in out.as_mut_slice().iter_mut().zip(left).zip(right) {
                *slot = f(*x, *y);
            }
            out.freeze()
        }
        (left, Side::One(y)) => map(left, len, |x| f(x, y)),
        (Side::One(x), right) => map(right, len, |y| f(x, y)),
    }
}

/// Returns the values for which `f` is true as bits.
#[inline]
pub(super) fn test_slice<A: Copy>(values: &[A], f: impl Fn(A) -> bool) -> Bitmap {
    let mut words = BufferMut::with_capacity(bits::words_for(values.len()));
    let (chunks, tail) = values.as_chunks::<64>();
    let mut tests = [0u8; 64];
    for chunk in chunks {
        for (test, value) in tests.iter_mut().zip(chunk) {
            *test = u8::from(f(*value));
        }
        words.push(bits::word_of_bytes(&tests));
    }
    if !tail.is_empty() {
        words.push(tail.iter().rev().fold(0, |word, value| word << 1 | u64::from(f(*value))));
    }
    Bitmap::new(words.freeze(), values.len())
}

/// Returns the pairs of rows for which `f` is true as bits.
#[inline]
pub(super) fn test_pairs<A: Copy, B: Copy>(
    left: Side<'_, A>,
    right: Side<'_, B>,
    len: usize,
    f: impl Fn(A, B) -> bool,
) -> Bitmap {
    match (left, right) {
        (Side::Many(left), Side::Many(right)) => {
            let mut words = BufferMut::with_capacity(bits::words_for(len));
            let ((a, a_tail), (b, b_tail)) = (left.as_chunks::<64>(), right.as_chunks::<64>());
            let mut tests = [0u8; 64];
            for (xs, ys) in a.iter().zip(b) {
                for ((test, x), y) in tests.iter_mut().zip(xs).zip(ys) {
                    *test = u8::from(f(*x, *y));
                }
                words.push(bits::word_of_bytes(&tests));
            }
            if !a_tail.is_empty() {
                let pairs = a_tail.iter().zip(b_tail).rev();
                words.push(pairs.fold(0, |word, (x, y)| word << 1 | u64::from(f(*x, *y))));
            }
            Bitmap::new(words.freeze(), len)
        }
        (Side::Many(left), Side::One(y)) => test_slice(left, |x| f(x, y)),
        (Side::One(x), Side::Many(right)) => test_slice(right, |y| f(x, y)),
        (Side::One(x), Side::One(y)) => Bitmap::filled(len, f(x, y)),
    }
}

/// Returns the selected rows for which `f` is true as bits; for tests that cost more than a
/// comparison.
#[inline]
pub(super) fn test_rows(rows: &SelectivityVector, mut f: impl FnMut(usize) -> bool) -> Bitmap {
    let words = rows.words().iter().enumerate().map(|(index, selected)| {
        let mut word = 0;
        let mut rest = *selected;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            word |= u64::from(f(index * 64 + bit as usize)) << bit;
            rest &= rest - 1;
        }
        word
    });
    Bitmap::new(words.collect(), rows.len())
}

/// Calls `f` for the selected rows in ascending order. Words with all bits set need no test of
/// single bits.
#[inline]
pub(super) fn for_each_row(rows: &SelectivityVector, mut f: impl FnMut(usize)) {
    for (index, word) in rows.words().iter().enumerate() {
        if *word == u64::MAX {
            (index * 64..(index + 1) * 64).for_each(&mut f);
            continue;
        }
        let mut rest = *word;
        while rest != 0 {
            f(index * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// Returns the booleans of an argument as bits, one per row.
pub(super) fn boolean_bits(argument: &DecodedVector) -> Result<Bitmap> {
    let Some(FlatValues::Boolean(base)) = argument.flat_values() else {
        return Err(wrong_storage(argument.ty()));
    };
    Ok(match argument.mapping() {
        Mapping::Identity => base.clone(),
        Mapping::Constant => Bitmap::filled(argument.len(), base.get(0)),
        Mapping::Indices(indices) => base.gather(indices),
    })
}

/// Applies `f` to the words of two bitmaps of `len` bits.
pub(super) fn zip_words(a: &Bitmap, b: &Bitmap, len: usize, f: impl Fn(u64, u64) -> u64) -> Bitmap {
    let n = bits::words_for(len);
    let words = a.words()[..n].iter().zip(&b.words()[..n]).map(|(x, y)| f(*x, *y)).collect();
    Bitmap::new(words, len)
}

/// Returns a validity as bits, all of them set when there is none.
pub(super) fn validity_bits(validity: Option<&Bitmap>, len: usize) -> Bitmap {
    validity.cloned().unwrap_or_else(|| {
        let mut all = BitmapMut::new();
        all.push_n(true, len);
        all.freeze()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tests_become_bits_in_row_order() {
        for len in [0, 1, 63, 64, 65, 200] {
            let values: Vec<i64> = (0..len as i64).map(|i| i * 7919 % 13).collect();
            let expected: Vec<bool> = values.iter().map(|v| *v > 6).collect();
            let found = test_slice(&values, |v| v > 6);
            assert!((0..len).all(|i| found.get(i) == expected[i]), "{len}");
            let sixes = vec![6i64; len];
            let found = test_pairs(Side::Many(&values), Side::Many(&sixes), len, |x, y| x > y);
            assert!((0..len).all(|i| found.get(i) == expected[i]), "{len}");
            let found = test_rows(&SelectivityVector::all(len), |i| values[i] > 6);
            assert!((0..len).all(|i| found.get(i) == expected[i]), "{len}");
        }
    }
}
