//! Columns of handwritten chunks: any division into windows and skips yields the same rows.

use dwio::scan_spec::{FieldSpec, NestedSpec};
use vector::testing::values_of;
use vector::{Buffer, ErrorKind, Value};

use super::*;
use crate::page::testing::{
    ChunkWriter, PLAIN, RLE_DICTIONARY, byte_arrays, indices, int32s, required,
};
use crate::thrift::structs::{Codec, ConvertedType, PhysicalType, Repetition, SchemaElement};

pub(super) fn element(name: &str, repetition: Repetition) -> SchemaElement {
    SchemaElement {
        name: name.into(),
        physical: None,
        type_length: None,
        repetition: Some(repetition),
        num_children: None,
        converted: None,
        scale: None,
        precision: None,
        field_id: None,
        logical: None,
    }
}

pub(super) fn leaf(name: &str, physical: PhysicalType, repetition: Repetition) -> SchemaElement {
    SchemaElement { physical: Some(physical), ..element(name, repetition) }
}

pub(super) fn group(name: &str, repetition: Repetition, num_children: i32) -> SchemaElement {
    SchemaElement { num_children: Some(num_children), ..element(name, repetition) }
}

pub(super) fn schema(elements: &[SchemaElement]) -> Schema {
    let mut all = vec![group("root", Repetition::Required, 1)];
    all.extend_from_slice(elements);
    Schema::new(&all).unwrap()
}

/// Returns a column reader over one chunk for each leaf.
pub(super) fn reader_as(
    schema: &Schema,
    spec: &ColumnSpec,
    chunks: &[&ChunkWriter],
) -> ColumnReader {
    let mut reader =
        ColumnReader::new(schema, 0, (spec, &NestedBinding::ByName), &MemoryPool::unlimited())
            .unwrap();
    let chunk = |leaf: usize| Ok((chunks[leaf].params(), Buffer::from_slice(&chunks[leaf].bytes)));
    reader.start_row_group(chunk).unwrap();
    reader
}

pub(super) fn reader(schema: &Schema, chunks: &[&ChunkWriter]) -> ColumnReader {
    let column = &schema.columns()[0];
    reader_as(schema, &ColumnSpec::whole(&column.name, column.ty.clone(), 0), chunks)
}

/// Reads in windows of every size, and skips to every position.
fn check(schema: &Schema, chunks: &[&ChunkWriter], expected: &[Value]) {
    for window in 1..=expected.len() {
        let mut column = reader(schema, chunks);
        let mut kept = Vec::new();
        for part in expected.chunks(window) {
            let vector = column.read(part.len()).unwrap();
            assert_eq!(values_of(&vector), part, "window of {window}");
            kept.push(vector);
        }
        // Memory is reused only when it is no longer referenced.
        let again: Vec<Value> = kept.iter().flat_map(values_of).collect();
        assert_eq!(again, expected);
    }
    for skipped in 0..expected.len() {
        let mut column = reader(schema, chunks);
        column.skip(skipped / 2);
        column.skip(skipped - skipped / 2);
        let vector = column.read(expected.len() - skipped).unwrap();
        assert_eq!(values_of(&vector), &expected[skipped..], "skipped {skipped}");
    }
    check_selected(schema, chunks, expected);
}

/// Reads the rows of selections of many patterns, in windows of every size.
fn check_selected(schema: &Schema, chunks: &[&ChunkWriter], expected: &[Value]) {
    for window in 1..=expected.len() {
        for pattern in 0..32u32 {
            let is_wanted = |row: usize| pattern >> (row % 5) & 1 != 0;
            let mut column = reader(schema, chunks);
            for (start, part) in (0..).step_by(window).zip(expected.chunks(window)) {
                let mut rows = SelectivityVector::none(part.len());
                (0..part.len()).for_each(|row| rows.set(row, is_wanted(start + row)));
                let vector = column.read_selected(&rows).unwrap();
                let wanted: Vec<Value> = rows.iter().map(|row| part[row].clone()).collect();
                assert_eq!(values_of(&vector), wanted, "windows of {window}, rows {pattern:b}");
            }
        }
    }
}

fn ints(values: &[Option<i32>]) -> Vec<Value> {
    values.iter().map(|v| v.map_or(Value::Null, Value::Integer)).collect()
}

fn optional(values: &[Option<i32>]) -> Vec<(u8, u8)> {
    values.iter().map(|v| (0, u8::from(v.is_some()))).collect()
}

