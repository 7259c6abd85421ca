//! Dynamic filters: filters that the keys of a join's table make for scans of the probe side.
//!
//! ```text
//! HashProbe    key "k"
//!    |         filter: the distinct values of the table's keys, or their range
//! TableScans   that produce "k", under any name (`scan_targets`)
//! ```
//!
//! The last builder publishes the filters before it publishes the table. Scans that expect a filter
//! wait for it, so no row of the probe side has been read when the filters arrive (rule S12.14).

use hashbrown::HashTable;
use vector::hash::{hash_bytes, mix};
use vector::stop::StopTick;
use vector::sync::Arc;
use vector::sync::atomic::Ordering;
use vector::{DecodedVector, FlatType, FlatValues, Result};

use dwio::filter::Filter;

use super::table::JoinTable;
use crate::operator::scan_targets::{ColumnSources, ScanTarget};
use crate::plan::{HashJoinNode, PlanNodeId};

/// Maximum number of values of an exact integer filter; more values become a range filter.
const MAX_VALUES: usize = 100_000;
/// Maximum number of values of a string filter; there is no filter for more values.
const MAX_STRINGS: usize = 1_000;

/// The scans that receive the filter of one key.
#[derive(Debug, Clone)]
pub struct KeyTargets {
    /// Index of the key among the join's keys.
    pub key: usize,
    /// The scans that produce the column, at least one.
    pub scans: Vec<ScanTarget>,
    /// True when every row of the probe side comes from one of the scans.
    pub covers_all: bool,
}

/// The filter of one key.
#[derive(Debug)]
struct KeyFilter {
    filter: Filter,
    /// True when exactly the values of the table's keys pass the filter.
    exact: bool,
}

/// Returns the keys of a join that can be filtered in scans of the probe side, with the scans that
/// produce them. Empty for joins that return probe rows without a partner, and for null-aware
/// joins.
pub fn filter_keys(node: &HashJoinNode) -> Vec<(usize, ColumnSources<'_>)> {
    let asks_for_partners = node.join_type.drops_unmatched_left()
        // The null-aware result for build rows depends on whether the probe side has any rows.
        && !node.null_aware;
    if !asks_for_partners {
        return Vec::new();
    }
    let keys = node.left_keys.iter().map(|name| ColumnSources::of(&node.left, name)).enumerate();
    keys.filter(|(_, sources)| !sources.scans.is_empty()).collect()
}

/// Publishes the filters of the table's keys to `targets`, and records in the table how many were
/// published and which keys have an exact filter.
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
        if let Some(made) = filter_of(&key, with_strings)? {
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

/// Returns the filter of a key column's values, or `None` for types without filters. Null keys
/// never pass (rule S12.16).
fn filter_of(key: &DecodedVector, with_strings: bool) -> Result<Option<KeyFilter>> {
    if key.is_empty() || key.all_null() {
        return Ok(Some(KeyFilter { filter: Filter::AlwaysFalse, exact: true }));
    }
    match key.flat_values() {
        Some(FlatValues::TinyInt(values)) => of_integers(key, values.as_slice()).map(Some),
        Some(FlatValues::SmallInt(values)) => of_integers(key, values.as_slice()).map(Some),
        Some(FlatValues::Integer(values)) => of_integers(key, values.as_slice()).map(Some),
        Some(FlatValues::BigInt(values)) => of_integers(key, values.as_slice()).map(Some),
        Some(FlatValues::String(_)) if with_strings => of_strings(key),
        _ => Ok(None),
    }
}

fn of_integers<T: FlatType + Into<i64>>(key: &DecodedVector, values: &[T]) -> Result<KeyFilter> {
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    let mut distinct: HashTable<i64> = HashTable::new();
    let hash = |value: &i64| mix(0, *value as u64);
    let mut tick = StopTick::every(8_192);
    for row in (0..key.len()).filter(|row| !key.is_null(*row)) {
        tick.row()?;
        let value: i64 = values[key.index(row)].into();
        (min, max) = (min.min(value), max.max(value));
        if distinct.len() <= MAX_VALUES {
            distinct.entry(hash(&value), |known| *known == value, hash).or_insert(value);
        }
    }
    if distinct.len() > MAX_VALUES {
        return Ok(KeyFilter { filter: Filter::bigint_range(min, max, false), exact: false });
    }
    let values = distinct.into_iter().collect();
    Ok(KeyFilter { filter: Filter::bigint_values(values, false), exact: true })
}

fn of_strings(key: &DecodedVector) -> Result<Option<KeyFilter>> {
    let mut distinct: HashTable<&[u8]> = HashTable::new();
    let hash = |value: &&[u8]| hash_bytes(value);
    let mut tick = StopTick::every(8_192);
    for row in (0..key.len()).filter(|row| !key.is_null(*row)) {
        tick.row()?;
        let value = key.string(row);
        distinct.entry(hash(&value), |known| *known == value, hash).or_insert(value);
        if distinct.len() > MAX_STRINGS {
            return Ok(None);
        }
    }
    let values = distinct.into_iter().map(Arc::from).collect();
    Ok(Some(KeyFilter { filter: Filter::bytes_values(values, false), exact: true }))
}
