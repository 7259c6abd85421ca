//! Text form of the tree of pools, for error messages.

use std::fmt::Write;

use super::pool::Counters;
use crate::metrics::{MetricUnit, write_amount};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// Maximum number of lines, so that an error stays readable.
const MAX_LINES: usize = 40;

impl Counters {
    /// Returns one line per pool that holds memory; the children of a pool follow it, indented and
    /// in descending order of their size.
    pub(super) fn tree(&self) -> String {
        let mut text = String::new();
        let mut left = MAX_LINES;
        self.write(&mut text, 1, &mut left);
        if left == 0 {
            text.push_str("\n  ...");
        }
        text
    }

    fn write(&self, text: &mut String, depth: usize, left: &mut usize) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // Writing to a string cannot fail.
        let _ = self.write_line(text, depth);
        let mut below: Vec<Arc<Counters>> =
            self.below.lock().iter().filter_map(|pool| pool.upgrade()).collect();
        below.retain(|pool| pool.used() > 0);
        below.sort_by_key(|pool| std::cmp::Reverse(pool.used()));
        for pool in below {
            pool.write(text, depth + 1, left);
        }
    }

    fn write_line(&self, text: &mut String, depth: usize) -> std::fmt::Result {
        if !text.is_empty() {
            write!(text, "\n{:1$}", "", depth * 2)?;
        }
        let bytes = |text: &mut String, bytes: u64| {
            write_amount(text, i64::try_from(bytes).unwrap_or(i64::MAX), MetricUnit::Bytes)
        };
        write!(text, "{}: ", self.name)?;
        bytes(text, self.used())?;
        if self.limit != u64::MAX {
            text.push_str(" of ");
            bytes(text, self.limit)?;
        }
        text.push_str(", at most ");
        bytes(text, self.peak.load(Ordering::Relaxed))
    }
}
