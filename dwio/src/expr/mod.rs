//! Typed expressions: the plan's representation of computations over rows.
//!
//! An expression is a tree of fields, constants, calls, casts, dereferences and lambdas in which
//! every node has its type; the creator of the tree has resolved names and types. `exec` compiles
//! expressions; connectors split them into filters and a remaining expression. Calls name functions
//! by their Presto names (`eq`, `plus`, `and`, ...). The special forms `and`, `or`, `if`, `switch`,
//! `coalesce` are calls as well and are distinguished when compiled.

pub(crate) mod leaf_filter;
pub mod to_filter;

use std::collections::HashSet;
use std::fmt;

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type, Value, value_text};

/// An expression over the columns of one input row type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedExpr {
    /// A column of the input, by name.
    Field {
        /// Name of the column in the input row type.
        name: Arc<str>,
        /// Type of the column.
        ty: Type,
    },
    /// A literal.
    Constant {
        /// Value, of type `ty`.
        value: Value,
        /// Type of the value.
        ty: Type,
    },
    /// A function or special form applied to arguments.
    Call {
        /// Name of the function, in lower case.
        name: Arc<str>,
        /// Arguments in order.
        args: Vec<TypedExpr>,
        /// Type of the result.
        ty: Type,
    },
    /// A type conversion.
    Cast {
        /// Expression to convert.
        input: Box<TypedExpr>,
        /// Target type of the conversion.
        ty: Type,
        /// True if a failed conversion returns null instead of an error.
        try_cast: bool,
    },
    /// A field of a struct value.
    Dereference {
        /// Expression of the struct.
        input: Box<TypedExpr>,
        /// Position of the field in the struct.
        index: usize,
        /// Type of the field.
        ty: Type,
    },
    /// A lambda, as an argument of a higher-order function, which applies it to each element. Its
    /// type is that of its result.
    Lambda {
        /// Columns of the body: the parameters, followed by the captured columns.
        columns: Arc<RowType>,
        /// Captured expressions over the enclosing rows, one for each of the last columns.
        captures: Vec<TypedExpr>,
        /// Expression over the columns.
        body: Box<TypedExpr>,
    },
}

impl TypedExpr {
    /// Returns a reference to a column.
    pub fn field(name: impl Into<Arc<str>>, ty: Type) -> Self {
        TypedExpr::Field { name: name.into(), ty }
    }

    /// Returns a literal of type `ty`.
    pub fn constant(value: Value, ty: Type) -> Self {
        TypedExpr::Constant { value, ty }
    }

    /// Returns a call.
    pub fn call(name: impl Into<Arc<str>>, args: Vec<TypedExpr>, ty: Type) -> Self {
        TypedExpr::Call { name: name.into(), args, ty }
    }

    /// Returns a cast that fails on values that cannot be converted.
    pub fn cast(input: TypedExpr, ty: Type) -> Self {
        TypedExpr::Cast { input: Box::new(input), ty, try_cast: false }
    }

    /// Returns a lambda with the given parameters. Columns of `body` that are not parameters are
    /// captured from the enclosing rows under their names.
    pub fn lambda(parameters: &RowType, body: TypedExpr) -> Self {
        let mut captured: Vec<(Arc<str>, Type)> = Vec::new();
        body.visit(&mut |expr| {
            if let TypedExpr::Field { name, ty } = expr
                && parameters.index_of(name).is_none()
                && !captured.iter().any(|(known, _)| known == name)
            {
                captured.push((Arc::clone(name), ty.clone()));
            }
        });
        let columns = parameters.fields().map(|(name, ty)| (name.to_string(), ty.clone()));
        let columns =
            columns.chain(captured.iter().map(|(name, ty)| (name.to_string(), ty.clone())));
        TypedExpr::Lambda {
            columns: Arc::new(RowType::new(columns.collect::<Vec<_>>())),
            captures: captured.into_iter().map(|(name, ty)| TypedExpr::field(name, ty)).collect(),
            body: Box::new(body),
        }
    }

