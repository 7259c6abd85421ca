//! Functions that evaluate lambdas over the elements of arrays and maps.
//!
//! ```text
//! rows   a [1, 2]  b []  c [3]        captured column k
//! elements  1 2 3                     a lambda is evaluated over them once per batch,
//! row of    a a c                     with k as a dictionary over their rows
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `types.rs` | typing rules; the type of a lambda is that of its result |
//! | `lambda.rs` | compiled lambdas, and their captured columns of one batch |
//! | `elements.rs` | the elements of the selected rows, and lists of them |
//! | `arrays.rs`, `maps.rs` | transform, filter, matches, zip_with; functions of maps |
//! | `reduce.rs` | reduce: processes the n-th elements of all rows in one step |
//!
//! Only elements of selected rows are evaluated, so that failures of other rows are not reported.

mod arrays;
mod elements;
mod lambda;
mod maps;
mod reduce;
mod types;

use vector::{Error, Result, SelectivityVector, Type, Vector, VectorRef};

use crate::expr::registry::{Function, HigherOrder};

pub(in crate::expr) use lambda::{BoundLambda, Lambda};

/// The functions of each file.
pub(super) const FUNCTIONS: &[&[Function]] =
    &[arrays::FUNCTIONS, maps::FUNCTIONS, reduce::FUNCTIONS];

/// One call over a batch.
pub(in crate::expr) struct HigherOrderCall<'a> {
    /// Arguments that are not lambdas, each as long as the batch.
    pub(in crate::expr) args: &'a [VectorRef],
    pub(in crate::expr) lambdas: &'a [BoundLambda<'a>],
    /// Rows that are counted in the result.
    pub(in crate::expr) rows: &'a SelectivityVector,
    /// Type of the result.
    pub(in crate::expr) ty: &'a Type,
}

impl HigherOrderCall<'_> {
    fn arg(&self, index: usize) -> Result<&VectorRef> {
        self.args.get(index).ok_or_else(missing)
    }

    fn lambda(&self, index: usize) -> Result<&BoundLambda<'_>> {
        self.lambdas.get(index).ok_or_else(missing)
    }
}

fn missing() -> Error {
    Error::internal("a higher-order function has too few arguments")
}

impl HigherOrder {
    /// Checks that the lambdas take the arguments that the function passes to them.
    ///
    /// # Errors
    /// `InvalidInput` when they do not.
    pub(in crate::expr) fn check(self, args: &[&Type], lambdas: &[Lambda]) -> Result<()> {
        let wanted = types::parameters(self, args)?;
        if wanted.len() != lambdas.len() {
            return Err(Error::invalid_input("a function takes another number of lambdas")
                .with("expected", wanted.len())
                .with("found", lambdas.len()));
        }
        wanted.iter().zip(lambdas).try_for_each(|(wanted, lambda)| lambda.check(wanted))
    }

    /// Evaluates the function over one batch.
    pub(in crate::expr) fn apply(self, call: &HigherOrderCall<'_>) -> Result<Vector> {
        match self {
            HigherOrder::Transform => arrays::transform(call),
            HigherOrder::Filter => arrays::filter(call),
            HigherOrder::AnyMatch => arrays::matches(call, arrays::Match::Any),
            HigherOrder::AllMatch => arrays::matches(call, arrays::Match::All),
            HigherOrder::NoneMatch => arrays::matches(call, arrays::Match::None),
            HigherOrder::ZipWith => arrays::zip_with(call),
            HigherOrder::MapFilter => maps::filter(call),
            HigherOrder::TransformKeys => maps::transform_keys(call),
            HigherOrder::TransformValues => maps::transform_values(call),
            HigherOrder::Reduce => reduce::reduce(call),
        }
    }
}
