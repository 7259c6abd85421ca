//! Reads a stream of pages.
//!
//! A page states only that it is compressed, not by which codec; the codec is recognized by the
//! first bytes of the compressed body, or by the uncompressed size that Snappy writes first.

use std::io::Read;

use dwio::input::cursor::Cursor;
use format_parquet::page::decompress::{Decompressor, check_plausible, crc32};
use format_parquet::thrift::structs::Codec;
use vector::sync::Arc;
use vector::{Error, Result, ResultExt, RowType, RowVector};

use super::columns::read_body;

/// Number of bytes of a page header.
const HEADER_BYTES: usize = 21;
/// Bits of the codec byte.
const COMPRESSED: u8 = 1;
const ENCRYPTED: u8 = 2;
const CHECKSUMMED: u8 = 4;

/// Reads pages of one row type from `R`, which has a known number of bytes.
#[derive(Debug)]
pub struct PageReader<R> {
    input: R,
    row_type: Arc<RowType>,
    num_bytes: u64,
    offset: u64,
    num_pages: u64,
    decompressor: Decompressor,
}

/// Header of a page.
struct Header {
    num_rows: usize,
    codec: u8,
    unpacked_bytes: usize,
    body_bytes: usize,
    checksum: u64,
}

impl<R: Read> PageReader<R> {
    /// Returns a reader of the `num_bytes` bytes of `input` as pages of `row_type`.
    pub fn new(input: R, num_bytes: u64, row_type: Arc<RowType>) -> Self {
        PageReader {
            input,
            row_type,
            num_bytes,
            offset: 0,
            num_pages: 0,
            decompressor: Decompressor::default(),
        }
    }

    /// Returns the number of bytes of the pages read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next page; `None` after the last one.
    ///
    /// # Errors
    ///
    /// `Corrupt`, with the offset of the page, for a page that is truncated, has a wrong checksum
    /// or does not match the row type.
    pub fn next_page(&mut self) -> Result<Option<RowVector>> {
        if self.offset == self.num_bytes {
            return Ok(None);
        }
        let start = self.offset;
        let page = self.page().map_err(|error| error.with("page_offset", start));
        let page = page.in_place("page", self.num_pages)?;
        self.num_pages += 1;
        Ok(Some(page))
    }

    fn page(&mut self) -> Result<RowVector> {
        let header = Header::read(&self.bytes(HEADER_BYTES, "a page ends within its header")?)?;
        let body = self.bytes(header.body_bytes, "a page is cut short")?;
        header.check(&body)?;
        if header.codec & COMPRESSED == 0 {
            if header.unpacked_bytes != body.len() {
                return Err(Error::corrupt("a page that is not packed has two sizes")
                    .with("unpacked_bytes", header.unpacked_bytes)
                    .with("bytes", body.len()));
            }
            return read_body(&body, &self.row_type, header.num_rows);
        }
        let codec = codec_of(&body, header.unpacked_bytes);
        check_plausible(codec, body.len(), header.unpacked_bytes)?;
        let mut unpacked = vec![0; header.unpacked_bytes];
        self.decompressor.decompress(codec, &body, &mut unpacked)?;
        read_body(&unpacked, &self.row_type, header.num_rows)
    }

    /// Reads the next `len` bytes; memory for them is allocated only when that number of bytes is
    /// left.
    fn bytes(&mut self, len: usize, cut_short: &'static str) -> Result<Vec<u8>> {
        let left = self.num_bytes - self.offset;
        if len as u64 > left {
            return Err(Error::corrupt(cut_short)
                .with("offset", self.offset)
                .with("expected_bytes", len)
                .with("found_bytes", left));
        }
        let mut bytes = vec![0; len];
        self.input
            .read_exact(&mut bytes)
            .map_err(|e| Error::from_io(e, "cannot read a page").with("offset", self.offset))?;
        self.offset += len as u64;
        Ok(bytes)
    }
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let size = |cursor: &mut Cursor<'_>, what: &'static str| {
            let size = i32::from_le_bytes(cursor.take_array()?);
            usize::try_from(size).map_err(|_| Error::corrupt("a size is negative").with(what, size))
        };
        let header = Header {
            num_rows: size(&mut cursor, "rows")?,
            codec: cursor.u8()?,
            unpacked_bytes: size(&mut cursor, "unpacked_bytes")?,
            body_bytes: size(&mut cursor, "bytes")?,
            checksum: cursor.u64_le()?,
        };
        if header.codec & ENCRYPTED != 0 {
            return Err(Error::unsupported("an encrypted page").with("codec", header.codec));
        }
        match header.codec & !(COMPRESSED | CHECKSUMMED) {
            0 => Ok(header),
            _ => Err(Error::corrupt("a codec has unknown bits").with("codec", header.codec)),
        }
    }

    /// Verifies the checksum of the body and of the header's numbers, if there is one.
    fn check(&self, body: &[u8]) -> Result<()> {
        if self.codec & CHECKSUMMED == 0 {
            return Ok(());
        }
        let mut summed = body.to_vec();
        summed.push(self.codec);
        for number in [self.num_rows, self.unpacked_bytes] {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            summed.extend_from_slice(&number.to_le_bytes());
        }
        let found = u64::from(crc32(&summed));
        if found == self.checksum {
            return Ok(());
        }
        Err(Error::corrupt("a page has another checksum than its header says")
            .with("expected", format_args!("{:#010x}", self.checksum))
            .with("found", format_args!("{found:#010x}")))
    }
}

