//! Parser of the bytes before a page into [`PageHeader`], and of those before a bloom filter.
//!
//! Readers skip the statistics in page headers: the page index contains the same in one place.
//! Their position is kept for inspection.

use std::ops::Range;

use vector::{Error, Result};

use super::structs::{
    BloomFilterHeader, DataPageHeader, DataPageHeaderV2, DictionaryPageHeader, Encoding,
    PageHeader, PageKind, PageType,
};
use super::{Field, ThriftReader, WireType, required};
use crate::statistics::{self, Statistics};

const DATA_PAGE_HEADER: &str = "data_page_header";
const INDEX_PAGE_HEADER: &str = "index_page_header";
const DICTIONARY_PAGE_HEADER: &str = "dictionary_page_header";
const DATA_PAGE_HEADER_V2: &str = "data_page_header_v2";

/// Compares a page's type with the structs of its header. SPEC (`PageHeader`): "Headers for page
/// specific data. One only will be set." When type and struct contradict each other it is unknown
/// whether the page has rows.
fn check_type(page_type: PageType, mut given: impl Iterator<Item = &'static str>) -> Result<()> {
    let expected = match page_type {
        PageType::Data => DATA_PAGE_HEADER,
        PageType::DataV2 => DATA_PAGE_HEADER_V2,
        PageType::Dictionary => DICTIONARY_PAGE_HEADER,
        PageType::Index => INDEX_PAGE_HEADER,
        PageType::Unknown(_) => "none that is known",
    };
    match given.find(|given| *given != expected) {
        None => Ok(()),
        Some(found) => Err(Error::corrupt("a page's header is that of another type of page")
            .with("expected", expected)
            .with("found", found)),
    }
}

