//! Tests of column mapping: by position, by name and by field id, at each nesting level.

use dwio::reader::FieldIds;
use vector::ErrorKind;

use super::*;
use crate::ColumnMapping;

const B: Type = Type::BigInt;

fn one_row(values: impl IntoIterator<Item = i64>) -> Vec<Vec<Vec<Value>>> {
    vec![vec![values.into_iter().map(Value::BigInt).collect()]]
}

fn by(mapping: ColumnMapping, path: &str) -> Vec<HiveSplit> {
    vec![split(path).with_column_mapping(mapping)]
}

/// Returns a scan whose output is all data columns.
fn scan_of(columns: &[(&str, Type)]) -> Scan {
    columns.iter().fold(scan().data(columns), |s, (name, ty)| s.regular(name, ty.clone()))
}

/// By position, names in the file are ignored (rules S7.26, S7.27).
#[test]
fn s7_46_by_position_names_in_the_file_mean_nothing() {
    let world = World::new();
    world.put("f", &[("b", B), ("a", B), ("extra", B)], one_row([1, 2, 3]));
    world.put("short", &[("x", B)], one_row([5]));
    let table = [("a", B), ("b", B)];
    assert_eq!(world.read(scan_of(&table), vec![split("f")]).unwrap(), [[n(1), n(2)]]);
    // A column beyond those of the file is null (rule S7.48).
    assert_eq!(world.read(scan_of(&table), vec![split("short")]).unwrap(), [[n(5), Value::Null]]);
    let unknown = scan_of(&table).regular("c", B);
    assert_eq!(world.read(unknown, vec![split("f")]).unwrap(), [[n(1), n(2), Value::Null]]);
}

#[test]
fn s7_61_the_place_in_the_output_is_not_the_place_in_the_file() {
    let world = World::new();
    world.put("f", &[("v", B)], one_row([7]));
    let scan = scan().data(&[("v", B)]).key("p", B).key("q", B).regular("v", B);
    let splits = vec![split_in("f", &[("p", Some("1")), ("q", None)])];
    assert_eq!(world.read(scan, splits).unwrap(), [[n(1), Value::Null, n(7)]]);
}

#[test]
fn s7_46_the_split_decides_then_the_table_then_the_settings() {
    let mut world = World::new();
    world.put("f", &[("b", B), ("a", B)], one_row([1, 2]));
    let table = [("a", B), ("b", B)];
    let rows = |world: &World, scan: Scan, splits| world.read(scan, splits).unwrap();
    let (by_position, by_name) = ([[n(1), n(2)]], [[n(2), n(1)]]);
    assert_eq!(rows(&world, scan_of(&table), vec![split("f")]), by_position);
    let name = ColumnMapping::Name;
    assert_eq!(rows(&world, scan_of(&table), by(name, "f")), by_name);
    let mut told = scan_of(&table);
    told.table = told.table.with_column_mapping(name);
    assert_eq!(rows(&world, told, vec![split("f")]), by_name);
    world.session.set("fake_use_column_names", "true");
    assert_eq!(rows(&world, scan_of(&table), vec![split("f")]), by_name);
    let position = ColumnMapping::Position;
    assert_eq!(rows(&world, scan_of(&table), by(position, "f")), by_position);
}

#[test]
fn s7_47_without_data_columns_the_files_names_count() {
    let world = World::new();
    world.put("f", &[("b", B), ("a", B)], one_row([1, 2]));
    let rows = world.read(scan().regular("a", B), by(ColumnMapping::Position, "f"));
    assert_eq!(rows.unwrap(), big([2]));
}

