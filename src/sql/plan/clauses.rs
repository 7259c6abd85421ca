//! Takes the clauses of a statement apart and rejects those that are not supported with an error
//! that names them.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, LimitClause, OrderBy, OrderByKind, Query, Select, SetExpr,
    Spanned, Value as Literal, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;
use vector::{Error, Result};

use super::from::FromClause;
use crate::sql::source::{SourceText, place_of};

/// A SELECT all of whose clauses are supported.
#[derive(Debug)]
pub(super) struct SelectClauses<'a> {
    pub(super) select: &'a Select,
    pub(super) from: Option<FromClause<'a>>,
    pub(super) filter: Option<&'a Expr>,
    pub(super) group_by: &'a GroupByExpr,
    pub(super) having: Option<&'a Expr>,
    pub(super) distinct: bool,
}

impl<'a> SelectClauses<'a> {
    /// Takes a SELECT apart.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Unsupported`, with the name of the clause, for a clause that is not implemented.
    pub(super) fn of(select: &'a Select, source: SourceText<'_>) -> Result<Self> {
        refuse(source, select_extras(select))?;
        let distinct = match &select.distinct {
            None | Some(Distinct::All) => false,
            Some(Distinct::Distinct) => true,
            Some(Distinct::On(_)) => {
                return Err(Error::unsupported("DISTINCT ON is not supported yet"));
            }
        };
        Ok(SelectClauses {
            select,
            from: FromClause::of(select, source)?,
            filter: select.selection.as_ref(),
            group_by: &select.group_by,
            having: select.having.as_ref(),
            distinct,
        })
    }
}

/// The clauses after the body of a query: ORDER BY, LIMIT and OFFSET.
#[derive(Debug, Default)]
pub(super) struct Trailer<'a> {
    pub(super) order_by: Option<&'a OrderBy>,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
}

impl<'a> Trailer<'a> {
    /// Reads ORDER BY, LIMIT, OFFSET and FETCH.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Unsupported`, with its name, for a clause that is not implemented.
    pub(super) fn of(query: &'a Query, source: SourceText<'_>) -> Result<Self> {
        refuse(source, query_extras(query))?;
        let (limit, offset) = limit_of(query, source)?;
        let order_by = query.order_by.as_ref();
        if let Some(OrderBy { kind: OrderByKind::All(_), .. }) = order_by {
            return Err(Error::unsupported("ORDER BY ALL is not supported yet"));
        }
        Ok(Trailer { order_by, limit, offset })
    }
}

/// Returns true when a query in parentheses has no clauses that act on its body.
pub(super) fn is_bare(query: &Query) -> bool {
    query.with.is_none()
        && query_extras(query).is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
}

/// Returns the error for a body that is not a query.
pub(super) fn unsupported_body(body: &SetExpr, source: SourceText<'_>) -> Error {
    source.point(Error::unsupported("only SELECT statements are supported"), body.span())
}

fn refuse(source: SourceText<'_>, extra: Option<(&'static str, Span)>) -> Result<()> {
    match extra {
        None => Ok(()),
        Some((what, span)) => Err(source.point(Error::unsupported(what), span)),
    }
}

fn query_extras(query: &Query) -> Option<(&'static str, Span)> {
    let extras = !query.locks.is_empty()
        || query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty();
    extras.then(|| ("a clause behind the query is not supported", Span::empty()))
}

fn select_extras(select: &Select) -> Option<(&'static str, Span)> {
    if let Some(qualify) = &select.qualify {
        return Some(("QUALIFY and window functions are not supported yet", qualify.span()));
    }
    if !select.named_window.is_empty() {
        return Some(("window functions are not supported yet", Span::empty()));
    }
    if select.into.is_some() {
        return Some(("SELECT INTO is not supported", Span::empty()));
    }
    let extras = select.top.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.exclude.is_some()
        || select.value_table_mode.is_some()
        || select.select_modifiers.is_some();
    extras.then(|| ("a clause of this SELECT is not supported", Span::empty()))
}

/// Returns LIMIT or FETCH FIRST, and OFFSET, as row counts.
fn limit_of(query: &Query, source: SourceText<'_>) -> Result<(Option<u64>, u64)> {
    let (mut limit, mut offset) = (None, 0);
    match &query.limit_clause {
        None => {}
        Some(LimitClause::LimitOffset { limit: count, offset: skip, limit_by }) => {
            if !limit_by.is_empty() {
                return Err(Error::unsupported("LIMIT BY is not supported"));
            }
            if let Some(count) = count {
                limit = row_count("LIMIT", count, source)?;
            }
            if let Some(skip) = skip {
                offset = row_count("OFFSET", &skip.value, source)?.unwrap_or(0);
            }
        }
        Some(LimitClause::OffsetCommaLimit { offset: skip, limit: count }) => {
            limit = row_count("LIMIT", count, source)?;
            offset = row_count("OFFSET", skip, source)?.unwrap_or(0);
        }
    }
    if let Some(fetch) = &query.fetch {
        if fetch.with_ties || fetch.percent || limit.is_some() {
            return Err(Error::unsupported("this form of FETCH is not supported"));
        }
        limit = match &fetch.quantity {
            Some(count) => row_count("FETCH", count, source)?,
            None => Some(1),
        };
    }
    Ok((limit, offset))
}

/// Returns a row count; `None` for NULL, which means no limit.
fn row_count(clause: &'static str, expr: &Expr, source: SourceText<'_>) -> Result<Option<u64>> {
    if let Expr::Value(value) = expr {
        match &value.value {
            Literal::Null => return Ok(None),
            Literal::Number(text, _) => {
                if let Ok(count) = text.replace('_', "").parse() {
                    return Ok(Some(count));
                }
            }
            _ => {}
        }
    }
    let error = Error::invalid_input("a number of rows must be a whole number, not negative")
        .with("clause", clause)
        .with("found", expr);
    Err(source.point(error, place_of(expr)))
}

/// Rejects EXCLUDE, REPLACE and other options of `*`.
pub(super) fn plain_wildcard(
    options: &WildcardAdditionalOptions,
    source: SourceText<'_>,
) -> Result<()> {
    let extras = options.opt_ilike.is_some()
        || options.opt_exclude.is_some()
        || options.opt_except.is_some()
        || options.opt_replace.is_some()
        || options.opt_rename.is_some()
        || options.opt_alias.is_some();
    if extras {
        let error = Error::unsupported("options of * are not supported yet");
        return Err(source.point(error, options.span()));
    }
    Ok(())
}

/// Parses a column path such as `a.b` or `"a.b".c`; the names match as quoted names do.
pub(super) fn column_path(text: &str) -> Vec<Ident> {
    let mut path = Vec::new();
    let mut name = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                name.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => path.push(Ident::with_quote('"', std::mem::take(&mut name))),
            c => name.push(c),
        }
    }
    path.push(Ident::with_quote('"', name));
    path
}
