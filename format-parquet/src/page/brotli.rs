//! BROTLI: a page is one stream.

use brotli_decompressor::{BrotliResult, brotli_decode};
use vector::{Error, Result};

/// Decompresses a page, which must fill `output` exactly.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<()> {
    // An empty page may be stored without a stream.
    if input.is_empty() && output.is_empty() {
        return Ok(());
    }
    let expected = output.len();
    let end = brotli_decode(input, output);
    match end.result {
        BrotliResult::ResultSuccess if end.decoded_size == expected => Ok(()),
        BrotliResult::ResultSuccess => {
            Err(Error::corrupt("a BROTLI page is smaller than its header says")
                .with("expected", expected)
                .with("found", end.decoded_size))
        }
        BrotliResult::NeedsMoreOutput => {
            Err(Error::corrupt("a BROTLI page is larger than its header says")
                .with("expected", expected))
        }
        BrotliResult::NeedsMoreInput | BrotliResult::ResultFailure => {
            Err(Error::corrupt("a BROTLI page cannot be decompressed")
                .with("decompressed", end.decoded_size))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a handmade stream of one uncompressed piece: window of 16 bits, a piece of 26 bytes
    /// ("hello brotli, hello brotli"), then the empty last piece.
    fn stored(plain: &[u8]) -> Vec<u8> {
        // Bits, lowest first: 0 (window); then not last, 4 nibbles, length - 1, uncompressed.
        let head: u32 = (plain.len() as u32 - 1) << 4 | 1 << 20;
        let mut out = head.to_le_bytes()[..3].to_vec();
        out.extend(plain);
        out.push(3);
        out
    }

    fn read(page: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; len];
        decompress(page, &mut out).map(|()| out)
    }

    #[test]
    fn a_stream_must_have_exactly_the_declared_size() {
        let plain = b"hello brotli, hello brotli";
        let page = stored(plain);
        assert_eq!(read(&page, plain.len()).unwrap(), plain);
        assert_eq!(
            read(&page, plain.len() - 1).unwrap_err().to_string(),
            "corrupt: a BROTLI page is larger than its header says (expected=25)"
        );
        assert!(read(&page, plain.len() + 1).is_err());
        assert_eq!(read(&[], 0).unwrap(), b"");
        assert!(read(&[], 1).is_err());
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        let page = stored(b"some bytes to be broken");
        for len in 0..page.len() {
            assert!(read(&page[..len], 23).is_err(), "{len}");
        }
        for at in 0..page.len() {
            for value in 0..=255 {
                let mut page = page.clone();
                page[at] = value;
                let _ = read(&page, 23);
            }
        }
    }
}
