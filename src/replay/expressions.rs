//! Reads expressions from plan JSON into typed expressions with Ocior's function names.
//!
//! Types are derived again from the columns upwards: the result type of each function must be the
//! type in the plan, otherwise the plan means another function.

use dwio::connector::ExpressionEvaluator;
use dwio::expr::TypedExpr;
use exec::expr::{ExecEvaluator, FunctionRegistry};
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type, Value};

use super::json::Json;
use super::serialized::read_vectors;
use super::types::{read_row_type, read_type};
use super::values::read_value;
use format_text::base64;

/// Prefix of function names in plans of Presto's native workers.
const PRESTO_PREFIX: &str = "presto.default.";

/// Meaning of names at the position of an expression.
enum Scope<'a> {
    /// The columns of an input.
    Columns(&'a RowType),
    /// Columns whose types are stated by the expression itself.
    Declared,
    /// The parameters of a lambda, and the scope outside of it for other names.
    Lambda(&'a RowType, &'a Scope<'a>),
}

impl Scope<'_> {
    /// Returns the type of a name; `None` when the name is unknown.
    fn type_of(&self, name: &str, declared: impl FnOnce() -> Result<Type>) -> Result<Option<Type>> {
        let mut scope = self;
        while let Scope::Lambda(parameters, outside) = scope {
            if let Some(ty) = parameters.type_of(name) {
                return Ok(Some(ty.clone()));
            }
            scope = outside;
        }
        match scope {
            Scope::Columns(input) => Ok(input.type_of(name).cloned()),
            Scope::Declared | Scope::Lambda(..) => declared().map(Some),
        }
    }
}

/// Reads expressions.
#[derive(Debug)]
pub(super) struct Expressions {
    functions: Arc<FunctionRegistry>,
    evaluator: ExecEvaluator,
}

impl Expressions {
    /// Returns a reader of expressions that call `functions`.
    pub(super) fn new(functions: &Arc<FunctionRegistry>) -> Self {
        let functions = Arc::clone(functions);
        Expressions { evaluator: ExecEvaluator::new(Arc::clone(&functions)), functions }
    }

    /// Reads an expression over the columns `input`.
    pub(super) fn read(&self, json: &Json<'_>, input: &Arc<RowType>) -> Result<TypedExpr> {
        let expr = self.expr(json, &Scope::Columns(input))?;
        self.compiled(json, expr, input)
    }

    /// Reads a condition that states the types of its columns itself.
    pub(super) fn read_condition(&self, json: &Json<'_>) -> Result<TypedExpr> {
        let expr = self.expr(json, &Scope::Declared)?;
        let mut fields: Vec<(String, Type)> = Vec::new();
        expr.visit(&mut |part| {
            if let TypedExpr::Field { name, ty } = part
                && !fields.iter().any(|(known, _)| **known == **name)
            {
                fields.push((name.to_string(), ty.clone()));
            }
        });
        if expr.ty() != &Type::Boolean {
            return Err(json.wrong("a condition"));
        }
        self.compiled(json, expr, &Arc::new(RowType::new(fields)))
    }

    /// Returns the expression if it can be compiled; the error has the position of an expression
    /// that cannot.
    fn compiled(
        &self,
        json: &Json<'_>,
        expr: TypedExpr,
        input: &Arc<RowType>,
    ) -> Result<TypedExpr> {
        json.check(self.evaluator.compile(&expr, input))?;
        Ok(expr)
    }

