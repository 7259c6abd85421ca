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
mod result;
mod tables;

use std::collections::BTreeMap;
use std::fmt;

use dwio::fs::{FileSystem, LocalAccess, LocalFiles};
use exec::plan::PlanNode;
use vector::sync::Arc;
use vector::{Error, Result, RowType};

pub use options::{QueryOptions, ScanRequest};
pub use result::QueryResult;

/// Settings of an [`Engine`] that is not made yet.
#[derive(Debug, Default)]
pub struct EngineBuilder {
    files: Option<Arc<dyn FileSystem>>,
    local_access: LocalAccess,
    memory_limit: Option<u64>,
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

    /// Makes the engine.
    pub fn build(self) -> Engine {
        let access = self.local_access;
        let files = self.files.unwrap_or_else(|| Arc::new(LocalFiles::new(access)));
        Engine { files, tables: BTreeMap::new(), memory_limit: self.memory_limit }
    }
}

/// Runs queries over files.
#[derive(Debug)]
pub struct Engine {
    files: Arc<dyn FileSystem>,
    tables: BTreeMap<String, String>,
    memory_limit: Option<u64>,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
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
        &self.files
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

    /// Plans a SELECT statement without running it. Files are listed, and the first file of the
    /// table is opened for its columns.
    pub fn plan(&self, sql: &str) -> Result<Plan> {
        let _ = (sql, self.memory_limit, &self.tables);
        Err(Error::unsupported("the SQL front end is not connected yet"))
    }

    /// Plans and runs a SELECT statement with default options.
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        self.query_with(sql, &QueryOptions::default())
    }

    /// Plans and runs a SELECT statement.
    pub fn query_with(&self, sql: &str, options: &QueryOptions) -> Result<QueryResult> {
        self.run(&self.plan(sql)?, options)
    }

    /// Plans a scan that is described without SQL.
    pub fn plan_scan(&self, request: &ScanRequest) -> Result<Plan> {
        let _ = request;
        Err(Error::unsupported("scans are not connected yet"))
    }

    /// Plans and runs a scan that is described without SQL.
    pub fn scan(&self, request: &ScanRequest, options: &QueryOptions) -> Result<QueryResult> {
        self.run(&self.plan_scan(request)?, options)
    }

    /// Runs a plan; it can be run more than once.
    pub fn run(&self, plan: &Plan, options: &QueryOptions) -> Result<QueryResult> {
        let _ = (plan, options);
        Err(Error::unsupported("tasks are not connected yet"))
    }
}

/// A query ready to run: plan nodes, and the files that they read.
#[derive(Debug, Clone)]
pub struct Plan {
    root: Arc<PlanNode>,
    row_type: Arc<RowType>,
}

impl Plan {
    /// The topmost node.
    pub fn root(&self) -> &Arc<PlanNode> {
        &self.root
    }

    /// The columns of the result as the query names them; names may repeat.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)
    }
}
