//! The engine: file systems, formats and connectors put together, and queries run on them.
//!
//! ```text
//! SQL text or ScanRequest --plan--> Plan (plan nodes, table, filter)
//!                                     |  splits of the files that the filter leaves
//!                                     v
//!                                   Task --batches--> QueryResult
//! ```
//!
//! An [`Engine`] owns its registries; nothing is registered in a static. It is the only place that
//! names a concrete format or connector.

mod glob;
mod options;
mod pushed;
mod result;
mod run;
mod tables;
#[cfg(test)]
mod tests;
mod why;

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use connector_hive::handles::ROW_INDEX;
use connector_hive::{HiveConnector, TextReaderFactory};
use dwio::config::Config;
use dwio::connector::{BatchListener, Connector, ConnectorRegistry, ExpressionEvaluator};
use dwio::fs::{FileSystem, LocalAccess, LocalFiles};
use dwio::input::cache::RegionCache;
use dwio::reader::{FormatRegistry, ReaderFactory};
use exec::ScanListener;
use exec::executor::{Executor, ExecutorUsage};
use exec::expr::{ExecEvaluator, FunctionRegistry};
use exec::plan::PlanNode;
use format_parquet::ParquetReaderFactory;
use vector::sync::Arc;
use vector::{DecodedVector, Error, MemoryPool, Result, RowType, Value, catch_panic};

use crate::copy::{self, CopyEnd, CopyJob, CopyTarget};
use crate::sql::{PlannedQuery, ScanClauses, plan_scan, plan_statement};
use run::Surroundings;
use tables::{HIVE, Tables};

pub use options::{QueryOptions, ScanRequest};
pub use pushed::{DynamicTarget, PushedColumn, PushedScan};
pub use result::QueryResult;
pub use run::{ScanFiles, ScanSplits};
pub use why::{FileCondition, Station, Whereabouts};

/// Settings of an [`Engine`] that is not made yet.
#[derive(Debug, Default)]
pub struct EngineBuilder {
    files: Option<Arc<dyn FileSystem>>,
    local_access: LocalAccess,
    memory_limit: Option<u64>,
    cache_bytes: Option<u64>,
    worker_threads: Option<usize>,
    io_threads: Option<usize>,
    batch_listener: Option<ScanListener>,
    formats: Vec<Arc<dyn ReaderFactory>>,
    connectors: Vec<Arc<dyn Connector>>,
    functions: Option<FunctionRegistry>,
    config: Config,
    is_read_only: bool,
}

impl EngineBuilder {
    /// Reads files from `files` instead of the local file system.
    pub fn file_system(mut self, files: Arc<dyn FileSystem>) -> Self {
        self.files = Some(files);
        self
    }

    /// How local files are read; without effect on another file system.
    pub fn local_access(mut self, access: LocalAccess) -> Self {
        self.local_access = access;
        self
    }

    /// Bytes that all queries of the engine may hold at once; unlimited when never set.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Keeps up to so many bytes of what queries read for other queries. Nothing is kept when never
    /// set: for files of this machine the system does that. Counts as memory of the engine, and is
    /// given back when queries need it; files that are mapped are not kept.
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = Some(bytes).filter(|bytes| *bytes > 0);
        self
    }

    /// Threads that run drivers, at most; as many as the machine runs at once when never set.
    pub fn worker_threads(mut self, threads: usize) -> Self {
        self.worker_threads = Some(threads);
        self
    }

    /// Threads that open files ahead, at most; some more than the machine runs when never set,
    /// because they wait most of the time.
    pub fn io_threads(mut self, threads: usize) -> Self {
        self.io_threads = Some(threads);
        self
    }

    /// Tells `listener` of every batch that a scan of any query reads, on the thread that read it.
    pub fn batch_listener(mut self, listener: BatchListener) -> Self {
        self.batch_listener = Some(ScanListener(listener));
        self
    }

    /// Adds a file format; it replaces an earlier one of the same name.
    pub fn format(mut self, factory: Arc<dyn ReaderFactory>) -> Self {
        self.formats.push(factory);
        self
    }

    /// Adds a connector for plans made by hand; it replaces an earlier one of the same id.
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connectors.push(connector);
        self
    }

    /// The functions that queries may call instead of the built-in ones.
    pub fn functions(mut self, functions: FunctionRegistry) -> Self {
        self.functions = Some(functions);
        self
    }

    /// Refuses COPY, for statements of people who may read files and write none.
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Sets a default of the connector for Hive tables; settings of a query win over it.
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.set(key, value);
        self
    }

    /// Makes the engine.
    pub fn build(self) -> Engine {
        let access = self.local_access;
        let files = self.files.unwrap_or_else(|| Arc::new(LocalFiles::new(access)));
        let mut formats = FormatRegistry::new();
        formats.register(Arc::new(ParquetReaderFactory::default()));
        formats.register(Arc::new(TextReaderFactory));
        for factory in self.formats {
            formats.register(factory);
        }
        let pool = MemoryPool::root("engine", self.memory_limit.unwrap_or(u64::MAX));
        let mut hive = HiveConnector::new(HIVE, files, formats, self.config);
        if let Some(bytes) = self.cache_bytes {
            hive = hive.with_cache(RegionCache::new(&pool, bytes));
        }
        let hive = Arc::new(hive);
        let mut connectors = ConnectorRegistry::new();
        connectors.register(Arc::clone(&hive) as Arc<dyn Connector>);
        for connector in self.connectors {
            connectors.register(connector);
        }
        let functions = Arc::new(self.functions.unwrap_or_else(FunctionRegistry::builtin));
        let evaluator: Arc<dyn ExpressionEvaluator> =
            Arc::new(ExecEvaluator::new(Arc::clone(&functions)));
        Engine {
            hive,
            functions,
            tables: BTreeMap::new(),
            is_read_only: self.is_read_only,
            surroundings: Surroundings {
                connectors,
                evaluator,
                pool,
                executor: Arc::new(match self.worker_threads {
                    Some(threads) => Executor::new(threads),
                    None => Executor::for_this_machine(),
                }),
                io: Arc::new(match self.io_threads {
                    Some(threads) => Executor::new_io(threads),
                    None => Executor::for_io(),
                }),
                batch_listener: self.batch_listener,
            },
        }
    }
}