    fn expr(&self, json: &Json<'_>, scope: &Scope<'_>) -> Result<TypedExpr> {
        let (name, class) = json.class()?;
        match name {
            "FieldAccessTypedExpr" => self.field(json, scope),
            "ConstantTypedExpr" => constant(json),
            "CallTypedExpr" => self.call(json, scope),
            "CastTypedExpr" => {
                let try_cast = json.flag("nullOnFailure")? || json.flag("isTryCast")?;
                let cast = Box::new(self.only_input(json, scope)?);
                Ok(TypedExpr::Cast { input: cast, ty: declared(json)?, try_cast })
            }
            "DereferenceTypedExpr" => {
                let of = self.only_input(json, scope)?;
                let index = json.member("fieldIndex")?;
                let place = index.integer()?;
                let field = of.ty().as_row().and_then(|row| row.types().get(place)).cloned();
                let ty = field.ok_or_else(|| index.wrong("a field of the struct"))?;
                Ok(TypedExpr::Dereference { input: Box::new(of), index: place, ty })
            }
            // A struct of the inputs, whose field names are in its type.
            "ConcatTypedExpr" => {
                let fields = self.inputs(json, scope)?;
                self.resolved(json, "row_constructor", fields)
            }
            "LambdaTypedExpr" => {
                let parameters = read_row_type(&json.member("signature")?)?;
                let inside = Scope::Lambda(&parameters, scope);
                let body = self.expr(&json.member("body")?, &inside)?;
                Ok(TypedExpr::lambda(&parameters, body))
            }
            "NullIfTypedExpr" => {
                let args = self.inputs(json, scope)?;
                let common = read_type(&json.member("commonType")?)?;
                if args.iter().any(|arg| !arg.ty().is_equivalent(&common)) {
                    return Err(class.refuse("a conversion inside of NULLIF"));
                }
                self.resolved(json, "nullif", args)
            }
            _ => Err(class.refuse("an expression that is not built")),
        }
    }

    fn inputs(&self, json: &Json<'_>, scope: &Scope<'_>) -> Result<Vec<TypedExpr>> {
        json.optional_elements("inputs")?.iter().map(|arg| self.expr(arg, scope)).collect()
    }

    fn only_input(&self, json: &Json<'_>, scope: &Scope<'_>) -> Result<TypedExpr> {
        let mut inputs = self.inputs(json, scope)?;
        match (inputs.pop(), inputs.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(json.wrong("one input")),
        }
    }

    /// Reads a column, or a field of a struct by its name.
    fn field(&self, json: &Json<'_>, scope: &Scope<'_>) -> Result<TypedExpr> {
        let name = json.member("fieldName")?;
        let inputs = json.optional_elements("inputs")?;
        let of_the_row = match inputs.as_slice() {
            [] => true,
            [one] => one.class()?.0 == "InputTypedExpr",
            _ => return Err(json.wrong("at most one input")),
        };
        let unknown = || {
            Error::invalid_input("an expression names a column that its input has not")
                .with("column", name.text().unwrap_or_default())
        };
        if !of_the_row {
            let of = self.only_input(json, scope)?;
            let wanted = name.text()?;
            let row = of.ty().as_row().cloned().ok_or_else(|| json.locate(unknown()))?;
            let index = row.index_of(wanted).ok_or_else(|| json.locate(unknown()))?;
            let ty = row.types()[index].clone();
            return Ok(TypedExpr::Dereference { input: Box::new(of), index, ty });
        }
        let ty = scope.type_of(name.text()?, || declared(json))?;
        let ty = ty.ok_or_else(|| json.locate(unknown()))?;
        Ok(TypedExpr::field(name.text()?, ty))
    }

    fn call(&self, json: &Json<'_>, scope: &Scope<'_>) -> Result<TypedExpr> {
        let function = json.member("functionName")?;
        let name = function.text()?;
        let name = name.strip_prefix(PRESTO_PREFIX).unwrap_or(name);
        let args = self.inputs(json, scope)?;
        let is_map = matches!(args.first().map(TypedExpr::ty), Some(Type::Map(..)));
        match (name, args.as_slice()) {
            ("mod", _) => self.resolved(json, "modulus", args),
            // A key that is missing in a map returns null, unlike an index outside of an array.
            ("subscript", _) if is_map => self.resolved(json, "element_at", args),
            ("date", [one]) => Ok(TypedExpr::cast(one.clone(), Type::Date)),
            ("in", [value, list]) if matches!(list.ty(), Type::Array(_)) => {
                let mut listed =
                    members(list).ok_or_else(|| function.refuse("IN without a list"))?;
                listed.insert(0, value.clone());
                self.resolved(json, "in", listed)
            }
            _ if self.functions.contains(name) => self.resolved(json, name, args),
            _ => Err(function.refuse("a function that is not built")),
        }
    }

