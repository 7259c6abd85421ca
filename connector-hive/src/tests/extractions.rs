//! Tests of extractions and post-processors (section 16 of the rules).

use vector::{Buffer, DictionaryVector, Vector, VectorRef};

use super::*;
use crate::read::extract_vector::extract;
use crate::{Extraction, ExtractionStep, KeySet, PostProcessor};
use ExtractionStep::*;

const B: Type = Type::BigInt;

fn extraction(name: &str, chain: Vec<ExtractionStep>, ty: Type) -> Extraction {
    Extraction { output_name: name.into(), chain, ty }
}

/// Reads a column with extractions from a file of these rows.
fn read(schema: &Type, rows: &[Value], ty: Type, extractions: Vec<Extraction>) -> Vec<Value> {
    let world = World::new();
    let rows = rows.iter().map(|v| vec![v.clone()]).collect();
    world.put("f", &[("c", schema.clone())], vec![rows]);
    let handle = HiveColumnHandle::new("c", ColumnKind::Regular, ty);
    let handle = handle.with_extractions(schema.clone(), extractions).unwrap();
    let rows = world.read(scan().handle("o", handle), vec![split("f")]).unwrap();
    rows.into_iter().map(|mut row| row.remove(0)).collect()
}

fn one(schema: &Type, rows: &[Value], ty: Type, chain: Vec<ExtractionStep>) -> Vec<Value> {
    read(schema, rows, ty.clone(), vec![extraction("o", chain, ty)])
}

fn texts(pairs: &[(&str, i64)]) -> Value {
    map(pairs.iter().map(|(k, v)| (Value::bytes(k), n(*v))))
}

fn maps() -> (Type, [Value; 3]) {
    (Type::map(Type::Varchar, B), [texts(&[("x", 1), ("y", 2)]), Value::Null, texts(&[])])
}

fn keys(keys: &[&str]) -> ExtractionStep {
    MapKeyFilter(KeySet::Strings(keys.iter().map(|k| k.as_bytes().into()).collect()))
}

/// A handle declares the schema type and the chains; the extraction is applied after reading (rules
/// S16.1, S16.20).
#[test]
fn s16_6_keys_and_values_share_the_rows_of_the_map() {
    let (ty, rows) = maps();
    let strings = array(["x", "y"].map(Value::bytes));
    let found = one(&ty, &rows, Type::array(Type::Varchar), vec![MapKeys]);
    assert_eq!(found, [strings, Value::Null, array([])]);
    let found = one(&ty, &rows, Type::array(B), vec![MapValues]);
    assert_eq!(found, [array([n(1), n(2)]), Value::Null, array([])]);
}

#[test]
fn s16_7_sizes_are_null_for_null_rows_and_count_what_a_key_filter_leaves() {
    let (ty, rows) = maps();
    assert_eq!(one(&ty, &rows, B, vec![Size]), [n(2), Value::Null, n(0)]);
    // A key filter before SIZE reduces the size (rule S16.17).
    assert_eq!(one(&ty, &rows, B, vec![keys(&["x", "z"]), Size]), [n(1), Value::Null, n(0)]);
    let list = [array([n(1)]), Value::Null];
    assert_eq!(one(&Type::array(B), &list, B, vec![Size]), [n(1), Value::Null]);
}

/// A key filter accepts keys of any integer type (rule S16.10).
#[test]
fn s16_8_key_filters_keep_order_and_know_all_integers() {
    let (ty, rows) = maps();
    let found = one(&ty, &rows, ty.clone(), vec![keys(&["y", "x"]), keys(&["y"])]);
    assert_eq!(found, [texts(&[("y", 2)]), Value::Null, texts(&[])]);
    for (key, ty) in [
        (Value::TinyInt as fn(i8) -> Value, Type::TinyInt),
        (|v| Value::SmallInt(v.into()), Type::SmallInt),
        (|v| Value::Integer(v.into()), Type::Integer),
        (|v| Value::BigInt(v.into()), Type::BigInt),
    ] {
        let ty = Type::map(ty, B);
        let value = map([(key(1), n(1)), (key(2), n(2))]);
        let filter = MapKeyFilter(KeySet::Integers(vec![2, 300]));
        let found = one(&ty, &[value], ty.clone(), vec![filter]);
        assert_eq!(found, [map([(key(2), n(2))])]);
    }
}

