//! Where one split has what a scan reads: constants of the split, columns of its file, or nothing.
//!
//! ```text
//! partition key of the split > info column of the split > row number > column of the file > null
//! ```
//!
//! The first that applies is taken (rules S7.21 to S7.25), whatever the splits before had: a
//! binding is made anew for each (S7.28).

use dwio::adaptation::ScanAdaptation;
use dwio::reader::Reader;
use dwio::scan_spec::{
    BoundColumn, ColumnSource, ColumnSpec, FieldSpec, NestedBinding, NestedSpec, ScanSpec,
    SplitBinding,
};
use dwio::stats::{Match, may_match};
use dwio::subfield::PathElement;
use vector::{Error, Result, ResultExt, Type, Value};

use crate::columns::ScanColumns;
use crate::handles::ColumnKind;
use crate::mapping::{ColumnMapping, FileMapping, NameMatch};
use crate::partition::{DateText, TextRules, parse_value};
use crate::pushdown::Pushdown;
use crate::scan_spec::ReadColumns;
use crate::settings::ScanSettings;
use crate::split::HiveSplit;
use crate::table_handle::HiveTableHandle;

/// What a split is read with, the same for all splits of a scan.
#[derive(Debug, Clone)]
pub struct ScanPlan {
    /// The columns that the scan has handles of.
    pub columns: ScanColumns,
    /// The table.
    pub table: HiveTableHandle,
    /// The settings.
    pub settings: ScanSettings,
}

impl ScanPlan {
    /// The value that all rows of a split have in column `name`; `None` when the split says
    /// nothing of it. `Internal` for a partition value of a column that is no partition key of the
    /// scan (rule S7.21).
    pub fn split_value(&self, split: &HiveSplit, name: &str, ty: &Type) -> Result<Option<Value>> {
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
        let Some(text) = split.info_columns.get(name) else { return Ok(None) };
        // Info columns always have ISO dates (rule S8.6).
        let rules = TextRules { dates: DateText::Iso, zone };
        parse_value(name, Some(text), ty, rules).map(Some)
    }

    /// The constants that a split has for the columns of a spec, by the spec's order; `None` where
    /// the file has to be asked. Nothing is opened.
    pub fn split_constants(
        &self,
        split: &HiveSplit,
        spec: &ScanSpec,
    ) -> Result<Vec<Option<Value>>> {
        let constant = |column: &ColumnSpec| match column.source {
            ColumnSource::RowIndex | ColumnSource::RowId => Ok(None),
            ColumnSource::SplitConstant | ColumnSource::Regular => {
                self.split_value(split, &column.name, &column.ty)
            }
        };
        spec.columns().iter().map(constant).collect()
    }

    /// `Internal` when a name has upper-case letters while those of files are lower-cased: it could
    /// never be found (rule S6.7).
    pub fn check_lower_case(&self, columns: &ReadColumns, pushdown: &Pushdown) -> Result<()> {
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

    /// How columns are found in the file of a split (rule S7.46): as the split says, else the
    /// table, else the settings.
    pub fn column_mapping(&self, split: &HiveSplit) -> Result<ColumnMapping> {
        if let Some(mapping) = split.column_mapping.or(self.table.column_mapping()) {
            return Ok(mapping);
        }
        Ok(match self.settings.use_column_names(&split.format)? {
            Some(true) => ColumnMapping::Name,
            _ => ColumnMapping::Position,
        })
    }

    /// Binds columns to an open file: `constants` first, then what the file has.
    pub fn bind(
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
        let wanted = columns.spec.columns().iter().zip(&*columns.file_columns).zip(constants);
        let bound = wanted.map(|((column, file_column), constant)| {
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

/// The first column whose filter passes no value that the file has, as far as the file tells.
pub fn column_without_match<'a>(
    spec: &'a ScanSpec,
    adaptation: &ScanAdaptation,
    binding: &SplitBinding,
    reader: &dyn Reader,
) -> Option<&'a ColumnSpec> {
    spec.columns().iter().enumerate().find_map(|(i, column)| {
        let Some(BoundColumn::File { ordinal }) = binding.column(i) else { return None };
        let filter = adaptation.dynamic_filter(i).or(column.filter.as_ref())?;
        let file_type = reader.row_type().types().get(*ordinal)?;
        // A filter is made for the values that are asked for, not for those of the file.
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
