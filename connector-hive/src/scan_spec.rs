//! From handles and filters to what is read: the scan's spec.
//!
//! ```text
//! plan's part   outputs | columns of the remaining filter | columns that only filter
//! channel       0 .. n  | n ..                            | none
//! ```
//!
//! The reader's output is the first two groups; the data source drops the second one after the
//! remaining filter was evaluated (rule S6.10). A split whose rows have to be put into buckets
//! adds a fourth group behind the second: the bucket columns that nobody else reads (S6.55).

use std::collections::HashMap;

use dwio::filter::Filter;
use dwio::scan_spec::{ColumnSource, ColumnSpec, FieldSpec, NestedSpec, ScanSpec};
use dwio::subfield::{PathElement, Subfield};
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType, Type};

use crate::columns::ScanColumns;
use crate::expr_subfields::expression_subfields;
use crate::extraction::needed_subfields;
use crate::handles::{ColumnKind, FileColumn, info_column_type};
use crate::prune::fields_of;
use crate::pushdown::Pushdown;
use crate::subfields::{filter_only_spec, nested_spec};

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

impl ReadColumns {
    /// Lays out the columns of a scan (rules S5.23 to S5.28). Columns that only filters use take
    /// their type from `data_columns`.
    pub fn new(
        columns: &ScanColumns,
        pushdown: &Pushdown,
        data_columns: Option<&RowType>,
    ) -> Result<Self> {
        let remaining = pushdown.remaining.as_ref().map(fields_of).unwrap_or(RowType::empty());
        let used = pushdown.remaining.as_ref().map(expression_subfields).unwrap_or_default();
        let mut used_by_column: HashMap<&str, Vec<&Subfield>> = HashMap::new();
        for subfield in &used {
            used_by_column.entry(subfield.column_name()).or_default().push(subfield);
        }
        let used_of = |name: &str| -> Vec<Subfield> {
            used_by_column.get(name).into_iter().flatten().map(|s| Subfield::clone(s)).collect()
        };
        let mut specs: Vec<ColumnSpec> = Vec::new();
        // The first spec of each name.
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for handle in columns.outputs() {
            let ty = handle.schema_type().clone();
            let mut spec = ColumnSpec::whole(handle.name(), ty, specs.len());
            spec.source = source_of(handle.kind());
            // A handle has the one or the other (rule S16.5).
            let mut required = handle.required_subfields().to_vec();
            required.extend(needed_subfields(
                handle.name(),
                handle.schema_type(),
                handle.extractions(),
            ));
            if !required.is_empty() {
                // Rule S6.11: the union of what is given out and what the filter looks at.
                required.extend(used_of(handle.name()));
            }
            spec.nested =
                nested_spec(handle.name(), handle.schema_type(), &required, &pushdown.filters)?;
            by_name.entry(spec.name.clone()).or_insert(specs.len());
            specs.push(spec);
        }
        for (name, ty) in remaining.fields() {
            if !by_name.contains_key(name) {
                let mut spec = ColumnSpec::whole(name, ty.clone(), specs.len());
                spec.source = source_of(columns.kind(name));
                let required = used_of(name);
                spec.nested = nested_spec(name, ty, &required, &pushdown.filters)?;
                by_name.insert(name.to_string(), specs.len());
                specs.push(spec);
            }
        }
        for (subfield, filter) in &pushdown.filters {
            let name = subfield.column_name();
            let at = match by_name.get(name) {
                Some(at) => *at,
                None => {
                    by_name.insert(name.to_string(), specs.len());
                    specs.push(filter_only(name, columns, pushdown, data_columns)?);
                    specs.len() - 1
                }
            };
            if matches!(specs[at].source, ColumnSource::RowIndex | ColumnSource::RowId) {
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
        Ok(Self::of_specs(specs, file_columns, columns.outputs().len()))
    }

    fn of_specs(
        specs: Vec<ColumnSpec>,
        file_columns: Arc<[Option<FileColumn>]>,
        num_outputs: usize,
    ) -> Self {
        let spec = ScanSpec::new(specs);
        let reader_type = Arc::new(spec.output_type());
        ReadColumns { spec: Arc::new(spec), file_columns, reader_type, num_outputs }
    }

    /// The same columns with the bucket columns among them, read whole, and the channel of each
    /// bucket column. Columns that nobody else reads come behind all others, so that positions in
    /// the spec and channels stay what they are (rules S6.55, S6.56).
    pub fn with_bucket_columns(&self, buckets: &[(&str, &Type)]) -> Result<(Self, Vec<usize>)> {
        let mut specs = self.spec.columns().to_vec();
        let mut file_columns = self.file_columns.to_vec();
        let mut num_channels = self.reader_type.len();
        let mut channels = Vec::with_capacity(buckets.len());
        for (name, ty) in buckets {
            let at = match specs.iter().position(|s| s.name == *name) {
                Some(at) => at,
                None => {
                    let mut spec = ColumnSpec::whole(*name, (*ty).clone(), 0);
                    spec.channel = None;
                    specs.push(spec);
                    file_columns.push(None);
                    specs.len() - 1
                }
            };
            let spec = &mut specs[at];
            if spec.source != ColumnSource::Regular {
                return Err(Error::internal("a bucket column is not a column of the files")
                    .in_named("column", name));
            }
            read_whole(&mut spec.nested, &spec.ty);
            let channel = spec.channel.unwrap_or(num_channels);
            num_channels = num_channels.max(channel + 1);
            spec.channel = Some(channel);
            channels.push(channel);
        }
        Ok((Self::of_specs(specs, file_columns.into(), self.num_outputs), channels))
    }
}

/// The spec without filters on map keys, for readers that do not know them. What they would have
/// dropped is dropped after reading.
pub fn without_key_filters(spec: &ScanSpec) -> ScanSpec {
    let mut columns = spec.columns().to_vec();
    columns.iter_mut().for_each(|column| drop_key_filters(&mut column.nested));
    ScanSpec::new(columns)
}

fn drop_key_filters(nested: &mut NestedSpec) {
    match nested {
        NestedSpec::Whole => {}
        NestedSpec::Row(fields) => {
            for field in fields {
                if let FieldSpec::Wanted(spec) = field {
                    drop_key_filters(&mut spec.nested);
                }
            }
        }
        NestedSpec::Array { element, .. } => drop_key_filters(&mut element.nested),
        NestedSpec::Map { key, value } => {
            key.filter = None;
            drop_key_filters(&mut key.nested);
            drop_key_filters(&mut value.nested);
        }
    }
}

/// Takes back all pruning; filters on fields stay.
fn read_whole(nested: &mut NestedSpec, ty: &Type) {
    match (nested, ty) {
        (NestedSpec::Row(fields), Type::Row(row)) => {
            for (i, (field, (name, ty))) in fields.iter_mut().zip(row.fields()).enumerate() {
                match field {
                    FieldSpec::Wanted(spec) => read_whole(&mut spec.nested, &spec.ty),
                    FieldSpec::Pruned => {
                        *field = FieldSpec::Wanted(ColumnSpec::whole(name, ty.clone(), i));
                    }
                }
            }
        }
        // Filters are on fields of structs only, so nothing is lost below lists and maps.
        (nested, _) => *nested = NestedSpec::Whole,
    }
}

pub(crate) fn source_of(kind: ColumnKind) -> ColumnSource {
    match kind {
        ColumnKind::PartitionKey | ColumnKind::Synthesized => ColumnSource::SplitConstant,
        ColumnKind::RowIndex => ColumnSource::RowIndex,
        ColumnKind::RowId => ColumnSource::RowId,
        ColumnKind::Regular => ColumnSource::Regular,
    }
}

/// The spec of a column that is in no output and only filters.
fn filter_only(
    name: &str,
    columns: &ScanColumns,
    pushdown: &Pushdown,
    data_columns: Option<&RowType>,
) -> Result<ColumnSpec> {
    let declared = columns.handle(name).map(|h| h.schema_type().clone());
    let ty = declared
        .or_else(|| info_column_type(name))
        .or_else(|| pushdown.condition_fields.type_of(name).cloned())
        .or_else(|| data_columns.and_then(|d| d.type_of(name)).cloned())
        .ok_or_else(|| {
            Error::internal("a filter names a column that the table has not")
                .in_named("column", name)
        })?;
    let nested = filter_only_spec(name, &ty, &pushdown.filters)?;
    let source = source_of(columns.kind(name));
    Ok(ColumnSpec { name: name.to_string(), ty, source, channel: None, filter: None, nested })
}

/// Puts a filter on the column, or on the field that the rest of the path leads to.
fn attach(
    spec: &mut ColumnSpec,
    subfield: &Subfield,
    path: &[PathElement],
    filter: &Arc<Filter>,
) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        // Rule S10.17: of a struct, list or map a filter can only ask whether it is null.
        if spec.ty.is_nested() && matches!(**filter, Filter::Values { .. }) {
            return Err(Error::internal("a filter of scalar values on a nested column")
                .with("filter", filter)
                .with("type", &spec.ty)
                .in_named("column", subfield.to_string()));
        }
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
