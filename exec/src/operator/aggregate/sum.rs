//! The aggregate functions SUM and AVG, with one shared state: a sum and the number of its values.
//!
//! Integers and decimals are summed in 128 bits. Sums of 64-bit values cannot overflow 128 bits for
//! any realistic number of rows. For 128-bit values the additions that wrap around are counted, as
//! in Velox's `LongDecimalWithOverflowState`. An intermediate sum that is too large is therefore no
//! error; only a final sum or average that does not fit its type is.
//!
//! | argument | intermediate of SUM | intermediate of AVG |
//! |---|---|---|
//! | at most 64 bits | sum | sum, count |
//! | 128 bits | sum, overflows | sum, count, overflows |
//! | floats | sum | sum, count |

use std::ops::Range;

use vector::sync::Arc;
use vector::types::{MAX_SHORT_PRECISION, decimal};
use vector::{
    Bitmap, Buffer, DecodedVector, Error, FlatType, FlatValues, FlatVector, Mapping, Result,
    RowVector, Type, TypeKind, Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold};
use super::function::{AggregateFunction, AggregateSignature, only, sum_type};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[&SUM, &AVG];

const SUM: SumFunction = SumFunction { is_average: false };
const AVG: SumFunction = SumFunction { is_average: true };

/// The function `sum` or `avg`.
struct SumFunction {
    is_average: bool,
}

impl SumFunction {
    fn form(&self, signature: &AggregateSignature) -> Form {
        Form {
            result: signature.result.clone(),
            intermediate: signature.intermediate.clone(),
            is_average: self.is_average,
        }
    }
}

impl AggregateFunction for SumFunction {
    fn name(&self) -> &'static str {
        if self.is_average { "avg" } else { "sum" }
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let arg = only(args)?;
        let sum = sum_type(&arg)?;
        let result = match (&arg, self.is_average) {
            (Type::Decimal { .. }, true) => arg.clone(),
            (_, true) => Type::Double,
            (Type::HugeInt, false) => Type::HugeInt,
            (_, false) if arg.is_integer() => Type::BigInt,
            (_, false) if arg.is_float() => arg.clone(),
            (_, false) => sum.clone(),
        };
        let intermediate = intermediate_type(&arg, sum, self.is_average);
        Some(AggregateSignature::unary(arg, intermediate, result))
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(accumulator(&signature.arg(0), self.form(signature)))
    }
}

/// Returns the accumulator of sums or averages of values of type `arg`.
fn accumulator(arg: &Type, form: Form) -> Box<dyn Accumulator> {
    let forms = Forms(vec![form]);
    if arg.is_float() {
        Box::new(FloatSum { forms, states: Vec::new() })
    } else {
        Box::new(ExactSum { forms, states: Vec::new() })
    }
}

/// The types of one output of an accumulator.
struct Form {
    /// The type of the sum or average.
    result: Type,
    /// The type of a partial step's output: a sum, or a row as in the table of the module comment.
    intermediate: Type,
    is_average: bool,
}

/// The outputs of one state: the sum and the average of a column use the same state.
struct Forms(Vec<Form>);

impl Forms {
    fn get(&self, output: usize) -> Result<&Form> {
        self.0.get(output).ok_or_else(|| Error::internal("a sum has no such output"))
    }

