//! The footer: found at the end of the file, size-checked, parsed and compared with the file.
//!
//! ```text
//! "PAR1"  ...pages...  FileMetaData  length (u32, little-endian)  "PAR1"
//!                      ^ footer_offset                            ^ the end tells the start
//! ```
//!
//! One read of the file's tail fetches most footers whole. What comes out is checked against the
//! file once, here: every chunk is where pages can be, has the schema's storage, and flat columns
//! have as many values as the row group has rows. So readers may rely on it.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation
    )
)]

use std::ops::Range;

use dwio::input::BufferedInput;
use vector::{Buffer, Error, Result, ResultExt};

use crate::schema::Schema;
use crate::thrift::parse_file_metadata;
use crate::thrift::structs::{ColumnChunk, ColumnMetaData, FileMetaData, RowGroup};

/// The first and last bytes of every file.
const MAGIC: [u8; 4] = *b"PAR1";
/// As [`MAGIC`], in files whose footer is encrypted.
const MAGIC_ENCRYPTED: [u8; 4] = *b"PARE";
const MAGIC_BYTES: u64 = MAGIC.len() as u64;
/// Footer length and magic at the end.
const TAIL_BYTES: u64 = 8;
/// Magic, footer length, magic.
const MIN_FILE_BYTES: u64 = MAGIC_BYTES + TAIL_BYTES;
/// What is read from the end before the footer's size is known.
const SPECULATIVE_BYTES: u64 = 64 << 10;
/// The largest footer that is read.
const MAX_FOOTER_BYTES: u64 = 512 << 20;
/// The most row groups a file may have.
const MAX_ROW_GROUPS: usize = 1_000_000;

/// A footer that has been checked against its file.
#[derive(Debug)]
pub struct Footer {
    /// The footer as parsed.
    pub metadata: FileMetaData,
    /// Its schema as a tree.
    pub schema: Schema,
    /// Where the footer starts, and so where pages and indexes end.
    pub footer_offset: u64,
    /// The size of the parsed bytes.
    pub footer_bytes: u64,
    /// The size of the file.
    pub file_bytes: u64,
    /// The rows of all row groups; the file's own count may differ and is not trusted.
    pub num_rows: u64,
}

impl Footer {
    /// The row groups in file order.
    pub fn row_groups(&self) -> &[RowGroup] {
        &self.metadata.row_groups
    }

    /// A chunk to be read and where its pages are. Fails when the chunk is encrypted or elsewhere.
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<(&ColumnMetaData, Range<u64>)> {
        let chunk = self
            .metadata
            .row_groups
            .get(row_group)
            .and_then(|group| group.columns.get(leaf))
            .ok_or_else(|| {
                Error::internal("no such column chunk")
                    .with("row_group", row_group)
                    .with("leaf", leaf)
            })?;
        chunk
            .meta()
            .and_then(|meta| Ok((meta, self.chunk_range(meta)?)))
            .map_err(|e| self.at_chunk(e, row_group, leaf))
    }

    /// Where a chunk's pages are; empty for a chunk without values.
    fn chunk_range(&self, meta: &ColumnMetaData) -> Result<Range<u64>> {
        let start = meta.start_offset();
        if meta.num_values == 0 || meta.total_compressed_bytes == 0 {
            return Ok(start..start);
        }
        match start.checked_add(meta.total_compressed_bytes) {
            // A size that reaches into the footer does occur with sound pages in front of it.
            Some(end)
                if start >= MAGIC_BYTES && start < self.footer_offset && end <= self.file_bytes =>
            {
                Ok(start..end.min(self.footer_offset))
            }
            _ => Err(Error::corrupt("column chunk outside the file's data")
                .with("offset", start)
                .with("bytes", meta.total_compressed_bytes)
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
            for (leaf, chunk) in group.columns.iter().enumerate() {
                self.check_chunk(group, leaf, chunk).map_err(|e| self.at_chunk(e, number, leaf))?;
            }
        }
        self.num_rows = num_rows;
        Ok(())
    }

    fn check_chunk(&self, group: &RowGroup, leaf: usize, chunk: &ColumnChunk) -> Result<()> {
        // What is encrypted or in another file cannot be judged; it fails when it is asked for.
        let Ok(meta) = chunk.meta() else { return Ok(()) };
        let Some(leaf) = self.schema.leaves().get(leaf) else { return Ok(()) };
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

/// Reads the footer of the file behind `input`.
pub fn read_footer(input: &BufferedInput) -> Result<Footer> {
    let file_bytes = input.file_len();
    let here = |e: Error| e.in_named("file", input.path());
    check_size(file_bytes).map_err(here)?;
    let tail_offset = file_bytes.saturating_sub(SPECULATIVE_BYTES);
    let tail = input.read(tail_offset, file_bytes.saturating_sub(tail_offset))?;
    let footer_bytes = footer_length(&tail, file_bytes).map_err(here)?;
    let footer_offset = file_bytes.saturating_sub(TAIL_BYTES).saturating_sub(footer_bytes);
    let region = |offset: u64, len: u64| match offset.checked_sub(tail_offset) {
        Some(from) => slice(&tail, from, len).map_err(here),
        None => input.read(offset, len),
    };
    check_head(&region(0, MAGIC_BYTES)?).map_err(here)?;
    parse(&region(footer_offset, footer_bytes)?, footer_offset, file_bytes).map_err(here)
}

/// Parses the footer at `footer_offset` and checks it against its file.
fn parse(bytes: &[u8], footer_offset: u64, file_bytes: u64) -> Result<Footer> {
    let metadata = parse_file_metadata(bytes).in_place("footer at", footer_offset)?;
    let schema = Schema::new(&metadata.schema)?;
    let footer_bytes = bytes.len() as u64;
    let mut footer =
        Footer { metadata, schema, footer_offset, footer_bytes, file_bytes, num_rows: 0 };
    footer.check()?;
    Ok(footer)
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

/// Checks the magic at the end of `tail` and gives the footer's size.
fn footer_length(tail: &[u8], file_bytes: u64) -> Result<u64> {
    let Some((rest, magic)) = tail.split_last_chunk::<4>() else {
        return Err(Error::internal("the tail is too short"));
    };
    if *magic == MAGIC_ENCRYPTED {
        return Err(Error::unsupported("the file is encrypted"));
    }
    if *magic != MAGIC {
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
    Ok(length)
}

/// Checks the magic at the start.
fn check_head(magic: &[u8]) -> Result<()> {
    if magic != MAGIC {
        return Err(Error::corrupt("not a Parquet file: the first four bytes are not PAR1")
            .with("found", magic.escape_ascii()));
    }
    Ok(())
}

/// A part of what was read from the tail, without a copy.
fn slice(tail: &Buffer<u8>, from: u64, len: u64) -> Result<Buffer<u8>> {
    let range = usize::try_from(from).ok().zip(usize::try_from(from.saturating_add(len)).ok());
    match range {
        Some((start, end)) if end <= tail.len() => Ok(tail.slice(start..end)),
        _ => Err(Error::internal("footer outside what was read")),
    }
}

#[cfg(test)]
mod tests;
