//! Decompression of Snappy pages with typical contents of number and text columns.

use format_parquet::page::decompress::Decompressor;
use format_parquet::thrift::structs::Codec;

use crate::harness::Kernel;
use crate::noise;

/// Uncompressed size of a page in bytes.
const PAGE: usize = 1 << 20;

pub(crate) fn measure() {
    let mut next = noise(9);
    let words = ["carefully", "final", "deposits", "sleep", "quickly", "the", "ironic", "packages"];
    let mut page = |of: &mut dyn FnMut(u64, u64) -> Vec<u8>| {
        let mut bytes = Vec::with_capacity(PAGE + 64);
        for i in 0.. {
            bytes.extend(of(i, next()));
            if bytes.len() >= PAGE {
                break;
            }
        }
        bytes
    };
    let pages = [
        ("keys", page(&mut |_, r| (r % 200_000).to_le_bytes().to_vec())),
        ("prices", page(&mut |_, r| ((r % 10_000_000) as f64 / 100.0).to_le_bytes().to_vec())),
        ("ascending", page(&mut |i, _| (i / 4).to_le_bytes().to_vec())),
        ("words", page(&mut |_, r| format!("{} ", words[(r % 8) as usize]).into_bytes())),
        ("numbered", page(&mut |i, r| format!("row {i}: {}\n", r % 1000).into_bytes())),
        ("zeros", page(&mut |_, _| vec![0; 64])),
    ];
    for (name, page) in pages {
        let packed = snap::raw::Encoder::new().compress_vec(&page).expect("a page is small");
        let mut out = vec![0u8; page.len()];
        Kernel {
            name: &format!("snappy, {name}"),
            values: page.len(),
            bytes: page.len(),
            run: &mut |level| {
                Decompressor::at_level(level)
                    .decompress(Codec::Snappy, &packed, &mut out)
                    .expect("the page is sound");
                out.iter().step_by(997).fold(0, |sum, byte| sum * 3 % 65_521 + u64::from(*byte))
            },
        }
        .measure();
    }
}
