//! Bindings: for each column of a scan, where one split has it. A column is a constant of the
//! split, a column of its file, or missing.
//!
//! ```text
//! partition key of the split > synthesized column of the split > row number
//!     > column of the file > null
//! ```
//!
//! The first source that applies is used (rules S7.21 to S7.25). A binding is built for each split
//! without regard to earlier splits (S7.28).

use dwio::adaptation::ScanAdaptation;
use dwio::reader::Reader;
use dwio::scan_spec::{
    BoundColumn, ColumnSource, ColumnSpec, FieldSpec, NestedBinding, NestedSpec, ScanSpec,
    SplitBinding,
};
use dwio::stats::{Match, may_match};
use dwio::subfield::PathElement;
use vector::{Error, Result, ResultExt, Type, Value};

use crate::plan::columns::ScanColumns;
use crate::plan::pushdown::Pushdown;
use crate::plan::scan_spec::ReadColumns;
use crate::read::mapping::{FileMapping, NameMatch};
use crate::settings::ScanSettings;
use crate::split::hive_split::HiveSplit;
use crate::table::column_handle::ColumnKind;
use crate::table::partition::{DateText, TextRules, parse_value};
use crate::table::table_handle::{ColumnMapping, HiveTableHandle};

/// Parameters of reading that are the same for all splits of a scan.
#[derive(Debug, Clone)]
pub(crate) struct ScanPlan {
    /// Columns for which the scan has handles.
    pub columns: ScanColumns,
    /// Handle of the table.
    pub table: HiveTableHandle,
    /// Settings of the scan.
    pub settings: ScanSettings,
}

impl ScanPlan {
    /// Returns the value that all rows of the split have in column `name`; `None` if the split does
    /// not define it.
    ///
    /// # Errors
    /// `Internal` for a partition value of a column that is not a partition key of the scan (rule
    /// S7.21), `InvalidInput` if the text is not valid for the type.
    pub(crate) fn split_value(
        &self,
        split: &HiveSplit,
        name: &str,
        ty: &Type,
    ) -> Result<Option<Value>> {
        let zone = self.settings.timestamp_zone.as_ref();
        if let Some(text) = split.partition_value(name) {
            let handle = self.columns.handle(name);
            let Some(handle) = handle.filter(|h| h.kind() == ColumnKind::PartitionKey) else {
                return Err(Error::internal("column handle missing for partition key")
                    .in_named("column", name));
            };
            let rules = TextRules { dates: handle.date_text(), zone };
            return parse_value(name, text, ty, rules).map(Some);
        }
        let Some(text) = split.synthesized_columns.get(name) else { return Ok(None) };
        // Dates in synthesized columns always have the ISO form (rule S8.6).
        let rules = TextRules { dates: DateText::Iso, zone };
        parse_value(name, Some(text), ty, rules).map(Some)
    }

    /// Returns the constants that a split has for the columns of a spec, in the order of the spec;
    /// `None` for a column that must be looked up in the file. Opens no file.
    ///
    /// # Errors
    /// As [`ScanPlan::split_value`].
    pub(crate) fn split_constants(
        &self,
        split: &HiveSplit,
        spec: &ScanSpec,
    ) -> Result<Vec<Option<Value>>> {
        let constant = |column: &ColumnSpec| match column.source {
            ColumnSource::RowIndex | ColumnSource::RowId => Ok(None),
            ColumnSource::Synthesized | ColumnSource::Regular => {
                self.split_value(split, &column.name, &column.ty)
            }
        };
        spec.columns().iter().map(constant).collect()
    }

    /// Checks that no column name has upper-case letters. It is called if the names in files are
    /// converted to lower case, so that such a name could never be found (rule S6.7).
    ///
    /// # Errors
    /// `Internal` if a name has an upper-case letter.
    pub(crate) fn check_lower_case(
        &self,
        columns: &ReadColumns,
        pushdown: &Pushdown,
    ) -> Result<()> {
        let spec = columns.spec.columns().iter();
        let names = spec.filter(|c| c.source == ColumnSource::Regular);
        let paths = pushdown.filters.iter().flat_map(|(subfield, _)| subfield.path());
        let of_paths = paths.filter_map(PathElement::as_field);
        let found = names
            .clone()
            .map(|c| c.name.as_str())
            .chain(of_paths)
            .find(|name| name.chars().any(|c| c.is_ascii_uppercase()))
            .or_else(|| names.clone().find_map(|c| upper_case_field(&c.ty)));
        match found {
            None => Ok(()),
            Some(name) => Err(Error::internal(
                "a column name with upper-case letters while names are read as lower case",
            )
            .with("name", name)),
        }
    }

