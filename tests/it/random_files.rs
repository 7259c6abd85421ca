//! Random files, against the Arrow reader.
//!
//! ```text
//! random types, nulls and values --> rows --random layout, column by column--> file
//! file --engine, random batches and columns--> lines == lines <--Arrow reader-- file
//! ```
//!
//! `OCIOR_CASES` says how many, `OCIOR_SEED` from which number on: a case that fails names its
//! number, and with that as the seed it is the first one.

pub(crate) mod schema;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use dwio::fs::MemoryFiles;
use ocior::{QueryOptions, ScanRequest};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, GzipLevel, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use crate::support::files::{engine_over, in_order, lines};
use crate::support::oracle;
use crate::support::random::{Random, number_from_env};

/// One number as a choice from several.
pub(crate) fn one_of<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// The encodings that the format allows for a storage, dictionaries aside.
fn encodings(physical: PhysicalType) -> &'static [Encoding] {
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
        ],
    )
}

fn random_properties(rows: &RecordBatch, random: &mut Random) -> WriterProperties {
    let version = one_of(random, &[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]);
    let statistics = [EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page];
    let mut properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_statistics_enabled(one_of(random, &statistics))
        .set_offset_index_disabled(random.once_in(4))
        .set_data_page_row_count_limit(one_of(random, &[1, 5, 20, 100, 1000]))
        .set_data_page_size_limit(one_of(random, &[16, 200, 1 << 20]))
        .set_write_batch_size(one_of(random, &[1, 7, 64, 1024]))
        .set_max_row_group_row_count(Some(one_of(random, &[3, 40, 128, 1000])));
    let schema = ArrowSchemaConverter::new().convert(rows.schema_ref()).unwrap();
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
        // Else the writer's own choice for its version.
        if !random.once_in(4) {
            let encoding = one_of(random, encodings(column.physical_type()));
            properties = properties.set_column_encoding(path.clone(), encoding);
        }
    }
    properties.build()
}

/// The rows written in one or more calls.
pub(crate) fn random_file(rows: &RecordBatch, random: &mut Random) -> Vec<u8> {
    let options = ArrowWriterOptions::new()
        .with_properties(random_properties(rows, random))
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

/// Small batches of any size, so that windows end anywhere in pages and lists.
fn random_options(random: &mut Random) -> QueryOptions {
    let mut options = in_order();
    let batch_rows = one_of(random, &[0, 1, 2, 7, 64, 1000]);
    options.settings.set("table_scan_output_batch_rows_override", batch_rows.to_string());
    options
}

/// Some of the columns, each whole; in any order.
fn random_columns(rows: &RecordBatch, random: &mut Random) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..rows.num_columns()).collect();
    for at in (1..columns.len()).rev() {
        columns.swap(at, random.below(at as u64 + 1) as usize);
    }
    columns.truncate(1 + random.below(columns.len() as u64) as usize);
    columns
}

/// What differs between the engine and the oracle, if something does.
fn difference(rows: &RecordBatch, random: &mut Random) -> Option<String> {
    let file = random_file(rows, random);
    let files = MemoryFiles::new();
    files.put("f.parquet", file.clone());
    let engine = engine_over(&files);
    let chosen = random_columns(rows, random);
    for columns in [None, Some(chosen)] {
        let schema = rows.schema_ref();
        let names = columns.as_ref().map(|columns| {
            columns.iter().map(|column| schema.field(*column).name().clone()).collect()
        });
        let request = ScanRequest {
            paths: vec!["f.parquet".to_string()],
            columns: names,
            ..ScanRequest::default()
        };
        let got = engine.scan(&request, &random_options(random)).and_then(lines);
        let got = match got {
            Ok(got) => got,
            Err(error) => return Some(format!("columns {columns:?}: {error}")),
        };
        let want = oracle::lines_of_columns(file.clone(), columns.as_deref());
        if let Some(row) =
            (0..got.len().max(want.len())).find(|row| got.get(*row) != want.get(*row))
        {
            let (got, want) = (got.get(row), want.get(row));
            return Some(format!("columns {columns:?}, row {row}:\n got  {got:?}\n want {want:?}"));
        }
    }
    None
}

fn depth(field: &Field) -> usize {
    match field.data_type() {
        DataType::List(inner) => 1 + depth(inner),
        // The entry of a map is no level of its own.
        DataType::Map(entry, _) => depth(entry),
        DataType::Struct(fields) => 1 + fields.iter().map(|field| depth(field)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Runs the cases `first`, `first + step`, ...; gives the differences and the greatest depth.
fn run(cases: std::ops::Range<u64>, step: usize) -> (Vec<String>, usize) {
    let (mut differences, mut deepest) = (Vec::new(), 0);
    for case in cases.step_by(step) {
        let random = &mut Random::new(case.wrapping_mul(0xd134_2543_de82_ef95));
        let rows = schema::random_batch(random);
        let fields = rows.schema_ref().fields();
        deepest = fields.iter().map(|field| depth(field)).fold(deepest, usize::max);
        if let Some(found) = difference(&rows, random) {
            differences.push(format!("case {case}, {fields:?}, {found}"));
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
