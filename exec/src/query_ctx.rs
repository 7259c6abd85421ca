//! What every part of one query shares: settings, registries, memory, the flag to stop.

use dwio::config::Config;
use dwio::connector::{BatchListener, ConnectorRegistry, ExpressionEvaluator};
use vector::sync::Arc;
use vector::{MemoryPool, Result};

use crate::executor::Executor;
use crate::termination::QueryCancel;
use crate::trace::Tracer;

/// Settings of operators and drivers (rule S11.1), each named as its field.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryConfig {
    /// The most rows of any batch.
    pub max_output_batch_rows: usize,
    /// Rows of a batch when nothing is known about the size of a row.
    pub preferred_output_batch_rows: usize,
    /// Bytes of a batch when the size of a row is known.
    pub preferred_output_batch_bytes: u64,
    /// A scan that gives no rows for this long lets other drivers run; 0 is never.
    pub table_scan_getoutput_time_limit_ms: u64,
    /// Rows of every read of a scan, whatever else is known; 0 leaves it to the scan.
    pub table_scan_output_batch_rows_override: usize,
    /// Splits that are prepared ahead for each driver of a scan; 0 prepares none.
    pub max_split_preload_per_driver: usize,
    /// None are while opening one takes less than this: handing it to another thread costs more than
    /// waiting for it. 0 always prepares.
    pub split_preload_min_open_micros: u64,
    /// Drivers of a scan begin one by one, while memory has room.
    pub table_scan_scaled_processing_enabled: bool,
    /// The share of the memory limit up to which they do.
    pub table_scan_scale_up_memory_usage_ratio: f64,
    /// A driver on a worker lets others run after this long; 0 is never.
    pub driver_cpu_time_slice_limit_ms: u64,
    /// Batches that wait between producing drivers and their consumer, for each producer.
    pub local_exchange_batches_per_driver: usize,
    /// Joins tell the scan of their probe side which keys have partners (rule S12.3).
    pub hash_probe_dynamic_filter_pushdown_enabled: bool,
    /// They do so for keys that are strings too (rule S12.4).
    pub hash_probe_string_dynamic_filter_pushdown_enabled: bool,
    /// ORDER BY with LIMIT tells the scans below which rows can no longer be among the first.
    pub topn_dynamic_filter_pushdown_enabled: bool,
    /// Bytes that the query, that all operators of one of its nodes, and that a single operator may
    /// hold; `u64::MAX` is as many as there are.
    pub query_memory_limit_bytes: u64,
    /// See `query_memory_limit_bytes`.
    pub node_memory_limit_bytes: u64,
    /// See `query_memory_limit_bytes`.
    pub operator_memory_limit_bytes: u64,
    /// An operator that keeps its input waits for memory that other queries hold, but no longer than
    /// this; 0 is not at all. Then there is an error.
    pub memory_wait_limit_ms: u64,
    /// Check every batch of every operator, down to the last value (rule S11.40): slow, for tests.
    pub validate_output_from_operators: bool,
    /// Measure the time of the CPU in each operator, beside that of the clock: the kernel is asked
    /// twice for each call of an operator, which costs some microseconds on many machines.
    pub track_operator_cpu_usage: bool,
}

impl Default for QueryConfig {
    fn default() -> Self {
        QueryConfig {
            max_output_batch_rows: 10_000,
            preferred_output_batch_rows: 1_024,
            preferred_output_batch_bytes: 10 << 20,
            table_scan_getoutput_time_limit_ms: 5_000,
            table_scan_output_batch_rows_override: 0,
            max_split_preload_per_driver: 2,
            split_preload_min_open_micros: 100,
            table_scan_scaled_processing_enabled: false,
            table_scan_scale_up_memory_usage_ratio: 0.7,
            driver_cpu_time_slice_limit_ms: 100,
            local_exchange_batches_per_driver: 4,
            hash_probe_dynamic_filter_pushdown_enabled: true,
            hash_probe_string_dynamic_filter_pushdown_enabled: true,
            topn_dynamic_filter_pushdown_enabled: true,
            query_memory_limit_bytes: u64::MAX,
            node_memory_limit_bytes: u64::MAX,
            operator_memory_limit_bytes: u64::MAX,
            memory_wait_limit_ms: 10_000,
            validate_output_from_operators: false,
            track_operator_cpu_usage: false,
        }
    }
}

