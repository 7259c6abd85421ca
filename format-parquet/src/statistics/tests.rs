//! Handmade statistics, one rule at a time; and those of the shared corpus compared with its rows.

mod corpus;

use dwio::stats::ColumnStatistics;
use vector::{TimeUnit, Timestamp, Type, Value};

use super::*;
use crate::footer::Footer;
use crate::schema::Schema;
use crate::thrift::structs::{
    Codec, ColumnChunk, ColumnMetaData, ColumnOrder, ConvertedType, Encoding, FileMetaData,
    LogicalType, PhysicalType, Repetition, RowGroup, SchemaElement,
};
use PhysicalType::{Boolean, ByteArray, Double, FixedLenByteArray, Float, Int32, Int64, Int96};

/// The name of a writer with trusted bounds.
pub(crate) const WRITER: &str = "parquet-rs version 59.0.0";
/// Number of values of each chunk, of which none is null.
pub(crate) const NUM_ROWS: u64 = 100;

/// Returns an optional leaf.
pub(crate) fn leaf(physical: PhysicalType) -> SchemaElement {
    SchemaElement {
        name: "a".into(),
        physical: Some(physical),
        type_length: None,
        repetition: Some(Repetition::Optional),
        num_children: None,
        converted: None,
        scale: None,
        precision: None,
        field_id: None,
        logical: None,
    }
}

pub(crate) fn logical(physical: PhysicalType, logical: LogicalType) -> SchemaElement {
    SchemaElement { logical: Some(logical), ..leaf(physical) }
}

pub(crate) fn converted(physical: PhysicalType, converted: ConvertedType) -> SchemaElement {
    SchemaElement { converted: Some(converted), ..leaf(physical) }
}

pub(crate) fn fixed(width: i32, element: SchemaElement) -> SchemaElement {
    SchemaElement { type_length: Some(width), physical: Some(FixedLenByteArray), ..element }
}

fn chunk(physical: PhysicalType, num_values: u64, stored: Option<Statistics>) -> ColumnChunk {
    ColumnChunk {
        file_path: None,
        meta_data: Some(ColumnMetaData {
            physical,
            encodings: vec![Encoding::Plain],
            path_in_schema: "a".into(),
            codec: Codec::Uncompressed,
            num_values,
            total_uncompressed_bytes: 1000,
            total_compressed_bytes: 1000,
            key_value_metadata: Vec::new(),
            data_page_offset: 4,
            index_page_offset: None,
            dictionary_page_offset: None,
            statistics: stored.map(Box::new),
            encoding_stats: Vec::new(),
            bloom_filter: None,
            size_statistics: None,
        }),
        offset_index: None,
        column_index: None,
        crypto: None,
        encrypted_meta_data: None,
        is_unlocked: false,
    }
}

/// Returns a file of columns below the root, each with a chunk of [`NUM_ROWS`] values in one row
/// group.
pub(crate) fn footer(elements: Vec<SchemaElement>, stored: Vec<Option<Statistics>>) -> Footer {
    let mut schema = vec![SchemaElement {
        physical: None,
        repetition: None,
        num_children: Some(elements.len() as i32),
        ..leaf(Int32)
    }];
    schema.extend(elements);
    footer_of(schema, stored)
}

/// Does the same as [`footer`] for a complete schema.
pub(crate) fn footer_of(schema: Vec<SchemaElement>, stored: Vec<Option<Statistics>>) -> Footer {
    let tree = Schema::new(&schema).unwrap();
    let columns = tree
        .leaves()
        .iter()
        .zip(stored)
        .map(|(leaf, stored)| chunk(leaf.physical, NUM_ROWS, stored))
        .collect();
    Footer {
        schema: tree,
        footer_offset: 1_000_000,
        footer_bytes: 100,
        file_bytes: 1_000_108,
        num_rows: NUM_ROWS,
        decryptor: None,
        defect: None,
        unchecked_head: None,
        memory: crate::thrift::memory::MetadataMemory::new(&vector::MemoryPool::unlimited()),
        metadata: FileMetaData {
            version: 2,
            schema,
            num_rows: NUM_ROWS,
            row_groups: vec![RowGroup {
                columns,
                total_uncompressed_bytes: 1000,
                num_rows: NUM_ROWS,
                sorting_columns: Vec::new(),
                file_offset: None,
                total_compressed_bytes: None,
                ordinal: None,
            }],
            key_value_metadata: Vec::new(),
            created_by: Some(WRITER.into()),
            column_orders: None,
            encryption: None,
            footer_signing_key_metadata: None,
        },
    }
}

