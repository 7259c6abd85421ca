//! Binds operators and special forms.

use dwio::expr::TypedExpr;
use sqlparser::ast::{BinaryOperator, CaseWhen, Expr, InTarget};
use sqlparser::tokenizer::Span;
use vector::{Error, Result, Type, Value};

use super::{Binder, SubqueryUse};
use crate::sql::source::place_of;

/// The parts of `text [NOT] LIKE pattern [ESCAPE escape]`.
pub(super) struct LikeParts<'e> {
    pub(super) text: &'e Expr,
    pub(super) pattern: &'e Expr,
    pub(super) escape: Option<&'e Expr>,
    pub(super) negated: bool,
    pub(super) any_case: bool,
}

impl Binder<'_> {
    pub(super) fn binary(
        &mut self,
        expr: &Expr,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<TypedExpr> {
        let span = place_of(expr);
        let comparison = match op {
            BinaryOperator::And | BinaryOperator::Or => return self.junction(expr, op),
            BinaryOperator::Eq => Some("eq"),
            BinaryOperator::NotEq => Some("neq"),
            BinaryOperator::Lt => Some("lt"),
            BinaryOperator::LtEq => Some("lte"),
            BinaryOperator::Gt => Some("gt"),
            BinaryOperator::GtEq => Some("gte"),
            _ => None,
        };
        let mut args = vec![self.bind(left)?, self.bind(right)?];
        if let Some(mut name) = comparison {
            // Filters are extracted from comparisons whose first operand is the column.
            if let [TypedExpr::Constant { .. }, other] = args.as_slice()
                && !matches!(other, TypedExpr::Constant { .. })
            {
                args.swap(0, 1);
                name = flipped(name);
            }
            let args = self.unify(args, span)?;
            return self.call(name, args, span);
        }
        let name = match op {
            BinaryOperator::Plus => "plus",
            BinaryOperator::Minus => "minus",
            BinaryOperator::Multiply => "multiply",
            BinaryOperator::Divide => "divide",
            BinaryOperator::Modulo => "modulus",
            BinaryOperator::StringConcat => "concat",
            other => {
                let error = Error::unsupported("no such operator").with("operator", other);
                return Err(self.source.point(error, span));
            }
        };
        self.call(name, args, span)
    }

    /// Binds a chain of ANDs or of ORs as one call. Generated queries have long chains, so the
    /// chain is traversed in a loop and not by recursion.
    fn junction(&mut self, expr: &Expr, op: &BinaryOperator) -> Result<TypedExpr> {
        let mut operands = Vec::new();
        let mut rest = vec![expr];
        while let Some(next) = rest.pop() {
            match next {
                Expr::BinaryOp { left, op: same, right } if same == op => {
                    rest.push(right);
                    rest.push(left);
                }
                Expr::Nested(inner) if matches!(&**inner, Expr::BinaryOp { op: same, .. } if same == op) =>
                {
                    rest.push(inner);
                }
                operand => operands.push(operand),
            }
        }
        let args =
            operands.into_iter().map(|e| self.bind_condition(e)).collect::<Result<Vec<_>>>()?;
        let name = if matches!(op, BinaryOperator::And) { "and" } else { "or" };
        self.call(name, args, place_of(expr))
    }

    pub(super) fn not(&self, inner: TypedExpr, span: Span) -> Result<TypedExpr> {
        self.call("not", vec![inner], span)
    }

    pub(super) fn is_null(&mut self, inner: &Expr) -> Result<TypedExpr> {
        let bound = self.bind(inner)?;
        self.call("is_null", vec![bound], place_of(inner))
    }

    /// Binds `IS [NOT] TRUE` and `IS [NOT] FALSE`, whose result is never null.
    pub(super) fn is_truth(
        &mut self,
        inner: &Expr,
        truth: bool,
        negated: bool,
    ) -> Result<TypedExpr> {
        let span = place_of(inner);
        let bound = self.bind_condition(inner)?;
        let default = TypedExpr::constant(Value::Boolean(!truth), Type::Boolean);
        let known = self.call("coalesce", vec![bound, default], span)?;
        if truth == negated { self.not(known, span) } else { Ok(known) }
    }

    pub(super) fn distinct(&mut self, left: &Expr, right: &Expr, span: Span) -> Result<TypedExpr> {
        let args = vec![self.bind(left)?, self.bind(right)?];
        let args = self.unify(args, span)?;
        self.call("distinct_from", args, span)
    }

    pub(super) fn in_list(
        &mut self,
        inner: &Expr,
        target: &InTarget,
        negated: bool,
        span: Span,
    ) -> Result<TypedExpr> {
        let items = match target {
            InTarget::List(items) => items,
            InTarget::Subquery(query) => {
                let left = self.bind(inner)?;
                let found = self.subquery(SubqueryUse::In(left), query)?;
                return if negated { self.not(found, span) } else { Ok(found) };
            }
            _ => {
                let error = Error::unsupported("IN takes a list of values or a subquery");
                return Err(self.source.point(error, span));
            }
        };
        let mut args = vec![self.bind(inner)?];
        for item in items {
            args.push(self.bind(item)?);
        }
        let args = self.unify(args, span)?;
        let call = self.call("in", args, span)?;
        if negated { self.not(call, span) } else { Ok(call) }
    }

    /// Binds `x BETWEEN a AND b`, which is `x >= a AND x <= b` and may therefore be false although
    /// a bound is null. The function `between` returns null in that case, so it is used only where
    /// no bound is null, and where the value must be evaluated once.
    pub(super) fn between(
        &mut self,
        inner: &Expr,
        low: &Expr,
        high: &Expr,
        negated: bool,
        span: Span,
    ) -> Result<TypedExpr> {
        let args = vec![self.bind(inner)?, self.bind(low)?, self.bind(high)?];
        let args = self.unify(args, span)?;
        let is_known =
            |arg: &TypedExpr| matches!(arg, TypedExpr::Constant { value, .. } if !value.is_null());
        let call = match args.as_slice() {
            [value, low, high]
                if !(is_known(low) && is_known(high)) && self.functions.is_deterministic(value) =>
            {
                let above = self.call("gte", vec![value.clone(), low.clone()], span)?;
                let below = self.call("lte", vec![value.clone(), high.clone()], span)?;
                self.call("and", vec![above, below], span)?
            }
            _ => self.call("between", args, span)?,
        };
        if negated { self.not(call, span) } else { Ok(call) }
    }

    pub(super) fn like(&mut self, parts: LikeParts<'_>, span: Span) -> Result<TypedExpr> {
        let mut args = vec![self.bind(parts.text)?, self.bind(parts.pattern)?];
        if parts.any_case {
            args = args
                .into_iter()
                .map(|a| self.call("lower", vec![a], span))
                .collect::<Result<Vec<_>>>()?;
        }
        if let Some(escape) = parts.escape {
            args.push(self.bind(escape)?);
        }
        let call = self.call("like", args, span)?;
        if parts.negated { self.not(call, span) } else { Ok(call) }
    }

    /// Binds both forms of CASE as one `switch` call: conditions and results alternate, the default
    /// is last.
    pub(super) fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[CaseWhen],
        default: Option<&Expr>,
        span: Span,
    ) -> Result<TypedExpr> {
        let operand = operand.map(|e| self.bind(e)).transpose()?;
        let mut args = Vec::with_capacity(branches.len() * 2 + 1);
        for branch in branches {
            let at = place_of(&branch.condition);
            args.push(match &operand {
                Some(operand) => {
                    let value = self.bind(&branch.condition)?;
                    let pair = self.unify(vec![operand.clone(), value], at)?;
                    self.call("eq", pair, at)?
                }
                None => self.bind_condition(&branch.condition)?,
            });
            args.push(self.bind(&branch.result)?);
        }
        if let Some(default) = default {
            args.push(self.bind(default)?);
        }
        self.call("switch", args, span)
    }
}

/// Returns the comparison that is equivalent after its operands are swapped.
fn flipped(name: &'static str) -> &'static str {
    match name {
        "lt" => "gt",
        "lte" => "gte",
        "gt" => "lt",
        "gte" => "lte",
        same => same,
    }
}