#[test]
fn s7_50_names_match_exactly_or_in_lower_case_or_for_people_in_any() {
    let mut world = World::new();
    world.put("f", &[("A", B), ("a", B)], one_row([1, 2]));
    world.put("g", &[("A", B), ("b", B)], one_row([1, 2]));
    world.put("h", &[("AB", B), ("Ab", B)], one_row([1, 2]));
    let rows = |world: &World, name, file, any_case| {
        let mut scan = scan().regular(name, B);
        if any_case {
            scan.table = scan.table.with_names_in_any_case();
        }
        world.read(scan, by(ColumnMapping::Name, file))
    };
    assert_eq!(rows(&world, "a", "f", false).unwrap(), big([2]));
    assert_eq!(rows(&world, "a", "g", false).unwrap(), [[Value::Null]]);
    assert_eq!(rows(&world, "a", "f", true).unwrap(), big([2]));
    assert_eq!(rows(&world, "a", "g", true).unwrap(), big([1]));
    assert_eq!(
        rows(&world, "ab", "h", true).unwrap_err().to_string(),
        "invalid input: several columns of the file have this name (column=ab found=AB Ab)\n  \
         in column \"ab\", file \"h\""
    );
    world.session.set("file_column_names_read_as_lower_case", "true");
    assert_eq!(rows(&world, "a", "g", false).unwrap(), big([1]));
    assert_eq!(rows(&world, "a", "f", false).unwrap_err().kind(), ErrorKind::InvalidInput);
    // If names are read in lower case, the plan's names must be in lower case (rule S6.7).
    assert_eq!(rows(&world, "A", "g", false).unwrap_err().kind(), ErrorKind::Internal);
    let nested = scan().regular("s", Type::row([("X", B)]));
    assert_eq!(world.source(nested).err().unwrap().kind(), ErrorKind::Internal);
}

fn people(names: &[&str]) -> Type {
    Type::row(names.iter().map(|n| (*n, Type::Varchar)))
}

fn text_row(texts: &[&str]) -> Value {
    row(texts.iter().map(Value::bytes))
}

/// Fields of structs are mapped by the rules for columns (rule S7.60).
#[test]
fn s7_48_fields_of_structs_are_found_like_columns() {
    let world = World::new();
    let file = people(&["first", "last"]);
    let names = text_row(&["Ann", "Lee"]);
    world.put("f", &[("name", file)], vec![vec![vec![names], vec![Value::Null]]]);
    let wanted = [("name", people(&["first", "middle", "last"]))];
    let rows = |mapping| world.read(scan_of(&wanted), by(mapping, "f")).unwrap();
    let (ann, lee) = (Value::bytes("Ann"), Value::bytes("Lee"));
    let by_name = row([ann.clone(), Value::Null, lee.clone()]);
    assert_eq!(rows(ColumnMapping::Name), [[by_name], [Value::Null]]);
    let by_position = row([ann, lee, Value::Null]);
    assert_eq!(rows(ColumnMapping::Position), [[by_position], [Value::Null]]);
}

/// The rules apply below arrays and maps too (rules S7.49, S7.64, S7.66).
#[test]
fn s7_67_structs_in_arrays_and_maps_follow_the_same_rules() {
    let world = World::new();
    let file = Type::row([("y", B), ("x", B)]);
    let items = || row([n(1), n(2)]);
    let columns =
        [("l", Type::array(file.clone())), ("m", Type::map(Type::Varchar, Type::array(file)))];
    let value = map([(Value::bytes("k"), array([items()]))]);
    world.put("f", &columns, vec![vec![vec![array([items(), Value::Null]), value]]]);
    let wanted = Type::row([("x", B), ("z", B)]);
    let wanted =
        [("l", Type::array(wanted.clone())), ("m", Type::map(Type::Varchar, Type::array(wanted)))];
    let rows = |mapping| world.read(scan_of(&wanted), by(mapping, "f")).unwrap();
    let expected = |item: Value| {
        let entry = (Value::bytes("k"), array([item.clone()]));
        [[array([item, Value::Null]), map([entry])]]
    };
    assert_eq!(rows(ColumnMapping::Name), expected(row([n(2), Value::Null])));
    assert_eq!(rows(ColumnMapping::Position), expected(row([n(1), n(2)])));
}

