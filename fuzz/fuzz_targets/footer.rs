//! Fuzzes footers: any Thrift bytes in a valid frame are parsed or rejected without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let bytes = vector::Buffer::from_slice(data);
    if let Ok(metadata) = format_parquet::thrift::parse_file_metadata(&bytes) {
        for group in &metadata.row_groups {
            group.columns.iter().for_each(|chunk| drop(chunk));
        }
    }
});
