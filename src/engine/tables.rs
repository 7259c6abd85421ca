//! Resolution of the tables of FROM in the file system.
//!
//! ```text
//! name or path --registered? glob? directory?--> HiveTable (files, partition keys)  opens no file
//!              --some files that pass the condition--> TableSchema                  opens those
//!              --> EngineTable: columns, scans, splits
//! ```
//!
//! The files that the condition leaves may lack columns that others have. A statement that names such a
//! column is planned once more, with the columns of all files ([`planned`]).

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use connector_hive::{
    ColumnKind, DiscoveryOptions, HiveConnector, HiveTable, InferredSchema, PartitionPredicate,
    SplitOptions, TableSchema, hidden_columns,
};
use dwio::connector::{ColumnHandle, ConnectorSplit, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use dwio::fs::FileSystem;
use dwio::reader::FileMetadata;
use dwio::stored::StoredColumn;
use dwio::subfield::{PathElement, Subfield};
use exec::expr::nearest;
use exec::plan::TableScanNode;
use vector::sync::Arc;
use vector::{Error, ErrorKind, MemoryPool, Result, RowType, Type};

use super::glob;
use super::options::FileOptions;
use crate::sql::{
    Catalog, CatalogTable, FoundTable, ScanParts, SchemaGap, TableColumn, TableSplits,
};

/// Id of the connector in handles and splits.
pub(super) const HIVE: &str = "hive";

/// Assumed number of bytes per row in files that do not store the number of their rows.
const BYTES_OF_A_ROW: u64 = 100;

/// Columns that `*` does not include.
const HIDDEN: &[&str] = &[
    hidden_columns::PATH,
    hidden_columns::FILE_SIZE,
    hidden_columns::FILE_MODIFIED_TIME,
    hidden_columns::ROW_INDEX,
];

/// Parameters for resolving tables.
#[derive(Debug, Clone)]
pub(super) struct Tables<'a> {
    pub(super) connector: &'a Arc<HiveConnector>,
    pub(super) evaluator: &'a Arc<dyn ExpressionEvaluator>,
    pub(super) registered: &'a BTreeMap<String, String>,
    pub(super) files: FileOptions,
    pub(super) partition_types: Vec<(String, Type)>,
    pub(super) pool: MemoryPool,
    /// The columns of a table are those of all its files, whatever the condition.
    pub(super) of_all_files: bool,
    /// Set once a table is opened that may have more columns.
    pub(super) is_partial: Rc<Cell<bool>>,
}

/// What `plan` makes of the tables. Where a column is not found in the files that the conditions
/// leave, it is looked for in all files.
pub(super) fn planned<T>(tables: Tables<'_>, plan: impl Fn(&Tables<'_>) -> Result<T>) -> Result<T> {
    match plan(&tables) {
        Err(error) if error.kind() == ErrorKind::NotFound && tables.is_partial.get() => {
            plan(&Tables { of_all_files: true, ..tables })
        }
        outcome => outcome,
    }
}

impl Catalog for Tables<'_> {
    fn find(&self, name: &str, quoted: bool) -> Result<Box<dyn FoundTable + '_>> {
        let same = |known: &&String| known.to_lowercase() == name.to_lowercase();
        let registered = match self.registered.get(name) {
            Some(path) => Some((name, path)),
            None if quoted => None,
            None => {
                let known = self.registered.keys().find(same);
                known.and_then(|k| Some((k.as_str(), self.registered.get(k)?)))
            }
        };
        match registered {
            Some((name, path)) => self.find_paths(name, std::slice::from_ref(path)),
            None if quoted => self.find_paths(table_name(name), &[name.to_string()]),
            None => Err(self.unknown(name)),
        }
    }
}

