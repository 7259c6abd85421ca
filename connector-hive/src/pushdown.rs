//! Push-down: a condition on rows, cut into what can be tested earlier and the rest.
//!
//! ```text
//! ds = '2026-09-01' AND nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4
//! ----- term -----      -------- filter --------     --------- remaining -----
//! once for a split      on encoded values, by        on finished batches
//!                       statistics too
//! ```
//!
//! A term goes to the first of the three that can take it. A term that mixes constants of the
//! split with columns of the file stays in the rest, as does one that uses row numbers: no file
//! can filter by them.

use dwio::connector::ExpressionEvaluator;
use dwio::expr::TypedExpr;
use dwio::expr::to_filter::extract_filters_into;
use dwio::filter::Filter;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{DecodedVector, Result, RowType, RowVector, SelectivityVector, Type, Value};

use crate::columns::ScanColumns;
use crate::handles::{ColumnKind, HiveTableHandle};
use crate::prune::{fields_of, is_decided_by};

/// The parts of a scan's conditions.
#[derive(Debug, Clone)]
pub struct Pushdown {
    /// Filters on single columns: those of the table handle, with those found in the condition
    /// merged into them.
    pub filters: Vec<(Subfield, Arc<Filter>)>,
    /// Terms that have one answer for all rows of a split.
    pub split_terms: Vec<TypedExpr>,
    /// What must be evaluated on rows.
    pub remaining: Option<TypedExpr>,
    /// The columns of the whole condition with the types that it gives them.
    pub condition_fields: RowType,
}

impl Pushdown {
    /// Cuts the conditions of a table handle.
    pub fn new(
        table: &HiveTableHandle,
        columns: &ScanColumns,
        evaluator: &dyn ExpressionEvaluator,
    ) -> Result<Self> {
        let mut split_terms = Vec::new();
        let mut rest = Vec::new();
        let mut filters: Vec<(Subfield, Filter)> =
            table.filters().iter().map(|(path, f)| (path.clone(), (**f).clone())).collect();
        let fold = |expr: &TypedExpr| folded(evaluator, expr);
        let condition_fields =
            table.remaining_filter().map(fields_of).unwrap_or_else(RowType::empty);
        // A path of names is not clear where fields of a struct share theirs.
        let is_special = |name: &str| {
            columns.kind(name) == ColumnKind::RowIndex
                || condition_fields.type_of(name).is_some_and(has_repeated_fields)
        };
        let terms = table.remaining_filter().map(TypedExpr::conjuncts).unwrap_or_default();
        for term in terms {
            if is_decided_by(term, |name| columns.kind(name).is_split_constant()) {
                split_terms.push(term.clone());
                continue;
            }
            let found = extract_filters_into(term, filters.clone(), &fold, &is_special);
            // Sampling is not built yet: a term that asks for it is evaluated on rows.
            if found.sample_rate < 1.0 {
                rest.push(term.clone());
                continue;
            }
            filters = found.filters;
            rest.extend(found.remaining);
        }
        let filters = filters.into_iter().map(|(path, f)| (path, Arc::new(f))).collect();
        let remaining = TypedExpr::and(rest);
        Ok(Pushdown { filters, split_terms, remaining, condition_fields })
    }
}

/// The value of an expression without columns; `None` when it may have another value the next time
/// or cannot be had, which then shows where it is evaluated on rows (rule S4.12).
fn folded(evaluator: &dyn ExpressionEvaluator, expr: &TypedExpr) -> Option<Value> {
    if let TypedExpr::Constant { value, .. } = expr {
        return Some(value.clone());
    }
    if !is_decided_by(expr, |_| false) {
        return None;
    }
    let input = Arc::new(RowType::empty());
    let mut compiled = evaluator.compile(expr, &input).ok()?;
    let row = RowVector::batch(input, 1, Vec::new()).ok()?;
    let value = compiled.evaluate(&row, &SelectivityVector::all(1)).ok()?;
    DecodedVector::new(&value).ok()?.value(0).ok()
}

fn has_repeated_fields(ty: &Type) -> bool {
    let Type::Row(row) = ty else { return false };
    let mut fields = row.fields().enumerate();
    fields.any(|(i, (name, ty))| row.index_of(name) != Some(i) || has_repeated_fields(ty))
}
