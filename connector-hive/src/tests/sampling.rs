//! Tests of sampling by conditions on `rand` and by the table's sampling rate (rules S4.9, S4.29 to
//! S4.31).

use super::*;
use crate::plan::columns::ScanColumns;
use crate::plan::pushdown::Pushdown;

fn scanned(world: &World, scan: Scan) -> u64 {
    let mut source = world.source(scan).unwrap();
    source.add_split(Arc::new(split("f"))).unwrap();
    drain(source.as_mut()).unwrap();
    source.progress().raw_rows
}

fn count(world: &World, scan: Scan) -> usize {
    world.read(scan, vec![split("f"); 10]).unwrap().len()
}

fn rand_below(rate: f64) -> TypedExpr {
    let rand = TypedExpr::call("rand", vec![], Type::Double);
    call("lt", vec![rand, TypedExpr::constant(Value::Double(rate), Type::Double)])
}

/// The table's rate is multiplied by the rates of the conditions on `rand` (rules S4.29, S6.8).
#[test]
fn s4_9_conditions_on_rand_multiply_with_each_other_and_the_tables_rate() {
    let world = World::new();
    world.put_numbers("f", 0..1000);
    let x = || scan().regular("x", Type::BigInt);
    let near = |rows: usize, wanted: usize| rows.abs_diff(wanted) < wanted / 5;
    assert!(near(count(&world, x().condition(rand_below(0.3))), 3000));
    let twice = all(vec![rand_below(0.5), rand_below(0.6)]);
    assert!(near(count(&world, x().condition(twice)), 3000));
    let mut handle = x().condition(rand_below(0.5));
    handle.table = handle.table.with_sample_rate(0.4).unwrap();
    assert!(near(count(&world, handle), 2000));
    assert_eq!(count(&world, x().condition(rand_below(-1.0))), 0);
    assert_eq!(count(&world, x().condition(rand_below(2.0))), 10_000);
}

#[test]
fn s4_31_rows_outside_of_the_sample_are_scanned_but_not_looked_at() {
    let world = World::new();
    world.put_numbers("f", 0..1000);
    let below = call("lt", vec![field("x", Type::BigInt), int(500)]);
    let scan =
        || scan().regular("x", Type::BigInt).condition(all(vec![rand_below(0.2), below.clone()]));
    let rows = count(&world, scan());
    assert!(rows.abs_diff(1000) < 200, "{rows}");
    assert_eq!(scanned(&world, scan()), 1000);
}

#[test]
fn s4_30_equal_seeds_take_equal_rows() {
    let mut world = World::new();
    world.put_numbers("f", 0..1000);
    world.session.set("sample_seed", "42");
    let rows = |world: &World| {
        let scan = scan().regular("x", Type::BigInt).condition(rand_below(0.1));
        world.read(scan, vec![split("f")]).unwrap()
    };
    let first = rows(&world);
    assert_eq!(first, rows(&world));
    world.session.set("sample_seed", "43");
    assert_ne!(first, rows(&world));
}

/// The evaluator decides whether a call may be evaluated once per file; the function's name and
/// arguments do not.
#[test]
fn a_random_function_with_arguments_is_evaluated_for_each_row() {
    let world = World::new();
    world.put_numbers("f", 0..1000);
    let rand_int = TypedExpr::call("rand_int", vec![int(2)], Type::BigInt);
    let condition = call("eq", vec![rand_int.clone(), int(0)]);
    let rows = count(&world, scan().regular("x", Type::BigInt).condition(condition));
    assert!((1000..9000).contains(&rows), "{rows}");
    // Combined with a partition key, which has one value per file.
    let condition = call("eq", vec![rand_int, field("p", Type::BigInt)]);
    let scan = scan().regular("x", Type::BigInt).filter_key("p", Type::BigInt).condition(condition);
    let splits = vec![split_in("f", &[("p", Some("1"))]); 10];
    let rows = world.read(scan, splits).unwrap().len();
    assert!((1000..9000).contains(&rows), "{rows}");
}

#[test]
fn a_deterministic_function_without_arguments_is_folded() {
    let world = World::new();
    world.put_numbers("f", 0..1000);
    let five = TypedExpr::call("five", Vec::new(), Type::BigInt);
    let condition = call("lt", vec![field("x", Type::BigInt), five]);
    let scan = || scan().regular("x", Type::BigInt).condition(condition.clone());
    let request = scan().request();
    let table = HiveTableHandle::of(request.table.as_ref()).unwrap();
    let columns = ScanColumns::new(&request, table).unwrap();
    let pushdown = Pushdown::new(table, &columns, &RowByRow).unwrap();
    assert_eq!((pushdown.filters.len(), pushdown.remaining), (1, None));
    assert_eq!(count(&world, scan()), 50);
}
