//! The engine: combines file systems, formats and connectors, and runs queries on them.
//!
//! ```text
//! SQL text or ScanRequest --plan--> Plan (plan nodes, table, filter)
//!                                     |  splits of the files that the filter does not exclude
//!                                     v
//!                                   Task --batches--> QueryResult
//! ```
//!
//! An [`Engine`] owns its registries; there are no static ones. This is the only module that names
//! a concrete format or connector.

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

use connector_hive::HiveConnector;
use connector_hive::hidden_columns::ROW_INDEX;
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
use format_text::TextReaderFactory;
use vector::sync::Arc;
use vector::{DecodedVector, Error, MemoryPool, Result, RowType, Value, catch_panic};

use crate::copy::{self, CopyEnd, CopyJob, CopyTarget};
use crate::sql::{PlannedQuery, ScanClauses, plan_scan, plan_statement};
use run::QueryContext;
use tables::{HIVE, Tables};

pub use options::{QueryOptions, ScanRequest};
pub use pushed::{DynamicTarget, PushedColumn, PushedScan};
pub use result::QueryResult;
pub use run::{ScanFiles, ScanSplits};
pub use why::{FileCondition, FilterStage, PredicatePlacement};

/// Builder of an [`Engine`].
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

    /// Sets how local files are read; has no effect on another file system.
    pub fn local_access(mut self, access: LocalAccess) -> Self {
        self.local_access = access;
        self
    }

    /// Sets the maximum number of bytes that all queries of the engine may hold together. The
    /// default is unlimited.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Sets the size of a cache of file data that all queries share. By default there is no cache,
    /// since the operating system caches local files. The cache counts as memory of the engine and
    /// is released when queries need memory. Mapped files are not cached.
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = Some(bytes).filter(|bytes| *bytes > 0);
        self
    }

    /// Sets the maximum number of threads that run drivers. The default is the number of threads
    /// that the machine runs at once.
    pub fn worker_threads(mut self, threads: usize) -> Self {
        self.worker_threads = Some(threads);
        self
    }

    /// Sets the maximum number of threads that open files ahead. The default is somewhat more than
    /// the number of threads that the machine runs at once, because these threads mostly wait.
    pub fn io_threads(mut self, threads: usize) -> Self {
        self.io_threads = Some(threads);
        self
    }

    /// Sets a listener for each batch that a scan of any query reads. It is called on the thread
    /// that read the batch.
    pub fn batch_listener(mut self, listener: BatchListener) -> Self {
        self.batch_listener = Some(ScanListener(listener));
        self
    }

    /// Adds a file format, which replaces an earlier one of the same name.
    pub fn format(mut self, factory: Arc<dyn ReaderFactory>) -> Self {
        self.formats.push(factory);
        self
    }

    /// Adds a connector for plans built by the caller, which replaces an earlier one of the same
    /// id.
    pub fn connector(mut self, connector: Arc<dyn Connector>) -> Self {
        self.connectors.push(connector);
        self
    }

    /// Sets the functions that queries may call, instead of the built-in ones.
    pub fn functions(mut self, functions: FunctionRegistry) -> Self {
        self.functions = Some(functions);
        self
    }

    /// Makes the engine reject COPY, for users who may read files but not write any.
    pub fn read_only(mut self) -> Self {
        self.is_read_only = true;
        self
    }

    /// Sets a default for a setting of the Hive connector; settings of a query override it.
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.set(key, value);
        self
    }

    /// Builds the engine.
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
            surroundings: QueryContext {
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
    surroundings: QueryContext,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// Id of the Hive connector.
    pub const HIVE: &str = HIVE;

    /// Returns an engine over the local file system.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Returns a builder of an engine.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// File system from which the engine reads.
    pub fn file_system(&self) -> &Arc<dyn FileSystem> {
        self.hive.files()
    }

    /// Functions that queries may call.
    pub fn functions(&self) -> &Arc<FunctionRegistry> {
        &self.functions
    }

    /// Root memory pool of all allocations of the engine's queries.
    pub fn memory_pool(&self) -> &MemoryPool {
        &self.surroundings.pool
    }

    /// Usage of the threads that run drivers and of those that open files ahead.
    pub fn thread_usage(&self) -> (ExecutorUsage, ExecutorUsage) {
        (self.surroundings.executor.usage(), self.surroundings.io.usage())
    }

    /// Registers the file, directory or glob pattern at `path` under a name for FROM, which
    /// replaces an earlier one of the same name. The path is resolved when a query uses it.
    ///
    /// # Errors
    /// `InvalidInput` if the name or the path is empty.
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
    /// and files of each table are opened to infer its columns.
    ///
    /// # Errors
    /// As [`Engine::plan_with`].
    pub fn plan(&self, sql: &str) -> Result<Plan> {
        self.plan_with(sql, &QueryOptions::default())
    }

    /// Plans a SELECT or COPY statement without running it.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid statement or setting, `NotFound` for a missing table or file,
    /// `Unsupported` for a feature that is not implemented, and errors of reading files.
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
    /// the local file system and returns one row with the counts `rows`, `files` and `bytes`. The
    /// files appear when that row is returned, and not at all if there is an error before it.
    ///
    /// # Errors
    /// As [`Engine::plan_with`] and [`Engine::run`].
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        self.query_with(sql, &QueryOptions::default())
    }

    /// Plans and runs a SELECT or COPY statement; see [`Engine::query`].
    ///
    /// # Errors
    /// As [`Engine::plan_with`] and [`Engine::run`].
    pub fn query_with(&self, sql: &str, options: &QueryOptions) -> Result<QueryResult> {
        self.run(&self.plan_with(sql, options)?, options)
    }

    /// Plans a scan that is described without SQL.
    ///
    /// # Errors
    /// As [`Engine::plan_with`].
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
    ///
    /// # Errors
    /// As [`Engine::plan_with`] and [`Engine::run`].
    pub fn scan(&self, request: &ScanRequest, options: &QueryOptions) -> Result<QueryResult> {
        self.run(&self.plan_scan(request, options)?, options)
    }

    /// Runs a plan. A plan can be run more than once; it reads the files that planning found.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid setting or for a COPY that must not write its target,
    /// `Unsupported` for a COPY with a file system that is not local, `Limit` for a COPY of a table
    /// whose columns are not all known. Errors of the running query are returned by the
    /// [`QueryResult`].
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

    /// Returns where each term of a plan's conditions is tested, and why not earlier.
    ///
    /// # Errors
    /// Errors of the pushdown, which are those of running the plan.
    pub fn why(&self, plan: &Plan) -> Result<Vec<PredicatePlacement>> {
        why::whereabouts(&plan.planned.root, self.surroundings.evaluator.as_ref())
    }

    /// Returns what a plan pushes into each of its scans. Files are listed, and one footer of each
    /// table is read.
    ///
    /// # Errors
    /// Errors of the pushdown and of pruning, which are those of running the plan.
    pub fn pushed(&self, plan: &Plan) -> Result<Vec<PushedScan>> {
        pushed::pushed(&plan.planned, self.surroundings.evaluator.as_ref())
    }

    /// Returns the filters of a SQL condition on one file, and the rows that pass it.
    ///
    /// # Errors
    /// As [`Engine::plan_with`], and errors of running the scan.
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

    /// Runs plan nodes that the caller has built on the splits of their scans. A scan without
    /// splits has no rows.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid setting, and errors of the plan. Errors of the running query
    /// are returned by the [`QueryResult`].
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
            // Footers are shared by all readers of their files, so no single query can release
            // them, and queries do not wait for their memory.
            pool: self.surroundings.pool.cache_leaf("schema", u64::MAX),
            of_all_files: false,
            is_partial: Rc::default(),
        })
    }
}

/// A plan that is ready to run: plan nodes, and the files that they read.
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

    /// Topmost node.
    pub fn root(&self) -> &Arc<PlanNode> {
        &self.planned.root
    }

    /// Type of the result with the column names of the query, which may repeat. The result of a
    /// COPY has counts.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }
}

impl Plan {
    /// Describes the target and format of a COPY; `None` for a query.
    pub fn copies_to(&self) -> Option<String> {
        self.copy.as_ref().map(|target| target.describe(&self.planned.row_type))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.planned.root)
    }
}
