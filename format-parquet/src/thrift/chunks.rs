//! The column chunks of a row group: scanned once, and parsed when they are first used.
//!
//! A footer lists every column of every row group, and a query needs a few of them. Structs in the
//! wire format do not state their length, so all of them have to be scanned; but the scan of a
//! chunk builds only the fields that are checked for all chunks. The rest is parsed from the same
//! bytes on the first access.
//!
//! ```text
//! footer bytes   ..[chunk 0][chunk 1][chunk 2]..
//!                   ^        ^        ^
//! briefs            |offset, storage, values, region|      of all chunks, when the file is opened
//! parsed                     ColumnChunk                   of those that are used
//! ```

use std::fmt;

use vector::sync::{Arc, OnceLock};
use vector::{Buffer, Error, Result};

use super::file_metadata::column_chunk;
use super::memory::MetadataMemory;
use super::structs::{Codec, ColumnChunk, ColumnMetaData, PhysicalType, start_of_pages};
use super::{Field, ThriftReader, WireType, required};

/// Minimum number of bytes of a chunk in the wire format: its required field with one byte of body.
const MIN_COLUMN_CHUNK_BYTES: usize = 3;

/// The column chunks of a row group, one for each leaf, in schema order.
pub struct ColumnChunks {
    footer: Buffer<u8>,
    briefs: Vec<ChunkBrief>,
    /// The memory to which parsed chunks are charged.
    memory: Option<Arc<MetadataMemory>>,
    /// Slots for the parsed chunks; not allocated before the first chunk of the row group is used.
    parsed: OnceLock<Box<[OnceLock<Box<ColumnChunk>>]>>,
}

/// The fields that are available for every chunk without parsing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkBrief {
    /// Offset of the chunk's struct in the footer.
    offset: usize,
    /// The checked part of its metadata, if there is any that is not encrypted.
    pub meta: Option<ChunkSummary>,
    /// False when the pages are encrypted, or in another file.
    pub is_plain: bool,
}

/// The part of [`ColumnMetaData`] that must agree with the schema and the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSummary {
    /// The physical type of the values.
    pub physical: PhysicalType,
    /// Number of values, nulls included.
    pub num_values: u64,
    /// Offset of the first byte of the chunk.
    pub start_offset: u64,
    /// Total size in bytes of page headers and pages as stored in the file.
    pub compressed_bytes: u64,
}

impl ChunkSummary {
    /// Returns the checked part of metadata.
    pub fn of(meta: &ColumnMetaData) -> Self {
        ChunkSummary {
            physical: meta.physical,
            num_values: meta.num_values,
            start_offset: meta.start_offset(),
            compressed_bytes: meta.total_compressed_bytes,
        }
    }
}

impl ColumnChunks {
    /// Scans the list of chunks in `field`; `footer` are the bytes that `r` reads.
    pub(super) fn read(
        r: &mut ThriftReader<'_>,
        field: Field,
        footer: &Buffer<u8>,
    ) -> Result<Self> {
        let briefs = r.read_list(field, WireType::Struct, MIN_COLUMN_CHUNK_BYTES, brief)?;
        let memory = r.memory().cloned();
        Ok(ColumnChunks { footer: footer.clone(), briefs, memory, parsed: OnceLock::new() })
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.briefs.len()
    }

    /// Returns true for a row group without columns.
    pub fn is_empty(&self) -> bool {
        self.briefs.is_empty()
    }

    /// Returns the fields of all chunks that are available without parsing.
    pub fn briefs(&self) -> &[ChunkBrief] {
        &self.briefs
    }

    /// Returns the chunk of a leaf and parses it on the first call.
    ///
    /// # Errors
    ///
    /// `Internal` when there is no such leaf, `Corrupt` when a part of the chunk that was not
    /// examined before is invalid, `Limit` when memory is not granted.
    pub fn chunk(&self, leaf: usize) -> Result<&ColumnChunk> {
        let no_such = || Error::internal("no such column chunk").with("leaf", leaf);
        let brief = self.briefs.get(leaf).ok_or_else(no_such)?;
        let places = self.parsed.get_or_init(|| places(self.briefs.len()));
        let place = places.get(leaf).ok_or_else(no_such)?;
        if let Some(chunk) = place.get() {
            return Ok(chunk);
        }
        if let Some(memory) = &self.memory {
            memory.reserve(size_of::<ColumnChunk>())?;
        }
        let r = ThriftReader::at(&self.footer, brief.offset);
        let chunk = column_chunk(&mut r.with_memory(self.memory.as_ref()).without_prepaying())?;
        Ok(place.get_or_init(|| Box::new(chunk)))
    }