    /// Returns the conjunction of `terms`; `None` if there are no terms.
    pub fn and(mut terms: Vec<TypedExpr>) -> Option<Self> {
        match terms.len() {
            0 | 1 => terms.pop(),
            _ => Some(Self::call("and", terms, Type::Boolean)),
        }
    }

    /// Returns the type of the result.
    pub fn ty(&self) -> &Type {
        match self {
            TypedExpr::Field { ty, .. }
            | TypedExpr::Constant { ty, .. }
            | TypedExpr::Call { ty, .. }
            | TypedExpr::Cast { ty, .. }
            | TypedExpr::Dereference { ty, .. } => ty,
            TypedExpr::Lambda { body, .. } => body.ty(),
        }
    }

    /// Returns the inputs of this node. The inputs of a lambda are its captures, because its body
    /// is evaluated over other rows.
    pub fn inputs(&self) -> &[TypedExpr] {
        match self {
            TypedExpr::Field { .. } | TypedExpr::Constant { .. } => &[],
            TypedExpr::Call { args, .. } => args,
            TypedExpr::Lambda { captures, .. } => captures,
            TypedExpr::Cast { input, .. } | TypedExpr::Dereference { input, .. } => {
                std::slice::from_ref(input)
            }
        }
    }

    /// Returns the terms of a conjunction, with nested ANDs flattened; any other expression is a
    /// single term.
    pub fn conjuncts(&self) -> Vec<&TypedExpr> {
        let mut terms = Vec::new();
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            match expr {
                TypedExpr::Call { name, args, .. } if &**name == "and" => {
                    rest.extend(args.iter().rev());
                }
                term => terms.push(term),
            }
        }
        terms
    }

    /// Returns the expression with some of its subexpressions replaced, outermost first. `f`
    /// returns the replacement of a subexpression, or `None` to continue with its inputs.
    ///
    /// # Errors
    /// Those of `f`.
    pub fn replace<E>(
        &self,
        f: &mut impl FnMut(&TypedExpr) -> std::result::Result<Option<TypedExpr>, E>,
    ) -> std::result::Result<TypedExpr, E> {
        if let Some(other) = f(self)? {
            return Ok(other);
        }
        Ok(match self {
            TypedExpr::Field { .. } | TypedExpr::Constant { .. } => self.clone(),
            TypedExpr::Call { name, args, ty } => {
                let args = args.iter().map(|arg| arg.replace(f));
                TypedExpr::call(
                    Arc::clone(name),
                    args.collect::<std::result::Result<_, E>>()?,
                    ty.clone(),
                )
            }
            TypedExpr::Cast { input, ty, try_cast } => TypedExpr::Cast {
                input: Box::new(input.replace(f)?),
                ty: ty.clone(),
                try_cast: *try_cast,
            },
            TypedExpr::Dereference { input, index, ty } => TypedExpr::Dereference {
                input: Box::new(input.replace(f)?),
                index: *index,
                ty: ty.clone(),
            },
            TypedExpr::Lambda { columns, captures, body } => {
                let captures = captures.iter().map(|capture| capture.replace(f));
                TypedExpr::Lambda {
                    columns: Arc::clone(columns),
                    captures: captures.collect::<std::result::Result<_, E>>()?,
                    body: body.clone(),
                }
            }
        })
    }

    /// Visits this node and all nodes below it, parents first.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a TypedExpr)) {
        let mut rest = vec![self];
        while let Some(expr) = rest.pop() {
            f(expr);
            rest.extend(expr.inputs().iter().rev());
        }
    }

    /// Returns the names of the referenced columns, each once, in order of first use.
    pub fn field_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        self.visit(&mut |expr| {
            if let TypedExpr::Field { name, .. } = expr
                && seen.insert(name)
            {
                names.push(name);
            }
        });
        names
    }

    /// Checks that every referenced column exists in `input` with its type.
    ///
    /// # Errors
    /// `Internal` for the first column that does not.
    pub fn check_against(&self, input: &RowType) -> Result<()> {
        let mut outcome = Ok(());
        self.visit(&mut |expr| {
            if let TypedExpr::Field { name, ty } = expr
                && outcome.is_ok()
                && input.type_of(name).is_none_or(|found| !found.is_equivalent(ty))
            {
                outcome = Err(Error::internal("an expression uses a column its input has not")
                    .with("column", name)
                    .with("type", ty)
                    .with("input", input));
            }
        });
        outcome
    }
}

