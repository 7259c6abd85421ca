//! The chunks of a row group: walked over once, parsed when somebody asks for them.
//!
//! A footer lists every column of every row group, a query wants a few of them. Structs on the wire
//! do not say how long they are, so that all have to be walked over; but what is built of a chunk on
//! the way is only what is checked of all of them. The rest is parsed out of the same bytes by the
//! first who wants it.
//!
//! ```text
//! footer bytes   ..[chunk 0][chunk 1][chunk 2]..
//!                   ^        ^        ^
//! briefs            |offset, storage, values, region|      of all chunks, when the file is opened
//! parsed                     ColumnChunk                   of those that were asked for
//! ```

use std::fmt;

use vector::sync::{Arc, OnceLock};
use vector::{Buffer, Error, Result};

use super::file_metadata::column_chunk;
use super::memory::MetadataMemory;
use super::structs::{Codec, ColumnChunk, ColumnMetaData, PhysicalType, start_of_pages};
use super::{Field, ThriftReader, WireType, required};

/// Least bytes of a chunk on the wire: its required field at one byte of body.
const MIN_COLUMN_CHUNK_BYTES: usize = 3;

/// One chunk for each leaf of a row group, in schema order.
pub struct ColumnChunks {
    footer: Buffer<u8>,
    briefs: Vec<ChunkBrief>,
    /// What pays for the parsed chunks.
    memory: Option<Arc<MetadataMemory>>,
    /// Places for the parsed chunks; none before the first of the row group is asked for.
    parsed: OnceLock<Box<[OnceLock<Box<ColumnChunk>>]>>,
}

/// What is known of every chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkBrief {
    /// Where in the footer the chunk's struct starts.
    offset: usize,
    /// What its metadata says, if there is some that is not encrypted.
    pub meta: Option<MetaBrief>,
    /// False when the pages are encrypted, or in another file.
    pub is_plain: bool,
}

/// The part of [`ColumnMetaData`] that has to fit schema and file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaBrief {
    /// How values are stored.
    pub physical: PhysicalType,
    /// Values including nulls.
    pub num_values: u64,
    /// The first byte of the chunk.
    pub start_offset: u64,
    /// Page headers and pages as they are in the file.
    pub compressed_bytes: u64,
}

impl MetaBrief {
    /// The brief of metadata.
    pub fn of(meta: &ColumnMetaData) -> Self {
        MetaBrief {
            physical: meta.physical,
            num_values: meta.num_values,
            start_offset: meta.start_offset(),
            compressed_bytes: meta.total_compressed_bytes,
        }
    }
}

impl ColumnChunks {
    /// Walks over the list of chunks in `field`; `footer` is what `r` reads.
    pub(super) fn read(
        r: &mut ThriftReader<'_>,
        field: Field,
        footer: &Buffer<u8>,
    ) -> Result<Self> {
        let briefs = r.read_list(field, WireType::Struct, MIN_COLUMN_CHUNK_BYTES, brief)?;
        let memory = r.memory().cloned();
        Ok(ColumnChunks { footer: footer.clone(), briefs, memory, parsed: OnceLock::new() })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.briefs.len()
    }

    /// True for a row group without columns.
    pub fn is_empty(&self) -> bool {
        self.briefs.is_empty()
    }

    /// What is known of all chunks.
    pub fn briefs(&self) -> &[ChunkBrief] {
        &self.briefs
    }

    /// The chunk of a leaf. An error when there is none, or when it is broken in a part that is not
    /// looked at before.
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

    /// All chunks in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<&ColumnChunk>> {
        (0..self.len()).map(|leaf| self.chunk(leaf))
    }

    /// Changes the chunk of a leaf, and what is known of it without parsing.
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
            meta: chunk.meta_data.as_ref().map(MetaBrief::of),
            is_plain: (chunk.crypto.is_none() || chunk.is_unlocked) && chunk.file_path.is_none(),
        }
    }
}

/// Chunks that stand in no footer.
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

/// Walks over a chunk. As strict as the parser in what the brief has, and in how things are written
/// in all the rest; what that means is looked at when the chunk is parsed.
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

fn meta_brief(r: &mut ThriftReader<'_>) -> Result<MetaBrief> {
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
    Ok(MetaBrief { physical, num_values, start_offset, compressed_bytes })
}
