//! The footer: located at the end of the file, checked for size, parsed and compared with the file.
//!
//! ```text
//! "PAR1"  ...pages...  FileMetaData  length (u32, little-endian)  "PAR1"
//!                      ^ footer_offset                            ^ the end locates the start
//! ```
//!
//! One read of the end of the file fetches most footers completely. The parsed footer is checked
//! against the file once, here, so that readers may rely on it: every chunk lies where pages can be
//! and has the physical type of the schema, and flat columns have as many values as the row group
//! has rows. The remaining metadata of a chunk is parsed when the chunk is first used; errors in it
//! are reported then.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::ops::Range;

use dwio::input::BufferedInput;
use vector::sync::Arc;
use vector::{Buffer, Error, Result, ResultExt};

use crate::decrypt::{ChunkDecryptor, FileDecryptor, KeyProvider, ModuleKind, SIGNATURE_BYTES};
use crate::schema::{Leaf, Schema};
use crate::thrift::chunks::{ChunkBrief, ChunkSummary};
use crate::thrift::file_metadata::parse_file_metadata_in;
use crate::thrift::file_metadata::{parse_column_metadata, parse_file_crypto_metadata};
use crate::thrift::memory::MetadataMemory;
use crate::thrift::structs::{
    COLUMN_IS_LOCKED, ColumnChunk, ColumnMetaData, FileMetaData, RowGroup,
};

/// The first and last bytes of every file.
const MAGIC: [u8; 4] = *b"PAR1";
/// The same as [`MAGIC`], in files with an encrypted footer.
const MAGIC_ENCRYPTED: [u8; 4] = *b"PARE";
pub(crate) const MAGIC_BYTES: u64 = MAGIC.len() as u64;
/// Number of bytes of the footer length and the magic at the end.
const TAIL_BYTES: u64 = 8;
/// Number of bytes of magic, footer length and magic.
const MIN_FILE_BYTES: u64 = MAGIC_BYTES + TAIL_BYTES;
/// Number of bytes that are read from the end before the size of the footer is known. Page indexes
/// are stored before the footer, and the part of them that this read covers is not read again.
pub(crate) const SPECULATIVE_BYTES: u64 = 64 << 10;
/// Maximum size in bytes of a footer that is read.
const MAX_FOOTER_BYTES: u64 = 512 << 20;
/// Approximate memory in bytes of the schema tree for each element: names, types and levels.
const SCHEMA_ELEMENT_BYTES: usize = 512;
/// Maximum number of row groups of a file.
const MAX_ROW_GROUPS: usize = 1_000_000;

/// A footer that has been checked against its file.
#[derive(Debug)]
pub struct Footer {
    /// The footer as parsed.
    pub metadata: FileMetaData,
    /// The schema as a tree.
    pub schema: Schema,
    /// Offset of the footer, which is the end of pages and indexes.
    pub footer_offset: u64,
    /// Size of the stored footer in bytes.
    pub footer_bytes: u64,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Number of rows of all row groups; the count that the file states may differ and is not
    /// trusted.
    pub num_rows: u64,
    /// The decryptor, when the file is encrypted and keys are given.
    pub decryptor: Option<FileDecryptor>,
    /// The first contradiction to the file; `None` unless the footer was read for inspection.
    pub defect: Option<Error>,
    /// The magic with which the file must start, if that is not checked yet.
    pub(crate) unchecked_head: Option<[u8; 4]>,
    /// The memory of the parsed structs, charged to the pool of the input from which they were
    /// read.
    pub memory: Arc<MetadataMemory>,
}

impl Footer {
    /// Returns the row groups in file order.
    pub fn row_groups(&self) -> &[RowGroup] {
        &self.metadata.row_groups
    }