pub(crate) fn bounds(min: impl AsRef<[u8]>, max: impl AsRef<[u8]>) -> Statistics {
    Statistics {
        min_value: Some(min.as_ref().to_vec()),
        max_value: Some(max.as_ref().to_vec()),
        null_count: Some(0),
        ..Statistics::default()
    }
}

fn older(min: impl AsRef<[u8]>, max: impl AsRef<[u8]>) -> Statistics {
    Statistics {
        deprecated_min: Some(min.as_ref().to_vec()),
        deprecated_max: Some(max.as_ref().to_vec()),
        null_count: Some(0),
        ..Statistics::default()
    }
}

/// The result for the two bounds of the only leaf.
type Outcome = std::result::Result<Value, Option<RejectedBound>>;

fn outcome(bound: &JudgedBound<'_>) -> Outcome {
    match (&bound.value, bound.distrust) {
        (Some(value), None) => Ok(value.clone()),
        (_, distrust) => Err(distrust),
    }
}

fn judge_in(footer: &Footer, options: TrustOptions) -> (Outcome, Outcome) {
    let meta = footer.column_chunk(0, 0).unwrap().meta().unwrap();
    let stored = meta.statistics.as_ref().unwrap();
    let judged = BoundRules::new(footer, 0, options).unwrap().judge(stored, meta.num_values);
    // A bound is trusted exactly when there is no reason for distrust.
    assert_eq!(judged.trusted.min, outcome(&judged.min).ok());
    assert_eq!(judged.trusted.max, outcome(&judged.max).ok());
    assert_eq!(judged.trusted, leaf_statistics(footer, 0, 0, options));
    (outcome(&judged.min), outcome(&judged.max))
}

fn judge(element: SchemaElement, stored: Statistics) -> (Outcome, Outcome) {
    judge_in(&footer(vec![element], vec![Some(stored)]), TrustOptions::default())
}

fn distrusted(distrust: RejectedBound) -> (Outcome, Outcome) {
    (Err(Some(distrust)), Err(Some(distrust)))
}

#[test]
fn bounds_of_every_type_become_values_of_the_leafs_type() {
    let integer = |bit_width, is_signed| LogicalType::Integer { bit_width, is_signed };
    let decimal =
        |physical, precision| logical(physical, LogicalType::Decimal { scale: 2, precision });
    let timestamp = |unit| {
        logical(Int64, LogicalType::Timestamp { is_adjusted_to_utc: true, unit: Some(unit) })
    };
    let i32s = |v: i32| v.to_le_bytes().to_vec();
    let i64s = |v: i64| v.to_le_bytes().to_vec();
    let cases: Vec<(SchemaElement, Vec<u8>, Value)> = vec![
        (leaf(Boolean), vec![1], Value::Boolean(true)),
        (leaf(Int32), i32s(-5), Value::Integer(-5)),
        (leaf(Int64), i64s(-5), Value::BigInt(-5)),
        (leaf(Float), 1.5f32.to_le_bytes().to_vec(), Value::Real(1.5)),
        (leaf(Double), 1.5f64.to_le_bytes().to_vec(), Value::Double(1.5)),
        (leaf(ByteArray), b"ab".to_vec(), Value::bytes("ab")),
        (converted(ByteArray, ConvertedType::Utf8), b"ab".to_vec(), Value::bytes("ab")),
        (fixed(3, leaf(FixedLenByteArray)), b"abc".to_vec(), Value::bytes("abc")),
        (logical(Int32, integer(8, true)), i32s(-128), Value::TinyInt(-128)),
        (logical(Int32, integer(16, true)), i32s(-300), Value::SmallInt(-300)),
        (logical(Int32, integer(8, false)), i32s(255), Value::SmallInt(255)),
        (logical(Int32, integer(16, false)), i32s(65_535), Value::Integer(65_535)),
        (logical(Int32, integer(32, false)), i32s(-1), Value::BigInt(u32::MAX.into())),
        (logical(Int64, integer(64, false)), i64s(-1), Value::HugeInt(u64::MAX.into())),
        (logical(Int32, LogicalType::Date), i32s(-1), Value::Integer(-1)),
        (
            logical(
                Int32,
                LogicalType::Time { is_adjusted_to_utc: true, unit: Some(TimeUnit::Millis) },
            ),
            i32s(7),
            Value::BigInt(7),
        ),
        (decimal(Int32, 9), i32s(-105), Value::BigInt(-105)),
        (decimal(Int32, 20), i32s(-105), Value::HugeInt(-105)),
        (decimal(Int64, 18), i64s(-105), Value::BigInt(-105)),
        (decimal(ByteArray, 18), vec![0xff, 0x38], Value::BigInt(-200)),
        (fixed(3, decimal(FixedLenByteArray, 6)), vec![0xff, 0xff, 0xfe], Value::BigInt(-2)),
        (fixed(16, decimal(FixedLenByteArray, 38)), vec![0xff; 16], Value::HugeInt(-1)),
        (timestamp(TimeUnit::Millis), i64s(-1), Value::Timestamp(Timestamp::new(-1, 999_000_000))),
        (timestamp(TimeUnit::Nanos), i64s(1), Value::Timestamp(Timestamp::new(0, 1))),
        (
            fixed(2, logical(FixedLenByteArray, LogicalType::Float16)),
            vec![0, 0x3e],
            Value::Real(1.5),
        ),
        (
            fixed(16, logical(FixedLenByteArray, LogicalType::Uuid)),
            vec![0xff; 16],
            Value::HugeInt(-1),
        ),
    ];
    for (element, bytes, value) in cases {
        let type_of = footer(vec![element.clone()], vec![None]).schema.leaves()[0].ty.clone();
        assert!(value.fits(&type_of), "{type_of}");
        let want = (Ok(value.clone()), Ok(value));
        assert_eq!(judge(element.clone(), bounds(&bytes, &bytes)), want, "{type_of}");
        // A single value is ordered in any order, also in the deprecated fields.
        assert_eq!(judge(element, older(&bytes, &bytes)), want, "{type_of}");
    }
}

