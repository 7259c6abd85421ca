//! The pages of a chunk in its file: the region that may contain them, and the parameters of
//! reading them.
//!
//! ```text
//! footer: offset, size  --corrections-->  region of the file  -->  PageReader    values
//!                                                              \-> StoredPages   headers
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

/// Maximum number of bytes by which a chunk may exceed its declared end. SPEC (PARQUET-816): old
/// writers did not count the header of the dictionary page.
const CHUNK_PADDING_BYTES: u64 = 100;

/// Opens the pages of a chunk for decompression.
///
/// # Errors
///
/// `Corrupt` when the metadata of the chunk is invalid, `InvalidInput` when its key is missing, the
/// errors of [`Schema::leaf`](crate::schema::Schema::leaf), and errors of reading the file.
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

/// Opens the pages of a chunk in their stored form, including those of leaves with values that
/// cannot be read.
///
/// # Errors
///
/// `Corrupt` when the metadata of the chunk is invalid, `InvalidInput` when its key is missing, and
/// errors of reading the file.
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

/// Returns a chunk's metadata, and the region of the file that may contain its pages.
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
    // When the declared size extends into the footer, so may the last page, although the pages must
    // end before the footer (rule P1.23). Other readers accept such files, and their rows are
    // decoded from all these bytes; `inspect verify` reports the page.
    let declared = range.start.saturating_add(meta.total_compressed_bytes).min(footer.file_bytes);
    Ok((meta, range.start..padded.max(declared)))
}

/// Returns the parameters with which the reader of a leaf reads its chunk, the pages of which are
/// in `region`.
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
