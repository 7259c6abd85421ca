//! Tests of text files through the reader traits: files in memory, and the naive parser that random
//! files are compared with.

mod files;
mod naive;
mod property;

use std::io::Write;

use dwio::adaptation::ScanAdaptation;
use dwio::config::Config;
use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use dwio::reader::{
    ReadOutcome, ReadRequest, ReaderFactory, ReaderParams, RowReader, RowReaderParams,
};
use dwio::scan_spec::{BoundColumn, ScanSpec, SplitBinding};
use vector::sync::Arc;
use vector::testing::rows_of;
use vector::{MemoryPool, Result, RowType, Type, Value};

use crate::TextReaderFactory;

/// A text file with its columns and options.
struct Case {
    path: &'static str,
    bytes: Vec<u8>,
    columns: Arc<RowType>,
    options: Config,
}

fn case(bytes: impl AsRef<[u8]>, columns: &[(&str, Type)]) -> Case {
    Case {
        path: "t/000000_0",
        bytes: bytes.as_ref().to_vec(),
        columns: Arc::new(RowType::new(columns.iter().cloned())),
        options: Config::new(),
    }
}

impl Case {
    fn option(mut self, key: &str, value: &str) -> Self {
        self.options.set(key, value);
        self
    }

    /// Returns the same file, compressed as the suffix of `path` says.
    fn packed(mut self, path: &'static str) -> Self {
        self.bytes = match path.rsplit('.').next().unwrap() {
            "gz" => {
                let mut out = Vec::new();
                // Two gzip members, one after the other.
                let (a, b) = self.bytes.split_at(self.bytes.len() / 2);
                for part in [a, b] {
                    let level = flate2::Compression::fast();
                    let mut packer = flate2::write::GzEncoder::new(out, level);
                    packer.write_all(part).unwrap();
                    out = packer.finish().unwrap();
                }
                out
            }
            "deflate" => {
                let level = flate2::Compression::fast();
                let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), level);
                packer.write_all(&self.bytes).unwrap();
                packer.finish().unwrap()
            }
            _ => zstd::encode_all(&*self.bytes, 1).unwrap(),
        };
        self.path = path;
        self
    }

    /// Returns a spec and a binding that read all columns whole.
    fn spec(&self) -> (ScanSpec, SplitBinding) {
        let bound = (0..self.columns.len()).map(|ordinal| BoundColumn::File { ordinal });
        (ScanSpec::of_row_type(&self.columns), SplitBinding::new(bound.collect()))
    }

    fn rows(&self) -> Result<Vec<Vec<Value>>> {
        self.rows_in(0..u64::MAX, 1000)
    }

    fn rows_in(&self, range: std::ops::Range<u64>, max_rows: usize) -> Result<Vec<Vec<Value>>> {
        let (spec, binding) = self.spec();
        Ok(self.pass(spec, binding, range, max_rows)?.1)
    }

    /// Returns the number of the first row, and all rows.
    fn pass(
        &self,
        spec: ScanSpec,
        binding: SplitBinding,
        range: std::ops::Range<u64>,
        max_rows: usize,
    ) -> Result<(u64, Vec<Vec<Value>>)> {
        let mut adaptation = ScanAdaptation::new(spec.columns().len());
        let mut rows = self.row_reader(spec, binding, range)?;
        let mut out = Vec::new();
        let mut first_row = None;
        let mut next_row = 0;
        loop {
            let request = ReadRequest::new(max_rows, &mut adaptation);
            let ReadOutcome::Rows(read) = rows.next(request)? else { break };
            assert!(read.scanned > 0 && read.scanned <= max_rows);
            assert_eq!(read.selected.len(), read.batch.len());
            vector::check_batch(&read.batch)?;
            let first = *first_row.get_or_insert(read.first_row);
            assert!(next_row == 0 || read.first_row == next_row, "{first}");
            next_row = read.first_row + read.scanned as u64;
            out.extend(rows_of(&read.batch));
        }
        Ok((first_row.unwrap_or(0), out))
    }

    fn row_reader(
        &self,
        spec: ScanSpec,
        binding: SplitBinding,
        range: std::ops::Range<u64>,
    ) -> Result<Box<dyn RowReader>> {
        let files = MemoryFiles::new();
        files.put(self.path, self.bytes.clone());
        let pool = MemoryPool::unlimited();
        let input = BufferedInput::new(files.open(self.path)?, pool.clone());
        let file_schema = Some(Arc::clone(&self.columns));
        let params = ReaderParams { options: self.options.clone(), pool, file_schema };
        let reader = TextReaderFactory.open(input, params)?;
        let (spec, binding) = (Arc::new(spec), Arc::new(binding));
        reader.row_reader(RowReaderParams::new(spec, binding, range))
    }
}
