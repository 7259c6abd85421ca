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
//! (deeper directories) says nothing. Terms are tested in the order of the condition and the test
//! ends with the first that drops, so a later term may rely on an earlier one.

use dwio::connector::{CompiledExpr, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{
    DecodedVector, Error, Result, RowType, RowVector, SelectivityVector, Type, Value, Vector,
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
        mut value: impl FnMut(&str, &Type) -> Result<Option<Value>>,
    ) -> Result<bool> {
        for term in &mut self.terms {
            let mut values = Vec::with_capacity(term.input.len());
            for (name, ty) in term.input.fields() {
                values.extend(value(name, ty)?);
            }
            if values.len() == term.input.len() && !term.holds(values)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Term {
    fn holds(&mut self, values: Vec<Value>) -> Result<bool> {
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
