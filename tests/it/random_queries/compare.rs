//! Whether the rows of the engine are those of the evaluator.

use super::ast::Query;
use super::rows::{Row, ordered};
use super::values::Kind;

/// Rows shown of each side.
const MAX_SHOWN: usize = 8;

/// What differs, if something does: the rows themselves, or their order.
pub(super) fn difference(query: &Query, got: &[Row], want: &[Row]) -> Option<String> {
    let kinds = query.kinds();
    let out_of_order = |pair: &[Row]| ordered(&pair[0], &pair[1], &query.order).is_gt();
    let (mut sorted, mut wanted) = (got.to_vec(), want.to_vec());
    sorted.sort();
    wanted.sort();
    if sorted == wanted {
        let pair = got.windows(2).find(|pair| out_of_order(pair))?;
        return Some(format!("out of order:\n{}", shown(pair, &kinds)));
    }
    let (missing, extra) = (without(&wanted, &sorted), without(&sorted, &wanted));
    Some(format!(
        "{} rows, {} expected\n  missing {}:\n{}\n  not expected {}:\n{}",
        got.len(),
        want.len(),
        missing.len(),
        shown(&missing, &kinds),
        extra.len(),
        shown(&extra, &kinds)
    ))
}

/// Returns the multiset difference `rows` minus `others`; both are sorted.
fn without(rows: &[Row], others: &[Row]) -> Vec<Row> {
    let mut others = others.iter().peekable();
    let mut left = Vec::new();
    for row in rows {
        while others.next_if(|other| *other < row).is_some() {}
        if others.next_if(|other| *other == row).is_none() {
            left.push(row.clone());
        }
    }
    left
}

/// Some rows, one a line.
pub(super) fn shown(rows: &[Row], kinds: &[Kind]) -> String {
    let line = |row: &Row| {
        let cells = row.iter().zip(kinds).map(|(cell, kind)| cell.text(kind));
        format!("    {}", cells.collect::<Vec<_>>().join(" | "))
    };
    rows.iter().take(MAX_SHOWN).map(line).collect::<Vec<_>>().join("\n")
}
