//! Dictionaries of column chunks, entry by entry.

use format_parquet::chunk_pages::open_pages;
use format_parquet::encoding::plain::{each_byte_array, fixed_bytes};
use format_parquet::page::DictionaryPage;
use format_parquet::schema::Leaf;
use format_parquet::statistics::stored_value;
use format_parquet::thrift::structs::PhysicalType;
use vector::{Error, Result, Type};

use super::chunks::{Chosen, ChunksOf};
use super::facts::{Facts, hex, number, text, value_or_null};
use super::{InspectedFile, Shown};

/// Returns one row for each of the first `max_entries` entries of each dictionary of the selected
/// chunks. The column `entries` is the number of entries of the dictionary.
///
/// # Errors
/// `NotFound` if the column or row group does not exist. Errors of a single chunk are part of the
/// result.
pub fn dict(file: &InspectedFile, wanted: &ChunksOf, max_entries: usize) -> Result<Shown> {
    let mut facts = Facts::new([
        ("row_group", Type::BigInt),
        ("column", Type::Varchar),
        ("entries", Type::BigInt),
        ("entry", Type::BigInt),
        ("value", Type::Varchar),
        ("raw", Type::Varchar),
    ]);
    let mut broken = Vec::new();
    for chosen in wanted.find(&file.footer)? {
        let shown = show_chunk(file, &chosen, max_entries, &mut facts);
        broken.extend(shown.err().map(|e| chosen.place(e)));
    }
    Ok(Shown { rows: facts.finish()?, broken })
}

fn show_chunk(
    file: &InspectedFile,
    chosen: &Chosen<'_>,
    max_entries: usize,
    facts: &mut Facts,
) -> Result<()> {
    let leaf = file.footer.schema.leaf(chosen.leaf)?;
    let mut pages = open_pages(file.chunk(chosen.row_group, chosen.leaf), file.input.pool())?;
    // Shows the dictionary even if a page after it is broken; its error is returned at the end.
    let next = pages.peek();
    if let Some(dictionary) = pages.take_dictionary()? {
        let num_entries = dictionary.num_values;
        let mut entry = 0u64;
        each_entry(leaf, &dictionary, num_entries.min(max_entries), |bytes| {
            let value = stored_value(leaf, bytes);
            facts.push(vec![
                number(chosen.row_group as u64),
                text(&chosen.name),
                number(num_entries as u64),
                number(entry),
                value_or_null(&leaf.ty, value.as_ref()),
                hex(bytes),
            ]);
            entry += 1;
        })?;
    }
    next.map(drop)
}

/// Calls `on_entry` with the stored bytes of each of the first `num_entries` entries.
fn each_entry(
    leaf: &Leaf,
    page: &DictionaryPage,
    num_entries: usize,
    mut on_entry: impl FnMut(&[u8]),
) -> Result<()> {
    let width = match leaf.physical {
        PhysicalType::ByteArray => {
            return each_byte_array(&page.values, num_entries, on_entry).map(drop);
        }
        PhysicalType::Int32 | PhysicalType::Float => 4,
        PhysicalType::Int64 | PhysicalType::Double => 8,
        PhysicalType::Int96 => 12,
        PhysicalType::FixedLenByteArray => leaf.type_length,
        PhysicalType::Boolean => return Err(Error::corrupt("a dictionary of booleans")),
    };
    let num_bytes = fixed_bytes(&page.values, num_entries, width)?;
    if width == 0 {
        (0..num_entries).for_each(|_| on_entry(&[]));
    } else if let Some(bytes) = page.values.get(..num_bytes) {
        bytes.chunks_exact(width).for_each(on_entry);
    }
    Ok(())
}
