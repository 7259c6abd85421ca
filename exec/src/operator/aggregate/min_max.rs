//! The aggregate functions MIN and MAX, of every type that has an order.
//!
//! The order is that of ORDER BY: NaN is greater than all numbers, and strings are compared as
//! bytes. Among equal values the first one is kept.
//!
//! For a column with a dictionary much smaller than the batch, the dictionary's entries are
//! compared with the states first. After the first batches usually no entry is better than any
//! state, and the rows are not read.

use std::cmp::Ordering;
use std::ops::Range;

use vector::sync::Arc;
use vector::types::value::compare_floats;
use vector::{
    Bitmap, Buffer, DecodedVector, Error, FlatType, FlatValues, FlatVector, Mapping, Result,
    StringBuilder, StringView, Timestamp, Type, TypeKind, Value, Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, column_of_values, fold, fold_rows};
use super::function::{AggregateFunction, AggregateSignature, is_orderable, only};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] =
    &[&ExtremeFunction("min"), &ExtremeFunction("max")];

/// The function `min` or `max`.
struct ExtremeFunction(&'static str);

impl AggregateFunction for ExtremeFunction {
    fn name(&self) -> &'static str {
        self.0
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let arg = only(args).filter(is_orderable)?;
        Some(AggregateSignature::unary(arg.clone(), arg.clone(), arg))
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        accumulator(&signature.arg(0), self.0 == "min")
    }

    fn ignores_duplicates(&self) -> bool {
        true
    }
}

fn compare_reals(a: &f32, b: &f32) -> Ordering {
    compare_floats(f64::from(*a), f64::from(*b))
}

fn compare_doubles(a: &f64, b: &f64) -> Ordering {
    compare_floats(*a, *b)
}

/// Returns the accumulator of the minimum (`min`) or maximum of values of type `ty`.
fn accumulator(ty: &Type, min: bool) -> Result<Box<dyn Accumulator>> {
    let wanted = if min { Ordering::Less } else { Ordering::Greater };
    macro_rules! fixed {
        ($t:ty, $order:expr) => {
            // The direction is a compile-time constant, so that the loops compile to plain minima
            // or maxima.
            if min {
                Fixed::<$t, _>::boxed(ty, |new, old| $order(&new, &old).is_lt())
            } else {
                Fixed::<$t, _>::boxed(ty, |new, old| $order(&new, &old).is_gt())
            }
        };
    }
    Ok(match ty.kind() {
        TypeKind::TinyInt => fixed!(i8, i8::cmp),
        TypeKind::SmallInt => fixed!(i16, i16::cmp),
        TypeKind::Integer => fixed!(i32, i32::cmp),
        TypeKind::BigInt => fixed!(i64, i64::cmp),
        TypeKind::HugeInt => fixed!(i128, i128::cmp),
        TypeKind::Timestamp => fixed!(Timestamp, Timestamp::cmp),
        TypeKind::Real => fixed!(f32, compare_reals),
        TypeKind::Double => fixed!(f64, compare_doubles),
        TypeKind::Varchar | TypeKind::Varbinary => {
            Box::new(Strings { ty: ty.clone(), wanted, states: Vec::new(), long_bytes: 0 })
        }
        TypeKind::Boolean | TypeKind::Array | TypeKind::Row => {
            Box::new(Values { ty: ty.clone(), wanted, states: Vec::new() })
        }
        TypeKind::Map | TypeKind::Unknown => {
            return Err(Error::internal("values without an order").with("type", ty));
        }
    })
}

/// Minimum number of rows per dictionary entry and group for which the entries are compared first.
const MIN_ROWS_PER_ENTRY: usize = 4;

/// Returns true when no row of a batch can change a state: the column has a small dictionary, and
/// none of its entries is `better` than the state of any group.
fn is_settled<T: Copy, S>(
    column: &DecodedVector,
    entries: &[T],
    states: &[Option<S>],
    better: impl Fn(T, &S) -> bool,
) -> bool {
    // With nulls this does not apply: the values of null entries are arbitrary.
    matches!(column.mapping(), Mapping::Indices(_))
        && column.validity().is_none()
        && entries.len().saturating_mul(states.len()) <= column.len() / MIN_ROWS_PER_ENTRY
        && states.iter().all(|state| {
            let none_better = |known| !entries.iter().any(|entry| better(*entry, known));
            state.as_ref().is_some_and(none_better)
        })
}

/// The accumulator of the minimum or maximum of fixed-width values.
struct Fixed<T, F> {
    ty: Type,
    better: F,
    states: Vec<Option<T>>,
}

impl<T, F> Fixed<T, F>
where
    T: FlatType + Default,
    F: Fn(T, T) -> bool + Send + 'static,
{
    fn boxed(ty: &Type, better: F) -> Box<dyn Accumulator> {
        Box::new(Fixed { ty: ty.clone(), better, states: Vec::new() })
    }
}