#[test]
fn s7_46_by_position_a_requested_struct_with_fewer_fields_follows_the_tables_struct() {
    let world = World::new();
    let three = Type::row([("p", B), ("q", B), ("r", B)]);
    let value = row([n(1), n(2), n(3)]);
    world.put("f", &[("s", three)], vec![vec![vec![value]]]);
    let table = Type::row([("a", B), ("b", B), ("c", B)]);
    let scan = scan().data(&[("s", table)]).regular("s", Type::row([("c", B)]));
    assert_eq!(world.read(scan, vec![split("f")]).unwrap(), [[row([n(3)])]]);
}

fn ids(id: i32, children: Vec<FieldIds>) -> FieldIds {
    FieldIds { id: Some(id), children }
}

fn leaf(id: i32) -> FieldIds {
    ids(id, vec![])
}

#[test]
fn s7_46_by_field_id_columns_may_be_renamed_and_reordered() {
    let world = World::new();
    let file = Type::row([("old", B), ("gone", B)]);
    let value = vec![vec![n(1), row([n(2), n(3)])]];
    world.put_file("f", &[("z", B), ("s", file)], vec![value], |f| {
        f.ids = vec![leaf(1), ids(2, vec![leaf(10), leaf(11)])];
    });
    let wanted = [("s", Type::row([("new", B), ("gone", B)])), ("a", B), ("z", B)];
    let rows = |table_ids: Vec<FieldIds>| {
        let mut scan = scan_of(&wanted);
        scan.table = scan.table.with_field_ids(table_ids).unwrap();
        world.read(scan, by(ColumnMapping::FieldId, "f"))
    };
    let deep = rows(vec![ids(2, vec![leaf(10), leaf(12)]), leaf(1), leaf(3)]).unwrap();
    assert_eq!(deep, [[row([n(2), Value::Null]), n(1), Value::Null]]);
    // If only the columns have ids, fields are found by name.
    let flat = rows(vec![leaf(2), leaf(1), leaf(3)]).unwrap();
    assert_eq!(flat, [[row([Value::Null, n(3)]), n(1), Value::Null]]);
    let none = world.read(scan_of(&wanted), by(ColumnMapping::FieldId, "f")).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Internal);
}

#[test]
fn s7_62_a_struct_without_any_wanted_field_keeps_its_own_nulls() {
    let world = World::new();
    let rows = vec![vec![row([n(1)])], vec![Value::Null]];
    world.put("f", &[("s", Type::row([("old", B)]))], vec![rows]);
    let wanted = [("s", Type::row([("a", B), ("b", B)]))];
    let rows = world.read(scan_of(&wanted), by(ColumnMapping::Name, "f")).unwrap();
    assert_eq!(rows, [[row([Value::Null, Value::Null])], [Value::Null]]);
}

#[test]
fn s7_63_by_a_setting_such_a_struct_is_null_but_only_by_name() {
    let mut world = World::new();
    world.session.set("null_struct_if_all_fields_missing", "true");
    let old = || Type::row([("old", B)]);
    let value = vec![row([n(1)]), array([row([n(2)])]), row([row([n(3)]), n(4)])];
    let file =
        [("s", old()), ("l", Type::array(old())), ("t", Type::row([("s", old()), ("k", B)]))];
    world.put("f", &file, vec![vec![value]]);
    let new = || Type::row([("a", B)]);
    let wanted =
        [("s", new()), ("l", Type::array(new())), ("t", Type::row([("s", new()), ("k", B)]))];
    let rows = world.read(scan_of(&wanted), by(ColumnMapping::Name, "f")).unwrap();
    assert_eq!(rows, [[Value::Null, array([Value::Null]), row([Value::Null, n(4)])]]);
    let rows = world.read(scan_of(&wanted[..1]), by(ColumnMapping::Position, "f")).unwrap();
    assert_eq!(rows, [[row([n(1)])]]);
    // A filter sees the null.
    let filtered = scan_of(&wanted[..1]).filter("s", Filter::IsNotNull);
    assert_eq!(world.read(filtered, by(ColumnMapping::Name, "f")).unwrap().len(), 0);
}

