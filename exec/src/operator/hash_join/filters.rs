//! Dynamic filters: what a join's table says about the rows of the probe side's scan.
//!
//! ```text
//! HashProbe   key "k"
//!    |  Project: k := a            the key's column is followed down while it is passed on
//!    |  Filter, groups by "a", ..  unchanged (rule S12.6)
//!  UNION ALL                       to every source of an exchange
//!    |    \
//! TableScan  TableScan    output column "a" <-- filter: the values of the table's keys, or their range
//! ```
//!
//! The last builder publishes the filters before it publishes the table, and scans that will be
//! told of some wait for them: no row of the probe side was read yet (rule S12.14).

use hashbrown::HashTable;
use vector::hash::{hash_bytes, mix};
use vector::sync::Arc;
use vector::sync::atomic::Ordering;
use vector::{DecodedVector, FlatType, FlatValues, Result};

use dwio::expr::TypedExpr;
use dwio::filter::Filter;

use super::table::JoinTable;
use crate::operator::scan_filters::ScanFilters;
use crate::plan::{HashJoinNode, PlanNode, PlanNodeId};

/// Values of a filter at most; more become a range.
const MAX_VALUES: usize = 100_000;
/// Strings of a filter at most; more give none.
const MAX_STRINGS: usize = 1_000;

/// Where the filter of one key goes.
#[derive(Debug, Clone)]
pub struct KeyTargets {
    /// The key's number.
    pub key: usize,
    /// The scans that give the column, at least one.
    pub scans: Vec<ScanTarget>,
    /// True when every row of the probe side comes from one of them.
    pub covers_all: bool,
}

/// A scan that takes the filter of a key.
#[derive(Debug, Clone)]
pub struct ScanTarget {
    /// The scan's slot.
    pub slot: Arc<ScanFilters>,
    /// The scan's output column.
    pub channel: usize,
}

/// The scans that give the column of one key unchanged.
#[derive(Debug)]
pub struct KeyColumns<'a> {
    /// The key's number.
    pub key: usize,
    /// Each with its output column.
    pub scans: Vec<(&'a PlanNodeId, usize)>,
    /// True when every row of the probe side comes from one of them.
    pub covers_all: bool,
}

/// What was made of one key.
#[derive(Debug)]
struct KeyFilter {
    filter: Filter,
    /// True when exactly the keys pass.
    exact: bool,
}

/// Finds the scans, and their output columns, that give column `name` of a node unchanged; true when
/// every row of the node comes from one of them.
///
/// A row that no partner is for may be left out anywhere below, as long as that changes no other
/// row: groups go as a whole when the column is one of their keys, but a row that does not count for
/// a limit lets another one in.
fn scan_columns<'a>(
    node: &'a PlanNode,
    name: &'a str,
    found: &mut Vec<(&'a PlanNodeId, usize)>,
) -> bool {
    let (mut node, mut name) = (node, name);
    loop {
        let channel = node.output_type().index_of(name);
        let Some(channel) = channel else { return false };
        match node {
            PlanNode::TableScan(scan) => {
                found.push((&scan.id, channel));
                return true;
            }
            PlanNode::Filter(filter) => node = &filter.source,
            PlanNode::OrderBy(order_by) => node = &order_by.source,
            PlanNode::Project(project) => {
                match project.expressions.get(channel) {
                    Some(TypedExpr::Field { name: inner, .. }) => name = inner,
                    _ => return false,
                }
                node = &project.source;
            }
            PlanNode::Aggregation(aggregation) => {
                let Some(key) = aggregation.keys.get(channel) else { return false };
                (node, name) = (&aggregation.source, key);
            }
            PlanNode::Unnest(unnest) => {
                let Some(replicated) = unnest.replicated.get(channel) else { return false };
                (node, name) = (&unnest.source, replicated);
            }
            // Not through joins that add rows whose key is null: those pass no scan.
            PlanNode::HashJoin(join)
                if join.join_type.gives_left() && !join.join_type.gives_right_at_end() =>
            {
                node = &join.left;
            }
            PlanNode::LocalPartition(_) | PlanNode::LocalMerge(_) => {
                let mut covers_all = true;
                for source in node.sources() {
                    covers_all &= scan_columns(source, name, found);
                }
                return covers_all;
            }
            PlanNode::Values(_)
            | PlanNode::TopN(_)
            | PlanNode::Limit(_)
            | PlanNode::EnforceSingleRow(_)
            | PlanNode::TableWrite(_)
            | PlanNode::HashJoin(_) => return false,
        }
    }
}

