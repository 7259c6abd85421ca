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

use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::subfield::Subfield;
use vector::Result;
use vector::sync::Arc;

use crate::columns::ScanColumns;
use crate::handles::HiveTableHandle;
use crate::prune::uses_only;

/// The parts of a scan's conditions.
#[derive(Debug, Clone, Default)]
pub struct Pushdown {
    /// Filters on single columns: those of the table handle, then those found in the condition.
    pub filters: Vec<(Subfield, Arc<Filter>)>,
    /// Terms that have one answer for all rows of a split.
    pub split_terms: Vec<TypedExpr>,
    /// What must be evaluated on rows.
    pub remaining: Option<TypedExpr>,
}

impl Pushdown {
    /// Cuts the conditions of a table handle.
    pub fn new(table: &HiveTableHandle, columns: &ScanColumns) -> Result<Self> {
        let mut pushdown = Pushdown { filters: table.filters().to_vec(), ..Self::default() };
        let Some(condition) = table.remaining_filter() else { return Ok(pushdown) };
        let mut rest = Vec::new();
        for term in condition.conjuncts() {
            if uses_only(term, |name| columns.kind(name).is_split_constant()) {
                pushdown.split_terms.push(term.clone());
            } else {
                rest.push(term.clone());
            }
        }
        pushdown.remaining = TypedExpr::and(rest);
        Ok(pushdown)
    }
}
