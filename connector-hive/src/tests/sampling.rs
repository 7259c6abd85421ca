//! Sampling: rules S4.9 and S4.29 to S4.31.

use super::*;

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

/// Rules S4.29, S6.8.
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
