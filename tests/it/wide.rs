//! Files with many columns in many row groups: their footer is read once for a whole query.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use ocior::Engine;
use vector::Result;

use crate::support::command::Scratch;
use crate::support::files::{Layout, parquet_file, with_drivers};

const NUM_COLUMNS: usize = 200;

/// Returns a file whose last row group ends beyond the shortest split that several drivers get,
/// with a footer larger than the part of each file's end that is read first.
fn wide_file() -> Vec<u8> {
    let column = |i: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..6_000).map(|row| row * 0x9e37_79b9 + i)))
    };
    let columns = (0..NUM_COLUMNS).map(|i| (format!("column{i:03}"), column(i as i64)));
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let layout = Layout { has_dictionary: false, rows_per_group: 200, ..Layout::default() };
    parquet_file(&rows, layout)
}

fn footer_bytes(file: &[u8]) -> u64 {
    let length = file.len() - 8..file.len() - 4;
    u64::from(u32::from_le_bytes(file[length].try_into().unwrap()))
}

#[test]
fn the_footer_of_a_wide_file_is_read_once_for_all_splits() -> Result<()> {
    let bytes = wide_file();
    let footer_bytes = footer_bytes(&bytes);
    assert!(bytes.len() > 8 << 20 && footer_bytes > 256 << 10, "{} {footer_bytes}", bytes.len());
    let scratch = Scratch::new("wide");
    let path = scratch.write("wide.parquet", &bytes);
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(86_400)).unwrap();
    let engine = Engine::new();
    for drivers in [1, 3] {
        let options = with_drivers(drivers);
        let sql = format!("SELECT count(*), sum(column007) FROM '{path}'");
        let mut result = engine.query_with(&sql, &options)?;
        let batches = result.by_ref().collect::<Result<Vec<_>>>()?;
        assert_eq!(batches.len(), 1);
        let scan = result.stats().operators.into_iter().find(|o| o.scan.is_some()).unwrap();
        assert!(drivers == 1 || scan.num_splits > 1, "{}", scan.num_splits);
        assert!(scan.raw_bytes < footer_bytes, "{} of {footer_bytes}", scan.raw_bytes);
    }
    Ok(())
}