    /// Returns the metadata of a chunk and the range of its pages.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the chunk is encrypted without a key, `Unsupported` when it is in
    /// another file, and `Corrupt` when its metadata is invalid.
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<(&ColumnMetaData, Range<u64>)> {
        let meta = self.column_chunk(row_group, leaf)?.meta();
        meta.and_then(|meta| Ok((meta, self.chunk_range(&ChunkSummary::of(meta))?)))
            .map_err(|e| self.at_chunk(e, row_group, leaf))
    }

    /// Returns the metadata of a chunk.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a part of it that is not examined when the file is opened is invalid. Callers
    /// that only want to read less ignore the error.
    pub fn column_chunk(&self, row_group: usize, leaf: usize) -> Result<&ColumnChunk> {
        let group = self.metadata.row_groups.get(row_group);
        let chunk = group.map(|group| group.columns.chunk(leaf));
        chunk
            .unwrap_or_else(|| Err(Error::internal("no such row group")))
            .map_err(|e| self.at_chunk(e, row_group, leaf))
    }

    /// Returns the decryptor of a chunk's pages; `None` when they are not encrypted.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when there is no key for the column, and `Corrupt` when its metadata is
    /// invalid.
    pub fn chunk_decryptor(&self, row_group: usize, leaf: usize) -> Result<Option<ChunkDecryptor>> {
        let Some(group) = self.metadata.row_groups.get(row_group) else { return Ok(None) };
        let Some(crypto) = &self.column_chunk(row_group, leaf)?.crypto else { return Ok(None) };
        let decryptor = match &self.decryptor {
            Some(file) => file.chunk(crypto, group_ordinal(group, row_group), leaf)?,
            None => None,
        };
        decryptor
            .map(Some)
            .ok_or_else(|| self.at_chunk(Error::invalid_input(COLUMN_IS_LOCKED), row_group, leaf))
    }

    /// Decrypts the metadata of the columns for which keys are given.
    fn unlock(&mut self, file: FileDecryptor) -> Result<()> {
        for (number, group) in self.metadata.row_groups.iter_mut().enumerate() {
            let ordinal = group_ordinal(group, number);
            for leaf in 0..group.columns.len() {
                let unlock = |chunk: &mut ColumnChunk| unlock_chunk(&file, chunk, ordinal, leaf);
                group.columns.change(leaf, unlock).flatten().map_err(|e| {
                    e.in_named("column", self.schema.leaf_name(leaf)).in_place("row group", number)
                })?;
            }
        }
        self.decryptor = Some(file);
        Ok(())
    }

    /// Returns the range of a chunk's pages; empty for a chunk without values.
    fn chunk_range(&self, meta: &ChunkSummary) -> Result<Range<u64>> {
        let start = meta.start_offset;
        if meta.num_values == 0 || meta.compressed_bytes == 0 {
            return Ok(start..start);
        }
        match start.checked_add(meta.compressed_bytes) {
            // Some files have sizes that extend into the footer, and valid pages before it.
            Some(end)
                if start >= MAGIC_BYTES && start < self.footer_offset && end <= self.file_bytes =>
            {
                Ok(start..end.min(self.footer_offset))
            }
            _ => Err(Error::corrupt("column chunk outside the file's data")
                .with("offset", start)
                .with("bytes", meta.compressed_bytes)
                .with("file_bytes", self.file_bytes)),
        }
    }

    fn check(&mut self) -> Result<()> {
        let num_leaves = self.schema.num_leaves();
        let mut num_rows = 0u64;
        if self.metadata.row_groups.len() > MAX_ROW_GROUPS {
            return Err(Error::limit("the file has too many row groups")
                .with("row_groups", self.metadata.row_groups.len())
                .with("max", MAX_ROW_GROUPS));
        }
        for (number, group) in self.metadata.row_groups.iter().enumerate() {
            num_rows = num_rows.checked_add(group.num_rows).ok_or_else(|| {
                Error::corrupt("the row groups have too many rows")
                    .with("num_rows", group.num_rows)
                    .in_place("row group", number)
            })?;
            if group.columns.len() != num_leaves {
                return Err(Error::corrupt("the row group's chunks do not match the schema")
                    .with("expected", num_leaves)
                    .with("found", group.columns.len())
                    .in_place("row group", number));
            }
            let briefs = group.columns.briefs().iter().zip(self.schema.leaves());
            for (number_of_leaf, (brief, leaf)) in briefs.enumerate() {
                let checked = self.check_chunk(group, leaf, brief);
                checked.map_err(|e| self.at_chunk(e, number, number_of_leaf))?;
            }
        }
        self.num_rows = num_rows;
        Ok(())
    }

