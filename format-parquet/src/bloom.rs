//! Bloom filters: prove that a column chunk does not contain a value.
//!
//! ```text
//! bloom_filter_offset -> header | block 0 (32 bytes) | block 1 | ... | block z - 1
//!
//! hash of the value:   high half * z >> 32        -> the block
//!                      low half * salt[i] >> 27   -> the bit of word i; all 8 must be set
//! ```
//!
//! The hash is computed from the stored form of a value, so a probe is first converted from the
//! leaf's type into its physical type; a value that the physical type cannot represent is not in
//! the file. A probe tests one block: of a large filter only that block is read. A filter that is
//! not a split-block XXHASH filter of valid size inside the file is ignored and never an error, and
//! a filter is read only where it costs little compared with the chunk (rules P5.48 to P5.55).

use dwio::filter::{Bound, BoundRange, Filter, ValueTest};
use dwio::input::BufferedInput;
use dwio::stats::ColumnStatistics;
use twox_hash::XxHash64;
use vector::sync::Arc;
use vector::{Buffer, Error, Result, Timestamp, Type, Value};

use crate::chunk_source::{ChunkSource, is_defect, region_inside};
use crate::decrypt::{ChunkDecryptor, ModuleKind};
use crate::prune::LeafFilter;
use crate::schema::{Leaf, ValueConversion};
use crate::statistics::loses_bits;
use crate::thrift::page_header::parse_bloom_filter_header;
use crate::thrift::structs::{BloomFilterHeader, IndexRegion, PhysicalType};

/// Number of bytes of a block: eight words of 32 bits.
const BLOCK_BYTES: u32 = 32;
/// Maximum size in bytes of a filter that is used.
const MAX_FILTER_BYTES: u32 = 128 << 20;
/// Maximum size in bytes of a header.
const MAX_HEADER_BYTES: u64 = 64;
/// Maximum number of probes; with more, a false positive is likely.
const MAX_PROBES: usize = 1024;
/// Maximum number of probes that read their blocks one by one where reading all would cost too
/// much.
const MAX_SINGLE_READS: usize = 16;
/// Minimum ratio of the chunk's size to that of a filter that is read as a whole.
const MIN_CHUNK_RATIO: u64 = 8;
/// Maximum size in bytes of a filter that is read as a whole regardless of the chunk's size.
const SMALL_FILTER_BYTES: u32 = 64 << 10;

/// Odd multipliers for the hash, one for each word of a block.
const SALT: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Returns the hash of a stored value.
pub fn hash(stored: &[u8]) -> u64 {
    XxHash64::oneshot(0, stored)
}

/// The bloom filter of a column chunk.
#[derive(Debug, Clone)]
pub struct BloomFilter {
    bits_offset: u64,
    num_bytes: u32,
    bits: Option<Buffer<u8>>,
}

/// The result of looking for a chunk's bloom filter.
#[derive(Debug)]
pub enum FoundBloom {
    /// The chunk has none.
    Missing,
    /// The chunk has one that is ignored, for this reason.
    Unusable(Error),
    /// The filter; its bits are not read yet.
    Usable(BloomFilter),
}

impl BloomFilter {
    /// Reads the header of a chunk's filter.
    ///
    /// # Errors
    ///
    /// Returns errors of reading the file, such as `Io`; a defect of the filter is
    /// [`FoundBloom::Unusable`].
    pub fn open(source: ChunkSource<'_>) -> Result<FoundBloom> {
        let region = source.meta().and_then(|meta| meta.bloom_filter);
        let Some(region) = region else { return Ok(FoundBloom::Missing) };
        let filter = source.decryptor().and_then(|decryptor| match decryptor {
            None => Self::read_plain(source, region),
            Some(decryptor) => Self::read_encrypted(source, region, &decryptor),
        });
        match filter {
            Ok(filter) => Ok(FoundBloom::Usable(filter)),
            Err(error) if is_defect(&error) => Ok(FoundBloom::Unusable(error)),
            Err(error) => Err(error),
        }
    }

