//! Queries on the engine, and their rows as values of the evaluator.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use dwio::connector::ConnectorSplit;
use dwio::fs::MemoryFiles;
use ocior::{Engine, QueryResult};
use vector::{Error, Result};

use super::rows::Row;
use super::settings::Settings;
use super::tables::Table;
use super::values::{Datum, Kind};
use crate::random_files::one_of;
use crate::support::files::engine_over;
use crate::support::random::Random;
use crate::support::source::{parquet_split, rows_of};

/// Tables in files, and an engine over them.
pub(super) struct World {
    pub(super) tables: Vec<Table>,
    /// The folder of each table.
    pub(super) paths: Vec<String>,
    engine: Engine,
}

impl World {
    /// Three tables to be joined, and one or two that are larger.
    pub(super) fn random(random: &mut Random) -> World {
        let mut few = |most: u64| if random.once_in(12) { 0 } else { 1 + random.below(most) };
        let mut sizes = vec![few(30), few(30), few(60)];
        sizes.push(60 + random.below(120));
        if random.once_in(6) {
            sizes.push(1_000 + random.below(2_000));
        }
        let tables: Vec<Table> =
            sizes.iter().map(|size| Table::random(*size as usize, random)).collect();
        let paths: Vec<String> = (0..tables.len()).map(|i| format!("t{i}")).collect();
        let files = MemoryFiles::new();
        for (table, folder) in tables.iter().zip(&paths) {
            for file in &table.files {
                files.put(format!("{folder}/{}", file.path), file.bytes.clone());
            }
        }
        World { tables, paths, engine: engine_over(&files) }
    }

    /// The rows of a query.
    pub(super) fn run(&self, sql: &str, kinds: &[Kind], settings: &Settings) -> Result<Vec<Row>> {
        let run = || {
            let mut rows = Vec::new();
            for batch in self.start(sql, settings)? {
                for row in rows_of(&batch?) {
                    assert_eq!(row.len(), kinds.len(), "columns");
                    let cells = row.iter().zip(kinds);
                    rows.push(cells.map(|(value, kind)| Datum::of_engine(value, kind)).collect());
                }
            }
            Ok(rows)
        };
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(Error::internal("a panic").with("message", text.unwrap_or_default()))
        })
    }

    fn start(&self, sql: &str, settings: &Settings) -> Result<QueryResult> {
        let options = &settings.options;
        let plan = self.engine.plan_with(sql, options)?;
        let Some(seed) = settings.cuts else { return self.engine.run(&plan, options) };
        let random = &mut Random::new(seed);
        let mut splits = Vec::new();
        for scan in plan.root().scans() {
            let table = self.paths.iter().position(|path| path == scan.table.table_name());
            let table = table.unwrap_or_else(|| panic!("a scan of {}", scan.table.table_name()));
            splits.push((scan.id.clone(), self.random_splits(table, random)));
        }
        self.engine.run_nodes(plan.root(), splits, options)
    }

    /// Each file of a table in ranges that follow each other; in any order.
    fn random_splits(&self, table: usize, random: &mut Random) -> Vec<Arc<dyn ConnectorSplit>> {
        let mut splits: Vec<Arc<dyn ConnectorSplit>> = Vec::new();
        for file in &self.tables[table].files {
            let len = file.bytes.len() as u64;
            let mut cuts = vec![0, len];
            for _ in 0..one_of(random, &[0, 1, 2]) {
                cuts.push(random.below(len + 1));
            }
            cuts.sort_unstable();
            for range in cuts.windows(2) {
                let split = parquet_split(format!("{}/{}", self.paths[table], file.path));
                let mut split = split.with_range(range[0], range[1] - range[0]);
                if let Some((name, value)) = &file.key {
                    let value = value.map(|value| value.to_string());
                    split = split.with_partition_keys(Arc::new([(name.clone(), value)]));
                }
                let at = random.below(splits.len() as u64 + 1) as usize;
                splits.insert(at, Arc::new(split));
            }
        }
        splits
    }
}