/// The keys of a join whose values can be asked of scans; none when rows without partner count.
pub fn filter_keys(node: &HashJoinNode) -> Vec<KeyColumns<'_>> {
    let asks_for_partners = node.join_type.drops_unmatched_left()
        // Null aware answers about build rows depend on whether there were other rows at all.
        && !node.null_aware;
    if !asks_for_partners {
        return Vec::new();
    }
    let keys = node.left_keys.iter().enumerate().map(|(key, name)| {
        let mut scans = Vec::new();
        let covers_all = scan_columns(&node.left, name, &mut scans);
        KeyColumns { key, scans, covers_all }
    });
    keys.filter(|key| !key.scans.is_empty()).collect()
}

/// Publishes a filter for each target, and notes in the table how many and which are exact.
pub(super) fn publish(
    node: &PlanNodeId,
    table: &mut JoinTable,
    right_keys: &[usize],
    targets: &[KeyTargets],
    with_strings: bool,
) -> Result<()> {
    let mut published = 0;
    for target in targets {
        let Some(position) = right_keys.get(target.key) else { continue };
        let key = DecodedVector::new(table.rows.child(*position)?)?;
        if let Some(made) = filter_of(&key, with_strings) {
            let publish =
                |scan: &&ScanTarget| scan.slot.publish(node, scan.channel, made.filter.clone());
            let taken = target.scans.iter().filter(publish).count();
            published += taken;
            if made.exact && taken == target.scans.len() {
                table.exact_keys.push(target.key);
            }
        }
    }
    targets.iter().flat_map(|target| &target.scans).for_each(|scan| scan.slot.settle());
    table.num_filters.store(published, Ordering::Relaxed);
    Ok(())
}

/// The filter that a key column's values make; nulls never pass (rule S12.16).
fn filter_of(key: &DecodedVector, with_strings: bool) -> Option<KeyFilter> {
    if key.is_empty() || key.all_null() {
        return Some(KeyFilter { filter: Filter::AlwaysFalse, exact: true });
    }
    match key.flat_values()? {
        FlatValues::TinyInt(values) => Some(of_integers(key, values.as_slice())),
        FlatValues::SmallInt(values) => Some(of_integers(key, values.as_slice())),
        FlatValues::Integer(values) => Some(of_integers(key, values.as_slice())),
        FlatValues::BigInt(values) => Some(of_integers(key, values.as_slice())),
        FlatValues::String(_) if with_strings => of_strings(key),
        _ => None,
    }
}

fn of_integers<T: FlatType + Into<i64>>(key: &DecodedVector, values: &[T]) -> KeyFilter {
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    let mut distinct: HashTable<i64> = HashTable::new();
    let hash = |value: &i64| mix(0, *value as u64);
    for row in (0..key.len()).filter(|row| !key.is_null(*row)) {
        let value: i64 = values[key.index(row)].into();
        (min, max) = (min.min(value), max.max(value));
        if distinct.len() <= MAX_VALUES {
            distinct.entry(hash(&value), |known| *known == value, hash).or_insert(value);
        }
    }
    if distinct.len() > MAX_VALUES {
        return KeyFilter { filter: Filter::bigint_range(min, max, false), exact: false };
    }
    let values = distinct.into_iter().collect();
    KeyFilter { filter: Filter::bigint_values(values, false), exact: true }
}

fn of_strings(key: &DecodedVector) -> Option<KeyFilter> {
    let mut distinct: HashTable<&[u8]> = HashTable::new();
    let hash = |value: &&[u8]| hash_bytes(value);
    for row in (0..key.len()).filter(|row| !key.is_null(*row)) {
        let value = key.string(row);
        distinct.entry(hash(&value), |known| *known == value, hash).or_insert(value);
        if distinct.len() > MAX_STRINGS {
            return None;
        }
    }
    let values = distinct.into_iter().map(Arc::from).collect();
    Some(KeyFilter { filter: Filter::bytes_values(values, false), exact: true })
}