    fn check_chunk(&self, group: &RowGroup, leaf: &Leaf, chunk: &ChunkBrief) -> Result<()> {
        // A chunk that is encrypted or in another file cannot be checked; it fails when it is used.
        let Some(meta) = chunk.meta.as_ref().filter(|_| chunk.is_plain) else { return Ok(()) };
        if meta.physical != leaf.physical {
            return Err(Error::corrupt("the chunk's storage is not the schema's")
                .with("expected", leaf.physical)
                .with("found", meta.physical));
        }
        if leaf.max_rep == 0 && meta.num_values != group.num_rows {
            return Err(Error::corrupt("the column has another number of rows than its row group")
                .with("expected", group.num_rows)
                .with("found", meta.num_values));
        }
        self.chunk_range(meta).map(drop)
    }

    #[cold]
    fn at_chunk(&self, error: Error, row_group: usize, leaf: usize) -> Error {
        error.in_named("column", self.schema.leaf_name(leaf)).in_place("row group", row_group)
    }
}

/// Returns the ordinal with which a row group's chunks are encrypted.
fn group_ordinal(group: &RowGroup, number: usize) -> usize {
    group.ordinal.and_then(|ordinal| usize::try_from(ordinal).ok()).unwrap_or(number)
}

fn unlock_chunk(
    file: &FileDecryptor,
    chunk: &mut ColumnChunk,
    row_group: usize,
    leaf: usize,
) -> Result<()> {
    let Some(crypto) = &chunk.crypto else { return Ok(()) };
    let Some(decryptor) = file.chunk(crypto, row_group, leaf)? else { return Ok(()) };
    if let Some(sealed) = &chunk.encrypted_meta_data {
        let (plain, _) = decryptor.decrypt(ModuleKind::ColumnMetaData, sealed)?;
        // A plain footer may have the same metadata without statistics and other parts that reveal
        // values.
        chunk.meta_data = Some(parse_column_metadata(&plain)?);
    }
    chunk.is_unlocked = true;
    Ok(())
}

/// Reads the footer of the file that `input` reads. `keys` are for encrypted files; a column
/// without a key cannot be read, and the others can.
///
/// # Errors
///
/// `Corrupt` when the footer is invalid or contradicts the file, `InvalidInput` when a required key
/// is missing or wrong, `Limit` when the footer exceeds a bound, and errors of reading the file.
pub fn read_footer(input: &BufferedInput, keys: Option<&Arc<dyn KeyProvider>>) -> Result<Footer> {
    let mut footer = parse_footer(input, keys)?;
    match footer.defect.take() {
        None => Ok(footer),
        Some(defect) => Err(defect),
    }
}

/// Reads the footer for inspection, as [`read_footer`] does; a footer that contradicts the file is
/// returned with its defect, so that it can be displayed. The metadata of all chunks is parsed, and
/// the magic at the start of the file is always checked; whether chunks lie where they can be is
/// checked when they are used.
///
/// # Errors
///
/// The same as [`read_footer`], except for contradictions to the file.
pub fn read_footer_to_look_at(
    input: &BufferedInput,
    keys: Option<&Arc<dyn KeyProvider>>,
) -> Result<Footer> {
    let footer = parse_footer(input, keys)?;
    if let Some(magic) = footer.unchecked_head {
        check_head(&input.read(0, MAGIC_BYTES)?, magic).in_named("file", input.path())?;
    }
    for (number, group) in footer.row_groups().iter().enumerate() {
        for leaf in 0..group.columns.len() {
            footer.column_chunk(number, leaf).in_named("file", input.path())?;
        }
    }
    Ok(footer)
}

