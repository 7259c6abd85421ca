//! Subfields that an expression uses (rules S3.23 to S3.25).
//!
//! ```text
//! plus(s.n.y, cardinality(l))  ->  s.n.y, l
//! subscript(m, 'x')            ->  m["x"]
//! ```
//!
//! A chain of field accesses and constant subscripts that ends at a column is one path. Any other
//! expression uses all of its arguments.

use dwio::expr::TypedExpr;
use dwio::subfield::{PathElement, Subfield};
use vector::sync::Arc;
use vector::{Type, Value};

/// Returns each path once, in the order of first use.
pub(crate) fn expression_subfields(expr: &TypedExpr) -> Vec<Subfield> {
    let mut found: Vec<Subfield> = Vec::new();
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match path_of(expr) {
            Some(path) if !found.contains(&path.subfield) => found.push(path.subfield),
            Some(_) => {}
            None => rest.extend(expr.inputs().iter().rev()),
        }
    }
    found
}

struct Path {
    subfield: Subfield,
    /// True if a step has no name, so that the expression uses everything below this path.
    is_closed: bool,
}

fn path_of(expr: &TypedExpr) -> Option<Path> {
    let mut steps = Vec::new();
    let mut expr = expr;
    loop {
        match expr {
            TypedExpr::Field { name, .. } => {
                break steps.push(Some(PathElement::Field(name.clone())));
            }
            TypedExpr::Dereference { input, index, .. } => {
                let row = input.ty().as_row()?;
                let name = row.names().get(*index)?;
                // A path of names is ambiguous if several fields have the same name.
                let is_named = !name.is_empty() && row.index_of(name) == Some(*index);
                steps.push(is_named.then(|| PathElement::Field(name.as_str().into())));
                expr = input;
            }
            // Only `subscript` fails on a missing element; the other element functions need the
            // whole value.
            TypedExpr::Call { name, args, .. } if &**name == "subscript" => {
                let [input, index] = args.as_slice() else { return None };
                steps.push(Some(subscript(input.ty(), index)?));
                expr = input;
            }
            _ => return None,
        }
    }
    let mut steps = steps.into_iter().rev();
    let Some(Some(PathElement::Field(column))) = steps.next() else { return None };
    let mut path = Path { subfield: Subfield::column(column), is_closed: false };
    for step in steps {
        match step {
            Some(step) if !path.is_closed => path.subfield = path.subfield.then(step),
            _ => path.is_closed = true,
        }
    }
    Some(path)
}

/// Returns the path step of a constant subscript (rule S3.24).
fn subscript(input: &Type, index: &TypedExpr) -> Option<PathElement> {
    let TypedExpr::Constant { value, .. } = index else { return None };
    match (input, value) {
        (Type::Map(key, _), Value::Bytes(key_bytes)) if **key == Type::Varchar => {
            Some(PathElement::Key(Arc::clone(key_bytes)))
        }
        (Type::Map(key, _), value) if key.is_integer() => value.as_i64().map(PathElement::Index),
        // An invalid subscript fails when it is evaluated, if at all.
        (Type::Array(_), value) => {
            value.as_i64().filter(|index| *index > 0).map(PathElement::Index)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Type {
        let inner = Type::row([("x", Type::BigInt), ("", Type::BigInt)]);
        Type::row([
            ("a", Type::BigInt),
            ("n", inner),
            ("m", Type::map(Type::Varchar, Type::BigInt)),
        ])
    }

    fn field(input: TypedExpr, index: usize) -> TypedExpr {
        let ty = input.ty().as_row().unwrap().types()[index].clone();
        TypedExpr::Dereference { input: Box::new(input), index, ty }
    }

    fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
        TypedExpr::call(name, args, Type::BigInt)
    }

    fn paths(expr: &TypedExpr) -> Vec<String> {
        expression_subfields(expr).iter().map(Subfield::to_string).collect()
    }

    #[test]
    fn s3_23_chains_that_end_at_a_column_are_paths() {
        let s = || TypedExpr::field("s", row());
        let key = TypedExpr::constant(Value::bytes("k"), Type::Varchar);
        let m = field(s(), 2);
        let sum =
            call("plus", vec![field(field(s(), 1), 0), call("subscript", vec![m.clone(), key])]);
        assert_eq!(paths(&sum), ["s.n.x", "s.m[\"k\"]"]);
        assert_eq!(paths(&call("cardinality", vec![m.clone()])), ["s.m"]);
        assert_eq!(paths(&call("plus", vec![field(s(), 0), field(s(), 0)])), ["s.a"]);
        // A field without a name ends the path at its struct (rule S3.25).
        assert_eq!(paths(&field(field(s(), 1), 1)), ["s.n"]);
    }

    #[test]
    fn s3_24_only_the_strict_subscript_with_a_constant_is_a_step() {
        let array = || TypedExpr::field("l", Type::array(Type::BigInt));
        let at = |i| TypedExpr::constant(Value::BigInt(i), Type::BigInt);
        let of = |name: &str, index| paths(&call(name, vec![array(), index]));
        assert_eq!(of("subscript", at(2)), ["l[2]"]);
        assert_eq!(of("element_at", at(2)), ["l"]);
        assert_eq!(of("subscript", at(-2)), ["l"]);
        assert_eq!(of("subscript", TypedExpr::field("i", Type::BigInt)), ["l", "i"]);
        let map = TypedExpr::field("m", Type::map(Type::Double, Type::BigInt));
        let one = TypedExpr::constant(Value::Double(1.0), Type::Double);
        assert_eq!(paths(&call("subscript", vec![map, one])), ["m"]);
    }
}
