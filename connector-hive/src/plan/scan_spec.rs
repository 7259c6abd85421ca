//! Construction of a scan's spec from column handles and filters.
//!
//! ```text
//! columns       outputs | columns of the remaining filter | columns used only by filters
//! channel       0 .. n  | n ..                            | none
//! ```
//!
//! The reader's output has the first two groups. The data source drops the second one after it has
//! evaluated the remaining filter (rule S6.10). A split with a bucket conversion adds a group after
//! the second: the bucket columns that are not read otherwise (S6.55).

use std::collections::HashMap;

use dwio::filter::Filter;
use dwio::scan_spec::{ColumnSource, ColumnSpec, FieldSpec, NestedSpec, ScanSpec};
use dwio::subfield::{PathElement, Subfield};
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType, Type};

use crate::plan::columns::ScanColumns;
use crate::plan::expr_subfields::expression_subfields;
use crate::plan::prune::fields_of;
use crate::plan::pushdown::Pushdown;
use crate::plan::subfields::{filter_only_spec, nested_spec};
use crate::table::column_handle::{ColumnKind, FileColumn};
use crate::table::extraction::needed_subfields;
use crate::table::hidden_columns::synthesized_column_type;

/// Columns that one scan reads of each split.
#[derive(Debug, Clone)]
pub(crate) struct ReadColumns {
    /// Columns with their filters.
    pub spec: Arc<ScanSpec>,
    /// For each column of the spec, its name and occurrence in the files, if the name of the spec
    /// does not determine it.
    pub file_columns: Arc<[Option<FileColumn>]>,
    /// Type of the reader's output: the columns of the spec that have a channel, in order of
    /// channels.
    pub reader_type: Arc<RowType>,
    /// Number of reader columns that are outputs of the scan. The other ones are used only by the
    /// remaining filter.
    pub num_outputs: usize,
}

impl ReadColumns {
    /// Lays out the columns of a scan (rules S5.23 to S5.28). A column that only filters use takes
    /// its type from its handle, the condition or `data_columns`.
    ///
    /// # Errors
    /// `Internal` for a filter on row numbers, on an unknown column or on a path without pushdown
    /// support, and the errors of subfields that do not fit their type.
    pub(crate) fn new(
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
        // Index of the first spec of each name.
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for handle in columns.outputs() {
            let ty = handle.schema_type().clone();
            let mut spec = ColumnSpec::whole(handle.name(), ty, specs.len());
            spec.source = source_of(handle.kind());
            // A handle has either required subfields or extractions, not both (rule S16.5).
            let mut required = handle.required_subfields().to_vec();
            required.extend(needed_subfields(
                handle.name(),
                handle.schema_type(),
                handle.extractions(),
            ));
            if !required.is_empty() {
                // A pruned column must also have the subfields that the remaining filter uses (rule
                // S6.11).
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

    /// Returns the columns with the bucket columns added and read whole, and the channel of each
    /// bucket column. Columns that were not read before are appended, so that existing positions in
    /// the spec and channels do not change (rules S6.55, S6.56).
    ///
    /// # Errors
    /// `Internal` if a bucket column is not a column of the files.
    pub(crate) fn with_bucket_columns(
        &self,
        buckets: &[(&str, &Type)],
    ) -> Result<(Self, Vec<usize>)> {
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

/// Returns the spec without filters on map keys, for readers that do not support them. The entries
/// are then dropped after reading.
pub(crate) fn without_key_filters(spec: &ScanSpec) -> ScanSpec {
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

/// Removes all pruning and keeps filters on fields.
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
        // Only struct fields have filters, so replacing the spec of a list or map loses none.
        (nested, _) => *nested = NestedSpec::Whole,
    }
}

pub(crate) fn source_of(kind: ColumnKind) -> ColumnSource {
    match kind {
        ColumnKind::PartitionKey | ColumnKind::Synthesized => ColumnSource::Synthesized,
        ColumnKind::RowIndex => ColumnSource::RowIndex,
        ColumnKind::RowId => ColumnSource::RowId,
        ColumnKind::Regular => ColumnSource::Regular,
    }
}

/// Returns the spec of a column that is used only by filters and is not in the output.
fn filter_only(
    name: &str,
    columns: &ScanColumns,
    pushdown: &Pushdown,
    data_columns: Option<&RowType>,
) -> Result<ColumnSpec> {
    let declared = columns.handle(name).map(|h| h.schema_type().clone());
    let ty = declared
        .or_else(|| synthesized_column_type(name))
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

/// Attaches a filter to the column, or to the field at the end of the path.
fn attach(
    spec: &mut ColumnSpec,
    subfield: &Subfield,
    path: &[PathElement],
    filter: &Arc<Filter>,
) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        // A filter on a struct, list or map can only test for null (rule S10.17).
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
