//! Tests of required subfields: which parts of nested columns a scan returns (rules S3.7 to S3.22).

use dwio::filter::{Filter, FilterKind};
use dwio::scan_spec::NestedSpec;
use vector::ErrorKind;

use super::*;
use crate::plan::subfields::nested_spec;

const B: Type = Type::BigInt;

fn spec(ty: &Type, paths: &[&str]) -> Result<NestedSpec> {
    let paths: Vec<Subfield> = paths.iter().map(|p| Subfield::parse(p).unwrap()).collect();
    nested_spec("c", ty, &paths, &[])
}

/// Returns the single row of a file with column `c`, read with the required subfields `paths`.
fn read(ty: &Type, value: Value, paths: &[&str]) -> Value {
    let world = World::new();
    world.put("f", &[("c", ty.clone())], vec![vec![vec![value]]]);
    let handle = HiveColumnHandle::new("c", ColumnKind::Regular, ty.clone());
    let paths = paths.iter().map(|p| Subfield::parse(p).unwrap()).collect();
    let scan = scan().handle("c", handle.with_required_subfields(paths).unwrap());
    world.read(scan, vec![split("f")]).unwrap().remove(0).remove(0)
}

fn texts(pairs: &[(&str, i64)]) -> Value {
    map(pairs.iter().map(|(k, v)| (Value::bytes(k), n(*v))))
}

#[test]
fn s3_13_maps_keep_the_keys_that_are_asked_for() {
    let ty = Type::map(Type::Varchar, B);
    let value = || texts(&[("a", 1), ("b", 2), ("c", 3), ("a", 4)]);
    assert_eq!(read(&ty, value(), &["c[\"a\"]"]), texts(&[("a", 1), ("a", 4)]));
    assert_eq!(read(&ty, value(), &["c[\"c\"]", "c[\"b\"]"]), texts(&[("b", 2), ("c", 3)]));
    assert_eq!(read(&ty, value(), &["c[\"z\"]"]), texts(&[]));
    assert_eq!(read(&ty, value(), &["c[\"z\"]", "c[*]"]), value());
    assert_eq!(read(&ty, value(), &["c[\"z\"]", "c"]), value());
    assert_eq!(read(&ty, Value::Null, &["c[\"z\"]"]), Value::Null);
    let numbers = Type::map(Type::Integer, B);
    let value = map([1, 2, 3].map(|k| (Value::Integer(k), n(k.into()))));
    let two = map([(Value::Integer(2), n(2))]);
    assert_eq!(read(&numbers, value, &["c[2]", "c[5000000000]"]), two);
}

