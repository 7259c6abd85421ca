//! From handles and filters to what is read: the scan's spec, and its binding to one split.
//!
//! ```text
//! plan's part   outputs | columns of the remaining filter | columns that only filter
//! channel       0 .. n  | n ..                            | none
//! split's part  constant (partition, info) > file column by name > null
//! ```
//!
//! The reader's output is the first two groups; the data source drops the second one after the
//! remaining filter was evaluated (rule S6.10).

use dwio::adaptation::ScanAdaptation;
use dwio::filter::Filter;
use dwio::scan_spec::{
    BoundColumn, ColumnSource, ColumnSpec, FieldSpec, NestedSpec, ScanSpec, SplitBinding,
};
use dwio::subfield::{PathElement, Subfield};
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType, Type, Value};

use crate::columns::ScanColumns;
use crate::handles::{ColumnKind, FileColumn, info_column_type};
use crate::partition::{DateText, parse_value};
use crate::prune::fields_of;
use crate::pushdown::Pushdown;
use crate::split::HiveSplit;

/// What one scan reads of every split.
#[derive(Debug, Clone)]
pub struct ReadColumns {
    /// The columns with their filters.
    pub spec: Arc<ScanSpec>,
    /// For each column of the spec, which column of the files it is, where the name alone does
    /// not tell.
    pub file_columns: Arc<[Option<FileColumn>]>,
    /// The reader's output: the spec's columns that have a channel, by channel.
    pub reader_type: Arc<RowType>,
    /// How many of the reader's columns are the scan's output; the others only serve the
    /// remaining filter.
    pub num_outputs: usize,
}

/// A path below a column that is wanted, or that only a filter looks at.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    path: &'a [PathElement],
    filter_only: bool,
}

impl ReadColumns {
    /// Lays out the columns of a scan (rules S5.23 to S5.28). Columns that only filters use take
    /// their type from `data_columns`.
    pub fn new(
        columns: &ScanColumns,
        pushdown: &Pushdown,
        data_columns: Option<&RowType>,
    ) -> Result<Self> {
        let remaining = pushdown.remaining.as_ref().map(fields_of).unwrap_or(RowType::empty());
        let mut specs: Vec<ColumnSpec> = Vec::new();
        for handle in columns.outputs() {
            let mut spec = ColumnSpec::whole(handle.name(), handle.ty().clone(), specs.len());
            spec.source = source_of(handle.kind());
            // The remaining filter may look at any part of a column that it uses.
            if remaining.index_of(handle.name()).is_none() {
                let required = handle.required_subfields();
                spec.nested = nested_of(handle.name(), handle.ty(), required, &pushdown.filters)?;
            }
            specs.push(spec);
        }
        for (name, ty) in remaining.fields() {
            if !specs.iter().any(|s| s.name == name) {
                let mut spec = ColumnSpec::whole(name, ty.clone(), specs.len());
                spec.source = source_of(columns.kind(name));
                specs.push(spec);
            }
        }
        for (subfield, filter) in &pushdown.filters {
            let name = subfield.column_name();
            let at = match specs.iter().position(|s| s.name == name) {
                Some(at) => at,
                None => {
                    specs.push(filter_only(name, columns, pushdown, data_columns)?);
                    specs.len() - 1
                }
            };
            if specs[at].source == ColumnSource::RowIndex {
                return Err(Error::internal(
                    "a filter on row numbers cannot be pushed into a scan",
                )
                .in_named("column", name));
            }
            attach(&mut specs[at], subfield, &subfield.path()[1..], filter)?;
        }
        let file_columns =
            specs.iter().map(|s| columns.handle(&s.name).and_then(|h| h.file_column()).cloned());
        let file_columns = file_columns.collect();
        let spec = ScanSpec::new(specs);
        let reader_type = Arc::new(spec.output_type());
        let num_outputs = columns.outputs().len();
        Ok(ReadColumns { spec: Arc::new(spec), file_columns, reader_type, num_outputs })
    }
}

fn source_of(kind: ColumnKind) -> ColumnSource {
    match kind {
        ColumnKind::PartitionKey | ColumnKind::Synthesized => ColumnSource::SplitConstant,
        ColumnKind::RowIndex => ColumnSource::RowIndex,
        ColumnKind::Regular | ColumnKind::RowId => ColumnSource::Regular,
    }
}

