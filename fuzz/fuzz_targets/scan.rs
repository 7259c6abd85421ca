//! Fuzzes scans of whole files: any bytes return rows or an error within the memory limit. The
//! corpus should start with small valid files, so that mutations reach pages, levels and encodings.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ocior::{Engine, QueryOptions, ScanRequest};
use vector::sync::Arc;

/// Memory limit of the engine in bytes.
const MEMORY_LIMIT: u64 = 256 << 20;

/// Number of rows after which the scan of a file that decompresses to very many rows is stopped.
const MAX_ROWS: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let files = dwio::fs::MemoryFiles::new();
    files.put("f.parquet", data.to_vec());
    let engine = Engine::builder().file_system(Arc::new(files)).memory_limit(MEMORY_LIMIT).build();
    let request = ScanRequest { paths: vec!["f.parquet".to_string()], ..ScanRequest::default() };
    let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    let Ok(result) = engine.scan(&request, &options) else { return };
    let mut rows = 0;
    for batch in result {
        let Ok(batch) = batch else { return };
        vector::check::check_batch(&batch).expect("a scan gave a broken batch");
        rows += batch.len();
        if rows > MAX_ROWS {
            return;
        }
    }
});
