//! Benchmark of whole columns read by Ocior and, in the same process and in alternation, by the
//! `parquet` crate.
//!
//! `cargo bench --bench columns` prints for each column the best time of both and the ratio: above
//! 1, Ocior is faster. Since machines are noisy, the two alternate run by run and only the ratio is
//! significant. Before anything is timed, both must return the same sum.
//!
//! | file | content |
//! |---|---|
//! | `data` | the columns, generated from a seed and written to memory |
//! | `harness` | alternating runs, the comparison of the results, the table |

mod data;
mod harness;

use std::hint::black_box;

use arrow_array::RecordBatchReader;
use bytes::Bytes;
use dwio::fs::MemoryFiles;
use ocior::{Engine, QueryOptions, ScanRequest};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use vector::sync::Arc;
use vector::{DecodedVector, FlatValues};

use harness::Duel;

const PATH: &str = "bench.parquet";

/// Number of rows per batch of the `parquet` crate, similar to Ocior's default.
const BATCH_ROWS: usize = 8192;

fn main() {
    let rows = std::env::var("OCIOR_BENCH_ROWS").ok().and_then(|n| n.parse().ok());
    let file = Bytes::from(data::write(rows.unwrap_or(1 << 20), 320));
    let files = MemoryFiles::new();
    files.put(PATH, file.to_vec());
    let engine = Engine::builder().file_system(Arc::new(files)).build();
    harness::print_header("ocior", "parquet crate");
    for column in data::COLUMNS {
        Duel {
            name: column,
            ocior: &mut || read_with_ocior(&engine, column),
            other: &mut || read_with_arrow(&file, column),
        }
        .run();
    }
}

/// Reads one column and folds it to a number, so that the values of both readers are compared.
fn read_with_ocior(engine: &Engine, column: &str) -> u64 {
    let request = ScanRequest {
        paths: vec![PATH.to_string()],
        columns: Some(vec![column.to_string()]),
        ..ScanRequest::default()
    };
    let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    let mut sum = 0u64;
    for batch in engine.scan(&request, &options).expect("the scan starts") {
        let batch = batch.expect("the file is sound");
        let decoded = DecodedVector::new(&batch.children()[0]).expect("the column decodes");
        for row in 0..decoded.len() {
            if decoded.is_null(row) {
                continue;
            }
            let at = decoded.index(row);
            sum = sum.wrapping_add(match decoded.flat_values() {
                Some(FlatValues::BigInt(v)) => v[at] as u64,
                Some(FlatValues::Integer(v)) => v[at] as u64,
                Some(FlatValues::Double(v)) => v[at].to_bits(),
                Some(FlatValues::String(v)) => v.get(at).len() as u64,
                other => panic!("an unexpected column: {other:?}"),
            });
        }
    }
    black_box(sum)
}

fn read_with_arrow(file: &Bytes, column: &str) -> u64 {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type, Int64Type};
    use arrow_schema::DataType;

    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).expect("a footer");
    let mask = ProjectionMask::columns(builder.parquet_schema(), [column]);
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build();
    let reader = reader.expect("a reader");
    let ty = reader.schema().field(0).data_type().clone();
    let mut sum = 0u64;
    for batch in reader {
        let batch = batch.expect("the file is sound");
        let array = batch.column(0);
        let part: u64 = match ty {
            DataType::Int64 => {
                let values = array.as_primitive::<Int64Type>().iter().flatten();
                values.fold(0, |s: u64, v| s.wrapping_add(v as u64))
            }
            DataType::Int32 => {
                let values = array.as_primitive::<Int32Type>().iter().flatten();
                values.fold(0, |s: u64, v| s.wrapping_add(v as u64))
            }
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>().iter().flatten();
                values.fold(0, |s: u64, v| s.wrapping_add(v.to_bits()))
            }
            _ => array.as_string::<i32>().iter().flatten().map(|s| s.len() as u64).sum(),
        };
        sum = sum.wrapping_add(part);
    }
    black_box(sum)
}