/// The spec of a column that is in no output and only filters.
fn filter_only(
    name: &str,
    columns: &ScanColumns,
    pushdown: &Pushdown,
    data_columns: Option<&RowType>,
) -> Result<ColumnSpec> {
    let declared = columns.handle(name).map(|h| h.ty().clone());
    let ty = declared
        .or_else(|| info_column_type(name))
        .or_else(|| pushdown.condition_fields.type_of(name).cloned())
        .or_else(|| data_columns.and_then(|d| d.type_of(name)).cloned())
        .ok_or_else(|| {
            Error::internal("a filter names a column that the table has not")
                .in_named("column", name)
        })?;
    let nested = nested_of(name, &ty, &[], &pushdown.filters)?;
    let source = source_of(columns.kind(name));
    Ok(ColumnSpec { name: name.to_string(), ty, source, channel: None, filter: None, nested })
}

/// What is wanted below a column: `required` parts, or all of it when none are listed and the
/// column is an output, and the fields that filters look at (rules S3.7, S3.9).
fn nested_of(
    name: &str,
    ty: &Type,
    required: &[Subfield],
    filters: &[(Subfield, Arc<Filter>)],
) -> Result<NestedSpec> {
    let required = required.iter().map(|s| Wanted { path: s.path(), filter_only: false });
    let filters = filters
        .iter()
        .filter(|(s, _)| s.column_name() == name)
        .map(|(s, _)| Wanted { path: s.path(), filter_only: true });
    let mut wanted: Vec<Wanted<'_>> = required.collect();
    if wanted.is_empty() {
        return Ok(NestedSpec::Whole);
    }
    wanted.extend(filters);
    nested_below(ty, &wanted, 1).in_named("column", name)
}

/// Struct fields that nothing names are pruned (rules S3.10 to S3.12). Lists and maps are read
/// whole: keeping more of them than asked for is always right (S3.8).
fn nested_below(ty: &Type, wanted: &[Wanted<'_>], level: usize) -> Result<NestedSpec> {
    let Type::Row(row) = ty else { return Ok(NestedSpec::Whole) };
    if wanted.iter().any(|w| !w.filter_only && w.path.len() <= level) {
        return Ok(NestedSpec::Whole);
    }
    for step in wanted.iter().filter_map(|w| w.path.get(level)) {
        if !matches!(step, PathElement::Field(name) if row.index_of(name).is_some()) {
            return Err(Error::invalid_input("a subfield names no field of its struct")
                .with("step", format_args!("{step:?}"))
                .with("struct", row));
        }
    }
    let fields = row.fields().enumerate().map(|(channel, (name, ty))| {
        let here: Vec<Wanted<'_>> = wanted
            .iter()
            .filter(|w| matches!(w.path.get(level), Some(PathElement::Field(n)) if **n == *name))
            .copied()
            .collect();
        if here.is_empty() {
            return Ok(FieldSpec::Pruned);
        }
        let mut spec = ColumnSpec::whole(name, ty.clone(), channel);
        spec.nested = nested_below(ty, &here, level + 1)?;
        Ok(FieldSpec::Wanted(spec))
    });
    Ok(NestedSpec::Row(fields.collect::<Result<_>>()?))
}

/// Puts a filter on the column, or on the field that the rest of the path leads to.
fn attach(
    spec: &mut ColumnSpec,
    subfield: &Subfield,
    path: &[PathElement],
    filter: &Arc<Filter>,
) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        spec.filter = Some(match &spec.filter {
            None => Arc::clone(filter),
            Some(earlier) => {
                let both = earlier.merge(filter);
                Arc::new(both.in_named("column", subfield.to_string())?)
            }
        });
        return Ok(());
    };
    if let (Type::Row(row), NestedSpec::Whole) = (&spec.ty, &spec.nested) {
        let whole = |(channel, (name, ty)): (usize, (&str, &Type))| {
            FieldSpec::Wanted(ColumnSpec::whole(name, ty.clone(), channel))
        };
        spec.nested = NestedSpec::Row(row.fields().enumerate().map(whole).collect());
    }
    if let (PathElement::Field(name), NestedSpec::Row(fields)) = (step, &mut spec.nested) {
        for field in fields {
            match field {
                FieldSpec::Wanted(field) if field.name == **name => {
                    return attach(field, subfield, rest, filter);
                }
                _ => {}
            }
        }
    }
    Err(Error::internal("a filter on this path cannot be pushed into a scan")
        .with("path", subfield))
}

/// The constants that a split has for the columns of a spec, by the spec's order; `None` where the
/// file has to be asked (rules S7.21, S7.22). A partition value wins over a column of the file of
/// the same name. Nothing is opened.
pub fn split_constants(
    spec: &ScanSpec,
    split: &HiveSplit,
    dates: DateText,
) -> Result<Vec<Option<Value>>> {
    let constant = |column: &ColumnSpec| match column.source {
        ColumnSource::RowIndex | ColumnSource::RowId => Ok(None),
        ColumnSource::SplitConstant => {
            split_value(split, &column.name, &column.ty, dates).map(Some)
        }
        ColumnSource::Regular => split
            .partition_value(&column.name)
            .map(|text| parse_value(&column.name, text, &column.ty, dates))
            .transpose(),
    };
    spec.columns().iter().map(constant).collect()
}

