//! Handmade footers, truncated and changed in every byte, and those of the shared corpus.

use std::path::{Path, PathBuf};

use dwio::fs::{AheadFiles, FileSystem, MemoryFiles, ObservedFiles};
use dwio::reader::ReaderParams;
use vector::{ErrorKind, MemoryPool};

use super::*;

fn read(file: &[u8]) -> Result<Footer> {
    let files = MemoryFiles::new();
    files.put("f", file.to_vec());
    read_footer(&BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited()), None)
}

/// A file with one INT32 column `a` in one row group of `num_rows` rows and `chunk_bytes` bytes.
struct Sample {
    num_rows: u8,
    num_values: u8,
    chunk_bytes: u8,
    physical: u8,
    file_rows: u8,
}

impl Default for Sample {
    fn default() -> Self {
        Sample { num_rows: 5, num_values: 5, chunk_bytes: 20, physical: 1, file_rows: 5 }
    }
}

impl Sample {
    fn footer(&self) -> Vec<u8> {
        let zigzag = |n: u8| n << 1;
        [
            &[0x15, 0x02][..],            // version 1
            &[0x19, 0x2c],                // schema: two elements
            &[0x48, 1, b'r', 0x15, 2, 0], // root with one child
            &[0x15, 2, 0x25, 0, 0x18, 1, b'a', 0],
            &[0x16, zigzag(self.file_rows)],
            &[0x19, 0x1c],    // one row group
            &[0x19, 0x1c],    // one chunk
            &[0x26, 0, 0x1c], // file_offset, then its metadata
            &[0x15, zigzag(self.physical)],
            &[0x19, 0x15, 0],       // encodings
            &[0x19, 0x18, 1, b'a'], // path
            &[0x15, 0, 0x16, zigzag(self.num_values)],
            &[0x16, 40, 0x16, 0x80 | zigzag(self.chunk_bytes) & 0x7f, self.chunk_bytes >> 6],
            &[0x26, 8, 0, 0],
            &[0x16, 40, 0x16, zigzag(self.num_rows), 0],
            &[0x28, 1, b'w', 0], // created_by
        ]
        .concat()
    }

    fn file(&self) -> Vec<u8> {
        framed(&[0; 20], &self.footer())
    }
}

fn framed(data: &[u8], footer: &[u8]) -> Vec<u8> {
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", data, footer, &length, b"PAR1"].concat()
}

