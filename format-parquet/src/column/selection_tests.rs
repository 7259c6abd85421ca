//! Columns of random chunks: selecting, filtering and skipping while reading have the same result
//! as reading everything and selecting afterwards, for every storage and encoding.

use vector::Value;
use vector::testing::{Random, values_of};

use super::tests::{leaf, reader, schema};
use super::*;
use crate::encoding::bit_pack;
use crate::encoding::delta_binary_packed::tests::encode;
use crate::page::testing::{ChunkWriter, PLAIN, RLE, RLE_DICTIONARY, byte_arrays};
use crate::thrift::structs::{Codec, ConvertedType, PhysicalType, Repetition, SchemaElement};
use dwio::filter::{Bound, LikePattern};

const DELTA: u8 = 5;
const DELTA_LENGTH: u8 = 6;
const DELTA_PREFIX: u8 = 7;
const SPLIT: u8 = 9;

/// A storage with the encodings that it supports besides dictionaries.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Int32,
    Int64,
    Double,
    Decimal,
    Text,
    Boolean,
}

impl Stored {
    fn element(self, repetition: Repetition) -> SchemaElement {
        let of = |physical| leaf("a", physical, repetition);
        match self {
            Stored::Int32 => of(PhysicalType::Int32),
            Stored::Int64 => of(PhysicalType::Int64),
            Stored::Double => of(PhysicalType::Double),
            Stored::Decimal => SchemaElement {
                converted: Some(ConvertedType::Decimal),
                type_length: Some(3),
                precision: Some(6),
                scale: Some(2),
                ..of(PhysicalType::FixedLenByteArray)
            },
            Stored::Text => SchemaElement {
                converted: Some(ConvertedType::Utf8),
                ..of(PhysicalType::ByteArray)
            },
            Stored::Boolean => of(PhysicalType::Boolean),
        }
    }

    fn encodings(self) -> &'static [u8] {
        match self {
            Stored::Int32 | Stored::Int64 => &[PLAIN, DELTA, SPLIT],
            Stored::Double | Stored::Decimal => &[PLAIN, SPLIT],
            Stored::Text => &[PLAIN, DELTA_LENGTH, DELTA_PREFIX],
            Stored::Boolean => &[PLAIN, RLE],
        }
    }

    /// Returns value number `key` of a small set of distinct values.
    fn value(self, key: usize) -> Value {
        let number = key as i64 * 37 % 101 - 50;
        match self {
            Stored::Int32 => Value::Integer(number as i32),
            Stored::Int64 => Value::BigInt(number << 33),
            Stored::Double => Value::Double(number as f64 / 4.0),
            Stored::Decimal => Value::BigInt(number * 100),
            Stored::Text if key.is_multiple_of(3) => Value::bytes(
                format!("{number} in a string of more bytes than a view has").as_bytes(),
            ),
            Stored::Text => Value::bytes(number.to_string().as_bytes()),
            Stored::Boolean => Value::Boolean(key.is_multiple_of(2)),
        }
    }

    fn filters(self) -> Vec<Filter> {
        let text = |text: &[u8]| Arc::from(text);
        let pattern = |text: &[u8]| LikePattern::parse(text, None).unwrap();
        let mut filters = vec![Filter::IsNull, Filter::IsNotNull];
        match self {
            Stored::Int32 | Stored::Decimal | Stored::Int64 => {
                let (few, many) = match self {
                    Stored::Int32 => (vec![-50, -13, 24], 1),
                    Stored::Int64 => (vec![-50 << 33, -13 << 33, 24 << 33], 1 << 33),
                    _ => (vec![-5000, -1300, 2400], 100),
                };
                filters.extend([
                    Filter::bigint_values(few, false),
                    Filter::bigint_range(-10 * many, 20 * many, true),
                    Filter::bigint_range(-13 * many, -13 * many, false),
                    Filter::negated_bigint_range(-20 * many, 20 * many, false),
                    Filter::bigint_range(1000 * many, 1001 * many, false),
                    Filter::bigint_range(-100 * many, 100 * many, false),
                ]);
            }
            Stored::Double => {
                let range = |low, high| {
                    Filter::double_range(Bound::Inclusive(low), Bound::Inclusive(high), false)
                };
                filters.extend([range(-3.0, 5.0).unwrap(), range(900.0, 901.0).unwrap()]);
            }
            Stored::Text => filters.extend([
                Filter::bytes_values(vec![text(b"-13"), text(b"24")], true),
                Filter::bytes_range(Bound::Inclusive(text(b"-4")), Bound::Unbounded, false),
                Filter::negated_bytes_values(vec![text(b"24")], false),
                Filter::bytes_values(vec![text(b"nowhere")], false),
                Filter::like(pattern(b"%3 in%bytes%"), false),
                Filter::like(pattern(b"%1%"), true),
                Filter::not_like(pattern(b"%in a%view%"), false),
                Filter::like(pattern(b"-1_ in%"), false),
                Filter::like(pattern(b"%nowhere%"), false),
            ]),
            Stored::Boolean => {
                filters.extend([Filter::boolean(true, false), Filter::boolean(false, true)]);
            }
        }
        filters
    }
}

