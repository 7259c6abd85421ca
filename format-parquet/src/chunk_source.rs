//! A column chunk in its file: from where the parts beside its pages are read.
//!
//! Page indexes and bloom filters stand anywhere in front of the footer, and in encrypted files
//! each is a module of its own. Whatever is wrong with one of them is a defect of that part; only a file
//! that cannot be read is an error of the reading.

use std::ops::Range;

use dwio::input::BufferedInput;
use vector::{Buffer, Error, ErrorKind, Result};

use crate::decrypt::{ChunkDecryptor, FileDecryptor, ModuleKind};
use crate::footer::Footer;
use crate::thrift::structs::{ColumnChunk, ColumnMetaData, IndexRegion};

/// A file that is open for reading.
#[derive(Debug, Clone, Copy)]
pub struct FileSource<'a> {
    /// Its bytes.
    pub input: &'a BufferedInput,
    /// What decrypts it, if it is encrypted and keys are known.
    pub decryptor: Option<&'a FileDecryptor>,
}

impl<'a> FileSource<'a> {
    /// A file that is not encrypted.
    pub fn plain(input: &'a BufferedInput) -> Self {
        FileSource { input, decryptor: None }
    }

    /// One of its chunks.
    pub fn chunk(self, footer: &'a Footer, row_group: usize, leaf: usize) -> ChunkSource<'a> {
        ChunkSource { file: self, footer, row_group, leaf }
    }
}

/// A column chunk of a file that is open for reading.
#[derive(Debug, Clone, Copy)]
pub struct ChunkSource<'a> {
    /// The file.
    pub file: FileSource<'a>,
    /// Its footer.
    pub footer: &'a Footer,
    /// The row group.
    pub row_group: usize,
    /// The leaf.
    pub leaf: usize,
}

impl<'a> ChunkSource<'a> {
    /// The chunk, if there is one that is not broken.
    pub fn chunk(&self) -> Option<&'a ColumnChunk> {
        self.footer.column_chunk(self.row_group, self.leaf).ok()
    }

    /// The chunk's metadata, if it is there to be read.
    pub fn meta(&self) -> Option<&'a ColumnMetaData> {
        self.chunk()?.meta_data.as_ref()
    }

    /// What decrypts the chunk: `None` when it is not encrypted, an error without the key.
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

    /// Reads an index, decrypted.
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

/// The bytes of a region, which must stand in front of the footer.
pub(crate) fn region_inside(footer: &Footer, region: IndexRegion) -> Result<Range<u64>> {
    match region.offset.checked_add(u64::from(region.bytes)) {
        Some(end) if end <= footer.footer_offset => Ok(region.offset..end),
        _ => Err(Error::corrupt("the index is not in front of the footer")
            .with("offset", region.offset)
            .with("bytes", region.bytes)
            .with("footer_offset", footer.footer_offset)),
    }
}

/// True when the error is about what was read, and not about reading: whoever can do without the
/// part goes on.
pub(crate) fn is_defect(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::InvalidInput)
}