fn parse_footer(input: &BufferedInput, keys: Option<&Arc<dyn KeyProvider>>) -> Result<Footer> {
    let file_bytes = input.file_len();
    let here = |e: Error| e.in_named("file", input.path());
    check_size(file_bytes).map_err(here)?;
    let tail_offset = file_bytes.saturating_sub(SPECULATIVE_BYTES);
    let tail = input.read(tail_offset, file_bytes.saturating_sub(tail_offset))?;
    let (footer_bytes, is_encrypted) = footer_length(&tail, file_bytes).map_err(here)?;
    let offset = file_bytes.saturating_sub(TAIL_BYTES).saturating_sub(footer_bytes);
    let region = |offset: u64, len: u64| match offset.checked_sub(tail_offset) {
        Some(from) => slice(&tail, from, len).map_err(here),
        None => input.read(offset, len),
    };
    // A file that starts with another magic is no Parquet file or is damaged (rule P1.3). The start
    // of a small file is already loaded; that of a local file is read once for each version of the
    // file. Where every read takes long, the magic is read together with the first chunk, in
    // `row_reader::group`.
    let magic = if is_encrypted { MAGIC_ENCRYPTED } else { MAGIC };
    let is_left = tail_offset > 0 && input.is_far() && input.loaded(0, MAGIC_BYTES).is_none();
    if !is_left {
        check_head(&region(0, MAGIC_BYTES)?, magic).map_err(here)?;
    }
    let bytes = region(offset, footer_bytes)?;
    let memory = &MetadataMemory::new(input.pool());
    let unchecked_head = is_left.then_some(magic);
    let place = Place { offset, file_bytes, keys, unchecked_head, memory };
    let footer =
        if is_encrypted { place.parse_encrypted(&bytes) } else { place.parse_plain(&bytes) };
    let mut footer = footer.map_err(here)?;
    footer.defect = footer.defect.map(here);
    Ok(footer)
}

/// The location of a footer in its file, and the keys for it.
#[derive(Clone, Copy)]
struct Place<'a> {
    offset: u64,
    file_bytes: u64,
    keys: Option<&'a Arc<dyn KeyProvider>>,
    unchecked_head: Option<[u8; 4]>,
    memory: &'a Arc<MetadataMemory>,
}

impl Place<'_> {
    /// SPEC (encryption): the description of the encryption is stored before an encrypted footer.
    fn parse_encrypted(self, bytes: &Buffer<u8>) -> Result<Footer> {
        let (crypto, taken) =
            parse_file_crypto_metadata(bytes).in_place("footer at", self.offset)?;
        let Some(keys) = self.keys else {
            return Err(Error::invalid_input("the file is encrypted and no keys are given"));
        };
        let metadata = crypto.key_metadata.as_deref();
        let file = FileDecryptor::new(&crypto.algorithm, metadata, Arc::clone(keys))?;
        let plain = file
            .decrypt_footer(bytes.get(taken..).unwrap_or(&[]))
            .in_place("footer at", self.offset)?;
        self.parse(&Buffer::from_slice(&plain), bytes.len(), Some(file))
    }

    /// SPEC (encryption): a footer that is not encrypted is signed when columns are encrypted.
    fn parse_plain(self, bytes: &Buffer<u8>) -> Result<Footer> {
        let metadata =
            parse_file_metadata_in(bytes, Some(self.memory)).in_place("footer at", self.offset)?;
        let (Some(algorithm), Some(keys)) = (&metadata.encryption, self.keys) else {
            return self.finish(metadata, bytes.len(), None);
        };
        let key_metadata = metadata.footer_signing_key_metadata.as_deref();
        let file = FileDecryptor::new(algorithm, key_metadata, Arc::clone(keys))?;
        let Some((footer, signature)) = bytes.split_last_chunk::<SIGNATURE_BYTES>() else {
            return Err(Error::corrupt("the footer is too short for its signature"));
        };
        file.verify_footer(footer, signature)?;
        self.finish(metadata, bytes.len(), Some(file))
    }

    fn parse(
        self,
        plain: &Buffer<u8>,
        bytes: usize,
        file: Option<FileDecryptor>,
    ) -> Result<Footer> {
        let metadata =
            parse_file_metadata_in(plain, Some(self.memory)).in_place("footer at", self.offset)?;
        self.finish(metadata, bytes, file)
    }

    /// Checks the parsed footer against the file.
    fn finish(
        self,
        metadata: FileMetaData,
        bytes: usize,
        file: Option<FileDecryptor>,
    ) -> Result<Footer> {
        let elements = metadata.schema.len();
        self.memory.reserve(elements.saturating_mul(SCHEMA_ELEMENT_BYTES))?;
        let schema = Schema::new(&metadata.schema)?;
        let mut footer = Footer {
            metadata,
            schema,
            footer_offset: self.offset,
            footer_bytes: bytes as u64,
            file_bytes: self.file_bytes,
            num_rows: 0,
            decryptor: None,
            defect: None,
            unchecked_head: self.unchecked_head,
            memory: Arc::clone(self.memory),
        };
        if let Some(file) = file {
            footer.unlock(file)?;
        }
        footer.defect = footer.check().err();
        Ok(footer)
    }
}

