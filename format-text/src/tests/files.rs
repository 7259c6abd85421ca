//! Tests of text tables with small files, each for one property of Hive's format.

use dwio::config::Config;
use dwio::filter::{ClosedRange, Filter, ValueTest};
use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use dwio::reader::{ReaderFactory, ReaderParams};
use dwio::scan_spec::{
    BoundColumn, ColumnSource, ColumnSpec, FieldSpec, NestedBinding, NestedSpec, ScanSpec,
    SplitBinding,
};
use vector::sync::Arc;
use vector::{ErrorKind, MemoryPool, Type, Value};

use super::{Case, case};
use crate::TextReaderFactory;
use crate::bytes::Codec;
use crate::dialect::Dialect;

fn n(value: i64) -> Value {
    Value::BigInt(value)
}

fn s(text: &str) -> Value {
    Value::bytes(text)
}

fn ab(bytes: &[u8]) -> Case {
    case(bytes, &[("a", Type::BigInt), ("b", Type::Varchar)])
}

fn row(fields: impl IntoIterator<Item = Value>) -> Value {
    Value::Row(fields.into_iter().collect())
}

fn array(items: impl IntoIterator<Item = Value>) -> Value {
    Value::Array(items.into_iter().collect())
}

fn map(items: impl IntoIterator<Item = (Value, Value)>) -> Value {
    Value::Map(items.into_iter().collect())
}

#[test]
fn lines_are_rows_and_what_a_line_lacks_is_null() {
    let rows = ab(b"1\x01x\x01more\n\\N\x01\\N\nbad\n\n5\x01").rows().unwrap();
    let expected = [
        [n(1), s("x")],
        [Value::Null, Value::Null],
        [Value::Null, Value::Null],
        [Value::Null, Value::Null],
        [n(5), s("")],
    ];
    assert_eq!(rows, expected.map(Vec::from));
    assert_eq!(ab(b"").rows().unwrap(), Vec::<Vec<Value>>::new());
}

#[test]
fn lf_cr_and_cr_lf_end_lines_and_a_byte_order_mark_is_dropped() {
    let file = ab(b"\xef\xbb\xbf1\x01a\r\n2\x01b\r3\x01c\n\r4\x01d\r");
    let rows = file.rows().unwrap();
    let len = file.bytes.len() as u64;
    for cut in 0..=len {
        let mut split = file.rows_in(0..cut, 2).unwrap();
        split.extend(file.rows_in(cut..len, 2).unwrap());
        assert_eq!(split, rows, "cut at {cut}");
    }
    let found: Vec<Value> = rows.into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(found, [s("a"), s("b"), s("c"), Value::Null, s("d")]);
}

