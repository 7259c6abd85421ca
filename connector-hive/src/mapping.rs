//! Which column of a file a column of the table is (rules S7.46 to S7.50, S7.60 to S7.67).
//!
//! ```text
//!              identity of a column                               without what it needs
//! Position     i-th data column of the table = i-th of the file   no data columns: by name
//! Name         equal names, in lower case if a setting says so
//! FieldId      equal ids of the table's data column and the file  no ids below a column: by name
//! ```
//!
//! The same goes for fields of structs, at any depth. Elements of lists and keys and values of maps
//! have no names: they are what they are. What a file lacks is null.

use dwio::reader::FieldIds;
use dwio::scan_spec::{BoundField, ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use vector::{Error, Result, RowType, Type};

use crate::handles::FileColumn;

/// How columns of the table are found in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnMapping {
    /// By their place among the table's data columns.
    Position,
    /// By name.
    Name,
    /// By the ids that table formats give to columns.
    FieldId,
}

/// How names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NameMatch {
    /// Equal names only.
    Exact,
    /// The file's name in lower case.
    LowerCase,
    /// Equal names, else the only one that differs in case.
    AnyCase,
}

/// What the columns of one file are found by.
#[derive(Debug, Clone, Copy)]
pub struct FileMapping<'a> {
    /// How columns are found.
    pub mapping: ColumnMapping,
    /// How names are compared.
    pub names: NameMatch,
    /// A struct of which the file has none of the fields that its requested type has is null itself
    /// (rule S7.63), whichever of these fields the query reads.
    pub null_struct_if_all_fields_missing: bool,
    /// The table's data columns, if known.
    pub data_columns: Option<&'a RowType>,
    /// The ids of the data columns.
    pub data_ids: &'a [FieldIds],
    /// The columns of the file.
    pub file_type: &'a RowType,
    /// The ids of the file's columns.
    pub file_ids: &'a [FieldIds],
}

/// A type in the table and in the file, with what names them.
#[derive(Clone, Copy)]
struct Level<'a> {
    /// The type in the table's schema, which positions and ids refer to.
    schema: Option<&'a Type>,
    file: &'a Type,
    schema_ids: Option<&'a FieldIds>,
    file_ids: Option<&'a FieldIds>,
}

impl FileMapping<'_> {
    /// The file's column for `spec`, with what is below it; `None` when it is null in every row.
    /// `which` tells columns of one name apart.
    pub fn column(
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

    /// What is below a column or field; `None` when it is null by rule S7.63.
    fn below(
        &self,
        wanted: &Type,
        nested: &NestedSpec,
        level: Level<'_>,
    ) -> Result<Option<NestedBinding>> {
        let whole = NestedSpec::Whole;
        Ok(Some(match (wanted, level.file) {
            (Type::Row(wanted), Type::Row(file)) => {
                return self.fields(wanted, nested, file, level);
            }
            (Type::Array(wanted), Type::Array(file)) => {
                let nested = match nested {
                    NestedSpec::Array { element, .. } => &element.nested,
                    _ => &whole,
                };
                let schema = match level.schema {
                    Some(Type::Array(element)) => Some(element.as_ref()),
                    _ => None,
                };
                let level = level.child(schema, file, 0);
                NestedBinding::Array(self.below(wanted, nested, level)?.map(Box::new))
            }
            (Type::Map(_, wanted), Type::Map(_, file)) => {
                let nested = match nested {
                    NestedSpec::Map { value, .. } => &value.nested,
                    _ => &whole,
                };
                let schema = match level.schema {
                    Some(Type::Map(_, value)) => Some(value.as_ref()),
                    _ => None,
                };
                let level = level.child(schema, file, 1);
                NestedBinding::Map(self.below(wanted, nested, level)?.map(Box::new))
            }
            // Leaves, and types that do not fit each other: the reader says so.
            _ => NestedBinding::ByName,
        }))
    }

    fn fields(
        &self,
        wanted: &RowType,
        nested: &NestedSpec,
        file: &RowType,
        level: Level<'_>,
    ) -> Result<Option<NestedBinding>> {
        let whole = NestedSpec::Whole;
        let schema = level.schema.and_then(Type::as_row);
        let agree = file.names() == wanted.names();
        let null_if_all_missing =
            self.null_struct_if_all_fields_missing && self.mapping == ColumnMapping::Name;
        let mut bound = Vec::with_capacity(wanted.len());
        let mut any_found = false;
        for (i, (name, ty)) in wanted.fields().enumerate() {
            let nested = match nested {
                NestedSpec::Row(fields) => match fields.get(i) {
                    Some(FieldSpec::Wanted(spec)) => Some(&spec.nested),
                    _ => None,
                },
                _ => Some(&whole),
            };
            let Some(nested) = nested else {
                // A pruned field counts too: whether the struct is null must not depend on what
                // the query reads of it. An ambiguous name is an error only where it is read.
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
                // So that fields of one name stay apart where nothing has changed.
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
        let is_null = null_if_all_missing && !any_found && !wanted.is_empty();
        Ok((!is_null).then_some(NestedBinding::Row(bound)))
    }

    /// The position of the name in a file: of exactly this name, else as [`NameMatch`] allows. Of
    /// several of exactly this name `occurrence` picks one. `InvalidInput` when it stays open
    /// which one is meant.
    fn by_name(
        &self,
        file: &RowType,
        name: &str,
        occurrence: Option<usize>,
    ) -> Result<Option<usize>> {
        let mut found = match self.names {
            // The file's names are lowered, and the table's are taken as they are.
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
    /// The level of the element of a list, or of the value of a map.
    fn child(self, schema: Option<&'a Type>, file: &'a Type, ordinal: usize) -> Self {
        Level {
            schema,
            file,
            schema_ids: self.schema_ids.and_then(|ids| ids.children.get(ordinal)),
            file_ids: self.file_ids.and_then(|ids| ids.children.get(ordinal)),
        }
    }

    /// True when the table tells ids of the fields here.
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
