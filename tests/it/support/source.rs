//! Data sources over Parquet files, made as an engine makes them, for tests that call a source
//! directly.

use std::sync::Arc;

use connector_hive::{ColumnKind, HiveColumnHandle, HiveConnector, HiveSplit, HiveTableHandle};
use dwio::config::Config;
use dwio::connector::{
    ColumnHandle, Connector, ConnectorQueryCtx, DataSource, DataSourceRequest, SourcePoll,
};
use dwio::fs::FileSystem;
use dwio::reader::{FileFormat, FormatRegistry};
use exec::expr::{ExecEvaluator, FunctionRegistry};
use format_parquet::ParquetReaderFactory;
use vector::sync::CancelFlag;
use vector::{MemoryPool, RowType, RowVector, Type, Value, ValueReader};

/// Returns a data source of the columns, which are those of the files, of a table of connector
/// `hive`.
pub(crate) fn source_of(
    files: Arc<dyn FileSystem>,
    table: HiveTableHandle,
    columns: &[(&str, Type)],
) -> Box<dyn DataSource> {
    let assignments = columns.iter().map(|(name, ty)| {
        let column = HiveColumnHandle::new(*name, ColumnKind::Regular, ty.clone());
        (name.to_string(), Arc::new(column) as Arc<dyn ColumnHandle>)
    });
    let request = DataSourceRequest {
        output_type: Arc::new(RowType::new(columns.iter().cloned())),
        table: Arc::new(table),
        assignments: assignments.collect(),
    };
    let mut formats = FormatRegistry::new();
    formats.register(Arc::new(ParquetReaderFactory::default()));
    let connector = HiveConnector::new("hive", files, formats, Config::new());
    let ctx = ConnectorQueryCtx {
        pool: MemoryPool::unlimited(),
        evaluator: Arc::new(ExecEvaluator::new(Arc::new(FunctionRegistry::builtin()))),
        session: Config::new(),
        cancel: CancelFlag::new(),
    };
    connector.data_source(request, &Arc::new(ctx)).unwrap()
}

/// Returns a whole Parquet file as a split.
pub(crate) fn parquet_split(path: impl Into<String>) -> HiveSplit {
    HiveSplit::new("hive", path, FileFormat::new("parquet"))
}

/// Returns the rows of a batch.
pub(crate) fn rows_of(batch: &RowVector) -> Vec<Vec<Value>> {
    let columns: Vec<ValueReader> =
        batch.children().iter().map(|c| ValueReader::new(c).unwrap()).collect();
    (0..batch.len()).map(|i| columns.iter().map(|c| c.value(i)).collect()).collect()
}

/// Returns all remaining rows of the current split.
pub(crate) fn drained(source: &mut dyn DataSource, max_rows: usize) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    while let SourcePoll::Batch(batch) = source.next(max_rows).unwrap() {
        rows.extend(rows_of(&batch));
    }
    rows
}
