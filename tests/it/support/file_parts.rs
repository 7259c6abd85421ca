//! A Parquet file in parts, which are assembled again with all offsets and lengths corrected,
//! except those that a test changes.
//!
//! ```text
//! bytes --parse--> page headers and bodies | bloom filters | indexes | footer
//!                        |
//!                        `--bytes(edit)--> each part: offsets corrected, then `edit`, then written
//! ```

use crate::support::encryption::{Encryption, Module, Sealer, with_footer_key};
use crate::support::thrift::Tree;

/// Fields of the structs of the format, by their ids.
mod field {
    pub(super) const ROW_GROUPS: i16 = 4;
    pub(super) const COLUMNS: i16 = 1;
    pub(super) const GROUP_ROWS: i16 = 3;
    pub(super) const GROUP_OFFSET: i16 = 5;
    pub(super) const GROUP_COMPRESSED: i16 = 6;
    pub(super) const META_DATA: i16 = 3;
    pub(super) const OFFSET_INDEX: [i16; 2] = [4, 5];
    pub(super) const COLUMN_INDEX: [i16; 2] = [6, 7];
    pub(super) const CRYPTO_METADATA: i16 = 8;
    pub(super) const UNCOMPRESSED: i16 = 6;
    pub(super) const COMPRESSED: i16 = 7;
    pub(super) const DATA_PAGE_OFFSET: i16 = 9;
    pub(super) const DICTIONARY_OFFSET: i16 = 11;
    pub(super) const BLOOM_FILTER: [i16; 2] = [14, 15];
    pub(super) const PAGE_TYPE: i16 = 1;
    pub(super) const PAGE_UNCOMPRESSED: i16 = 2;
    pub(super) const PAGE_COMPRESSED: i16 = 3;
    pub(super) const PAGE_CRC: i16 = 4;
    pub(super) const PAGE_LOCATIONS: i16 = 1;
    pub(super) const LOCATION_OFFSET: i16 = 1;
    pub(super) const LOCATION_BYTES: i16 = 2;
    pub(super) const LOCATION_FIRST_ROW: i16 = 3;
}

const DICTIONARY_PAGE: i64 = 2;

/// Position of a part: row group, column, and the page in its chunk, in which a dictionary page is
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Footer,
    PageHeader { group: usize, column: usize, page: usize },
    ColumnIndex { group: usize, column: usize },
    OffsetIndex { group: usize, column: usize },
    BloomHeader { group: usize, column: usize },
}

impl Part {
    /// Returns the name of the struct in the format.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Footer => "FileMetaData",
            Part::PageHeader { .. } => "PageHeader",
            Part::ColumnIndex { .. } => "ColumnIndex",
            Part::OffsetIndex { .. } => "OffsetIndex",
            Part::BloomHeader { .. } => "BloomFilterHeader",
        }
    }
}

/// A page header and the bytes after it.
#[derive(Debug, Clone)]
struct Page {
    header: Tree,
    body: Vec<u8>,
}

impl Page {
    fn is_dictionary(&self) -> bool {
        self.header.int(field::PAGE_TYPE) == Some(DICTIONARY_PAGE)
    }
}

/// A column chunk, with its parts elsewhere in the file.
#[derive(Debug, Clone)]
struct Chunk {
    pages: Vec<Page>,
    bloom: Option<(Tree, Vec<u8>)>,
    column_index: Option<Tree>,
    offset_index: Option<Tree>,
    /// The row of the row group that each data page starts with.
    first_rows: Vec<u64>,
}

/// Page indexes that a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indexes {
    Both,
    Offset,
    None,
}

/// A parsed file, which can be written again.
#[derive(Debug, Clone)]
pub(crate) struct FileParts {
    groups: Vec<Vec<Chunk>>,
    footer: Tree,
    encryption: Encryption,
    has_checksums: bool,
    file_unique: Vec<u8>,
}

