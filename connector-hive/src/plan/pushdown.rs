//! Filter pushdown: splits the condition on rows into terms that can be tested early and a
//! remaining filter.
//!
//! ```text
//! ds = '2026-09-01' AND nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4
//! ----- term -----      -------- filter --------     -- remaining filter --
//! once per split         on encoded values and        on decoded batches
//!                        on statistics
//! ```
//!
//! Each term goes to the first of the three stages that supports it. A term that mixes constants of
//! the split with columns of the file stays in the remaining filter, as does a term that uses row
//! numbers, since no file can filter by them.

use dwio::connector::ExpressionEvaluator;
use dwio::expr::TypedExpr;
use dwio::expr::to_filter::extract_filters_into;
use dwio::filter::Filter;
use dwio::metadata_filter::MetadataFilter;
use dwio::subfield::Subfield;
use vector::sync::Arc;
use vector::{DecodedVector, Result, RowType, RowVector, SelectivityVector, Type, Value};

use crate::plan::columns::ScanColumns;
use crate::plan::prune::{fields_of, is_decided_by};
use crate::table::column_handle::ColumnKind;
use crate::table::table_handle::HiveTableHandle;

/// The parts into which the conditions of a scan are split.
#[derive(Debug, Clone)]
pub struct Pushdown {
    /// Filters on single columns: those of the table handle, intersected with those extracted from
    /// the condition.
    pub filters: Vec<(Subfield, Arc<Filter>)>,
    /// Filters on synthesized columns, which splits must satisfy (rule S7.82).
    pub synthesized_filters: Vec<(Subfield, Arc<Filter>)>,
    /// Terms that have the same result for all rows of a split.
    pub split_terms: Vec<TypedExpr>,
    /// Remaining filter, which is evaluated on decoded rows.
    pub remaining: Option<TypedExpr>,
    /// Tests the remaining filter against the statistics of row ranges (rule S4.32).
    pub metadata_filter: Option<Arc<MetadataFilter>>,
    /// Fraction of rows that the scan examines, from 0 to 1 (rules S4.9, S4.29).
    pub sample_rate: f64,
    /// Columns of the whole condition, with the types that the condition declares for them.
    pub condition_fields: RowType,
}

impl Pushdown {
    /// Splits the conditions of a table handle into the parts of a [`Pushdown`].
    ///
    /// # Errors
    /// None at present.
    pub fn new(
        table: &HiveTableHandle,
        columns: &ScanColumns,
        evaluator: &dyn ExpressionEvaluator,
    ) -> Result<Self> {
        let mut split_terms = Vec::new();
        let mut rest = Vec::new();
        let mut sample_rate = table.sample_rate();
        let is_synthesized = |name: &str| columns.kind(name) == ColumnKind::Synthesized;
        let of_handle = table.filters().iter().map(|(path, f)| (path.clone(), (**f).clone()));
        let (mut synthesized_filters, mut filters): (Vec<_>, Vec<_>) =
            of_handle.partition(|(path, _)| {
                table.splits_are_chosen() && path.is_column() && is_synthesized(path.column_name())
            });
        let fold = |expr: &TypedExpr| folded(evaluator, expr);
        let condition_fields =
            table.remaining_filter().map(fields_of).unwrap_or_else(RowType::empty);
        // A path of names is ambiguous if a struct has several fields of the same name.
        let is_special = |name: &str| {
            matches!(columns.kind(name), ColumnKind::RowIndex | ColumnKind::RowId)
                || condition_fields.type_of(name).is_some_and(has_repeated_fields)
        };
        let terms = table.remaining_filter().map(TypedExpr::conjuncts).unwrap_or_default();
        for term in terms {
            let is_constant = |name: &str| columns.kind(name).is_split_constant();
            if is_decided_by(evaluator, term, is_constant) {
                // If the splits are already chosen, the planner has applied the conditions on
                // synthesized columns.
                if table.splits_are_chosen() && term.field_names().into_iter().all(is_synthesized) {
                    let found =
                        extract_filters_into(term, synthesized_filters.clone(), &fold, &is_special);
                    // A pattern is not an assertion: Velox evaluates it on the synthesized columns
                    // of the split (rule S7.84).
                    if found.remaining.is_none() && !has_pattern(term) {
                        synthesized_filters = found.filters;
                        continue;
                    }
                }
                split_terms.push(term.clone());
                continue;
            }
            let found = extract_filters_into(term, filters, &fold, &is_special);
            filters = found.filters;
            sample_rate *= found.sample_rate;
            rest.extend(found.remaining);
        }
        let shared = |filters: Vec<(Subfield, Filter)>| {
            filters.into_iter().map(|(path, f)| (path, Arc::new(f))).collect()
        };
        let remaining = TypedExpr::and(rest);
        // Split constants and row numbers have no statistics.
        let has_none = |name: &str| is_special(name) || columns.kind(name).is_split_constant();
        let metadata_filter =
            remaining.as_ref().and_then(|rest| MetadataFilter::new(rest, &fold, &has_none));
        Ok(Pushdown {
            filters: shared(filters),
            synthesized_filters: shared(synthesized_filters),
            split_terms,
            remaining,
            metadata_filter: metadata_filter.map(Arc::new),
            sample_rate,
            condition_fields,
        })
    }
}

/// Returns the value of an expression without columns. Returns `None` if the expression is not
/// deterministic or fails; an error then surfaces when the expression is evaluated on rows (rule
/// S4.12).
fn folded(evaluator: &dyn ExpressionEvaluator, expr: &TypedExpr) -> Option<Value> {
    if let TypedExpr::Constant { value, .. } = expr {
        return Some(value.clone());
    }
    if !is_decided_by(evaluator, expr, |_| false) {
        return None;
    }
    let input = Arc::new(RowType::empty());
    let mut compiled = evaluator.compile(expr, &input).ok()?;
    let row = RowVector::batch(input, 1, Vec::new()).ok()?;
    let value = compiled.evaluate(&row, &SelectivityVector::all(1)).ok()?;
    DecodedVector::new(&value).ok()?.value(0).ok()
}

/// Returns true if the expression contains a LIKE.
fn has_pattern(expr: &TypedExpr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        found |= matches!(part, TypedExpr::Call { name, .. } if &**name == "like");
    });
    found
}

fn has_repeated_fields(ty: &Type) -> bool {
    let Type::Row(row) = ty else { return false };
    let mut fields = row.fields().enumerate();
    fields.any(|(i, (name, ty))| row.index_of(name) != Some(i) || has_repeated_fields(ty))
}
