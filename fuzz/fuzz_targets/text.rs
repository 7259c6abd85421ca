//! Fuzzes text tables. The first byte chooses the file extension and with it the compression, the
//! second the dialect, the third the offset at which the file is divided into two splits. Both
//! splits together must return the same rows as the whole file.

#![no_main]

use dwio::adaptation::ScanAdaptation;
use dwio::config::Config;
use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use dwio::reader::{ReadOutcome, ReadRequest, ReaderFactory, ReaderParams, RowReaderParams};
use dwio::scan_spec::{BoundColumn, ScanSpec, SplitBinding};
use format_text::TextReaderFactory;
use libfuzzer_sys::fuzz_target;
use std::ops::Range;
use vector::sync::Arc;
use vector::{MemoryPool, Result, RowType, Type, ValueReader, check_batch, value_text};

/// Returns the rows of the lines that start in a range, as text.
fn rows(path: &str, bytes: &[u8], options: &Config, range: Range<u64>) -> Result<Vec<String>> {
    let point = Type::row([("x", Type::BigInt), ("y", Type::array(Type::Varchar))]);
    let columns = Arc::new(RowType::new([
        ("a", Type::Double),
        ("b", Type::Varbinary),
        ("c", Type::map(Type::Varchar, Type::array(point))),
        ("d", Type::Timestamp),
        ("e", Type::Decimal { precision: 20, scale: 3 }),
    ]));
    let files = MemoryFiles::new();
    files.put(path, bytes.to_vec());
    let pool = MemoryPool::unlimited();
    let input = BufferedInput::new(files.open(path)?, pool.clone());
    let spec = Arc::new(ScanSpec::of_row_type(&columns));
    let bound = (0..columns.len()).map(|ordinal| BoundColumn::File { ordinal });
    let binding = Arc::new(SplitBinding::new(bound.collect()));
    let mut adaptation = ScanAdaptation::new(columns.len());
    let params = ReaderParams { options: options.clone(), pool, file_schema: Some(columns) };
    let reader = TextReaderFactory.open(input, params)?;
    let mut pass = reader.row_reader(RowReaderParams::new(spec, binding, range))?;
    let mut out = Vec::new();
    loop {
        let request = ReadRequest::new(7, &mut adaptation);
        match pass.next(request)? {
            ReadOutcome::Rows(read) => {
                check_batch(&read.batch)?;
                let columns = read.batch.children().iter().map(ValueReader::new);
                let columns = columns.collect::<Result<Vec<_>>>()?;
                out.extend((0..read.batch.len()).map(|row| {
                    let text = |c: &ValueReader| value_text(c.decoded().ty(), &c.value(row));
                    columns.iter().map(text).collect::<Vec<_>>().join(" ")
                }));
            }
            ReadOutcome::End => return Ok(out),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [ending, dialect, cut, bytes @ ..] = data else { return };
    let path = ["t", "t.gz", "t.zst", "t.deflate"][usize::from(ending % 4)];
    let mut options = Config::new();
    options.set("max-line-bytes", "65536");
    let given = [
        ("serde.field.delim", "44"),
        ("serde.escape.delim", ""),
        ("table.skip.header.line.count", "1"),
        ("bad-values", "error"),
    ];
    for (i, (key, value)) in given.into_iter().enumerate() {
        if dialect >> i & 1 == 1 {
            options.set(key, value);
        }
    }
    let Ok(whole) = rows(path, bytes, &options, 0..u64::MAX) else { return };
    let cut = u64::from(*cut);
    let mut split = rows(path, bytes, &options, 0..cut).expect("lines that were read before");
    let after = rows(path, bytes, &options, cut..u64::MAX).expect("lines that were read before");
    split.extend(after);
    assert_eq!(whole, split);
});
