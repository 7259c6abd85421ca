//! Tests what is evaluated once: equal subtrees, constants, entries of a dictionary.

use super::*;
use vector::sync::atomic::{AtomicUsize, Ordering};
use vector::testing::{bigints, varchars};
use vector::{Buffer, DictionaryVector, Encoding, Vector};

/// A function `counted` that counts its evaluated rows, with a counter for each test that uses it.
macro_rules! counting_registry {
    ($counter:ident) => {{
        static $counter: AtomicUsize = AtomicUsize::new(0);
        fn bind(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
            Ok(Kernel::new(|call| {
                $counter.fetch_add(call.rows.count(), Ordering::Relaxed);
                let mut builder = vector::VectorBuilder::new(Type::BigInt);
                for row in 0..call.num_rows() {
                    match call.args[0].value(row)? {
                        Value::BigInt(13) => return Err(Error::invalid_input("thirteen")),
                        value => builder.push(&value)?,
                    }
                }
                Ok(Arc::unwrap_or_clone(builder.finish()?))
            }))
        }
        let mut registry = FunctionRegistry::builtin();
        registry.register(Function::scalar("counted", &["(BIGINT) -> BIGINT"], bind));
        (registry, &$counter)
    }};
}

fn counted(input: TypedExpr) -> TypedExpr {
    TypedExpr::call("counted", vec![input], Type::BigInt)
}

fn batch(vector: VectorRef) -> RowVector {
    vector::testing::batch_of_vectors(&[("x", vector)])
}

fn x() -> TypedExpr {
    column("x", Type::BigInt)
}

fn dictionary(base: &VectorRef, indices: impl IntoIterator<Item = u32>) -> VectorRef {
    let indices: Buffer<u32> = indices.into_iter().collect();
    Arc::new(Vector::Dictionary(DictionaryVector::new(base.clone(), indices, None).unwrap()))
}

#[test]
fn equal_subtrees_run_once_for_a_batch() {
    let (registry, counter) = counting_registry!(SUBTREES);
    let batch = batch(bigints(&[Some(1), Some(2), None, Some(4)]));
    let exprs = [
        call("plus", vec![counted(x()), bigint(1)]),
        call("multiply", vec![counted(x()), counted(x())]),
    ];
    let mut set = ExprSet::compile(&exprs, batch.row_type(), &registry).unwrap();
    for round in 1..3 {
        let vectors = ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(4)).unwrap();
        assert_eq!(values_of(&vectors[0])[3], Value::BigInt(5));
        assert_eq!(values_of(&vectors[1])[3], Value::BigInt(16));
        assert_eq!(counter.load(Ordering::Relaxed), 3 * round);
    }
}

#[test]
fn constants_are_folded_when_compiled() {
    let (registry, counter) = counting_registry!(CONSTANTS);
    let batch = batch(bigints(&[Some(1); 4]));
    let expr = call("plus", vec![x(), counted(bigint(7))]);
    let mut set = ExprSet::compile(&[expr], batch.row_type(), &registry).unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 1);
    ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(4)).unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 1);
    let folded = fold_constant(&call("plus", vec![bigint(1), bigint(2)]), &registry);
    assert_eq!(folded, Some(Value::BigInt(3)));
    assert_eq!(fold_constant(&x(), &registry), None);
}

#[test]
fn dice_are_never_folded_wherever_they_stand() {
    let registry = FunctionRegistry::builtin();
    let dice = TypedExpr::call("rand", vec![], Type::Double);
    let above =
        call("gt", vec![dice.clone(), TypedExpr::constant(Value::Double(0.5), Type::Double)]);
    for expr in [dice, above.clone(), call("not", vec![above])] {
        assert!(!registry.is_deterministic(&expr), "{expr}");
        assert_eq!(fold_constant(&expr, &registry), None, "{expr}");
    }
    assert!(registry.is_deterministic(&counted(x())));
}