#[test]
fn plain_and_dictionary_pages_of_both_versions_are_one_column() {
    let schema = schema(&[leaf("a", PhysicalType::Int32, Repetition::Optional)]);
    let first = [Some(1), None, Some(3)];
    let second = [None, Some(20), Some(10), Some(20), None];
    for codec in [Codec::Uncompressed, Codec::Snappy] {
        let mut chunk = ChunkWriter::new(codec, 1, 0);
        chunk
            .dictionary(2, &int32s([10, 20]))
            .v1(&optional(&first), PLAIN, &int32s([1, 3]))
            .v2(&optional(&second), RLE_DICTIONARY, &indices(&[1, 0, 1], 1))
            .v1(&optional(&[None; 3]), PLAIN, &[])
            .v2(&optional(&first), PLAIN, &int32s([1, 3]));
        let expected = ints(&[&first[..], &second, &[None; 3], &first].concat());
        check(&schema, &[&chunk], &expected);
    }
}

#[test]
fn strings_stay_indices_until_a_plain_page_comes_between() {
    let schema = schema(&[SchemaElement {
        converted: Some(ConvertedType::Utf8),
        ..leaf("s", PhysicalType::ByteArray, Repetition::Optional)
    }]);
    let long: &[u8] = b"a string that does not fit into a view";
    let mut chunk = ChunkWriter::new(Codec::Snappy, 1, 0);
    chunk
        .dictionary(2, &byte_arrays(&[long, b"short"]))
        .v1(&[(0, 1), (0, 0), (0, 1)], RLE_DICTIONARY, &indices(&[1, 0], 1))
        .v1(&[(0, 1), (0, 1)], PLAIN, &byte_arrays(&[b"plain", b"another one beyond the view"]))
        .v1(&[(0, 0), (0, 1)], RLE_DICTIONARY, &indices(&[0], 1));
    let text = |bytes: &[u8]| Value::bytes(bytes);
    let expected = [
        text(b"short"),
        Value::Null,
        text(long),
        text(b"plain"),
        text(b"another one beyond the view"),
        Value::Null,
        text(long),
    ];
    check(&schema, &[&chunk], &expected);
    let mut column = reader(&schema, &[&chunk]);
    let (first, second) = (column.read(2).unwrap(), column.read(1).unwrap());
    match (first.as_ref(), second.as_ref()) {
        (Vector::Dictionary(a), Vector::Dictionary(b)) => assert!(Arc::ptr_eq(a.base(), b.base())),
        other => panic!("not dictionaries: {other:?}"),
    }
}

#[test]
fn a_list_may_go_on_in_the_next_page() {
    let schema = schema(&[
        SchemaElement {
            converted: Some(ConvertedType::List),
            ..group("tags", Repetition::Optional, 1)
        },
        group("list", Repetition::Repeated, 1),
        leaf("element", PhysicalType::Int32, Repetition::Optional),
    ]);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 3, 1);
    chunk
        .v1(&[(0, 3), (1, 2), (0, 0), (0, 3)], PLAIN, &int32s([1, 2]))
        .v1(&[(1, 3), (1, 3)], PLAIN, &int32s([3, 4]))
        .v1(&[(1, 3), (0, 1), (0, 3)], PLAIN, &int32s([5, 6]));
    let list = |values: &[Option<i32>]| Value::Array(ints(values).into());
    let expected = [
        list(&[Some(1), None]),
        Value::Null,
        list(&[Some(2), Some(3), Some(4), Some(5)]),
        list(&[]),
        list(&[Some(6)]),
    ];
    check(&schema, &[&chunk], &expected);

    let spec = ColumnSpec {
        nested: NestedSpec::Array {
            element: Box::new(ColumnSpec::whole("element", Type::Integer, 0)),
            max_elements: 2,
        },
        ..ColumnSpec::whole("tags", Type::array(Type::Integer), 0)
    };
    let mut column = reader_as(&schema, &spec, &[&chunk]);
    let cut = values_of(&column.read(5).unwrap());
    assert_eq!(cut[2], list(&[Some(2), Some(3)]));

    let mut middle = ChunkWriter::new(Codec::Uncompressed, 3, 1);
    middle.v1(&[(1, 3)], PLAIN, &int32s([1]));
    assert_eq!(
        reader(&schema, &[&middle]).read(1).unwrap_err().to_string(),
        "corrupt: the page starts in the middle of a row\n  \
         in page 0, offset 4, column \"tags.list.element\""
    );
}

