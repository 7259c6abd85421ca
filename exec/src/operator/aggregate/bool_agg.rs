//! The aggregate functions BOOL_AND (and EVERY), BOOL_OR and COUNT_IF.

use std::ops::Range;

use vector::sync::Arc;
use vector::{
    Bitmap, DecodedVector, Error, FlatValues, FlatVector, Result, Type, Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold_rows};
use super::count::Count;
use super::function::{AggregateFunction, AggregateSignature};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[
    &BoolFunction { name: "bool_and", make: || Box::new(BoolAgg::and()), result: Type::Boolean },
    &BoolFunction { name: "every", make: || Box::new(BoolAgg::and()), result: Type::Boolean },
    &BoolFunction { name: "bool_or", make: || Box::new(BoolAgg::or()), result: Type::Boolean },
    &BoolFunction { name: "count_if", make: || Box::new(CountIf::default()), result: Type::BigInt },
];

/// An aggregate function with a BOOLEAN argument.
struct BoolFunction {
    name: &'static str,
    make: fn() -> Box<dyn Accumulator>,
    /// The type of the result and of the intermediate value.
    result: Type,
}

impl AggregateFunction for BoolFunction {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Accepts a BOOLEAN argument; a null literal (type `UNKNOWN`) counts as BOOLEAN.
    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let (intermediate, result) = (self.result.clone(), self.result.clone());
        matches!(args, [Type::Boolean | Type::Unknown])
            .then(|| AggregateSignature::unary(Type::Boolean, intermediate, result))
    }

    fn accumulator(&self, _: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok((self.make)())
    }

    fn ignores_duplicates(&self) -> bool {
        self.result == Type::Boolean
    }
}

/// The accumulator of the AND or OR of a group's values. Nulls are skipped, and one value that
/// equals `decisive` determines the result. The result is null for a group without values.
pub(super) struct BoolAgg {
    /// The value that determines the result: false for AND, true for OR.
    decisive: bool,
    states: Vec<Option<bool>>,
}

impl BoolAgg {
    /// Creates the accumulator of BOOL_AND: true when all values are true.
    pub(super) fn and() -> Self {
        BoolAgg { decisive: false, states: Vec::new() }
    }

    /// Creates the accumulator of BOOL_OR: true when any value is true.
    pub(super) fn or() -> Self {
        BoolAgg { decisive: true, states: Vec::new() }
    }
}

impl Accumulator for BoolAgg {
    fn resize(&mut self, num_groups: usize) {
        self.states.resize(num_groups, None);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = boolean(args)?;
        let decisive = self.decisive;
        fold_rows(groups, arg, &mut self.states, |state, row| {
            if *state != Some(decisive) {
                *state = Some(arg.boolean(row));
            }
        });
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.update(groups, std::slice::from_ref(partial))
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let states = &self.states[groups];
        let values: Bitmap = states.iter().map(|state| *state == Some(true)).collect();
        let validity: Bitmap = states.iter().map(Option::is_some).collect();
        let validity = (!validity.all_ones()).then_some(validity);
        let vector = FlatVector::new(Type::Boolean, FlatValues::Boolean(values), validity)?;
        Ok(Arc::new(Vector::Flat(vector)))
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<Option<bool>>()
    }
}

/// Counts the rows whose argument is true.
#[derive(Default)]
pub(super) struct CountIf(Count);

impl Accumulator for CountIf {
    fn resize(&mut self, num_groups: usize) {
        self.0.resize(num_groups);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = boolean(args)?;
        self.0.count_rows(groups, arg, |row| arg.boolean(row));
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        self.0.merge(groups, partial)
    }

    fn output(&self, output: usize, part: Part, groups: Range<usize>) -> Result<VectorRef> {
        self.0.output(output, part, groups)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

fn boolean(args: &[Column]) -> Result<&DecodedVector> {
    let arg = args.first().ok_or_else(|| Error::internal("an aggregate without its argument"))?;
    match arg.decoded.flat_values() {
        Some(FlatValues::Boolean(_)) => Ok(&arg.decoded),
        _ if arg.decoded.all_null() => Ok(&arg.decoded),
        _ => Err(Error::internal("an aggregate of truth values over others")
            .with("type", arg.decoded.ty())),
    }
}