/// Returns the struct whose start and length are in two fields of `holder`, and its end.
fn struct_at(bytes: &[u8], holder: &Tree, ids: [i16; 2]) -> Option<(Tree, usize)> {
    let start = holder.int(ids[0])? as usize;
    let (tree, len) = Tree::parse(&bytes[start..]);
    Some((tree, start + len))
}

impl FileParts {
    /// Parses a file that has an offset index, and drops the indexes that `indexes` excludes.
    pub(crate) fn parse(bytes: &[u8], indexes: Indexes, encryption: Encryption) -> FileParts {
        let tail = bytes.len() - 8;
        let len = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
        let (mut footer, _) = Tree::parse(&bytes[tail - len..]);
        let mut groups = Vec::new();
        for group in footer.field_mut(field::ROW_GROUPS).unwrap().items_mut() {
            let columns = group.field_mut(field::COLUMNS).unwrap().items_mut();
            groups.push(columns.iter_mut().map(|c| parse_chunk(bytes, c, indexes)).collect());
            if encryption != Encryption::None {
                for column in group.field_mut(field::COLUMNS).unwrap().items_mut() {
                    column.put(field::CRYPTO_METADATA, with_footer_key());
                }
            }
        }
        let file_unique = b"one file".to_vec();
        FileParts { groups, footer, encryption, has_checksums: false, file_unique }
    }

    /// Returns the same file with a unique id, which distinguishes it from others that are
    /// encrypted with the same key.
    pub(crate) fn with_file_unique(self, name: String) -> FileParts {
        FileParts { file_unique: name.into_bytes(), ..self }
    }

    /// Returns the same file with a checksum in each page header.
    pub(crate) fn with_checksums(self) -> FileParts {
        FileParts { has_checksums: true, ..self }
    }

    /// Calls `found` for each part.
    pub(crate) fn for_each_part(&self, found: &mut impl FnMut(Part, &Tree)) {
        found(Part::Footer, &self.footer);
        for (group, chunks) in self.groups.iter().enumerate() {
            for (column, chunk) in chunks.iter().enumerate() {
                for (page, stored) in chunk.pages.iter().enumerate() {
                    found(Part::PageHeader { group, column, page }, &stored.header);
                }
                if let Some((header, _)) = &chunk.bloom {
                    found(Part::BloomHeader { group, column }, header);
                }
                if let Some(index) = &chunk.column_index {
                    found(Part::ColumnIndex { group, column }, index);
                }
                if let Some(index) = &chunk.offset_index {
                    found(Part::OffsetIndex { group, column }, index);
                }
            }
        }
    }

    /// Returns the rows of the file that are in the page, if it is a data page.
    pub(crate) fn rows_of_page(
        &self,
        (group, column, page): (usize, usize, usize),
    ) -> Option<std::ops::Range<u64>> {
        let groups = self.footer.field(field::ROW_GROUPS)?.items();
        let rows = |group: &Tree| group.int(field::GROUP_ROWS).unwrap_or(0) as u64;
        let base: u64 = groups[..group].iter().map(rows).sum();
        let chunk = &self.groups[group][column];
        if chunk.pages[page].is_dictionary() {
            return None;
        }
        let data_page = chunk.pages[..page].iter().filter(|page| !page.is_dictionary()).count();
        let end = chunk.first_rows.get(data_page + 1).copied().unwrap_or(rows(&groups[group]));
        Some(base + chunk.first_rows[data_page]..base + end)
    }

    /// Returns true when the column chunk has an offset index.
    pub(crate) fn has_offset_index(&self, group: usize, column: usize) -> bool {
        self.groups[group][column].offset_index.is_some()
    }

