//! Tests of functions that an embedder registers, with state that they captured.

use super::*;
use std::collections::BTreeMap;
use vector::sync::Mutex;
use vector::testing::{bigints, varchars};
use vector::{Buffer, DictionaryVector, Vector, VectorBuilder};

/// What the functions of a test share: names by code, and the codes that were looked up.
struct Names {
    names: BTreeMap<i64, &'static str>,
    asked: Mutex<Vec<i64>>,
}

impl Names {
    fn new() -> Arc<Self> {
        let names = BTreeMap::from([(1, "one"), (2, "two"), (3, "three")]);
        Arc::new(Names { names, asked: Mutex::new(Vec::new()) })
    }

    /// Returns the codes that were looked up since the last call.
    fn asked(&self) -> Vec<i64> {
        std::mem::take(&mut *self.asked.lock())
    }

    /// Returns a function `name_of(code)`, which is null for an unknown code and fails for 13.
    fn function(self: &Arc<Self>) -> Function {
        let names = Arc::clone(self);
        // The name and the signatures are created while the program runs.
        let signatures = vec![format!("({}) -> {}", Type::BigInt, Type::Varchar)];
        Function::closure(format!("name_{}", "of"), signatures, move |args, result| {
            assert_eq!((args.len(), args[0].ty, result), (1, &Type::BigInt, &Type::Varchar));
            let names = Arc::clone(&names);
            Ok(Kernel::new(move |call| {
                let mut out = VectorBuilder::new(call.ty.clone());
                for row in 0..call.num_rows() {
                    if !call.rows.contains(row) {
                        out.push_null();
                        continue;
                    }
                    let Value::BigInt(code) = call.args[0].value(row)? else {
                        return Err(Error::internal("a null argument"));
                    };
                    names.asked.lock().push(code);
                    match names.names.get(&code) {
                        _ if code == 13 => return Err(Error::invalid_input("thirteen")),
                        Some(name) => out.push(&Value::bytes(*name))?,
                        None => out.push_null(),
                    }
                }
                Ok(Arc::unwrap_or_clone(out.finish()?))
            }))
        })
    }
}

fn name_of(code: TypedExpr) -> TypedExpr {
    TypedExpr::call("name_of", vec![code], Type::Varchar)
}

fn x() -> TypedExpr {
    column("x", Type::BigInt)
}

/// Evaluates expressions over a column `x`.
fn evaluate_over(
    registry: &FunctionRegistry,
    exprs: &[TypedExpr],
    x: VectorRef,
    rows: &SelectivityVector,
) -> Result<Vec<Vec<Value>>> {
    let batch = vector::testing::batch_of_vectors(&[("x", x)]);
    let mut set = ExprSet::compile(exprs, batch.row_type(), registry)?;
    Ok(ExprSet::evaluate(&mut set, &batch, rows)?.iter().map(values_of).collect())
}

#[test]
fn a_closure_is_called_with_its_state_under_any_encoding() {
    let names = Names::new();
    let mut registry = FunctionRegistry::builtin();
    registry.register(names.function());
    let flat = bigints(&[Some(1), None, Some(3), Some(13), Some(4)]);
    // Each entry of a dictionary is looked up once.
    let entries = bigints(&[Some(1), None, Some(3), Some(4)]);
    let indices: Buffer<u32> = [2, 0, 1, 2, 3, 0].into_iter().collect();
    let validity = vector::Bitmap::from_iter([true, false, true, true, true, true]);
    let dictionary = DictionaryVector::new(entries, indices, Some(validity)).unwrap();
    let constant = Vector::constant(Type::BigInt, Value::BigInt(2), 4).unwrap();
    let null = Vector::constant(Type::BigInt, Value::Null, 4).unwrap();
    let text = |text: &str| Value::bytes(text);
    // The row with 13, for which the function fails, is not selected.
    let cases: [(VectorRef, usize, Vec<Value>, &[i64]); 4] = [
        (flat, 3, vec![text("one"), Value::Null, text("three")], &[1, 3]),
        (
            Arc::new(Vector::Dictionary(dictionary)),
            6,
            vec![text("three"), Value::Null, Value::Null, text("three"), Value::Null, text("one")],
            &[1, 3, 4],
        ),
        (Arc::new(constant), 4, vec![text("two"); 4], &[2]),
        (Arc::new(null), 4, vec![Value::Null; 4], &[]),
    ];
    // Equal calls are evaluated once, and their result is an argument of other functions.
    let exprs = [name_of(x()), call_of(&registry, "upper", vec![name_of(x())])];
    for (column, num_selected, expected, asked) in cases {
        let mut rows = SelectivityVector::all(column.len());
        (num_selected..column.len()).for_each(|row| rows.set(row, false));
        let found = evaluate_over(&registry, &exprs, column, &rows).unwrap();
        assert_eq!(found[0][..num_selected], expected);
        let upper = expected.iter().map(|value| match value {
            Value::Bytes(bytes) => Value::bytes(&*bytes.to_ascii_uppercase()),
            other => other.clone(),
        });
        assert_eq!(found[1][..num_selected], upper.collect::<Vec<_>>());
        let mut looked_up = names.asked();
        looked_up.sort_unstable();
        assert_eq!(looked_up, asked);
    }
}