/// Returns the codec of a compressed body.
fn codec_of(body: &[u8], unpacked_bytes: usize) -> Codec {
    match body {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
        [0x1f, 0x8b, ..] | [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Codec::Gzip,
        _ => match Cursor::new(body).uleb128() {
            Ok(declared) if declared == unpacked_bytes as u64 => Codec::Snappy,
            _ => Codec::Lz4Raw,
        },
    }
}

#[cfg(test)]
mod tests {
    use vector::{DecodedVector, Type, Value};

    use super::*;

    /// Returns the body of a page with a BIGINT column without nulls.
    fn body(values: &[i64]) -> Vec<u8> {
        let mut body = 1i32.to_le_bytes().to_vec();
        body.extend(10i32.to_le_bytes());
        body.extend(b"LONG_ARRAY");
        body.extend((values.len() as i32).to_le_bytes());
        body.push(0);
        body.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        body
    }

    fn page(num_rows: i32, codec: u8, unpacked: usize, body: &[u8], checksum: u64) -> Vec<u8> {
        let mut page = num_rows.to_le_bytes().to_vec();
        page.push(codec);
        page.extend((unpacked as i32).to_le_bytes());
        page.extend((body.len() as i32).to_le_bytes());
        page.extend(checksum.to_le_bytes());
        page.extend(body);
        page
    }

    fn read(bytes: &[u8]) -> Result<Vec<Value>> {
        let row_type = Arc::new(RowType::new([("n", Type::BigInt)]));
        let mut reader = PageReader::new(bytes, bytes.len() as u64, row_type);
        let mut values = Vec::new();
        while let Some(batch) = reader.next_page()? {
            let column = DecodedVector::new(batch.child(0)?)?;
            for row in 0..batch.len() {
                values.push(column.value(row)?);
            }
        }
        Ok(values)
    }

    fn checksum(body: &[u8], codec: u8, num_rows: i32, unpacked: i32) -> u64 {
        let parts = [body, &[codec], &num_rows.to_le_bytes(), &unpacked.to_le_bytes()];
        u64::from(crc32(&parts.concat()))
    }

    #[test]
    fn pages_may_be_plain_packed_and_checksummed() {
        let plain = body(&[1, 2, 3]);
        let values = [1i64, 2, 3].map(Value::BigInt);
        let sum = checksum(&plain, 4, 3, plain.len() as i32);
        let first = page(3, 0, plain.len(), &plain, 0);
        let second = page(3, 4, plain.len(), &plain, sum);
        assert_eq!(
            read(&[first, second].concat()).unwrap(),
            [values.clone(), values.clone()].concat()
        );

        let snappy = snap::raw::Encoder::new().compress_vec(&plain).unwrap();
        let zstd = zstd::bulk::compress(&plain, 1).unwrap();
        for packed in [snappy, zstd] {
            let sum = checksum(&packed, 5, 3, plain.len() as i32);
            assert_eq!(read(&page(3, 5, plain.len(), &packed, sum)).unwrap(), values);
        }
    }

    #[test]
    fn a_wrong_checksum_a_cut_page_and_a_cipher_are_named() {
        let plain = body(&[1, 2]);
        let sum = checksum(&plain, 4, 2, plain.len() as i32);
        let error = read(&page(2, 4, plain.len(), &plain, sum ^ 1)).unwrap_err();
        assert!(error.to_string().contains("another checksum"), "{error}");
        let whole = page(2, 0, plain.len(), &plain, 0);
        for len in 1..whole.len() {
            let error = read(&whole[..len]).unwrap_err();
            assert!(error.field("expected_bytes").is_some() && error.is_in("page"), "{error}");
        }
        let error = read(&page(2, 2, plain.len(), &plain, 0)).unwrap_err();
        assert_eq!(error.kind(), vector::ErrorKind::Unsupported);
        assert!(read(&page(2, 8, plain.len(), &plain, 0)).is_err());
        assert!(read(&page(i32::MAX, 1, i32::MAX as usize, &plain, 0)).is_err());
    }
}
