//! The aggregate functions VARIANCE and STDDEV, of samples and of populations, with one shared
//! state.
//!
//! The state is the count, the mean and the sum of squared distances from the mean. It is updated
//! value by value by Welford's algorithm, and two states are merged by Chan's formula. Both avoid
//! the subtraction of large numbers that are almost equal, and a partial result loses no
//! information.

use std::ops::Range;

use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, DecodedVector, Error, FlatValues, FlatVector, Result, RowVector, Type, Vector,
    VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold, fold_rows};
use super::function::{AggregateFunction, AggregateSignature, only, sum_type};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] =
    &[&VARIANTS[0], &VARIANTS[1], &VARIANTS[2], &VARIANTS[3], &VARIANTS[4], &VARIANTS[5]];

const VARIANTS: [VarianceFunction; 6] = [
    VarianceFunction("variance", Statistic::VarianceOfSample),
    VarianceFunction("var_samp", Statistic::VarianceOfSample),
    VarianceFunction("var_pop", Statistic::VarianceOfPopulation),
    VarianceFunction("stddev", Statistic::DeviationOfSample),
    VarianceFunction("stddev_samp", Statistic::DeviationOfSample),
    VarianceFunction("stddev_pop", Statistic::DeviationOfPopulation),
];

struct VarianceFunction(&'static str, Statistic);

impl AggregateFunction for VarianceFunction {
    fn name(&self) -> &'static str {
        self.0
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let arg = only(args).filter(|arg| sum_type(arg).is_some())?;
        let arg = if let Type::Decimal { .. } = arg { Type::Double } else { arg };
        Some(AggregateSignature::unary(arg, intermediate(), Type::Double))
    }

    fn accumulator(&self, _: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(VarianceAgg::new(self.1)))
    }
}

/// The statistic that is computed from count, mean and squared distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statistic {
    /// The variance of a sample; null for fewer than two values.
    VarianceOfSample,
    /// The variance of a population; null without values.
    VarianceOfPopulation,
    /// The standard deviation of a sample: the square root of its variance.
    DeviationOfSample,
    /// The standard deviation of a population: the square root of its variance.
    DeviationOfPopulation,
}

#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

impl Moments {
    #[inline]
    fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
    }

    fn merge(&mut self, other: Moments) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        let (here, there) = (self.count as f64, other.count as f64);
        self.count = self.count.saturating_add(other.count);
        let all = self.count as f64;
        let distance = other.mean - self.mean;
        self.mean += distance * (there / all);
        self.squares += other.squares + distance * distance * (here * there / all);
    }

    fn value(&self, statistic: Statistic) -> Option<f64> {
        let count = match statistic {
            Statistic::VarianceOfSample | Statistic::DeviationOfSample => self.count.checked_sub(1),
            _ => Some(self.count),
        };
        let variance = self.squares / count.filter(|count| *count > 0)? as f64;
        Some(match statistic {
            Statistic::VarianceOfSample | Statistic::VarianceOfPopulation => variance,
            Statistic::DeviationOfSample | Statistic::DeviationOfPopulation => variance.sqrt(),
        })
    }
}

/// Returns the type of an intermediate value, which is the type that Velox uses.
fn intermediate() -> Type {
    Type::row([("count", Type::BigInt), ("mean", Type::Double), ("m2", Type::Double)])
}

/// The accumulator of variances and standard deviations of one column.
struct VarianceAgg {
    /// The statistic of each output. The variance and the deviation of a column share the state.
    outputs: Vec<Statistic>,
    states: Vec<Moments>,
}

impl VarianceAgg {
    fn new(statistic: Statistic) -> Self {
        VarianceAgg { outputs: vec![statistic], states: Vec::new() }
    }

    fn intermediate(&self, groups: Range<usize>) -> Result<VectorRef> {
        let ty = intermediate();
        let row_type = ty.as_row().ok_or_else(|| Error::internal("moments are rows"))?;
        let states = &self.states[groups];
        let doubles = |values: Buffer<f64>| -> Result<VectorRef> {
            Ok(Arc::new(Vector::Flat(FlatVector::from_buffer(Type::Double, values, None)?)))
        };
        let counts: Buffer<i64> = states.iter().map(|s| s.count as i64).collect();
        let counts = Vector::Flat(FlatVector::from_buffer(Type::BigInt, counts, None)?);
        let children = vec![
            Arc::new(counts),
            doubles(states.iter().map(|s| s.mean).collect())?,
            doubles(states.iter().map(|s| s.squares).collect())?,
        ];
        let row = RowVector::new(Arc::clone(row_type), states.len(), None, children)?;
        Ok(Arc::new(Vector::Row(row)))
    }
}

