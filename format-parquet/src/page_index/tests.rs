//! Indexes written by hand: what is believed of them, and every way in which they are not.

use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use vector::MemoryPool;

use super::*;
use crate::chunk_source::FileSource;
use crate::statistics::tests::{NUM_ROWS, bounds, footer, leaf};
use crate::thrift::structs::{PhysicalType, Repetition, SchemaElement};

/// The pieces of both indexes, as they go into the file.
#[derive(Debug, Clone)]
pub(crate) struct Indexes {
    /// Offset, size and first row of each page.
    pub(crate) pages: Vec<(i64, i32, i64)>,
    pub(crate) null_pages: Vec<bool>,
    pub(crate) mins: Vec<Vec<u8>>,
    pub(crate) maxs: Vec<Vec<u8>>,
    pub(crate) order: i32,
    pub(crate) null_counts: Vec<i64>,
}

impl Indexes {
    /// Pages of 40, 30 and 30 rows: 1 to 10, nulls, and 5 to 20 with one null.
    pub(crate) fn sample() -> Self {
        let stored = |v: i32| v.to_le_bytes().to_vec();
        Indexes {
            pages: vec![(4, 300, 0), (304, 200, 40), (504, 400, 70)],
            null_pages: vec![false, true, false],
            mins: vec![stored(1), vec![], stored(5)],
            maxs: vec![stored(10), vec![], stored(20)],
            order: 1,
            null_counts: vec![0, 30, 1],
        }
    }

    pub(crate) fn offset_bytes(&self) -> Vec<u8> {
        let mut out = vec![0x19];
        list_header(&mut out, self.pages.len(), 0x0c);
        for (offset, size, row) in &self.pages {
            out.push(0x16);
            zigzag(&mut out, *offset);
            out.push(0x15);
            zigzag(&mut out, (*size).into());
            out.push(0x16);
            zigzag(&mut out, *row);
            out.push(0);
        }
        out.push(0);
        out
    }

    pub(crate) fn column_bytes(&self) -> Vec<u8> {
        let mut out = vec![0x19];
        list_header(&mut out, self.null_pages.len(), 0x01);
        out.extend(self.null_pages.iter().map(|is_null| if *is_null { 1 } else { 2 }));
        for bounds in [&self.mins, &self.maxs] {
            out.push(0x19);
            list_header(&mut out, bounds.len(), 0x08);
            for bound in bounds {
                out.push(bound.len() as u8);
                out.extend(bound);
            }
        }
        out.push(0x15);
        zigzag(&mut out, self.order.into());
        out.push(0x19);
        list_header(&mut out, self.null_counts.len(), 0x06);
        for count in &self.null_counts {
            zigzag(&mut out, *count);
        }
        out.push(0);
        out
    }

    pub(crate) fn bytes(&self) -> IndexBytes {
        IndexBytes {
            offsets: Some(Ok(Buffer::from_slice(&self.offset_bytes()))),
            columns: Some(Ok(Buffer::from_slice(&self.column_bytes()))),
        }
    }
}

fn list_header(out: &mut Vec<u8>, len: usize, element: u8) {
    assert!(len < 15);
    out.push((len as u8) << 4 | element);
}

