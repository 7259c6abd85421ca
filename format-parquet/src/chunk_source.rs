//! A column chunk in its file: reads the parts of a chunk other than its pages.
//!
//! Page indexes and bloom filters are located anywhere before the footer, and in encrypted files
//! each is a separate module. Invalid content is a defect of that part only; a failed read of the
//! file is an error.

use std::ops::Range;

use dwio::input::BufferedInput;
use vector::{Buffer, Error, ErrorKind, Result};

use crate::decrypt::{ChunkDecryptor, FileDecryptor, ModuleKind};
use crate::footer::Footer;
use crate::thrift::structs::{ColumnChunk, ColumnMetaData, IndexRegion};

/// A file that is open for reading.
#[derive(Debug, Clone, Copy)]
pub struct FileSource<'a> {
    /// The bytes of the file.
    pub input: &'a BufferedInput,
    /// The decryptor of the file, if it is encrypted and keys are known.
    pub decryptor: Option<&'a FileDecryptor>,
}

impl<'a> FileSource<'a> {
    /// Creates the source of a file that is not encrypted.
    pub fn plain(input: &'a BufferedInput) -> Self {
        FileSource { input, decryptor: None }
    }

    /// Returns the source of one of the file's column chunks.
    pub fn chunk(self, footer: &'a Footer, row_group: usize, leaf: usize) -> ChunkSource<'a> {
        ChunkSource { file: self, footer, row_group, leaf }
    }
}

/// A column chunk of a file that is open for reading.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSource<'a> {
    /// The file.
    pub file: FileSource<'a>,
    /// The footer of the file.
    pub footer: &'a Footer,
    /// The number of the row group.
    pub row_group: usize,
    /// The number of the leaf.
    pub leaf: usize,
}

impl<'a> ChunkSource<'a> {
    /// Returns the chunk, if it exists and is valid.
    pub fn chunk(&self) -> Option<&'a ColumnChunk> {
        self.footer.column_chunk(self.row_group, self.leaf).ok()
    }

    /// Returns the chunk's metadata, if it exists and can be read.
    pub fn meta(&self) -> Option<&'a ColumnMetaData> {
        self.chunk()?.meta_data.as_ref()
    }

    /// Returns the decryptor of the chunk: `None` when it is not encrypted, an error without the
    /// key.
    pub(crate) fn decryptor(&self) -> Result<Option<ChunkDecryptor>> {
        let Some(crypto) = self.chunk().and_then(|chunk| chunk.crypto.as_ref()) else {
            return Ok(None);
        };
        let group = self.footer.row_groups().get(self.row_group);
        let ordinal = group.and_then(|group| usize::try_from(group.ordinal?).ok());
        let missing = || Error::invalid_input("the column is encrypted and its key is not given");
        let file = self.file.decryptor.ok_or_else(missing)?;
        let decryptor = file.chunk(crypto, ordinal.unwrap_or(self.row_group), self.leaf)?;
        decryptor.map(Some).ok_or_else(missing)
    }

    /// Reads an index and decrypts it if necessary.
    pub(crate) fn read_module(&self, region: IndexRegion, kind: ModuleKind) -> Result<Buffer<u8>> {
        let decryptor = self.decryptor()?;
        let range = region_inside(self.footer, region)?;
        let bytes = self.file.input.read(range.start, range.end.saturating_sub(range.start))?;
        match decryptor {
            None => Ok(bytes),
            Some(decryptor) => Ok(Buffer::from_slice(&decryptor.decrypt(kind, &bytes)?.0)),
        }
    }
}

/// Returns the byte range of a region, which must lie before the footer.
pub(crate) fn region_inside(footer: &Footer, region: IndexRegion) -> Result<Range<u64>> {
    match region.offset.checked_add(u64::from(region.bytes)) {
        Some(end) if end <= footer.footer_offset => Ok(region.offset..end),
        _ => Err(Error::corrupt("the index is not in front of the footer")
            .with("offset", region.offset)
            .with("bytes", region.bytes)
            .with("footer_offset", footer.footer_offset)),
    }
}

/// Returns true when the error is about the bytes that were read and not about reading them:
/// callers that do not require the part continue without it.
pub(crate) fn is_defect(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::InvalidInput)
}