#[test]
fn a_footer_gives_schema_row_groups_and_chunk_ranges() {
    let footer = read(&Sample::default().file()).unwrap();
    assert_eq!(footer.num_rows, 5);
    assert_eq!(footer.schema.row_type().to_string(), "a INTEGER");
    assert_eq!(footer.metadata.created_by.as_deref(), Some("w"));
    assert_eq!(footer.footer_offset, 24);
    let (meta, range) = footer.chunk(0, 0).unwrap();
    assert_eq!((meta.num_values, range), (5, 4..24));
    assert_eq!(meta.path_in_schema, "a");
    assert_eq!(footer.chunk(1, 0).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn a_large_footer_is_fetched_with_a_read_of_its_own() {
    // Free text makes the footer longer than the first read of the end of the file.
    let mut footer = Sample::default().footer();
    footer.truncate(footer.len() - 4);
    let long = 200 << 10;
    footer.extend([0x19, 0x1c, 0x18, 1, b'k', 0x18]);
    footer.extend([
        0x80 | (long & 0x7f) as u8,
        0x80 | ((long >> 7) & 0x7f) as u8,
        (long >> 14) as u8,
    ]);
    footer.extend(std::iter::repeat_n(b'v', long));
    footer.extend([0, 0]);
    let footer = read(&framed(&[0; 20], &footer)).unwrap();
    assert_eq!(footer.metadata.key_value_metadata[0].value.as_ref().map(String::len), Some(long));
}

#[test]
fn a_footer_is_one_read_and_what_stands_before_the_footer_comes_with_it() {
    let files = MemoryFiles::new();
    let data = vec![0; 1 << 20];
    let sample = Sample::default();
    files.put("f", framed(&data, &sample.footer()));
    let files = ObservedFiles::new(Arc::new(files));
    let input = BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited());
    let options = dwio::config::Config::new();
    let params = ReaderParams { options, pool: MemoryPool::unlimited(), file_schema: None };
    let reader = crate::ParquetReader::open(input, params, None).unwrap();
    // The second read is of the magic at the start, which is not read where a read takes long.
    assert_eq!((files.reads(), files.read_bytes()), (2, SPECULATIVE_BYTES + MAGIC_BYTES));
    // Page indexes and bloom filters are also in the bytes that were read.
    let end = reader.footer().footer_offset;
    reader.input().reopened().read(end - 1000, 1000).unwrap();
    assert_eq!(files.reads(), 2);
}

#[test]
fn what_a_footer_takes_in_memory_is_charged_before_it_is_taken() {
    // Entries of free text take three bytes each in the file, and fifty or more in memory.
    let num_entries = 400_000u32;
    let mut footer = Sample::default().footer();
    footer.truncate(footer.len() - 4);
    let varint =
        [num_entries as u8 | 0x80, (num_entries >> 7) as u8 | 0x80, (num_entries >> 14) as u8];
    footer.extend([0x19, 0xfc]);
    footer.extend(varint);
    (0..num_entries).for_each(|_| footer.extend([0x18, 0, 0]));
    footer.push(0);
    let file = framed(&[0; 20], &footer);
    let read = |limit: u64| {
        let files = MemoryFiles::new();
        files.put("f", file.clone());
        let root = MemoryPool::root("root", limit);
        let input = BufferedInput::new(files.open("f").unwrap(), root.leaf("leaf"));
        let footer = read_footer(&input, None);
        drop(input);
        let held = footer.map(|footer| {
            assert_eq!(footer.metadata.key_value_metadata.len(), num_entries as usize);
            // The bytes of the file are charged separately, by their buffer.
            assert!(root.used() > footer.memory.bytes());
            footer.memory.bytes()
        });
        assert_eq!(root.used(), 0);
        held
    };
    let held = read(1 << 30).unwrap();
    let expected = num_entries as usize * size_of::<crate::thrift::structs::KeyValue>();
    assert!((held as usize) >= expected && (held as usize) < 2 * expected, "{held} {expected}");
    let error = read(held / 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

/// The first bytes of a file must be the magic, like the last ones (rule P1.3).
#[test]
fn the_magic_at_the_start_is_looked_at_when_a_near_or_a_small_file_is_opened() {
    let with = |data_bytes: usize, is_far: bool| {
        let mut file = framed(&vec![0; data_bytes], &Sample::default().footer());
        file[..4].copy_from_slice(b"ABCD");
        let files = MemoryFiles::new();
        files.put("f", file);
        let near: Arc<dyn FileSystem> = Arc::new(files);
        let files = if is_far { Arc::new(AheadFiles::new(near, 1, 1 << 20)) } else { near };
        BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited())
    };
    let is_refused = |footer: &Result<Footer>| match footer {
        Ok(_) => false,
        Err(error) => error.to_string().contains("first four bytes are not PAR1 (found=ABCD)"),
    };
    for (data_bytes, is_far) in
        [(0, true), (100 << 10, false), (100 << 10, true), (300 << 10, false), (300 << 10, true)]
    {
        let mut input = with(data_bytes, is_far);
        assert!(is_refused(&read_footer_to_look_at(&input, None)));
        input.load_end(SPECULATIVE_BYTES).unwrap();
        let opened = read_footer(&input, None);
        // In a large remote file they are checked when they are read with the first values.
        let is_left = is_far && data_bytes > 256 << 10;
        assert_eq!(is_refused(&opened), !is_left, "{data_bytes} {is_far}");
        assert_eq!(opened.is_ok_and(|footer| footer.unchecked_head == Some(*b"PAR1")), is_left);
    }
}

/// An invalid chunk that is not used has no effect; an error about a used one states the defect and
/// its location.
#[test]
fn a_chunk_that_is_broken_where_only_its_readers_look_fails_those() {
    let encodings = [0x19, 0x15, 0];
    let sound = Sample::default().footer();
    let at = sound.windows(3).position(|bytes| bytes == encodings).unwrap();
    let mut broken = sound.clone();
    // A list of numbers becomes one of strings.
    broken[at + 1] = 0x18;
    let file = framed(&[0; 20], &broken);
    let footer = read(&file).unwrap();
    assert_eq!(footer.num_rows, 5);
    let want = format!(
        "corrupt: thrift value has the wrong type (offset={} expected=i32 found=binary)\n  in field \
         2, struct \"ColumnMetaData\", field 3, struct \"ColumnChunk\", column \"a\", row group 0",
        at + 2
    );
    assert_eq!(footer.chunk(0, 0).unwrap_err().to_string(), want);
    assert_eq!(footer.column_chunk(0, 0).unwrap_err().to_string(), want);
    let files = MemoryFiles::new();
    files.put("f", file);
    let input = BufferedInput::new(files.open("f").unwrap(), MemoryPool::unlimited());
    let shown = read_footer_to_look_at(&input, None).unwrap_err();
    assert_eq!(shown.to_string(), format!("{want}, file \"f\""));
}

#[test]
fn chunks_are_parsed_once_and_a_change_shows_in_what_is_known_of_all() {
    let mut footer = read(&Sample::default().file()).unwrap();
    let chunks = &mut footer.metadata.row_groups[0].columns;
    let first: *const ColumnChunk = chunks.chunk(0).unwrap();
    assert!(std::ptr::eq(first, chunks.chunk(0).unwrap()));
    assert_eq!(
        chunks.briefs()[0].meta,
        chunks.chunk(0).unwrap().meta_data.as_ref().map(ChunkSummary::of)
    );
    let change = |chunk: &mut ColumnChunk| chunk.meta_data.as_mut().unwrap().data_page_offset = 9;
    chunks.change(0, change).unwrap();
    assert_eq!(chunks.briefs()[0].meta.unwrap().start_offset, 9);
    assert_eq!(chunks.clone().chunk(0).unwrap(), chunks.chunk(0).unwrap());
    assert_eq!(chunks.chunk(1).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn what_is_no_parquet_file_is_said_plainly() {
    let text = |file: &[u8]| {
        let text = read(file).unwrap_err().to_string();
        text.strip_suffix("\n  in file \"f\"").unwrap().to_string()
    };
    assert_eq!(text(b""), "corrupt: the file is empty");
    assert_eq!(text(b"PAR1"), "corrupt: the file is too small for a Parquet file (bytes=4 min=12)");
    assert_eq!(
        text(b"hello, this is some text\n"),
        "corrupt: not a Parquet file: the last four bytes are not PAR1 (found=ext\\n)"
    );
    assert_eq!(
        text(b"text with PAR1 in the end\x01\0\0\0PAR1"),
        "corrupt: not a Parquet file: the first four bytes are not PAR1 (found=text)"
    );
    assert_eq!(
        text(b"PARE\x1c\x1c\0\0\0\x05\0\0\0PARE"),
        "invalid input: the file is encrypted and no keys are given"
    );
    assert_eq!(
        text(b"PAR1\0\0\0\0PAR1"),
        "corrupt: the footer's length does not fit the file (expected=1 to 0 found=0)"
    );
    assert_eq!(
        text(b"PAR1aaaa\xff\xff\xff\xffPAR1"),
        "corrupt: the footer's length does not fit the file (expected=1 to 4 found=4294967295)"
    );
}

#[test]
fn a_chunk_that_reaches_into_the_footer_ends_where_the_footer_starts() {
    let sample = Sample { chunk_bytes: 40, ..Sample::default() };
    assert_eq!(read(&sample.file()).unwrap().chunk(0, 0).unwrap().1, 4..24);
}

#[test]
fn the_rows_are_those_of_the_row_groups_whatever_the_file_counts() {
    let sample = Sample { file_rows: 0, ..Sample::default() };
    assert_eq!(read(&sample.file()).unwrap().num_rows, 5);
}

#[test]
fn chunks_that_contradict_the_file_are_refused() {
    let text = |sample: Sample| read(&sample.file()).unwrap_err().to_string();
    assert_eq!(
        text(Sample { num_values: 4, ..Sample::default() }),
        "corrupt: the column has another number of rows than its row group (expected=5 found=4)\n  \
         in column \"a\", row group 0, file \"f\""
    );
    assert_eq!(
        text(Sample { chunk_bytes: 127, ..Sample::default() }),
        "corrupt: column chunk outside the file's data (offset=4 bytes=127 file_bytes=90)\n  \
         in column \"a\", row group 0, file \"f\""
    );
    assert_eq!(
        text(Sample { physical: 2, ..Sample::default() }),
        "corrupt: the chunk's storage is not the schema's (expected=INT32 found=INT64)\n  \
         in column \"a\", row group 0, file \"f\""
    );
    assert!(text(Sample { physical: 9, ..Sample::default() }).contains("unknown physical type"));
}

#[test]
fn a_footer_cut_anywhere_is_an_error() {
    let footer = Sample::default().footer();
    for len in 0..footer.len() {
        let error = read(&framed(&[0; 20], &footer[..len])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}");
    }
    let file = Sample::default().file();
    for len in 0..file.len() {
        assert_eq!(read(&file[..len]).unwrap_err().kind(), ErrorKind::Corrupt, "{len}");
    }
}

#[test]
fn a_footer_changed_in_any_byte_is_read_or_refused() {
    let footer = Sample::default().footer();
    for at in 0..footer.len() {
        for byte in 0..=255 {
            let mut changed = footer.clone();
            changed[at] = byte;
            if let Ok(footer) = read(&framed(&[0; 20], &changed)) {
                for leaf in 0..footer.schema.num_leaves() {
                    let _ = footer.chunk(0, leaf);
                    let _ = footer.schema.leaf(leaf);
                }
            }
        }
    }
}

/// Returns the folder of the shared corpus, if it exists.
fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("OCIOR_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    if corpus.join("files").is_dir() {
        return Some(corpus);
    }
    eprintln!("SKIPPED: no corpus at {}; set OCIOR_SHARED", corpus.display());
    None
}

#[test]
fn every_sound_file_of_the_corpus_has_a_footer_and_a_readable_schema() {
    let Some(corpus) = corpus() else { return };
    let index = std::fs::read_to_string(corpus.join("corpus.json")).unwrap();
    let mut failures = Vec::new();
    let mut num_sound = 0;
    let mut path = "";
    for line in index.lines() {
        let value =
            |key| line.trim().strip_prefix(key).map(|rest| rest.trim_matches([' ', ',', '"']));
        path = value("\"path\":").unwrap_or(path);
        let Some(expect) = value("\"expect\":") else { continue };
        let file = std::fs::read(corpus.join(path)).unwrap();
        let outcome = read(&file).and_then(|footer| {
            (0..footer.schema.num_leaves()).try_for_each(|leaf| footer.schema.leaf(leaf).map(drop))
        });
        num_sound += usize::from(expect == "rows");
        let Err(error) = outcome else { continue };
        // For encrypted files the index states the rows that are read with their keys.
        let wants_keys = error.message() == "the file is encrypted and no keys are given";
        if expect == "rows" && !wants_keys {
            failures.push(format!("{path}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{} of {num_sound}:\n{}", failures.len(), failures.join("\n"));
    assert!(num_sound > 0);
}
