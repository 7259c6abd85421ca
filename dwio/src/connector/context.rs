//! Query context of a connector: the services of a query that the connector may use.

use std::fmt;

use vector::sync::{Arc, CancelFlag};
use vector::{MemoryPool, Result, RowType, RowVector, SelectivityVector, VectorRef};

use crate::config::Config;
use crate::expr::TypedExpr;

/// Compiles expressions. Implemented by the engine, so that connectors can evaluate expressions
/// without depending on it.
pub trait ExpressionEvaluator: Send + Sync + fmt::Debug {
    /// Compiles `expr` over batches of `input`.
    ///
    /// # Errors
    /// `Internal` or a user error if a column, a function or a type does not fit.
    fn compile(&self, expr: &TypedExpr, input: &Arc<RowType>) -> Result<Box<dyn CompiledExpr>>;

    /// Checks that each of `exprs` can be compiled over `input`: columns, functions and their
    /// types.
    ///
    /// # Errors
    /// Those of `compile`.
    fn check(&self, exprs: &[TypedExpr], input: &Arc<RowType>) -> Result<()> {
        exprs.iter().try_for_each(|expr| self.compile(expr, input).map(drop))
    }

    /// Returns true if `expr` has the same value whenever its columns have the same values: no
    /// function in it is random or depends on the time. Only such an expression may be evaluated
    /// once for many rows, for example for all rows of a file.
    fn is_deterministic(&self, expr: &TypedExpr) -> bool;

    /// Compiles expressions that are evaluated together, so that common subexpressions can be
    /// evaluated once.
    ///
    /// # Errors
    /// Those of `compile`.
    fn compile_all(
        &self,
        exprs: &[TypedExpr],
        input: &Arc<RowType>,
    ) -> Result<Box<dyn CompiledExprs>> {
        let compiled = exprs.iter().map(|expr| self.compile(expr, input));
        Ok(Box::new(compiled.collect::<Result<Vec<_>>>()?))
    }
}

/// A compiled expression, used by one thread.
pub trait CompiledExpr: Send {
    /// Evaluates the selected rows of a batch. The result is as long as the batch; its unselected
    /// rows are unspecified.
    ///
    /// # Errors
    /// The error of the first function that fails on a selected row, or of reserving memory.
    fn evaluate(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<VectorRef>;
}

/// Expressions compiled together, used by one thread.
pub trait CompiledExprs: Send {
    /// Evaluates all expressions like [`CompiledExpr::evaluate`]; the results are in the order of
    /// the expressions.
    ///
    /// # Errors
    /// Those of [`CompiledExpr::evaluate`].
    fn evaluate_all(
        &mut self,
        batch: &RowVector,
        rows: &SelectivityVector,
    ) -> Result<Vec<VectorRef>>;
}

impl CompiledExprs for Vec<Box<dyn CompiledExpr>> {
    fn evaluate_all(
        &mut self,
        batch: &RowVector,
        rows: &SelectivityVector,
    ) -> Result<Vec<VectorRef>> {
        self.iter_mut().map(|expr| expr.evaluate(batch, rows)).collect()
    }
}

/// The part of a query that is visible to a connector.
#[derive(Debug, Clone)]
pub struct ConnectorQueryCtx {
    /// Leaf memory pool of the scan.
    pub pool: MemoryPool,
    /// Compiles remaining filters.
    pub evaluator: Arc<dyn ExpressionEvaluator>,
    /// Session settings of the connector.
    pub session: Config,
    /// Set when the query should stop.
    pub cancel: CancelFlag,
}
