//! Function calls, among them those that SQL writes with keywords.

use dwio::expr::TypedExpr;
use exec::operator::aggregate::is_aggregate;
use sqlparser::ast::{
    CeilFloorKind, DateTimeField, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, ObjectNamePart, OrderByExpr, TrimWhereField,
};
use sqlparser::tokenizer::Span;
use vector::{Error, Result};

use super::Binder;
use super::aggregates::Modifiers;
use crate::sql::source::place_of;

/// The arguments of a call as SQL wrote them.
pub(super) enum Arguments<'e> {
    /// `(*)`.
    Star,
    /// `(a, b, ..)`.
    List(Vec<&'e Expr>),
}

impl Binder<'_> {
    pub(super) fn function(&mut self, function: &Function, span: Span) -> Result<TypedExpr> {
        let name = match function.name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => name.value.to_lowercase(),
            _ => {
                let error = Error::invalid_input("no such function").with("name", &function.name);
                return Err(self.source.point(error, span));
            }
        };
        let refuse = |what: &'static str| {
            Err(self.source.point(Error::unsupported(what).with("function", &name), span))
        };
        if function.over.is_some() {
            let error = Error::unsupported("window functions are not supported yet")
                .with("function", &name);
            return Err(self.source.advise(error, span, "engines such as DuckDB have them"));
        }
        if !function.within_group.is_empty() || function.null_treatment.is_some() {
            return refuse("WITHIN GROUP and IGNORE NULLS are not supported yet");
        }
        let (args, distinct, order_by): (_, _, &[OrderByExpr]) = match &function.args {
            FunctionArguments::List(list) => {
                let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
                let order_by = match list.clauses.as_slice() {
                    [] => &[],
                    [FunctionArgumentClause::OrderBy(keys)] => keys.as_slice(),
                    _ => {
                        return refuse("clauses inside a call but ORDER BY are not supported yet");
                    }
                };
                (self.arguments(&list.args, span)?, distinct, order_by)
            }
            FunctionArguments::None => (Arguments::List(Vec::new()), false, &[]),
            FunctionArguments::Subquery(_) => return refuse("subqueries are not supported yet"),
        };
        if is_aggregate(&name) {
            let modifiers = Modifiers { distinct, filter: function.filter.as_deref(), order_by };
            return self.aggregate(&name, args, modifiers, span);
        }
        if distinct || function.filter.is_some() || !order_by.is_empty() {
            let error = Error::invalid_input("only aggregates take DISTINCT, FILTER and ORDER BY")
                .with("function", &name);
            return Err(self.source.point(error, span));
        }
        let Arguments::List(args) = args else {
            let error = Error::invalid_input("only count takes *").with("function", &name);
            return Err(self.source.point(error, span));
        };
        self.scalar(&name, &args, span)
    }

    fn arguments<'e>(&self, args: &'e [FunctionArg], span: Span) -> Result<Arguments<'e>> {
        let mut list = Vec::with_capacity(args.len());
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => list.push(expr),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if args.len() == 1 => {
                    return Ok(Arguments::Star);
                }
                other => {
                    let error = Error::unsupported("this form of argument is not supported")
                        .with("argument", other);
                    return Err(self.source.point(error, span));
                }
            }
        }
        Ok(Arguments::List(list))
    }

    fn scalar(&mut self, name: &str, args: &[&Expr], span: Span) -> Result<TypedExpr> {
        let mut bound = args.iter().map(|e| self.bind(e)).collect::<Result<Vec<_>>>()?;
        let name = match name {
            "mod" => "modulus",
            "ifnull" => "coalesce",
            "char_length" | "character_length" => "length",
            "position" => "strpos",
            other => other,
        };
        if matches!(name, "coalesce" | "nullif") {
            bound = self.unify(bound, span)?;
        }
        self.call(name, bound, span)
    }

    /// `EXTRACT(YEAR FROM x)` is `year(x)`, as far as there is such a function.
    pub(super) fn extract(
        &mut self,
        field: &DateTimeField,
        inner: &Expr,
        span: Span,
    ) -> Result<TypedExpr> {
        let name = field.to_string().to_lowercase();
        if !self.functions.contains(&name) {
            let error =
                Error::unsupported("EXTRACT does not know this part yet").with("part", field);
            return Err(self.source.point(error, span));
        }
        self.scalar(&name, &[inner], span)
    }

    /// Calls that the parser has kinds of their own for.
    pub(super) fn keyword_call(&mut self, expr: &Expr) -> Result<TypedExpr> {
        let span = place_of(expr);
        match expr {
            Expr::Substring { expr: text, substring_from, substring_for, .. } => {
                let args: Vec<&Expr> =
                    [Some(text), substring_from.as_ref(), substring_for.as_ref()]
                        .into_iter()
                        .flatten()
                        .map(AsRef::as_ref)
                        .collect();
                self.scalar("substr", &args, span)
            }
            Expr::Trim { expr: text, trim_where, trim_what, trim_characters: None } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "trim",
                };
                let args: Vec<&Expr> = [Some(text), trim_what.as_ref()]
                    .into_iter()
                    .flatten()
                    .map(AsRef::as_ref)
                    .collect();
                self.scalar(name, &args, span)
            }
            Expr::Position { expr: part, r#in: text } => self.scalar("strpos", &[text, part], span),
            Expr::Ceil {
                expr: inner,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => self.scalar("ceil", &[inner], span),
            Expr::Floor {
                expr: inner,
                field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime),
            } => self.scalar("floor", &[inner], span),
            other => Err(self.unsupported(other)),
        }
    }
}