fn check_size(file_bytes: u64) -> Result<()> {
    if file_bytes == 0 {
        return Err(Error::corrupt("the file is empty"));
    }
    if file_bytes < MIN_FILE_BYTES {
        return Err(Error::corrupt("the file is too small for a Parquet file")
            .with("bytes", file_bytes)
            .with("min", MIN_FILE_BYTES));
    }
    Ok(())
}

/// Checks the magic at the end of `tail` and returns the footer's size and whether it is encrypted.
fn footer_length(tail: &[u8], file_bytes: u64) -> Result<(u64, bool)> {
    let Some((rest, magic)) = tail.split_last_chunk::<4>() else {
        return Err(Error::internal("the tail is too short"));
    };
    let is_encrypted = *magic == MAGIC_ENCRYPTED;
    if *magic != MAGIC && !is_encrypted {
        return Err(Error::corrupt("not a Parquet file: the last four bytes are not PAR1")
            .with("found", magic.escape_ascii()));
    }
    let Some(length) = rest.last_chunk::<4>() else {
        return Err(Error::internal("the tail is too short"));
    };
    let length = u64::from(u32::from_le_bytes(*length));
    let most = file_bytes.saturating_sub(MIN_FILE_BYTES);
    if length == 0 || length > most {
        return Err(Error::corrupt("the footer's length does not fit the file")
            .with("expected", format_args!("1 to {most}"))
            .with("found", length));
    }
    if length > MAX_FOOTER_BYTES {
        return Err(Error::limit("the footer is too large")
            .with("bytes", length)
            .with("max", MAX_FOOTER_BYTES));
    }
    Ok((length, is_encrypted))
}

/// Checks the first bytes of a file.
///
/// # Errors
///
/// `Corrupt` when they are not the magic.
pub(crate) fn check_head(head: &[u8], magic: [u8; 4]) -> Result<()> {
    if head != magic {
        let text =
            format!("not a Parquet file: the first four bytes are not {}", magic.escape_ascii());
        return Err(Error::corrupt(text).with("found", head.escape_ascii()));
    }
    Ok(())
}

/// Returns a part of the bytes that were read from the end of the file, without a copy.
fn slice(tail: &Buffer<u8>, from: u64, len: u64) -> Result<Buffer<u8>> {
    let range = usize::try_from(from).ok().zip(usize::try_from(from.saturating_add(len)).ok());
    match range {
        Some((start, end)) if end <= tail.len() => Ok(tail.slice(start..end)),
        _ => Err(Error::internal("footer outside what was read")),
    }
}

#[cfg(test)]
mod tests;
