//! A lambda: a program over elements, with columns captured from the rows of the elements.

use vector::sync::Arc;
use vector::{
    Buffer, Error, Result, RowType, RowVector, SelectivityVector, Type, Vector, VectorRef,
};

use crate::expr::compile::{NodeId, Program};
use crate::expr::eval::{Evaluation, Memory};

/// A compiled lambda.
#[derive(Debug)]
pub(in crate::expr) struct Lambda {
    program: Program,
    root: NodeId,
    /// Parameters, followed by the captured columns.
    columns: Arc<RowType>,
    /// Nodes of the enclosing program that produce the captured columns.
    captures: Vec<NodeId>,
}

impl Lambda {
    /// Creates a lambda from a program of one expression over `columns`, the last of which are
    /// `captures`.
    pub(in crate::expr) fn new(
        program: Program,
        columns: Arc<RowType>,
        captures: Vec<NodeId>,
    ) -> Result<Self> {
        match (program.roots.as_slice(), columns.len() >= captures.len()) {
            ([root], true) => Ok(Lambda { root: *root, program, columns, captures }),
            _ => Err(Error::internal("a lambda has other columns than it says")),
        }
    }

    /// Returns the captured nodes.
    pub(in crate::expr) fn captures(&self) -> &[NodeId] {
        &self.captures
    }

    /// Checks that the parameters have the types of their arguments.
    pub(super) fn check(&self, wanted: &[Type]) -> Result<()> {
        let num_parameters = self.columns.len() - self.captures.len();
        let given = &self.columns.types()[..num_parameters];
        if given.len() == wanted.len() && given.iter().zip(wanted).all(|(g, w)| g.is_equivalent(w))
        {
            return Ok(());
        }
        let text =
            |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        Err(Error::invalid_input("a lambda has other parameters than it is given")
            .with("expected", format_args!("({})", text(wanted)))
            .with("found", format_args!("({})", text(given))))
    }
}

/// A lambda with its captured values for one batch.
#[derive(Debug)]
pub(in crate::expr) struct BoundLambda<'a> {
    lambda: &'a Lambda,
    captures: Vec<VectorRef>,
}

impl<'a> BoundLambda<'a> {
    pub(in crate::expr) fn new(lambda: &'a Lambda, captures: Vec<VectorRef>) -> Self {
        BoundLambda { lambda, captures }
    }

    /// Returns the value of the lambda for each element. `parameters` all have one value per
    /// element, and `rows` returns the row of each element, to which captured columns belong.
    pub(super) fn evaluate(
        &self,
        parameters: Vec<VectorRef>,
        rows: impl FnOnce() -> Buffer<u32>,
    ) -> Result<VectorRef> {
        let batch = self.elements(parameters, rows)?;
        let all = SelectivityVector::all(batch.len());
        self.evaluate_batch(&batch, &all)
    }

    /// Returns a batch of the parameters and captured columns, for [`BoundLambda::evaluate_batch`].
    pub(super) fn elements(
        &self,
        parameters: Vec<VectorRef>,
        rows: impl FnOnce() -> Buffer<u32>,
    ) -> Result<RowVector> {
        let num_elements = parameters.first().map_or(0, |parameter| parameter.len());
        let mut columns = parameters;
        if !self.captures.is_empty() {
            let rows = rows();
            columns.extend(self.captures.iter().map(|capture| Vector::wrap(capture, &rows)));
        }
        RowVector::batch(Arc::clone(&self.lambda.columns), num_elements, columns)
    }

    /// Returns the value of the lambda for the selected elements.
    pub(super) fn evaluate_batch(
        &self,
        elements: &RowVector,
        selected: &SelectivityVector,
    ) -> Result<VectorRef> {
        let mut memory = Memory::for_program(&self.lambda.program);
        Evaluation::new(&self.lambda.program, &mut memory, elements)
            .node(self.lambda.root, selected)
    }

    /// Returns the value of the lambda for each element, and the elements for which it fails. The
    /// values of failing elements are unspecified.
    pub(super) fn evaluate_setting_failures_aside(
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
