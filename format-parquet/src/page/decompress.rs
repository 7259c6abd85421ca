//! Codecs behind one bounded call: a page's bytes into exactly as many bytes as its header says.
//!
//! Before memory is taken for a page, [`check_plausible`] asks whether so few compressed bytes can
//! become so many at all; after decompression the length must be exact, so that no stale byte of a
//! reused buffer is ever seen. Decompression contexts are kept for the next page.

use std::io::Read;

use vector::cpu::{self, Level};
use vector::{Error, Result};

use super::{brotli, lz4, lzo, snappy};
use crate::thrift::structs::Codec;

/// The largest page, after decompression, unless a reader is told otherwise: the largest that the
/// format has. SPEC (`PageHeader`): sizes are 32-bit signed integers.
pub const MAX_PAGE_BYTES: usize = i32::MAX as usize;
/// What a page may have beyond the codec's best ratio: room for headers of small pages.
const FREE_BYTES: usize = 64 << 10;
/// A copy of three bytes yields at most 64.
const MAX_SNAPPY_RATIO: usize = 22;
/// A match of 258 bytes takes two bits at least.
const MAX_GZIP_RATIO: usize = 1032;
/// Run-length blocks have no real bound; large pages beyond this are bombs.
const MAX_ZSTD_RATIO: usize = 65_536;
/// ZSTD pages up to this size are never suspicious.
const FREE_ZSTD_BYTES: usize = 256 << 20;
/// A length byte of a match counts 255 at most.
const MAX_LZ4_RATIO: usize = 256;
/// As for LZ4.
const MAX_LZO_RATIO: usize = 256;
/// A copy command may be of any length; large pages beyond this are bombs.
const MAX_BROTLI_RATIO: usize = MAX_ZSTD_RATIO;
/// The first byte of zlib's own frame, which some writers take for GZIP.
const ZLIB_FIRST_BYTE: u8 = 0x78;

/// The codecs of one column, with what they keep between pages.
pub struct Decompressor {
    level: Level,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::at_level(cpu::level())
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decompressor")
    }
}

/// The checksum of a page as it is stored.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Refuses pages of more than `max` bytes.
///
/// # Errors
///
/// `Limit` when the page is larger.
pub fn check_size(uncompressed: usize, max: usize) -> Result<()> {
    if uncompressed <= max {
        return Ok(());
    }
    Err(Error::limit("a page is too large")
        .with("bytes", uncompressed)
        .with("max", max)
        .hint("the setting parquet_max_page_bytes raises the limit"))
}

/// Refuses sizes that the codec cannot produce, and codecs that we do not have.
pub fn check_plausible(codec: Codec, compressed: usize, uncompressed: usize) -> Result<()> {
    let (ratio, free) = match codec {
        Codec::Uncompressed => (1, 0),
        Codec::Snappy => (MAX_SNAPPY_RATIO, FREE_BYTES),
        Codec::Gzip => (MAX_GZIP_RATIO, FREE_BYTES),
        Codec::Zstd => (MAX_ZSTD_RATIO, FREE_ZSTD_BYTES),
        Codec::Brotli => (MAX_BROTLI_RATIO, FREE_ZSTD_BYTES),
        Codec::Lz4 | Codec::Lz4Raw => (MAX_LZ4_RATIO, FREE_BYTES),
        Codec::Lzo => (MAX_LZO_RATIO, FREE_BYTES),
        other => {
            return Err(Error::unsupported("this codec cannot be read yet").with("codec", other));
        }
    };
    if uncompressed <= compressed.saturating_mul(ratio).saturating_add(free) {
        return Ok(());
    }
    Err(Error::corrupt("a page claims to be larger than its bytes can become")
        .with("codec", codec)
        .with("compressed_bytes", compressed)
        .with("uncompressed_bytes", uncompressed))
}