/// The value that all rows of a split have in a partition or info column. An info column of a
/// known name that the split does not tell is null; another column is `InvalidInput`.
pub fn split_value(split: &HiveSplit, name: &str, ty: &Type, dates: DateText) -> Result<Value> {
    if let Some(text) = split.partition_value(name) {
        return parse_value(name, text, ty, dates);
    }
    match split.info_columns.get(name) {
        // Info columns always have ISO dates (rule S8.6).
        Some(text) => parse_value(name, Some(text), ty, DateText::Iso),
        None if info_column_type(name).is_some() => Ok(Value::Null),
        None => Err(Error::invalid_input("a split has no value for a partition column")
            .with("column", name)),
    }
}

/// Binds columns to an open file (rules S7.21 to S7.25): `constants` first, then columns of the
/// file by name, then null for columns that the file has not.
pub fn bind(
    columns: &ReadColumns,
    constants: &[Option<Value>],
    file_type: &RowType,
) -> Result<SplitBinding> {
    let wanted = columns.spec.columns().iter().zip(&*columns.file_columns).zip(constants);
    let bound = wanted.map(|((column, file_column), constant)| {
        let found = match (constant, column.source, file_column) {
            (Some(value), _, _) => return Ok(BoundColumn::Constant(value.clone())),
            (None, ColumnSource::RowIndex, _) => return Ok(BoundColumn::RowIndex),
            (None, _, Some(column)) => {
                find_column(file_type, &column.name, Some(column.occurrence))?
            }
            (None, _, None) => find_column(file_type, &column.name, None)?,
        };
        Ok(match found {
            Some(ordinal) => BoundColumn::File { ordinal },
            None => BoundColumn::Constant(Value::Null),
        })
    });
    Ok(SplitBinding::new(bound.collect::<Result<_>>()?))
}

/// The position of the file's column `name`: the one of exactly this name, else the only one that
/// differs in case. Of several of exactly this name `occurrence` picks one. `InvalidInput` when it
/// stays open which one is meant.
fn find_column(
    file_type: &RowType,
    name: &str,
    occurrence: Option<usize>,
) -> Result<Option<usize>> {
    let matching = |same: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let names = file_type.names().iter().enumerate();
        names.filter(|(_, n)| same(n)).map(|(i, _)| i).collect()
    };
    let mut found = matching(&|n| n == name);
    if let (Some(occurrence), false) = (occurrence, found.is_empty()) {
        return Ok(found.get(occurrence).copied());
    }
    if found.is_empty() && occurrence.unwrap_or(0) == 0 {
        let lower = name.to_lowercase();
        found = matching(&|n| n.to_lowercase() == lower);
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let names: Vec<&str> =
                several.iter().filter_map(|i| file_type.names().get(*i)).map(|n| &**n).collect();
            Err(Error::invalid_input("several columns of the file have this name")
                .with("column", name)
                .with("found", names.join(" ")))
        }
    }
}

/// The first column whose constant its filter rejects, so that no row of the split can pass.
/// `constant` gives the value of column `i` if all rows have the same (rule S7.40).
pub fn rejected_column<'a>(
    spec: &'a ScanSpec,
    adaptation: &ScanAdaptation,
    constant: impl Fn(usize) -> Option<&'a Value>,
) -> Result<Option<&'a ColumnSpec>> {
    for (i, column) in spec.columns().iter().enumerate() {
        let Some(value) = constant(i) else { continue };
        let own = adaptation.dynamic_filter(i).or(column.filter.as_ref());
        let passes = match own {
            Some(filter) => {
                filter.test_value(value, &column.ty).in_named("column", &column.name)?
            }
            None => true,
        };
        // A missing struct has missing fields (rule S5.37).
        if !passes || (value.is_null() && !fields_accept_null(column)?) {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

fn fields_accept_null(column: &ColumnSpec) -> Result<bool> {
    let NestedSpec::Row(fields) = &column.nested else { return Ok(true) };
    for field in fields {
        let FieldSpec::Wanted(field) = field else { continue };
        let own = match &field.filter {
            Some(filter) => filter.test_value(&Value::Null, &field.ty)?,
            None => true,
        };
        if !own || !fields_accept_null(field)? {
            return Ok(false);
        }
    }
    Ok(true)
}
