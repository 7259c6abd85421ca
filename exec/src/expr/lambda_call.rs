//! Building blocks of higher-order functions: a call over arguments and lambdas.

use vector::{Buffer, Error, Result, RowVector, SelectivityVector, Type, Vector, VectorRef};

/// A higher-order function.
#[derive(Debug, Clone, Copy)]
pub struct HigherOrder {
    parameters: Parameters,
    run: RunWithLambdas,
}

/// Returns the parameter types of each lambda, given the types of the other arguments; `None` when
/// the function does not take them.
pub(super) type Parameters = fn(&[&Type]) -> Option<Vec<Vec<Type>>>;

/// Computes the result of a call over a batch.
pub(super) type RunWithLambdas = fn(&LambdaCall<'_>) -> Result<Vector>;

impl HigherOrder {
    pub(super) const fn new(parameters: Parameters, run: RunWithLambdas) -> Self {
        HigherOrder { parameters, run }
    }

    /// Returns the parameter types of each lambda, given the types of the other arguments.
    ///
    /// # Errors
    /// `InvalidInput` when the function does not take these arguments.
    pub(super) fn parameters(&self, args: &[&Type]) -> Result<Vec<Vec<Type>>> {
        (self.parameters)(args).ok_or_else(|| {
            Error::invalid_input("a function takes lambdas behind other arguments")
                .with("arguments", args.len())
        })
    }

    /// Evaluates the function over one batch.
    pub(super) fn run(&self, call: &LambdaCall<'_>) -> Result<Vector> {
        (self.run)(call)
    }
}

/// One call over a batch.
pub(super) struct LambdaCall<'a> {
    /// Arguments that are not lambdas, each as long as the batch.
    pub(super) args: &'a [VectorRef],
    pub(super) lambdas: &'a [&'a dyn ElementLambda],
    /// Rows that are counted in the result.
    pub(super) rows: &'a SelectivityVector,
    /// Type of the result.
    pub(super) ty: &'a Type,
}

impl<'a> LambdaCall<'a> {
    pub(super) fn arg(&self, index: usize) -> Result<&'a VectorRef> {
        self.args.get(index).ok_or_else(missing)
    }

    pub(super) fn lambda(&self, index: usize) -> Result<&'a dyn ElementLambda> {
        self.lambdas.get(index).copied().ok_or_else(missing)
    }
}

fn missing() -> Error {
    Error::internal("a higher-order function has too few arguments")
}

/// A lambda with its captured values for one batch, evaluated over elements of the rows.
pub(super) trait ElementLambda {
    /// Returns a batch of the parameters and captured columns, for
    /// [`ElementLambda::evaluate_batch`]. `parameters` all have one value per element, and `rows`
    /// returns the row of each element, to which captured columns belong.
    fn elements(
        &self,
        parameters: Vec<VectorRef>,
        rows: &dyn Fn() -> Buffer<u32>,
    ) -> Result<RowVector>;

    /// Returns the value of the lambda for the selected elements.
    fn evaluate_batch(
        &self,
        elements: &RowVector,
        selected: &SelectivityVector,
    ) -> Result<VectorRef>;

    /// Returns the value of the lambda for each element, and the elements for which it fails. The
    /// values of failing elements are unspecified.
    fn evaluate_setting_failures_aside(
        &self,
        elements: &RowVector,
    ) -> Result<(VectorRef, SelectivityVector)>;

    /// Returns the value of the lambda for each element, with the arguments of
    /// [`ElementLambda::elements`].
    fn evaluate(
        &self,
        parameters: Vec<VectorRef>,
        rows: &dyn Fn() -> Buffer<u32>,
    ) -> Result<VectorRef> {
        let batch = self.elements(parameters, rows)?;
        let all = SelectivityVector::all(batch.len());
        self.evaluate_batch(&batch, &all)
    }
}