/// Runs queries over files.
#[derive(Debug)]
pub struct Engine {
    hive: Arc<HiveConnector>,
    functions: Arc<FunctionRegistry>,
    tables: BTreeMap<String, String>,
    is_read_only: bool,
    surroundings: Surroundings,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// The id of the connector for Hive tables.
    pub const HIVE: &str = HIVE;

    /// An engine over the local file system.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts an engine with settings of its own.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// The files that the engine reads.
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        self.hive.files()
    }

    /// The pool above everything that the engine's queries allocate.
    pub fn memory_pool(&self) -> &MemoryPool {
        &self.surroundings.pool
    }

    /// What the threads that run drivers and those that open files ahead are doing.
    pub fn thread_usage(&self) -> (ExecutorUsage, ExecutorUsage) {
        (self.surroundings.executor.usage(), self.surroundings.io.usage())
    }

    /// Gives the file, directory or glob pattern at `path` a name for FROM; it replaces an earlier
    /// one of the same name. The path is looked at when a query uses it. `InvalidInput` when the
    /// name or the path is empty.
    pub fn register_table(&mut self, name: &str, path: &str) -> Result<()> {
        if name.is_empty() || path.is_empty() {
            return Err(Error::invalid_input("a table needs a name and a path")
                .with("name", name)
                .with("path", path));
        }
        self.tables.insert(name.to_string(), path.to_string());
        Ok(())
    }

    /// Plans a SELECT or COPY statement with default options, without running it. Files are listed,
    /// and one file of the table is opened for its columns.
    pub fn plan(&self, sql: &str) -> Result<Plan> {
        self.plan_with(sql, &QueryOptions::default())
    }

    /// Plans a SELECT or COPY statement without running it.
    pub fn plan_with(&self, sql: &str, options: &QueryOptions) -> Result<Plan> {
        catch_panic("planning a query panicked", || self.plan_statement(sql, options))
    }

    fn plan_statement(&self, sql: &str, options: &QueryOptions) -> Result<Plan> {
        let (planned, copy) = tables::planned(self.catalog(options)?, |catalog| {
            plan_statement(sql, catalog, &self.functions)
        })?;
        let Some(request) = copy else { return Ok(Plan::of_query(planned)) };
        let target = CopyTarget::new(&request, &planned.row_type)?;
        let target = target.with_stored_columns(copy::stored_columns(&planned));
        let row_type = Arc::new(copy::result_type());
        Ok(Plan { planned, row_type, copy: Some(target) })
    }

    /// Plans and runs a SELECT or COPY statement with default options. A COPY writes its files to
    /// the local file system and gives one row, which counts `rows`, `files` and `bytes`; the files
    /// appear with that row, and not at all when there is an error before it.
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        self.query_with(sql, &QueryOptions::default())
    }

    /// Plans and runs a SELECT or COPY statement; see [`Engine::query`].
    pub fn query_with(&self, sql: &str, options: &QueryOptions) -> Result<QueryResult> {
        self.run(&self.plan_with(sql, options)?, options)
    }

    /// Plans a scan that is described without SQL.
    pub fn plan_scan(&self, request: &ScanRequest, options: &QueryOptions) -> Result<Plan> {
        let clauses = ScanClauses {
            columns: request.columns.as_deref(),
            filter: request.filter.as_deref(),
            limit: request.limit,
        };
        catch_panic("planning a scan panicked", || {
            let planned = tables::planned(self.catalog(options)?, |catalog| {
                plan_scan(catalog.find_paths("scan", &request.paths)?, clauses, &self.functions)
            })?;
            Ok(Plan::of_query(planned))
        })
    }

    /// Plans and runs a scan that is described without SQL.
    pub fn scan(&self, request: &ScanRequest, options: &QueryOptions) -> Result<QueryResult> {
        self.run(&self.plan_scan(request, options)?, options)
    }

    /// Runs a plan; it can be run more than once. The files are those that planning found.
    pub fn run(&self, plan: &Plan, options: &QueryOptions) -> Result<QueryResult> {
        catch_panic("starting a query panicked", || self.start(plan, options))
    }

    fn start(&self, plan: &Plan, options: &QueryOptions) -> Result<QueryResult> {
        if plan.copy.is_some() && self.is_read_only {
            return Err(Error::invalid_input("this engine reads only, and COPY writes files"));
        }
        let planned = &plan.planned;
        let Some(target) = &plan.copy else {
            return self.surroundings.run(plan, &planned.root, options);
        };
        if !self.file_system().is_local() {
            return Err(Error::unsupported(
                "COPY writes to the local disk, and this engine reads other files",
            )
            .with("path", target.path()));
        }
        if let Some(gap) = planned.scans.iter().find_map(|scan| scan.table.schema_gap()) {
            return Err(Error::limit("COPY of a table whose columns are not all known")
                .with("table", gap.table)
                .with("columns_of", gap.files)
                .hint("--set max_schema_files=N asks more files, --schema names the columns"));
        }
        let zone = self.hive.partition_zone(&options.settings)?;
        let job = CopyJob::start(target.clone(), &planned.row_type, zone)?;
        let end = CopyEnd::new(job.clone());
        Ok(self.surroundings.run(plan, &job.node(&planned.root), options)?.of_copy(end))
    }

    /// Where each term of a plan's conditions is tested, and why not earlier.
    pub fn why(&self, plan: &Plan) -> Result<Vec<Whereabouts>> {
        why::whereabouts(&plan.planned.root, self.surroundings.evaluator.as_ref())
    }

    /// What a plan pushes into each of its scans. Files are listed, and a footer of each table is
    /// opened.
    pub fn pushed(&self, plan: &Plan) -> Result<Vec<PushedScan>> {
        pushed::pushed(&plan.planned, self.surroundings.evaluator.as_ref())
    }

    /// What a condition in SQL asks of one file, and the rows that fulfil it.
    pub fn file_condition(&self, path: &str, condition: &str) -> Result<FileCondition> {
        let request = ScanRequest {
            paths: vec![path.to_string()],
            columns: Some(vec![ROW_INDEX.to_string()]),
            filter: Some(condition.to_string()),
            limit: None,
        };
        let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
        let plan = self.plan_scan(&request, &options)?;
        let mut found = why::file_condition(plan.root(), self.surroundings.evaluator.as_ref())?;
        for batch in self.run(&plan, &options)? {
            let batch = batch?;
            let numbers = DecodedVector::new(batch.child(0)?)?;
            for row in 0..batch.len() {
                if let Value::BigInt(number) = numbers.value(row)? {
                    found.rows.extend(u64::try_from(number));
                }
            }
        }
        Ok(found)
    }

    /// Runs plan nodes that were made elsewhere on the splits of their scans; scans without splits
    /// have no rows.
    pub fn run_nodes(
        &self,
        root: &Arc<PlanNode>,
        splits: Vec<ScanSplits>,
        options: &QueryOptions,
    ) -> Result<QueryResult> {
        catch_panic("starting a plan panicked", || {
            self.surroundings.start(root, root.output_type(), splits, options)
        })
    }

    fn catalog(&self, options: &QueryOptions) -> Result<Tables<'_>> {
        options.check_settings()?;
        Ok(Tables {
            connector: &self.hive,
            evaluator: &self.surroundings.evaluator,
            registered: &self.tables,
            files: options.file_options()?,
            partition_types: options.partition_types()?,
            // Footers are shared by whoever reads their files: no query can give them back alone, so
            // none waits for their memory.
            pool: self.surroundings.pool.cache_leaf("schema", u64::MAX),
            of_all_files: false,
            is_partial: Rc::default(),
        })
    }
}

/// A query ready to run: plan nodes, and the files that they read.
#[derive(Debug, Clone)]
pub struct Plan {
    planned: PlannedQuery,
    row_type: Arc<RowType>,
    copy: Option<CopyTarget>,
}

impl Plan {
    fn of_query(planned: PlannedQuery) -> Self {
        Plan { row_type: Arc::clone(&planned.row_type), planned, copy: None }
    }

    /// The topmost node.
    pub fn root(&self) -> &Arc<PlanNode> {
        &self.planned.root
    }

    /// The columns of the result as the query names them; names may repeat. A COPY gives counts.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }
}

impl Plan {
    /// Where a COPY writes, and how, in words; `None` for a query.
    pub fn copies_to(&self) -> Option<String> {
        self.copy.as_ref().map(|target| target.describe(&self.planned.row_type))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.planned.root)
    }
}
