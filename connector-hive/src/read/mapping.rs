//! Mapping of the table's columns to the columns of a file (rules S7.46 to S7.50, S7.60 to S7.67).
//!
//! ```text
//!              match of a column                                  without the required data
//! Position     i-th data column of the table = i-th of the file   no data columns: by name
//! Name         equal names, in lower case if a setting says so
//! FieldId      equal ids of the table's data column and the file  no ids below a column: by name
//! ```
//!
//! The same rules apply to fields of structs at any depth. Elements of lists and keys and values of
//! maps have no names and always correspond. A column or field that the file lacks is null.

use dwio::reader::FieldIds;
use dwio::scan_spec::{BoundField, ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use vector::{Error, Result, RowType, Type};

use crate::table::column_handle::FileColumn;
use crate::table::table_handle::ColumnMapping;

/// Comparison of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NameMatch {
    /// Names must be equal.
    Exact,
    /// The name in the file is converted to lower case.
    LowerCase,
    /// Names must be equal; if none is, a single name that differs only in case matches.
    AnyCase,
}

/// Parameters for finding the columns of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileMapping<'a> {
    /// Method of finding columns.
    pub mapping: ColumnMapping,
    /// Comparison of names.
    pub names: NameMatch,
    /// If true, a struct is null if the file has none of the fields of its requested type (rule
    /// S7.63), independent of which of these fields the query reads.
    pub null_struct_if_all_fields_missing: bool,
    /// Data columns of the table, if known.
    pub data_columns: Option<&'a RowType>,
    /// Field ids of the data columns.
    pub data_ids: &'a [FieldIds],
    /// Columns of the file.
    pub file_type: &'a RowType,
    /// Field ids of the file's columns.
    pub file_ids: &'a [FieldIds],
}

/// A nested type in the table and in the file, with the field ids of both.
#[derive(Clone, Copy)]
struct Level<'a> {
    /// Type in the table's schema, to which positions and field ids refer.
    schema: Option<&'a Type>,
    file: &'a Type,
    schema_ids: Option<&'a FieldIds>,
    file_ids: Option<&'a FieldIds>,
}