    /// Returns the file, with each part changed by `edit` after its offsets and lengths have been
    /// corrected.
    pub(crate) fn bytes(&self, edit: &mut impl FnMut(Part, &mut Tree)) -> Vec<u8> {
        let mut sealer = Sealer::new(self.encryption);
        sealer.has_checksums = self.has_checksums;
        sealer.file_unique = self.file_unique.clone();
        let mut out = b"PAR1".to_vec();
        let mut footer = self.footer.clone();
        let mut locations = Vec::new();
        for (group, chunks) in self.groups.iter().enumerate() {
            let start = out.len();
            let tree = &mut footer.field_mut(field::ROW_GROUPS).unwrap().items_mut()[group];
            let mut group_locations = Vec::new();
            for (column, chunk) in chunks.iter().enumerate() {
                let meta = tree.field_mut(field::COLUMNS).unwrap().items_mut()[column]
                    .field_mut(field::META_DATA)
                    .unwrap();
                let place = (group, column);
                group_locations.push(write_pages(&mut out, chunk, meta, place, &mut sealer, edit));
            }
            tree.set_int(field::GROUP_OFFSET, start as i64);
            tree.set_int(field::GROUP_COMPRESSED, (out.len() - start) as i64);
            locations.push(group_locations);
        }
        for (group, chunks) in self.groups.iter().enumerate() {
            let tree = &mut footer.field_mut(field::ROW_GROUPS).unwrap().items_mut()[group];
            for (column, chunk) in chunks.iter().enumerate() {
                let holder = &mut tree.field_mut(field::COLUMNS).unwrap().items_mut()[column];
                let ordinals = [group, column];
                if let Some((header, bits)) = &chunk.bloom {
                    let start = out.len();
                    let mut header = header.clone();
                    edit(Part::BloomHeader { group, column }, &mut header);
                    let header =
                        sealer.module(Module::BloomFilterHeader, &ordinals, &header.bytes());
                    out.extend(header);
                    out.extend(sealer.module(Module::BloomFilterBits, &ordinals, bits));
                    let meta = holder.field_mut(field::META_DATA).unwrap();
                    meta.set_int(field::BLOOM_FILTER[0], start as i64);
                    meta.set_int(field::BLOOM_FILTER[1], (out.len() - start) as i64);
                }
                if let Some(index) = &chunk.column_index {
                    let start = out.len();
                    let mut index = index.clone();
                    edit(Part::ColumnIndex { group, column }, &mut index);
                    out.extend(sealer.module(Module::ColumnIndex, &ordinals, &index.bytes()));
                    set_region(holder, field::COLUMN_INDEX, start..out.len());
                }
                if let Some(index) = &chunk.offset_index {
                    let start = out.len();
                    let mut index = index.clone();
                    let items = index.field_mut(field::PAGE_LOCATIONS).unwrap().items_mut();
                    for (item, (offset, bytes)) in items.iter_mut().zip(&locations[group][column]) {
                        item.set_int(field::LOCATION_OFFSET, *offset as i64);
                        item.set_int(field::LOCATION_BYTES, *bytes as i64);
                    }
                    edit(Part::OffsetIndex { group, column }, &mut index);
                    out.extend(sealer.module(Module::OffsetIndex, &ordinals, &index.bytes()));
                    set_region(holder, field::OFFSET_INDEX, start..out.len());
                }
            }
        }
        edit(Part::Footer, &mut footer);
        let (footer, magic) = sealer.footer(footer);
        out[..4].copy_from_slice(magic);
        out.extend(&footer);
        out.extend((footer.len() as u32).to_le_bytes());
        out.extend(magic);
        out
    }
}

fn set_region(holder: &mut Tree, ids: [i16; 2], region: std::ops::Range<usize>) {
    holder.set_int(ids[0], region.start as i64);
    holder.set_int(ids[1], region.len() as i64);
}

