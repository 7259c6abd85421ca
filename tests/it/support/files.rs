//! Parquet files written by the Arrow crates, and rows read by the engine.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use dwio::fs::MemoryFiles;
use ocior::output::{OutputFormat, batch_writer};
use ocior::{Engine, QueryOptions, QueryResult};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use vector::Result;

/// Layout of a written file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) codec: Compression,
    pub(crate) has_dictionary: bool,
    pub(crate) version: WriterVersion,
    pub(crate) rows_per_page: usize,
    pub(crate) rows_per_group: usize,
    /// Encoding of values outside of dictionaries; `None` for the writer's choice for each type,
    /// which in version 2 are the delta encodings.
    pub(crate) encoding: Option<Encoding>,
    /// True when floating point numbers are written as BYTE_STREAM_SPLIT.
    pub(crate) splits_floats: bool,
    /// Size in bytes beyond which a chunk falls back from its dictionary to plain pages.
    pub(crate) dictionary_bytes: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            codec: Compression::SNAPPY,
            has_dictionary: true,
            version: WriterVersion::PARQUET_1_0,
            rows_per_page: 1000,
            rows_per_group: 100_000,
            encoding: Some(Encoding::PLAIN),
            splits_floats: false,
            dictionary_bytes: 1 << 20,
        }
    }
}

/// Writes rows as a Parquet file. The Arrow schema is left out, so that every reader uses the
/// Parquet schema alone.
pub(crate) fn parquet_file(rows: &RecordBatch, layout: Layout) -> Vec<u8> {
    let mut properties = WriterProperties::builder()
        .set_compression(layout.codec)
        .set_dictionary_enabled(layout.has_dictionary)
        .set_dictionary_page_size_limit(layout.dictionary_bytes)
        .set_writer_version(layout.version)
        .set_data_page_row_count_limit(layout.rows_per_page)
        // Limits of pages are checked between batches of this size.
        .set_write_batch_size(layout.rows_per_page.min(64))
        .set_max_row_group_row_count(Some(layout.rows_per_group));
    if let Some(encoding) = layout.encoding {
        properties = properties.set_encoding(encoding);
    }
    if layout.splits_floats {
        for field in rows.schema_ref().fields().iter().filter(|f| f.data_type().is_floating()) {
            let column = ColumnPath::from(vec![field.name().clone()]);
            properties = properties.set_column_encoding(column, Encoding::BYTE_STREAM_SPLIT);
        }
    }
    let properties = properties.build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, rows.schema(), options).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    bytes
}

/// Returns options of a query with this number of drivers.
pub(crate) fn with_drivers(drivers: usize) -> QueryOptions {
    QueryOptions { drivers, ..QueryOptions::default() }
}

/// Stores rows as the files of a folder, `rows_per_file` in each: a small file is read by one
/// driver, so several drivers need several files.
pub(crate) fn put_table(
    files: &MemoryFiles,
    folder: &str,
    rows: &RecordBatch,
    (rows_per_file, layout): (usize, Layout),
) {
    for start in (0..rows.num_rows().max(1)).step_by(rows_per_file) {
        let part = rows.slice(start, rows_per_file.min(rows.num_rows() - start));
        files.put(format!("{folder}/{start}.parquet"), parquet_file(&part, layout));
    }
}

/// Returns rows with one column `n`: the numbers from 0 on.
pub(crate) fn numbers(num_rows: usize) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..num_rows as i64));
    RecordBatch::try_from_iter([("n", numbers)]).unwrap()
}

/// Returns a file of [`numbers`].
pub(crate) fn numbers_file(num_rows: usize) -> Vec<u8> {
    parquet_file(&numbers(num_rows), Layout::default())
}

/// Returns an engine over files in memory.
pub(crate) fn engine_over(files: &MemoryFiles) -> Engine {
    Engine::builder().file_system(Arc::new(files.clone())).build()
}

/// Returns options with one driver, so that rows keep their order.
pub(crate) fn in_order() -> QueryOptions {
    QueryOptions { drivers: 1, ..QueryOptions::default() }
}

/// Returns the rows of a query as canonical lines.
pub(crate) fn lines_of(engine: &Engine, sql: &str) -> Result<Vec<String>> {
    lines(engine.query_with(sql, &in_order())?)
}

/// Returns the rows of a running query as canonical lines.
pub(crate) fn lines(result: QueryResult) -> Result<Vec<String>> {
    let row_type = Arc::clone(result.row_type());
    let mut bytes = Vec::new();
    let mut writer =
        batch_writer(OutputFormat::CanonicalJsonLines, &row_type, Box::new(&mut bytes))?;
    for batch in result {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    drop(writer);
    Ok(String::from_utf8(bytes).unwrap().lines().map(str::to_string).collect())
}