fn plain_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Integer(v) => v.to_le_bytes().to_vec(),
        Value::BigInt(v) => v.to_le_bytes().to_vec(),
        Value::Double(v) => v.to_le_bytes().to_vec(),
        Value::Bytes(v) => v.to_vec(),
        other => panic!("not stored so: {other:?}"),
    }
}

fn encoded(stored: Stored, encoding: u8, values: &[Value]) -> Vec<u8> {
    let items: Vec<Vec<u8>> = match stored {
        Stored::Boolean => Vec::new(),
        Stored::Decimal => {
            let big_endian = |value: &Value| match value {
                Value::BigInt(v) => v.to_be_bytes()[5..].to_vec(),
                other => panic!("not a decimal: {other:?}"),
            };
            values.iter().map(big_endian).collect()
        }
        _ => values.iter().map(plain_bytes).collect(),
    };
    let slices: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
    let lengths = |of: &[&[u8]]| -> Vec<u8> {
        let lengths: Vec<i64> = of.iter().map(|item| item.len() as i64).collect();
        encode(&lengths, 32, (128, 4))
    };
    match (stored, encoding) {
        (Stored::Boolean, _) => {
            let bits: Vec<u32> =
                values.iter().map(|v| u32::from(*v == Value::Boolean(true))).collect();
            match encoding {
                PLAIN => bit_pack::pack(&bits, 1),
                _ => {
                    let runs = hybrid(&bits, 1, &mut Random::new(bits.len() as u64));
                    [&(runs.len() as u32).to_le_bytes()[..], &runs].concat()
                }
            }
        }
        (Stored::Text, PLAIN) => byte_arrays(&slices),
        (Stored::Text, DELTA_LENGTH) => [lengths(&slices), slices.concat()].concat(),
        (Stored::Text, _) => {
            // A value shares its first byte with its predecessor whenever they are equal in it.
            let mut prefixes = vec![0i64];
            prefixes.extend(
                slices
                    .windows(2)
                    .map(|w| i64::from(!w[0].is_empty() && w[0].first() == w[1].first())),
            );
            prefixes.truncate(slices.len());
            let suffixes: Vec<&[u8]> =
                slices.iter().zip(&prefixes).map(|(s, p)| &s[*p as usize..]).collect();
            [encode(&prefixes, 32, (128, 4)), lengths(&suffixes), suffixes.concat()].concat()
        }
        (_, PLAIN) => slices.concat(),
        (_, SPLIT) => {
            let width = slices.first().map_or(0, |item| item.len());
            (0..width).flat_map(|byte| slices.iter().map(move |item| item[byte])).collect()
        }
        _ => {
            let bits = if matches!(stored, Stored::Int32) { 32 } else { 64 };
            let number = |value: &Value| match value {
                Value::Integer(v) => i64::from(*v),
                Value::BigInt(v) => *v,
                other => panic!("not an integer: {other:?}"),
            };
            encode(&values.iter().map(number).collect::<Vec<_>>(), bits, (128, 4))
        }
    }
}

/// Encodes runs of both kinds.
fn hybrid(values: &[u32], width: u8, random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = values;
    while !rest.is_empty() {
        let same = rest.iter().take_while(|v| **v == rest[0]).count();
        let groups = random.below(rest.len().div_ceil(8).min(40)) + 1;
        if same > 2 {
            uleb(&mut bytes, (same as u32) << 1);
            bytes.extend(&rest[0].to_le_bytes()[..usize::from(width.div_ceil(8))]);
            rest = &rest[same..];
        } else {
            let n = rest.len().min(groups * 8);
            // Only the last group may be padded.
            let n = if n < rest.len() { n / 8 * 8 } else { n };
            let mut run = rest[..n].to_vec();
            run.resize(n.div_ceil(8) * 8, 0);
            uleb(&mut bytes, (run.len() as u32 / 8) << 1 | 1);
            bytes.extend(bit_pack::pack(&run, width));
            rest = &rest[n..];
        }
    }
    bytes
}

