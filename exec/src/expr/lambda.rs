//! Lambdas with their captured columns of one batch, evaluated over elements.

use vector::sync::Arc;
use vector::{Buffer, Result, RowVector, SelectivityVector, Vector, VectorRef};

use super::eval::{Evaluation, Memory};
use super::lambda_call::ElementLambda;
use super::program::Lambda;

/// A lambda with its captured values for one batch.
#[derive(Debug)]
pub(super) struct BoundLambda<'a> {
    lambda: &'a Lambda,
    captures: Vec<VectorRef>,
}

impl<'a> BoundLambda<'a> {
    pub(super) fn new(lambda: &'a Lambda, captures: Vec<VectorRef>) -> Self {
        BoundLambda { lambda, captures }
    }
}

impl ElementLambda for BoundLambda<'_> {
    fn elements(
        &self,
        parameters: Vec<VectorRef>,
        rows: &dyn Fn() -> Buffer<u32>,
    ) -> Result<RowVector> {
        let num_elements = parameters.first().map_or(0, |parameter| parameter.len());
        let mut columns = parameters;
        if !self.captures.is_empty() {
            let rows = rows();
            columns.extend(self.captures.iter().map(|capture| Vector::wrap(capture, &rows)));
        }
        RowVector::batch(Arc::clone(&self.lambda.columns), num_elements, columns)
    }

    fn evaluate_batch(
        &self,
        elements: &RowVector,
        selected: &SelectivityVector,
    ) -> Result<VectorRef> {
        let mut memory = Memory::for_program(&self.lambda.program);
        Evaluation::new(&self.lambda.program, &mut memory, elements)
            .node(self.lambda.root, selected)
    }

    fn evaluate_setting_failures_aside(
        &self,
        elements: &RowVector,
    ) -> Result<(VectorRef, SelectivityVector)> {
        let mut memory = Memory::for_program(&self.lambda.program);
        let all = SelectivityVector::all(elements.len());
        let mut failed = SelectivityVector::none(elements.len());
        let values = Evaluation::new(&self.lambda.program, &mut memory, elements)
            .setting_failures_aside(self.lambda.root, &all, &mut failed)?;
        Ok((values, failed))
    }
}
