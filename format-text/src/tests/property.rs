//! Property tests: random bytes that are likely to be meaningful are read as the naive parser reads
//! them, with any splits and windows, compressed or not, with a filter or without.

use dwio::filter::{ClosedRange, Filter, ValueTest};
use dwio::scan_spec::ScanSpec;
use vector::sync::Arc;
use vector::testing::Random;
use vector::{ErrorKind, Type, Value};

use super::naive::Plain;
use super::{Case, case};

const CASES: u64 = 400;

fn scalar(random: &mut Random) -> Type {
    let types = [Type::BigInt, Type::Varchar, Type::Boolean, Type::Double, Type::TinyInt];
    random.pick(&types).clone()
}

fn ty(random: &mut Random, depth: usize) -> Type {
    match random.below(if depth == 0 { 1 } else { 5 }) {
        1 => Type::array(ty(random, depth - 1)),
        2 => Type::map(scalar(random), ty(random, depth - 1)),
        3 => Type::row((0..1 + random.below(3)).map(|i| (format!("f{i}"), ty(random, depth - 1)))),
        _ => scalar(random),
    }
}

/// Returns random bytes, most of which are separators, digits, escapes and line ends.
fn bytes(random: &mut Random, plain: &Plain) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..random.below(400) {
        match random.below(12) {
            0 | 1 => out.push(plain.separators[0]),
            2..=4 => out.push(*random.pick(&plain.separators)),
            5 => out.extend(*random.pick(&[&b"\n"[..], b"\r", b"\r\n"])),
            6 => out.extend(plain.null),
            7 => out.push(plain.escape.unwrap_or(b'\\')),
            8 => out.extend(*random.pick(&[&b"true"[..], b"FALSE", b"1.5", b"NaN"])),
            _ => out.push(*random.pick(b"0123456789ab-")),
        }
    }
    out
}

fn case_of(random: &mut Random) -> (Case, Vec<Vec<Value>>, Vec<u64>) {
    let mut plain = Plain { separators: [1, 2, 3, 4, 5, 6, 7, 8], escape: None, null: b"\\N" };
    let mut options = Vec::new();
    if random.chance(0.5) {
        plain.separators[0] = b'|';
        options.push(("serde.field.delim", "|"));
    }
    if random.chance(0.3) {
        plain.separators[1] = b',';
        options.push(("serde.collection.delim", ","));
    }
    if random.chance(0.5) {
        plain.escape = Some(b'\\');
        options.push(("serde.escape.delim", "\\"));
    }
    if random.chance(0.2) {
        plain.null = b"";
        options.push(("table.serialization.null.format", ""));
    }
    let types: Vec<Type> = (0..1 + random.below(4)).map(|_| ty(random, 2)).collect();
    let names: Vec<String> = (0..types.len()).map(|i| format!("c{i}")).collect();
    let bytes = bytes(random, &plain);
    let rows = plain.rows(&bytes, &types);
    let columns = names.iter().map(String::as_str).zip(types).collect::<Vec<_>>();
    let mut cuts: Vec<u64> =
        (0..random.below(4)).map(|_| random.below(bytes.len() + 1) as u64).collect();
    cuts.extend([0, bytes.len() as u64 + 3]);
    cuts.sort_unstable();
    let case = options
        .into_iter()
        .fold(case(bytes, &columns), |case, (key, value)| case.option(key, value));
    (case, rows, cuts)
}

#[test]
fn random_files_are_read_as_the_naive_parser_reads_them() {
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let (case, expected, cuts) = case_of(&mut random);
        let mut found = Vec::new();
        for cut in cuts.windows(2) {
            let windows = 1 + random.below(5);
            found.extend(case.rows_in(cut[0]..cut[1], windows).unwrap());
        }
        assert_eq!(found, expected, "seed {seed}: {:?}", String::from_utf8_lossy(&case.bytes));
        let filtered: Vec<_> = expected.iter().filter(|row| passes(&row[0])).cloned().collect();
        assert_eq!(rows_with_filter(&case), filtered, "seed {seed}");
        let packed = case.packed(random.pick::<&str>(&["x.gz", "x.zst", "x.deflate"]));
        assert_eq!(packed.rows().unwrap(), expected, "seed {seed} as {}", packed.path);
    }
}

fn passes(value: &Value) -> bool {
    match value {
        Value::BigInt(value) => *value >= 5,
        value => !value.is_null(),
    }
}

/// Returns the rows whose first column is at least 5, or not null if it is not an integer.
fn rows_with_filter(case: &Case) -> Vec<Vec<Value>> {
    let (spec, binding) = case.spec();
    let mut columns = spec.columns().to_vec();
    columns[0].filter = Some(Arc::new(match columns[0].ty {
        Type::BigInt => Filter::Values {
            test: ValueTest::BigintRange(ClosedRange { lower: 5, upper: i64::MAX }),
            null_allowed: false,
        },
        _ => Filter::IsNotNull,
    }));
    case.pass(ScanSpec::new(columns), binding, 0..u64::MAX, 7).unwrap().1
}

/// Broken bytes in a compressed file cause an error or other rows, never a panic or a hang. A
/// truncated plain file has the same rows in two splits as in one.
#[test]
fn broken_bytes_end_in_rows_or_an_error() {
    for seed in 0..CASES {
        let mut random = Random::new(seed ^ 0x7e87);
        let (case, _, _) = case_of(&mut random);
        let mut packed = case.packed(random.pick::<&str>(&["x.gz", "x.zst", "x.deflate"]));
        for _ in 0..1 + random.below(4) {
            let at = random.below(packed.bytes.len().max(1));
            if let Some(byte) = packed.bytes.get_mut(at) {
                *byte = random.bits() as u8;
            }
        }
        if random.chance(0.3) {
            packed.bytes.truncate(random.below(packed.bytes.len() + 1));
        }
        if let Err(error) = packed.rows() {
            assert!(!error.message().is_empty() && error.kind() != ErrorKind::Internal, "{error}");
        }
        // The same bytes, read without decompression.
        packed.path = "x";
        let whole = packed.rows().unwrap();
        let (len, cut) = (packed.bytes.len() as u64, random.below(packed.bytes.len() + 1) as u64);
        let mut split = packed.rows_in(0..cut, 3).unwrap();
        split.extend(packed.rows_in(cut..len, 2).unwrap());
        assert_eq!(split, whole, "seed {seed} cut at {cut}");
    }
}