impl Tables<'_> {
    /// Returns the table that consists of one or more paths.
    pub(super) fn find_paths(
        &self,
        name: &str,
        paths: &[String],
    ) -> Result<Box<dyn FoundTable + '_>> {
        let files = &**self.connector.files();
        let options = || DiscoveryOptions {
            partition_types: self.partition_types.clone(),
            ..DiscoveryOptions::default()
        };
        let hive = match paths {
            [] => return Err(Error::invalid_input("a scan needs at least one path")),
            [path] if !is_glob(files, path) => HiveTable::discover(files, path, options())?,
            paths => {
                let mut found = Vec::new();
                for path in paths {
                    if is_glob(files, path) {
                        found.extend(glob::expand(files, path)?);
                    } else {
                        found.push(path.clone());
                    }
                }
                HiveTable::from_files(files, "", &found, options())?
            }
        };
        let columns = hive.partition_columns.fields();
        let keys = columns.map(|(name, ty)| column(name, name, ty, false)).collect();
        Ok(Box::new(Found { tables: self.clone(), name: name.to_string(), hive, keys }))
    }

    fn unknown(&self, name: &str) -> Error {
        let error = Error::not_found("no such table").with("name", name);
        let known = self.registered.keys().map(String::as_str);
        match nearest(name, known) {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => error.hint("a path needs quotes: FROM 'dir/file.parquet'"),
        }
    }
}

/// A table of which no file has been opened yet.
#[derive(Debug)]
struct Found<'a> {
    tables: Tables<'a>,
    name: String,
    hive: HiveTable,
    keys: Vec<TableColumn>,
}

impl FoundTable for Found<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn partition_columns(&self) -> &[TableColumn] {
        &self.keys
    }

    fn open(self: Box<Self>, condition: Option<&TypedExpr>) -> Result<Arc<dyn CatalogTable>> {
        let tables = &self.tables;
        // The schema is inferred from files that the query reads anyway, if there are any.
        let mut wanted = self.hive.clone();
        let keys = &self.hive.partition_columns;
        let condition = condition.filter(|_| !tables.of_all_files);
        if let Some(mut predicate) = predicate(tables.evaluator, condition, keys, keys)? {
            let mut left = Vec::new();
            for file in &self.hive.files {
                let value = |name: &str, _: &Type| self.hive.partition_value(file, name);
                if predicate.may_pass(value)? {
                    left.push(file.clone());
                }
            }
            if left.iter().any(|f| f.len > 0) {
                wanted.files = left;
            } else if let Some(first) = self.hive.nonempty_files().next() {
                // If no file passes, the schema is that of one file.
                wanted.files = vec![first.clone()];
            }
        }
        let FileOptions { columns, format, max_schema_files, .. } = &tables.files;
        let inferred = match columns {
            Some(columns) => {
                let keys = Arc::clone(&self.hive.partition_columns);
                let schema = TableSchema::new(Arc::clone(columns), keys);
                InferredSchema { schema, metadata: Vec::new(), num_opened: 0, num_files: 0 }
            }
            None => {
                tables.connector.table_schema(&wanted, format, *max_schema_files, &tables.pool)?
            }
        };
        let InferredSchema { schema, metadata, num_opened, num_files } = inferred;
        let unknown = num_files.saturating_sub(num_opened);
        let is_partial = wanted.files.len() < self.hive.files.len() && columns.is_none();
        let asked = is_partial.then(|| Asked {
            terms: condition.map(TypedExpr::conjuncts).into_iter().flatten().cloned().collect(),
            paths: wanted.files.into_iter().map(|file| file.path).collect(),
        });
        if asked.is_some() {
            tables.is_partial.set(true);
        }
        let gap = (unknown > 0).then(|| format!("{num_opened} of {num_files} files"));
        let columns = columns_of(&schema);
        Ok(Arc::new(EngineTable {
            twins: twins_of(&columns),
            columns,
            name: self.name,
            hive: self.hive,
            schema,
            _metadata: metadata,
            schema_files: gap,
            asked,
            evaluator: Arc::clone(tables.evaluator),
            connector: Arc::clone(tables.connector),
            pool: tables.pool.clone(),
            files: tables.files.clone(),
        }))
    }
}

/// Files that were asked for columns.
#[derive(Debug)]
struct Asked {
    /// The condition that left them.
    terms: Vec<TypedExpr>,
    paths: HashSet<String>,
}

/// A table ready to be scanned.
#[derive(Debug)]
struct EngineTable {
    name: String,
    hive: HiveTable,
    schema: TableSchema,
    /// File metadata, held so that the scan need not read it again.
    _metadata: Vec<FileMetadata>,
    /// Describes the files from which the columns were inferred, if these are not all files.
    schema_files: Option<String>,
    /// The files that were asked for columns, where a condition has left some out.
    asked: Option<Asked>,
    columns: Vec<TableColumn>,
    /// For columns whose name repeats, the number of earlier columns with that name, by position.
    twins: HashMap<usize, usize>,
    evaluator: Arc<dyn ExpressionEvaluator>,
    connector: Arc<HiveConnector>,
    pool: MemoryPool,
    files: FileOptions,
}

