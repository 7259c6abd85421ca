//! Aggregates over the values of one group.

use super::ast::{Aggregate, AggregateCall};
use super::values::{Datum, Kind};

/// The value of an aggregate over the inputs that its FILTER leaves.
pub(super) fn aggregate(call: &AggregateCall, mut inputs: Vec<Datum>) -> Datum {
    inputs.retain(|input| !input.is_null());
    if call.distinct {
        inputs.sort();
        inputs.dedup();
    }
    let is_true = |input: &&Datum| input.truth() == Some(true);
    match call.function {
        Aggregate::Count => Datum::Int(inputs.len() as i64),
        Aggregate::CountIf => Datum::Int(inputs.iter().filter(is_true).count() as i64),
        _ if inputs.is_empty() => Datum::Null,
        Aggregate::Sum => sum(&inputs),
        Aggregate::Avg => average(&inputs, &call.kind),
        Aggregate::Min => inputs.into_iter().min().unwrap_or(Datum::Null),
        Aggregate::Max => inputs.into_iter().max().unwrap_or(Datum::Null),
        Aggregate::BoolAnd => Datum::Bool(inputs.iter().all(|input| is_true(&input))),
        Aggregate::BoolOr => Datum::Bool(inputs.iter().any(|input| is_true(&input))),
    }
}

fn integers(inputs: &[Datum]) -> i128 {
    let number = |input: &Datum| match input {
        Datum::Int(value) => i128::from(*value),
        Datum::Decimal(unscaled) => *unscaled,
        other => unreachable!("{other:?} is not summed"),
    };
    inputs.iter().map(number).sum()
}

/// Sums of the numbers that queries sum are exact, so that their order does not matter.
fn doubles(inputs: &[Datum]) -> f64 {
    let number = |input: &Datum| match input {
        Datum::Double(value) => *value,
        other => unreachable!("{other:?} is not summed"),
    };
    inputs.iter().map(number).sum()
}

fn sum(inputs: &[Datum]) -> Datum {
    match inputs[0] {
        Datum::Double(_) => Datum::Double(doubles(inputs)),
        Datum::Decimal(_) => Datum::Decimal(integers(inputs)),
        _ => Datum::Int(integers(inputs).try_into().expect("queries keep sums small")),
    }
}

fn average(inputs: &[Datum], kind: &Kind) -> Datum {
    let count = inputs.len() as i128;
    match (&inputs[0], kind) {
        (Datum::Double(_), _) => Datum::Double(doubles(inputs) / count as f64),
        (Datum::Decimal(_), Kind::Decimal { .. }) => {
            // Rounded half away from zero.
            let sum = integers(inputs);
            let rounded = (sum.abs() * 2 + count) / (count * 2);
            Datum::Decimal(rounded * sum.signum())
        }
        _ => Datum::Double(integers(inputs) as f64 / count as f64),
    }
}