    /// Returns all chunks in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<&ColumnChunk>> {
        (0..self.len()).map(|leaf| self.chunk(leaf))
    }

    /// Changes the chunk of a leaf, and the fields that are available without parsing.
    pub(crate) fn change<T>(
        &mut self,
        leaf: usize,
        change: impl FnOnce(&mut ColumnChunk) -> T,
    ) -> Result<T> {
        self.chunk(leaf)?;
        let place = self.parsed.get_mut().and_then(|places| places.get_mut(leaf)?.get_mut());
        let (Some(chunk), Some(brief)) = (place, self.briefs.get_mut(leaf)) else {
            return Err(Error::internal("a parsed column chunk is gone").with("leaf", leaf));
        };
        let outcome = change(chunk);
        *brief = ChunkBrief { offset: brief.offset, ..ChunkBrief::of(chunk) };
        Ok(outcome)
    }
}

fn places(num_chunks: usize) -> Box<[OnceLock<Box<ColumnChunk>>]> {
    std::iter::repeat_with(OnceLock::new).take(num_chunks).collect()
}

impl ChunkBrief {
    fn of(chunk: &ColumnChunk) -> Self {
        ChunkBrief {
            offset: 0,
            meta: chunk.meta_data.as_ref().map(ChunkSummary::of),
            is_plain: (chunk.crypto.is_none() || chunk.is_unlocked) && chunk.file_path.is_none(),
        }
    }
}

/// Collects chunks that are not part of a stored footer.
impl FromIterator<ColumnChunk> for ColumnChunks {
    fn from_iter<I: IntoIterator<Item = ColumnChunk>>(chunks: I) -> Self {
        let parsed: Box<[_]> =
            chunks.into_iter().map(|chunk| OnceLock::from(Box::new(chunk))).collect();
        let briefs = parsed.iter().filter_map(|place| Some(ChunkBrief::of(place.get()?))).collect();
        ColumnChunks {
            footer: Buffer::empty(),
            briefs,
            memory: None,
            parsed: OnceLock::from(parsed),
        }
    }
}

impl Clone for ColumnChunks {
    fn clone(&self) -> Self {
        let (footer, briefs) = (self.footer.clone(), self.briefs.clone());
        ColumnChunks { footer, briefs, memory: self.memory.clone(), parsed: self.parsed.clone() }
    }
}

impl fmt::Debug for ColumnChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.briefs).finish()
    }
}

/// Scans a chunk. It is as strict as the parser for the fields that it builds, and for the wire
/// format of all others; the meaning of these is examined when the chunk is parsed.
fn brief(r: &mut ThriftReader<'_>) -> Result<ChunkBrief> {
    let mut brief = ChunkBrief { offset: r.offset(), meta: None, is_plain: true };
    r.read_struct("ColumnChunk", |r, field| {
        match field.id {
            3 => {
                r.expect(field, WireType::Struct)?;
                brief.meta = Some(meta_brief(r)?);
                return Ok(());
            }
            1 | 8 => brief.is_plain = false,
            _ => {}
        }
        r.skip(field)
    })?;
    Ok(brief)
}

fn meta_brief(r: &mut ThriftReader<'_>) -> Result<ChunkSummary> {
    let (mut physical, mut codec, mut num_values) = (None, None, None);
    let (mut compressed, mut data_offset) = (None, None);
    let (mut dictionary_offset, mut index_offset) = (None, None);
    r.read_struct("ColumnMetaData", |r, field| {
        match field.id {
            1 => physical = Some(PhysicalType::try_from(r.read_i32(field)?)?),
            4 => codec = Some(Codec::from(r.read_i32(field)?)),
            5 => num_values = Some(r.read_u64(field)?),
            7 => compressed = Some(r.read_u64(field)?),
            9 => data_offset = Some(r.read_u64(field)?),
            10 => index_offset = u64::try_from(r.read_i64(field)?).ok(),
            11 => dictionary_offset = u64::try_from(r.read_i64(field)?).ok(),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    let physical = required(physical, "type")?;
    required(codec, "codec")?;
    let num_values = required(num_values, "num_values")?;
    let compressed_bytes = required(compressed, "total_compressed_size")?;
    let data_offset = required(data_offset, "data_page_offset")?;
    let start_offset = start_of_pages(data_offset, dictionary_offset, index_offset);
    Ok(ChunkSummary { physical, num_values, start_offset, compressed_bytes })
}
