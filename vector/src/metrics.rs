//! Runtime metrics: named numbers with units that a run reports.
//!
//! A [`Metrics`] value belongs to one thread (a driver's operator, a reader or a data source). Its
//! owner adds to it without locks and merges it upwards when the work is done. Properties of the
//! data (minimum of a column, null counts) are statistics and are kept elsewhere.
//!
//! ```text
//! reader.add("numPages", 1, Count)   operator.merge(&reader)   task.merge(&operator)
//! ```
//!
//! Names are fixed strings without a unit. A metric has a sum, a count, a minimum, a maximum and a
//! unit, and merging two metrics combines all of them; the first use of a name determines its unit
//! (rule S15.1).

use std::collections::BTreeMap;
use std::fmt;

/// Unit of a metric's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MetricUnit {
    Count,
    Bytes,
    Nanos,
}

/// Sum, count, minimum and maximum of the numbers added to a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeMetric {
    /// Sum of all numbers, saturating at the bounds of its type.
    pub sum: i64,
    /// Number of numbers added.
    pub count: u64,
    /// Smallest number; `i64::MAX` if none was added.
    pub min: i64,
    /// Largest number; `i64::MIN` if none was added.
    pub max: i64,
    /// Unit of the numbers.
    pub unit: MetricUnit,
}

impl RuntimeMetric {
    /// Creates a metric without numbers.
    pub fn new(unit: MetricUnit) -> Self {
        RuntimeMetric { sum: 0, count: 0, min: i64::MAX, max: i64::MIN, unit }
    }

    /// Creates a metric of one number, which is its sum, minimum and maximum, with count 1 (rule
    /// S15.2).
    pub fn of(value: i64, unit: MetricUnit) -> Self {
        RuntimeMetric { sum: value, count: 1, min: value, max: value, unit }
    }

    /// Adds one number.
    pub fn add(&mut self, value: i64) {
        self.merge(&RuntimeMetric::of(value, self.unit));
    }