#[test]
fn s16_9_a_field_of_a_null_struct_is_null() {
    let ty = Type::row([("a", B), ("b", Type::Varchar)]);
    let rows = [row([n(1), Value::bytes("x")]), Value::Null, row([Value::Null, Value::Null])];
    assert_eq!(one(&ty, &rows, B, vec![StructField("a".into())]), [n(1), Value::Null, Value::Null]);
}

#[test]
fn s16_4_steps_behind_elements_are_done_with_each() {
    let ty = Type::map(Type::Varchar, Type::row([("x", B), ("y", Type::array(B))]));
    let value = |items: &[i64]| row([n(0), array(items.iter().map(|i| n(*i)))]);
    let entries = [("a", value(&[1, 2])), ("b", Value::Null), ("c", value(&[]))];
    let rows = [map(entries.map(|(k, v)| (Value::bytes(k), v))), Value::Null];
    let chain = vec![MapValues, ArrayElements, StructField("y".into()), Size];
    let found = one(&ty, &rows, Type::array(B), chain);
    assert_eq!(found, [array([n(2), Value::Null, n(0)]), Value::Null]);
}

/// Readers return the column of the file in its own type, pruned to the subfields that the chains
/// use. The whole chain is applied after reading, for lazy and for loaded columns (rules S7.80,
/// S16.13, S16.15, S16.20).
#[test]
fn s16_14_readers_never_extract_and_give_less_of_the_file_instead() {
    let value = Type::row([("x", B), ("y", Type::array(B))]);
    let ty = Type::map(Type::Varchar, value.clone());
    let entry = |x| row([n(x), array([n(x), n(x)])]);
    let rows = [map([(Value::bytes("a"), entry(1)), (Value::bytes("b"), entry(2))]), Value::Null];
    let world = World::new();
    // Tests a lazy column, and a column that is loaded because it has a filter.
    for (name, filter) in [("lazy", None), ("c", Some(Filter::IsNotNull))] {
        let group = rows.iter().map(|v| vec![v.clone()]).collect();
        world.put(name, &[(name, ty.clone())], vec![group]);
        let of = |output: &str, chain: Vec<ExtractionStep>, out: Type| {
            let handle = HiveColumnHandle::new(name, ColumnKind::Regular, out.clone());
            let chain = vec![extraction(output, chain, out)];
            let scan = scan().handle(output, handle.with_extractions(ty.clone(), chain).unwrap());
            match &filter {
                Some(filter) => scan.filter(name, filter.clone()),
                None => scan,
            }
        };
        let num_rows = if filter.is_some() { 1 } else { 2 };
        let expect = |scan, expected: Value| {
            let found = world.read(scan, vec![split(name)]).unwrap();
            assert_eq!(found, [vec![expected], vec![Value::Null]][..num_rows], "{name}");
        };
        expect(of("n", vec![Size], B), n(2));
        let keys = array(["a", "b"].map(Value::bytes));
        expect(of("k", vec![MapKeys], Type::array(Type::Varchar)), keys);
        let chain = vec![MapValues, ArrayElements, StructField("x".into())];
        expect(of("x", chain, Type::array(B)), array([n(1), n(2)]));
    }
}

#[test]
fn s16_12_several_extractions_make_a_struct() {
    let (ty, rows) = maps();
    let k = Type::array(Type::Varchar);
    let output = Type::row([("k", k.clone()), ("n", B), ("m", ty.clone())]);
    let extractions = vec![
        extraction("k", vec![MapKeys], k),
        extraction("n", vec![Size], B),
        extraction("m", vec![], ty.clone()),
    ];
    let found = read(&ty, &rows[..2], output, extractions);
    let first = row([array(["x", "y"].map(Value::bytes)), n(2), rows[0].clone()]);
    assert_eq!(found, [first, row([Value::Null, Value::Null, Value::Null])]);
}