macro_rules! settings {
    ($($field:ident),* $(,)?) => {
        impl QueryConfig {
            /// The names of all settings.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field)),*];

            fn read_settings(&mut self, config: &Config) -> Result<()> {
                $(self.$field = config.get(stringify!($field), self.$field)?;)*
                Ok(())
            }
        }
    };
}
settings!(
    max_output_batch_rows,
    preferred_output_batch_rows,
    preferred_output_batch_bytes,
    table_scan_getoutput_time_limit_ms,
    table_scan_output_batch_rows_override,
    max_split_preload_per_driver,
    split_preload_min_open_micros,
    table_scan_scaled_processing_enabled,
    table_scan_scale_up_memory_usage_ratio,
    driver_cpu_time_slice_limit_ms,
    local_exchange_batches_per_driver,
    hash_probe_dynamic_filter_pushdown_enabled,
    hash_probe_string_dynamic_filter_pushdown_enabled,
    topn_dynamic_filter_pushdown_enabled,
    query_memory_limit_bytes,
    node_memory_limit_bytes,
    operator_memory_limit_bytes,
    memory_wait_limit_ms,
    validate_output_from_operators,
    track_operator_cpu_usage,
);

impl QueryConfig {
    /// Reads the settings that `config` has; the others keep their defaults. `InvalidInput` when
    /// a value has another type, a batch could have no rows, or a share is none.
    pub fn from_config(config: &Config) -> Result<Self> {
        let mut read = QueryConfig::default();
        read.read_settings(config)?;
        if read.max_output_batch_rows == 0 || read.preferred_output_batch_rows == 0 {
            return Err(vector::Error::invalid_input("batches need at least one row")
                .with("max_output_batch_rows", read.max_output_batch_rows)
                .with("preferred_output_batch_rows", read.preferred_output_batch_rows));
        }
        if !(0.0..=1.0).contains(&read.table_scan_scale_up_memory_usage_ratio) {
            return Err(vector::Error::invalid_input("a share is between 0 and 1").with(
                "table_scan_scale_up_memory_usage_ratio",
                read.table_scan_scale_up_memory_usage_ratio,
            ));
        }
        Ok(read)
    }
}

/// Somebody who is told of the batches of scans (rules S6.49, S6.50), on the thread that read them.
#[derive(Clone)]
pub struct ScanListener(pub BatchListener);

impl std::fmt::Debug for ScanListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScanListener")
    }
}

/// One query's surroundings; made by whoever runs queries, shared by all of a query's tasks.
#[derive(Debug, Clone)]
pub struct QueryCtx {
    /// Settings of operators and drivers.
    pub config: QueryConfig,
    /// Settings that connectors see.
    pub session: Config,
    /// Where tables come from.
    pub connectors: ConnectorRegistry,
    /// Compiles the plan's expressions, and remaining filters for connectors.
    pub evaluator: Arc<dyn ExpressionEvaluator>,
    /// The aggregate pool above everything that the query allocates.
    pub pool: MemoryPool,
    /// Runs drivers when a task has more than one.
    pub executor: Arc<Executor>,
    /// Prepares splits ahead.
    pub io: Arc<Executor>,
    /// Is told of the batches of scans.
    pub batch_listener: Option<ScanListener>,
    /// Stops all tasks of the query.
    pub cancel: QueryCancel,
    /// Is told what operators are given, if somebody wants to know.
    pub tracer: Option<Arc<dyn Tracer>>,
}

impl QueryCtx {
    /// Default settings, no memory limit and workers of its own (started when first needed).
    pub fn new(evaluator: Arc<dyn ExpressionEvaluator>, connectors: ConnectorRegistry) -> Self {
        QueryCtx {
            config: QueryConfig::default(),
            session: Config::new(),
            connectors,
            evaluator,
            pool: MemoryPool::root("query", u64::MAX),
            executor: Arc::new(Executor::for_this_machine()),
            io: Arc::new(Executor::for_io()),
            batch_listener: None,
            cancel: QueryCancel::default(),
            tracer: None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_by_their_names_and_checked() {
        let config: Config =
            [("max_output_batch_rows", "77"), ("unknown", "x")].into_iter().collect();
        let read = QueryConfig::from_config(&config).unwrap();
        assert_eq!(read.max_output_batch_rows, 77);
        assert_eq!(read.preferred_output_batch_rows, 1_024);
        let config: Config = [("preferred_output_batch_rows", "0")].into_iter().collect();
        assert!(QueryConfig::from_config(&config).unwrap_err().is_user());
        let name = "table_scan_scale_up_memory_usage_ratio";
        for (value, is_share) in [("0.5", true), ("1.5", false), ("nan", false)] {
            let config: Config = [(name, value)].into_iter().collect();
            assert_eq!(QueryConfig::from_config(&config).is_ok(), is_share, "{value}");
        }
    }
}
