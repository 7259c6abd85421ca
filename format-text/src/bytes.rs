//! Decompression of text files while they are read.
//!
//! The suffix of the path determines the codec, as in Hadoop. Decompression is streaming: memory
//! holds at most one chunk of compressed bytes and the codec's window, independent of the
//! uncompressed size.

use std::io::{self, Read};

use dwio::input::BufferedInput;
use vector::{Buffer, Error, Result};

/// Number of bytes, compressed or plain, per read of the file.
const CHUNK_BYTES: u64 = 256 << 10;

/// Base-2 logarithm of the largest window that a zstd file may require.
const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// Compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Not compressed; the only variant that several splits can share.
    Plain,
    /// One or more gzip members.
    Gzip,
    /// A zlib stream, which Hadoop calls deflate.
    Zlib,
    /// One or more zstd frames.
    Zstd,
}

impl Codec {
    /// Returns the codec that the suffix of a path stands for.
    ///
    /// # Errors
    /// `Unsupported` for a codec of Hadoop that is not implemented.
    pub(crate) fn of_path(path: &str) -> Result<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let Some((_, ending)) = name.rsplit_once('.') else { return Ok(Codec::Plain) };
        Ok(match ending {
            "gz" | "gzip" => Codec::Gzip,
            "deflate" | "zlib" => Codec::Zlib,
            "zst" | "zstd" => Codec::Zstd,
            "bz2" | "lz4" | "lzo" | "lzo_deflate" | "snappy" | "xz" => {
                return Err(Error::unsupported("text files packed like this are not built")
                    .with("ending", ending)
                    .hint("gzip, zlib and zstd are read"));
            }
            _ => Codec::Plain,
        })
    }

    /// Name of the codec for error messages.
    fn name(self) -> &'static str {
        match self {
            Codec::Plain => "plain",
            Codec::Gzip => "gzip",
            Codec::Zlib => "zlib",
            Codec::Zstd => "zstd",
        }
    }
}

/// Sequential stream of uncompressed bytes.
pub(crate) struct ByteSource {
    codec: Codec,
    bytes: Box<dyn Read + Send>,
}

impl ByteSource {
    /// Returns a stream of the bytes of a file from `offset`, which must be 0 for a compressed
    /// file.
    ///
    /// # Errors
    /// `Corrupt` if the zstd decoder cannot be created.
    pub(crate) fn new(input: BufferedInput, codec: Codec, offset: u64) -> Result<Self> {
        let file = FileBytes { input, at: offset, chunk: Buffer::empty(), used: 0 };
        let bytes: Box<dyn Read + Send> = match codec {
            Codec::Plain => Box::new(file),
            Codec::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Codec::Zlib => Box::new(flate2::read::ZlibDecoder::new(file)),
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::new(file).and_then(|mut decoder| {
                    decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
                    Ok(decoder)
                });
                Box::new(decoder.map_err(|e| broken(e, codec))?)
            }
        };
        Ok(ByteSource { codec, bytes })
    }

    /// Reads bytes into the front of `out` and returns their number; 0 at the end of the file.
    ///
    /// # Errors
    /// Errors of the file as they are; `Corrupt` if the compressed bytes are not valid.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        loop {
            match self.bytes.read(out) {
                Ok(len) => return Ok(len),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(broken(e, self.codec)),
            }
        }
    }
}

/// Returns the file's own error unchanged, and `Corrupt` for any other error of the decoder.
fn broken(error: io::Error, codec: Codec) -> Error {
    error.downcast::<Error>().unwrap_or_else(|error| {
        Error::corrupt("a packed file cannot be unpacked")
            .with("codec", codec.name())
            .caused_by(error)
    })
}

/// Bytes of a file as stored, read chunk by chunk.
struct FileBytes {
    input: BufferedInput,
    at: u64,
    chunk: Buffer<u8>,
    used: usize,
}

impl Read for FileBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.used == self.chunk.len() {
            let left = self.input.file_len().saturating_sub(self.at);
            self.chunk = Buffer::empty();
            self.used = 0;
            let len = left.min(CHUNK_BYTES);
            if len == 0 {
                return Ok(0);
            }
            self.chunk = self.input.read(self.at, len).map_err(io::Error::other)?;
            self.at += len;
        }
        let rest = self.chunk.get(self.used..).unwrap_or_default();
        let len = rest.len().min(out.len());
        if let (Some(out), Some(rest)) = (out.get_mut(..len), rest.get(..len)) {
            out.copy_from_slice(rest);
        }
        self.used += len;
        Ok(len)
    }
}
