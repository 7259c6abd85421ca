//! Filters built according to the format's definition, probed by filters of all kinds.

use dwio::fs::{FileSystem, MemoryFiles, ObservedFiles};
use vector::{MemoryPool, TimeUnit};

use super::*;
use crate::chunk_source::FileSource;
use crate::footer::Footer;
use crate::statistics::tests::{NUM_ROWS, bounds, converted, fixed, footer, leaf, logical};
use crate::thrift::structs::{ConvertedType, LogicalType, SchemaElement};
use PhysicalType::{ByteArray, Double, FixedLenByteArray, Float, Int32, Int64, Int96};

/// Offset of the filter in the test files.
const FILTER_OFFSET: u64 = 1000;

/// Returns a filter that contains the values, as the format defines it.
fn filter_bytes(num_blocks: u64, stored: &[Vec<u8>]) -> Vec<u8> {
    let mut words = vec![0u32; num_blocks as usize * 8];
    for value in stored {
        let hash = hash(value);
        let block = ((u128::from(hash >> 32) * u128::from(num_blocks)) >> 32) as usize;
        for (word, salt) in words[block * 8..][..8].iter_mut().zip(SALT) {
            *word |= 1 << ((hash as u32).wrapping_mul(salt) >> 27);
        }
    }
    let bits: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let kind = [0x1c, 0x1c, 0x00, 0x00];
    let mut size = Vec::new();
    let mut left = bits.len() << 1;
    while left >= 0x80 {
        size.push(left as u8 | 0x80);
        left >>= 7;
    }
    size.push(left as u8);
    [&[0x15], &size[..], &kind, &kind, &kind, &[0x00], &bits].concat()
}

struct Sample {
    footer: Footer,
    input: BufferedInput,
    reads: ObservedFiles,
}

impl Sample {
    /// Creates a file of one column that has a filter with these bytes.
    fn new(element: SchemaElement, filter: &[u8]) -> Self {
        let mut content = vec![0; FILTER_OFFSET as usize];
        content.extend(filter);
        let files = MemoryFiles::new();
        let mut stored = bounds("", "");
        (stored.min_value, stored.max_value) = (None, None);
        let mut footer = footer(vec![element], vec![Some(stored)]);
        footer.footer_offset = content.len() as u64;
        content.extend([0; 100]);
        files.put("f", content);
        let reads = ObservedFiles::new(Arc::new(files));
        let input = BufferedInput::new(reads.open("f").unwrap(), MemoryPool::unlimited());
        let mut sample = Sample { footer, input, reads };
        sample.region(FILTER_OFFSET, filter.len() as u32);
        sample
    }

    fn region(&mut self, offset: u64, bytes: u32) {
        let columns = &mut self.footer.metadata.row_groups[0].columns;
        let change = |chunk: &mut crate::thrift::structs::ColumnChunk| {
            chunk.meta_data.as_mut().unwrap().bloom_filter = Some(IndexRegion { offset, bytes });
        };
        columns.change(0, change).unwrap();
    }

    fn excludes(&self, filter: &Filter) -> bool {
        self.excludes_of_nulls(filter, Some(0))
    }

    fn excludes_of_nulls(&self, filter: &Filter, num_nulls: Option<u64>) -> bool {
        let ty = &self.footer.schema.leaves()[0].ty;
        let known = ColumnStatistics {
            num_values: Some(NUM_ROWS),
            num_nulls,
            ..ColumnStatistics::default()
        };
        let source = FileSource::plain(&self.input).chunk(&self.footer, 0, 0);
        excludes(source, &LeafFilter { leaf: 0, filter, ty }, &known).unwrap()
    }

    fn open(&self) -> FoundBloom {
        BloomFilter::open(FileSource::plain(&self.input).chunk(&self.footer, 0, 0)).unwrap()
    }
}

fn one(value: i64) -> Filter {
    Filter::bigint_range(value, value, false)
}

fn wide(value: i128) -> Filter {
    Filter::hugeint_range(value, value, false)
}

fn text(value: &[u8]) -> Filter {
    let end = Bound::Inclusive(Arc::from(value));
    Filter::bytes_range(end.clone(), end, false)
}

fn double(value: f64) -> Filter {
    Filter::double_range(Bound::Inclusive(value), Bound::Inclusive(value), false).unwrap()
}

fn float(value: f32) -> Filter {
    Filter::float_range(Bound::Inclusive(value), Bound::Inclusive(value), false).unwrap()
}

