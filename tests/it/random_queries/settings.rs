//! How a query is run: drivers, sizes of batches, what is prepared ahead, splits, memory.

use ocior::QueryOptions;

use crate::random_files::one_of;
use crate::support::files::with_drivers;
use crate::support::random::Random;

/// One way to run a query.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) options: QueryOptions,
    /// Files are cut into ranges at random, by this seed; `None` leaves it to the engine.
    pub(super) cuts: Option<u64>,
    /// True when the query may fail for lack of memory.
    pub(super) has_limit: bool,
}

impl Settings {
    /// A random way to run a query with this many drivers.
    pub(super) fn random(drivers: usize, random: &mut Random) -> Settings {
        let mut options = with_drivers(drivers);
        let mut one = |name: &str, values: &[u64]| {
            let value = one_of(random, values);
            options.settings.set(name, value.to_string());
        };
        one("preferred_output_batch_rows", &[1, 2, 7, 100, 1_024, 10_000]);
        one("max_output_batch_rows", &[1, 3, 64, 10_000, 10_000, 10_000]);
        one("preferred_output_batch_bytes", &[1, 200, 10 << 20, 10 << 20]);
        one("table_scan_output_batch_rows_override", &[0, 0, 0, 1, 3, 50, 5_000]);
        one("max_split_preload_per_driver", &[0, 1, 2]);
        one("split_preload_min_open_micros", &[0, 0, 100]);
        one("local_exchange_batches_per_driver", &[1, 4]);
        one("driver_cpu_time_slice_limit_ms", &[0, 1, 100]);
        one("load-quantum", &[64, 1_000, 8 << 20]);
        one("max-coalesced-bytes", &[0, 500, 128 << 20]);
        let mut switch = |name: &str| {
            options.settings.set(name, random.once_in(2).to_string());
        };
        switch("table_scan_scaled_processing_enabled");
        switch("hash_probe_dynamic_filter_pushdown_enabled");
        switch("hash_probe_string_dynamic_filter_pushdown_enabled");
        switch("topn_dynamic_filter_pushdown_enabled");
        switch("stats-based-filter-reorder-disabled");
        // Reads every value of every batch, and so leaves no column lazy.
        switch("validate_output_from_operators");
        let cuts = random.once_in(2).then(|| random.next());
        Settings { options, cuts, has_limit: false }
    }

    /// The same with little memory.
    pub(super) fn with_little_memory(mut self, random: &mut Random) -> Settings {
        let bytes = one_of(random, &[10_000, 100_000, 500_000, 2_000_000, 10_000_000]);
        let names =
            ["query_memory_limit_bytes", "node_memory_limit_bytes", "operator_memory_limit_bytes"];
        self.options.settings.set(one_of(random, &names), bytes.to_string());
        self.has_limit = true;
        self
    }

    /// The settings as options of the command line.
    pub(super) fn describe(&self) -> String {
        let settings =
            self.options.settings.iter().map(|(key, value)| format!("--set {key}={value}"));
        let settings: Vec<String> = settings.collect();
        let cuts = self.cuts.map_or(String::new(), |seed| format!(", splits cut by seed {seed}"));
        format!("--drivers {} {}{cuts}", self.options.drivers, settings.join(" "))
    }
}
