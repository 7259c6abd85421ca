//! Random files, compared with the values that they were generated from.
//!
//! ```text
//! schema    random types, nulls and values --> rows --Arrow writer, random layout--> file
//!                                                     texts <------Arrow reader------'
//! handmade  random fields in legacy forms --random layout--> file
//!                `-------> texts
//!
//! file --engine, random batches, columns and a condition--> lines == lines made of the texts
//! ```
//!
//! `OCIOR_CASES` is the number of cases, `OCIOR_SEED` the number of the first one. A failing case
//! reports its number; with this number as `OCIOR_SEED` it is the first case.

mod handmade;
pub(crate) mod schema;
mod values;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use dwio::fs::MemoryFiles;
use ocior::{QueryOptions, ScanRequest};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{
    BrotliLevel, Compression, Encoding, GzipLevel, Type as PhysicalType, ZstdLevel,
};
use parquet::file::properties::{
    BloomFilterPosition, EnabledStatistics, WriterProperties, WriterVersion,
};
use parquet::schema::types::SchemaDescriptor;

use crate::support::files::{engine_over, in_order, lines};
use crate::support::oracle;
use crate::support::random::{Random, number_from_env};

/// Returns one of several choices.
pub(crate) fn one_of<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// Returns the encodings that the format allows for a physical type, without dictionaries.
pub(crate) fn encodings(physical: PhysicalType) -> &'static [Encoding] {
    use Encoding::{
        BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY, PLAIN,
        RLE,
    };
    match physical {
        PhysicalType::BOOLEAN => &[PLAIN, RLE],
        PhysicalType::INT32 | PhysicalType::INT64 => {
            &[PLAIN, DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT]
        }
        PhysicalType::INT96 => &[PLAIN],
        PhysicalType::FLOAT | PhysicalType::DOUBLE => &[PLAIN, BYTE_STREAM_SPLIT],
        PhysicalType::BYTE_ARRAY => &[PLAIN, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY],
        PhysicalType::FIXED_LEN_BYTE_ARRAY => &[PLAIN, BYTE_STREAM_SPLIT, DELTA_BYTE_ARRAY],
    }
}

fn random_codec(random: &mut Random) -> Compression {
    one_of(
        random,
        &[
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::ZSTD(ZstdLevel::default()),
            Compression::LZ4,
            Compression::LZ4_RAW,
            Compression::BROTLI(BrotliLevel::default()),
        ],
    )
}

