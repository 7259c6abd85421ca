//! The pages that a query must touch, and the time to read and decompress them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use format_parquet::page::decompress::Decompressor;
use format_parquet::thrift::structs::Codec;
use ocior::Engine;
use ocior::inspect::{ChunksOf, InspectedFile, pages, pages_under};
use vector::{DecodedVector, RowVector, Value};

use crate::queries::TableNeeds;

/// Location of a page in the file, with its compressed and uncompressed size.
#[derive(Debug, Clone, Copy)]
struct Page {
    offset: u64,
    stored_bytes: usize,
    bytes: usize,
    codec: Codec,
}

/// The touched pages of one file, ready to be read.
pub(crate) struct Touched {
    file: File,
    pages: Vec<Page>,
    decompressor: Decompressor,
    /// Buffers of two pages, each compressed and uncompressed.
    memory: [(Vec<u8>, Vec<u8>); 2],
}

impl Touched {
    /// Finds the pages of a table that a query must touch.
    pub(crate) fn find(engine: &Engine, dir: &Path, needs: &TableNeeds) -> Self {
        let path = dir.join(format!("{}.parquet", needs.table));
        let name = path.to_string_lossy();
        let pool = engine.memory_pool().leaf("floor");
        let files = engine.file_system().as_ref();
        let file = InspectedFile::open(files, &name, None, pool).expect("the file opens");
        let all = ChunksOf::default();
        let shown = match needs.condition {
            Some(condition) => {
                let condition = engine.file_condition(&name, condition).expect("it runs");
                pages_under(&file, &all, &condition)
            }
            None => pages(&file, &all),
        };
        let shown = shown.expect("the pages can be walked").rows;
        let pages = (0..shown.len()).filter_map(|row| page(&file, &shown, row, needs)).collect();
        let file = File::open(&path).expect("the file is there");
        Touched { file, pages, decompressor: Decompressor::default(), memory: Default::default() }
    }

    pub(crate) fn num_pages(&self) -> usize {
        self.pages.len()
    }

    /// Reads and decompresses all pages, two at a time where that is faster.
    pub(crate) fn read(&mut self) {
        let file = &self.file;
        for pages in self.pages.chunks(2) {
            for (page, (stored, made)) in pages.iter().zip(&mut self.memory) {
                stored.resize(page.stored_bytes, 0);
                file.read_exact_at(stored, page.offset).expect("the page is there");
                made.resize(page.bytes, 0);
            }
            let [(stored_a, made_a), (stored_b, made_b)] = &mut self.memory;
            match pages {
                [a, b] if a.codec == b.codec => {
                    let made = self.decompressor.decompress_two(
                        a.codec,
                        (stored_a, made_a),
                        (stored_b, made_b),
                    );
                    made.0.and(made.1).expect("the pages are sound");
                }
                pages => {
                    for (page, (stored, made)) in pages.iter().zip(&mut self.memory) {
                        let done = self.decompressor.decompress(page.codec, stored, made);
                        done.expect("the page is sound");
                    }
                }
            }
            std::hint::black_box(&self.memory);
        }
    }
}

/// Returns the page described by a row of `inspect pages`, if the query touches it.
fn page(file: &InspectedFile, shown: &RowVector, row: usize, needs: &TableNeeds) -> Option<Page> {
    let value = |name: &str| {
        let at = shown.row_type().index_of(name)?;
        DecodedVector::new(&shown.children()[at]).ok()?.value(row).ok()
    };
    let number = |name: &str| match value(name) {
        Some(Value::BigInt(number)) => u64::try_from(number).ok(),
        _ => None,
    };
    let text = |name: &str| match value(name) {
        Some(Value::Bytes(bytes)) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    };
    let column = text("column")?;
    if !needs.columns.contains(&column.as_str()) || text("fate").as_deref() == Some("skipped") {
        return None;
    }
    // In data pages of version 2, the levels are stored uncompressed before the values. Pages of
    // version 1 are sufficient here.
    assert_ne!(text("type").as_deref(), Some("DATA_PAGE_V2"), "only pages of version 1");
    let row_group = usize::try_from(number("row_group")?).ok()?;
    let chunks = &file.footer.row_groups()[row_group].columns;
    let leaf = (0..chunks.len()).find(|leaf| file.footer.schema.leaf_name(*leaf) == column)?;
    Some(Page {
        offset: number("offset")? + number("header_bytes")?,
        stored_bytes: usize::try_from(number("compressed_bytes")?).ok()?,
        bytes: usize::try_from(number("uncompressed_bytes")?).ok()?,
        codec: chunks.chunk(leaf).ok()?.meta_data.as_ref()?.codec,
    })
}
