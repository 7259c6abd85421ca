//! The file of the benchmark: one column for each common way of storing values.

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use vector::sync::Arc;

/// Names of the columns, by their type and encoding.
pub(crate) const COLUMNS: [&str; 7] = [
    "int64_plain",
    "int64_dictionary",
    "int64_dictionary_nulls",
    "int32_delta",
    "double_plain",
    "string_dictionary",
    "string_plain",
];

const ROW_GROUP_ROWS: usize = 1 << 18;

/// Writes `rows` rows with Snappy; `seed` determines the values.
pub(crate) fn write(rows: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = move || {
        // xorshift64: random enough that the random columns do not compress.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words = ["AIR", "MAIL", "SHIP", "TRUCK", "a word that is longer than a view"];
    let plain: Vec<i64> = (0..rows).map(|_| next() as i64).collect();
    let few: Vec<i64> = (0..rows).map(|_| (next() % 1000) as i64).collect();
    let some: Vec<Option<i64>> = few.iter().map(|v| (v % 10 != 0).then_some(*v)).collect();
    let ascending: Vec<i32> = (0..rows).map(|i| (i as i32) * 3 + (next() % 7) as i32).collect();
    let doubles: Vec<f64> = (0..rows).map(|_| (next() % 10_000_000) as f64 / 100.0).collect();
    let picked: Vec<&str> = (0..rows).map(|_| words[next() as usize % words.len()]).collect();
    let texts: Vec<String> = (0..rows).map(|_| format!("comment {:x}", next())).collect();
    let arrays: [ArrayRef; 7] = [
        Arc::new(Int64Array::from(plain)),
        Arc::new(Int64Array::from(few)),
        Arc::new(Int64Array::from(some)),
        Arc::new(Int32Array::from(ascending)),
        Arc::new(Float64Array::from(doubles)),
        Arc::new(StringArray::from(picked)),
        Arc::new(StringArray::from(texts)),
    ];
    let batch = RecordBatch::try_from_iter(COLUMNS.into_iter().zip(arrays)).expect("equal lengths");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_dictionary_enabled(true);
    for column in ["int64_plain", "int32_delta", "double_plain", "string_plain"] {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(column), false);
    }
    let delta = parquet::basic::Encoding::DELTA_BINARY_PACKED;
    let properties = properties.set_column_encoding(ColumnPath::from("int32_delta"), delta).build();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("the batch is written");
    writer.close().expect("the file is finished");
    bytes
}