    /// Adds all numbers of another metric.
    ///
    /// # Panics
    /// If the units differ, because one name is then used for two different things.
    pub fn merge(&mut self, other: &RuntimeMetric) {
        assert_eq!(self.unit, other.unit, "one metric with two units");
        self.sum = self.sum.saturating_add(other.sum);
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl fmt::Display for RuntimeMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_amount(f, self.sum, self.unit)?;
        if self.count > 1 {
            write!(f, " ({} times, ", self.count)?;
            write_amount(f, self.min, self.unit)?;
            f.write_str(" to ")?;
            write_amount(f, self.max, self.unit)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// Writes a number with its unit in a readable size: `17`, `1.50 KiB`, `2.25 ms`.
pub fn write_amount(out: &mut impl fmt::Write, value: i64, unit: MetricUnit) -> fmt::Result {
    const BYTES: [(&str, u64); 5] =
        [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
    const NANOS: [(&str, u64); 4] =
        [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let steps: &[(&str, u64)] = match unit {
        MetricUnit::Count => return write!(out, "{value}"),
        MetricUnit::Bytes => &BYTES,
        MetricUnit::Nanos => &NANOS,
    };
    let size = value.unsigned_abs();
    let step = steps.iter().find(|(_, factor)| size >= *factor).or(steps.last());
    match step {
        Some((name, factor)) if *factor > 1 => {
            write!(out, "{:.2} {name}", value as f64 / *factor as f64)
        }
        Some((name, _)) => write!(out, "{value} {name}"),
        None => write!(out, "{value}"),
    }
}

/// Metrics by name, of one owner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics {
    by_name: BTreeMap<&'static str, RuntimeMetric>,
}

impl Metrics {
    /// Creates an empty set of metrics.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one number to the metric `name`.
    ///
    /// # Panics
    /// If the metric `name` already has another unit.
    pub fn add(&mut self, name: &'static str, value: i64, unit: MetricUnit) {
        self.add_metric(name, &RuntimeMetric::of(value, unit));
    }

    /// Adds a count to the metric `name`.
    pub fn add_count(&mut self, name: &'static str, value: usize) {
        self.add(name, saturated(value as u64), MetricUnit::Count);
    }

    /// Adds a number of bytes to the metric `name`.
    pub fn add_bytes(&mut self, name: &'static str, value: u64) {
        self.add(name, saturated(value), MetricUnit::Bytes);
    }

    /// Adds a duration to the metric `name`.
    pub fn add_time(&mut self, name: &'static str, value: std::time::Duration) {
        let nanos = i64::try_from(value.as_nanos()).unwrap_or(i64::MAX);
        self.add(name, nanos, MetricUnit::Nanos);
    }

    /// Adds all numbers of `metric` to the metric `name`.
    ///
    /// # Panics
    /// If the metric `name` already has another unit.
    pub fn add_metric(&mut self, name: &'static str, metric: &RuntimeMetric) {
        self.by_name.entry(name).or_insert_with(|| RuntimeMetric::new(metric.unit)).merge(metric);
    }

    /// Adds all metrics of another owner.
    ///
    /// # Panics
    /// If a name has different units in both.
    pub fn merge(&mut self, other: &Metrics) {
        for (name, metric) in &other.by_name {
            self.add_metric(name, metric);
        }
    }

    /// Replaces each metric that `other` contains with that of `other`. An owner that returns
    /// cumulative snapshots (a data source) is copied over the earlier snapshot instead of being
    /// added to it (rule S15.6).
    pub fn overwrite(&mut self, other: &Metrics) {
        self.by_name.extend(other.by_name.iter().map(|(name, metric)| (*name, *metric)));
    }

    /// Returns the metric `name`, or `None` if nothing was added to it.
    pub fn get(&self, name: &str) -> Option<&RuntimeMetric> {
        self.by_name.get(name)
    }

    /// Returns the sum of the metric `name`, or 0 if nothing was added to it.
    pub fn sum(&self, name: &str) -> i64 {
        self.get(name).map_or(0, |metric| metric.sum)
    }

    /// Iterates over all metrics in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &RuntimeMetric)> {
        self.by_name.iter().map(|(name, metric)| (*name, metric))
    }

    /// Returns a copy of the metrics without those whose sum is zero, because zero-valued counters
    /// are not reported (rule S15.3).
    pub fn snapshot(&self) -> Metrics {
        let counted = self.by_name.iter().filter(|(_, metric)| metric.sum != 0);
        Metrics { by_name: counted.map(|(name, metric)| (*name, *metric)).collect() }
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
}

fn saturated(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl fmt::Display for Metrics {
    /// Writes one line `name: metric` per metric.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, metric)) in self.iter().enumerate() {
            write!(f, "{}{name}: {metric}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_sums_and_counts_and_widens_the_bounds() {
        let (mut a, mut b) = (Metrics::new(), Metrics::new());
        a.add_count("pages", 3);
        a.add_count("pages", 5);
        b.add_count("pages", 1);
        b.add_bytes("read", 2048);
        a.merge(&b);
        let pages = a.get("pages").unwrap();
        assert_eq!((pages.sum, pages.count, pages.min, pages.max), (9, 3, 1, 5));
        assert_eq!(a.to_string(), "pages: 9 (3 times, 1 to 5)\nread: 2.00 KiB");
    }

    #[test]
    fn merging_nothing_changes_nothing() {
        let mut metric = RuntimeMetric::of(-4, MetricUnit::Count);
        metric.merge(&RuntimeMetric::new(MetricUnit::Count));
        assert_eq!(metric, RuntimeMetric::of(-4, MetricUnit::Count));
    }

    #[test]
    fn a_cumulative_snapshot_replaces_and_zeros_are_left_out() {
        let mut source = Metrics::new();
        source.add_count("splits", 2);
        source.add_count("skipped", 0);
        let mut operator = Metrics::new();
        operator.overwrite(&source.snapshot());
        source.add_count("splits", 2);
        operator.overwrite(&source.snapshot());
        assert_eq!(operator.sum("splits"), 4);
        assert_eq!(operator.get("skipped"), None);
    }

    #[test]
    #[should_panic(expected = "one metric with two units")]
    fn one_name_cannot_have_two_units() {
        let mut metrics = Metrics::new();
        metrics.add_count("x", 1);
        metrics.add_bytes("x", 1);
    }

    #[test]
    fn amounts_are_written_in_a_readable_size() {
        let text = |value, unit| {
            let mut out = String::new();
            write_amount(&mut out, value, unit).unwrap();
            out
        };
        assert_eq!(text(1023, MetricUnit::Bytes), "1023 B");
        assert_eq!(text(1536, MetricUnit::Bytes), "1.50 KiB");
        assert_eq!(text(2_250_000, MetricUnit::Nanos), "2.25 ms");
        assert_eq!(text(0, MetricUnit::Nanos), "0 ns");
        assert_eq!(text(-5, MetricUnit::Count), "-5");
    }
}
