//! Tests of the connector with a fake file format and a simple evaluator, so that the crate depends
//! neither on a real format nor on `exec`.

mod buckets;
mod constants;
mod discovery;
mod evaluator;
mod evolution;
mod extractions;
mod format;
mod mapping;
mod pruning;
mod sampling;
mod scan;
mod spec;
mod take_over;

use dwio::config::Config;
use dwio::connector::{
    ColumnHandle, Connector, ConnectorQueryCtx, DataSource, DataSourceRequest, SourcePoll,
};
use dwio::expr::TypedExpr;
use dwio::filter::Filter;
use dwio::fs::{MemoryFiles, ObservedFiles};
use dwio::reader::{FileFormat, FormatRegistry};
use dwio::subfield::Subfield;
use vector::sync::{Arc, CancelFlag};
use vector::{DecodedVector, MemoryPool, Result, RowType, RowVector, Type, Value};

use crate::{
    ColumnKind, DiscoveryOptions, HiveColumnHandle, HiveConnector, HiveSplit, HiveTable,
    HiveTableHandle, PartitionPredicate, SerdeParameters, SplitOptions,
};
use evaluator::RowByRow;
use format::{FakeFile, FakeFormat};

/// A file system with files and a connector that reads them.
struct World {
    files: MemoryFiles,
    observed: ObservedFiles,
    format: Arc<FakeFormat>,
    config: Config,
    session: Config,
    cancel: CancelFlag,
}

fn fake() -> FileFormat {
    FileFormat::new("fake")
}

impl World {
    fn new() -> Self {
        let files = MemoryFiles::new();
        World {
            observed: ObservedFiles::new(Arc::new(files.clone())),
            files,
            format: Arc::new(FakeFormat::default()),
            config: Config::new(),
            session: Config::new(),
            cancel: CancelFlag::new(),
        }
    }

    /// Adds a file with one row group for each of `groups`; each row group is 100 bytes long.
    fn put(&self, path: &str, columns: &[(&str, Type)], groups: Vec<Vec<Vec<Value>>>) {
        self.put_file(path, columns, groups, |_| {});
    }

    fn put_file(
        &self,
        path: &str,
        columns: &[(&str, Type)],
        groups: Vec<Vec<Vec<Value>>>,
        change: impl Fn(&mut FakeFile),
    ) {
        self.files.put(path, vec![7; groups.len() * 100]);
        let row_type = Arc::new(RowType::new(columns.iter().cloned()));
        let mut file = FakeFile { row_type, groups, ids: Vec::new(), statistics: None };
        change(&mut file);
        self.format.put(path, file);
    }

    /// Adds a file with the BIGINT column `x` and these rows.
    fn put_numbers(&self, path: &str, numbers: impl IntoIterator<Item = i64>) {
        let rows = numbers.into_iter().map(|n| vec![Value::BigInt(n)]).collect();
        self.put(path, &[("x", Type::BigInt)], vec![rows]);
    }

    fn connector(&self) -> HiveConnector {
        let mut formats = FormatRegistry::new();
        formats.register(self.format.clone());
        HiveConnector::new("hive", Arc::new(self.observed.clone()), formats, self.config.clone())
    }

    fn discover(&self, path: &str) -> Result<HiveTable> {
        HiveTable::discover(&self.observed, path, DiscoveryOptions::default())
    }

    fn source(&self, scan: Scan) -> Result<Box<dyn DataSource>> {
        let ctx = ConnectorQueryCtx {
            pool: MemoryPool::unlimited(),
            evaluator: Arc::new(RowByRow),
            session: self.session.clone(),
            cancel: self.cancel.clone(),
        };
        self.connector().data_source(scan.request(), &Arc::new(ctx))
    }

    /// Returns all rows of a scan of the splits.
    fn read(&self, scan: Scan, splits: Vec<HiveSplit>) -> Result<Vec<Vec<Value>>> {
        let mut source = self.source(scan)?;
        let mut rows = Vec::new();
        for split in splits {
            source.add_split(Arc::new(split))?;
            rows.extend(drain(source.as_mut())?);
        }
        Ok(rows)
    }
}

/// Returns the rows of the current split, read in small batches.
fn drain(source: &mut dyn DataSource) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    loop {
        match source.next(3)? {
            SourcePoll::Batch(batch) => rows.extend(rows_of(&batch)?),
            SourcePoll::SplitDone => return Ok(rows),
            SourcePoll::Blocked(_) => unreachable!("Hive never blocks"),
        }
    }
}

