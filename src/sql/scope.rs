//! Names to columns.
//!
//! Unquoted names match whatever their case. Quoted names match exactly, and whatever their case
//! only when nothing matches exactly. Several matches are an error: nobody guesses.

use std::collections::HashMap;

use dwio::expr::TypedExpr;
use exec::expr::nearest;
use sqlparser::ast::Ident;
use vector::sync::{Arc, OnceLock};
use vector::{Error, Result, RowType, Type};

use super::catalog::{CatalogTable, TableColumn};
use super::source::SourceText;

/// How to tell names apart that differ by case only.
const QUOTING: &str = "a name in double quotes is matched exactly";
/// Names that an error lists at most.
const MAX_LISTED: usize = 12;

/// The columns that an expression may use, of one table or of several that are joined.
#[derive(Debug, Default, Clone)]
pub(crate) struct Scope {
    relations: Vec<String>,
    columns: Vec<TableColumn>,
    /// What belongs to each column.
    places: Vec<Place>,
    /// The columns around, for names that are unknown here.
    outer: Option<Arc<Scope>>,
    /// The columns around where they cannot be used, for errors.
    around: Option<Arc<Scope>>,
    /// A table may have more columns than these, so that an unknown name may be one of its own.
    is_partial: bool,
    /// Made at the first lookup.
    index: OnceLock<Arc<ScopeIndex>>,
}

/// Positions of columns, so that finding one of n columns does not look at all of them.
#[derive(Debug, Default)]
struct ScopeIndex {
    /// By name in lower case, in the order of the columns.
    by_name: HashMap<String, Vec<usize>>,
    /// By the plan's name.
    by_field: HashMap<Arc<str>, usize>,
}

/// How a column can be named.
#[derive(Debug, Default, Clone)]
struct Place {
    relation: usize,
    /// Only with the table before it: a join with USING has it under the other table's name.
    qualified_only: bool,
    /// What the name alone means, when it is not the column itself.
    merged: Option<TypedExpr>,
}

impl Scope {
    /// The columns of a table, which `relation.column` can name too.
    pub(crate) fn new(relation: &str, columns: &[TableColumn]) -> Self {
        Scope {
            relations: vec![relation.to_string()],
            columns: columns.to_vec(),
            places: vec![Place::default(); columns.len()],
            outer: None,
            around: None,
            is_partial: false,
            index: OnceLock::new(),
        }
    }

    /// The columns of an opened table, which `columns` may call otherwise than it does.
    pub(crate) fn of_table(
        relation: &str,
        table: &dyn CatalogTable,
        columns: &[TableColumn],
    ) -> Self {
        let is_partial = table.may_have_more_columns();
        Scope { is_partial, ..Self::new(relation, columns) }
    }

    /// True when a table may have more columns than are known.
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    fn index(&self) -> &ScopeIndex {
        self.index.get_or_init(|| {
            let mut index = ScopeIndex::default();
            for (i, column) in self.columns.iter().enumerate() {
                index.by_name.entry(column.name.to_lowercase()).or_default().push(i);
                index.by_field.entry(Arc::clone(&column.field)).or_insert(i);
            }
            Arc::new(index)
        })
    }

    /// The column that plans call `field`.
    pub(crate) fn column_of(&self, field: &str) -> Option<&TableColumn> {
        self.columns.get(*self.index().by_field.get(field)?)
    }

    /// Tells names that are columns of `around` from those that nobody knows.
    pub(crate) fn within(mut self, around: Option<&Scope>) -> Self {
        self.around = around.map(|around| Arc::new(around.clone()));
        self
    }

    /// Lets names that are unknown here mean columns of `outer`.
    pub(crate) fn inside_of(mut self, outer: Option<&Scope>) -> Self {
        self.outer = outer.map(|outer| Arc::new(outer.clone()));
        self
    }

    /// The columns of both.
    pub(crate) fn joined(mut self, other: &Scope) -> Self {
        self.index = OnceLock::new();
        self.is_partial |= other.is_partial;
        let offset = self.relations.len();
        self.relations.extend(other.relations.iter().cloned());
        self.columns.extend(other.columns.iter().cloned());
        let places = other.places.iter().cloned();
        self.places.extend(places.map(|p| Place { relation: p.relation + offset, ..p }));
        self
    }

