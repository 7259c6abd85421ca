//! The clauses of a statement: what is supported, and clear words for what is not.

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, LimitClause, OrderBy, OrderByKind, Query, Select, SetExpr,
    Spanned, Value as Literal, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;
use vector::{Error, Result};

use super::from::FromClause;
use crate::sql::source::{SourceText, place_of};

/// A SELECT of which every clause is known to be supported.
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
    /// Takes a SELECT apart; `Unsupported` names the clause that is not built yet.
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

/// What stands behind the body of a query.
#[derive(Debug, Default)]
pub(super) struct Trailer<'a> {
    pub(super) order_by: Option<&'a OrderBy>,
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
}

impl<'a> Trailer<'a> {
    /// ORDER BY, LIMIT, OFFSET and FETCH; `Unsupported` names what is not built yet.
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

/// True when parentheses around a query change nothing.
pub(super) fn is_bare(query: &Query) -> bool {
    query.with.is_none()
        && query_extras(query).is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
}

/// The error for what is no query.
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

/// LIMIT, OFFSET and FETCH FIRST as counts.
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

/// A count of rows; `None` for NULL, which means no limit.
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

/// Refuses EXCLUDE, REPLACE and other options of `*`.
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

/// A column's path written as text, `a.b` or `"a.b".c`; names match as quoted ones do.
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