fn zigzag(out: &mut Vec<u8>, value: i64) {
    let mut left = (value << 1 ^ value >> 63) as u64;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// One optional INT32 column of values from 1 to 20 with 31 nulls.
fn file() -> Footer {
    let mut stored = bounds(1i32.to_le_bytes(), 20i32.to_le_bytes());
    stored.null_count = Some(31);
    footer(vec![leaf(PhysicalType::Int32)], vec![Some(stored)])
}

fn index_in(footer: &Footer, indexes: &Indexes) -> PageIndex {
    PageIndex::new(footer, 0, 0, indexes.bytes(), TrustOptions::default())
}

#[test]
fn pages_have_rows_and_believed_statistics() {
    let index = index_in(&file(), &Indexes::sample());
    assert!(index.offset_defect().is_none() && index.column_defect().is_none());
    assert_eq!((index.num_pages(), index.num_rows()), (3, NUM_ROWS));
    let rows: Vec<_> = (0..4).map(|page| index.rows(page)).collect();
    assert_eq!(rows, [0..40, 40..70, 70..100, 0..0]);
    let known = |page: usize| {
        let known = &index.statistics()[page];
        (known.num_values, known.num_nulls, known.min.clone(), known.max.clone())
    };
    let value = |v| Some(Value::Integer(v));
    assert_eq!(known(0), (Some(40), Some(0), value(1), value(10)));
    assert_eq!(known(1), (Some(30), Some(30), None, None));
    assert_eq!(known(2), (Some(30), Some(1), value(5), value(20)));
    assert!(index.is_ordered());
    let wanted = RowRanges::from_iter([39..40, 99..100]);
    assert_eq!(index.pages_of(&wanted).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn an_order_that_the_bounds_do_not_have_is_found() {
    let mut indexes = Indexes::sample();
    for order in [0, 2, 7] {
        indexes.order = order;
        assert!(!index_in(&file(), &indexes).is_ordered());
    }
    indexes.order = 1;
    indexes.maxs[2] = 9i32.to_le_bytes().to_vec();
    let index = index_in(&file(), &indexes);
    assert!(!index.is_ordered() && index.statistics().len() == 3);
}

#[test]
fn an_offset_index_that_does_not_fit_the_chunk_is_not_believed() {
    type Change = fn(&mut Indexes);
    let changes: [(Change, &str); 9] = [
        (|i| i.pages[0].2 = 1, "the page does not start behind the rows before it"),
        (|i| i.pages[1].2 = 0, "the page does not start behind the rows before it"),
        (|i| i.pages[2].2 = 40, "the page does not start behind the rows before it"),
        (|i| i.pages[2].2 = 100, "the page does not start behind the rows before it"),
        (|i| i.pages[1].0 = 300, "the page is not behind the one before it in its chunk"),
        (|i| i.pages[0].0 = 3, "the page is not behind the one before it in its chunk"),
        (|i| i.pages[1].1 = 0, "the page is not behind the one before it in its chunk"),
        (|i| i.pages[2].1 = 501, "the page is not behind the one before it in its chunk"),
        (|i| i.pages.clear(), "the index has no pages"),
    ];
    for (change, message) in changes {
        let mut indexes = Indexes::sample();
        change(&mut indexes);
        let index = index_in(&file(), &indexes);
        assert_eq!(index.offset_defect().unwrap().message(), message);
        assert!(index.offsets().is_none() && index.statistics().is_empty());
        assert_eq!(index.num_rows(), NUM_ROWS);
        let message = index.column_defect().unwrap().message();
        assert_eq!(message, "a column index needs an offset index");
    }
}

#[test]
fn a_column_index_that_contradicts_itself_or_its_chunk_is_not_believed() {
    let bytes = |v: i32| v.to_le_bytes().to_vec();
    type Change<'a> = &'a dyn Fn(&mut Indexes);
    let changes: [(Change<'_>, &str); 12] = [
        (&|i| drop(i.mins.pop()), "the two indexes have other numbers of pages"),
        (&|i| i.maxs.push(vec![]), "the two indexes have other numbers of pages"),
        (&|i| i.null_pages.clear(), "the two indexes have other numbers of pages"),
        (&|i| i.null_counts.truncate(2), "a list of the column index has another length"),
        (&|i| i.null_counts.push(0), "a list of the column index has another length"),
        (&|i| i.null_counts[1] = 29, "a page's nulls contradict each other"),
        (&|i| i.null_counts[2] = 30, "a page's nulls contradict each other"),
        (&|i| i.null_counts[2] = 31, "the null count does not fit the number of values"),
        (&|i| i.null_counts[2] = -1, "the null count does not fit the number of values"),
        (&|i| i.null_counts[2] = 2, "the nulls of the pages are not those of the chunk"),
        (&|i| i.mins[0] = bytes(0), "the bounds of a page lie outside of the chunk's"),
        (&|i| i.maxs[2] = bytes(21), "the bounds of a page lie outside of the chunk's"),
    ];
    for (number, (change, message)) in changes.into_iter().enumerate() {
        let mut indexes = Indexes::sample();
        change(&mut indexes);
        let index = index_in(&file(), &indexes);
        let defect = index.column_defect().unwrap_or_else(|| panic!("change {number}"));
        assert_eq!(defect.message(), message);
        // Where the pages are is still known.
        assert!(index.statistics().is_empty() && index.num_pages() == 3);
    }
}

#[test]
fn a_bound_of_a_page_that_makes_no_sense_leaves_the_others() {
    let mut indexes = Indexes::sample();
    indexes.mins[0] = vec![1];
    let index = index_in(&file(), &indexes);
    assert!(index.column_defect().is_none());
    let first = &index.statistics()[0];
    assert_eq!((&first.min, &first.max), (&None, &Some(Value::Integer(10))));
    // Counts may be missing altogether.
    indexes.null_counts.clear();
    let index = index_in(&file(), &indexes);
    assert!(index.column_defect().is_none());
    assert_eq!(index.statistics()[0].num_nulls, None);
    assert_eq!(index.statistics()[1].num_nulls, Some(30));
}

#[test]
fn pages_of_elements_have_bounds_and_no_counts_of_rows() {
    let repeated =
        SchemaElement { repetition: Some(Repetition::Repeated), ..leaf(PhysicalType::Int32) };
    let mut indexes = Indexes::sample();
    indexes.null_counts = vec![0, 4_000, 500];
    let index = index_in(&footer(vec![repeated], vec![None]), &indexes);
    assert!(index.column_defect().is_none());
    for page in index.statistics() {
        assert_eq!((page.num_values, page.num_nulls), (None, None));
    }
    assert_eq!(index.statistics()[0].min, Some(Value::Integer(1)));
}

#[test]
fn indexes_are_read_from_the_file_and_broken_ones_do_not_stop_it() {
    let indexes = Indexes::sample();
    let (offsets, columns) = (indexes.offset_bytes(), indexes.column_bytes());
    let mut content = vec![0; 2000];
    content.extend(&offsets);
    content.extend(&columns);
    let files = MemoryFiles::new();
    files.put("f", content);
    let input = BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited());
    let mut footer = file();
    footer.footer_offset = input.file_len();
    let mut read = |offset_region, column_region, want_columns| {
        let text = |region: Range<u64>| format!("{}..{}", region.start, region.end);
        let change = |chunk: &mut crate::thrift::structs::ColumnChunk| {
            chunk.offset_index = Some(offset_region);
            chunk.column_index = Some(column_region);
        };
        footer.metadata.row_groups[0].columns.change(0, change).unwrap();
        let regions: Vec<_> = index_regions(&footer, 0, 0).map(text).collect();
        let source = FileSource::plain(&input).chunk(&footer, 0, 0);
        let index = read_page_index(source, want_columns, TrustOptions::default()).unwrap();
        (regions, index.num_pages(), index.statistics().len(), index.column_defect().is_some())
    };
    let region =
        |offset: usize, bytes: usize| IndexRegion { offset: offset as u64, bytes: bytes as u32 };
    let first = region(2000, offsets.len());
    let second = region(2000 + offsets.len(), columns.len());
    let ends = [2000 + offsets.len() as u64, 2000 + (offsets.len() + columns.len()) as u64];
    let both = vec![format!("2000..{}", ends[0]), format!("{}..{}", ends[0], ends[1])];
    assert_eq!(read(first, second, true), (both.clone(), 3, 3, false));
    assert_eq!(read(first, second, false), (both.clone(), 3, 0, false));
    let cut = region(2000, offsets.len() - 1);
    assert_eq!(read(cut, second, true).1, 0);
    let outside = region(2000 + offsets.len(), columns.len() + 1);
    assert_eq!(read(first, outside, true), (both[..1].to_vec(), 3, 0, true));
    let far = IndexRegion { offset: u64::MAX, bytes: u32::MAX };
    assert_eq!(read(far, far, true), (vec![], 0, 0, true));
}

#[test]
fn every_changed_byte_of_an_index_ends_in_pages_or_a_defect() {
    let sample = Indexes::sample();
    let footer = file();
    let (offsets, columns) = (sample.offset_bytes(), sample.column_bytes());
    for at in 0..offsets.len() + columns.len() {
        for bit in 0..8 {
            let mut parts = [offsets.clone(), columns.clone()];
            match at.checked_sub(offsets.len()) {
                None => parts[0][at] ^= 1 << bit,
                Some(at) => parts[1][at] ^= 1 << bit,
            }
            let [offsets, columns] = parts.map(|part| Some(Ok(Buffer::from_slice(&part))));
            let bytes = IndexBytes { offsets, columns };
            let index = PageIndex::new(&footer, 0, 0, bytes, TrustOptions::default());
            assert_eq!(index.offsets().is_none(), index.offset_defect().is_some());
            let rows: u64 =
                (0..index.num_pages()).map(|p| index.rows(p).end - index.rows(p).start).sum();
            assert_eq!(rows, if index.offsets().is_some() { NUM_ROWS } else { 0 });
        }
    }
}
