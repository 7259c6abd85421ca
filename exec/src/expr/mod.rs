//! Evaluation of expressions: compiles [`TypedExpr`]s and evaluates them over batches.
//!
//! ```text
//! TypedExpr --compile--> nodes --evaluate(batch, rows)--> one vector for each expression
//!              |                     |
//!              registry              special forms restrict the rows; functions run under
//!              implicit casts        dictionaries and constants, otherwise over slices
//!              folded constants
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `functions/` | the built-in functions, in folders by domain, with their tables |
//! | `registry.rs` | what a function consists of, functions by name, resolution of calls |
//! | `signature.rs`, `typing.rs` | signatures as typing rules, results of typing rules |
//! | `coercion.rs` | implicit conversions, common types |
//! | `compile.rs`, `program.rs` | expressions to nodes: shared, folded, checked |
//! | `check.rs` | validation without compiling |
//! | `eval.rs` | nodes over the selected rows of a batch; AND, OR, CASE, COALESCE |
//! | `bounded.rs` | conditions over few rows at a time where intermediate results are large; the memory of folding |
//! | `loaded.rs` | lazy columns, loaded before they are read |
//! | `failures.rs` | nodes over rows of which some fail |
//! | `peel.rs` | functions under dictionaries and constants |
//! | `merge.rs` | the branches of a CASE as one vector |
//! | `kernel.rs` | building blocks of functions: calls, operands, loops |
//! | `by_row.rs` | loops for functions that are called row by row |
//! | `lambda.rs`, `lambda_call.rs` | lambdas over elements, calls of functions that take them |
//! | `runs.rs` | strings that are adjacent in a buffer, processed as one text |

mod bounded;
mod by_row;
mod check;
mod coercion;
mod compile;
mod eval;
mod failures;
mod functions;
mod kernel;
mod lambda;
mod lambda_call;
mod loaded;
mod merge;
mod peel;
mod program;
mod registry;
mod runs;
mod signature;
#[cfg(all(test, not(loom)))]
mod tests;
mod typing;

use dwio::connector::{CompiledExpr, CompiledExprs, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, Result, ResultExt, RowType, RowVector, SelectivityVector, Type, Value,
    VectorRef,
};

pub(crate) use by_row::{Integers, integers_of};
pub use coercion::{can_coerce, common_type};
pub use eval::select_true;
pub use functions::cast::can_cast;
pub use kernel::{Argument, Call, Kernel, Nulls};
pub use lambda_call::HigherOrder;
pub use registry::{
    Bind, BindClosure, Body, Form, Function, FunctionRegistry, Run, Signatures, nearest,
};
pub use typing::{Resolved, Rule};

use eval::{Evaluation, Memory};
use functions::array::sets;
use functions::map::construct as maps;
use program::Program;

/// Expressions that are compiled together over one input; used by one thread.
///
/// Equal subtrees are evaluated once per batch, in whichever of the expressions they occur.
#[derive(Debug)]
pub struct ExprSet {
    program: Program,
    memory: Memory,
    input: Arc<RowType>,
    /// Texts of the expressions, for errors.
    texts: Vec<String>,
}

impl ExprSet {
    /// Compiles `exprs` over batches of `input`. Arguments are implicitly converted to the types
    /// that a function requires.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown function or arguments that it does not take, `Internal` for an
    /// unknown column or an inconsistent type, `Limit` for an expression that is nested too deeply.
    pub fn compile(
        exprs: &[TypedExpr],
        input: &Arc<RowType>,
        registry: &FunctionRegistry,
    ) -> Result<Self> {
        let program = compile::compile(exprs, input, registry)?;
        let memory = Memory::for_program(&program);
        let texts = exprs.iter().map(ToString::to_string).collect();
        Ok(ExprSet { program, memory, input: Arc::clone(input), texts })
    }

    /// Returns the number of expressions.
    pub fn len(&self) -> usize {
        self.program.roots.len()
    }

    /// Returns true without expressions.
    pub fn is_empty(&self) -> bool {
        self.program.roots.is_empty()
    }

    /// Evaluates all expressions for `rows` of a batch. Each result is as long as the batch; its
    /// unselected rows are unspecified but safe to decode. Errors of rows that are not selected, or
    /// that a special form excludes, are not reported.
    ///
    /// # Errors
    /// The errors of the functions, with the expression; `Internal` when the batch does not match
    /// the input.
    pub fn evaluate(
        &mut self,
        batch: &RowVector,
        rows: &SelectivityVector,
    ) -> Result<Vec<VectorRef>> {
        let vectors = (0..self.len()).map(|i| self.evaluate_one(i, batch, rows)).collect();
        self.memory.end_batch();
        vectors
    }

