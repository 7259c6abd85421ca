//! BOOL_AND, BOOL_OR and COUNT_IF.

use std::ops::Range;

use vector::sync::Arc;
use vector::{
    Bitmap, DecodedVector, Error, FlatValues, FlatVector, Result, Type, Vector, VectorRef,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold_rows};
use super::count::Count;

/// AND or OR of the values of a group, nulls passed over: one value that is `decisive` decides.
pub(super) struct Decided {
    /// False for AND, true for OR.
    decisive: bool,
    states: Vec<Option<bool>>,
}

impl Decided {
    /// True as long as all are.
    pub(super) fn and() -> Self {
        Decided { decisive: false, states: Vec::new() }
    }

    /// True as soon as one is.
    pub(super) fn or() -> Self {
        Decided { decisive: true, states: Vec::new() }
    }
}

impl Accumulator for Decided {
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