impl fmt::Display for TypedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypedExpr::Field { name, .. } => write!(f, "{name}"),
            TypedExpr::Constant { value, ty } => write_constant(f, value, ty),
            TypedExpr::Call { name, args, .. } => {
                write!(f, "{name}(")?;
                for (i, arg) in args.iter().enumerate() {
                    write!(f, "{}{arg}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            TypedExpr::Cast { input, ty, try_cast } => {
                write!(f, "{}({input} as {ty})", if *try_cast { "try_cast" } else { "cast" })
            }
            TypedExpr::Dereference { input, index, .. } => match input.ty() {
                Type::Row(row) if row.names().get(*index).is_some_and(|n| !n.is_empty()) => {
                    write!(f, "{input}.{}", row.names()[*index])
                }
                _ => write!(f, "{input}.[{index}]"),
            },
            TypedExpr::Lambda { columns, captures, body } => {
                let num_parameters = columns.len().saturating_sub(captures.len());
                let parameters: Vec<&str> =
                    columns.names().iter().take(num_parameters).map(String::as_str).collect();
                write!(f, "({}) -> {body}", parameters.join(", "))
            }
        }
    }
}

fn is_more_than_its_number(ty: &Type) -> bool {
    use Type::{Date, Decimal, Interval, Time, Uuid};
    matches!(ty, Date | Time(_) | Decimal { .. } | Interval | Uuid)
}

fn write_constant(f: &mut fmt::Formatter<'_>, value: &Value, ty: &Type) -> fmt::Result {
    match value {
        Value::Null => f.write_str("null"),
        // Values whose text differs from the number in which they are stored.
        value if is_more_than_its_number(ty) => f.write_str(&value_text(ty, value)),
        Value::Boolean(v) => write!(f, "{v}"),
        Value::Real(v) => write!(f, "{v:?}"),
        Value::Double(v) => write!(f, "{v:?}"),
        Value::Timestamp(v) => write!(f, "{v}"),
        Value::Bytes(v) => write!(f, "{:?}", String::from_utf8_lossy(v)),
        other => match other.as_i128() {
            Some(v) => write!(f, "{v}"),
            None => write!(f, "{other:?}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> TypedExpr {
        TypedExpr::field(name, Type::BigInt)
    }

    fn gt(name: &str, value: i64) -> TypedExpr {
        let constant = TypedExpr::constant(Value::BigInt(value), Type::BigInt);
        TypedExpr::call("gt", vec![column(name), constant], Type::Boolean)
    }

    #[test]
    fn nested_conjunctions_are_one_list_of_terms() {
        let inner = TypedExpr::and(vec![gt("b", 2), gt("a", 3)]).unwrap();
        let all = TypedExpr::and(vec![gt("a", 1), inner]).unwrap();
        let texts: Vec<String> = all.conjuncts().iter().map(|e| e.to_string()).collect();
        assert_eq!(texts, ["gt(a, 1)", "gt(b, 2)", "gt(a, 3)"]);
        assert_eq!(all.field_names(), ["a", "b"]);
    }

    #[test]
    fn a_lambda_captures_the_columns_that_are_not_its_parameters() {
        let body = TypedExpr::call("plus", vec![column("x"), column("a")], Type::BigInt);
        let lambda = TypedExpr::lambda(&RowType::new([("x", Type::BigInt)]), body);
        assert_eq!(lambda.field_names(), ["a"]);
        assert_eq!(lambda.to_string(), "(x) -> plus(x, a)");
        assert_eq!(lambda.ty(), &Type::BigInt);
    }

    #[test]
    fn a_column_of_another_type_is_found() {
        let input = RowType::new([("a", Type::Integer)]);
        assert!(gt("a", 1).check_against(&input).is_err());
        assert!(gt("a", 1).check_against(&RowType::new([("a", Type::BigInt)])).is_ok());
    }
}
