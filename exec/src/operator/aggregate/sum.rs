//! SUM and AVG: one state for both, a sum and the number of values in it.
//!
//! Integers and decimals are summed in 128 bits. 64-bit values cannot pass that bound within any
//! number of rows a machine can count; for 128-bit values every addition is checked.

use std::ops::Range;

use vector::sync::Arc;
use vector::types::{MAX_PRECISION, MAX_SHORT_PRECISION, decimal};
use vector::{
    Bitmap, Buffer, DecodedVector, Error, FlatType, FlatValues, FlatVector, Mapping, Result,
    RowVector, Type, Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold};
use super::signatures::form_of_sums;

/// The accumulator of sums or averages of `arg`.
pub(super) fn accumulator(arg: &Type, form: Form) -> Box<dyn Accumulator> {
    let forms = Forms(vec![form]);
    if arg.is_float() {
        Box::new(FloatSum { forms, states: Vec::new() })
    } else {
        let scale = match arg {
            Type::Decimal { scale, .. } => Some(*scale),
            _ => None,
        };
        Box::new(ExactSum { forms, scale, states: Vec::new(), overflow: false })
    }
}

/// What comes out.
pub(super) struct Form {
    /// The type of the sum or average.
    pub(super) result: Type,
    /// The row of sum and count, when this is an average.
    pub(super) intermediate: Option<Type>,
}

/// The outputs of one state: sum and average of a column need the same.
struct Forms(Vec<Form>);

impl Forms {
    fn get(&self, output: usize) -> Result<&Form> {
        self.0.get(output).ok_or_else(|| Error::internal("a sum has no such output"))
    }

    fn adopt(&mut self, function: &str, raw_types: &[Type]) -> Option<usize> {
        self.0.push(form_of_sums(function, raw_types)?);
        Some(self.0.len() - 1)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Exact {
    sum: i128,
    count: u64,
}

/// Sums and averages of integers and decimals.
struct ExactSum {
    forms: Forms,
    /// Digits behind the point, of decimals.
    scale: Option<u8>,
    states: Vec<Exact>,
    overflow: bool,
}

impl ExactSum {
    /// Adds the values of a column, each counted once.
    fn add(&mut self, groups: Groups<'_>, input: &DecodedVector) -> Result<()> {
        let states = self.states.as_mut_slice();
        macro_rules! widen {
            ($values:expr) => {
                match (groups, input.mapping(), input.validity()) {
                    (Groups::One { num_rows }, Mapping::Identity, None) => {
                        if let Some(state) = states.first_mut() {
                            state.sum += exact_sum(&$values[..num_rows]);
                            state.count += num_rows as u64;
                        }
                    }
                    _ => fold(groups, input, $values, states, |state: &mut Exact, value| {
                        state.sum += i128::from(value);
                        state.count += 1;
                    }),
                }
            };
        }
        match input.flat_values() {
            Some(FlatValues::TinyInt(values)) => widen!(values),
            Some(FlatValues::SmallInt(values)) => widen!(values),
            Some(FlatValues::Integer(values)) => widen!(values),
            Some(FlatValues::BigInt(values)) => widen!(values),
            Some(FlatValues::HugeInt(values)) => {
                let overflow = std::cell::Cell::new(false);
                fold(groups, input, values, states, |state: &mut Exact, value| {
                    let (sum, over) = state.sum.overflowing_add(value);
                    if over {
                        overflow.set(true);
                    }
                    state.sum = sum;
                    state.count += 1;
                });
                self.overflow |= overflow.get();
            }
            _ if input.all_null() => {}
            _ => return Err(wrong_type(input)),
        }
        if self.overflow { Err(too_large(&self.forms.get(0)?.result)) } else { Ok(()) }
    }

    fn sums(&self, groups: Range<usize>) -> Result<VectorRef> {
        let ty = match self.scale {
            Some(scale) => Type::decimal(MAX_PRECISION, scale)?,
            None => Type::HugeInt,
        };
        flat(ty, &self.states[groups], |s| s.count > 0, |s| Ok(s.sum))
    }

    fn result(&self, form: &Form, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let valid = |s: &Exact| s.count > 0;
        let ty = form.result.clone();
        let too_large = || too_large(&form.result);
        let is_average = form.intermediate.is_some();
        let average = |s: &Exact| decimal::divide_rounded(s.sum, i128::from(s.count.max(1)));
        match (&ty, is_average) {
            (Type::Double, _) => flat(ty, states, valid, |s| Ok(s.sum as f64 / s.count as f64)),
            (Type::BigInt, _) => {
                let narrow = |s: &Exact| i64::try_from(s.sum).map_err(|_| too_large());
                flat(ty, states, valid, narrow)
            }
            (Type::Decimal { precision, .. }, true) if *precision <= MAX_SHORT_PRECISION => {
                let narrow = |s: &Exact| i64::try_from(average(s)).map_err(|_| too_large());
                flat(ty, states, valid, narrow)
            }
            (Type::Decimal { .. }, true) => flat(ty, states, valid, |s| Ok(average(s))),
            (Type::Decimal { precision, .. }, false) => {
                let precision = *precision;
                let check = |s: &Exact| {
                    decimal::fits(s.sum, precision).then_some(s.sum).ok_or_else(too_large)
                };
                flat(ty, states, valid, check)
            }
            _ => flat(ty, states, valid, |s| Ok(s.sum)),
        }
    }
}

/// The sum of many values. Halves are added apart, so that no carry passes between them and
/// neighbouring values do not wait for each other.
fn exact_sum<T: Copy>(values: &[T]) -> i128
where
    i64: From<T>,
{
    /// Halves of so many values cannot pass 64 bits.
    const MAX_VALUES: usize = 1 << 30;
    let parts = values.chunks(MAX_VALUES).map(|part| {
        let (mut low, mut high) = (0u64, 0i64);
        for value in part {
            let value = i64::from(*value);
            low += u64::from(value as u32);
            high += value >> 32;
        }
        (i128::from(high) << 32) + i128::from(low)
    });
    parts.sum()
}

/// Adds the counts of partial results whose sums were added before. A sum is null where its count
/// is 0, and each of the others counted once so far: the rest is added.
fn add_counts<S: Default>(
    groups: Groups<'_>,
    counts: &DecodedVector,
    states: &mut [S],
    count_of: impl Fn(&mut S) -> &mut u64,
) -> Result<()> {
    let values = counts.base_slice::<i64>().ok_or_else(|| wrong_type(counts))?;
    fold(groups, counts, values, states, |state, count| {
        *count_of(state) += (count as u64).saturating_sub(1);
    });
    Ok(())
}

impl Accumulator for ExactSum {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, Exact::default());
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        self.add(groups, &one(args)?.decoded)
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let Some((sums, counts)) = sum_and_count(self.forms.get(0)?, partial)? else {
            return self.add(groups, &partial.decoded);
        };
        self.add(groups, &sums)?;
        add_counts(groups, &counts, &mut self.states, |state| &mut state.count)
    }

