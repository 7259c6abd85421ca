//! Dynamic filters of ORDER BY with LIMIT, by which scans skip rows that can no longer be among the
//! first rows.
//!
//! ```text
//! TopN            the Nth row so far has 7 in the first sort column, smallest first
//!   |  filter: at most 7, or null if nulls are first
//! TableScans      skip rows, pages and row groups whose values are larger (`scan_targets`)
//! ```
//!
//! Rows whose value equals the bound are retained, because the other sort columns decide about
//! them. Each operator of a plan node publishes its own bound, which is valid for all operators of
//! the node, because N rows up to it exist already. Scans test dictionaries and prune again when a
//! filter changes, so a tighter bound is published only after a number of further rows.
//!
//! Velox has no such filter; DuckDB and other engines have.

use vector::{SortOrder, Type, Value};

use dwio::expr::TypedExpr;
use dwio::expr::to_filter::extract_filters;
use dwio::filter::Filter;

use super::scan_targets::ScanTarget;
use crate::plan::PlanNodeId;

/// Minimum number of input rows between two published filters.
const ROWS_BETWEEN: usize = 1 << 15;

/// Publishes the bound of one operator to scans.
#[derive(Debug)]
pub struct OrderFilter {
    node: PlanNodeId,
    ty: Type,
    order: SortOrder,
    targets: Vec<ScanTarget>,
    /// Number of input rows since the last published filter; `None` before the first one.
    rows_since: Option<usize>,
}

impl OrderFilter {
    /// Creates a publisher for an operator of `node` whose first sort column has the given type and
    /// order; it publishes filters to `targets`.
    pub fn new(
        node: &PlanNodeId,
        (ty, order): (Type, SortOrder),
        targets: Vec<ScanTarget>,
    ) -> Self {
        OrderFilter { node: PlanNodeId::clone(node), ty, order, targets, rows_since: None }
    }

    /// Counts `num_rows` input rows.
    pub fn saw(&mut self, num_rows: usize) {
        if let Some(rows) = &mut self.rows_since {
            *rows = rows.saturating_add(num_rows);
        }
    }

    /// Publishes the bound `value`: rows whose first sort column orders after it are not needed.
    /// Does nothing when fewer than `ROWS_BETWEEN` rows have arrived since the last filter, or when
    /// no filter expresses the bound.
    pub fn bound_is(&mut self, value: Value) {
        if self.rows_since.is_some_and(|rows| rows < ROWS_BETWEEN) {
            return;
        }
        let Some(filter) = filter_up_to(value, &self.ty, self.order) else { return };
        for target in &self.targets {
            target.slot.bound(&self.node, target.channel, &filter);
        }
        self.rows_since = Some(0);
    }

    /// Removes the published filters, because the rows behind a barrier are ordered separately and
    /// all of them are needed again.
    pub fn withdraw(&mut self) {
        self.targets.iter().for_each(|target| target.slot.unbound(target.channel));
        self.rows_since = None;
    }
}

/// Returns the filter for the values that do not order after `value`, or `None` when no value
/// orders after it or no filter expresses the condition.
fn filter_up_to(value: Value, ty: &Type, order: SortOrder) -> Option<Filter> {
    if value.is_null() {
        return order.nulls_first.then_some(Filter::IsNull);
    }
    let column = TypedExpr::field("key", ty.clone());
    let compare = if order.descending { "gte" } else { "lte" };
    let bound = TypedExpr::constant(value, ty.clone());
    let wanted = TypedExpr::call(compare, vec![column, bound], Type::Boolean);
    let constant = |expr: &TypedExpr| match expr {
        TypedExpr::Constant { value, .. } => Some(value.clone()),
        _ => None,
    };
    let found = extract_filters(&wanted, &constant, &|_| false);
    match (<[_; 1]>::try_from(found.filters), found.remaining) {
        (Ok([(_, filter)]), None) => Some(filter.with_null_allowed(order.nulls_first)),
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::sync::Arc;

    fn up_to(value: Value, descending: bool, nulls_first: bool) -> Option<String> {
        let order = SortOrder { descending, nulls_first };
        filter_up_to(value, &Type::BigInt, order).map(|filter| filter.describe(&Type::BigInt))
    }

    #[test]
    fn a_bound_lets_its_own_value_pass_and_what_stands_before_it() {
        let seven = || Value::BigInt(7);
        assert_eq!(up_to(seven(), false, false).unwrap(), "<= 7");
        assert_eq!(up_to(seven(), true, false).unwrap(), ">= 7");
        assert_eq!(up_to(seven(), false, true).unwrap(), "<= 7 or null");
        assert_eq!(up_to(seven(), true, true).unwrap(), ">= 7 or null");
    }

    #[test]
    fn behind_a_null_stands_nothing_or_everything_else() {
        assert_eq!(up_to(Value::Null, false, false), None);
        assert_eq!(up_to(Value::Null, true, true).unwrap(), "is null");
    }

    #[test]
    fn nothing_is_told_of_a_bound_that_no_filter_expresses() {
        let order = SortOrder::default();
        assert_eq!(filter_up_to(Value::Double(f64::NAN), &Type::Double, order), None);
        let list = Type::array(Type::BigInt);
        assert_eq!(filter_up_to(Value::Array(Arc::from([])), &list, order), None);
    }
}
