//! Bloom filters of column chunks, and whether they contain a value.

use connector_hive::partition::{TextRules, parse_value};
use format_parquet::bloom::{BloomFilter, FoundBloom, knows};
use format_parquet::schema::Leaf;
use vector::{Error, Result, Type, Value};

use super::chunks::{Chosen, ChunksOf};
use super::facts::{Facts, boolean_or_null, number, text};
use super::{InspectedFile, Shown};

/// Number of bytes of a block. All bits of a value are in one block.
const BLOCK_BYTES: u32 = 32;

/// Returns one row for each bloom filter of the selected chunks. `fill` is the fraction of bits
/// that are set. If `probe`, the text of a value, is given, `may_contain` is whether the chunk may
/// contain the value; it is null if the stored form of the value is unknown.
///
/// # Errors
/// `NotFound` if the column or row group does not exist. Errors of a single chunk are part of the
/// result.
pub fn bloom(file: &InspectedFile, wanted: &ChunksOf, probe: Option<&str>) -> Result<Shown> {
    let mut facts = Facts::new([
        ("row_group", Type::BigInt),
        ("column", Type::Varchar),
        ("offset", Type::BigInt),
        ("stated_bytes", Type::BigInt),
        ("bits_offset", Type::BigInt),
        ("bits_bytes", Type::BigInt),
        ("blocks", Type::BigInt),
        ("fill", Type::Double),
        ("may_contain", Type::Boolean),
    ]);
    let mut broken = Vec::new();
    for chosen in wanted.find(&file.footer)? {
        match show_chunk(file, &chosen, probe) {
            Ok(None) => {}
            Ok(Some(row)) => facts.push(row),
            Err(error) => broken.push(chosen.place(error)),
        }
    }
    Ok(Shown { rows: facts.finish()?, broken })
}

fn show_chunk(
    file: &InspectedFile,
    chosen: &Chosen<'_>,
    probe: Option<&str>,
) -> Result<Option<Vec<Value>>> {
    let source = file.chunk(chosen.row_group, chosen.leaf);
    let region = source.meta().and_then(|meta| meta.bloom_filter);
    let (Some(region), Some(leaf)) = (region, file.footer.schema.leaves().get(chosen.leaf)) else {
        return Ok(None);
    };
    let probe = probe.map(|text| probed_value(text, leaf)).transpose()?;
    let mut bloom = match BloomFilter::open(source)? {
        FoundBloom::Missing => return Ok(None),
        FoundBloom::Unusable(defect) => return Err(defect.in_place("offset", region.offset)),
        FoundBloom::Usable(bloom) => bloom,
    };
    bloom.load(&file.input)?;
    let answer = match &probe {
        Some(value) => knows(&bloom, &file.input, leaf, value)?,
        None => None,
    };
    Ok(Some(vec![
        number(chosen.row_group as u64),
        text(&chosen.name),
        number(region.offset),
        match region.bytes {
            0 => Value::Null,
            bytes => number(bytes.into()),
        },
        number(bloom.bits_offset()),
        number(bloom.num_bytes().into()),
        number((bloom.num_bytes() / BLOCK_BYTES).into()),
        bloom.fill().map_or(Value::Null, Value::Double),
        boolean_or_null(answer),
    ]))
}

/// Parses the text of a probe as a value of the leaf's type.
fn probed_value(text: &str, leaf: &Leaf) -> Result<Value> {
    parse_value("probe", Some(text), &leaf.ty, TextRules::default()).map_err(|_| {
        Error::invalid_input("the probe is not a value of the column's type")
            .with("probe", text)
            .with("type", &leaf.ty)
    })
}