#[test]
fn s3_14_subscripts_of_float_keys_keep_what_truncates_to_them() {
    let keys = [-1.9, -1.0, -0.9, -0.0, 0.5, 1.0, 1.9, 2.0, f64::NAN];
    let kept = |subscript: &str| -> Vec<String> {
        let value = map(keys.map(|k| (Value::Double(k), n(1))));
        match read(&Type::map(Type::Double, B), value, &[subscript]) {
            Value::Map(entries) => entries.iter().map(|(k, _)| format!("{k:?}")).collect(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(kept("c[0]"), ["Double(-0.9)", "Double(-0.0)", "Double(0.5)"]);
    assert_eq!(kept("c[1]"), ["Double(1.0)", "Double(1.9)"]);
    assert_eq!(kept("c[-1]"), ["Double(-1.9)", "Double(-1.0)"]);
    assert_eq!(kept("c[9223372036854775807]"), ["Double(NaN)"]);
    assert_eq!(kept("c[-9223372036854775808]"), [] as [&str; 0]);
    let real = map([(Value::Real(16_777_216.0), n(1)), (Value::Real(16_777_218.0), n(2))]);
    let one = map([(Value::Real(16_777_216.0), n(1))]);
    assert_eq!(read(&Type::map(Type::Real, B), real, &["c[16777216]"]), one);
}

#[test]
fn s3_16_arrays_keep_their_first_elements() {
    let ty = Type::array(B);
    let value = || array([1, 2, 3].map(n));
    assert_eq!(read(&ty, value(), &["c[2]", "c[1]"]), array([1, 2].map(n)));
    assert_eq!(read(&ty, value(), &["c[7]"]), value());
    assert_eq!(read(&ty, value(), &["c[1]", "c[*]"]), value());
    for wrong in ["c[0]", "c[-1]"] {
        assert_eq!(spec(&ty, &[wrong]).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let deep = Type::array(Type::array(B));
    let value = array([array([1, 2].map(n)), array([3, 4].map(n))]);
    assert_eq!(read(&deep, value, &["c[1][1]"]), array([array([n(1)])]));
}

#[test]
fn s3_15_what_is_below_entries_is_the_union_for_all_of_them() {
    let ty = Type::map(B, Type::row([("a", B), ("b", B), ("z", B)]));
    let entry = |k: i64| (n(k), row([1, 2, 3].map(n)));
    let value = map([10, 20, 30].map(entry));
    let both = row([n(1), n(2), Value::Null]);
    let expected = map([(n(10), both.clone()), (n(20), both)]);
    assert_eq!(read(&ty, value, &["c[10].a", "c[20].b"]), expected);
}

#[test]
fn s3_13_subscripts_of_another_kind_are_refused() {
    let by_text = Type::map(Type::Varchar, B);
    let by_number = Type::map(B, B);
    let other = Type::map(Type::Timestamp, B);
    let kind = |ty: &Type, path| spec(ty, &[path]).unwrap_err().kind();
    assert_eq!(kind(&by_text, "c[1]"), ErrorKind::Internal);
    assert_eq!(kind(&by_number, "c[\"a\"]"), ErrorKind::Internal);
    assert_eq!(kind(&Type::array(B), "c[\"a\"]"), ErrorKind::Internal);
    assert_eq!(kind(&other, "c[1]"), ErrorKind::Unsupported);
    assert_eq!(kind(&Type::row([("a", B)]), "c.b"), ErrorKind::InvalidInput);
    // Path elements below a scalar are ignored (rule S3.17).
    assert!(matches!(spec(&B, &["c[1]"]).unwrap(), NestedSpec::Whole));
}

#[test]
fn s3_13_keys_are_distinct_and_never_null() {
    let paths = ["c[3]", "c[1]", "c[3]", "c[2]"];
    let NestedSpec::Map { key, .. } = spec(&Type::map(B, B), &paths).unwrap() else { panic!() };
    let filter = key.filter.unwrap();
    assert_eq!(*filter, Filter::bigint_range(1, 3, false));
    assert_eq!(filter.kind(), FilterKind::BigintRange);
    assert_eq!(key.channel, None);
}

#[test]
fn s3_19_entries_with_a_null_key_are_dropped_from_every_map() {
    let inner = Type::map(Type::Varchar, B);
    let entries = || map([(Value::Null, n(1)), (Value::bytes("a"), n(2))]);
    let clean = || map([(Value::bytes("a"), n(2))]);
    assert_eq!(read(&inner, entries(), &[]), clean());
    let deep = Type::row([("l", Type::array(inner.clone())), ("m", Type::map(B, inner))]);
    let value = |m: &dyn Fn() -> Value| row([array([m(), Value::Null]), map([(n(1), m())])]);
    assert_eq!(read(&deep, value(&entries), &[]), value(&clean));
    let pruned = row([array([clean()]), Value::Null]);
    assert_eq!(read(&deep, value(&entries), &["c.l[1]"]), pruned);
}

#[test]
fn s3_8_rows_and_types_stay_whatever_is_pruned() {
    let world = World::new();
    let ty = Type::map(Type::Varchar, B);
    let rows =
        vec![vec![texts(&[("a", 1)])], vec![Value::Null], vec![texts(&[("b", 1), ("a", 2)])]];
    world.put("f", &[("lazy", ty.clone())], vec![rows]);
    let handle = HiveColumnHandle::new("lazy", ColumnKind::Regular, ty);
    let path = Subfield::parse("lazy[\"a\"]").unwrap();
    let scan = scan().handle("m", handle.with_required_subfields(vec![path]).unwrap());
    let mut source = world.source(scan).unwrap();
    source.add_split(Arc::new(split("f"))).unwrap();
    let SourcePoll::Batch(batch) = source.next(10).unwrap() else { panic!() };
    assert_eq!(batch.len(), 3);
    // Entries are dropped when the lazy column is loaded.
    assert_eq!(world.format.loads(), []);
    let rows = rows_of(&batch).unwrap();
    assert_eq!(rows, [[texts(&[("a", 1)])], [Value::Null], [texts(&[("a", 2)])]]);
}

#[test]
fn s3_9_the_remaining_filter_adds_what_it_looks_at() {
    let world = World::new();
    let ty = Type::row([("a", B), ("b", B), ("c", B)]);
    let rows = (0..3).map(|i| vec![row([n(i), n(10 * i), n(100 * i)])]).collect();
    world.put("f", &[("s", ty.clone())], vec![rows]);
    let handle = HiveColumnHandle::new("s", ColumnKind::Regular, ty.clone());
    let path = Subfield::parse("s.a").unwrap();
    let b = TypedExpr::Dereference { input: Box::new(field("s", ty)), index: 1, ty: B };
    let sum = call("plus", vec![b, int(1)]);
    let scan = scan()
        .handle("s", handle.with_required_subfields(vec![path]).unwrap())
        .condition(call("gt", vec![sum, int(10)]));
    let rows = world.read(scan, vec![split("f")]).unwrap();
    let expected = |i| vec![row([n(i), n(10 * i), Value::Null])];
    assert_eq!(rows, [expected(1), expected(2)]);
}

#[test]
fn s10_17_a_filter_of_scalar_values_on_a_struct_is_refused() {
    let world = World::new();
    let scan = scan().regular("s", Type::row([("a", B)]));
    let scan = scan.filter("s", Filter::bigint_range(1, 2, false));
    assert_eq!(world.source(scan).err().unwrap().kind(), ErrorKind::Internal);
}