#[test]
fn s16_11_wrapped_columns_are_extracted_below_their_wrappers() {
    let (ty, rows) = maps();
    let base = vector::build::vector_of(&ty, &rows).unwrap();
    let wrapped = Vector::wrap(&base, &Buffer::from_slice(&[2u32, 0, 1, 0]));
    let size = [extraction("n", vec![Size], B)];
    let values = |column: &VectorRef| {
        let found = extract(column, &size, &B).unwrap();
        let decoded = DecodedVector::new(&found).unwrap();
        (0..found.len()).map(|i| decoded.value(i).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(values(&wrapped), [n(0), n(2), Value::Null, n(2)]);
    let nulls = Some([true, false].into_iter().collect());
    let twice = Buffer::from_slice(&[1u32, 1]);
    let twice = Vector::Dictionary(DictionaryVector::new(wrapped, twice, nulls).unwrap());
    assert_eq!(values(&Arc::new(twice)), [n(2), Value::Null]);
    let constant = Vector::constant(ty.clone(), rows[0].clone(), 2).unwrap();
    assert_eq!(values(&Arc::new(constant)), [n(2), n(2)]);
    assert_eq!(values(&Arc::new(Vector::nulls(ty, 1))), [Value::Null]);
}

/// The reader's type is the schema type of the column, so filters are on the column of the file
/// (rules S6.15, S16.16, S16.19).
#[test]
fn s16_18_filters_are_on_the_column_of_the_file_and_late_ones_are_refused() {
    let world = World::new();
    let (ty, rows) = maps();
    world.put("f", &[("c", ty.clone())], vec![rows.iter().map(|v| vec![v.clone()]).collect()]);
    let handle = HiveColumnHandle::new("c", ColumnKind::Regular, B);
    let handle = handle.with_extractions(ty, vec![extraction("n", vec![Size], B)]).unwrap();
    let scan = || scan().handle("n", handle.clone()).filter("c", Filter::IsNotNull);
    assert_eq!(world.read(scan(), vec![split("f")]).unwrap(), big([2, 0]));
    assert!(!world.source(scan()).unwrap().dynamic_filters().unwrap().accepts(0));
}

/// A handle checks that its types and chains agree (rule S6.17).
#[test]
fn s16_5_handles_check_their_extractions() {
    let (ty, _) = maps();
    let handle = |ty| HiveColumnHandle::new("c", ColumnKind::Regular, ty);
    let size = || vec![extraction("n", vec![Size], B)];
    let path = || vec![Subfield::parse("c[\"x\"]").unwrap()];
    assert!(handle(B).with_extractions(ty.clone(), size()).is_ok());
    assert!(handle(Type::Integer).with_extractions(ty.clone(), size()).unwrap_err().is_user());
    assert!(handle(B).with_extractions(ty.clone(), vec![]).unwrap_err().is_user());
    let extracted = handle(B).with_extractions(ty.clone(), size()).unwrap();
    assert!(extracted.with_required_subfields(path()).unwrap_err().is_user());
    let pruned = handle(ty.clone()).with_required_subfields(path()).unwrap();
    assert!(pruned.with_extractions(ty, size()).unwrap_err().is_user());
}

/// Pruning, extraction and post-processing are independent, and a post-processor is not applied to
/// empty batches (rules S16.21, S16.24).
#[test]
fn s16_22_a_post_processor_sees_the_rows_that_passed_and_filters_see_what_was_before() {
    let world = World::new();
    world.put_numbers("f", 0..6);
    let double = PostProcessor::new(|column| {
        let decoded = DecodedVector::new(&column)?;
        let twice: Vec<Value> = (0..column.len())
            .map(|i| Ok(n(2 * decoded.value(i)?.as_i64().unwrap())))
            .collect::<Result<_>>()?;
        vector::build::vector_of(&B, &twice)
    });
    let of = |post: PostProcessor| {
        let handle = HiveColumnHandle::new("x", ColumnKind::Regular, B).with_post_processor(post);
        let sum = call("plus", vec![field("x", B), field("x", B)]);
        scan().handle("x", handle).condition(call("gt", vec![sum, int(6)]))
    };
    assert_eq!(world.read(of(double), vec![split("f")]).unwrap(), big([8, 10]));
    let shorter = PostProcessor::new(|column| Vector::slice(&column, 0, 0));
    assert!(world.read(of(shorter), vec![split("f")]).is_err());
}

#[test]
fn s16_23_a_lazy_column_stays_lazy_until_it_is_processed() {
    let world = World::new();
    world.put("f", &[("lazy", B)], vec![big([1, 2])]);
    let handle = HiveColumnHandle::new("lazy", ColumnKind::Regular, B);
    let same = PostProcessor::new(Ok);
    let mut source = world.source(scan().handle("x", handle.with_post_processor(same))).unwrap();
    source.add_split(Arc::new(split("f"))).unwrap();
    let SourcePoll::Batch(batch) = source.next(10).unwrap() else { panic!() };
    assert_eq!(world.format.loads(), []);
    assert_eq!(rows_of(&batch).unwrap(), big([1, 2]));
}