impl Decompressor {
    /// Codecs that use no more than a level's instructions. Who switches our kernels off gets the
    /// `snap` crate instead of our own decoder.
    pub fn at_level(level: Level) -> Self {
        Decompressor { level, zstd: None }
    }

    /// True when two blocks of this codec are faster decompressed at once.
    pub fn takes_two(&self, codec: Codec) -> bool {
        codec == Codec::Snappy && !self.uses_snap()
    }

    /// [`Decompressor::decompress`] of two inputs into their outputs.
    pub fn decompress_two(
        &mut self,
        codec: Codec,
        a: (&[u8], &mut [u8]),
        b: (&[u8], &mut [u8]),
    ) -> (Result<()>, Result<()>) {
        if self.takes_two(codec) {
            let (a, b) = snappy::decompress_two(a, b);
            return (a.map_err(|e| broken(codec, e)), b.map_err(|e| broken(codec, e)));
        }
        (self.decompress(codec, a.0, a.1), self.decompress(codec, b.0, b.1))
    }

    fn uses_snap(&self) -> bool {
        self.level == Level::PORTABLE && cfg!(target_arch = "x86_64")
    }

    /// Fills `output` with what `input` decompresses to; `Corrupt` when that is not exactly as
    /// many bytes.
    pub fn decompress(&mut self, codec: Codec, input: &[u8], output: &mut [u8]) -> Result<()> {
        let wanted = output.len();
        let found = match codec {
            Codec::Uncompressed => {
                let n = input.len().min(wanted);
                if let (Some(to), Some(from)) = (output.get_mut(..n), input.get(..n)) {
                    to.copy_from_slice(from);
                }
                n
            }
            Codec::Snappy => {
                let declared = snappy::declared_len(input).map_err(|e| broken(codec, e))?;
                if declared != wanted {
                    return Err(wrong_size(codec, wanted, declared));
                }
                if self.uses_snap() {
                    let mut decoder = snap::raw::Decoder::new();
                    decoder.decompress(input, output).map_err(|e| broken(codec, e))?
                } else {
                    return snappy::decompress(input, output).map_err(|e| broken(codec, e));
                }
            }
            Codec::Gzip if input.first() == Some(&ZLIB_FIRST_BYTE) => {
                fill(flate2::bufread::ZlibDecoder::new(input), output)?
            }
            Codec::Gzip => fill(flate2::bufread::MultiGzDecoder::new(input), output)?,
            Codec::Zstd => {
                let decoder = match &mut self.zstd {
                    Some(decoder) => decoder,
                    none => none
                        .insert(zstd::bulk::Decompressor::new().map_err(|e| {
                            Error::limit("cannot make a decompressor").caused_by(e)
                        })?),
                };
                decoder.decompress_to_buffer(input, output).map_err(|e| broken(codec, e))?
            }
            Codec::Brotli => return brotli::decompress(input, output),
            Codec::Lz4 => return lz4::decompress_any(input, output),
            Codec::Lz4Raw => return lz4::decompress_raw(input, output),
            Codec::Lzo => return lzo::decompress(input, output),
            other => {
                return Err(
                    Error::unsupported("this codec cannot be read yet").with("codec", other)
                );
            }
        };
        if found == wanted { Ok(()) } else { Err(wrong_size(codec, wanted, found)) }
    }
}

/// Reads until `output` is full and then asks whether there is more.
fn fill(mut reader: impl Read, output: &mut [u8]) -> Result<usize> {
    let wanted = output.len();
    let mut filled = 0;
    while let Some(rest) = output.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest).map_err(|e| broken(Codec::Gzip, e))? {
            0 => return Ok(filled),
            n => filled += n,
        }
    }
    let more = reader.read(&mut [0]).map_err(|e| broken(Codec::Gzip, e))?;
    Ok(wanted + more)
}

#[cold]
fn broken(codec: Codec, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::corrupt("compressed data is broken").with("codec", codec).caused_by(cause)
}