fn time(seconds: i64, nanos: u64) -> Filter {
    let value = Timestamp::new(seconds, nanos);
    Filter::timestamp_range(value, value, false)
}

#[test]
fn the_hash_is_the_one_of_the_format() {
    assert_eq!(hash(b""), 0xef46_db37_51d8_e999);
    assert_eq!(hash(b"a"), 0xd24e_c4f1_a98c_6e5b);
    assert_eq!(hash(b"abc"), 0x44bc_2cf5_ad77_0999);
}

#[test]
fn values_are_found_as_the_file_stores_them_and_others_are_not() {
    let decimal = |physical| logical(physical, LogicalType::Decimal { scale: 2, precision: 9 });
    let timestamp = |unit| {
        logical(Int64, LogicalType::Timestamp { is_adjusted_to_utc: true, unit: Some(unit) })
    };
    let i32s = |v: i32| v.to_le_bytes().to_vec();
    let i64s = |v: i64| v.to_le_bytes().to_vec();
    type Case = (SchemaElement, Vec<u8>, Filter, Filter);
    let cases: Vec<Case> = vec![
        (leaf(Int32), i32s(-7), one(-7), one(8)),
        // A value that the physical type cannot represent is not in the file.
        (leaf(Int32), i32s(-7), one(-7), one(1 << 40)),
        (leaf(Int64), i64s(-7), one(-7), one(8)),
        (converted(Int32, ConvertedType::Uint32), i32s(-1), one(u32::MAX.into()), one(-1)),
        (converted(Int64, ConvertedType::Uint64), i64s(-1), wide(u64::MAX.into()), wide(-1)),
        (logical(Int32, LogicalType::Date), i32s(20), one(20), one(21)),
        (decimal(Int32), i32s(-105), one(-105), one(105)),
        (decimal(Int64), i64s(-105), one(-105), one(105)),
        (fixed(4, decimal(FixedLenByteArray)), vec![0xff, 0xff, 0xff, 0x97], one(-105), one(151)),
        (fixed(1, decimal(FixedLenByteArray)), vec![0x97], one(-105), one(151)),
        (fixed(20, decimal(FixedLenByteArray)), vec![0xff; 20], one(-1), one(1)),
        (
            fixed(16, logical(FixedLenByteArray, LogicalType::Uuid)),
            vec![0xab; 16],
            wide(i128::from_be_bytes([0xab; 16])),
            wide(7),
        ),
        (leaf(Float), 0.5f32.to_le_bytes().to_vec(), float(0.5), float(0.25)),
        (leaf(Float), 0.5f32.to_le_bytes().to_vec(), double(0.5), double(0.1)),
        (leaf(Float), (-0.0f32).to_le_bytes().to_vec(), float(0.0), float(1.0)),
        (leaf(Double), 0.0f64.to_le_bytes().to_vec(), double(-0.0), double(1.0)),
        (leaf(ByteArray), b"abc".to_vec(), text(b"abc"), text(b"abd")),
        (fixed(3, leaf(FixedLenByteArray)), b"abc".to_vec(), text(b"abc"), text(b"ab")),
        (timestamp(TimeUnit::Millis), i64s(-1), time(-1, 999_000_000), time(0, 1_000_000)),
        (timestamp(TimeUnit::Millis), i64s(1), time(0, 1_000_000), time(0, 1_000_001)),
        (timestamp(TimeUnit::Nanos), i64s(1), time(0, 1), time(1 << 60, 0)),
    ];
    for (element, stored, present, absent) in cases {
        let sample = Sample::new(element, &filter_bytes(4, &[stored]));
        let ty = &sample.footer.schema.leaves()[0].ty;
        assert!(!sample.excludes(&present), "{present} of {ty}");
        assert!(sample.excludes(&absent), "{absent} of {ty}");
    }
}

#[test]
fn what_may_be_stored_in_several_ways_is_never_excluded() {
    let decimal = logical(ByteArray, LogicalType::Decimal { scale: 0, precision: 9 });
    let byte = logical(Int32, LogicalType::Integer { bit_width: 8, is_signed: true });
    let half = fixed(2, logical(FixedLenByteArray, LogicalType::Float16));
    let cases = [
        (decimal, one(1)),
        (byte, one(1)),
        (half, float(1.0)),
        (leaf(Int96), time(0, 0)),
        (leaf(PhysicalType::Boolean), Filter::boolean(true, false)),
    ];
    let empty = filter_bytes(1, &[]);
    for (element, filter) in cases {
        let sample = Sample::new(element, &empty);
        assert!(!sample.excludes(&filter), "{filter}");
    }
}