fn uleb(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns a chunk of a few pages and its rows.
fn random_chunk(
    stored: Stored,
    is_nullable: bool,
    random: &mut Random,
) -> (ChunkWriter, Vec<Value>) {
    let codec = *random.pick(&[Codec::Uncompressed, Codec::Snappy]);
    let mut chunk = ChunkWriter::new(codec, is_nullable.into(), 0);
    let num_entries = 1 + random.below(40);
    let has_dictionary = !matches!(stored, Stored::Boolean) && random.chance(0.6);
    let entry = |key: usize| stored.value(key * 3);
    if has_dictionary {
        let entries: Vec<Value> = (0..num_entries).map(entry).collect();
        chunk.dictionary(num_entries, &encoded(stored, PLAIN, &entries));
    }
    let mut rows = Vec::new();
    for _ in 0..1 + random.below(5) {
        let n = 1 + random.below(700);
        let nulls = if is_nullable { *random.pick(&[0.0, 0.3, 0.95, 1.0]) } else { 0.0 };
        let present: Vec<bool> = (0..n).map(|_| !random.chance(nulls)).collect();
        let num_values = present.iter().filter(|p| **p).count();
        let is_clustered = random.chance(0.4);
        let mut key = 0;
        let keys: Vec<usize> = (0..num_values)
            .map(|_| {
                if !is_clustered || random.chance(0.05) {
                    key = random.below(num_entries);
                }
                key
            })
            .collect();
        let values: Vec<Value> = keys.iter().map(|key| entry(*key)).collect();
        let (encoding, bytes) = if has_dictionary && random.chance(0.7) {
            let width = (usize::BITS - (num_entries - 1).leading_zeros()) as u8;
            let keys: Vec<u32> = keys.iter().map(|key| *key as u32).collect();
            (RLE_DICTIONARY, [vec![width], hybrid(&keys, width, random)].concat())
        } else {
            let encoding = *random.pick(stored.encodings());
            (encoding, encoded(stored, encoding, &values))
        };
        let def = |present: &bool| (0, u8::from(*present && is_nullable));
        let levels: Vec<(u8, u8)> = present.iter().map(def).collect();
        match random.chance(0.5) {
            true => chunk.v1(&levels, encoding, &bytes),
            false => chunk.v2(&levels, encoding, &bytes),
        };
        let mut values = values.into_iter();
        rows.extend(present.iter().map(|p| match p {
            true => values.next().unwrap(),
            false => Value::Null,
        }));
    }
    (chunk, rows)
}

fn random_selection(n: usize, random: &mut Random) -> SelectivityVector {
    let chance = *random.pick(&[0.0, 0.005, 0.05, 0.5, 0.97, 1.0]);
    let mut rows = SelectivityVector::none(n);
    let from = if random.chance(0.3) { random.below(n) } else { 0 };
    (from..n).for_each(|row| rows.set(row, random.chance(chance)));
    rows
}

fn picked(rows: &[Value], selection: &SelectivityVector) -> Vec<Value> {
    selection.iter().map(|row| rows[row].clone()).collect()
}

fn one_column(stored: Stored, is_nullable: bool, seed: u64) {
    let mut random = Random::new(seed);
    let repetition = if is_nullable { Repetition::Optional } else { Repetition::Required };
    let schema = schema(&[stored.element(repetition)]);
    let ty = schema.columns()[0].ty.clone();
    let (chunk, rows) = random_chunk(stored, is_nullable, &mut random);
    let filters: Vec<Arc<Filter>> = stored.filters().into_iter().map(Arc::new).collect();
    let mut column = reader(&schema, &[&chunk]);
    assert!(column.filters_in_place());
    if random.chance(0.3) {
        // The test of the dictionary does not change the rows that are read.
        column.dictionary_may_match(random.pick(&filters)).unwrap();
    }
    let mut kept = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let n = (1 + random.below(500)).min(rows.len() - at);
        let part = &rows[at..at + n];
        at += n;
        let mut selection = random_selection(n, &mut random);
        let filter = random.pick(&filters);
        let mut passing = selection.clone();
        for row in selection.iter().filter(|i| !filter.test_value(&part[*i], &ty).unwrap()) {
            passing.set(row, false);
        }
        let name = format!("{stored:?} {is_nullable} {seed} {at} {filter}");
        match random.below(5) {
            0 => column.skip(n),
            1 => kept.push((column.read(n).unwrap(), part.to_vec())),
            2 => {
                kept.push((column.read_selected(&selection).unwrap(), picked(part, &selection)));
            }
            3 => {
                column.filter(filter, &mut selection).unwrap();
                assert_eq!(selection.words(), passing.words(), "{name}");
            }
            _ => {
                let vector = column.filter_and_read(filter, &mut selection).unwrap();
                assert_eq!(selection.words(), passing.words(), "{name}");
                kept.push((vector, picked(part, &passing)));
            }
        }
        if let Some((vector, expected)) = kept.last() {
            assert_eq!(values_of(vector), *expected, "{name}");
        }
    }
    // Vectors that are still referenced do not change while the reader continues.
    for (vector, expected) in kept {
        assert_eq!(values_of(&vector), expected);
    }
}