fn parse_chunk(bytes: &[u8], column: &mut Tree, indexes: Indexes) -> Chunk {
    let column_index = struct_at(bytes, column, field::COLUMN_INDEX).map(|(tree, _)| tree);
    let offset_index = struct_at(bytes, column, field::OFFSET_INDEX).map(|(tree, _)| tree);
    let locations = offset_index.as_ref().and_then(|index| index.field(field::PAGE_LOCATIONS));
    let locations = locations.expect("the writer made an offset index").items();
    let first_row = |location: &Tree| location.int(field::LOCATION_FIRST_ROW).unwrap() as u64;
    let first_rows = locations.iter().map(first_row).collect();
    let (mut column_index, mut offset_index) = (column_index, offset_index);
    if indexes != Indexes::Both {
        column.remove(&field::COLUMN_INDEX);
        column_index = None;
    }
    if indexes == Indexes::None {
        column.remove(&field::OFFSET_INDEX);
        offset_index = None;
    }
    let meta = column.field(field::META_DATA).unwrap();
    let bloom = struct_at(bytes, meta, field::BLOOM_FILTER).map(|(header, start)| {
        let num_bytes = header.int(1).unwrap() as usize;
        (header, bytes[start..start + num_bytes].to_vec())
    });
    let data = meta.int(field::DATA_PAGE_OFFSET).unwrap();
    let start = meta.int(field::DICTIONARY_OFFSET).filter(|at| *at > 0).unwrap_or(data).min(data);
    let (mut at, mut pages) = (start as usize, Vec::new());
    let end = at + meta.int(field::COMPRESSED).unwrap() as usize;
    while at < end {
        let (header, len) = Tree::parse(&bytes[at..]);
        let body = at + len;
        at = body + header.int(field::PAGE_COMPRESSED).unwrap() as usize;
        pages.push(Page { header, body: bytes[body..at].to_vec() });
    }
    Chunk { pages, bloom, column_index, offset_index, first_rows }
}

/// Writes the pages of a chunk and corrects their description in its metadata. Returns offset and
/// number of bytes of each data page.
fn write_pages(
    out: &mut Vec<u8>,
    chunk: &Chunk,
    meta: &mut Tree,
    (group, column): (usize, usize),
    sealer: &mut Sealer,
    edit: &mut impl FnMut(Part, &mut Tree),
) -> Vec<(usize, usize)> {
    let (start, mut uncompressed, mut locations) = (out.len(), 0, Vec::new());
    for (page, stored) in chunk.pages.iter().enumerate() {
        let is_dictionary = stored.is_dictionary();
        let ordinals = [group, column, locations.len()];
        let (body_kind, header_kind, ordinals) = match is_dictionary {
            true => (Module::DictionaryPage, Module::DictionaryPageHeader, &ordinals[..2]),
            false => (Module::DataPage, Module::DataPageHeader, &ordinals[..]),
        };
        let body = sealer.module(body_kind, ordinals, &stored.body);
        let mut header = stored.header.clone();
        header.set_int(field::PAGE_COMPRESSED, body.len() as i64);
        if sealer.has_checksums {
            let mut checksum = flate2::Crc::new();
            checksum.update(&body);
            header.put(field::PAGE_CRC, Tree::Int(5, checksum.sum().cast_signed().into()));
        }
        uncompressed += header.int(field::PAGE_UNCOMPRESSED).unwrap();
        edit(Part::PageHeader { group, column, page }, &mut header);
        let header = sealer.module(header_kind, ordinals, &header.bytes());
        uncompressed += header.len() as i64;
        match is_dictionary {
            true => meta.set_int(field::DICTIONARY_OFFSET, out.len() as i64),
            false => locations.push((out.len(), header.len() + body.len())),
        }
        out.extend(header);
        out.extend(body);
    }
    meta.set_int(field::COMPRESSED, (out.len() - start) as i64);
    meta.set_int(field::UNCOMPRESSED, uncompressed);
    let first = locations.first().map_or(start, |(offset, _)| *offset);
    meta.set_int(field::DATA_PAGE_OFFSET, first as i64);
    locations
}