    /// Returns the call of a function, whose result must have the type in the plan.
    fn resolved(&self, json: &Json<'_>, name: &str, args: Vec<TypedExpr>) -> Result<TypedExpr> {
        let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
        let result = json.check(self.functions.resolve(name, &types))?.result;
        let declared = declared(json)?;
        if !result.is_equivalent(&declared) {
            return Err(json.locate(
                Error::unsupported("a function gives another type than the plan says")
                    .with("name", name)
                    .with("plan", declared)
                    .with("here", result),
            ));
        }
        Ok(TypedExpr::call(name, args, declared))
    }
}

/// Returns the elements of a constant list, or of a cast of one.
fn members(list: &TypedExpr) -> Option<Vec<TypedExpr>> {
    match list {
        TypedExpr::Constant { value: Value::Array(values), ty: Type::Array(element) } => {
            let ty = &**element;
            Some(values.iter().map(|v| TypedExpr::constant(v.clone(), ty.clone())).collect())
        }
        TypedExpr::Cast { input, ty: Type::Array(element), try_cast } => {
            let cast = |input| TypedExpr::Cast {
                input: Box::new(input),
                ty: (**element).clone(),
                try_cast: *try_cast,
            };
            Some(members(input)?.into_iter().map(cast).collect())
        }
        _ => None,
    }
}

fn declared(json: &Json<'_>) -> Result<Type> {
    read_type(&json.member("type")?)
}

fn constant(json: &Json<'_>) -> Result<TypedExpr> {
    let ty = declared(json)?;
    let Some(text) = json.optional("valueVector")? else {
        let value = match json.optional("value")? {
            Some(value) => read_value(&value, &ty)?,
            None => Value::Null,
        };
        return Ok(TypedExpr::constant(value, ty));
    };
    let bytes = base64::decode(text.text()?).ok_or_else(|| text.wrong("base64"))?;
    let mut vectors = text.check(read_vectors(&bytes))?;
    match (vectors.pop(), vectors.is_empty()) {
        (Some(vector), true) if vector.ty.is_equivalent(&ty) && vector.rows.len() == 1 => {
            let value = vector.rows.into_iter().next().unwrap_or(Value::Null);
            Ok(TypedExpr::constant(value, ty))
        }
        _ => Err(text.wrong("one vector of one row and the constant's type")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exec::expr::{Function, Kernel};
    use serde_json::json;
    use vector::ErrorKind;

    #[test]
    fn registered_functions_are_called() {
        let bigint = json!({"name": "Type", "type": "BIGINT"});
        let call = json!({
            "name": "CallTypedExpr",
            "type": bigint,
            "functionName": "presto.default.step",
            "inputs": [{"name": "FieldAccessTypedExpr", "type": bigint, "fieldName": "x"}],
        });
        let input = Arc::new(RowType::new([("x", Type::BigInt)]));
        let read = |functions: FunctionRegistry| {
            Expressions::new(&Arc::new(functions)).read(&Json::root("plan", &call), &input)
        };
        let mut functions = FunctionRegistry::builtin();
        let unknown = read(functions.clone()).unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::Unsupported, "{unknown}");
        let distance = 10;
        functions.register(Function::closure("step", &["(BIGINT) -> BIGINT"], move |_, _| {
            Ok(Kernel::new(move |call| {
                call.fixed(std::iter::repeat_n(distance, call.num_rows()).collect())
            }))
        }));
        let found = read(functions).unwrap();
        let x = TypedExpr::field("x", Type::BigInt);
        assert_eq!(found, TypedExpr::call("step", vec![x], Type::BigInt));
    }
}