    /// What `*` gives: names and columns.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (&TableColumn, TypedExpr)> {
        let shown = self.columns.iter().zip(&self.places);
        let shown = shown.filter(|(column, place)| !column.hidden && !place.qualified_only);
        shown.map(|(column, place)| {
            (column, place.merged.clone().unwrap_or_else(|| field_of(column)))
        })
    }

    /// What `relation.*` gives; `None` when there is no such table.
    pub(crate) fn visible_of(&self, name: &Ident) -> Option<Vec<&TableColumn>> {
        let relation = self.relations.iter().position(|r| matches(name, r))?;
        let columns = self.columns.iter().zip(&self.places);
        let own = columns.filter(|(column, p)| !column.hidden && p.relation == relation);
        Some(own.map(|(column, _)| column).collect())
    }

    /// True when `name` is a table of this scope.
    fn is_relation(&self, name: &Ident) -> bool {
        self.relations.iter().any(|r| matches(name, r))
    }

    /// True when `name` is a table of this scope or of one around.
    fn has_relation(&self, name: &Ident) -> bool {
        self.is_relation(name) || self.outer.as_ref().is_some_and(|outer| outer.has_relation(name))
    }

    /// Lets the name of column `kept` alone mean `meaning`, and that of `other` need its table.
    pub(crate) fn merge(&mut self, kept: &str, other: &str, meaning: TypedExpr) {
        let position = |field: &str| self.index().by_field.get(field).copied();
        let (kept, other) = (position(kept), position(other));
        if let Some(place) = kept.and_then(|i| self.places.get_mut(i)) {
            place.merged = Some(meaning);
        }
        if let Some(place) = other.filter(|i| Some(*i) != kept).and_then(|i| self.places.get_mut(i))
        {
            place.qualified_only = true;
        }
    }

    /// The column or struct field that a path of names means: `column`, `table.column`,
    /// `column.field` and so on. `None` when the first name is unknown.
    pub(crate) fn find(&self, path: &[Ident], source: SourceText<'_>) -> Result<Option<TypedExpr>> {
        let (Some(first), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
            return Ok(None);
        };
        if let Some(second) = rest.first()
            && let Some(relation) = self.relation(first, source)?
            && let Some(column) = self.column(second, Some(relation), source)?
        {
            return fields_of(column, &rest[1..], source).map(Some);
        }
        match self.column(first, None, source)? {
            Some(column) => fields_of(column, rest, source).map(Some),
            None => match &self.outer {
                // A name alone may be a column of the inner table that only other files have.
                Some(outer) if !self.is_partial || outer.has_relation(first) => {
                    outer.find(path, source)
                }
                _ => Ok(None),
            },
        }
    }

    /// Like [`Scope::find`]; an unknown name is an error that suggests the nearest one.
    pub(crate) fn resolve(&self, path: &[Ident], source: SourceText<'_>) -> Result<TypedExpr> {
        self.find(path, source)?.ok_or_else(|| self.unknown(path, source))
    }

    /// The error for a path that names no column.
    pub(crate) fn unknown(&self, path: &[Ident], source: SourceText<'_>) -> Error {
        let missing = match path {
            [first, second, ..] if self.is_relation(first) => second,
            [first, ..] => first,
            [] => return Error::internal("a name without parts"),
        };
        if let Some(around) = &self.around
            && !self.is_partial
            && around.find(path, source).is_ok_and(|found| found.is_some())
        {
            let error = Error::unsupported(
                "a subquery can use columns of the query around it in its WHERE only",
            );
            return source.point(error.with("name", &missing.value), missing.span);
        }
        let error = Error::not_found("no such column").with("name", &missing.value);
        source.advise(error, missing.span, &self.hint_for(path, missing))
    }

    /// What may have been meant by `missing`, a part of `path`.
    fn hint_for(&self, path: &[Ident], missing: &Ident) -> String {
        let relation = match path {
            [first, _, ..] if self.is_relation(first) => {
                self.relations.iter().position(|r| matches(first, r))
            }
            _ => None,
        };
        // A column of another table is called by that table's name.
        let alike = self.index().by_name.get(&missing.value.to_lowercase());
        let place = alike.and_then(|alike| self.places.get(*alike.first()?));
        if let Some(table) = place.and_then(|place| self.relations.get(place.relation)) {
            return format!("{table} has such a column");
        }
        let is_own = |place: &Place| relation.is_none_or(|relation| place.relation == relation);
        let own = self.columns.iter().zip(&self.places).filter(|(_, place)| is_own(place));
        let columns = own.map(|(column, _)| column.name.as_str());
        // The first of several names may have been meant for a table.
        let tables = self.relations.iter().filter(|_| relation.is_none() && path.len() > 1);
        let tables: Vec<&str> = tables.map(String::as_str).collect();
        if let Some(near) = nearest(&missing.value, tables.iter().copied()) {
            return format!("did you mean \"{near}\"?");
        }
        suggestion(&missing.value, &columns.collect::<Vec<_>>())
    }

    /// The table that a name means.
    fn relation(&self, name: &Ident, source: SourceText<'_>) -> Result<Option<usize>> {
        let mut found = (0..self.relations.len()).filter(|i| matches(name, &self.relations[*i]));
        let first = found.next();
        if found.next().is_some() {
            let error =
                Error::invalid_input("a name means several tables").with("name", &name.value);
            return Err(source.advise(error, name.span, "give the tables aliases"));
        }
        Ok(first)
    }

    /// The one column called `name`, of one table or of all.
    fn column(
        &self,
        name: &Ident,
        relation: Option<usize>,
        source: SourceText<'_>,
    ) -> Result<Option<TypedExpr>> {
        let asked = |place: &Place| match relation {
            Some(relation) => place.relation == relation,
            None => !place.qualified_only,
        };
        let alike = self.index().by_name.get(&name.value.to_lowercase());
        let alike = alike.into_iter().flatten().copied();
        let alike = alike.filter_map(|i| Some((self.columns.get(i)?, self.places.get(i)?)));
        let columns: Vec<(&TableColumn, &Place)> = alike.filter(|(_, p)| asked(p)).collect();
        let found = match unique_match(name, (0..columns.len()).collect(), |i| &columns[i].0.name) {
            Match::None => return Ok(None),
            Match::One(found) => columns.get(found),
            Match::Several(several) => {
                let shown = several.iter().filter_map(|i| columns.get(*i));
                let tables: Vec<usize> = shown.clone().map(|(_, p)| p.relation).collect();
                let in_one = tables.iter().all(|t| Some(t) == tables.first());
                let shown = shown.map(|(column, place)| match self.relations.get(place.relation) {
                    Some(table) if !in_one => format!("{table}.{}", column.name),
                    _ => format!("\"{}\"", column.name),
                });
                let advice = match in_one {
                    true => QUOTING,
                    false => "write the table before the column",
                };
                return Err(ambiguous(name, shown.collect(), advice, source));
            }
        };
        Ok(found.map(|(column, place)| match (&place.merged, relation) {
            (Some(merged), None) => merged.clone(),
            _ => field_of(column),
        }))
    }
}

