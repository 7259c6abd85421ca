//! Footers: any thrift bytes in a valid frame parse or are refused.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = format_parquet::thrift::parse_file_metadata(data);
});
