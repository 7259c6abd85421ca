//! Makes types agree: implicit casts, conversion of text literals, constant folding.
//!
//! A constant is converted to the type of the other operand wherever the conversion is lossless, so
//! that the column in a comparison needs no cast and the connector can turn the comparison into a
//! filter.

use dwio::expr::TypedExpr;
use exec::expr::{can_coerce, common_type};
use sqlparser::ast::{CastKind, DataType, Expr, TypedString};
use sqlparser::tokenizer::Span;
use vector::{Error, Result, Type, Value};

use super::Binder;
use crate::sql::functions::folded;
use crate::sql::literal;

impl Binder<'_> {
    /// Returns `a = b`, for columns that USING names.
    pub(crate) fn equal(&self, a: TypedExpr, b: TypedExpr, span: Span) -> Result<TypedExpr> {
        let args = self.unify(vec![a, b], span)?;
        self.call("eq", args, span)
    }

    /// Returns the value of `a`, or that of `b` where `a` is null.
    pub(crate) fn first_of(&self, a: TypedExpr, b: TypedExpr, span: Span) -> Result<TypedExpr> {
        let args = self.unify(vec![a, b], span)?;
        self.call("coalesce", args, span)
    }

    /// Returns a call whose arguments are cast to the parameter types of the function; it is folded
    /// when all arguments are constant.
    pub(super) fn call(&self, name: &str, args: Vec<TypedExpr>, span: Span) -> Result<TypedExpr> {
        let types: Vec<Type> = args.iter().map(|a| a.ty().clone()).collect();
        let resolved =
            self.functions.resolve(name, &types).map_err(|e| self.source.locate(e, span))?;
        let args = args.into_iter().zip(&resolved.args);
        let args: Vec<TypedExpr> = args.map(|(arg, ty)| self.cast_to(arg, ty)).collect();
        let constant = args.iter().all(|a| matches!(a, TypedExpr::Constant { .. }));
        let call = TypedExpr::call(name, args, resolved.result);
        if constant {
            return Ok(folded(call, self.functions));
        }
        Ok(call)
    }

    /// Converts `expr` to `ty` implicitly; a constant is converted during planning.
    pub(crate) fn cast_to(&self, expr: TypedExpr, ty: &Type) -> TypedExpr {
        if expr.ty().is_equivalent(ty) {
            return expr;
        }
        let constant = matches!(expr, TypedExpr::Constant { .. });
        let cast = TypedExpr::cast(expr, ty.clone());
        if constant { folded(cast, self.functions) } else { cast }
    }

    /// Binds `CAST`, `TRY_CAST` and `::`.
    pub(super) fn explicit_cast(
        &mut self,
        kind: &CastKind,
        inner: &Expr,
        named: &DataType,
        span: Span,
    ) -> Result<TypedExpr> {
        let ty = literal::data_type(named).map_err(|e| self.source.locate(e, span))?;
        let inner = self.bind(inner)?;
        let try_cast = matches!(kind, CastKind::TryCast | CastKind::SafeCast);
        if inner.ty() == &ty {
            return Ok(inner);
        }
        let constant = matches!(inner, TypedExpr::Constant { .. });
        let cast = TypedExpr::Cast { input: Box::new(inner), ty, try_cast };
        Ok(if constant { folded(cast, self.functions) } else { cast })
    }

    /// Binds `DATE '...'` and similar literals: a text that is a constant of the named type.
    pub(super) fn typed_string(&self, typed: &TypedString, span: Span) -> Result<TypedExpr> {
        let ty = literal::data_type(&typed.data_type).map_err(|e| self.source.locate(e, span))?;
        let text = literal::constant(&typed.value.value, false)
            .map_err(|e| self.source.locate(e, typed.value.span))?;
        let ty = literal::fine_enough(&typed.data_type, ty, &text);
        match self.text_literal_as(&text, &ty, typed.value.span) {
            Some(constant) => constant,
            None => Ok(self.cast_to(text, &ty)),
        }
    }

    /// Makes the operand types of a comparison agree. Text literals are converted to the type of
    /// the other operand, exact numbers too if it can represent them.
    ///
    /// # Errors
    ///
    /// `ErrorKind::InvalidInput`, with both types and the column, when the types cannot be made to
    /// agree.
    pub(super) fn unify(&self, args: Vec<TypedExpr>, span: Span) -> Result<Vec<TypedExpr>> {
        let Some(leading) = leading(&args) else { return Ok(args) };
        let (target, owner) = (leading.ty().clone(), leading.to_string());
        let args = args
            .into_iter()
            .map(|arg| self.constant_as(arg, &target, &owner, span))
            .collect::<Result<Vec<_>>>()?;
        for arg in &args {
            if common_type(arg.ty(), &target).is_none() {
                return Err(self.mismatch(&args, arg, &target, span));
            }
        }
        Ok(args)
    }

    /// Returns a constant converted to `target` where that is lossless; any other expression is
    /// returned unchanged.
    fn constant_as(
        &self,
        arg: TypedExpr,
        target: &Type,
        owner: &str,
        span: Span,
    ) -> Result<TypedExpr> {
        if let Some(text) = self.text_literal_as(&arg, target, span) {
            return text.map_err(|e| e.with("compared_with", owner));
        }
        if let TypedExpr::Constant { value, ty } = &arg
            && let Some(value) = literal::exact_as(value, ty, target)
        {
            return Ok(TypedExpr::constant(value, target.clone()));
        }
        Ok(arg)
    }

    /// Returns a text literal as a constant of `target`; `None` if text is not converted to that
    /// type implicitly.
    fn text_literal_as(
        &self,
        arg: &TypedExpr,
        target: &Type,
        span: Span,
    ) -> Option<Result<TypedExpr>> {
        let TypedExpr::Constant { value: Value::Bytes(text), ty: Type::Varchar } = arg else {
            return None;
        };
        let value = literal::text_as(text, target)?;
        Some(match value {
            Ok(value) => Ok(TypedExpr::constant(value, target.clone())),
            Err(error) => Err(self.source.point(error, span)),
        })
    }

    fn mismatch(&self, args: &[TypedExpr], odd: &TypedExpr, target: &Type, span: Span) -> Error {
        let other = args.iter().find(|a| a.ty() == target).unwrap_or(odd);
        let error = Error::invalid_input("values of these types cannot be compared")
            .with("left", format_args!("{other} {target}"))
            .with("right", format_args!("{odd} {}", odd.ty()));
        let text = |ty: &Type| matches!(ty, Type::Varchar);
        if text(target) && odd.ty().is_numeric() || text(odd.ty()) && target.is_numeric() {
            let advice = "write numbers without quotes, or convert one side with CAST";
            return self.source.advise(error, span, advice);
        }
        self.source.advise(error, span, "convert one side with CAST")
    }

    /// Checks that an expression is a condition: BOOLEAN, or an untyped NULL, which becomes
    /// BOOLEAN.
    pub(super) fn condition(&self, expr: TypedExpr, span: Span) -> Result<TypedExpr> {
        if can_coerce(expr.ty(), &Type::Boolean) {
            return Ok(self.cast_to(expr, &Type::Boolean));
        }
        let error = Error::invalid_input("a condition must be BOOLEAN")
            .with("clause", self.clause)
            .with("expression", &expr)
            .with("type", expr.ty());
        Err(self.source.point(error, span))
    }
}

/// Returns the operand whose type the constants of a comparison are converted to: the first that is
/// not constant, else the first that is not a text literal, else the first.
fn leading(args: &[TypedExpr]) -> Option<&TypedExpr> {
    let variable = args.iter().find(|a| !matches!(a, TypedExpr::Constant { .. }));
    let typed = || args.iter().find(|a| !matches!(a.ty(), Type::Varchar | Type::Unknown));
    variable.or_else(typed).or_else(|| args.first())
}