/// Returns a call with the type that `registry` resolves.
fn call_of(registry: &FunctionRegistry, name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
    let result = registry.resolve(name, &types).unwrap().result;
    TypedExpr::call(name, args, result)
}

#[test]
fn a_closure_is_resolved_folded_and_fails_like_a_built_in_function() {
    let names = Names::new();
    let mut registry = FunctionRegistry::builtin();
    registry.register(names.function());
    assert!(registry.names().any(|name| name == "name_of"));
    // Arguments are converted implicitly, others are an error that lists the signatures.
    let resolved = registry.resolve("name_of", &[Type::Integer]).unwrap();
    assert_eq!(resolved, Resolved::new(vec![Type::BigInt], Type::Varchar));
    assert_eq!(
        registry.resolve("name_of", &[Type::Varchar]).unwrap_err().to_string(),
        "invalid input: a function does not take arguments of these types \
         (name=name_of arguments=(VARCHAR))\n  hint: there is name_of(BIGINT) -> VARCHAR"
    );
    let near = registry.resolve("name_off", &[]).unwrap_err().to_string();
    assert!(near.ends_with("did you mean name_of?"), "{near}");
    // A call of constants is computed when it is compiled, unless it fails.
    assert_eq!(fold_constant(&name_of(bigint(2)), &registry), Some(Value::bytes("two")));
    assert_eq!(fold_constant(&name_of(bigint(13)), &registry), None);
    names.asked();
    let rows = SelectivityVector::all(2);
    let thirteen = bigints(&[Some(1), Some(13)]);
    let failed = evaluate_over(&registry, &[name_of(x())], thirteen.clone(), &rows).unwrap_err();
    assert!(failed.to_string().contains("thirteen"), "{failed}");
    let attempt = [TypedExpr::call("try", vec![name_of(x())], Type::Varchar)];
    let found = evaluate_over(&registry, &attempt, thirteen, &rows).unwrap();
    assert_eq!(found[0], [Value::bytes("one"), Value::Null]);
    names.asked();
    // A clone of the registry has the same state, and a function of the same name replaces it.
    let clone = registry.clone();
    registry.register(Function::closure("name_of", &["(BIGINT) -> VARCHAR"], |_, _| {
        Ok(Kernel::seeing_nulls(|call| {
            let null = |row| call.args[0].is_null(row);
            let text = |row| Some(if null(row) { "null" } else { "value" });
            let texts: Vec<Option<&str>> = (0..call.num_rows()).map(text).collect();
            Ok(Vector::clone(&varchars(&texts)))
        }))
    }));
    let codes = bigints(&[Some(3), None]);
    let found = evaluate_over(&registry, &[name_of(x())], codes.clone(), &rows).unwrap();
    assert_eq!(found[0], [Value::bytes("value"), Value::bytes("null")]);
    assert_eq!(names.asked(), []);
    let found = evaluate_over(&clone, &[name_of(x())], codes, &rows).unwrap();
    assert_eq!(found[0], [Value::bytes("three"), Value::Null]);
    assert_eq!(names.asked(), [3]);
}