impl<T, F> Accumulator for Fixed<T, F>
where
    T: FlatType + Default,
    F: Fn(T, T) -> bool + Send,
{
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = &one(args)?.decoded;
        let Some(values) = arg.base_slice::<T>() else {
            return if arg.all_null() { Ok(()) } else { Err(wrong_type(arg.ty())) };
        };
        let better = &self.better;
        if let (Groups::One { num_rows }, Mapping::Identity, None, [state]) =
            (groups, arg.mapping(), arg.validity(), self.states.as_mut_slice())
        {
            // The state is initialized from the first row, so the loop needs no check for an empty
            // state.
            if let [first, rest @ ..] = &values[..num_rows] {
                let best = state.unwrap_or(*first);
                let best = if better(*first, best) { *first } else { best };
                let keep = |best, new: &T| if better(*new, best) { *new } else { best };
                *state = Some(rest.iter().fold(best, keep));
            }
            return Ok(());
        }
        if is_settled(arg, values, &self.states, |entry, known| better(entry, *known)) {
            return Ok(());
        }
        fold(groups, arg, values, &mut self.states, |state, value| match state {
            Some(old) if !better(value, *old) => {}
            _ => *state = Some(value),
        });
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let values: Buffer<T> = states.iter().map(|s| s.unwrap_or_default()).collect();
        let validity = validity(states);
        Ok(Arc::new(Vector::Flat(FlatVector::from_buffer(self.ty.clone(), values, validity)?)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<T>>()
    }
}

/// The accumulator of the minimum or maximum of strings.
struct Strings {
    ty: Type,
    wanted: Ordering,
    states: Vec<Option<Best>>,
    /// Number of bytes of the buffers of all states.
    long_bytes: usize,
}

/// The best string of a group.
#[derive(Debug, Clone, Default)]
struct Best {
    /// The first four bytes as a number that compares as the strings do.
    prefix: u32,
    text: Vec<u8>,
}

/// Returns the first four bytes of a string, padded with zeros, as a big-endian number: a string
/// with a smaller prefix is smaller.
#[inline]
fn prefix(view: StringView) -> u32 {
    ((view.head() >> 32) as u32).swap_bytes()
}

impl Accumulator for Strings {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = &one(args)?.decoded;
        let Some(FlatValues::String(strings)) = arg.flat_values() else {
            return if arg.all_null() { Ok(()) } else { Err(wrong_type(arg.ty())) };
        };
        let wanted = self.wanted;
        // Most strings are compared with the best one by the prefixes in their views alone.
        let better = |view: &StringView, best: &Best| {
            let order = prefix(*view).cmp(&best.prefix);
            order.then_with(|| strings.bytes_of(view).cmp(best.text.as_slice())) == wanted
        };
        if is_settled(arg, strings.views(), &self.states, |view, best| better(&view, best)) {
            return Ok(());
        }
        let long_bytes = &mut self.long_bytes;
        fold(groups, arg, strings.views(), &mut self.states, |state, view: StringView| {
            if state.as_ref().is_some_and(|best| !better(&view, best)) {
                return;
            }
            let best = state.get_or_insert_default();
            *long_bytes -= best.text.capacity();
            best.prefix = prefix(view);
            best.text.clear();
            best.text.extend_from_slice(strings.bytes_of(&view));
            *long_bytes += best.text.capacity();
        });
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let mut strings = StringBuilder::new();
        for state in states {
            strings.push(state.as_ref().map(|best| best.text.as_slice()).unwrap_or_default());
        }
        let values = FlatValues::String(strings.finish()?);
        let vector = FlatVector::new(self.ty.clone(), values, validity(states))?;
        Ok(Arc::new(Vector::Flat(vector)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<Best>>() + self.long_bytes
    }
}

/// The accumulator of the minimum or maximum of booleans and nested values, compared value by
/// value.
struct Values {
    ty: Type,
    wanted: Ordering,
    states: Vec<Option<Value>>,
}

impl Accumulator for Values {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let wanted = self.wanted;
        let arg = &one(args)?.decoded;
        let mut outcome = Ok(());
        fold_rows(groups, arg, &mut self.states, |state, row| match arg.value(row) {
            Err(error) => outcome = Err(error),
            Ok(new) => match state {
                Some(old) if new.compare(old) != wanted => {}
                _ => *state = Some(new),
            },
        });
        outcome
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        column_of_values(&self.ty, &self.states[groups])
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<Value>>()
    }
}

fn validity<T>(states: &[Option<T>]) -> Option<Bitmap> {
    let validity: Bitmap = states.iter().map(Option::is_some).collect();
    (!validity.all_ones()).then_some(validity)
}

fn one(args: &[Column]) -> Result<&Column> {
    args.first().ok_or_else(|| Error::internal("a minimum or maximum without an argument"))
}

fn wrong_type(ty: &Type) -> Error {
    Error::internal("a column of another type than was compared before").with("type", ty)
}
