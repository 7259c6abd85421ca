//! Fuzzes page headers: any bytes are parsed or rejected, and no more bytes are consumed than there
//! are.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok((_, consumed)) = format_parquet::thrift::parse_page_header(data) {
        assert!(consumed <= data.len());
    }
});