    fn read_plain(source: ChunkSource<'_>, region: IndexRegion) -> Result<Self> {
        // Without a length the filter may extend to the footer.
        let end = match region.bytes {
            0 => source.footer.footer_offset.max(region.offset),
            _ => region_inside(source.footer, region)?.end,
        };
        let most = end.saturating_sub(region.offset);
        let header = source.file.input.read(region.offset, most.min(MAX_HEADER_BYTES))?;
        let (header, header_bytes) = parse_bloom_filter_header(&header)?;
        let header_bytes = header_bytes as u64;
        Ok(BloomFilter {
            num_bytes: checked_size(header, most.saturating_sub(header_bytes))?,
            bits_offset: region.offset.saturating_add(header_bytes),
            bits: None,
        })
    }

    /// Reads a filter of which header and bits are separate encrypted modules; the bits can only be
    /// decrypted as a whole.
    fn read_encrypted(
        source: ChunkSource<'_>,
        region: IndexRegion,
        decryptor: &ChunkDecryptor,
    ) -> Result<Self> {
        if region.bytes == 0 || region.bytes > MAX_FILTER_BYTES {
            return Err(Error::corrupt("the bloom filter's size makes no sense")
                .with("bytes", region.bytes));
        }
        let range = region_inside(source.footer, region)?;
        let bytes = source.file.input.read(range.start, range.end.saturating_sub(range.start))?;
        let (header, header_bytes) = decryptor.decrypt(ModuleKind::BloomFilterHeader, &bytes)?;
        let rest = bytes.get(header_bytes..).unwrap_or(&[]);
        let (bits, _) = decryptor.decrypt(ModuleKind::BloomFilterBits, rest)?;
        let (header, _) = parse_bloom_filter_header(&header)?;
        Ok(BloomFilter {
            num_bytes: checked_size(header, bits.len() as u64)?,
            bits_offset: range.start.saturating_add(header_bytes as u64),
            bits: Some(Buffer::from_slice(&bits)),
        })
    }

    /// Returns the file offset of the bits.
    pub fn bits_offset(&self) -> u64 {
        self.bits_offset
    }

    /// Returns the size of the bits in bytes.
    pub fn num_bytes(&self) -> u32 {
        self.num_bytes
    }

    /// Reads all bits, so that probes read nothing more.
    ///
    /// # Errors
    ///
    /// Returns errors of reading the file, such as `Io`.
    pub fn load(&mut self, input: &BufferedInput) -> Result<()> {
        if self.bits.is_none() {
            self.bits = Some(input.read(self.bits_offset, u64::from(self.num_bytes))?);
        }
        Ok(())
    }

    /// Returns the fraction of bits that are set, from 0 to 1: its eighth power approximates the
    /// rate of false positives. `None` before [`BloomFilter::load`].
    pub fn fill(&self) -> Option<f64> {
        let bits = self.bits.as_ref()?;
        let ones: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        Some(ones as f64 / (f64::from(self.num_bytes) * 8.0))
    }

    /// Returns false when no value with this hash is in the chunk.
    ///
    /// # Errors
    ///
    /// Returns errors of reading the file, such as `Io`.
    pub fn may_contain(&self, input: &BufferedInput, hash: u64) -> Result<bool> {
        let num_blocks = u64::from(self.num_bytes / BLOCK_BYTES);
        let block_bytes = u64::from(BLOCK_BYTES);
        // Both factors are below 2^32, and the block number is below the number of blocks.
        let from = (hash >> 32).wrapping_mul(num_blocks) >> 32;
        let from = from.wrapping_mul(block_bytes);
        let [low @ .., _, _, _, _] = hash.to_le_bytes();
        let low = u32::from_le_bytes(low);
        if let Some(bits) = &self.bits {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let block = bits.get(from..).and_then(|rest| rest.first_chunk::<32>());
            return Ok(block.is_none_or(|block| is_member(block, low)));
        }
        let block = input.read(self.bits_offset.saturating_add(from), block_bytes)?;
        Ok(block.first_chunk::<32>().is_none_or(|block| is_member(block, low)))
    }
}

