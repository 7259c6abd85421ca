//! What a caller may ask of one query.

use dwio::config::Config;
use vector::sync::thread;

/// How a query is run.
#[derive(Debug, Clone)]
pub struct QueryOptions {
    /// Drivers that scan in parallel; at least one. With one driver rows come in the order of
    /// paths and of rows within a file.
    pub drivers: usize,
    /// Settings by name, as `--set key=value` gives them.
    pub settings: Config,
}

impl Default for QueryOptions {
    /// One driver for each processor.
    fn default() -> Self {
        let drivers = thread::available_parallelism().map_or(1, usize::from);
        QueryOptions { drivers, settings: Config::new() }
    }
}

/// A scan that needs no SQL: which files, which columns, which rows.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// Files, directories or glob patterns; at least one.
    pub paths: Vec<String>,
    /// The columns wanted, each a name or a path into a struct (`a.b`); all when `None`.
    pub columns: Option<Vec<String>>,
    /// A condition in SQL that the rows must meet.
    pub filter: Option<String>,
    /// Rows given at most.
    pub limit: Option<u64>,
}