/// A function that returns a different number for each row of each call.
fn bind_next(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    Ok(Kernel::new(|call| {
        let next = |_| NEXT.fetch_add(1, Ordering::Relaxed) as i64;
        call.fixed((0..call.num_rows()).map(next).collect::<Buffer<i64>>())
    }))
}

#[test]
fn a_non_deterministic_function_of_equal_arguments_is_evaluated_for_each_row() {
    fn next_of_rows(call: &Call<'_>) -> Result<Vector> {
        bind_next(&[], &Type::BigInt)?.run(call)
    }
    const SIGNATURES: &[&str; 1] = &["(BIGINT) -> BIGINT"];
    for next in [
        Function::scalar("next", SIGNATURES, bind_next),
        Function::rows("next", SIGNATURES, next_of_rows),
        Function::closure("next", SIGNATURES, bind_next),
    ] {
        check_each_row(next.non_deterministic());
    }
}

fn check_each_row(function: Function) {
    let mut registry = FunctionRegistry::builtin();
    registry.register(function);
    let next = |arg: TypedExpr| TypedExpr::call("next", vec![arg], Type::BigInt);
    let entries = bigints(&[Some(7), Some(8)]);
    let constant = Arc::new(Vector::constant(Type::BigInt, Value::BigInt(3), 4).unwrap());
    let columns = [constant, dictionary(&entries, [0, 1, 1, 0]), bigints(&[Some(1); 4])];
    for column in columns {
        let batch = batch(column);
        for expr in [next(x()), next(bigint(1)), call("plus", vec![next(x()), bigint(0)])] {
            // Two equal calls do not share their results.
            let exprs = [expr.clone(), expr];
            let mut set = ExprSet::compile(&exprs, batch.row_type(), &registry).unwrap();
            let mut seen = Vec::new();
            for _ in 0..2 {
                let rows = SelectivityVector::all(4);
                let vectors = ExprSet::evaluate(&mut set, &batch, &rows).unwrap();
                seen.extend(vectors.iter().flat_map(values_of).map(|v| v.as_i64().unwrap()));
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 16, "{exprs:?}");
        }
    }
}

#[test]
fn a_constant_column_costs_one_row() {
    let (registry, counter) = counting_registry!(COLUMN);
    let column = Arc::new(Vector::constant(Type::BigInt, Value::BigInt(3), 1000).unwrap());
    let batch = batch(column);
    let mut set = ExprSet::compile(&[counted(x())], batch.row_type(), &registry).unwrap();
    let vectors = ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(1000)).unwrap();
    assert_eq!(vectors[0].encoding(), Encoding::Constant);
    assert_eq!(counter.load(Ordering::Relaxed), 1);
}

#[test]
fn a_dictionary_costs_its_entries_once_over_all_batches() {
    let (registry, counter) = counting_registry!(ENTRIES);
    let base = bigints(&[Some(1), Some(2), Some(3), None]);
    let row_type = Arc::new(RowType::new([("x", Type::BigInt)]));
    let exprs = [counted(counted(x()))];
    let mut set = ExprSet::compile(&exprs, &row_type, &registry).unwrap();
    for _ in 0..3 {
        let batch = batch(dictionary(&base, (0..100).map(|i| i % 4)));
        let vectors = ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(100)).unwrap();
        assert_eq!(vectors[0].encoding(), Encoding::Dictionary);
        assert_eq!(values_of(&vectors[0])[..4], values_of(&base)[..]);
    }
    assert_eq!(counter.load(Ordering::Relaxed), 6);
}