#[test]
fn a_bound_of_another_length_is_dropped_and_the_other_stays() {
    let (min, max) = judge(leaf(Int32), bounds(5i64.to_le_bytes(), 7i32.to_le_bytes()));
    assert_eq!((min, max), (Err(Some(RejectedBound::Malformed)), Ok(Value::Integer(7))));
    let (min, max) = judge(fixed(2, leaf(FixedLenByteArray)), bounds("ab", "c"));
    assert_eq!((min, max), (Ok(Value::bytes("ab")), Err(Some(RejectedBound::Malformed))));
    for bytes in [&[][..], &[2], &[1, 0]] {
        assert_eq!(
            judge(leaf(Boolean), bounds(bytes, bytes)),
            distrusted(RejectedBound::Malformed)
        );
    }
    let decimal = logical(ByteArray, LogicalType::Decimal { scale: 0, precision: 5 });
    assert_eq!(judge(decimal, bounds("", "")), distrusted(RejectedBound::Malformed));
}

#[test]
fn one_bound_alone_is_good() {
    let stored = Statistics { min_value: None, ..bounds("", 7i32.to_le_bytes()) };
    assert_eq!(judge(leaf(Int32), stored), (Err(None), Ok(Value::Integer(7))));
    let stored = Statistics { deprecated_max: None, ..older(7i32.to_le_bytes(), "") };
    assert_eq!(judge(leaf(Int32), stored), (Ok(Value::Integer(7)), Err(None)));
}

#[test]
fn crossed_bounds_are_both_dropped() {
    let stored = bounds(5i32.to_le_bytes(), 4i32.to_le_bytes());
    assert_eq!(judge(leaf(Int32), stored), distrusted(RejectedBound::MinAboveMax));
    assert_eq!(judge(leaf(ByteArray), bounds("b", "a")), distrusted(RejectedBound::MinAboveMax));
    // Unsigned bytes, as ordered by a writer that ignored the sign of decimals.
    let decimal = fixed(1, logical(ByteArray, LogicalType::Decimal { scale: 0, precision: 2 }));
    assert_eq!(judge(decimal, bounds([1], [0xff])), distrusted(RejectedBound::MinAboveMax));
    // An unsigned pair that is crossed in signed order is not crossed.
    let unsigned = converted(Int32, ConvertedType::Uint32);
    let stored = bounds(5i32.to_le_bytes(), (-1i32).to_le_bytes());
    assert!(judge(unsigned, stored).1.is_ok());
}