    fn adopt(&mut self, function: &str, raw_types: &[Type]) -> Option<usize> {
        let function = [SUM, AVG].into_iter().find(|known| known.name() == function)?;
        self.0.push(function.form(&function.resolve(raw_types)?));
        Some(self.0.len() - 1)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Exact {
    /// The sum minus 2^128 times `overflows`.
    sum: i128,
    count: u64,
    /// Number of additions that wrapped around at the maximum, minus those at the minimum.
    overflows: i64,
}

impl Exact {
    #[inline]
    fn add_wide(&mut self, value: i128) {
        let (sum, wrapped) = self.sum.overflowing_add(value);
        self.sum = sum;
        if wrapped {
            self.overflows += if value > 0 { 1 } else { -1 };
        }
    }

    /// Returns the sum, or `None` if it does not fit into 128 bits.
    fn total(&self) -> Option<i128> {
        (self.overflows == 0).then_some(self.sum)
    }

    /// Returns the average, rounded half away from zero, or `None` if it does not fit into 128
    /// bits, which cannot happen for 128-bit values.
    fn average(&self) -> Option<i128> {
        let count = self.count.max(1);
        match self.total() {
            Some(sum) => Some(decimal::divide_rounded(sum, i128::from(count))),
            None => decimal::divide_wide_rounded(self.overflows, self.sum, count),
        }
    }

    fn as_double(&self) -> f64 {
        /// 2^128.
        const UNIT: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
        self.sum as f64 + self.overflows as f64 * UNIT
    }
}

/// The accumulator of sums and averages of integers and decimals.
struct ExactSum {
    forms: Forms,
    states: Vec<Exact>,
}

impl ExactSum {
    /// Adds the values of a column and counts each of them once.
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
                fold(groups, input, values, states, |state: &mut Exact, value| {
                    state.add_wide(value);
                    state.count += 1;
                });
            }
            _ if input.all_null() => {}
            _ => return Err(wrong_type(input)),
        }
        Ok(())
    }

    fn sums(&self, form: &Form, groups: Range<usize>) -> Result<VectorRef> {
        let ty = match form.intermediate.as_row() {
            Some(row) => row.types().first().cloned().unwrap_or(Type::HugeInt),
            None => form.intermediate.clone(),
        };
        flat(ty, &self.states[groups], |s| s.count > 0, |s| Ok(s.sum))
    }

    fn result(&self, form: &Form, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let valid = |s: &Exact| s.count > 0;
        let ty = form.result.clone();
        let too_large = || too_large(&form.result);
        let average = |s: &Exact| s.average().ok_or_else(too_large);
        let total = |s: &Exact| s.total().ok_or_else(too_large);
        match (&ty, form.is_average) {
            (Type::Double, _) => flat(ty, states, valid, |s| Ok(s.as_double() / s.count as f64)),
            (Type::BigInt, _) => {
                let narrow = |s: &Exact| i64::try_from(total(s)?).map_err(|_| too_large());
                flat(ty, states, valid, narrow)
            }
            (Type::Decimal { precision, .. }, true) if *precision <= MAX_SHORT_PRECISION => {
                let narrow = |s: &Exact| i64::try_from(average(s)?).map_err(|_| too_large());
                flat(ty, states, valid, narrow)
            }
            (Type::Decimal { precision, .. }, is_average) => {
                let precision = *precision;
                let check = |s: &Exact| {
                    let value = if is_average { average(s)? } else { total(s)? };
                    decimal::fits(value, precision).then_some(value).ok_or_else(too_large)
                };
                flat(ty, states, valid, check)
            }
            _ => flat(ty, states, valid, total),
        }
    }
}

