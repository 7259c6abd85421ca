//! Fuzzes Snappy decompression: Ocior's decoder and the `snap` crate accept the same blocks and
//! produce the same bytes. Half of the inputs are used as blocks directly; the other half are
//! compressed first and then modified.

#![no_main]

use format_parquet::page::decompress::Decompressor;
use format_parquet::thrift::structs::Codec;
use libfuzzer_sys::fuzz_target;

/// Maximum declared size of the blocks that are decoded.
const MAX_BYTES: usize = 1 << 20;

fn compare(block: &[u8]) {
    let Ok(len) = snap::raw::decompress_len(block) else {
        assert!(Decompressor::default().decompress(Codec::Snappy, block, &mut []).is_err());
        return;
    };
    if len > MAX_BYTES {
        return;
    }
    let (mut ours, mut theirs) = (vec![0xaa; len], vec![0; len]);
    let found = Decompressor::default().decompress(Codec::Snappy, block, &mut ours);
    match snap::raw::Decoder::new().decompress(block, &mut theirs) {
        Ok(_) => {
            found.expect("a good block was refused");
            assert!(ours == theirs, "the decoders disagree");
        }
        Err(_) => assert!(found.is_err(), "a broken block was accepted"),
    }
}

fuzz_target!(|data: &[u8]| {
    let [mode, rest @ ..] = data else { return };
    if mode & 1 == 0 {
        return compare(rest);
    }
    let mut block = snap::raw::Encoder::new().compress_vec(rest).expect("small data");
    compare(&block);
    let at = usize::from(*mode) * block.len() / 256;
    if let Some(byte) = block.get_mut(at) {
        *byte ^= 1 << (mode >> 1 & 7);
        compare(&block);
    }
});