#[test]
fn nan_is_dropped_and_zeros_are_widened() {
    let float = |v: f64| v.to_le_bytes();
    let nan = Err(Some(RejectedBound::NotANumber));
    assert_eq!(
        judge(leaf(Double), bounds(float(f64::NAN), float(2.0))),
        (nan.clone(), Ok(Value::Double(2.0)))
    );
    assert_eq!(
        judge(leaf(Double), older(float(1.0), float(f64::NAN))),
        (Ok(Value::Double(1.0)), nan)
    );
    let footer = footer(vec![leaf(Double)], vec![Some(bounds(float(0.0), float(-0.0)))]);
    let known = leaf_statistics(&footer, 0, 0, TrustOptions::default());
    let sign = |value: Option<Value>| match value {
        Some(Value::Double(v)) => v.is_sign_negative(),
        other => panic!("{other:?}"),
    };
    assert!(sign(known.min) && !sign(known.max));
    assert_eq!(known.num_nans, None);
    let assumed = TrustOptions { assume_no_nan: true, ..TrustOptions::default() };
    assert_eq!(leaf_statistics(&footer, 0, 0, assumed).num_nans, Some(0));
}

#[test]
fn in_the_total_order_a_nan_says_that_there_are_no_numbers() {
    let stored = Statistics {
        nan_count: Some(NUM_ROWS as i64),
        ..bounds(1.0f64.to_le_bytes(), f64::NAN.to_le_bytes())
    };
    let mut footer = footer(vec![leaf(Double)], vec![Some(stored)]);
    footer.metadata.column_orders = Some(vec![ColumnOrder::Ieee754Total]);
    let options = TrustOptions::default();
    assert_eq!(judge_in(&footer, options), distrusted(RejectedBound::NotANumber));
    let known = leaf_statistics(&footer, 0, 0, options);
    assert!(known.is_all_nan());
}

#[test]
fn older_bounds_are_believed_where_the_order_is_signed_or_does_not_matter() {
    let unsigned = converted(Int32, ConvertedType::Uint32);
    let (one, two) = (1i32.to_le_bytes(), 2i32.to_le_bytes());
    assert_eq!(judge(leaf(Int32), older(one, two)), (Ok(Value::Integer(1)), Ok(Value::Integer(2))));
    assert_eq!(judge(unsigned, older(one, two)), distrusted(RejectedBound::SignedOrder));
    assert_eq!(judge(leaf(ByteArray), older("a", "b")), distrusted(RejectedBound::SignedOrder));
    // The newer pair takes precedence even when it is not trusted.
    let both = Statistics { min_value: Some(vec![1]), max_value: None, ..older(one, two) };
    assert_eq!(judge(leaf(Int32), both), (Err(Some(RejectedBound::Malformed)), Err(None)));
}

#[test]
fn bounds_of_byte_strings_depend_on_the_writer() {
    let by = |created_by: Option<&str>, element: SchemaElement, stored: Statistics| {
        let mut footer = footer(vec![element], vec![Some(stored)]);
        footer.metadata.created_by = created_by.map(String::from);
        judge_in(&footer, TrustOptions::default())
    };
    let broken = Some("parquet-mr version 1.6.0 (build abc)");
    for created_by in [None, Some(""), Some("someone"), broken] {
        assert_eq!(
            by(created_by, leaf(ByteArray), bounds("a", "b")),
            distrusted(RejectedBound::Writer)
        );
        assert_eq!(
            by(created_by, leaf(ByteArray), older("a", "a")),
            distrusted(RejectedBound::Writer)
        );
        let numbers = bounds(1i32.to_le_bytes(), 2i32.to_le_bytes());
        assert!(by(created_by, leaf(Int32), numbers).0.is_ok());
    }
    let decimal =
        || fixed(2, logical(FixedLenByteArray, LogicalType::Decimal { scale: 0, precision: 4 }));
    let cpp = Some("parquet-cpp version 1.5.1-SNAPSHOT");
    assert_eq!(by(cpp, decimal(), bounds([0, 1], [0, 2])), distrusted(RejectedBound::Writer));
    assert!(by(cpp, leaf(ByteArray), bounds("a", "b")).0.is_ok());
    assert!(by(Some(WRITER), decimal(), bounds([0, 1], [0, 2])).0.is_ok());
    let sound = Some("parquet-mr version 1.10.0 (build abc)");
    assert!(by(sound, leaf(ByteArray), older("a", "a")).0.is_ok());
}

