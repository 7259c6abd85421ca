//! Valid files of every shape, small enough that one is read in no time.

use arrow_array::RecordBatch;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};

use crate::differential::rows::random_rows;
use crate::random_files::encodings;
use crate::support::encryption::Encryption;
use crate::support::file_parts::{FileParts, Indexes};

/// Rows of a file, in several row groups of several pages.
const NUM_ROWS: usize = 30;

/// Columns that share one file, each with the row's number.
const GROUPS: [&[&str]; 6] = [
    &["id", "bool_null", "int32", "int64_null", "float_null"],
    &["id", "int16", "uint32_null", "uint64", "double", "date_null"],
    &["id", "decimal9_null", "decimal38", "stamp_us_null", "time_ms", "fixed_null"],
    &["id", "text", "text_null", "bytes_null", "all_null", "bool"],
    &["id", "list", "list_list"],
    &["id", "map", "struct"],
];

/// What a file is like, but for its columns.
#[derive(Debug, Clone, Copy)]
struct Shape {
    version: WriterVersion,
    codec: Compression,
    /// Bytes beyond which a dictionary is given up; 0 for none.
    dictionary_bytes: usize,
    /// Which of the encodings that a column may have; the writer's choice beyond them.
    encoding: usize,
    statistics: EnabledStatistics,
    has_bloom_filters: bool,
    indexes: Indexes,
    encryption: Encryption,
    rows_per_page: usize,
}

fn shapes() -> Vec<Shape> {
    let plain = Shape {
        version: WriterVersion::PARQUET_1_0,
        codec: Compression::UNCOMPRESSED,
        dictionary_bytes: 0,
        encoding: 0,
        statistics: EnabledStatistics::Chunk,
        has_bloom_filters: false,
        indexes: Indexes::None,
        encryption: Encryption::None,
        rows_per_page: 5,
    };
    let second = Shape { version: WriterVersion::PARQUET_2_0, ..plain };
    let dictionary = Shape { dictionary_bytes: 1 << 20, encoding: 9, ..plain };
    let indexed = Shape { indexes: Indexes::Both, statistics: EnabledStatistics::Page, ..plain };
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let encrypted = Encryption::EncryptedFooter;
    vec![
        plain,
        second,
        dictionary,
        indexed,
        Shape { dictionary_bytes: 1 << 20, ..second },
        Shape { dictionary_bytes: 40, ..second },
        Shape { dictionary_bytes: 40, codec: Compression::SNAPPY, ..dictionary },
        Shape { encoding: 1, ..second },
        Shape { encoding: 2, codec: zstd, ..second },
        Shape { encoding: 1, ..indexed },
        Shape { version: second.version, codec: Compression::SNAPPY, ..indexed },
        Shape { dictionary_bytes: 1 << 20, has_bloom_filters: true, codec: zstd, ..indexed },
        Shape { indexes: Indexes::Offset, codec: Compression::LZ4_RAW, ..dictionary },
        Shape { statistics: EnabledStatistics::None, has_bloom_filters: true, ..second },
        Shape { encryption: encrypted, has_bloom_filters: true, dictionary_bytes: 400, ..indexed },
        Shape { encryption: Encryption::PlaintextFooter, ..second },
        Shape { encryption: Encryption::PlaintextFooter, ..dictionary },
        Shape { rows_per_page: 1000, indexes: Indexes::Both, ..dictionary },
    ]
}

/// A valid file in parts, and its expected contents.
pub(super) struct Seed {
    /// For people.
    pub(super) name: String,
    pub(super) parts: FileParts,
    pub(super) columns: &'static [&'static str],
}

/// Files of each shape with each group of columns.
pub(super) fn seeds() -> Vec<Seed> {
    let rows = random_rows(20_261_201, NUM_ROWS);
    let mut seeds = Vec::new();
    for (n, shape) in shapes().into_iter().enumerate() {
        for columns in GROUPS {
            let indices: Vec<usize> =
                columns.iter().map(|c| rows.schema_ref().index_of(c).unwrap()).collect();
            let file = write(&rows.project(&indices).unwrap(), shape);
            seeds.push(Seed {
                name: format!("shape {n} of {}", columns.join(" ")),
                parts: FileParts::parse(&file, shape.indexes, shape.encryption),
                columns,
            });
        }
    }
    seeds
}

fn write(rows: &RecordBatch, shape: Shape) -> Vec<u8> {
    let schema = ArrowSchemaConverter::new().convert(rows.schema_ref()).unwrap();
    let mut properties = WriterProperties::builder()
        .set_writer_version(shape.version)
        .set_compression(shape.codec)
        .set_statistics_enabled(shape.statistics)
        .set_write_page_header_statistics(shape.statistics == EnabledStatistics::Page)
        .set_dictionary_enabled(shape.dictionary_bytes > 0)
        .set_dictionary_page_size_limit(shape.dictionary_bytes.max(1))
        .set_bloom_filter_enabled(shape.has_bloom_filters)
        .set_data_page_row_count_limit(shape.rows_per_page)
        .set_write_batch_size(shape.rows_per_page.min(64))
        .set_max_row_group_row_count(Some(18));
    for column in schema.columns() {
        let path = column.path().clone();
        if let Some(encoding) = encodings(column.physical_type()).get(shape.encoding) {
            properties = properties.set_column_encoding(path.clone(), *encoding);
        }
        if column.physical_type() != PhysicalType::BOOLEAN {
            properties = properties.set_column_bloom_filter_max_ndv(path, 50);
        }
    }
    let options = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, rows.schema(), options).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes
}
