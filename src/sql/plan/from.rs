//! The FROM clause as written: relations, and how they are joined.
//!
//! ```text
//! FROM a JOIN (SELECT ..) b ON .. CROSS JOIN UNNEST(b.list) AS u(x)
//!
//! first a, then steps: (inner, query b, ON ..), (inner, unnest u)
//! ```

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, Query, Select, Spanned, TableAlias, TableFactor,
};
use sqlparser::tokenizer::Span;
use vector::{Error, Result};

use super::relations::MAX_RELATIONS;
use super::tree::JoinKind;
use crate::sql::source::SourceText;

/// The relations of a FROM clause in order.
#[derive(Debug)]
pub(super) struct FromClause<'a> {
    pub(super) first: RelationSyntax<'a>,
    pub(super) steps: Vec<Step<'a>>,
}

/// A relation that is joined to all relations before it.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) kind: JoinKind,
    pub(super) relation: RelationSyntax<'a>,
    pub(super) constraint: Constraint<'a>,
}

/// Condition that joins a relation to those before it.
#[derive(Debug)]
pub(super) enum Constraint<'a> {
    None,
    On(&'a Expr),
    Using(Vec<&'a Ident>),
    Natural(Span),
}

/// A relation as written in FROM.
#[derive(Debug)]
pub(super) struct RelationSyntax<'a> {
    pub(super) source: SourceSyntax<'a>,
    alias: Option<&'a Ident>,
    /// New names of the first columns, from `AS t(a, b)`.
    pub(super) columns: Vec<&'a Ident>,
    pub(super) span: Span,
}

/// Source of the rows of a relation.
#[derive(Debug)]
pub(super) enum SourceSyntax<'a> {
    Table {
        name: String,
        quoted: bool,
        /// The name, when it has a single part.
        ident: Option<&'a Ident>,
    },
    Query(&'a Query),
    Unnest {
        lists: Vec<&'a Expr>,
        with_ordinality: bool,
    },
}

impl RelationSyntax<'_> {
    /// Returns the alias, or `name` if there is none.
    pub(super) fn name_or(&self, name: &str) -> String {
        self.alias.map_or(name, |alias| &alias.value).to_string()
    }
}

impl<'a> FromClause<'a> {
    /// Reads the FROM clause of a SELECT; `None` when there is none.
    ///
    /// # Errors
    ///
    /// `ErrorKind::Unsupported`, with its name, for syntax that is not implemented.
    pub(super) fn of(select: &'a Select, source: SourceText<'_>) -> Result<Option<Self>> {
        let Some((first, others)) = select.from.split_first() else { return Ok(None) };
        let mut steps = Vec::new();
        for join in &first.joins {
            steps.push(step(join, source)?);
        }
        for item in others {
            // A comma binds weaker than JOIN; this makes a difference only for joins that keep
            // unmatched rows of the right side, and these are rejected.
            let relation = relation(&item.relation, source)?;
            steps.push(Step { kind: JoinKind::Inner, relation, constraint: Constraint::None });
            for join in &item.joins {
                let step = step(join, source)?;
                if !matches!(step.kind, JoinKind::Inner | JoinKind::Left) {
                    let error = Error::unsupported("this join behind a comma is not supported");
                    return Err(source.point(error, join.relation.span()));
                }
                steps.push(step);
            }
        }
        if steps.len() >= MAX_RELATIONS {
            return Err(Error::limit("a statement has too many tables").with("max", MAX_RELATIONS));
        }
        Ok(Some(FromClause { first: relation(&first.relation, source)?, steps }))
    }
}

fn step<'a>(join: &'a Join, source: SourceText<'_>) -> Result<Step<'a>> {
    use JoinOperator as Op;
    let (kind, constraint) = match &join.join_operator {
        Op::Join(c) | Op::Inner(c) | Op::CrossJoin(c) => (JoinKind::Inner, c),
        Op::Left(c) | Op::LeftOuter(c) => (JoinKind::Left, c),
        Op::Right(c) | Op::RightOuter(c) => (JoinKind::Right, c),
        Op::FullOuter(c) => (JoinKind::Full, c),
        Op::Semi(c) | Op::LeftSemi(c) => (JoinKind::LeftSemi, c),
        Op::Anti(c) | Op::LeftAnti(c) => (JoinKind::LeftAnti, c),
        Op::RightSemi(c) => (JoinKind::RightSemi, c),
        Op::RightAnti(c) => (JoinKind::RightAnti, c),
        _ => {
            let error = Error::unsupported("this kind of join is not supported");
            return Err(source.point(error, join.relation.span()));
        }
    };
    let relation = relation(&join.relation, source)?;
    let is_cross = matches!(join.join_operator, Op::CrossJoin(_));
    let constraint = match constraint {
        JoinConstraint::On(condition) => Constraint::On(condition),
        JoinConstraint::Natural => Constraint::Natural(relation.span),
        JoinConstraint::UsingAlias(..) => {
            let error = Error::unsupported("an alias of USING is not supported");
            return Err(source.point(error, relation.span));
        }
        JoinConstraint::None if is_cross => Constraint::None,
        JoinConstraint::None => {
            let error = Error::invalid_input("a join needs ON or USING");
            return Err(source.point(error, relation.span));
        }
        JoinConstraint::Using(names) => {
            let column = |name: &'a sqlparser::ast::ObjectName| match name.0.as_slice() {
                [ObjectNamePart::Identifier(ident)] => Ok(ident),
                _ => {
                    let error = Error::invalid_input("USING takes names of columns");
                    Err(source.point(error, name.span()))
                }
            };
            Constraint::Using(names.iter().map(column).collect::<Result<_>>()?)
        }
    };
    Ok(Step { kind, relation, constraint })
}