#[test]
fn bounds_of_strings_need_an_order_that_the_file_or_its_writer_has() {
    let by = |created_by: &str, has_orders: bool, element: SchemaElement, stored: Statistics| {
        let mut footer = footer(vec![element], vec![Some(stored)]);
        footer.metadata.created_by = Some(created_by.into());
        footer.metadata.column_orders = has_orders.then(|| vec![ColumnOrder::TypeDefined]);
        judge_in(&footer, TrustOptions::default())
    };
    let strings = || {
        let fixed = fixed(1, leaf(FixedLenByteArray));
        [leaf(ByteArray), converted(ByteArray, ConvertedType::Utf8), fixed]
    };
    let sound = (Ok(Value::bytes("a")), Ok(Value::bytes("b")));
    let (known, unknown) = (
        ["parquet-mr version 1.12.3 (build abc)", "DuckDB version v1.3.2"],
        ["a writer version 1.0.0", "parquet-go version latest"],
    );
    for element in strings() {
        for created_by in known {
            for has_orders in [false, true] {
                assert_eq!(by(created_by, has_orders, element.clone(), bounds("a", "b")), sound);
            }
        }
        for created_by in unknown {
            assert_eq!(by(created_by, true, element.clone(), bounds("a", "b")), sound);
            assert_eq!(
                by(created_by, false, element.clone(), bounds("a", "b")),
                distrusted(RejectedBound::NoOrders)
            );
        }
        // Bounds in the order of a culture, and later of UTF-16.
        for created_by in ["Parquet.Net version 3.7.7 (build 98ed5f)", "Parquet.Net version 4.25.0"]
        {
            for has_orders in [false, true] {
                assert_eq!(
                    by(created_by, has_orders, element.clone(), bounds("a", "b")),
                    distrusted(RejectedBound::Writer)
                );
            }
        }
    }
    // Numbers have one order, also where they are stored as bytes.
    let decimal = LogicalType::Decimal { scale: 0, precision: 4 };
    let decimal = fixed(2, logical(FixedLenByteArray, decimal));
    assert!(by(unknown[0], false, decimal, bounds([0, 1], [0, 2])).0.is_ok());
    let numbers = bounds(1i32.to_le_bytes(), 2i32.to_le_bytes());
    assert!(by(unknown[0], false, leaf(Int32), numbers).0.is_ok());
}

/// Some writers truncate bounds without rounding them up.
#[test]
fn an_upper_bound_that_may_be_cut_bounds_all_that_starts_with_it() {
    let max_of = |element: SchemaElement, max: &[u8], is_exact: Option<bool>| {
        let stored = Statistics { is_max_value_exact: is_exact, ..bounds("A", max) };
        let footer = footer(vec![element], vec![Some(stored)]);
        let known = leaf_statistics(&footer, 0, 0, TrustOptions::default());
        assert_eq!(known.min, Some(Value::bytes("A")));
        known.max
    };
    let of = |max: &[u8]| Some(Value::bytes(max));
    for element in [leaf(ByteArray), converted(ByteArray, ConvertedType::Utf8)] {
        let element = || element.clone();
        assert_eq!(max_of(element(), b"Z123456789abcde", None), of(b"Z123456789abcde"));
        assert_eq!(max_of(element(), b"Z123456789abcdef", None), of(b"Z123456789abcdeg"));
        assert_eq!(max_of(element(), &[b'z'; 40], None), of(&[&[b'z'; 39][..], b"{"].concat()));
        assert_eq!(max_of(element(), b"Z123456789abcde\xff", None), of(b"Z123456789abcdf"));
        assert_eq!(max_of(element(), &[0xff; 16], None), None);
        assert_eq!(max_of(element(), b"Z123456789abcdef", Some(false)), of(b"Z123456789abcdeg"));
        // A bound that is declared to be exact is not truncated.
        assert_eq!(max_of(element(), b"Z123456789abcdef", Some(true)), of(b"Z123456789abcdef"));
    }
}