impl FileMapping<'_> {
    /// Returns the index of the file's column for `spec` and the binding of its nested fields;
    /// `None` if the column is null in every row. `which` distinguishes columns of the same name.
    ///
    /// # Errors
    /// `InvalidInput` if a name or field id is ambiguous, `Internal` for a column without a field
    /// id if columns are mapped by field id.
    pub(crate) fn column(
        &self,
        spec: &ColumnSpec,
        which: Option<&FileColumn>,
    ) -> Result<Option<(usize, NestedBinding)>> {
        let name = which.map_or(spec.name.as_str(), |w| &w.name);
        let occurrence = which.map(|w| w.occurrence);
        let in_schema = self
            .data_columns
            .and_then(|columns| nth_of_name(columns, name, occurrence.unwrap_or(0)));
        let found = match (self.mapping, self.data_columns) {
            (ColumnMapping::Position, Some(_)) => in_schema.filter(|at| *at < self.file_type.len()),
            (ColumnMapping::FieldId, _) => {
                let id = in_schema.and_then(|at| self.data_ids.get(at)).and_then(|ids| ids.id);
                let Some(id) = id else {
                    return Err(Error::internal("a column without a field id is mapped by ids"));
                };
                by_id(id, self.file_ids)?
            }
            (ColumnMapping::Position | ColumnMapping::Name, _) => {
                self.by_name(self.file_type, name, occurrence)?
            }
        };
        let Some((at, file)) = found.and_then(|at| Some((at, self.file_type.types().get(at)?)))
        else {
            return Ok(None);
        };
        let level = Level {
            schema: in_schema.and_then(|at| self.data_columns?.types().get(at)),
            file,
            schema_ids: in_schema.and_then(|at| self.data_ids.get(at)),
            file_ids: self.file_ids.get(at),
        };
        Ok(self.below(&spec.ty, &spec.nested, level)?.map(|nested| (at, nested)))
    }

    /// Returns the binding below a column or field; `None` if a struct is null because the file has
    /// none of its fields (rule S7.63).
    fn below(
        &self,
        requested: &Type,
        nested: &NestedSpec,
        level: Level<'_>,
    ) -> Result<Option<NestedBinding>> {
        let whole = NestedSpec::Whole;
        Ok(Some(match (requested, level.file) {
            (Type::Row(requested), Type::Row(file)) => {
                return self.fields(requested, nested, file, level);
            }
            (Type::Array(requested), Type::Array(file)) => {
                let nested = match nested {
                    NestedSpec::Array { element, .. } => &element.nested,
                    _ => &whole,
                };
                let schema = match level.schema {
                    Some(Type::Array(element)) => Some(element.as_ref()),
                    _ => None,
                };
                let level = level.child(schema, file, 0);
                NestedBinding::Array(self.below(requested, nested, level)?.map(Box::new))
            }
            (Type::Map(_, requested), Type::Map(_, file)) => {
                let nested = match nested {
                    NestedSpec::Map { value, .. } => &value.nested,
                    _ => &whole,
                };
                let schema = match level.schema {
                    Some(Type::Map(_, value)) => Some(value.as_ref()),
                    _ => None,
                };
                let level = level.child(schema, file, 1);
                NestedBinding::Map(self.below(requested, nested, level)?.map(Box::new))
            }
            // For leaves and for types that do not correspond, the reader checks the types.
            _ => NestedBinding::ByName,
        }))
    }

    fn fields(
        &self,
        requested: &RowType,
        nested: &NestedSpec,
        file: &RowType,
        level: Level<'_>,
    ) -> Result<Option<NestedBinding>> {
        let whole = NestedSpec::Whole;
        let schema = level.schema.and_then(Type::as_row);
        let agree = file.names() == requested.names();
        let null_if_all_missing =
            self.null_struct_if_all_fields_missing && self.mapping == ColumnMapping::Name;
        let mut bound = Vec::with_capacity(requested.len());
        let mut any_found = false;
        for (i, (name, ty)) in requested.fields().enumerate() {
            let nested = match nested {
                NestedSpec::Row(fields) => match fields.get(i) {
                    Some(FieldSpec::Wanted(spec)) => Some(&spec.nested),
                    _ => None,
                },
                _ => Some(&whole),
            };
            let Some(nested) = nested else {
                // A pruned field counts too: whether the struct is null must not depend on which
                // fields the query reads. An ambiguous name is an error only if the field is read.
                any_found = any_found
                    || (null_if_all_missing
                        && (agree || !matches!(self.by_name(file, name, None), Ok(None))));
                bound.push(None);
                continue;
            };
            // The requested struct may have fewer fields than the table's, in another order.
            let in_schema = schema.and_then(|s| s.index_of(name)).unwrap_or(i);
            let found = match self.mapping {
                ColumnMapping::Position if self.data_columns.is_some() => {
                    Some(in_schema).filter(|at| *at < file.len())
                }
                ColumnMapping::FieldId if level.has_ids() => {
                    let ids = level.schema_ids.and_then(|ids| ids.children.get(in_schema));
                    match (ids.and_then(|ids| ids.id), level.file_ids) {
                        (Some(id), Some(file_ids)) => by_id(id, &file_ids.children)?,
                        _ => None,
                    }
                }
                // If the names agree, fields match by position, which distinguishes fields of the
                // same name.
                _ if agree => Some(i),
                _ => self.by_name(file, name, None)?,
            };
            let Some((at, file)) = found.and_then(|at| Some((at, file.types().get(at)?))) else {
                bound.push(None);
                continue;
            };
            any_found = true;
            let schema = schema.and_then(|s| s.types().get(in_schema));
            let level = Level {
                schema,
                file,
                schema_ids: level.schema_ids.and_then(|ids| ids.children.get(in_schema)),
                file_ids: level.file_ids.and_then(|ids| ids.children.get(at)),
            };
            let below = self.below(ty, nested, level)?;
            bound.push(below.map(|nested| BoundField { ordinal: at, nested }));
        }
        let is_null = null_if_all_missing && !any_found && !requested.is_empty();
        Ok((!is_null).then_some(NestedBinding::Row(bound)))
    }

    /// Returns the position of a name in the file: an exact match, else a match that [`NameMatch`]
    /// allows. `occurrence` selects one of several exact matches. Returns `InvalidInput` if the
    /// match is ambiguous.
    fn by_name(
        &self,
        file: &RowType,
        name: &str,
        occurrence: Option<usize>,
    ) -> Result<Option<usize>> {
        let mut found = match self.names {
            // The file's names are converted to lower case; the table's names are compared as they
            // are.
            NameMatch::LowerCase if name.to_lowercase() != name => Vec::new(),
            NameMatch::LowerCase => file.positions_in_any_case(name),
            NameMatch::Exact | NameMatch::AnyCase => file.positions_of(name),
        };
        if let (Some(occurrence), false) = (occurrence, found.is_empty()) {
            return Ok(found.get(occurrence).copied());
        }
        if found.is_empty() && self.names == NameMatch::AnyCase && occurrence.unwrap_or(0) == 0 {
            found = file.positions_in_any_case(name);
        }
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => {
                let names: Vec<&str> = several
                    .iter()
                    .filter_map(|i| file.names().get(*i))
                    .map(String::as_str)
                    .collect();
                Err(Error::invalid_input("several columns of the file have this name")
                    .with("column", name)
                    .with("found", names.join(" ")))
            }
        }
    }
}

impl<'a> Level<'a> {
    /// Returns the level of a list's element or of a map's value.
    fn child(self, schema: Option<&'a Type>, file: &'a Type, ordinal: usize) -> Self {
        Level {
            schema,
            file,
            schema_ids: self.schema_ids.and_then(|ids| ids.children.get(ordinal)),
            file_ids: self.file_ids.and_then(|ids| ids.children.get(ordinal)),
        }
    }

    /// Returns true if the table has ids for the fields of this level.
    fn has_ids(&self) -> bool {
        self.schema_ids.is_some_and(|ids| !ids.children.is_empty())
    }
}

fn nth_of_name(columns: &RowType, name: &str, occurrence: usize) -> Option<usize> {
    match occurrence {
        0 => columns.index_of(name),
        _ => columns.positions_of(name).get(occurrence).copied(),
    }
}

fn by_id(id: i32, ids: &[FieldIds]) -> Result<Option<usize>> {
    let mut found = (0..ids.len()).filter(|i| ids[*i].id == Some(id));
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => {
            Err(Error::invalid_input("several columns of the file have this field id")
                .with("field_id", id))
        }
        (one, _) => Ok(one),
    }
}