#[test]
fn a_large_dictionary_is_computed_once_enough_rows_were_seen() {
    let (registry, counter) = counting_registry!(LARGE);
    let base = bigints(&(0..100).map(Some).map(|v| v.filter(|v| *v != 13)).collect::<Vec<_>>());
    let row_type = Arc::new(RowType::new([("x", Type::BigInt)]));
    let mut set = ExprSet::compile(&[counted(x())], &row_type, &registry).unwrap();
    let mut expected = 0;
    for round in 0..6 {
        let batch = batch(dictionary(&base, (0..30).map(|i| i * 3 + 2)));
        ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(30)).unwrap();
        // Three batches are evaluated row by row, the fourth for all 99 entries, the remaining ones
        // use the cache.
        expected += [30, 30, 30, 99, 0, 0][round];
        assert_eq!(counter.load(Ordering::Relaxed), expected);
    }
}

#[test]
fn an_entry_without_rows_may_fail() {
    let base = bigints(&[Some(0), Some(1), Some(2)]);
    let batch = batch(dictionary(&base, (0..50).map(|i| 1 + i % 2)));
    let expr = call("divide", vec![bigint(4), x()]);
    let found = evaluate(&expr, &batch).unwrap();
    assert_eq!(found[..2], [Value::BigInt(4), Value::BigInt(2)]);
}

#[test]
fn columns_of_one_dictionary_are_peeled_together() {
    let indices: Buffer<u32> = (0..100).map(|i| i % 3).collect();
    let base = RowVector::batch(
        Arc::new(RowType::new([("x", Type::BigInt), ("s", Type::Varchar)])),
        3,
        vec![bigints(&[Some(1), Some(2), None]), varchars(&[Some("a"), Some("b"), Some("c")])],
    )
    .unwrap();
    let batch = base.wrap(&indices);
    let registry = FunctionRegistry::builtin();
    let text = TypedExpr::cast(x(), Type::Varchar);
    let expr = call("concat", vec![text, column("s", Type::Varchar)]);
    let mut set = ExprSet::compile(&[expr], batch.row_type(), &registry).unwrap();
    let vectors = ExprSet::evaluate(&mut set, &batch, &SelectivityVector::all(100)).unwrap();
    assert_eq!(vectors[0].encoding(), Encoding::Dictionary);
    let expected = [Value::bytes("1a"), Value::bytes("2b"), Value::Null];
    assert_eq!(values_of(&vectors[0])[..3], expected);
}

#[test]
fn connectors_evaluate_through_the_lent_evaluator() {
    let batch = batch(bigints(&[Some(1), Some(5), None]));
    let evaluator = ExecEvaluator::new(Arc::new(FunctionRegistry::builtin()));
    let expr = call("gt", vec![x(), bigint(2)]);
    let mut compiled = evaluator.compile(&expr, batch.row_type()).unwrap();
    let rows = SelectivityVector::all(3);
    let vector = compiled.evaluate(&batch, &rows).unwrap();
    assert_eq!(select_true(&vector, &rows).unwrap().iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn a_column_that_does_not_exist_is_our_mistake() {
    let batch = batch(bigints(&[Some(1)]));
    let expr = column("y", Type::BigInt);
    let registry = FunctionRegistry::builtin();
    let error = ExprSet::compile(&[expr], batch.row_type(), &registry).unwrap_err();
    assert_eq!(error.kind(), vector::ErrorKind::Internal);
}

#[test]
fn each_call_of_dice_throws_for_each_row() {
    let batch = RowVector::batch(Arc::new(RowType::empty()), 1000, vec![]).unwrap();
    let throws = |expr: &TypedExpr| -> Vec<f64> {
        let values = evaluate(expr, &batch).unwrap().into_iter();
        values.map(|v| if let Value::Double(v) = v { v } else { f64::NAN }).collect()
    };
    let rand = || call("rand", vec![]);
    let (first, second) = (throws(&rand()), throws(&rand()));
    assert!(first.iter().all(|v| (0.0..1.0).contains(v)));
    assert!(first != second && first.iter().any(|v| *v != first[0]));
    let mean = first.iter().sum::<f64>() / 1000.0;
    assert!((0.4..0.6).contains(&mean), "{mean}");
    let differences = throws(&call("minus", vec![rand(), rand()]));
    assert!(differences.iter().all(|v| *v != 0.0));
}