/// The file has field `a` of `s` but not `b`. The setting must not make `s` null, independent of
/// the fields that the query reads.
#[test]
fn s7_63_a_struct_is_null_or_not_whichever_of_its_fields_are_read() {
    let mut world = World::new();
    world.session.set("null_struct_if_all_fields_missing", "true");
    let field = |fields: &[(&str, Type)]| Type::row(fields.iter().cloned());
    let in_file = field(&[("a", B), ("in", field(&[("x", B)]))]);
    let rows = vec![vec![row([n(1), row([n(2)])])], vec![Value::Null]];
    world.put("f", &[("s", in_file)], vec![rows]);
    let cases = [
        // The requested type of `s`, and the number of its two rows that are not null.
        (field(&[("a", B), ("in", field(&[("x", B)]))]), 1),
        (field(&[("b", B), ("a", B)]), 1),
        (field(&[("b", B), ("in", field(&[("y", B)]))]), 1),
        (field(&[("b", B), ("c", B)]), 0),
    ];
    for (ty, not_null) in cases {
        let (first, _) = ty.as_row().unwrap().fields().next().unwrap();
        let path = format!("s.{first}");
        let wanted = [("s", ty.clone())];
        let handle = HiveColumnHandle::new("s", ColumnKind::Regular, ty.clone());
        let one_field = handle.with_required_subfields(vec![Subfield::parse(&path).unwrap()]);
        let whole = scan_of(&wanted);
        let one_field = scan().data(&wanted).handle("s", one_field.unwrap());
        let filter_only = scan().data(&[("k", B), ("s", ty.clone())]).regular("k", B);
        for scan in [whole, one_field, filter_only] {
            let scan = scan.filter("s", Filter::IsNotNull);
            let rows = world.read(scan, by(ColumnMapping::Name, "f")).unwrap();
            assert_eq!(rows.len(), not_null, "{ty} {first}");
        }
    }
}

#[test]
fn s7_65_a_filter_on_a_missing_field_sees_null() {
    let world = World::new();
    world.put(
        "f",
        &[("s", Type::row([("a", B)]))],
        vec![vec![vec![row([n(1)])], vec![Value::Null]]],
    );
    let count = |filter| {
        let scan = scan_of(&[("s", Type::row([("a", B), ("b", B)]))]).filter("s.b", filter);
        world.read(scan, by(ColumnMapping::Name, "f")).unwrap().len()
    };
    assert_eq!((count(Filter::IsNull), count(Filter::IsNotNull)), (2, 0));
}

#[test]
fn s7_56_a_struct_for_a_scalar_is_left_to_the_reader_to_refuse() {
    let world = World::new();
    world.put("f", &[("s", B)], one_row([1]));
    let rows = world.read(scan_of(&[("s", Type::row([("a", B)]))]), vec![split("f")]);
    assert_eq!(rows.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn s7_28_the_order_of_splits_does_not_matter() {
    let world = World::new();
    world.put("a", &[("x", B)], one_row([1]));
    world.put("b", &[("x", B), ("s", Type::row([("u", B)]))], vec![vec![vec![n(2), row([n(3)])]]]);
    world.put("c", &[("s", Type::row([("v", B), ("u", B)]))], vec![vec![vec![row([n(4), n(5)])]]]);
    let wanted = [("x", B), ("s", Type::row([("u", B), ("v", B)]))];
    let rows_of = |path: &str| match path {
        "a" => vec![n(1), Value::Null],
        "b" => vec![n(2), row([n(3), Value::Null])],
        _ => vec![Value::Null, row([n(5), n(4)])],
    };
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "b"], ["b", "c", "a"]] {
        let splits = order.map(|path| split(path).with_column_mapping(ColumnMapping::Name));
        let rows = world.read(scan_of(&wanted), splits.to_vec()).unwrap();
        assert_eq!(rows, order.map(rows_of), "{order:?}");
    }
}