impl CatalogTable for EngineTable {
    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn scan(&self, parts: ScanParts<'_>) -> Result<TableScanNode> {
        if !self.reads_asked_files(parts.filter)? {
            return Err(Error::not_found("a scan reads files whose columns are not known")
                .with("table", &self.name));
        }
        let mut fields = Vec::with_capacity(parts.columns.len());
        let mut assignments = Vec::with_capacity(parts.columns.len());
        for wanted in parts.columns {
            let column = self.columns.get(wanted.index).ok_or_else(|| {
                Error::internal("a scanned column is not in the table").with("index", wanted.index)
            })?;
            let twin = self.twins.get(&wanted.index).copied();
            let handle = self.schema.column_handle(&column.name).ok_or_else(|| {
                Error::internal("a scanned column is not in the table")
                    .in_named("column", &column.name)
            })?;
            let handle = match (handle.kind(), twin) {
                (ColumnKind::Regular, Some(twin)) => {
                    handle.with_occurrence(twin, column.ty.clone())
                }
                _ => handle,
            };
            let handle = match wanted.fields.is_empty() {
                true => handle,
                false => {
                    let subfields = subfields(handle.name(), &column.ty, &wanted.fields);
                    handle.with_required_subfields(subfields)?
                }
            };
            fields.push((column.field.to_string(), column.ty.clone()));
            let handle: Arc<dyn ColumnHandle> = Arc::new(handle);
            assignments.push((column.field.to_string(), handle));
        }
        let table =
            self.schema.table_handle(HIVE, &self.name).with_remaining_filter(parts.filter.cloned());
        Ok(TableScanNode {
            id: parts.id,
            output_type: Arc::new(RowType::new(fields)),
            table: Arc::new(table),
            assignments,
        })
    }

    fn stored_column(&self, name: &str) -> Option<&StoredColumn> {
        self.schema.stored_column(name)
    }

    fn may_have_more_columns(&self) -> bool {
        self.asked.is_some()
    }

    fn schema_gap(&self) -> Option<SchemaGap<'_>> {
        let files = self.schema_files.as_deref()?;
        Some(SchemaGap { table: &self.name, files })
    }

    fn estimated_rows(&self) -> Result<u64> {
        let counted = self.connector.estimated_rows(&self.hive, &self.files.format, &self.pool)?;
        Ok(counted.unwrap_or_else(|| self.hive.total_bytes() / BYTES_OF_A_ROW))
    }

    fn total_bytes(&self) -> u64 {
        self.hive.total_bytes()
    }

    fn splits(&self, filter: Option<&TypedExpr>, target_bytes: u64) -> Result<TableSplits> {
        let (keys, columns) = (&self.hive.partition_columns, self.schema.columns());
        let mut predicate = predicate(&self.evaluator, filter, keys, columns)?;
        let options = SplitOptions {
            connector_id: HIVE.to_string(),
            format: self.files.format.clone(),
            target_bytes,
            serde_parameters: Arc::clone(&self.files.serde_parameters),
        };
        let mut splits = self.hive.splits(predicate.as_mut(), &options)?;
        // A column of the files hides the synthesized column of the same name.
        splits
            .iter_mut()
            .for_each(|s| s.synthesized_columns.retain(|name, _| columns.index_of(name).is_none()));
        // The splits of one file are consecutive.
        let mut paths: Vec<&str> = splits.iter().map(|split| split.path.as_str()).collect();
        paths.dedup();
        let num_files = self.hive.nonempty_files().count();
        let num_files_left_out = num_files.saturating_sub(paths.len());
        let splits = splits.into_iter().map(|s| Arc::new(s) as Arc<dyn ConnectorSplit>).collect();
        Ok(TableSplits { splits, num_files, num_files_left_out })
    }
}