    fn evaluate_one(
        &mut self,
        index: usize,
        batch: &RowVector,
        rows: &SelectivityVector,
    ) -> Result<VectorRef> {
        if rows.len() != batch.len() || batch.children().len() != self.input.len() {
            return Err(Error::internal("a batch does not fit its expressions")
                .with("rows", batch.len())
                .with("selection", rows.len())
                .with("columns", batch.children().len())
                .with("expected_columns", self.input.len()));
        }
        let mut evaluation = Evaluation::new(&self.program, &mut self.memory, batch);
        evaluation
            .node(self.program.roots[index], rows)
            .in_named("expression", self.texts.get(index).map_or("", String::as_str))
    }
}

/// Compiles and checks expressions for connectors and plans.
#[derive(Debug, Clone)]
pub struct ExecEvaluator {
    registry: Arc<FunctionRegistry>,
}

impl ExecEvaluator {
    /// Creates an evaluator for the functions of `registry`.
    pub fn new(registry: Arc<FunctionRegistry>) -> Self {
        ExecEvaluator { registry }
    }
}

impl ExpressionEvaluator for ExecEvaluator {
    fn compile(&self, expr: &TypedExpr, input: &Arc<RowType>) -> Result<Box<dyn CompiledExpr>> {
        let set = ExprSet::compile(std::slice::from_ref(expr), input, &self.registry)?;
        Ok(Box::new(set))
    }

    /// Checks without compiling: nothing is bound or evaluated.
    fn check(&self, exprs: &[TypedExpr], input: &Arc<RowType>) -> Result<()> {
        check::check(exprs, input, &self.registry)
    }

    fn is_deterministic(&self, expr: &TypedExpr) -> bool {
        self.registry.is_deterministic(expr)
    }

    fn compile_all(
        &self,
        exprs: &[TypedExpr],
        input: &Arc<RowType>,
    ) -> Result<Box<dyn CompiledExprs>> {
        Ok(Box::new(ExprSet::compile(exprs, input, &self.registry)?))
    }
}

impl CompiledExprs for ExprSet {
    fn evaluate_all(
        &mut self,
        batch: &RowVector,
        rows: &SelectivityVector,
    ) -> Result<Vec<VectorRef>> {
        ExprSet::evaluate(self, batch, rows)
    }
}

impl CompiledExpr for ExprSet {
    fn evaluate(&mut self, batch: &RowVector, rows: &SelectivityVector) -> Result<VectorRef> {
        bounded::evaluate(self, batch, rows)
    }
}

/// Returns arrays with each distinct element once.
pub(crate) fn distinct_elements(lists: &VectorRef) -> Result<VectorRef> {
    of_all_rows(sets::distinct, lists, lists.ty())
}

/// Returns maps of type `ty` from arrays of entries; a repeated key keeps its first value.
pub(crate) fn maps_of_entries(lists: &VectorRef, ty: &Type) -> Result<VectorRef> {
    of_all_rows(maps::from_first_entries, lists, ty)
}

/// Returns arrays of type `ty` with the entries of maps.
pub(crate) fn entries_of_maps(maps: &VectorRef, ty: &Type) -> Result<VectorRef> {
    of_all_rows(maps::entries, maps, ty)
}

fn of_all_rows(run: Run, values: &VectorRef, ty: &Type) -> Result<VectorRef> {
    let rows = SelectivityVector::all(values.len());
    peel::apply(&Kernel::new(run), std::slice::from_ref(values), &rows, ty, None)
}

/// Returns the value of an expression without columns. Returns `None` when it has columns, is
/// non-deterministic, fails, or is too large to be computed during planning.
pub fn fold_constant(expr: &TypedExpr, registry: &FunctionRegistry) -> Option<Value> {
    if !expr.field_names().is_empty() || !registry.is_deterministic(expr) {
        return None;
    }
    let _scope = bounded::folding_scope();
    let input = Arc::new(RowType::empty());
    let mut set = ExprSet::compile(std::slice::from_ref(expr), &input, registry).ok()?;
    let batch = RowVector::batch(input, 1, vec![]).ok()?;
    let vectors = ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(1)).ok()?;
    DecodedVector::new(vectors.first()?).ok()?.value(0).ok()
}