impl Accumulator for VarianceAgg {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, Moments::default());
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = args.first().ok_or_else(|| Error::internal("a variance without an argument"))?;
        let (arg, states) = (&arg.decoded, self.states.as_mut_slice());
        macro_rules! add {
            ($values:expr, $value:pat => $float:expr) => {
                fold(groups, arg, $values, states, |state: &mut Moments, $value| state.add($float))
            };
        }
        match arg.flat_values() {
            Some(FlatValues::TinyInt(values)) => add!(values, v => f64::from(v)),
            Some(FlatValues::SmallInt(values)) => add!(values, v => f64::from(v)),
            Some(FlatValues::Integer(values)) => add!(values, v => f64::from(v)),
            Some(FlatValues::BigInt(values)) => add!(values, v => v as f64),
            Some(FlatValues::HugeInt(values)) => add!(values, v => v as f64),
            Some(FlatValues::Real(values)) => add!(values, v => f64::from(v)),
            Some(FlatValues::Double(values)) => add!(values, v => v),
            _ if arg.all_null() => {}
            _ => {
                return Err(Error::internal("values without a variance").with("type", arg.ty()));
            }
        }
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let field = |index| DecodedVector::new(&Vector::field(&partial.vector, index)?);
        let (counts, means, squares) = (field(0)?, field(1)?, field(2)?);
        let (Some(count), Some(mean), Some(square)) =
            (counts.base_slice::<i64>(), means.base_slice::<f64>(), squares.base_slice::<f64>())
        else {
            return Err(not_moments(&partial.decoded));
        };
        fold_rows(groups, &partial.decoded, &mut self.states, |state, row| {
            // The other fields of a partial result without values may be null.
            if !counts.is_null(row) && !means.is_null(row) && !squares.is_null(row) {
                state.merge(Moments {
                    count: count[counts.index(row)].max(0).cast_unsigned(),
                    mean: mean[means.index(row)],
                    squares: square[squares.index(row)],
                });
            }
        });
        Ok(())
    }

    fn adopt(&mut self, function: &str, _: &[Type]) -> Option<usize> {
        let variant = VARIANTS.iter().find(|variant| variant.0 == function)?;
        self.outputs.push(variant.1);
        Some(self.outputs.len() - 1)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        if part == Part::Intermediate {
            return self.intermediate(groups);
        }
        let statistic = *self
            .outputs
            .get(output)
            .ok_or_else(|| Error::internal("a variance has no such output"))?;
        let values = self.states[groups].iter().map(|state| state.value(statistic));
        let values: Vec<Option<f64>> = values.collect();
        let validity: Bitmap = values.iter().map(Option::is_some).collect();
        let validity = (!validity.all_ones()).then_some(validity);
        let values: Buffer<f64> = values.iter().map(|value| value.unwrap_or_default()).collect();
        let vector = FlatVector::from_buffer(Type::Double, values, validity)?;
        Ok(Arc::new(Vector::Flat(vector)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Moments>()
    }
}

fn not_moments(partial: &DecodedVector) -> Error {
    Error::internal("a partial variance is not a row of count, mean and squares")
        .with("type", partial.ty())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn moments(values: &[f64]) -> Moments {
        let mut made = Moments::default();
        values.iter().for_each(|value| made.add(*value));
        made
    }

    #[test]
    fn parts_put_together_say_what_the_whole_says() {
        let values: Vec<f64> = (0..100).map(|i| 1e9 + f64::from(i * i % 37)).collect();
        let whole = moments(&values);
        let mean = values.iter().map(|v| v - 1e9).sum::<f64>() / 100.0;
        let exact = values.iter().map(|v| (v - 1e9 - mean).powi(2)).sum::<f64>();
        assert!((whole.squares - exact).abs() < exact * 1e-6);
        for cut in [0, 1, 50, 99, 100] {
            let mut merged = moments(&values[..cut]);
            merged.merge(moments(&values[cut..]));
            assert_eq!(merged.count, 100);
            assert!((merged.squares - exact).abs() < exact * 1e-6, "{cut}");
        }
    }

    #[test]
    fn one_value_has_a_population_but_is_no_sample() {
        let one = moments(&[5.0]);
        assert_eq!(one.value(Statistic::VarianceOfPopulation), Some(0.0));
        assert_eq!(one.value(Statistic::DeviationOfSample), None);
        assert_eq!(moments(&[]).value(Statistic::DeviationOfPopulation), None);
        assert_eq!(moments(&[1.0, 3.0]).value(Statistic::VarianceOfSample), Some(2.0));
        let odd = moments(&[1.0, f64::NAN]).value(Statistic::VarianceOfSample);
        assert!(odd.is_some_and(f64::is_nan));
    }
}