/// Parses the header at the start of `bytes` and returns it with the number of bytes it takes.
///
/// # Errors
///
/// `Corrupt` when the header is invalid. Input that ends inside the header is an error with the
/// message [`super::ENDS_EARLY`].
pub fn parse_page_header(bytes: &[u8]) -> Result<(PageHeader, usize)> {
    let r = &mut ThriftReader::new(bytes);
    let (mut page_type, mut uncompressed, mut compressed, mut crc) = (None, None, None, None);
    let (mut data, mut data_v2, mut dictionary) = (None, None, None);
    let mut index_field = None;
    let mut statistics = None;
    r.read_struct("PageHeader", |r, field| {
        match field.id {
            1 => page_type = Some(PageType::from(r.read_i32(field)?)),
            2 => uncompressed = Some(size(r, field)?),
            3 => compressed = Some(size(r, field)?),
            // The checksum is an unsigned number of 32 bits, although it is declared as signed.
            4 => crc = Some(r.read_i32(field)?.cast_unsigned()),
            5 => data = Some(data_page_header(r, field, &mut statistics)?),
            6 => {
                index_field = Some(INDEX_PAGE_HEADER);
                r.skip(field)?;
            }
            7 => dictionary = Some(dictionary_page_header(r, field)?),
            8 => data_v2 = Some(data_page_header_v2(r, field, &mut statistics)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    let page_type = required(page_type, "type")?;
    let given = [
        data.as_ref().map(|_| DATA_PAGE_HEADER),
        index_field,
        dictionary.as_ref().map(|_| DICTIONARY_PAGE_HEADER),
        data_v2.as_ref().map(|_| DATA_PAGE_HEADER_V2),
    ];
    check_type(page_type, given.into_iter().flatten())?;
    let kind = match page_type {
        PageType::Data => PageKind::Data(required(data, DATA_PAGE_HEADER)?),
        PageType::DataV2 => PageKind::DataV2(required(data_v2, DATA_PAGE_HEADER_V2)?),
        PageType::Dictionary => PageKind::Dictionary(required(dictionary, DICTIONARY_PAGE_HEADER)?),
        PageType::Index => PageKind::Index,
        PageType::Unknown(number) => PageKind::Unknown(number),
    };
    let header = PageHeader {
        kind,
        uncompressed_bytes: required(uncompressed, "uncompressed_page_size")?,
        compressed_bytes: required(compressed, "compressed_page_size")?,
        crc,
        statistics,
    };
    Ok((header, r.offset()))
}

/// Parses the statistics of a page header from its bytes; returns `None` when there are none.
///
/// # Errors
///
/// `Corrupt` when the statistics are invalid.
pub fn parse_page_statistics(bytes: &[u8], header: &PageHeader) -> Result<Option<Statistics>> {
    let found = header.statistics.clone().and_then(|place| bytes.get(place));
    found.map(|bytes| statistics::statistics(&mut ThriftReader::new(bytes))).transpose()
}

/// Skips statistics and returns their position.
fn place_of_statistics(r: &mut ThriftReader<'_>, field: Field) -> Result<Range<usize>> {
    let start = r.offset();
    r.skip(field)?;
    Ok(start..r.offset())
}

fn data_page_header(
    r: &mut ThriftReader<'_>,
    field: Field,
    statistics: &mut Option<Range<usize>>,
) -> Result<DataPageHeader> {
    r.expect(field, WireType::Struct)?;
    let (mut num_values, mut encoding) = (None, None);
    let (mut definition_encoding, mut repetition_encoding) = (None, None);
    r.read_struct("DataPageHeader", |r, field| {
        match field.id {
            1 => num_values = Some(size(r, field)?),
            2 => encoding = Some(Encoding::from(r.read_i32(field)?)),
            3 => definition_encoding = Some(Encoding::from(r.read_i32(field)?)),
            4 => repetition_encoding = Some(Encoding::from(r.read_i32(field)?)),
            5 => *statistics = Some(place_of_statistics(r, field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(DataPageHeader {
        num_values: required(num_values, "num_values")?,
        encoding: required(encoding, "encoding")?,
        definition_encoding: required(definition_encoding, "definition_level_encoding")?,
        repetition_encoding: required(repetition_encoding, "repetition_level_encoding")?,
    })
}

fn data_page_header_v2(
    r: &mut ThriftReader<'_>,
    field: Field,
    statistics: &mut Option<Range<usize>>,
) -> Result<DataPageHeaderV2> {
    r.expect(field, WireType::Struct)?;
    let (mut num_values, mut num_nulls, mut num_rows, mut encoding) = (None, None, None, None);
    let (mut definition_bytes, mut repetition_bytes) = (None, None);
    let mut is_compressed = true;
    r.read_struct("DataPageHeaderV2", |r, field| {
        match field.id {
            1 => num_values = Some(size(r, field)?),
            2 => num_nulls = Some(size(r, field)?),
            3 => num_rows = Some(size(r, field)?),
            4 => encoding = Some(Encoding::from(r.read_i32(field)?)),
            5 => definition_bytes = Some(size(r, field)?),
            6 => repetition_bytes = Some(size(r, field)?),
            7 => is_compressed = r.read_bool(field)?,
            8 => *statistics = Some(place_of_statistics(r, field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(DataPageHeaderV2 {
        num_values: required(num_values, "num_values")?,
        num_nulls: required(num_nulls, "num_nulls")?,
        num_rows: required(num_rows, "num_rows")?,
        encoding: required(encoding, "encoding")?,
        definition_bytes: required(definition_bytes, "definition_levels_byte_length")?,
        repetition_bytes: required(repetition_bytes, "repetition_levels_byte_length")?,
        is_compressed,
    })
}

fn dictionary_page_header(r: &mut ThriftReader<'_>, field: Field) -> Result<DictionaryPageHeader> {
    r.expect(field, WireType::Struct)?;
    let (mut num_values, mut encoding, mut is_sorted) = (None, None, false);
    r.read_struct("DictionaryPageHeader", |r, field| {
        match field.id {
            1 => num_values = Some(size(r, field)?),
            2 => encoding = Some(Encoding::from(r.read_i32(field)?)),
            3 => is_sorted = r.read_bool(field)?,
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(DictionaryPageHeader {
        num_values: required(num_values, "num_values")?,
        encoding: required(encoding, "encoding")?,
        is_sorted,
    })
}

/// Parses the header before a bloom filter's bits and returns it with the number of bytes it takes.
///
/// # Errors
///
/// `Corrupt` when the header is invalid.
pub fn parse_bloom_filter_header(bytes: &[u8]) -> Result<(BloomFilterHeader, usize)> {
    let r = &mut ThriftReader::new(bytes);
    let mut num_bytes = None;
    let mut known_members = 0u32;
    r.read_struct("BloomFilterHeader", |r, field| {
        match field.id {
            1 => num_bytes = Some(r.read_u32(field)?),
            2..=4 => {
                r.expect(field, WireType::Struct)?;
                // So far each of the three unions has one member, number 1.
                r.read_struct("BloomFilterKind", |r, member| {
                    known_members = known_members.saturating_add(u32::from(member.id == 1));
                    r.skip(member)
                })?;
            }
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    let num_bytes = required(num_bytes, "numBytes")?;
    Ok((BloomFilterHeader { num_bytes, is_known_kind: known_members == 3 }, r.offset()))
}

/// Reads a 32-bit size or count as `usize`.
fn size(r: &mut ThriftReader<'_>, field: Field) -> Result<usize> {
    usize::try_from(r.read_u32(field)?)
        .map_err(|_| Error::limit("a size beyond this machine").with("offset", r.offset()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thrift::ENDS_EARLY;

    /// A data page of version 1: sizes 10 and 10, five values, PLAIN, levels RLE.
    const DATA: [u8; 17] = [
        0x15, 0x00, 0x15, 0x14, 0x15, 0x14, 0x2c, 0x15, 0x0a, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06,
        0x00, 0x00,
    ];

    #[test]
    fn a_data_page_header_is_read_to_its_last_byte() {
        let mut bytes = DATA.to_vec();
        bytes.extend([0xff; 4]);
        let (header, len) = parse_page_header(&bytes).unwrap();
        assert_eq!(len, DATA.len());
        assert_eq!(
            header,
            PageHeader {
                kind: PageKind::Data(DataPageHeader {
                    num_values: 5,
                    encoding: Encoding::Plain,
                    definition_encoding: Encoding::Rle,
                    repetition_encoding: Encoding::Rle,
                }),
                uncompressed_bytes: 10,
                compressed_bytes: 10,
                crc: None,
                statistics: None,
            }
        );
    }

    #[test]
    fn statistics_in_a_header_are_found_again() {
        // Field 5 of the data page's header: a null count of 3.
        let mut bytes = DATA[..15].to_vec();
        bytes.extend([0x1c, 0x36, 0x06, 0x00, 0x00, 0x00]);
        let (header, len) = parse_page_header(&bytes).unwrap();
        assert_eq!((header.statistics.clone(), len), (Some(16..19), bytes.len()));
        let found = parse_page_statistics(&bytes, &header).unwrap().unwrap();
        assert_eq!((found.null_count, found.max_value), (Some(3), None));
        let (header, _) = parse_page_header(&DATA).unwrap();
        assert_eq!(parse_page_statistics(&DATA, &header).unwrap(), None);
    }

    #[test]
    fn a_header_cut_anywhere_ends_early() {
        for len in 0..DATA.len() {
            let error = parse_page_header(&DATA[..len]).unwrap_err();
            assert_eq!(error.message(), ENDS_EARLY, "{len}");
        }
    }

    #[test]
    fn every_changed_byte_gives_a_header_or_an_error() {
        for at in 0..DATA.len() {
            for byte in 0..=255 {
                let mut bytes = DATA;
                bytes[at] = byte;
                let _ = parse_page_header(&bytes);
            }
        }
    }

    #[test]
    fn negative_sizes_and_a_missing_body_are_corrupt() {
        let mut bytes = DATA;
        bytes[3] = 0x13;
        assert_eq!(
            parse_page_header(&bytes).unwrap_err().to_string(),
            "corrupt: a count or size is negative (offset=3 expected=0 or more found=-10)\n  \
             in field 2, struct \"PageHeader\""
        );
        let mut bytes = DATA;
        bytes[1] = 0x04;
        assert_eq!(
            parse_page_header(&bytes).unwrap_err().to_string(),
            "corrupt: a page's header is that of another type of page \
             (expected=dictionary_page_header found=data_page_header)"
        );
        let mut bytes = DATA;
        bytes[6] = 0x3c;
        assert_eq!(
            parse_page_header(&bytes).unwrap_err().to_string(),
            "corrupt: a page's header is that of another type of page \
             (expected=data_page_header found=index_page_header)"
        );
    }

    #[test]
    fn version_two_is_compressed_unless_it_says_not() {
        let mut bytes = vec![0x15, 0x06, 0x15, 0x14, 0x15, 0x14, 0x15, 0x01, 0x4c];
        bytes.extend([0x15, 0x0a, 0x15, 0x02, 0x15, 0x0a, 0x15, 0x10, 0x15, 0x04, 0x15, 0x00]);
        let header = |end: &[u8]| parse_page_header(&[&bytes, end].concat()).unwrap().0;
        let PageKind::DataV2(v2) = header(&[0x00, 0x00]).kind else { panic!("not version 2") };
        assert!(v2.is_compressed);
        assert_eq!((v2.num_values, v2.num_nulls, v2.num_rows), (5, 1, 5));
        assert_eq!((v2.definition_bytes, v2.repetition_bytes), (2, 0));
        assert_eq!(v2.encoding, Encoding::RleDictionary);
        let PageKind::DataV2(v2) = header(&[0x12, 0x00, 0x00]).kind else { panic!("as above") };
        assert!(!v2.is_compressed);
        assert_eq!(header(&[0x00, 0x00]).crc, Some(u32::MAX));
    }

    #[test]
    fn unknown_page_types_and_encodings_keep_their_number() {
        let header = parse_page_header(&[0x15, 0x12, 0x15, 0x02, 0x15, 0x02, 0x00]).unwrap().0;
        assert_eq!(header.kind, PageKind::Unknown(9));
        assert_eq!(Encoding::from(77).to_string(), "?77");
        assert_eq!(Encoding::from(3).to_string(), "RLE");
    }

    #[test]
    fn a_bloom_filter_header_says_whether_we_know_its_kind() {
        let kind = [0x1c, 0x1c, 0x00, 0x00];
        let bytes = [&[0x15, 0x40][..], &kind, &kind, &kind, &[0x00]].concat();
        let (header, len) = parse_bloom_filter_header(&bytes).unwrap();
        assert_eq!(header, BloomFilterHeader { num_bytes: 32, is_known_kind: true });
        assert_eq!(len, bytes.len());
        let mut other = bytes.clone();
        other[3] = 0x2c;
        assert!(!parse_bloom_filter_header(&other).unwrap().0.is_known_kind);
    }
}