#[test]
fn only_filters_of_single_values_are_asked() {
    let sample = Sample::new(leaf(Int64), &filter_bytes(4, &[5i64.to_le_bytes().to_vec()]));
    assert!(sample.excludes(&Filter::bigint_values(vec![1, 70, 900], false)));
    assert!(!sample.excludes(&Filter::bigint_values(vec![1, 70, 5], false)));
    assert!(sample.excludes(&Filter::bigint_range(6, 9, false)));
    assert!(!sample.excludes(&Filter::bigint_range(3, 9, false)));
    assert!(!sample.excludes(&Filter::bigint_range(6, 1 << 40, false)));
    assert!(!sample.excludes(&Filter::bigint_range(i64::MIN, i64::MAX, false)));
    assert!(!sample.excludes(&Filter::negated_bigint_range(7, 7, false)));
    assert!(!sample.excludes(&Filter::IsNotNull));
    let many = Filter::bigint_values((0..2000).map(|v| 1000 + 3 * v).collect(), false);
    assert!(!sample.excludes(&many));
    let with_null = Filter::bigint_range(6, 6, true);
    assert!(sample.excludes_of_nulls(&with_null, Some(0)));
    assert!(!sample.excludes_of_nulls(&with_null, Some(1)));
    assert!(!sample.excludes_of_nulls(&with_null, None));
}

#[test]
fn one_probe_of_a_large_filter_reads_one_block() {
    let values: Vec<_> = (0..1000i64).map(|v| v.to_le_bytes().to_vec()).collect();
    let sample = Sample::new(leaf(Int64), &filter_bytes(8192, &values));
    let before = sample.reads.reads();
    assert!(!sample.excludes(&one(77)));
    assert_eq!(sample.reads.reads() - before, 2);
    let FoundBloom::Usable(mut bloom) = sample.open() else { panic!("not usable") };
    assert_eq!(bloom.num_bytes(), 8192 * 32);
    bloom.load(&sample.input).unwrap();
    let before = sample.reads.reads();
    let knows = |v: i64| bloom.may_contain(&sample.input, hash(&v.to_le_bytes())).unwrap();
    assert!((0..1000).all(knows));
    assert!((1000..11_000).filter(|v| knows(*v)).count() < 20);
    assert_eq!(sample.reads.reads(), before);
    let fill = bloom.fill().unwrap();
    assert!((0.003..0.004).contains(&fill), "{fill}");
}

#[test]
fn filters_that_make_no_sense_are_of_no_use() {
    let sound = filter_bytes(2, &[]);
    let message = |sample: &Sample| match sample.open() {
        FoundBloom::Unusable(error) => error.message().to_string(),
        other => format!("{other:?}"),
    };
    let nonsense = "the bloom filter's size makes no sense";
    for size in [0, 31, 33, 64 + 32] {
        let mut bytes = sound.clone();
        // The size of 64 takes two bytes.
        bytes.splice(1..3, [(size << 1) as u8 | 0x80, (size >> 6) as u8]);
        assert_eq!(message(&Sample::new(leaf(Int64), &bytes)), nonsense, "{size}");
    }
    let mut other_kind = sound.clone();
    other_kind[4] = 0x2c;
    let sample = Sample::new(leaf(Int64), &other_kind);
    assert_eq!(message(&sample), "a bloom filter of another kind");
    assert!(!sample.excludes(&one(5)));
    let mut sample = Sample::new(leaf(Int64), &sound);
    assert!(sample.excludes(&one(5)));
    // Without a length the filter ends where the footer starts.
    sample.region(FILTER_OFFSET, 0);
    assert!(sample.excludes(&one(5)));
    sample.region(FILTER_OFFSET, sound.len() as u32 - 1);
    assert_eq!(message(&sample), nonsense);
    sample.region(FILTER_OFFSET, sound.len() as u32 + 1);
    assert_eq!(message(&sample), "the index is not in front of the footer");
    for bytes in [0, 9] {
        sample.region(u64::MAX - 3, bytes);
        assert!(matches!(sample.open(), FoundBloom::Unusable(_)), "{bytes}");
    }
    for at in 0..sound.len() - 64 {
        for bit in 0..8 {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << bit;
            let sample = Sample::new(leaf(Int64), &bytes);
            sample.excludes(&one(5));
        }
    }
}