#[test]
fn the_order_of_a_column_is_that_of_its_type_or_there_is_none() {
    let numbers = || bounds(1i32.to_le_bytes(), 2i32.to_le_bytes());
    let ordered = |element: SchemaElement, stored: Statistics, orders: &[ColumnOrder]| {
        let mut footer = footer(vec![element], vec![Some(stored)]);
        footer.metadata.column_orders = Some(orders.to_vec());
        judge_in(&footer, TrustOptions::default())
    };
    assert!(ordered(leaf(Int32), numbers(), &[ColumnOrder::TypeDefined]).0.is_ok());
    for order in [ColumnOrder::Unknown, ColumnOrder::Ieee754Total, ColumnOrder::Int96Timestamp] {
        assert_eq!(
            ordered(leaf(Int32), numbers(), &[order]),
            distrusted(RejectedBound::OrderOfAnotherType)
        );
    }
    for orders in [&[][..], &[ColumnOrder::TypeDefined; 2]] {
        assert_eq!(
            ordered(leaf(Int32), numbers(), orders),
            distrusted(RejectedBound::NumberOfOrders)
        );
        // The deprecated pair has an order of its own.
        let older = older(1i32.to_le_bytes(), 2i32.to_le_bytes());
        assert!(ordered(leaf(Int32), older, orders).0.is_ok());
    }
    let strict = TrustOptions { strict_column_orders: true, ..TrustOptions::default() };
    let footer = footer(vec![leaf(Int32)], vec![Some(numbers())]);
    assert_eq!(judge_in(&footer, strict), distrusted(RejectedBound::NoOrders));
}

#[test]
fn int96_is_ordered_only_where_the_file_says_so() {
    let day = |day: i32, nanos: i64| [&nanos.to_le_bytes()[..], &day.to_le_bytes()].concat();
    let stored = bounds(day(2_440_588, 5), day(2_440_589, 0));
    assert_eq!(judge(leaf(Int96), stored.clone()), distrusted(RejectedBound::Unordered));
    let ordered = |stored| {
        let mut footer = footer(vec![leaf(Int96)], vec![Some(stored)]);
        footer.metadata.column_orders = Some(vec![ColumnOrder::Int96Timestamp]);
        judge_in(&footer, TrustOptions::default())
    };
    let want = [Timestamp::new(0, 5), Timestamp::new(86_400, 0)].map(Value::Timestamp);
    assert_eq!(ordered(stored), (Ok(want[0].clone()), Ok(want[1].clone())));
    let outside = bounds(day(2_440_588, -5), day(2_440_588, 86_400_000_000_000));
    assert_eq!(ordered(outside), distrusted(RejectedBound::Malformed));
}

#[test]
fn types_without_an_order_have_no_bounds() {
    let elements = [
        logical(ByteArray, LogicalType::Geometry { crs: None }),
        logical(ByteArray, LogicalType::Geography { crs: None, algorithm: None }),
        logical(ByteArray, LogicalType::File),
        logical(ByteArray, LogicalType::Unrecognized(77)),
        logical(ByteArray, LogicalType::Variant { specification_version: None }),
        logical(ByteArray, LogicalType::Null),
        logical(ByteArray, LogicalType::Decimal { scale: 2, precision: 60 }),
        fixed(12, converted(FixedLenByteArray, ConvertedType::Interval)),
    ];
    for element in elements {
        let stored = bounds([b'a'; 12], [b'b'; 12]);
        let text = format!("{:?}", element.logical);
        assert_eq!(judge(element, stored), distrusted(RejectedBound::Unordered), "{text}");
    }
    let unreadable = fixed(3, logical(FixedLenByteArray, LogicalType::Uuid));
    assert_eq!(judge(unreadable, bounds("abc", "abc")), distrusted(RejectedBound::Unreadable));
}

#[test]
fn integers_that_readers_cut_need_two_bounds_that_fit() {
    let byte = |signed| logical(Int32, LogicalType::Integer { bit_width: 8, is_signed: signed });
    let stored = |min: i32, max: i32| bounds(min.to_le_bytes(), max.to_le_bytes());
    assert!(judge(byte(true), stored(-128, 127)).0.is_ok());
    assert_eq!(
        judge(byte(true), stored(5, 128)),
        (Err(Some(RejectedBound::OtherBoundMissing)), Err(Some(RejectedBound::Malformed)))
    );
    assert_eq!(
        judge(byte(false), stored(-1, 200)),
        (Err(Some(RejectedBound::Malformed)), Err(Some(RejectedBound::OtherBoundMissing)))
    );
    let one = Statistics { max_value: None, ..stored(5, 0) };
    assert_eq!(judge(byte(true), one), (Err(Some(RejectedBound::OtherBoundMissing)), Err(None)));
}