/// `optional group s { required int32 a; repeated int32 b }`
fn struct_schema() -> (Schema, ChunkWriter, ChunkWriter) {
    let schema = schema(&[
        group("s", Repetition::Optional, 2),
        leaf("a", PhysicalType::Int32, Repetition::Required),
        leaf("b", PhysicalType::Int32, Repetition::Repeated),
    ]);
    let mut a = ChunkWriter::new(Codec::Uncompressed, 1, 0);
    a.v1(&[(0, 1), (0, 0), (0, 1)], PLAIN, &int32s([1, 3]));
    let mut b = ChunkWriter::new(Codec::Uncompressed, 2, 1);
    b.v2(&[(0, 2), (1, 2), (0, 0)], PLAIN, &int32s([10, 11])).v2(&[(0, 1)], PLAIN, &[]);
    (schema, a, b)
}

#[test]
fn a_struct_is_null_where_its_leaves_say_so() {
    let (schema, a, b) = struct_schema();
    let row = |a: i32, b: &[i32]| {
        let list = b.iter().map(|v| Value::Integer(*v)).collect();
        Value::Row([Value::Integer(a), Value::Array(list)].into())
    };
    check(&schema, &[&a, &b], &[row(1, &[10, 11]), Value::Null, row(3, &[])]);
}

/// A struct of which no requested field is in the file still has its own nulls (rule S7.62).
#[test]
fn fields_that_are_missing_or_not_wanted_are_null_and_the_struct_keeps_its_own_nulls() {
    let (schema, a, b) = struct_schema();
    let ty = Type::row([("B", Type::array(Type::Integer)), ("x", Type::Varchar)]);
    let mut column = reader_as(&schema, &ColumnSpec::whole("s", ty, 0), &[&a, &b]);
    assert_eq!(column.leaf_numbers(), [1]);
    let rows = values_of(&column.read(3).unwrap());
    assert_eq!(rows[1], Value::Null);
    assert_eq!(rows[2], Value::Row([Value::Array([].into()), Value::Null].into()));

    let ty = Type::row([("a", Type::Integer), ("b", Type::array(Type::Integer))]);
    let spec = ColumnSpec {
        nested: NestedSpec::Row(vec![FieldSpec::Pruned, FieldSpec::Pruned]),
        ..ColumnSpec::whole("s", ty, 0)
    };
    let mut column = reader_as(&schema, &spec, &[&a, &b]);
    assert_eq!(column.leaf_numbers(), [0]);
    let rows = values_of(&column.read(3).unwrap());
    let empty = Value::Row([Value::Null, Value::Null].into());
    assert_eq!(rows, [empty.clone(), Value::Null, empty]);
}

/// A leaf can be requested only as its own type or one that it may be widened to; otherwise the
/// error states both types and the column (rules S7.51, S7.52, S7.56).
#[test]
fn integers_widen_and_other_types_are_refused_by_name() {
    let schema = schema(&[leaf("a", PhysicalType::Int32, Repetition::Required)]);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    chunk.v1(&required(2), PLAIN, &int32s([-1, 7]));
    let spec = ColumnSpec::whole("a", Type::BigInt, 0);
    let vector = reader_as(&schema, &spec, &[&chunk]).read(2).unwrap();
    assert_eq!(values_of(&vector), [Value::BigInt(-1), Value::BigInt(7)]);
    let spec = ColumnSpec::whole("a", Type::Varchar, 0);
    let wanted = (&spec, &NestedBinding::ByName);
    let refused = ColumnReader::new(&schema, 0, wanted, &MemoryPool::unlimited());
    assert_eq!(
        refused.err().unwrap().to_string(),
        "unsupported: the column cannot be read as the type that is asked for \
         (file_type=INTEGER wanted_type=VARCHAR)\n  in column \"a\""
    );
}

/// Reads optional INT32 values with an annotation as another type.
fn read_as(annotated: SchemaElement, values: &[Option<i32>], ty: Type) -> Result<Vec<Value>> {
    let schema = schema(&[annotated]);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 1, 0);
    let present: Vec<i32> = values.iter().flatten().copied().collect();
    chunk.v1(&optional(values), PLAIN, &int32s(present));
    let spec = ColumnSpec::whole("a", ty, 0);
    let wanted = (&spec, &NestedBinding::ByName);
    let mut reader = ColumnReader::new(&schema, 0, wanted, &MemoryPool::unlimited())?;
    reader.start_row_group(|_| Ok((chunk.params(), Buffer::from_slice(&chunk.bytes))))?;
    reader.read(values.len()).map(|vector| values_of(&vector))
}