/// Returns the sum of all values. The low and the high 32 bits are summed separately, so that there
/// is no carry between them and consecutive additions do not depend on a 128-bit carry chain.
fn exact_sum<T: Copy>(values: &[T]) -> i128
where
    i64: From<T>,
{
    /// Number of values whose 32-bit halves can be summed in 64 bits without overflow.
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

/// Adds the counts of partial results whose sums have been added already. A sum is null where its
/// count is 0; every other sum has been counted once, so the count minus one is added.
fn add_counts<S: Default>(
    groups: Groups<'_>,
    partial: &Partial,
    states: &mut [S],
    count_of: impl Fn(&mut S) -> &mut u64,
) -> Result<()> {
    let Some(counts) = &partial.counts else { return Ok(()) };
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
        let partial = Partial::of(self.forms.get(0)?, partial)?;
        self.add(groups, &partial.sums)?;
        if let Some(overflows) = &partial.overflows {
            let values = overflows.base_slice::<i64>().ok_or_else(|| wrong_type(overflows))?;
            fold(groups, overflows, values, &mut self.states, |state: &mut Exact, overflows| {
                state.overflows = state.overflows.wrapping_add(overflows);
            });
        }
        add_counts(groups, &partial, &mut self.states, |state| &mut state.count)
    }

    fn adopt(&mut self, function: &str, raw_types: &[Type]) -> Option<usize> {
        self.forms.adopt(function, raw_types)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        let form = self.forms.get(output)?;
        if part == Part::Result {
            return self.result(form, groups);
        }
        let states = &self.states[groups.clone()];
        partial_output(form, self.sums(form, groups)?, |field| match field {
            OVERFLOWS => states.iter().map(|state| state.overflows).collect(),
            _ => states.iter().map(|state| state.count as i64).collect(),
        })
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

/// The accumulator of sums and averages of REAL and DOUBLE values, in double precision.
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

/// Returns the sum of all values. A floating-point addition depends on the previous one, so four
/// independent sums are used to hide its latency.
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
        let partial = Partial::of(self.forms.get(0)?, partial)?;
        self.add(groups, &partial.sums)?;
        add_counts(groups, &partial, &mut self.states, |state| &mut state.count)
    }

    fn adopt(&mut self, function: &str, raw_types: &[Type]) -> Option<usize> {
        self.forms.adopt(function, raw_types)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        let form = self.forms.get(output)?;
        let states = &self.states[groups];
        let valid = |s: &Float| s.count > 0;
        let ty = form.result.clone();
        match (part, form.is_average) {
            (Part::Result, true) => flat(ty, states, valid, |s| Ok(s.sum / s.count as f64)),
            (Part::Result, false) if ty == Type::Double => flat(ty, states, valid, |s| Ok(s.sum)),
            (Part::Result, false) => flat(ty, states, valid, |s| Ok(s.sum as f32)),
            (Part::Intermediate, _) => {
                let sums = flat(Type::Double, states, valid, |s| Ok(s.sum))?;
                partial_output(form, sums, |_| states.iter().map(|s| s.count as i64).collect())
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

/// The field of an intermediate row that contains the number of values.
const COUNT: &str = "count";
/// The field of an intermediate row that contains the number of additions that wrapped around.
const OVERFLOWS: &str = "overflows";

/// Returns the type of intermediate sums or averages of `arg`, whose sums have type `sum`.
fn intermediate_type(arg: &Type, sum: Type, is_average: bool) -> Type {
    let is_wide = arg.kind() == TypeKind::HugeInt;
    let counts = [(COUNT, is_average), (OVERFLOWS, is_wide)];
    let counts = counts.into_iter().filter(|(_, is_there)| *is_there);
    match is_average || is_wide {
        true => {
            // An intermediate sum may have more digits than any decimal type.
            let sum = if is_wide { Type::HugeInt } else { sum };
            let fields = std::iter::once(("sum", sum));
            Type::row(fields.chain(counts.map(|(name, _)| (name, Type::BigInt))))
        }
        false => sum,
    }
}

/// The decoded columns of intermediate values.
struct Partial {
    sums: DecodedVector,
    counts: Option<DecodedVector>,
    overflows: Option<DecodedVector>,
}

impl Partial {
    /// Returns the columns of `partial`. The field names are those of `form`, because rows of a
    /// recorded plan may have other names.
    fn of(form: &Form, partial: &Column) -> Result<Self> {
        let Some(row) = form.intermediate.as_row() else {
            return Ok(Partial { sums: partial.decoded.clone(), counts: None, overflows: None });
        };
        let field = |index| DecodedVector::new(&Vector::field(&partial.vector, index)?);
        let named = |name: &str| row.index_of(name).map(field).transpose();
        Ok(Partial { sums: field(0)?, counts: named(COUNT)?, overflows: named(OVERFLOWS)? })
    }
}

/// Returns a column of intermediate values: the sums alone, or rows of the sums and of the numbers
/// that `numbers` returns for each further field name.
fn partial_output(
    form: &Form,
    sums: VectorRef,
    numbers: impl Fn(&str) -> Buffer<i64>,
) -> Result<VectorRef> {
    let Some(row) = form.intermediate.as_row() else { return Ok(sums) };
    let len = sums.len();
    let mut children = vec![sums];
    for name in row.names().iter().skip(1) {
        let numbers = FlatVector::from_buffer(Type::BigInt, numbers(name), None)?;
        children.push(Arc::new(Vector::Flat(numbers)));
    }
    Ok(Arc::new(Vector::Row(RowVector::new(Arc::clone(row), len, None, children)?)))
}

/// Returns a flat column with one value for each state, null for states that are not valid.
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