fn field_of(column: &TableColumn) -> TypedExpr {
    TypedExpr::field(Arc::clone(&column.field), column.ty.clone())
}

/// Follows names into structs.
pub(crate) fn fields_of(
    column: TypedExpr,
    path: &[Ident],
    source: SourceText<'_>,
) -> Result<TypedExpr> {
    path.iter().try_fold(column, |input, name| {
        let Type::Row(row) = input.ty() else {
            let error = Error::invalid_input("only a struct has fields")
                .with("name", &name.value)
                .with("of", &input)
                .with("type", input.ty());
            return Err(source.point(error, name.span));
        };
        let row = Arc::clone(row);
        let (index, ty) = struct_field(&row, name, source)?;
        Ok(TypedExpr::Dereference { input: Box::new(input), index, ty })
    })
}

fn struct_field(row: &RowType, name: &Ident, source: SourceText<'_>) -> Result<(usize, Type)> {
    let names = row.names();
    let alike = row.positions_in_any_case(&name.value);
    let found = match unique_match(name, alike, |i| &names[i]) {
        Match::None => None,
        Match::One(found) => Some(found),
        Match::Several(several) => {
            let shown = several.iter().map(|i| format!("\"{}\"", names[*i])).collect();
            return Err(ambiguous(name, shown, QUOTING, source));
        }
    };
    found.and_then(|i| Some((i, row.types().get(i)?.clone()))).ok_or_else(|| {
        let error = Error::not_found("no such field").with("name", &name.value);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        source.advise(error, name.span, &suggestion(&name.value, &names))
    })
}

/// What of a list a name means.
enum Match {
    None,
    One(usize),
    Several(Vec<usize>),
}