#[test]
fn s7_55_decimals_and_integers_become_decimals_with_room_for_all_digits() {
    let plain = || leaf("a", PhysicalType::Int32, Repetition::Optional);
    let decimal = || SchemaElement {
        converted: Some(ConvertedType::Decimal),
        precision: Some(9),
        scale: Some(2),
        ..plain()
    };
    let wanted = |precision, scale| Type::Decimal { precision, scale };
    let values = [Some(125), None, Some(-999_999_999)];
    let scaled = read_as(decimal(), &values, wanted(12, 4)).unwrap();
    assert_eq!(scaled, [Value::BigInt(12_500), Value::Null, Value::BigInt(-99_999_999_900)]);
    let long = read_as(decimal(), &values, wanted(30, 10)).unwrap();
    assert_eq!(long[0], Value::HugeInt(12_500_000_000));
    let wider = read_as(decimal(), &values, wanted(20, 2)).unwrap();
    assert_eq!(wider[2], Value::HugeInt(-999_999_999));
    let integers = read_as(plain(), &values, wanted(14, 3)).unwrap();
    assert_eq!(integers[0], Value::BigInt(125_000));
    for (file, ty) in [
        (decimal(), wanted(9, 1)),
        (decimal(), wanted(10, 4)),
        (decimal(), wanted(8, 2)),
        (plain(), wanted(9, 0)),
        (plain(), wanted(12, 3)),
    ] {
        let error = read_as(file, &values, ty).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    // A value that exceeds its own precision is reported instead of scaled.
    let broken = read_as(decimal(), &[Some(i32::MAX)], wanted(11, 4)).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::Corrupt);
}

#[test]
fn s7_54_unsigned_integers_keep_their_bits_in_signed_types_of_their_width() {
    let annotated = |converted| SchemaElement {
        converted: Some(converted),
        ..leaf("a", PhysicalType::Int32, Repetition::Optional)
    };
    let read = |converted, value, ty| read_as(annotated(converted), &[Some(value)], ty).unwrap();
    assert_eq!(read(ConvertedType::Uint8, 200, Type::SmallInt), [Value::SmallInt(200)]);
    assert_eq!(read(ConvertedType::Uint8, 200, Type::TinyInt), [Value::TinyInt(-56)]);
    assert_eq!(read(ConvertedType::Uint16, 65_535, Type::SmallInt), [Value::SmallInt(-1)]);
    assert_eq!(read(ConvertedType::Uint32, -1, Type::BigInt), [Value::BigInt(4_294_967_295)]);
    assert_eq!(read(ConvertedType::Uint32, -1, Type::Integer), [Value::Integer(-1)]);
    assert_eq!(read(ConvertedType::Uint32, -1, Type::Double), [Value::Double(4_294_967_295.0)]);
}

#[test]
fn an_encoding_that_is_not_built_names_itself_column_and_page() {
    let schema = schema(&[leaf("a", PhysicalType::Int32, Repetition::Required)]);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    chunk.v1(&required(2), 60, &[0; 8]);
    let error = reader(&schema, &[&chunk]).read(2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported: this encoding cannot be read yet \
         (encoding=?60 storage=INT32)\n  in page 0, offset 4, column \"a\""
    );
}

#[test]
fn chunks_that_end_early_or_contradict_each_other_are_corrupt() {
    let (schema, mut a, b) = struct_schema();
    let error = reader(&schema, &[&a, &b]).read(4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "corrupt: the column chunk has fewer rows than its row group (missing=1)\n  \
         in column \"s.a\""
    );
    a.v1(&[(0, 1)], PLAIN, &int32s([4]));
    assert_eq!(reader(&schema, &[&a, &b]).read(4).unwrap_err().kind(), ErrorKind::Corrupt);

    let flat = self::schema(&[leaf("a", PhysicalType::Int32, Repetition::Required)]);
    let mut missing = ChunkWriter::new(Codec::Uncompressed, 0, 0);
    missing.v1(&required(1), RLE_DICTIONARY, &indices(&[0], 1));
    assert_eq!(
        reader(&flat, &[&missing]).read(1).unwrap_err().to_string(),
        "corrupt: a page of dictionary indices in a column chunk without a dictionary\n  \
         in page 0, offset 4, column \"a\""
    );
}

#[test]
fn every_changed_byte_gives_rows_or_an_error() {
    let (schema, a, b) = struct_schema();
    for (at, byte) in (0..b.bytes.len()).flat_map(|at| (0..=255).map(move |byte| (at, byte))) {
        let mut broken = ChunkWriter::new(Codec::Uncompressed, 2, 1);
        broken.bytes.clone_from(&b.bytes);
        broken.num_values = b.num_values;
        broken.bytes[at] = byte;
        let mut column = reader(&schema, &[&a, &broken]);
        if let Ok(vector) = column.read(3) {
            assert_eq!(values_of(&vector).len(), 3);
        }
    }
}
