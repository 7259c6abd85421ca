//! The pages of a chunk in its file: the bytes that may hold them, and how they are to be read.
//!
//! ```text
//! footer: offset, size  --old writers' mistakes-->  region of the file  -->  PageReader    values
//!                                                                       \-> StoredPages   headers
//! ```

use std::ops::Range;

use vector::sync::Arc;
use vector::{MemoryPool, Result, ResultExt};

use crate::chunk_source::ChunkSource;
use crate::created_by::PageQuirks;
use crate::encoding::recoded::Storage;
use crate::footer::Footer;
use crate::page::stored::StoredPages;
use crate::page::{ChunkParams, PageOptions, PageReader};
use crate::thrift::structs::{ColumnMetaData, Encoding};

/// SPEC (PARQUET-816): old writers did not count the header of the dictionary page, so a chunk
/// may end this many bytes behind its declared end.
const CHUNK_PADDING_BYTES: u64 = 100;

/// Opens the pages of a chunk, to be decompressed.
pub fn open_pages(source: ChunkSource<'_>, pool: &MemoryPool) -> Result<PageReader> {
    let ChunkSource { file, footer, row_group, leaf } = source;
    let (meta, region) = chunk_region(footer, row_group, leaf)?;
    let params = chunk_params(footer, row_group, leaf, (meta, &region))?;
    let bytes = file
        .input
        .read(region.start, region.end.saturating_sub(region.start))
        .in_named("column", footer.schema.leaf_name(leaf))?;
    Ok(PageReader::new(params, bytes, pool.clone()))
}

/// Opens the pages of a chunk as they are stored. Also for leaves whose values cannot be read.
pub fn stored_pages(source: ChunkSource<'_>) -> Result<StoredPages> {
    let ChunkSource { file, footer, row_group, leaf } = source;
    let (meta, range) = chunk_region(footer, row_group, leaf)?;
    let bytes = file
        .input
        .read(range.start, range.end.saturating_sub(range.start))
        .in_named("column", footer.schema.leaf_name(leaf))?;
    let decryptor = footer.chunk_decryptor(row_group, leaf)?;
    let pages = StoredPages::new(range.start, bytes, decryptor);
    Ok(pages.until(meta.num_values, meta.total_compressed_bytes))
}

/// A chunk's metadata, and the region that its pages may take.
pub(crate) fn chunk_region(
    footer: &Footer,
    row_group: usize,
    leaf: usize,
) -> Result<(&ColumnMetaData, Range<u64>)> {
    let (meta, range) = footer.chunk(row_group, leaf)?;
    if range.is_empty() {
        return Ok((meta, range));
    }
    let padded = range.end.saturating_add(CHUNK_PADDING_BYTES).min(footer.footer_offset);
    // Where the declared size reaches into the footer, so may the last page (P1.23 would refuse
    // it). Such files are read by others, and their rows are what the bytes say, the footer's too;
    // `inspect verify` names the page.
    let declared = range.start.saturating_add(meta.total_compressed_bytes).min(footer.file_bytes);
    Ok((meta, range.start..padded.max(declared)))
}

/// What a leaf's reader needs to know of its chunk, whose pages are in `region`.
pub(crate) fn chunk_params(
    footer: &Footer,
    row_group: usize,
    leaf: usize,
    (meta, region): (&ColumnMetaData, &Range<u64>),
) -> Result<ChunkParams> {
    let schema_leaf = footer.schema.leaf(leaf)?;
    let quirks = PageQuirks::of(footer.metadata.created_by.as_deref());
    let declared_bytes = meta.total_compressed_bytes.min(region.end.saturating_sub(region.start));
    Ok(ChunkParams {
        offset: region.start,
        declared_bytes,
        storage: Storage { physical: schema_leaf.physical, type_length: schema_leaf.type_length },
        num_rows: footer.row_groups().get(row_group).map_or(0, |group| group.num_rows),
        codec: meta.codec,
        num_values: meta.num_values,
        max_def: schema_leaf.max_def,
        max_rep: schema_leaf.max_rep,
        quirks: PageQuirks {
            carries_prefixes: quirks.carries_prefixes
                && meta.encodings.contains(&Encoding::DeltaByteArray),
            ..quirks
        },
        options: PageOptions::default(),
        decryptor: footer.chunk_decryptor(row_group, leaf)?,
        counters: Arc::default(),
    })
}