/// Returns the size of the bits, after checking that it is valid and at most `most`.
fn checked_size(header: BloomFilterHeader, most: u64) -> Result<u32> {
    if !header.is_known_kind {
        return Err(Error::unsupported("a bloom filter of another kind"));
    }
    let num_bytes = header.num_bytes;
    let is_whole = num_bytes > 0 && num_bytes.is_multiple_of(BLOCK_BYTES);
    if !is_whole || num_bytes > MAX_FILTER_BYTES || u64::from(num_bytes) > most {
        return Err(Error::corrupt("the bloom filter's size makes no sense")
            .with("bytes", num_bytes)
            .with("expected", format_args!("a multiple of {BLOCK_BYTES}"))
            .with("most", most.min(MAX_FILTER_BYTES.into())));
    }
    Ok(num_bytes)
}

/// Returns whether the filter contains a value of its leaf, for verifying the filter; `None` when
/// the stored form of the value is not known.
///
/// # Errors
///
/// Returns errors of reading the file, such as `Io`.
pub fn knows(
    bloom: &BloomFilter,
    input: &BufferedInput,
    leaf: &Leaf,
    value: &Value,
) -> Result<Option<bool>> {
    let point = match value {
        Value::Real(v) => Point::Float(f64::from(*v)),
        Value::Double(v) => Point::Float(*v),
        Value::Bytes(v) => Point::Bytes(Arc::clone(v)),
        Value::Timestamp(v) => Point::Timestamp(*v),
        other => match other.as_i128() {
            Some(v) => Point::Integer(v),
            None => return Ok(None),
        },
    };
    if matches!(point, Point::Float(v) if v.is_nan()) {
        return Ok(None);
    }
    let mut hashes = Vec::new();
    if push_hashes(leaf, &point, &mut hashes).is_none() {
        return Ok(None);
    }
    for hash in hashes {
        if bloom.may_contain(input, hash)? {
            return Ok(Some(true));
        }
    }
    Ok(Some(false))
}

/// Returns true when all eight bits of the hash are set.
fn is_member(block: &[u8; 32], low: u32) -> bool {
    let (words, _) = block.as_chunks::<4>();
    words
        .iter()
        .zip(SALT)
        .all(|(word, salt)| u32::from_le_bytes(*word) >> (low.wrapping_mul(salt) >> 27) & 1 != 0)
}

