//! Column index and offset index as stored: one entry for each page, not validated.

use vector::{Buffer, Result};

use crate::thrift::{ThriftReader, WireType, required};

/// Minimum number of bytes of an encoded page location.
const MIN_PAGE_LOCATION_BYTES: usize = 7;

/// The location of one data page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLocation {
    /// Offset of the page header in the file.
    pub offset: u64,
    /// Number of bytes of header and page.
    pub compressed_bytes: u32,
    /// Number of the page's first row in the row group.
    pub first_row: u64,
}

/// The locations of the data pages of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffsetIndex {
    /// The pages in file order.
    pub pages: Vec<PageLocation>,
    /// Number of bytes of each page's byte array values without lengths; may be empty.
    pub unencoded_byte_array_data_bytes: Vec<i64>,
}

/// Statistics of the data pages of a chunk.
#[derive(Debug, Clone)]
pub struct ColumnIndex {
    /// For each page, true when it contains only nulls; its bounds have no meaning then.
    pub null_pages: Vec<bool>,
    /// The bytes from which the index was parsed; bounds are parts of them.
    bytes: Buffer<u8>,
    min_values: Vec<Span>,
    max_values: Vec<Span>,
    /// Order of the bounds: 0 unordered, 1 ascending, 2 descending; other numbers are treated as 0.
    pub boundary_order: i32,
    /// Number of nulls of each page; may be empty.
    pub null_counts: Vec<i64>,
    /// Number of NaNs of each page; may be empty.
    pub nan_counts: Vec<i64>,
}

/// The range `start..end` of the bytes of the index.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl ColumnIndex {
    /// Returns the number of lower bounds in the index.
    pub fn num_mins(&self) -> usize {
        self.min_values.len()
    }

    /// Returns the number of upper bounds in the index.
    pub fn num_maxs(&self) -> usize {
        self.max_values.len()
    }

    /// Returns the lower bound of a page.
    pub fn min(&self, page: usize) -> Option<&[u8]> {
        self.bound(self.min_values.get(page)?)
    }

    /// Returns the upper bound of a page.
    pub fn max(&self, page: usize) -> Option<&[u8]> {
        self.bound(self.max_values.get(page)?)
    }

    fn bound(&self, span: &Span) -> Option<&[u8]> {
        self.bytes.get(span.start..span.end)
    }
}

/// Parses an offset index.
///
/// # Errors
///
/// `Corrupt` when the bytes are not a valid index.
pub fn parse_offset_index(bytes: &[u8]) -> Result<OffsetIndex> {
    let r = &mut ThriftReader::new(bytes);
    let (mut pages, mut unencoded_byte_array_data_bytes) = (None, Vec::new());
    r.read_struct("OffsetIndex", |r, field| {
        match field.id {
            1 => {
                pages = Some(r.read_list(
                    field,
                    WireType::Struct,
                    MIN_PAGE_LOCATION_BYTES,
                    page_location,
                )?);
            }
            2 => {
                unencoded_byte_array_data_bytes = r.read_i64_list(field)?;
            }
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(OffsetIndex { pages: required(pages, "page_locations")?, unencoded_byte_array_data_bytes })
}

/// Parses a column index. Level histograms are skipped.
///
/// # Errors
///
/// `Corrupt` when the bytes are not a valid index.
pub fn parse_column_index(bytes: &Buffer<u8>) -> Result<ColumnIndex> {
    let r = &mut ThriftReader::new(bytes);
    let mut index = ColumnIndex {
        null_pages: Vec::new(),
        bytes: bytes.clone(),
        min_values: Vec::new(),
        max_values: Vec::new(),
        boundary_order: 0,
        null_counts: Vec::new(),
        nan_counts: Vec::new(),
    };
    r.read_struct("ColumnIndex", |r, field| {
        match field.id {
            1 => {
                index.null_pages = r.read_list(field, WireType::True, 1, |r| r.bool_element())?;
            }
            2 => {
                index.min_values = r.read_list(field, WireType::Binary, 1, span)?;
            }
            3 => {
                index.max_values = r.read_list(field, WireType::Binary, 1, span)?;
            }
            4 => index.boundary_order = r.read_i32(field)?,
            5 => index.null_counts = r.read_i64_list(field)?,
            8 => index.nan_counts = r.read_i64_list(field)?,
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(index)
}

fn span(r: &mut ThriftReader<'_>) -> Result<Span> {
    let len = r.binary()?.len();
    let end = r.offset();
    Ok(Span { start: end.saturating_sub(len), end })
}

fn page_location(r: &mut ThriftReader<'_>) -> Result<PageLocation> {
    let (mut offset, mut compressed_bytes, mut first_row) = (None, None, None);
    r.read_struct("PageLocation", |r, field| {
        match field.id {
            1 => offset = Some(r.read_u64(field)?),
            2 => compressed_bytes = Some(r.read_u32(field)?),
            3 => first_row = Some(r.read_u64(field)?),
            _ => r.skip(field)?,
        }
        Ok(())
    })?;
    Ok(PageLocation {
        offset: required(offset, "offset")?,
        compressed_bytes: required(compressed_bytes, "compressed_page_size")?,
        first_row: required(first_row, "first_row_index")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_locations_are_read_and_every_cut_is_an_error() {
        let mut bytes = vec![0x19, 0x2c];
        for page in 0..2u8 {
            bytes.extend([0x16, 8 + 40 * page, 0x15, 40, 0x16, 20 * page, 0x00]);
        }
        bytes.push(0x00);
        let index = parse_offset_index(&bytes).unwrap();
        assert_eq!(
            index.pages,
            [
                PageLocation { offset: 4, compressed_bytes: 20, first_row: 0 },
                PageLocation { offset: 24, compressed_bytes: 20, first_row: 10 },
            ]
        );
        for len in 0..bytes.len() {
            assert!(parse_offset_index(&bytes[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn a_column_index_keeps_bounds_and_counts_by_page() {
        let bytes = [
            0x19, 0x21, 0x01, 0x02, // null pages
            0x19, 0x28, 0x00, 0x01, b'a', // lower bounds
            0x19, 0x28, 0x00, 0x01, b'z', // upper bounds
            0x15, 0x02, // ascending
            0x19, 0x26, 0x0a, 0x00, // null counts
            0x00,
        ];
        let index = parse_column_index(&Buffer::from_slice(&bytes)).unwrap();
        assert_eq!(index.null_pages, [true, false]);
        assert_eq!((index.num_mins(), index.num_maxs()), (2, 2));
        assert_eq!((index.min(0), index.max(0)), (Some(&b""[..]), Some(&b""[..])));
        assert_eq!((index.min(1), index.max(1)), (Some(&b"a"[..]), Some(&b"z"[..])));
        assert_eq!(index.min(2), None);
        assert_eq!((index.boundary_order, index.null_counts), (1, vec![5, 0]));
        for len in 0..bytes.len() {
            let cut = Buffer::from_slice(&bytes[..len]);
            assert!(parse_column_index(&cut).is_err(), "{len}");
        }
    }
}
