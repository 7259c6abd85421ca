//! Partition pruning: evaluates conditions on columns that have one value for a whole file.
//!
//! Terms of a condition that use only such columns (partition keys, `$path` and other synthesized
//! columns) are evaluated once per partition, on a batch of one row, instead of once per row:
//!
//! ```text
//! ds = '2026-09-01' AND nationkey < 4 AND hour + 1 > 12      values ds=2026-09-01 hour=7
//! ------- true -----    (needs the file)   --- false ----    -> no row of the file can pass
//! ```
//!
//! A term that is false or null drops the partition. A term whose columns are not all known yet
//! (deeper directories) has no effect. If the evaluation of a term fails, another term may still be
//! false, in any order. The error is the error of the condition only for a row that passes all
//! other terms, including those on columns of the file (Velox's AND). The reader of the file
//! therefore keeps the error for the first such row ([`PartitionPredicate::test`]).

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, ErrorKind, Result, RowType, RowVector, SelectivityVector, Type, Value,
    Vector,
};

/// The terms of a condition that depend only on columns with one value per file.
pub struct PartitionPredicate {
    terms: Vec<Term>,
}

struct Term {
    text: String,
    input: Arc<RowType>,
    compiled: Box<dyn CompiledExpr>,
}

impl std::fmt::Debug for PartitionPredicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.terms.iter().map(|t| &t.text)).finish()
    }
}

impl PartitionPredicate {
    /// Compiles the terms of `condition` that use only `columns`; `None` if there are none.
    ///
    /// # Errors
    /// Errors of compiling a term.
    pub fn new(
        evaluator: &dyn ExpressionEvaluator,
        condition: &TypedExpr,
        columns: &RowType,
    ) -> Result<Option<Self>> {
        let terms = condition.conjuncts();
        let known = |name: &str| columns.index_of(name).is_some();
        let terms = terms.into_iter().filter(|t| is_decided_by(evaluator, t, known));
        Self::from_terms(evaluator, terms)
    }

    /// Compiles the given terms; `None` if there are none.
    ///
    /// # Errors
    /// Errors of compiling a term.
    pub fn from_terms<'a>(
        evaluator: &dyn ExpressionEvaluator,
        terms: impl IntoIterator<Item = &'a TypedExpr>,
    ) -> Result<Option<Self>> {
        let terms = terms
            .into_iter()
            .map(|term| {
                let input = Arc::new(fields_of(term));
                let compiled = evaluator.compile(term, &input)?;
                Ok(Term { text: term.to_string(), input, compiled })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok((!terms.is_empty()).then_some(PartitionPredicate { terms }))
    }

    /// Returns false if a term excludes all rows with these values. `value` returns the value of a
    /// column as the given type, or `None` if it is not known yet.
    ///
    /// # Errors
    /// As [`PartitionPredicate::test`].
    pub fn may_pass(
        &mut self,
        value: impl FnMut(&str, &Type) -> Result<Option<Value>>,
    ) -> Result<bool> {
        Ok(!matches!(self.test(value)?, Verdict::Drops))
    }

    /// Evaluates the terms on the given values.
    ///
    /// # Errors
    /// Errors other than `InvalidInput`. The first `InvalidInput` of a term is part of the verdict.
    pub fn test(
        &mut self,
        mut value: impl FnMut(&str, &Type) -> Result<Option<Value>>,
    ) -> Result<Verdict> {
        let mut failure = None;
        for term in &mut self.terms {
            match term.holds(&mut value) {
                Ok(true) => {}
                Ok(false) => return Ok(Verdict::Drops),
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(failure.map_or(Verdict::Passes, Verdict::Fails))
    }
}

/// Result of the conditions on partitions for the rows of a file.
#[derive(Debug)]
pub enum Verdict {
    /// No row passes.
    Drops,
    /// Each row passes that the other conditions accept.
    Passes,
    /// A term fails; the error applies to each row that the other conditions accept.
    Fails(Error),
}

impl Term {
    /// Returns false if the term is false or null; true also if the value of a column is not known.
    fn holds(
        &mut self,
        value: &mut impl FnMut(&str, &Type) -> Result<Option<Value>>,
    ) -> Result<bool> {
        let mut values = Vec::with_capacity(self.input.len());
        for (name, ty) in self.input.fields() {
            let Some(value) = value(name, ty)? else { return Ok(true) };
            values.push(value);
        }
        let children = self
            .input
            .types()
            .iter()
            .zip(values)
            .map(|(ty, value)| Ok(Arc::new(Vector::constant(ty.clone(), value, 1)?)))
            .collect::<Result<Vec<_>>>()?;
        let row = RowVector::batch(Arc::clone(&self.input), 1, children)?;
        let outcome = self
            .compiled
            .evaluate(&row, &SelectivityVector::all(1))
            .map_err(|e| e.in_named("condition on partitions", &self.text))?;
        let outcome = DecodedVector::new(&outcome)?;
        if *outcome.ty() != Type::Boolean || outcome.is_empty() {
            return Err(Error::internal("a condition did not return a truth value")
                .with("condition", &self.text)
                .with("type", outcome.ty()));
        }
        Ok(!outcome.is_null(0) && outcome.boolean(0))
    }
}

/// Returns true if the expression has one value for given values of the columns that `known`
/// accepts: it uses no other columns, and all of its functions are deterministic.
pub(crate) fn is_decided_by(
    evaluator: &dyn ExpressionEvaluator,
    expr: &TypedExpr,
    known: impl Fn(&str) -> bool,
) -> bool {
    let mut uses_only_known = true;
    expr.visit(&mut |e| {
        if let TypedExpr::Field { name, .. } = e {
            uses_only_known = uses_only_known && known(name);
        }
    });
    uses_only_known && evaluator.is_deterministic(expr)
}

/// Returns the columns of an expression with the types that it declares for them.
pub(crate) fn fields_of(expr: &TypedExpr) -> RowType {
    let mut fields: Vec<(&str, Type)> = Vec::new();
    expr.visit(&mut |e| {
        if let TypedExpr::Field { name, ty } = e
            && !fields.iter().any(|(n, _)| *n == &**name)
        {
            fields.push((name, ty.clone()));
        }
    });
    RowType::new(fields)
}
