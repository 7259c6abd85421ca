//! Pruning: conditions on columns that have one value for a whole file.
//!
//! The terms of a condition that touch nothing but such columns (partition keys, `$path` and kin)
//! are evaluated once for a partition, on a batch of one row, instead of once for a row:
//!
//! ```text
//! ds = '2026-09-01' AND nationkey < 4 AND hour + 1 > 12      values ds=2026-09-01 hour=7
//! ------- kept -----    (needs the file)   --- false ----    -> no row of the file can pass
//! ```
//!
//! A term that is false or null drops the partition. A term whose columns are not all known yet
//! (deeper directories) says nothing. A term that fails says nothing either as long as another one
//! may be false, in whatever order they stand: it is the condition's error only for a row that all
//! other terms let through, those on columns of the file included (Velox's AND). So the reader of
//! the file keeps the error for the first such row ([`PartitionPredicate::test`]).

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, ErrorKind, Result, RowType, RowVector, SelectivityVector, Type, Value,
    Vector,
};

/// The terms of a condition that can be decided from columns with one value for a file.
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
    /// The terms of `condition` that use only `columns`, compiled; `None` when there are none.
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

    /// The given terms, compiled; `None` without terms.
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

    /// False when a term says that no row with these values can pass. `value` gives the value of a
    /// column as the wanted type, or `None` when it is not known yet.
    pub fn may_pass(
        &mut self,
        value: impl FnMut(&str, &Type) -> Result<Option<Value>>,
    ) -> Result<bool> {
        Ok(!matches!(self.test(value)?, Verdict::Drops))
    }

    /// What the terms say of rows with these values.
    ///
    /// # Errors
    /// Those that are not about a value; the first of the others is part of the verdict.
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

/// What conditions on partitions say of the rows of a file.
#[derive(Debug)]
pub enum Verdict {
    /// No row passes.
    Drops,
    /// Each row passes that the rest of the condition lets through.
    Passes,
    /// A term fails, and so does each row that the rest of the condition lets through.
    Fails(Error),
}

impl Term {
    /// False when the term is false or null; true also when the value of a column is not known.
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
            return Err(Error::internal("a condition gave no truth value")
                .with("condition", &self.text)
                .with("type", outcome.ty()));
        }
        Ok(!outcome.is_null(0) && outcome.boolean(0))
    }
}

/// True when the expression has one value wherever the columns that `known` accepts have one: it
/// uses no other columns, and the evaluator knows all of its functions as deterministic.
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

/// The columns of an expression with the types that it gives them.
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