/// Returns true when a chunk's bloom filter proves that no row passes. `known` are the trusted
/// statistics of the chunk. Only filters that accept single values can be tested.
///
/// # Errors
///
/// Returns errors of reading the file, such as `Io`.
pub fn excludes(
    source: ChunkSource<'_>,
    filter: &LeafFilter<'_>,
    known: &ColumnStatistics,
) -> Result<bool> {
    let leaf = source.footer.schema.leaves().get(source.leaf);
    let (Some(meta), Some(leaf)) = (source.meta(), leaf) else { return Ok(false) };
    if meta.bloom_filter.is_none() || (filter.filter.test_null() && known.may_have_null()) {
        return Ok(false);
    }
    let Some(probes) = probes(leaf, filter, known) else { return Ok(false) };
    let FoundBloom::Usable(mut bloom) = BloomFilter::open(source)? else { return Ok(false) };
    let is_cheap = bloom.num_bytes <= SMALL_FILTER_BYTES
        || u64::from(bloom.num_bytes) < meta.total_compressed_bytes / MIN_CHUNK_RATIO;
    let input = source.file.input;
    if probes.len() > 1 && is_cheap {
        bloom.load(input)?;
    } else if probes.len() > MAX_SINGLE_READS && bloom.bits.is_none() {
        return Ok(false);
    }
    for probe in &probes {
        if bloom.may_contain(input, *probe)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the hashes of the values that a filter accepts, without those that the file cannot
/// contain. Returns `None` when there are too many, or when a value may be stored in several ways.
fn probes(leaf: &Leaf, filter: &LeafFilter<'_>, known: &ColumnStatistics) -> Option<Vec<u64>> {
    let are_of_one_family = |a: &Type, b: &Type| {
        a == b
            || (a.is_integer() && b.is_integer())
            || (a.is_float() && b.is_float())
            || (is_bytes(a) && is_bytes(b))
    };
    // Readers keep the low bits of integers that are wider than their type.
    let may_be_cut = matches!(
        leaf.conversion,
        ValueConversion::Int8
            | ValueConversion::Int16
            | ValueConversion::Unsigned8
            | ValueConversion::Unsigned16
    ) && (known.min.is_none() || known.max.is_none());
    let Filter::Values { test, .. } = filter.filter else { return None };
    if may_be_cut || loses_bits(&leaf.ty, filter.ty) || !are_of_one_family(&leaf.ty, filter.ty) {
        return None;
    }
    let mut points = Vec::new();
    collect_points(test, &mut points)?;
    let mut hashes = Vec::with_capacity(points.len());
    for point in &points {
        push_hashes(leaf, point, &mut hashes)?;
    }
    Some(hashes)
}

fn is_bytes(ty: &Type) -> bool {
    matches!(ty, Type::Varchar | Type::Varbinary)
}

/// A single value that a filter accepts.
#[derive(Debug, Clone, PartialEq)]
enum Point {
    Integer(i128),
    Float(f64),
    Bytes(Arc<[u8]>),
    Timestamp(Timestamp),
}

/// Adds the values that a test accepts; returns `None` when they cannot be enumerated.
fn collect_points(test: &ValueTest, points: &mut Vec<Point>) -> Option<()> {
    let integers = |points: &mut Vec<Point>, lower: i128, upper: i128| {
        let count = usize::try_from(upper.checked_sub(lower)?.checked_add(1)?.max(0)).ok()?;
        if count > MAX_PROBES {
            return None;
        }
        points.extend((lower..=upper).map(Point::Integer));
        Some(())
    };
    match test {
        ValueTest::BigintRange(range) => {
            integers(points, range.lower.into(), range.upper.into())?;
        }
        ValueTest::BigintMultiRange(ranges) => {
            for range in ranges {
                integers(points, range.lower.into(), range.upper.into())?;
            }
        }
        ValueTest::BigintValues(set) if set.values().len() <= MAX_PROBES => {
            points.extend(set.values().iter().map(|v| Point::Integer((*v).into())));
        }
        ValueTest::HugeintRange(range) => integers(points, range.lower, range.upper)?,
        ValueTest::HugeintValues(values) if values.len() <= MAX_PROBES => {
            points.extend(values.iter().map(|v| Point::Integer(*v)));
        }
        ValueTest::DoubleRange(range) => points.push(Point::Float(*range.single_value()?)),
        ValueTest::FloatRange(range) => {
            points.push(Point::Float(f64::from(*range.single_value()?)));
        }
        ValueTest::BytesRange(range) => points.push(Point::Bytes(single_bytes(range)?)),
        ValueTest::BytesValues(set) if set.values().len() <= MAX_PROBES => {
            points.extend(set.values().iter().cloned().map(Point::Bytes));
        }
        ValueTest::TimestampRange(range) if range.lower == range.upper => {
            points.push(Point::Timestamp(range.lower));
        }
        ValueTest::MultiRange(tests) => {
            for test in tests {
                collect_points(test, points)?;
            }
        }
        _ => return None,
    }
    (points.len() <= MAX_PROBES).then_some(())
}

fn single_bytes(range: &BoundRange<Arc<[u8]>>) -> Option<Arc<[u8]>> {
    match (&range.lower, &range.upper) {
        (Bound::Inclusive(lower), Bound::Inclusive(upper)) if lower == upper => {
            Some(Arc::clone(lower))
        }
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounds, which its caller checks")]
fn nearest(v: f64) -> f32 {
    v as f32
}

/// Adds the hashes of a value in its stored form; adds none when the file cannot store it. Returns
/// `None` when the value may be stored in several unknown ways.
fn push_hashes(leaf: &Leaf, point: &Point, hashes: &mut Vec<u64>) -> Option<()> {
    use PhysicalType::{ByteArray, Double, FixedLenByteArray, Float, Int32, Int64};
    use ValueConversion as To;

    match (point, leaf.physical, leaf.conversion) {
        // Integers of 8 and 16 bits fit their type here, so the width of the physical type is used.
        (
            Point::Integer(v),
            Int32,
            To::Plain | To::SignExtend | To::Int8 | To::Int16 | To::Unsigned8 | To::Unsigned16,
        ) => hashes.extend(i32::try_from(*v).ok().map(|v| hash(&v.to_le_bytes()))),
        (Point::Integer(v), Int32, To::Unsigned32) => {
            hashes.extend(u32::try_from(*v).ok().map(|v| hash(&v.to_le_bytes())));
        }
        (Point::Integer(v), Int64, To::Plain | To::SignExtend) => {
            hashes.extend(i64::try_from(*v).ok().map(|v| hash(&v.to_le_bytes())));
        }
        (Point::Integer(v), Int64, To::Unsigned64) => {
            hashes.extend(u64::try_from(*v).ok().map(|v| hash(&v.to_le_bytes())));
        }
        (Point::Integer(v), FixedLenByteArray, To::DecimalBytes) => {
            hashes.extend(big_endian(*v, leaf.type_length).map(|bytes| hash(&bytes)));
        }
        (Point::Integer(v), FixedLenByteArray, To::Uuid) => hashes.push(hash(&v.to_be_bytes())),
        // Both zeros are equal, and either may be stored.
        (Point::Float(v), Float, To::Plain) => {
            let narrow = nearest(*v);
            if f64::from(narrow) == *v {
                hashes.push(hash(&narrow.to_le_bytes()));
                hashes.extend((narrow == 0.0).then(|| hash(&(-narrow).to_le_bytes())));
            }
        }
        (Point::Float(v), Double, To::Plain) => {
            hashes.push(hash(&v.to_le_bytes()));
            hashes.extend((*v == 0.0).then(|| hash(&(-v).to_le_bytes())));
        }
        (Point::Bytes(v), ByteArray, To::Plain) => hashes.push(hash(v)),
        (Point::Bytes(v), FixedLenByteArray, To::Plain) => {
            hashes.extend((v.len() == leaf.type_length).then(|| hash(v)));
        }
        (Point::Timestamp(v), Int64, To::TimestampUnits(unit)) => {
            let units = v.to_units(unit).filter(|n| Timestamp::from_units(*n, unit) == *v);
            hashes.extend(units.map(|n| hash(&n.to_le_bytes())));
        }
        _ => return None,
    }
    Some(())
}

/// Returns the number in exactly `width` big-endian bytes, if it fits.
fn big_endian(value: i128, width: usize) -> Option<Vec<u8>> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    match bytes.len().checked_sub(width) {
        None => {
            let mut wide = vec![sign; width.saturating_sub(bytes.len())];
            wide.extend(bytes);
            Some(wide)
        }
        Some(cut) => {
            let (front, rest) = bytes.split_at_checked(cut)?;
            let same_sign = rest.first().is_some_and(|b| (b & 0x80 != 0) == (value < 0));
            (same_sign && front.iter().all(|b| *b == sign)).then(|| rest.to_vec())
        }
    }
}

#[cfg(test)]
mod tests;
