//! Syntax to typed expressions.
//!
//! ```text
//! Expr --names--> columns         scope.rs
//!      --literals--> constants    literal.rs
//!      --operators, special forms, functions--> calls     operators.rs, calls.rs
//!      --types--> casts where the registry asks for them  coerce.rs
//!      --aggregates--> columns of the aggregation         aggregates.rs
//! ```
//!
//! A [`Binder`] binds the expressions of one clause. Where aggregates are allowed it collects them
//! and puts a column in their place; whoever plans the query computes that column.

mod aggregates;
mod aliases;
mod calls;
mod coerce;
mod interval;
mod operators;
#[cfg(test)]
mod tests;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use sqlparser::ast::{
    AccessExpr, Expr, Ident, Query, Spanned, Subscript, UnaryOperator, Value as Literal,
};
use sqlparser::tokenizer::Span;
use vector::{Error, Result, Type};

use super::literal;
use super::scope::{self, Scope};
use super::source::{SourceText, place_of};

pub(crate) use aggregates::{
    AggregateCall, Aggregates, GroupColumns, has_aggregate, is_placeholder, nested_key,
    over_groups, sort_order,
};
pub(crate) use aliases::{Alias, Aliases};

/// Expressions inside each other at most, chains of AND and OR not counted.
const MAX_DEPTH: usize = 100;

/// Where subqueries of an expression go.
pub(crate) trait SubqueryBinder {
    /// The column that stands for a subquery; `scope` has the columns around it.
    fn bind_subquery(
        &mut self,
        usage: SubqueryUse,
        query: &Query,
        scope: &Scope,
    ) -> Result<TypedExpr>;
}

/// What an expression wants of a subquery.
#[derive(Debug)]
pub(crate) enum SubqueryUse {
    /// Whether it has a row.
    Exists,
    /// Whether this is among its values.
    In(TypedExpr),
    /// Its one value.
    Value,
}

/// Binds the expressions of one clause.
pub(crate) struct Binder<'a> {
    /// The columns.
    pub(crate) scope: &'a Scope,
    /// The functions.
    pub(crate) functions: &'a FunctionRegistry,
    /// The query's text, for errors.
    pub(crate) source: SourceText<'a>,
    /// The clause, for errors.
    pub(crate) clause: &'static str,
    /// Names that are used when no column has them.
    pub(crate) aliases: Option<&'a Aliases>,
    /// Where aggregates go; `None` where none are allowed.
    pub(crate) aggregates: Option<&'a mut Aggregates>,
    /// Where subqueries go; `None` where none are allowed.
    pub(crate) subqueries: Option<&'a mut dyn SubqueryBinder>,
    /// Expressions around the current one.
    pub(crate) depth: usize,
}

impl<'a> Binder<'a> {
    /// Binds without aliases and aggregates.
    pub(crate) fn new(
        scope: &'a Scope,
        functions: &'a FunctionRegistry,
        source: SourceText<'a>,
        clause: &'static str,
    ) -> Self {
        Binder {
            scope,
            functions,
            source,
            clause,
            aliases: None,
            aggregates: None,
            subqueries: None,
            depth: 0,
        }
    }
}

