//! The context of a query: settings, registries, memory and cancellation, shared by its tasks.

use dwio::config::Config;
use dwio::connector::{BatchListener, ConnectorRegistry, ExpressionEvaluator};
use vector::sync::Arc;
use vector::{MemoryPool, Result};

use crate::executor::Executor;
use crate::termination::QueryCancel;
use crate::trace::Tracer;

/// Settings of operators and drivers (rule S11.1); the name of a setting is the name of its field.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryConfig {
    /// Maximum number of rows of a batch.
    pub max_output_batch_rows: usize,
    /// Number of rows of a batch when the size of a row is not known.
    pub preferred_output_batch_rows: usize,
    /// Number of bytes of a batch when the size of a row is known.
    pub preferred_output_batch_bytes: u64,
    /// Time in milliseconds after which a scan without output yields to other drivers; 0 disables
    /// it.
    pub table_scan_getoutput_time_limit_ms: u64,
    /// Number of rows of every read of a scan, regardless of other settings; 0 lets the scan
    /// decide.
    pub table_scan_output_batch_rows_override: usize,
    /// Number of splits that are prepared ahead per driver of a scan; 0 disables preloading.
    pub max_split_preload_per_driver: usize,
    /// Time to open a split in microseconds below which no split is prepared ahead, because handing
    /// it to another thread would cost more than waiting. 0 always prepares.
    pub split_preload_min_open_micros: u64,
    /// Whether the drivers of a scan start one after the other, while memory suffices.
    pub table_scan_scaled_processing_enabled: bool,
    /// Ratio of memory usage to the memory limit up to which further drivers of a scan start.
    pub table_scan_scale_up_memory_usage_ratio: f64,
    /// Time in milliseconds after which a driver on a worker yields; 0 disables it.
    pub driver_cpu_time_slice_limit_ms: u64,
    /// Number of batches per producer that an exchange queues between its producers and a consumer.
    pub local_exchange_batches_per_driver: usize,
    /// Whether joins push filters of the keys of their build side into the scans of their probe
    /// side (rule S12.3).
    pub hash_probe_dynamic_filter_pushdown_enabled: bool,
    /// Whether joins push filters into scans for string keys as well (rule S12.4).
    pub hash_probe_string_dynamic_filter_pushdown_enabled: bool,
    /// Whether ORDER BY with LIMIT pushes a filter into the scans below it that excludes rows
    /// beyond the limit.
    pub topn_dynamic_filter_pushdown_enabled: bool,
    /// Maximum number of bytes that the query may hold; `u64::MAX` means no limit.
    pub query_memory_limit_bytes: u64,
    /// Maximum number of bytes that all operators of one plan node may hold; `u64::MAX` means no
    /// limit.
    pub node_memory_limit_bytes: u64,
    /// Maximum number of bytes that a single operator may hold; `u64::MAX` means no limit.
    pub operator_memory_limit_bytes: u64,
    /// Maximum time in milliseconds that an operator waits for memory that other queries hold; 0
    /// disables waiting. After that time, the operator fails if its own reservation fails.
    pub memory_wait_limit_ms: u64,
    /// Whether every batch of every operator is validated recursively (rule S11.40); slow, for
    /// tests.
    pub validate_output_from_operators: bool,
    /// Whether the CPU time of each operator is measured. This reads the CPU clock at each call of
    /// an operator, which costs some microseconds on many machines.
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
    /// Reads the settings that `config` contains; all others keep their defaults.
    ///
    /// # Errors
    /// `InvalidInput` for a value of another type, a batch size of 0 rows, or a ratio outside of 0
    /// to 1.
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

/// Callback for the batches of scans, called on the thread that reads them with the number of
/// scanned rows and the bytes read since the previous batch (rules S6.49, S6.50).
#[derive(Clone)]
pub struct ScanListener(pub BatchListener);

impl std::fmt::Debug for ScanListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScanListener")
    }
}

/// Context of one query, created by the embedder and shared by all tasks of the query.
#[derive(Debug, Clone)]
pub struct QueryCtx {
    /// Settings of operators and drivers.
    pub config: QueryConfig,
    /// Settings for connectors.
    pub session: Config,
    /// Connectors, which provide the tables.
    pub connectors: ConnectorRegistry,
    /// Compiles the expressions of plans, and the remaining filters of connectors.
    pub evaluator: Arc<dyn ExpressionEvaluator>,
    /// Root of the memory pools of the query.
    pub pool: MemoryPool,
    /// Runs drivers when a task has more than one.
    pub executor: Arc<Executor>,
    /// Executor that prepares splits ahead.
    pub io: Arc<Executor>,
    /// Receives the batches of scans.
    pub batch_listener: Option<ScanListener>,
    /// Cancels all tasks of the query.
    pub cancel: QueryCancel,
    /// Traces operators, if tracing is enabled.
    pub tracer: Option<Arc<dyn Tracer>>,
}

impl QueryCtx {
    /// Creates a context with default settings, no memory limit, and its own executors, which start
    /// threads on demand.
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