#[test]
fn byte_arrays_with_their_length_in_front_are_no_bounds() {
    assert_eq!(
        judge(leaf(ByteArray), bounds(b"\x02\0\0\0ab", b"c")),
        distrusted(RejectedBound::LengthInFront)
    );
    assert!(judge(leaf(ByteArray), bounds(b"\x03\0\0\0ab", b"c")).0.is_ok());
    assert!(judge(fixed(6, leaf(ByteArray)), bounds(b"\x02\0\0\0ab", b"\x02\0\0\0bb")).0.is_ok());
}

#[test]
fn uuids_have_bounds_on_one_side_of_the_sign() {
    let uuid = || fixed(16, logical(FixedLenByteArray, LogicalType::Uuid));
    let (low, high) = ([0x10; 16], [0x70; 16]);
    assert!(judge(uuid(), bounds(low, high)).0.is_ok());
    assert!(judge(uuid(), bounds([0x90; 16], [0xf0; 16])).0.is_ok());
    assert_eq!(judge(uuid(), bounds(low, [0xf0; 16])), distrusted(RejectedBound::StraddlesSignBit));
    let one = Statistics { max_value: None, ..bounds(low, high) };
    assert_eq!(judge(uuid(), one), (Err(Some(RejectedBound::StraddlesSignBit)), Err(None)));
}

#[test]
fn nonsense_null_counts_take_everything_with_them() {
    for null_count in [-1, NUM_ROWS as i64 + 1, i64::MIN] {
        let stored = Statistics {
            null_count: Some(null_count),
            ..bounds(1i32.to_le_bytes(), 2i32.to_le_bytes())
        };
        let footer_of = |element| footer(vec![element], vec![Some(stored.clone())]);
        let optional = footer_of(leaf(Int32));
        let options = TrustOptions::default();
        assert_eq!(judge_in(&optional, options), distrusted(RejectedBound::NullCount));
        let known = leaf_statistics(&optional, 0, 0, options);
        assert_eq!((known.num_values, known.num_nulls), (Some(NUM_ROWS), None));
        // A required column has no nulls, whatever the counts state.
        let required = SchemaElement { repetition: Some(Repetition::Required), ..leaf(Int32) };
        let known = leaf_statistics(&footer_of(required), 0, 0, options);
        assert_eq!((known.min, known.num_nulls), (Some(Value::Integer(1)), Some(0)));
    }
    let many_nans = Statistics {
        nan_count: Some(NUM_ROWS as i64 + 1),
        ..bounds(1f64.to_le_bytes(), 2f64.to_le_bytes())
    };
    let footer = footer(vec![leaf(Double)], vec![Some(many_nans)]);
    let known = leaf_statistics(&footer, 0, 0, TrustOptions::default());
    assert_eq!((known.num_nans, known.min), (None, Some(Value::Double(1.0))));
}

#[test]
fn bounds_of_elements_stand_without_counts_of_rows() {
    let repeated = SchemaElement { repetition: Some(Repetition::Repeated), ..leaf(Int32) };
    let stored = bounds(1i32.to_le_bytes(), 2i32.to_le_bytes());
    let footer = footer(vec![repeated], vec![Some(stored)]);
    let known = leaf_statistics(&footer, 0, 0, TrustOptions::default());
    assert_eq!((known.min, known.max), (Some(Value::Integer(1)), Some(Value::Integer(2))));
    assert_eq!((known.num_values, known.num_nulls), (None, None));
}

#[test]
fn bounds_are_exact_unless_they_are_byte_strings_or_the_file_says_not() {
    let exact = |element: SchemaElement, stored: Statistics| {
        let footer = footer(vec![element], vec![Some(stored)]);
        let known = leaf_statistics(&footer, 0, 0, TrustOptions::default());
        (known.is_min_exact, known.is_max_exact)
    };
    let numbers = bounds(1i32.to_le_bytes(), 2i32.to_le_bytes());
    assert_eq!(exact(leaf(Int32), numbers.clone()), (true, true));
    let not = Statistics { is_max_value_exact: Some(false), ..numbers };
    assert_eq!(exact(leaf(Int32), not), (true, false));
    assert_eq!(exact(leaf(ByteArray), bounds("a", "b")), (false, false));
    let stated = Statistics { is_min_value_exact: Some(true), ..bounds("a", "b") };
    assert_eq!(exact(leaf(ByteArray), stated), (true, false));
}