#[cold]
fn wrong_size(codec: Codec, expected: usize, found: usize) -> Error {
    Error::corrupt("a page decompresses to another size than its header says")
        .with("codec", codec)
        .with("expected", expected)
        .with("found", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text() -> Vec<u8> {
        (0..5000u32).flat_map(|i| format!("row {} ", i % 97).into_bytes()).collect()
    }

    fn compressed(codec: Codec, data: &[u8]) -> Vec<u8> {
        match codec {
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(data).unwrap(),
            Codec::Zstd => zstd::bulk::compress(data, 1).unwrap(),
            Codec::Gzip => {
                let (a, b) = data.split_at(data.len() / 3);
                let member = |part: &[u8]| {
                    let mut w =
                        flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                    w.write_all(part).unwrap();
                    w.finish().unwrap()
                };
                [member(a), member(b)].concat()
            }
            _ => data.to_vec(),
        }
    }

    const CODECS: [Codec; 4] = [Codec::Uncompressed, Codec::Snappy, Codec::Gzip, Codec::Zstd];

    #[test]
    fn every_codec_gives_the_bytes_back_and_its_context_serves_again() {
        let data = text();
        let pairs = Level::available().flat_map(|level| CODECS.map(|codec| (level, codec)));
        for (level, codec) in pairs {
            let mut decompressor = Decompressor::at_level(level);
            let packed = compressed(codec, &data);
            check_plausible(codec, packed.len(), data.len()).unwrap();
            for _ in 0..2 {
                let mut out = vec![0xee; data.len()];
                decompressor.decompress(codec, &packed, &mut out).unwrap();
                assert!(out == data, "{codec}");
            }
        }
    }

    #[test]
    fn several_zstd_frames_are_one_page() {
        let packed = [compressed(Codec::Zstd, b"one "), compressed(Codec::Zstd, b"two")].concat();
        let mut out = [0; 7];
        Decompressor::default().decompress(Codec::Zstd, &packed, &mut out).unwrap();
        assert_eq!(&out, b"one two");
    }

    #[test]
    fn zlib_frames_pass_as_gzip() {
        let mut w = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        w.write_all(b"zlib").unwrap();
        let mut out = [0; 4];
        let packed = w.finish().unwrap();
        Decompressor::default().decompress(Codec::Gzip, &packed, &mut out).unwrap();
        assert_eq!(&out, b"zlib");
    }

    #[test]
    fn other_sizes_and_cut_input_are_corrupt() {
        let data = text();
        for codec in CODECS {
            let packed = compressed(codec, &data);
            let mut decompressor = Decompressor::default();
            for wrong in [data.len() - 1, data.len() + 1] {
                // Uncompressed bytes that are too many are refused by whoever knows both sizes.
                if codec == Codec::Uncompressed && wrong < data.len() {
                    continue;
                }
                assert!(decompressor.decompress(codec, &packed, &mut vec![0; wrong]).is_err());
            }
            for len in (0..packed.len()).step_by(7) {
                let cut = &packed[..len];
                assert!(decompressor.decompress(codec, cut, &mut vec![0; data.len()]).is_err());
            }
        }
    }

    #[test]
    fn impossible_ratios_are_refused_before_memory_is_taken() {
        assert!(check_plausible(Codec::Snappy, 10, 100 << 20).is_err());
        assert!(check_plausible(Codec::Gzip, 10, 100 << 20).is_err());
        assert!(check_plausible(Codec::Zstd, 10, 100 << 20).is_ok());
        assert!(check_plausible(Codec::Zstd, 10, 300 << 20).is_err());
        assert!(check_plausible(Codec::Uncompressed, 10, 11).is_err());
        assert!(check_size(2 << 30, MAX_PAGE_BYTES).is_err());
        assert!(check_size((1 << 30) + 4, MAX_PAGE_BYTES).is_ok());
        let error = check_plausible(Codec::Unknown(9), 1, 1).unwrap_err().to_string();
        assert_eq!(error, "unsupported: this codec cannot be read yet (codec=?9)");
    }
}