#[test]
fn selecting_and_filtering_while_reading_leave_what_picking_afterwards_leaves() {
    for seed in 0..60 {
        for stored in [
            Stored::Int32,
            Stored::Int64,
            Stored::Double,
            Stored::Decimal,
            Stored::Text,
            Stored::Boolean,
        ] {
            one_column(stored, seed % 3 != 0, seed);
        }
    }
}

/// Returns a required INT32 column of pages with 100 rows each; the values are the row numbers.
fn counted(encoding: u8) -> (Schema, ChunkWriter) {
    let schema = schema(&[leaf("a", PhysicalType::Int32, Repetition::Required)]);
    let mut chunk = ChunkWriter::new(Codec::Snappy, 0, 0);
    if encoding == RLE_DICTIONARY {
        let entries: Vec<Value> = (0..100).map(Value::Integer).collect();
        chunk.dictionary(100, &encoded(Stored::Int32, PLAIN, &entries));
    }
    for page in 0..10 {
        let bytes = if encoding == RLE_DICTIONARY {
            let keys: Vec<u32> = (0..100).collect();
            [vec![7], hybrid(&keys, 7, &mut Random::new(page))].concat()
        } else {
            let values: Vec<Value> =
                (0..100).map(|row| Value::Integer(page as i32 * 100 + row)).collect();
            encoded(Stored::Int32, encoding, &values)
        };
        chunk.v1(&[(0, 0); 100], encoding, &bytes);
    }
    (schema, chunk)
}

#[test]
fn only_selected_values_are_decoded_and_only_their_pages_decompressed() {
    for encoding in [PLAIN, RLE_DICTIONARY] {
        let (schema, chunk) = counted(encoding);
        let mut column = reader(&schema, &[&chunk]);
        let mut rows = SelectivityVector::none(1000);
        [150, 151, 170, 799].into_iter().for_each(|row| rows.set(row, true));
        column.read_selected(&rows).unwrap();
        let counts = column.counts();
        assert_eq!(counts.values_decoded, 4);
        assert_eq!((counts.pages_read, counts.pages_skipped), (2, 6));

        let mut column = reader(&schema, &[&chunk]);
        let filter = Arc::new(Filter::bigint_range(20, 30, false));
        column.filter(&filter, &mut rows).unwrap();
        assert_eq!(column.counts().values_decoded, 0);
        let mut rows = SelectivityVector::all(1000);
        let mut column = reader(&schema, &[&chunk]);
        let vector = column.filter_and_read(&filter, &mut rows).unwrap();
        assert_eq!(column.counts().values_decoded, vector.len() as u64);
    }
    let (schema, chunk) = counted(DELTA);
    let mut column = reader(&schema, &[&chunk]);
    let mut rows = SelectivityVector::none(1000);
    rows.set(250, true);
    column.read_selected(&rows).unwrap();
    assert_eq!(column.counts().pages_read, 1);
}

#[test]
fn a_dictionary_without_a_passing_entry_drops_the_row_group_and_is_read_once() {
    let (schema, chunk) = counted(RLE_DICTIONARY);
    for (lower, may_match) in [(99, true), (100, false)] {
        let mut column = reader(&schema, &[&chunk]);
        let filter = Arc::new(Filter::bigint_range(lower, 1000, false));
        assert_eq!(column.dictionary_may_match(&filter).unwrap(), may_match);
        assert_eq!(column.counts().pages_read, 0);
        let mut rows = SelectivityVector::all(1000);
        let vector = column.filter_and_read(&filter, &mut rows).unwrap();
        assert_eq!(vector.len(), if may_match { 10 } else { 0 });
    }
    // A chunk without a dictionary excludes nothing, and null may pass without being in a
    // dictionary.
    let (schema, chunk) = counted(PLAIN);
    let nothing = Arc::new(Filter::bigint_range(5000, 6000, false));
    assert!(reader(&schema, &[&chunk]).dictionary_may_match(&nothing).unwrap());
    let schema = self::schema(&[leaf("a", PhysicalType::Int32, Repetition::Optional)]);
    let mut chunk = ChunkWriter::new(Codec::Uncompressed, 1, 0);
    chunk.dictionary(1, &1i32.to_le_bytes()).v1(&[(0, 0)], RLE_DICTIONARY, &[]);
    let or_null = Arc::new(Filter::bigint_range(5000, 6000, true));
    assert!(reader(&schema, &[&chunk]).dictionary_may_match(&or_null).unwrap());
    assert!(!reader(&schema, &[&chunk]).dictionary_may_match(&nothing).unwrap());
}