#[test]
fn null_rows_of_structs_and_lists_are_counted_by_levels() {
    let group = |name: &str, repetition, num_children, converted| SchemaElement {
        name: name.into(),
        physical: None,
        repetition: Some(repetition),
        num_children: Some(num_children),
        converted,
        ..leaf(Int32)
    };
    use Repetition::{Optional, Repeated, Required};
    let schema = vec![
        group("root", Required, 2, None),
        group("s", Optional, 1, None),
        leaf(Int32),
        group("l", Optional, 1, Some(ConvertedType::List)),
        group("list", Repeated, 1, None),
        leaf(Int32),
    ];
    let mut footer = footer_of(schema, vec![None, None]);
    let mut count = |leaf: usize, histogram: Vec<i64>, num_values: u64| {
        let change = |chunk: &mut ColumnChunk| {
            let meta = chunk.meta_data.as_mut().unwrap();
            meta.num_values = num_values;
            meta.size_statistics = Some(Box::new(SizeStatistics {
                definition_level_histogram: histogram,
                ..SizeStatistics::default()
            }));
        };
        footer.metadata.row_groups[0].columns.change(leaf, change).unwrap();
    };
    count(0, vec![7, 13, 80], NUM_ROWS);
    // 9 null lists, 11 empty ones, and 80 rows of two elements.
    count(1, vec![9, 11, 60, 100], 180);
    let options = TrustOptions::default();
    let known = |footer: &Footer, column: usize| {
        let column = &footer.schema.columns()[column];
        let known = nested_statistics(footer, 0, column, options);
        (known.num_values, known.num_nulls)
    };
    assert_eq!(known(&footer, 0), (Some(NUM_ROWS), Some(7)));
    assert_eq!(known(&footer, 1), (Some(NUM_ROWS), Some(9)));
    let mut broken = |histogram: Vec<i64>| {
        let change = |chunk: &mut ColumnChunk| {
            let meta = chunk.meta_data.as_mut().unwrap();
            meta.size_statistics.as_mut().unwrap().definition_level_histogram = histogram;
        };
        footer.metadata.row_groups[0].columns.change(0, change).unwrap();
        known(&footer, 0).1
    };
    assert_eq!(broken(vec![]), None);
    assert_eq!(broken(vec![7, 93]), None);
    assert_eq!(broken(vec![7, 13, 81]), None);
    assert_eq!(broken(vec![7, -13, 106]), None);
    assert_eq!(broken(vec![i64::MAX, i64::MAX, i64::MAX]), None);
}

#[test]
fn statistics_that_their_values_contradict_are_found() {
    let stored = || ColumnStatistics {
        num_values: Some(3),
        num_nulls: Some(1),
        min: Some(Value::BigInt(1)),
        max: Some(Value::BigInt(5)),
        is_min_exact: true,
        ..ColumnStatistics::default()
    };
    let check = |statistics: ColumnStatistics, values: &[Option<i64>]| {
        let mut check = StatisticsCheck::new(&statistics, &Type::BigInt);
        check.observe(&vector::testing::bigints(values))?;
        check.finish()
    };
    check(stored(), &[Some(1), None, Some(3)]).unwrap();
    assert_eq!(
        check(stored(), &[Some(1), None, Some(6)]).unwrap_err().to_string(),
        "corrupt: a value lies outside of the bounds that are stated for it \
         (value=6 min=1 max=5)"
    );
    assert_eq!(
        check(stored(), &[Some(1), Some(2), Some(3)]).unwrap_err().to_string(),
        "corrupt: a count of the statistics is not that of the values \
         (count=nulls stated=1 found=0)"
    );
    assert_eq!(
        check(stored(), &[Some(2), None, Some(3)]).unwrap_err().to_string(),
        "corrupt: an exact bound of the statistics is no value (bound=min value=1)"
    );
    let strings = ColumnStatistics {
        min: Some(Value::bytes("b")),
        max: Some(Value::bytes("c")),
        ..ColumnStatistics::default()
    };
    let mut check = StatisticsCheck::new(&strings, &Type::Varchar);
    check.observe(&vector::testing::varchars(&[Some("b"), Some("bz"), None])).unwrap();
    assert!(check.observe(&vector::testing::varchars(&[Some("ca")])).is_err());
}