fn rows_of(batch: &RowVector) -> Result<Vec<Vec<Value>>> {
    let columns: Vec<DecodedVector> =
        batch.children().iter().map(DecodedVector::new).collect::<Result<_>>()?;
    (0..batch.len()).map(|row| columns.iter().map(|c| c.value(row)).collect()).collect()
}

/// A scan of a test: output columns, filters and conditions.
struct Scan {
    outputs: Vec<(String, HiveColumnHandle)>,
    table: HiveTableHandle,
}

fn scan() -> Scan {
    Scan { outputs: Vec::new(), table: HiveTableHandle::new("hive", "t") }
}

impl Scan {
    fn column(self, name: &str, kind: ColumnKind, ty: Type) -> Self {
        self.handle(name, HiveColumnHandle::new(name, kind, ty))
    }

    fn regular(self, name: &str, ty: Type) -> Self {
        self.column(name, ColumnKind::Regular, ty)
    }

    fn key(self, name: &str, ty: Type) -> Self {
        self.column(name, ColumnKind::PartitionKey, ty)
    }

    fn handle(mut self, output: &str, handle: HiveColumnHandle) -> Self {
        self.outputs.push((output.to_string(), handle));
        self
    }

    fn filter_key(mut self, name: &str, ty: Type) -> Self {
        let handle = HiveColumnHandle::new(name, ColumnKind::PartitionKey, ty);
        self.table = self.table.with_filter_column(handle);
        self
    }

    /// Sets the columns of the table's files.
    fn data(mut self, columns: &[(&str, Type)]) -> Self {
        let columns = Arc::new(RowType::new(columns.iter().cloned()));
        self.table = self.table.with_data_columns(columns);
        self
    }

    fn filter(mut self, path: &str, filter: Filter) -> Self {
        let path = Subfield::parse(path).unwrap();
        self.table = self.table.with_filter(path, Arc::new(filter));
        self
    }

    fn condition(mut self, condition: TypedExpr) -> Self {
        self.table = self.table.with_remaining_filter(Some(condition));
        self
    }

    fn request(self) -> DataSourceRequest {
        let fields = self.outputs.iter().map(|(name, h)| (name.clone(), h.ty().clone()));
        let output_type = Arc::new(RowType::new(fields));
        let assignments = self
            .outputs
            .into_iter()
            .map(|(name, handle)| (name, Arc::new(handle) as Arc<dyn ColumnHandle>))
            .collect();
        DataSourceRequest { output_type, table: Arc::new(self.table), assignments }
    }
}

fn split(path: &str) -> HiveSplit {
    HiveSplit::new("hive", path, fake())
}

fn split_in(path: &str, keys: &[(&str, Option<&str>)]) -> HiveSplit {
    let keys = keys.iter().map(|(k, v)| (k.to_string(), v.map(str::to_string))).collect();
    split(path).with_partition_keys(keys)
}

fn split_options() -> SplitOptions {
    SplitOptions {
        connector_id: "hive".into(),
        format: fake(),
        target_bytes: 1 << 20,
        serde_parameters: SerdeParameters::default(),
    }
}

fn predicate(condition: &TypedExpr, columns: &RowType) -> PartitionPredicate {
    PartitionPredicate::new(&RowByRow, condition, columns).unwrap().unwrap()
}

fn int(value: i64) -> TypedExpr {
    TypedExpr::constant(Value::BigInt(value), Type::BigInt)
}

fn text(value: &str) -> TypedExpr {
    TypedExpr::constant(Value::bytes(value), Type::Varchar)
}

fn field(name: &str, ty: Type) -> TypedExpr {
    TypedExpr::field(name, ty)
}

fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    let ty = if name == "plus" { Type::BigInt } else { Type::Boolean };
    TypedExpr::call(name, args, ty)
}

fn all(terms: Vec<TypedExpr>) -> TypedExpr {
    TypedExpr::and(terms).unwrap()
}

fn big(values: impl IntoIterator<Item = i64>) -> Vec<Vec<Value>> {
    values.into_iter().map(|v| vec![Value::BigInt(v)]).collect()
}

fn row(fields: impl IntoIterator<Item = Value>) -> Value {
    Value::Row(fields.into_iter().collect())
}

fn array(items: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(items.into_iter().collect())
}

fn map(items: impl IntoIterator<Item = (Value, Value)>) -> Value {
    Value::Map(items.into_iter().collect())
}

fn n(value: i64) -> Value {
    Value::BigInt(value)
}