impl Binder<'_> {
    /// Binds an expression.
    pub(crate) fn bind(&mut self, expr: &Expr) -> Result<TypedExpr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::limit("an expression is nested too deep").with("max", MAX_DEPTH));
        }
        let bound = self.bind_one(expr);
        self.depth -= 1;
        bound
    }

    /// Binds a condition: BOOLEAN, or NULL.
    pub(crate) fn bind_condition(&mut self, expr: &Expr) -> Result<TypedExpr> {
        let bound = self.bind(expr)?;
        self.condition(bound, place_of(expr))
    }

    fn bind_one(&mut self, expr: &Expr) -> Result<TypedExpr> {
        match expr {
            Expr::Identifier(name) => self.name(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(path) => self.name(path),
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain),
            Expr::Nested(inner) => self.bind(inner),
            Expr::Value(value) => {
                let bound = literal::constant(&value.value, false);
                bound.map_err(|e| self.source.point(e, value.span))
            }
            Expr::TypedString(typed) => self.typed_string(typed, place_of(expr)),
            Expr::UnaryOp { op, expr: inner } => self.unary(*op, inner, place_of(expr)),
            Expr::BinaryOp { left, op, right } => self.binary(expr, left, op, right),
            Expr::IsNull(inner) | Expr::IsUnknown(inner) => self.is_null(inner),
            Expr::IsNotNull(inner) | Expr::IsNotUnknown(inner) => {
                let is_null = self.is_null(inner)?;
                self.not(is_null, place_of(expr))
            }
            Expr::IsTrue(inner) => self.is_truth(inner, true, false),
            Expr::IsNotTrue(inner) => self.is_truth(inner, true, true),
            Expr::IsFalse(inner) => self.is_truth(inner, false, false),
            Expr::IsNotFalse(inner) => self.is_truth(inner, false, true),
            Expr::IsDistinctFrom(left, right) => self.distinct(left, right, place_of(expr)),
            Expr::IsNotDistinctFrom(left, right) => {
                let distinct = self.distinct(left, right, place_of(expr))?;
                self.not(distinct, place_of(expr))
            }
            Expr::Exists { subquery, negated } => {
                let exists = self.subquery(SubqueryUse::Exists, subquery)?;
                if *negated { self.not(exists, place_of(expr)) } else { Ok(exists) }
            }
            Expr::Subquery(subquery) => self.subquery(SubqueryUse::Value, subquery),
            Expr::In { expr: inner, target, negated, global: false } => {
                self.in_list(inner, target, *negated, place_of(expr))
            }
            Expr::Between { expr: inner, negated, low, high } => {
                self.between(inner, low, high, *negated, place_of(expr))
            }
            Expr::Like { negated, any: false, expr: inner, pattern, escape_char } => {
                let parts = operators::LikeParts {
                    text: inner,
                    pattern,
                    escape: escape_char.as_deref(),
                    negated: *negated,
                    any_case: false,
                };
                self.like(parts, place_of(expr))
            }
            Expr::ILike { negated, any: false, expr: inner, pattern, escape_char } => {
                let parts = operators::LikeParts {
                    text: inner,
                    pattern,
                    escape: escape_char.as_deref(),
                    negated: *negated,
                    any_case: true,
                };
                self.like(parts, place_of(expr))
            }
            Expr::Cast { kind, expr: inner, data_type, format: None } => {
                self.explicit_cast(kind, inner, data_type, place_of(expr))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), place_of(expr))
            }
            Expr::Function(function) => self.function(function, place_of(expr)),
            Expr::Interval(interval) => self.interval(interval, place_of(expr)),
            Expr::Extract { field, expr: inner, .. } => self.extract(field, inner, place_of(expr)),
            Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Position { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. } => self.keyword_call(expr),
            other => Err(self.unsupported(other)),
        }
    }

    /// The column that stands for a subquery.
    fn subquery(&mut self, usage: SubqueryUse, query: &Query) -> Result<TypedExpr> {
        match &mut self.subqueries {
            Some(subqueries) => subqueries.bind_subquery(usage, query, self.scope),
            None => {
                let error = Error::unsupported("a subquery is not supported here")
                    .with("clause", self.clause);
                Err(self.source.point(error, query.span()))
            }
        }
    }

    /// A path of names: a column, a field of one, or an alias.
    fn name(&mut self, path: &[Ident]) -> Result<TypedExpr> {
        if let Some(found) = self.scope.find(path, self.source)? {
            return Ok(found);
        }
        let (Some(first), rest) = (path.first(), path.get(1..).unwrap_or_default()) else {
            return Err(self.scope.unknown(path, self.source));
        };
        match self.aliases.and_then(|aliases| aliases.find(first)) {
            Some(alias) => {
                let contains_aggregate = self.aggregates.is_none()
                    && alias.expr.field_names().iter().any(|n| aggregates::is_placeholder(n));
                if contains_aggregate {
                    return Err(self.misplaced_aggregate(&alias.name, first.span));
                }
                scope::fields_of(alias.expr.clone(), rest, self.source)
            }
            None => Err(self.scope.unknown(path, self.source)),
        }
    }

    /// `x.field` and `x['field']` behind any expression.
    fn access(&mut self, root: &Expr, chain: &[AccessExpr]) -> Result<TypedExpr> {
        let mut input = self.bind(root)?;
        for access in chain {
            let name = match access {
                AccessExpr::Dot(Expr::Identifier(name)) => name.clone(),
                AccessExpr::Subscript(Subscript::Index { index: Expr::Value(value) }) => {
                    match (&value.value, input.ty()) {
                        (Literal::SingleQuotedString(name), Type::Row(_)) => {
                            let mut ident = Ident::with_quote('\'', name.clone());
                            ident.span = value.span;
                            ident
                        }
                        _ => return Err(self.no_subscript(&input, value.span)),
                    }
                }
                other => return Err(self.no_subscript(&input, other.span())),
            };
            input = scope::fields_of(input, std::slice::from_ref(&name), self.source)?;
        }
        Ok(input)
    }

    fn no_subscript(&self, input: &TypedExpr, span: Span) -> Error {
        let error = Error::unsupported("subscripts are supported for fields of structs only")
            .with("of", input)
            .with("type", input.ty());
        self.source.point(error, span)
    }

    fn unary(&mut self, op: UnaryOperator, inner: &Expr, span: Span) -> Result<TypedExpr> {
        match (op, inner) {
            (UnaryOperator::Minus, Expr::Value(value))
                if matches!(value.value, Literal::Number(..)) =>
            {
                literal::constant(&value.value, true).map_err(|e| self.source.point(e, value.span))
            }
            (UnaryOperator::Minus, _) => {
                let inner = self.bind(inner)?;
                self.call("negate", vec![inner], span)
            }
            (UnaryOperator::Plus, _) => self.bind(inner),
            (UnaryOperator::Not, _) => {
                let inner = self.bind_condition(inner)?;
                self.not(inner, span)
            }
            (other, _) => {
                let error = Error::unsupported("no such operator").with("operator", other);
                Err(self.source.point(error, span))
            }
        }
    }

    /// The error for syntax that is understood but not built.
    fn unsupported(&self, expr: &Expr) -> Error {
        let what = match expr {
            Expr::AtTimeZone { .. } => "time zones are not supported yet",
            Expr::Array(_) | Expr::Map(_) | Expr::Struct { .. } | Expr::Tuple(_) => {
                "literals of nested types are not supported yet"
            }
            Expr::Lambda(_) => "lambda expressions are not supported yet",
            Expr::RLike { .. } | Expr::SimilarTo { .. } => {
                "regular expressions are not supported yet"
            }
            Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => {
                "grouping sets are not supported yet"
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => "* stands for no value here",
            _ => "this kind of expression is not supported yet",
        };
        let error = Error::unsupported(what).with("expression", expr);
        self.source.point(error, place_of(expr))
    }
}
