//! Names to columns.
//!
//! Unquoted names match whatever their case. Quoted names match exactly, and whatever their case
//! only when nothing matches exactly. Several matches are an error: nobody guesses.

use dwio::expr::TypedExpr;
use exec::expr::nearest;
use sqlparser::ast::Ident;
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::catalog::TableColumn;
use super::source::SourceText;

/// Names that an error lists at most.
const MAX_LISTED: usize = 12;

/// The columns that an expression may use.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    relation: Option<String>,
    columns: Vec<TableColumn>,
}

impl Scope {
    /// The columns of a table, which `relation.column` can name too.
    pub(crate) fn new(relation: &str, columns: &[TableColumn]) -> Self {
        Scope { relation: Some(relation.to_string()), columns: columns.to_vec() }
    }

    /// All columns in order.
    pub(crate) fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// True when `name` is the table of this scope.
    pub(crate) fn is_relation(&self, name: &Ident) -> bool {
        self.relation.as_deref().is_some_and(|r| matches(name, r))
    }

    /// The column or struct field that a path of names means: `column`, `table.column`,
    /// `column.field` and so on. `None` when the first name is unknown.
    pub(crate) fn find(&self, path: &[Ident], source: SourceText<'_>) -> Result<Option<TypedExpr>> {
        let (Some(first), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
            return Ok(None);
        };
        if let Some(second) = rest.first()
            && self.is_relation(first)
            && let Some(column) = self.column(second, source)?
        {
            return fields_of(column, &rest[1..], source).map(Some);
        }
        match self.column(first, source)? {
            Some(column) => fields_of(column, rest, source).map(Some),
            None => Ok(None),
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
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        let error = Error::not_found("no such column").with("name", &missing.value);
        source.advise(error, missing.span, &suggestion(&missing.value, &names))
    }

    fn column(&self, name: &Ident, source: SourceText<'_>) -> Result<Option<TypedExpr>> {
        let names: Vec<&str> = self.columns.iter().map(|c| c.name.as_str()).collect();
        let found = unique_match(name, &names, source)?.and_then(|i| self.columns.get(i));
        Ok(found.map(|c| TypedExpr::field(Arc::clone(&c.field), c.ty.clone())))
    }
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
    let names: Vec<&str> = row.names().iter().map(String::as_str).collect();
    let found = unique_match(name, &names, source)?;
    found.and_then(|i| Some((i, row.types().get(i)?.clone()))).ok_or_else(|| {
        let error = Error::not_found("no such field").with("name", &name.value);
        source.advise(error, name.span, &suggestion(&name.value, &names))
    })
}

/// The one position of `name` in `names`.
fn unique_match(name: &Ident, names: &[&str], source: SourceText<'_>) -> Result<Option<usize>> {
    let mut found: Vec<usize> = Vec::new();
    if name.quote_style.is_some() {
        found.extend((0..names.len()).filter(|i| names[*i] == name.value));
    }
    if found.is_empty() {
        found.extend((0..names.len()).filter(|i| same_name(&name.value, names[*i])));
    }
    if found.len() > 1 {
        let candidates: Vec<String> =
            found.iter().take(MAX_LISTED).map(|i| format!("\"{}\"", names[*i])).collect();
        let error = Error::invalid_input("a name means several columns")
            .with("name", &name.value)
            .with("candidates", candidates.join(", "));
        let advice = "a name in double quotes is matched exactly";
        return Err(source.advise(error, name.span, advice));
    }
    Ok(found.first().copied())
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