#[test]
fn s7_11_delimiters_are_codes_or_first_bytes_and_the_misspelt_name_counts() {
    let dialect = |pairs: &[(&str, &str)]| Dialect::new(&pairs.iter().copied().collect::<Config>());
    let of = |pairs: &[(&str, &str)]| {
        let dialect = dialect(pairs).unwrap();
        let separators = [0, 1, 2].map(|level| dialect.separator(level).unwrap());
        (separators, dialect.escape)
    };
    assert_eq!(of(&[]), ([1, 2, 3], None));
    assert_eq!(of(&[("serde.field.delim", "|")]).0, [b'|', 2, 3]);
    assert_eq!(of(&[("serde.field.delim", "124")]).0, [124, 2, 3]);
    assert_eq!(of(&[("serde.field.delim", ""), ("serde.serialization.format", "9")]).0, [9, 2, 3]);
    assert_eq!(of(&[("serde.field.delim", ","), ("serde.serialization.format", "9")]).0[0], b',');
    assert_eq!(of(&[("serde.colelction.delim", ";x")]).0, [1, b';', 3]);
    assert_eq!(of(&[("serde.mapkey.delim", ":")]).0, [1, 2, b':']);
    assert_eq!(of(&[("serde.escape.delim", "")]).1, Some(b'\\'));
    assert_eq!(of(&[("serde.escape.delim", "94")]).1, Some(94));
    assert_eq!(of(&[("serde.escape.delim", "999")]).1, Some(b'9'));
    assert_eq!(of(&[("serde.escape.delim", "^x")]).1, Some(b'^'));
    let null = dialect(&[("table.serialization.null.format", "NULL")]).unwrap().null_text;
    assert_eq!(null, b"NULL");
    let error = dialect(&[("serde.field.delim", "300")]).unwrap_err();
    assert_eq!(error.field("parameter"), Some("field.delim"));
    let error = dialect(&[("table.skip.footer.line.count", "1")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(dialect(&[("bad-values", "guess")]).unwrap_err().is_user());
}

#[test]
fn escaped_separators_are_text_and_only_strings_lose_their_escapes() {
    let file = || {
        ab(b"1|a\\|b\\\\\n2|c\\N\n3|\\N\n4|d\\n\\")
            .option("serde.field.delim", "|")
            .option("serde.escape.delim", "\\")
    };
    let texts = |case: &Case| -> Vec<Value> {
        case.rows().unwrap().into_iter().map(|row| row[1].clone()).collect()
    };
    let expected = [s("a|b\\"), s("cN"), Value::Null, s("d\n\\")];
    assert_eq!(texts(&file()), expected);
    // The parameter affects how Hive writes, not how it reads.
    for value in ["true", "false"] {
        assert_eq!(texts(&file().option("serde.serialization.escape.crlf", value)), expected);
    }
}

#[test]
fn escaped_line_ends_are_text_on_every_level() {
    let columns = [
        ("t", Type::Varchar),
        ("list", Type::array(Type::Varchar)),
        ("map", Type::map(Type::Varchar, Type::Varchar)),
    ];
    let line = b"a\\nb\\rc\\\\n\x01x\\n\x02\\r\x01k\\n\x03v\\r\x02\\\x03\x03w";
    let rows = case(line, &columns).option("serde.escape.delim", "\\").rows().unwrap();
    assert_eq!(rows[0][0], s("a\nb\rc\\n"));
    assert_eq!(rows[0][1], array([s("x\n"), s("\r")]));
    assert_eq!(rows[0][2], map([(s("k\n"), s("v\r")), (s("\x03"), s("w"))]));
    // Without an escape byte there are no escapes.
    let rows = case(b"a\\nb", &columns[..1]).rows().unwrap();
    assert_eq!(rows[0][0], s("a\\nb"));
}

#[test]
fn lists_maps_and_structs_have_separators_by_level() {
    let inner = Type::row([("k", Type::Integer), ("v", Type::Varchar)]);
    let columns = [
        ("list", Type::array(Type::array(Type::Integer))),
        ("map", Type::map(Type::Varchar, Type::array(Type::BigInt))),
        ("row", Type::row([("x", Type::BigInt), ("y", inner)])),
    ];
    let line = b"1\x032\x02\\N\x02\x01a\x037\x048\x02b\x02a\x039\x02\\N\x031\x015\x026\x03t";
    let rows = case(line, &columns).rows().unwrap();
    let int = Value::Integer;
    assert_eq!(rows[0][0], array([array([int(1), int(2)]), Value::Null, array([])]));
    assert_eq!(rows[0][1], map([(s("a"), array([n(7), n(8)])), (s("b"), Value::Null)]));
    assert_eq!(rows[0][2], row([n(5), row([int(6), s("t")])]));
    let rows = case("\x01\x01\n\\N\x01\\N\x01\\N\n", &columns).rows().unwrap();
    let empty = row([Value::Null, Value::Null]);
    assert_eq!(rows[0], [array([]), map([]), empty]);
    assert_eq!(rows[1], [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn nesting_ends_with_the_separators() {
    let deep = |levels: usize| (0..levels).fold(Type::BigInt, |ty, _| Type::array(ty));
    let column = |levels| [("d", deep(levels))];
    let rows = case("1\x082\x07", &column(7)).rows().unwrap();
    let expected = (0..5).fold(array([array([n(1), n(2)]), array([])]), |v, _| array([v]));
    assert_eq!(rows[0][0], expected);
    let error = case("1", &column(8)).rows().unwrap_err();
    assert_eq!((error.kind(), error.is_in("column")), (ErrorKind::Unsupported, true));
    assert!(case("1", &[("f", Type::Float16)]).rows().is_err());
}

#[test]
fn bytes_are_base64_unless_they_are_not() {
    let rows = case("Zm9v\nraw!\n", &[("b", Type::Varbinary)]).rows().unwrap();
    assert_eq!(rows, [vec![s("foo")], vec![s("raw!")]]);
}

#[test]
fn the_header_is_skipped_once_whatever_the_splits() {
    let file =
        ab(b"name\x01text\nmore\n1\x01a\n2\x01b\n").option("table.skip.header.line.count", "2");
    assert_eq!(file.rows().unwrap(), [vec![n(1), s("a")], vec![n(2), s("b")]]);
    let len = file.bytes.len() as u64;
    for cut in 0..=len {
        let mut rows = file.rows_in(0..cut, 1).unwrap();
        rows.extend(file.rows_in(cut..len, 1).unwrap());
        assert_eq!(rows.len(), 2, "cut at {cut}");
    }
    let long = ab(b"only\n").option("table.skip.header.line.count", "7");
    assert_eq!(long.rows().unwrap().len(), 0);
    assert_eq!(long.packed("t/x.zst").rows().unwrap().len(), 0);
}

#[test]
fn packed_files_are_read_whole_by_the_split_of_their_first_byte() {
    let text: String = (0..50_000).map(|i| format!("{i}\x01row {i}\n")).collect();
    let plain = ab(text.as_bytes()).rows().unwrap();
    for path in ["t/x.gz", "t/x.deflate", "t/x.zst"] {
        let file = ab(text.as_bytes()).packed(path);
        assert_eq!(file.rows_in(0..10, 777).unwrap(), plain, "{path}");
        assert_eq!(file.rows_in(10..u64::MAX, 777).unwrap().len(), 0, "{path}");
        let mut cut = ab(text.as_bytes()).packed(path);
        cut.bytes.truncate(cut.bytes.len() - 9);
        assert_eq!(cut.rows().unwrap_err().kind(), ErrorKind::Corrupt, "{path}");
        cut.bytes = b"not packed at all".to_vec();
        assert_eq!(cut.rows().unwrap_err().kind(), ErrorKind::Corrupt, "{path}");
    }
    assert_eq!(Codec::of_path("t/x.bz2").unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(Codec::of_path("t.gz/x").unwrap(), Codec::Plain);
}

#[test]
fn row_numbers_count_from_the_start_of_the_file_when_they_are_asked_for() {
    let file = ab(b"head\n1\x01a\n2\x01b\n3\x01c\n").option("table.skip.header.line.count", "1");
    let number = ColumnSpec {
        source: ColumnSource::RowIndex,
        ..ColumnSpec::whole("$row_index", Type::BigInt, 0)
    };
    let spec = || ScanSpec::new(vec![number.clone()]);
    let binding = || SplitBinding::new(vec![BoundColumn::RowIndex]);
    let len = file.bytes.len() as u64;
    for cut in 0..len {
        let (_, before) = file.pass(spec(), binding(), 0..cut, 2).unwrap();
        let (first, after) = file.pass(spec(), binding(), cut..len, 2).unwrap();
        assert_eq!(before.len() + after.len(), 3);
        assert!(after.is_empty() || first == before.len() as u64, "cut at {cut}");
    }
}

#[test]
fn s5_42_filters_on_columns_and_fields_are_obeyed() {
    let columns = [
        ("a", Type::BigInt),
        ("r", Type::row([("x", Type::BigInt), ("y", Type::Varchar)])),
        ("b", Type::Varchar),
    ];
    let file =
        case("1\x011\x02p\x01u\n2\x01\\N\x01v\n3\x013\x02q\x01w\n4\x014\x02r\x01x", &columns);
    let (spec, binding) = file.spec();
    let at_least = |low| {
        let test = ValueTest::BigintRange(ClosedRange { lower: low, upper: i64::MAX });
        Some(Arc::new(Filter::Values { test, null_allowed: false }))
    };
    let mut wanted = spec.columns().to_vec();
    wanted[0].filter = at_least(2);
    wanted[0].channel = None;
    wanted[1].channel = Some(0);
    wanted[2].channel = Some(1);
    let mut x = ColumnSpec::whole("x", Type::BigInt, 0);
    x.filter = at_least(0);
    wanted[1].nested = NestedSpec::Row(vec![FieldSpec::Wanted(x), FieldSpec::Pruned]);
    let (_, rows) = file.pass(ScanSpec::new(wanted), binding, 0..u64::MAX, 3).unwrap();
    let of = |x, b| vec![row([n(x), Value::Null]), s(b)];
    assert_eq!(rows, [of(3, "w"), of(4, "x")]);
}

#[test]
fn fields_stand_where_the_binding_says_and_lists_are_cut() {
    let columns = [
        ("r", Type::row([("x", Type::BigInt), ("y", Type::Varchar)])),
        ("l", Type::array(Type::BigInt)),
    ];
    let file = case("1\x02p\x011\x022\x023\n", &columns);
    let asked = Type::row([("y", Type::Varchar), ("z", Type::BigInt)]);
    let row_spec = ColumnSpec::whole("r", asked, 0);
    let mut list = ColumnSpec::whole("l", Type::array(Type::Double), 1);
    let element = Box::new(ColumnSpec::whole("element", Type::Double, 0));
    list.nested = NestedSpec::Array { element, max_elements: 2 };
    let (_, binding) = file.spec();
    let spec = ScanSpec::new(vec![row_spec, list]);
    let (_, rows) = file.pass(spec, binding, 0..u64::MAX, 3).unwrap();
    let list = array([Value::Double(1.0), Value::Double(2.0)]);
    assert_eq!(rows, [vec![row([s("p"), Value::Null]), list]]);
    let (_, binding) = file.spec();
    let nothing = vec![NestedBinding::ByName, NestedBinding::Array(None)];
    let spec = ScanSpec::of_row_type(&file.columns);
    let (_, rows) = file.pass(spec, binding.with_nested(nothing), 0..u64::MAX, 3).unwrap();
    assert_eq!(rows[0][1], array([Value::Null, Value::Null, Value::Null]));
}

#[test]
fn the_last_column_may_take_the_rest() {
    let file = ab(b"1\x01x\x01y\n").option("serde.serialization.last.column.takes.rest", "true");
    assert_eq!(file.rows().unwrap(), [vec![n(1), s("x\x01y")]]);
}

#[test]
fn bad_values_are_errors_with_line_and_column_when_they_are_to_be() {
    let file = ab(b"1\x01x\n\\N\x01y\n\x01z\none\x01w\n").option("bad-values", "error");
    assert_eq!(
        file.rows().unwrap_err().to_string(),
        "corrupt: a text is not a value of its column's type (text=one type=BIGINT offset=12)\n  \
         in column \"a\", line 4"
    );
    assert!(file.rows_in(9..u64::MAX, 5).unwrap_err().field("offset") == Some("12"));
}

#[test]
fn a_line_longer_than_allowed_is_an_error_and_memory_stays_small() {
    let mut bytes = b"1\x01x\n".to_vec();
    bytes.extend(vec![b'y'; 3 << 20]);
    let file = ab(&bytes).option("max-line-bytes", "1000000");
    let error = file.rows().unwrap_err();
    assert_eq!((error.kind(), error.is_in("line")), (ErrorKind::Limit, true));
    // A compressed file of any claimed size is decompressed only as far as it is read.
    let bomb = ab(&vec![b'z'; 64 << 20]).packed("t/x.gz").option("max-line-bytes", "1000000");
    assert!(bomb.bytes.len() < 1 << 20);
    assert_eq!(bomb.rows().unwrap_err().kind(), ErrorKind::Limit);
    let many: Vec<u8> = b"1\x01text\n".repeat(2 << 20);
    let files = MemoryFiles::new();
    files.put("t/many", many);
    let pool = MemoryPool::unlimited();
    let input = BufferedInput::new(files.open("t/many").unwrap(), pool.clone());
    let file = ab(b"");
    let (spec, binding) = file.spec();
    let file_schema = Some(file.columns);
    let params = ReaderParams { options: Config::new(), pool: pool.clone(), file_schema };
    let reader = TextReaderFactory.open(input, params).unwrap();
    let mut rows = reader
        .row_reader(dwio::reader::RowReaderParams::new(
            Arc::new(spec),
            Arc::new(binding),
            0..u64::MAX,
        ))
        .unwrap();
    let mut adaptation = dwio::adaptation::ScanAdaptation::new(2);
    let mut scanned = 0;
    loop {
        let request = dwio::reader::ReadRequest::new(10_000, &mut adaptation);
        match rows.next(request).unwrap() {
            dwio::reader::ReadOutcome::Rows(read) => scanned += read.scanned,
            dwio::reader::ReadOutcome::End => break,
        }
    }
    assert_eq!(scanned, 2 << 20);
    assert!(pool.peak() < 2 << 20, "{}", pool.peak());
}

#[test]
fn a_file_without_schema_is_refused() {
    let files = MemoryFiles::new();
    files.put("t", b"1\n".to_vec());
    let pool = MemoryPool::unlimited();
    let input = BufferedInput::new(files.open("t").unwrap(), pool.clone());
    let params = ReaderParams { options: Config::new(), pool, file_schema: None };
    let Err(error) = TextReaderFactory.open(input, params) else { panic!("opened") };
    assert!(error.is_user());
}