    fn adopt(&mut self, function: &str, raw_types: &[Type]) -> Option<usize> {
        self.forms.adopt(function, raw_types)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        let form = self.forms.get(output)?;
        match (part, &form.intermediate) {
            (Part::Result, _) => self.result(form, groups),
            (Part::Intermediate, None) => self.sums(groups),
            (Part::Intermediate, Some(ty)) => {
                let counts = self.states[groups.clone()].iter().map(|s| s.count as i64).collect();
                row(ty, self.sums(groups)?, counts)
            }
        }
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Exact>()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Float {
    sum: f64,
    count: u64,
}

/// Sums and averages of floats, in double precision.
struct FloatSum {
    forms: Forms,
    states: Vec<Float>,
}

impl FloatSum {
    fn add(&mut self, groups: Groups<'_>, input: &DecodedVector) -> Result<()> {
        match input.flat_values() {
            Some(FlatValues::Real(values)) => self.add_values(groups, input, values),
            Some(FlatValues::Double(values)) => self.add_values(groups, input, values),
            _ if input.all_null() => {}
            _ => return Err(wrong_type(input)),
        }
        Ok(())
    }

    fn add_values<T: Copy + Into<f64>>(
        &mut self,
        groups: Groups<'_>,
        input: &DecodedVector,
        values: &[T],
    ) {
        match (groups, input.mapping(), input.validity()) {
            (Groups::One { num_rows }, Mapping::Identity, None) => {
                if let Some(state) = self.states.first_mut() {
                    state.sum += sum_in_lanes(&values[..num_rows], |value| (*value).into());
                    state.count += num_rows as u64;
                }
            }
            (Groups::Listed { lists, .. }, Mapping::Identity, None) => {
                for (group, rows) in lists.iter() {
                    let state = &mut self.states[group];
                    state.sum += sum_in_lanes(rows, |row| values[*row as usize].into());
                    state.count += rows.len() as u64;
                }
            }
            _ => fold(groups, input, values, &mut self.states, |state: &mut Float, value| {
                state.sum += value.into();
                state.count += 1;
            }),
        }
    }
}

/// The sum of many values. A float addition waits for the one before it; four sums side by side
/// keep the adder busy.
#[inline]
fn sum_in_lanes<T>(items: &[T], value: impl Fn(&T) -> f64) -> f64 {
    let mut lanes = [0.0; 4];
    let (fours, rest) = items.as_chunks::<4>();
    for four in fours {
        for (lane, item) in lanes.iter_mut().zip(four) {
            *lane += value(item);
        }
    }
    for (lane, item) in lanes.iter_mut().zip(rest) {
        *lane += value(item);
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

impl Accumulator for FloatSum {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, Float::default());
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        self.add(groups, &one(args)?.decoded)
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let Some((sums, counts)) = sum_and_count(self.forms.get(0)?, partial)? else {
            return self.add(groups, &partial.decoded);
        };
        self.add(groups, &sums)?;
        add_counts(groups, &counts, &mut self.states, |state| &mut state.count)
    }

    fn adopt(&mut self, function: &str, raw_types: &[Type]) -> Option<usize> {
        self.forms.adopt(function, raw_types)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        let form = self.forms.get(output)?;
        let states = &self.states[groups];
        let valid = |s: &Float| s.count > 0;
        let ty = form.result.clone();
        match (part, &form.intermediate) {
            (Part::Result, Some(_)) => flat(ty, states, valid, |s| Ok(s.sum / s.count as f64)),
            (Part::Result, None) if ty == Type::Double => flat(ty, states, valid, |s| Ok(s.sum)),
            (Part::Result, None) => flat(ty, states, valid, |s| Ok(s.sum as f32)),
            (Part::Intermediate, None) => flat(Type::Double, states, valid, |s| Ok(s.sum)),
            (Part::Intermediate, Some(ty)) => {
                let sums = flat(Type::Double, states, valid, |s| Ok(s.sum))?;
                row(ty, sums, states.iter().map(|s| s.count as i64).collect())
            }
        }
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Float>()
    }
}

#[cold]
fn too_large(ty: &Type) -> Error {
    Error::invalid_input("a sum does not fit its type").with("type", ty)
}

fn one(args: &[Column]) -> Result<&Column> {
    args.first().ok_or_else(|| Error::internal("a sum without an argument"))
}

fn wrong_type(input: &DecodedVector) -> Error {
    Error::internal("a column of another type than was summed before").with("type", input.ty())
}

/// The two columns of an average's intermediate value; `None` for a sum.
fn sum_and_count(form: &Form, partial: &Column) -> Result<Option<(DecodedVector, DecodedVector)>> {
    if form.intermediate.is_none() {
        return Ok(None);
    }
    let field = |index| DecodedVector::new(&Vector::field(&partial.vector, index)?);
    Ok(Some((field(0)?, field(1)?)))
}

fn row(ty: &Type, sums: VectorRef, counts: Buffer<i64>) -> Result<VectorRef> {
    let row_type = ty.as_row().ok_or_else(|| Error::internal("partial averages are rows"))?;
    let len = counts.len();
    let counts = FlatVector::from_buffer(Type::BigInt, counts, None)?;
    let children = vec![sums, Arc::new(Vector::Flat(counts))];
    Ok(Arc::new(Vector::Row(RowVector::new(Arc::clone(row_type), len, None, children)?)))
}

/// A flat column of one value for each state, null where it is not valid.
fn flat<S, T: FlatType + Default>(
    ty: Type,
    states: &[S],
    valid: impl Fn(&S) -> bool,
    value: impl Fn(&S) -> Result<T>,
) -> Result<VectorRef> {
    let validity: Bitmap = states.iter().map(&valid).collect();
    let values = states.iter().map(|s| if valid(s) { value(s) } else { Ok(T::default()) });
    let values: Vec<T> = values.collect::<Result<_>>()?;
    let validity = (!validity.all_ones()).then_some(validity);
    let vector = FlatVector::from_buffer(ty, Buffer::from_slice(&values), validity)?;
    Ok(Arc::new(Vector::Flat(vector)))
}
