//! A fake file format whose rows are stored in memory by path, outside the file system.

use std::collections::BTreeMap;
use std::ops::Range;

use dwio::input::BufferedInput;
use dwio::reader::{
    FieldIds, FileFormat, ReadOutcome, ReadRequest, ReadRows, Reader, ReaderFactory, ReaderParams,
    RowReader, RowReaderParams,
};
use dwio::scan_spec::{BoundColumn, ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use dwio::stats::ColumnStatistics;
use vector::build::vector_of;
use vector::sync::{Arc, Mutex};
use vector::{
    Error, LazyVector, Metrics, Result, RowSet, RowType, RowVector, Type, Value, Vector,
    VectorLoader, VectorRef,
};

/// Number of bytes of a row group in the file.
const GROUP_BYTES: usize = 100;

#[derive(Debug, Clone)]
pub(super) struct FakeFile {
    pub(super) row_type: Arc<RowType>,
    pub(super) groups: Vec<Vec<Vec<Value>>>,
    pub(super) ids: Vec<FieldIds>,
    /// Statistics of the first column.
    pub(super) statistics: Option<ColumnStatistics>,
}

/// Rows by path. Columns named `lazy` are returned as lazy vectors whose loads are recorded.
#[derive(Debug, Default)]
pub(super) struct FakeFormat {
    files: Mutex<BTreeMap<String, FakeFile>>,
    loads: Arc<Mutex<Vec<usize>>>,
    options: Mutex<Vec<String>>,
}

impl FakeFormat {
    /// Settings with which the last file was opened.
    pub(super) fn options(&self) -> Vec<String> {
        self.options.lock().clone()
    }

    pub(super) fn put(&self, path: &str, file: FakeFile) {
        self.files.lock().insert(path.to_string(), file);
    }

    /// Number of rows of each load of a lazy column.
    pub(super) fn loads(&self) -> Vec<usize> {
        self.loads.lock().clone()
    }
}

impl ReaderFactory for FakeFormat {
    fn format(&self) -> FileFormat {
        FileFormat::new("fake")
    }

    fn open(&self, input: BufferedInput, params: ReaderParams) -> Result<Box<dyn Reader>> {
        *self.options.lock() = params.options.iter().map(|(k, v)| format!("{k}={v}")).collect();
        if input.read(0, 1)?[0] != 7 {
            return Err(Error::corrupt("not a file of this format"));
        }
        let file = self.files.lock().get(input.path()).cloned();
        let file = file.ok_or_else(|| Error::corrupt("no rows for this file"))?;
        Ok(Box::new(FakeReader { file, loads: self.loads.clone(), input }))
    }
}

struct FakeReader {
    file: FakeFile,
    loads: Arc<Mutex<Vec<usize>>>,
    input: BufferedInput,
}

impl Reader for FakeReader {
    fn row_type(&self) -> &Arc<RowType> {
        &self.file.row_type
    }

    fn num_rows(&self) -> Option<u64> {
        Some(self.file.groups.iter().map(|g| g.len() as u64).sum())
    }

    fn field_id_tree(&self) -> Vec<FieldIds> {
        self.file.ids.clone()
    }

    fn column_statistics(&self, ordinal: usize) -> Option<ColumnStatistics> {
        self.file.statistics.clone().filter(|_| ordinal == 0)
    }

    fn row_reader(&self, params: RowReaderParams) -> Result<Box<dyn RowReader>> {
        let mut first_row = 0;
        let mut groups = Vec::new();
        for (i, group) in self.file.groups.iter().enumerate() {
            if params.range.contains(&((i * GROUP_BYTES) as u64)) {
                self.input.read((i * GROUP_BYTES) as u64, GROUP_BYTES as u64)?;
                groups.push(first_row..first_row + group.len());
            }
            first_row += group.len();
        }
        let (rows, types) = (self.file.groups.concat(), self.file.row_type.types().to_vec());
        Ok(Box::new(FakeRows { params, rows, types, groups, loads: self.loads.clone() }))
    }
}

struct FakeRows {
    params: RowReaderParams,
    rows: Vec<Vec<Value>>,
    types: Vec<Type>,
    groups: Vec<Range<usize>>,
    loads: Arc<Mutex<Vec<usize>>>,
}

impl RowReader for FakeRows {
    fn next(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome> {
        while self.groups.first().is_some_and(|g| g.is_empty()) {
            self.groups.remove(0);
        }
        let Some(group) = self.groups.first_mut() else { return Ok(ReadOutcome::End) };
        let first = group.start;
        let scanned = group.len().min(request.max_rows);
        group.start += scanned;
        let (spec, binding) = (&self.params.spec, &self.params.binding);
        let mut selected: Vec<u32> = (0..scanned as u32).collect();
        let mut children = Vec::new();
        let mut fields = Vec::new();
        let bound = |i: usize| match binding.column(i) {
            Some(BoundColumn::File { ordinal }) => Some(*ordinal),
            _ => None,
        };
        for (i, column) in spec.columns().iter().enumerate() {
            let Some(ordinal) = bound(i) else { continue };
            let filter = request.adaptation.dynamic_filter(i).or(column.filter.as_ref());
            selected.retain(|row| {
                let value = &self.rows[first + *row as usize][ordinal];
                let value = shaped(value, column, binding.nested(i));
                filter.is_none_or(|f| f.test_value(&value, &column.ty).unwrap())
                    && fields_pass(&value, &column.nested)
            });
        }
        for (i, column) in spec.columns().iter().enumerate() {
            let (Some(ordinal), Some(_)) = (bound(i), column.channel) else { continue };
            let values: Vec<Value> = selected
                .iter()
                .map(|row| &self.rows[first + *row as usize][ordinal])
                .map(|value| shaped(value, column, binding.nested(i)))
                .collect();
            assert!(!has_key_filter(&column.nested), "key filters are not for this reader");
            let file_type = &self.types[ordinal];
            if file_type.is_nested() != column.ty.is_nested() {
                return Err(Error::unsupported("the column cannot be read as this type"));
            }
            fields.push((column.name.clone(), column.ty.clone()));
            children.push(self.column(column, values)?);
        }
        let batch = RowVector::batch(Arc::new(RowType::new(fields)), selected.len(), children)?;
        let selected = RowSet::from_positions(selected.into_iter().collect());
        Ok(ReadOutcome::Rows(ReadRows { first_row: first as u64, scanned, selected, batch }))
    }

    fn estimated_row_size(&self) -> Option<u64> {
        Some(8)
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        metrics.add_count("processedStrides", 1);
        metrics
    }
}

impl FakeRows {
    fn column(&self, column: &ColumnSpec, values: Vec<Value>) -> Result<VectorRef> {
        if column.name != "lazy" {
            return vector_of(&column.ty, &values);
        }
        let (ty, len) = (column.ty.clone(), values.len());
        let loader = FakeLoader { ty: ty.clone(), values, loads: self.loads.clone() };
        Ok(Arc::new(Vector::Lazy(LazyVector::new(ty, len, loader))))
    }
}

struct FakeLoader {
    ty: Type,
    values: Vec<Value>,
    loads: Arc<Mutex<Vec<usize>>>,
}

impl VectorLoader for FakeLoader {
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
        self.loads.lock().push(rows.len());
        let mut values = vec![Value::Null; self.values.len()];
        rows.iter().for_each(|row| values[row] = self.values[row].clone());
        vector_of(&self.ty, &values)
    }
}

/// Returns a value of the file in the shape of the spec: fields at the positions of the binding,
/// null for all others; lists truncated.
fn shaped(value: &Value, spec: &ColumnSpec, binding: &NestedBinding) -> Value {
    let below = |ty: &Type, nested: Option<&ColumnSpec>| match nested {
        Some(spec) => spec.clone(),
        None => ColumnSpec::whole("", ty.clone(), 0),
    };
    match (value, &spec.ty, binding) {
        (Value::Row(file), Type::Row(row), NestedBinding::Row(bound)) => {
            let fields = row.types().iter().zip(bound).enumerate().map(|(i, (ty, bound))| {
                let spec = match &spec.nested {
                    NestedSpec::Row(fields) => match &fields[i] {
                        FieldSpec::Wanted(spec) => Some(spec),
                        FieldSpec::Pruned => return Value::Null,
                    },
                    _ => None,
                };
                match bound {
                    Some(b) => shaped(&file[b.ordinal], &below(ty, spec), &b.nested),
                    None => Value::Null,
                }
            });
            Value::Row(fields.collect())
        }
        (Value::Array(items), Type::Array(ty), NestedBinding::Array(bound)) => {
            let (spec, max) = match &spec.nested {
                NestedSpec::Array { element, max_elements } => (Some(&**element), *max_elements),
                _ => (None, usize::MAX),
            };
            let item = |v| bound.as_ref().map_or(Value::Null, |b| shaped(v, &below(ty, spec), b));
            Value::Array(items.iter().take(max).map(item).collect())
        }
        (Value::Map(items), Type::Map(_, ty), NestedBinding::Map(bound)) => {
            let spec = match &spec.nested {
                NestedSpec::Map { value, .. } => Some(&**value),
                _ => None,
            };
            let item = |v| bound.as_ref().map_or(Value::Null, |b| shaped(v, &below(ty, spec), b));
            Value::Map(items.iter().map(|(k, v)| (k.clone(), item(v))).collect())
        }
        (value, ..) => value.clone(),
    }
}

fn fields_pass(value: &Value, nested: &NestedSpec) -> bool {
    let NestedSpec::Row(specs) = nested else { return true };
    specs.iter().enumerate().all(|(i, field)| {
        let FieldSpec::Wanted(spec) = field else { return true };
        let value = match value {
            Value::Row(fields) => fields[i].clone(),
            _ => Value::Null,
        };
        let own = spec.filter.as_ref().is_none_or(|f| f.test_value(&value, &spec.ty).unwrap());
        own && fields_pass(&value, &spec.nested)
    })
}

fn has_key_filter(nested: &NestedSpec) -> bool {
    match nested {
        NestedSpec::Whole => false,
        NestedSpec::Row(fields) => fields
            .iter()
            .any(|f| matches!(f, FieldSpec::Wanted(spec) if has_key_filter(&spec.nested))),
        NestedSpec::Array { element, .. } => has_key_filter(&element.nested),
        NestedSpec::Map { key, value } => key.filter.is_some() || has_key_filter(&value.nested),
    }
}