    /// Returns the mapping of columns for the file of a split: the split's own, else the table's,
    /// else the one of the settings (rule S7.46).
    ///
    /// # Errors
    /// `InvalidInput` if a setting has an invalid value.
    pub(crate) fn column_mapping(&self, split: &HiveSplit) -> Result<ColumnMapping> {
        if let Some(mapping) = split.column_mapping.or(self.table.column_mapping()) {
            return Ok(mapping);
        }
        Ok(match self.settings.use_column_names(&split.format)? {
            Some(true) => ColumnMapping::Name,
            _ => ColumnMapping::Position,
        })
    }

    /// Binds columns to an open file. Columns with a value in `constants` are not looked up in the
    /// file.
    ///
    /// # Errors
    /// `InvalidInput` if a name or field id is ambiguous in the file, `Internal` if columns are
    /// mapped by field id and a column has none.
    pub(crate) fn bind(
        &self,
        split: &HiveSplit,
        columns: &ReadColumns,
        constants: &[Option<Value>],
        reader: &dyn Reader,
    ) -> Result<SplitBinding> {
        let file_ids = reader.field_id_tree();
        let mapping = FileMapping {
            mapping: self.column_mapping(split)?,
            names: if self.settings.lower_case_names {
                NameMatch::LowerCase
            } else if self.table.names_in_any_case() {
                NameMatch::AnyCase
            } else {
                NameMatch::Exact
            },
            null_struct_if_all_fields_missing: self.settings.null_struct_if_all_fields_missing,
            data_columns: self.table.data_columns().map(|d| d.as_ref()),
            data_ids: self.table.field_ids(),
            file_type: reader.row_type(),
            file_ids: &file_ids,
        };
        let requested = columns.spec.columns().iter().zip(&*columns.file_columns).zip(constants);
        let bound = requested.map(|((column, file_column), constant)| {
            if let Some(value) = constant {
                return Ok((BoundColumn::Constant(value.clone()), NestedBinding::ByName));
            }
            if matches!(column.source, ColumnSource::RowIndex | ColumnSource::RowId) {
                return Ok((BoundColumn::RowIndex, NestedBinding::ByName));
            }
            let found = mapping.column(column, file_column.as_ref());
            Ok(match found.in_named("column", &column.name)? {
                Some((ordinal, nested)) => (BoundColumn::File { ordinal }, nested),
                None => (BoundColumn::Constant(Value::Null), NestedBinding::ByName),
            })
        });
        let (bound, nested) = bound.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok(SplitBinding::new(bound).with_nested(nested))
    }
}

fn upper_case_field(ty: &Type) -> Option<&str> {
    match ty {
        Type::Row(row) => {
            let mut names = row.names().iter().map(String::as_str);
            names
                .find(|name| name.chars().any(|c| c.is_ascii_uppercase()))
                .or_else(|| row.types().iter().find_map(upper_case_field))
        }
        Type::Array(element) => upper_case_field(element),
        Type::Map(key, value) => upper_case_field(key).or_else(|| upper_case_field(value)),
        _ => None,
    }
}

/// Returns the first column whose constant is rejected by its filter, so that no row of the split
/// can pass; `None` if there is none (rule S7.40). `constant` returns the value of column `i` if it
/// is the same for all rows.
///
/// # Errors
/// Errors of applying a filter to a value.
pub(crate) fn rejected_column<'a>(
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
        // The fields of a null struct are null (rule S5.37).
        if !passes || (value.is_null() && !fields_accept_null(column)?) {
            return Ok(Some(column));
        }
    }
    Ok(None)
}

/// Returns the first column whose filter accepts no value of the file according to the file's
/// statistics.
pub(crate) fn column_without_match<'a>(
    spec: &'a ScanSpec,
    adaptation: &ScanAdaptation,
    binding: &SplitBinding,
    reader: &dyn Reader,
) -> Option<&'a ColumnSpec> {
    spec.columns().iter().enumerate().find_map(|(i, column)| {
        let Some(BoundColumn::File { ordinal }) = binding.column(i) else { return None };
        let filter = adaptation.dynamic_filter(i).or(column.filter.as_ref())?;
        let file_type = reader.row_type().types().get(*ordinal)?;
        // A filter applies to values of the requested type, so it is not compared with statistics
        // of another type.
        if !file_type.is_equivalent(&column.ty) {
            return None;
        }
        let statistics = reader.column_statistics(*ordinal)?;
        (may_match(filter, &statistics, file_type) == Match::None).then_some(column)
    })
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