impl EngineTable {
    /// True when a scan with this condition reads no files but those that were asked for columns. A
    /// condition of WHERE may not come to the scan: rows of an outer join are tested above it.
    fn reads_asked_files(&self, filter: Option<&TypedExpr>) -> Result<bool> {
        let Some(asked) = &self.asked else { return Ok(true) };
        let terms = filter.map(TypedExpr::conjuncts).unwrap_or_default();
        if asked.terms.iter().all(|term| terms.contains(&term)) {
            return Ok(true);
        }
        let (keys, columns) = (&self.hive.partition_columns, self.schema.columns());
        let Some(mut predicate) = predicate(&self.evaluator, filter, keys, columns)? else {
            return Ok(false);
        };
        for file in self.hive.nonempty_files().filter(|file| !asked.paths.contains(&file.path)) {
            let value = |name: &str, _: &Type| self.hive.partition_value(file, name);
            if predicate.may_pass(value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns struct fields by name; empty, which means the whole column, if names do not identify the
/// fields.
fn subfields(column: &str, ty: &Type, wanted: &[Vec<usize>]) -> Vec<Subfield> {
    let path = |indices: &Vec<usize>| {
        let mut subfield = Subfield::column(column);
        let mut ty = ty;
        for index in indices {
            let row = ty.as_row()?;
            let name = row.names().get(*index)?;
            if row.positions_of(name).len() > 1 {
                return None;
            }
            subfield = subfield.then(PathElement::Field(name.as_str().into()));
            ty = row.types().get(*index)?;
        }
        Some(subfield)
    };
    wanted.iter().map(path).collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn is_glob(files: &dyn FileSystem, path: &str) -> bool {
    // The name of a file may have characters of a pattern.
    glob::is_pattern(path) && files.stat(path).is_err()
}

/// Returns the name of a table that is given as a path: its last part, without extensions.
fn table_name(path: &str) -> &str {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    last.split('.').next().filter(|name| !name.is_empty()).unwrap_or(last)
}

/// Returns the part of a condition that can be decided for whole files.
fn predicate(
    evaluator: &Arc<dyn ExpressionEvaluator>,
    condition: Option<&TypedExpr>,
    keys: &RowType,
    columns: &RowType,
) -> Result<Option<PartitionPredicate>> {
    let Some(condition) = condition else { return Ok(None) };
    let keys = keys.fields().map(|(n, t)| (n.to_string(), t.clone()));
    // Path and size of a file are known before it is opened, unless the table has columns with
    // these names.
    let known = [hidden_columns::PATH, hidden_columns::FILE_SIZE]
        .into_iter()
        .filter(|name| columns.index_of(name).is_none())
        .filter_map(|name| {
            Some((name.to_string(), hidden_columns::synthesized_column_type(name)?))
        });
    let columns = RowType::new(keys.chain(known).collect::<Vec<_>>());
    PartitionPredicate::new(&**evaluator, condition, &columns)
}

fn column(name: &str, field: &str, ty: &Type, hidden: bool) -> TableColumn {
    TableColumn { name: name.to_string(), field: field.into(), ty: ty.clone(), hidden }
}

/// Returns the columns of a table. Repeated names in a file get different `field` names. A name
/// that begins with a control character gets another field name, because the SQL planner generates
/// such names.
fn columns_of(schema: &TableSchema) -> Vec<TableColumn> {
    let names: HashSet<&str> = schema.columns().names().iter().map(String::as_str).collect();
    let mut taken: HashSet<String> = HashSet::new();
    let mut columns: Vec<TableColumn> = Vec::with_capacity(names.len() + HIDDEN.len());
    for (name, ty) in schema.columns().fields() {
        let made_up = name.starts_with(char::is_control);
        let mut field = if made_up { format!("#{name}") } else { name.to_string() };
        let mut number = 2;
        while taken.contains(&field) || (field != name && names.contains(field.as_str())) {
            field = format!("{name}#{number}");
            number += 1;
        }
        columns.push(column(name, &field, ty, false));
        taken.insert(field);
    }
    for name in HIDDEN {
        if let Some(handle) = schema.column_handle(name).filter(|_| !taken.contains(*name)) {
            columns.push(column(name, name, handle.ty(), true));
        }
    }
    columns
}

/// Returns the positions of columns that share their name, with the number of earlier ones.
fn twins_of(columns: &[TableColumn]) -> HashMap<usize, usize> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (i, column) in columns.iter().enumerate() {
        by_name.entry(&column.name).or_default().push(i);
    }
    let shared = by_name.into_values().filter(|twins| twins.len() > 1);
    shared.flat_map(|twins| twins.into_iter().enumerate().map(|(n, i)| (i, n))).collect()
}