fn relation<'a>(factor: &'a TableFactor, source: SourceText<'_>) -> Result<RelationSyntax<'a>> {
    let unsupported =
        |what: &'static str, span: Span| Err(source.point(Error::unsupported(what), span));
    let (from, alias, span) = match factor {
        TableFactor::Table { sample: Some(_), name, .. }
        | TableFactor::Table { version: Some(_), name, .. } => {
            return unsupported("TABLESAMPLE and versions are not supported yet", name.span());
        }
        TableFactor::Table { name, alias, args, with_ordinality, .. } => {
            let from = match args {
                Some(args) if is_unnest(name) => SourceSyntax::Unnest {
                    lists: arguments(&args.args, name, source)?,
                    with_ordinality: *with_ordinality,
                },
                None if !with_ordinality => table(name, source)?,
                _ => return unsupported("table functions are not supported yet", name.span()),
            };
            (from, alias, name.span())
        }
        TableFactor::Function { name, args, with_ordinality, alias, .. } if is_unnest(name) => {
            let lists = arguments(args, name, source)?;
            let with_ordinality = *with_ordinality;
            (SourceSyntax::Unnest { lists, with_ordinality }, alias, name.span())
        }
        TableFactor::Function { name, .. } => {
            return unsupported("LATERAL is supported with UNNEST only", name.span());
        }
        TableFactor::Derived { lateral: false, subquery, alias, sample: None } => {
            (SourceSyntax::Query(subquery), alias, factor.span())
        }
        TableFactor::Derived { lateral: true, .. } => {
            return unsupported("LATERAL is supported with UNNEST only", factor.span());
        }
        TableFactor::NestedJoin { .. } => {
            return unsupported("joins in parentheses are not supported yet", factor.span());
        }
        _ => return unsupported("FROM takes a table name or a quoted path", factor.span()),
    };
    let columns = alias.iter().flat_map(|alias: &TableAlias| &alias.columns);
    Ok(RelationSyntax {
        source: from,
        alias: alias.as_ref().map(|alias| &alias.name),
        columns: columns.map(|column| &column.name).collect(),
        span,
    })
}

fn is_unnest(name: &ObjectName) -> bool {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => {
            ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("unnest")
        }
        _ => false,
    }
}

fn arguments<'a>(
    args: &'a [FunctionArg],
    name: &ObjectName,
    source: SourceText<'_>,
) -> Result<Vec<&'a Expr>> {
    let expr = |arg: &'a FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    };
    let lists: Option<Vec<&Expr>> = args.iter().map(expr).collect();
    lists.filter(|lists| !lists.is_empty()).ok_or_else(|| {
        let error = Error::invalid_input("UNNEST takes arrays and maps");
        source.point(error, name.span())
    })
}

fn table<'a>(name: &'a ObjectName, source: SourceText<'_>) -> Result<SourceSyntax<'a>> {
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        match part {
            ObjectNamePart::Identifier(ident) => parts.push(ident),
            ObjectNamePart::Function(_) => {
                let error = Error::unsupported("table functions are not supported yet");
                return Err(source.point(error, name.span()));
            }
        }
    }
    Ok(match parts.as_slice() {
        [one] => SourceSyntax::Table {
            name: one.value.clone(),
            quoted: one.quote_style.is_some(),
            ident: Some(*one).filter(|ident| ident.quote_style != Some('\'')),
        },
        several => {
            let joined: Vec<&str> = several.iter().map(|p| p.value.as_str()).collect();
            SourceSyntax::Table { name: joined.join("."), quoted: false, ident: None }
        }
    })
}