/// What `name` means among the positions of those that are called so in any case.
fn unique_match<'a>(
    name: &Ident,
    mut alike: Vec<usize>,
    name_at: impl Fn(usize) -> &'a String,
) -> Match {
    let is_exact = |i: &usize| *name_at(*i) == name.value;
    if name.quote_style.is_some() && alike.iter().any(is_exact) {
        alike.retain(is_exact);
    }
    match *alike {
        [] => Match::None,
        [one] => Match::One(one),
        _ => Match::Several(alike),
    }
}

fn ambiguous(
    name: &Ident,
    mut candidates: Vec<String>,
    advice: &str,
    source: SourceText<'_>,
) -> Error {
    candidates.truncate(MAX_LISTED);
    let error = Error::invalid_input("a name means several columns")
        .with("name", &name.value)
        .with("candidates", candidates.join(", "));
    source.advise(error, name.span, advice)
}

/// True when an identifier means `name`; for names that are alone in their kind.
pub(crate) fn matches(ident: &Ident, name: &str) -> bool {
    same_name(&ident.value, name)
}

fn same_name(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

/// The nearest name, or some of the names.
fn suggestion(name: &str, names: &[&str]) -> String {
    // One letter is near to every other one.
    let long = name.chars().nth(1).is_some();
    if let Some(near) = nearest(name, names.iter().copied()).filter(|_| long) {
        return format!("did you mean \"{near}\"?");
    }
    match names.len() {
        0 => "there are no columns".to_string(),
        n => {
            let listed: Vec<&str> = names.iter().take(MAX_LISTED).copied().collect();
            let more = if n > MAX_LISTED { ", .." } else { "" };
            format!("there are {}{more}", listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: SourceText<'_> = SourceText("");

    fn scope() -> Scope {
        let columns = [
            ("id", "id", Type::BigInt),
            ("Name", "Name", Type::Varchar),
            ("x", "x", Type::BigInt),
            ("X", "X", Type::Double),
            ("dup", "dup", Type::BigInt),
            ("dup", "dup#2", Type::BigInt),
            ("s", "s", Type::row([("a", Type::row([("B", Type::Date)]))])),
        ];
        let columns: Vec<TableColumn> = columns
            .map(|(name, field, ty)| TableColumn {
                name: name.into(),
                field: field.into(),
                ty,
                hidden: false,
            })
            .into();
        Scope::new("t", &columns)
    }

    fn resolve(path: &[&str]) -> Result<String> {
        let path: Vec<Ident> = path
            .iter()
            .map(|p| match p.strip_prefix('"') {
                Some(quoted) => Ident::with_quote('"', quoted),
                None => Ident::new(*p),
            })
            .collect();
        scope().resolve(&path, SOURCE).map(|e| e.to_string())
    }

    #[test]
    fn names_match_by_case_rules() {
        assert_eq!(resolve(&["ID"]).unwrap(), "id");
        assert_eq!(resolve(&["\"name"]).unwrap(), "Name");
        assert_eq!(resolve(&["\"X"]).unwrap(), "X");
        assert_eq!(resolve(&["T", "name"]).unwrap(), "Name");
        assert_eq!(resolve(&["s", "A", "b"]).unwrap(), "s.a.B");
        assert_eq!(resolve(&["t", "s", "a"]).unwrap(), "s.a");
    }

    #[test]
    fn ambiguous_and_unknown_names_say_what_there_is() {
        assert_eq!(
            resolve(&["x"]).unwrap_err().to_string(),
            "invalid input: a name means several columns (name=x candidates=\"x\", \"X\")\n  \
             hint: a name in double quotes is matched exactly"
        );
        assert!(resolve(&["\"dup"]).unwrap_err().to_string().contains("several"));
        assert_eq!(
            resolve(&["nmae"]).unwrap_err().to_string(),
            "not found: no such column (name=nmae)\n  hint: did you mean \"Name\"?"
        );
        assert_eq!(
            resolve(&["t", "zzzz"]).unwrap_err().to_string(),
            "not found: no such column (name=zzzz)\n  \
             hint: there are id, Name, x, X, dup, dup, s"
        );
        assert_eq!(
            resolve(&["s", "aa"]).unwrap_err().to_string(),
            "not found: no such field (name=aa)\n  hint: did you mean \"a\"?"
        );
        assert!(resolve(&["id", "c"]).unwrap_err().to_string().contains("only a struct"));
    }
}