fn random_properties(schema: &SchemaDescriptor, random: &mut Random) -> WriterProperties {
    let version = one_of(random, &[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let statistics = [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page];
    let positions = [BloomFilterPosition::AfterRowGroup, BloomFilterPosition::End];
    let mut properties = WriterProperties::builder()
        .set_bloom_filter_position(one_of(random, &positions))
        .set_writer_version(version)
        .set_statistics_enabled(one_of(random, &statistics))
        .set_offset_index_disabled(random.once_in(4))
        .set_data_page_row_count_limit(one_of(random, &[1, 5, 20, 100, 1000]))
        .set_data_page_size_limit(one_of(random, &[16, 200, 1 << 20]))
        .set_write_batch_size(one_of(random, &[1, 7, 64, 1024]))
        .set_max_row_group_row_count(Some(one_of(random, &[3, 40, 128, 1000])));
    for column in schema.columns() {
        let path = column.path();
        properties = properties
            .set_column_compression(path.clone(), random_codec(random))
            .set_column_dictionary_enabled(path.clone(), random.once_in(2))
            .set_column_bloom_filter_enabled(path.clone(), random.once_in(3))
            .set_column_dictionary_page_size_limit(
                path.clone(),
                one_of(random, &[1, 60, 500, 1 << 20]),
            );
        if column.physical_type() != PhysicalType::BOOLEAN && random.once_in(3) {
            properties = properties.set_column_bloom_filter_max_ndv(path.clone(), 50);
        }
        // Otherwise the writer's default for its version is used.
        if !random.once_in(4) {
            let encoding = one_of(random, encodings(column.physical_type()));
            properties = properties.set_column_encoding(path.clone(), encoding);
        }
    }
    properties.build()
}

/// Writes the rows in one or more calls.
pub(crate) fn random_file(rows: &RecordBatch, random: &mut Random) -> Vec<u8> {
    let schema = ArrowSchemaConverter::new().convert(rows.schema_ref()).unwrap();
    let options = ArrowWriterOptions::new()
        .with_properties(random_properties(&schema, random))
        .with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, rows.schema(), options).unwrap();
    let mut at = 0;
    while at < rows.num_rows() {
        let len = (1 + random.below(300) as usize).min(rows.num_rows() - at);
        writer.write(&rows.slice(at, len)).unwrap();
        at += len;
    }
    writer.close().unwrap();
    bytes
}

/// Returns options with batches of any small size, so that windows end anywhere in pages and lists.
fn random_options(random: &mut Random) -> QueryOptions {
    let mut options = in_order();
    let batch_rows = one_of(random, &[0, 1, 2, 7, 64, 1000]);
    options.settings.set("table_scan_output_batch_rows_override", batch_rows.to_string());
    options
}

/// Conditions with which a column can be queried.
#[derive(Debug, Clone, Copy)]
enum Probe {
    Nothing,
    Number,
    Text,
}

/// A file and its contents.
struct Case {
    file: Vec<u8>,
    names: Vec<String>,
    probes: Vec<Probe>,
    /// The text of each value, by column.
    texts: Vec<Vec<String>>,
    /// The types, for error messages.
    declaration: String,
}

impl Case {
    fn of_arrow(rows: &RecordBatch, random: &mut Random) -> Case {
        let file = random_file(rows, random);
        let fields = rows.schema_ref().fields();
        Case {
            names: fields.iter().map(|field| field.name().clone()).collect(),
            // Conditions on such files are covered by another test.
            probes: vec![Probe::Nothing; fields.len()],
            texts: oracle::texts(file.clone(), fields.len()),
            declaration: format!("{fields:?}"),
            file,
        }
    }

    fn line(&self, columns: &[usize], row: usize) -> String {
        let values = columns
            .iter()
            .map(|column| format!("\"{}\":{}", self.names[*column], self.texts[*column][row]));
        format!("{{{}}}", values.collect::<Vec<_>>().join(","))
    }

    /// Returns some of the columns, each whole, in any order.
    fn random_columns(&self, random: &mut Random) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..self.names.len()).collect();
        for at in (1..columns.len()).rev() {
            columns.swap(at, random.below(at as u64 + 1) as usize);
        }
        columns.truncate(1 + random.below(columns.len() as u64) as usize);
        columns
    }

    /// Returns a condition that the value of some row meets, and the rows that meet it.
    fn random_condition(&self, random: &mut Random) -> Option<(String, Vec<usize>)> {
        let column = random.below(self.names.len() as u64) as usize;
        let texts = self.texts[column].as_slice();
        if texts.is_empty() {
            return None;
        }
        let text = &texts[random.below(texts.len() as u64) as usize];
        let literal = match self.probes[column] {
            Probe::Nothing => return None,
            _ if text == "null" => return None,
            Probe::Number => text.clone(),
            // The letters of random texts need no escapes in JSON or SQL.
            Probe::Text => format!("'{}'", text.trim_matches('"')),
        };
        let rows = (0..texts.len()).filter(|row| texts[*row] == *text).collect();
        Some((format!("{} = {literal}", self.names[column]), rows))
    }

    /// Returns a difference between the engine and the written values, if there is one.
    fn difference(&self, random: &mut Random) -> Option<String> {
        let files = MemoryFiles::new();
        files.put("f.parquet", self.file.clone());
        let engine = engine_over(&files);
        let all: Vec<usize> = (0..self.names.len()).collect();
        let rows: Vec<usize> = (0..self.texts[0].len()).collect();
        let mut scans =
            vec![(all.clone(), None, rows.clone()), (self.random_columns(random), None, rows)];
        if let Some((condition, rows)) = self.random_condition(random) {
            scans.push((all, Some(condition), rows));
        }
        for (columns, filter, rows) in scans {
            let request = ScanRequest {
                paths: vec!["f.parquet".to_string()],
                columns: Some(columns.iter().map(|column| self.names[*column].clone()).collect()),
                filter: filter.clone(),
                ..ScanRequest::default()
            };
            let context = format!("columns {columns:?} filter {filter:?}");
            let got = match engine.scan(&request, &random_options(random)).and_then(lines) {
                Ok(got) => got,
                Err(error) => return Some(format!("{context}: {error}")),
            };
            let want: Vec<_> = rows.into_iter().map(|row| self.line(&columns, row)).collect();
            if let Some(row) =
                (0..got.len().max(want.len())).find(|row| got.get(*row) != want.get(*row))
            {
                let (got, want) = (got.get(row), want.get(row));
                return Some(format!("{context}, row {row}:\n got  {got:?}\n want {want:?}"));
            }
        }
        None
    }
}

fn depth(field: &Field) -> usize {
    match field.data_type() {
        DataType::List(inner) => 1 + depth(inner),
        // The entry group of a map is not a separate level.
        DataType::Map(entry, _) => depth(entry),
        DataType::Struct(fields) => 1 + fields.iter().map(|field| depth(field)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Runs the cases `first`, `first + step`, ...; returns the differences and the maximum depth.
fn run(cases: std::ops::Range<u64>, step: usize) -> (Vec<String>, usize) {
    let (mut differences, mut deepest) = (Vec::new(), 0);
    for case in cases.step_by(step) {
        let random = &mut Random::new(case.wrapping_mul(0xd134_2543_de82_ef95));
        let made = if random.once_in(4) {
            handmade::random_case(random)
        } else {
            let rows = schema::random_batch(random);
            let fields = rows.schema_ref().fields();
            deepest = fields.iter().map(|field| depth(field)).fold(deepest, usize::max);
            Case::of_arrow(&rows, random)
        };
        if let Some(found) = made.difference(random) {
            differences.push(format!("case {case}, {}, {found}", made.declaration));
        }
    }
    (differences, deepest)
}

#[test]
fn random_files_read_like_the_oracle() {
    const NUM_THREADS: usize = 2;
    let cases = number_from_env("OCIOR_CASES", 2_000);
    let seed = number_from_env("OCIOR_SEED", 1);
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..NUM_THREADS as u64)
            .map(|first| scope.spawn(move || run(seed + first..seed + cases, NUM_THREADS)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let differences: Vec<_> = results.iter().flat_map(|(found, _)| found).take(5).collect();
    assert!(differences.is_empty(), "{differences:#?}");
    let deepest = results.iter().map(|(_, deepest)| *deepest).max();
    assert!(cases < 100 || deepest == Some(4), "the deepest type has {deepest:?} levels");
}
