//! Comparison of the statistics in the files of the corpus with their values.
//!
//! The statistics, indexes and bloom filters of every file are read without an error; where they
//! are trusted, they hold for the rows that the reader returns. Files are decoded up to a size.

use std::path::{Path, PathBuf};

use dwio::adaptation::ScanAdaptation;
use dwio::config::Config;
use dwio::filter::{Bound, Filter};
use dwio::fs::{FileSystem, MemoryFiles};
use dwio::input::BufferedInput;
use dwio::reader::{ReadOutcome, ReadRequest, Reader, ReaderParams, RowReaderParams};
use dwio::scan_spec::{BoundColumn, ScanSpec, SplitBinding};
use dwio::stats::Match;
use vector::sync::Arc;
use vector::{MemoryPool, Result, ResultExt, Value};

use crate::bloom::{BloomFilter, FoundBloom, knows};
use crate::chunk_source::{ChunkSource, FileSource};
use crate::page_index::{PageIndex, read_page_index};
use crate::prune::{LeafFilter, may_row_group_match, pages_to_row_ranges};
use crate::reader::ParquetReader;
use crate::statistics::{StatisticsCheck, TrustOptions, each_leaf_value, leaf_statistics};

/// Maximum size in bytes of a file that is decoded.
const MAX_FILE_BYTES: usize = 256 << 10;
/// Maximum number of rows of a file that is decoded.
const MAX_ROWS: u64 = 30_000;

/// Approximate maximum number of values of a chunk from which filters are made.
const MAX_FILTERS: usize = 20;

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

/// Returns the paths of the files that have rows.
fn sound_files(corpus: &Path) -> Vec<String> {
    let index = std::fs::read_to_string(corpus.join("corpus.json")).unwrap();
    let mut files = Vec::new();
    let mut path = String::new();
    for line in index.lines() {
        let value =
            |key| line.trim().strip_prefix(key).map(|rest| rest.trim_matches([' ', ',', '"']));
        if let Some(found) = value("\"path\":") {
            path = found.into();
        }
        if value("\"expect\":") == Some("rows") {
            files.push(path.clone());
        }
    }
    files
}

/// Counts of what was found in the corpus.
#[derive(Debug, Default)]
struct Found {
    files: usize,
    decoded: usize,
    trusted_bounds: usize,
    indexed_chunks: usize,
    trusted_pages: usize,
    defective_indexes: usize,
    blooms: usize,
    useless_blooms: usize,
    known_values: usize,
    filters: usize,
    filters_that_prune_pages: usize,
}

fn open(file: &[u8]) -> Result<(ParquetReader, BufferedInput)> {
    let files = MemoryFiles::new();
    files.put("f", file.to_vec());
    let input = BufferedInput::new(files.open("f")?, MemoryPool::unlimited());
    let params =
        ReaderParams { options: Config::new(), pool: MemoryPool::unlimited(), file_schema: None };
    Ok((ParquetReader::open(input.reopened(), params, None)?, input))
}

/// The values of all leaves of a row group, each with its row in the group.
type LeafValues = Vec<Vec<(u64, Value)>>;

/// Decodes the values of all row groups.
fn decode(reader: &ParquetReader) -> Result<Vec<LeafValues>> {
    let spec = Arc::new(ScanSpec::of_row_type(reader.row_type()));
    let binding = (0..spec.columns().len()).map(|ordinal| BoundColumn::File { ordinal }).collect();
    let mut rows = reader.row_reader(RowReaderParams::new(
        Arc::clone(&spec),
        Arc::new(SplitBinding::new(binding)),
        0..u64::MAX,
    ))?;
    let footer = reader.footer();
    let mut groups: Vec<LeafValues> =
        vec![vec![Vec::new(); footer.schema.num_leaves()]; footer.row_groups().len()];
    let mut adaptation = ScanAdaptation::new(spec.columns().len());
    loop {
        let request = ReadRequest::new(1024, &mut adaptation);
        let ReadOutcome::Rows(read) = rows.next(request)? else { return Ok(groups) };
        let values = vector::testing::rows_of(&read.batch);
        for (number, row) in (read.first_row..).zip(&values) {
            let (group, row_in_group) = place(reader, number);
            for (column, value) in reader.schema().columns().iter().zip(row) {
                each_leaf_value(column, value, &mut |leaf, value| {
                    groups[group][leaf].push((row_in_group, value.clone()));
                });
            }
        }
    }
}

fn place(reader: &ParquetReader, mut row: u64) -> (usize, u64) {
    for (number, group) in reader.footer().row_groups().iter().enumerate() {
        if row < group.num_rows {
            return (number, row);
        }
        row -= group.num_rows;
    }
    panic!("a row behind the last row group");
}

fn check_file(file: &[u8], found: &mut Found) -> Result<()> {
    let Ok((reader, input)) = open(file) else { return Ok(()) };
    let footer = reader.footer();
    let options = TrustOptions::default();
    let is_small = file.len() <= MAX_FILE_BYTES && footer.num_rows <= MAX_ROWS;
    let values = if is_small { decode(&reader).ok() } else { None };
    found.files += 1;
    found.decoded += usize::from(values.is_some());
    for row_group in 0..footer.row_groups().len() {
        for leaf in 0..footer.schema.num_leaves() {
            let here = |e: vector::Error| {
                e.in_named("column", footer.schema.leaf_name(leaf)).in_place("row group", row_group)
            };
            let known = leaf_statistics(footer, row_group, leaf, options);
            let source = FileSource::plain(&input).chunk(footer, row_group, leaf);
            let index = read_page_index(source, true, options)?;
            found.trusted_bounds += usize::from(known.min.is_some() || known.max.is_some());
            found.indexed_chunks += usize::from(index.offsets().is_some());
            found.trusted_pages += index.statistics().len();
            for defect in [index.offset_defect(), index.column_defect()].into_iter().flatten() {
                found.defective_indexes += 1;
                eprintln!(
                    "  index not believed: {} {defect}",
                    footer.metadata.created_by.as_deref().unwrap_or("")
                );
                eprintln!(
                    "{:?}",
                    index.stored_columns().map(|c| (c.null_pages.len(), c.null_counts.clone()))
                );
            }
            let Some(values) = &values else { continue };
            let values = &values[row_group][leaf];
            check_chunk(&reader, leaf, values, &known).map_err(here)?;
            check_pages(&reader, leaf, values, &index).map_err(here)?;
            check_pruning(source, values, &index, found).map_err(here)?;
            match BloomFilter::open(source)? {
                FoundBloom::Missing => {}
                FoundBloom::Unusable(defect) => {
                    found.useless_blooms += 1;
                    eprintln!("  bloom filter not believed: {defect}");
                }
                FoundBloom::Usable(bloom) => {
                    found.blooms += 1;
                    let leaf_ = &footer.schema.leaves()[leaf];
                    for (_, value) in values.iter().filter(|(_, value)| !value.is_null()) {
                        let known = knows(&bloom, &input, leaf_, value)?;
                        assert_ne!(known, Some(false), "{value:?} in leaf {leaf}");
                        found.known_values += usize::from(known == Some(true));
                    }
                }
            }
        }
    }
    Ok(())
}

fn check_chunk(
    reader: &ParquetReader,
    leaf: usize,
    values: &[(u64, Value)],
    known: &dwio::stats::ColumnStatistics,
) -> Result<()> {
    let mut check = StatisticsCheck::new(known, &reader.schema().leaves()[leaf].ty);
    values.iter().try_for_each(|(_, value)| check.observe_value(value))?;
    check.finish()
}

fn check_pages(
    reader: &ParquetReader,
    leaf: usize,
    values: &[(u64, Value)],
    index: &PageIndex,
) -> Result<()> {
    for (page, known) in index.statistics().iter().enumerate() {
        let rows = index.rows(page);
        let from = values.partition_point(|(row, _)| *row < rows.start);
        let to = values.partition_point(|(row, _)| *row < rows.end);
        check_chunk(reader, leaf, &values[from..to], known).in_place("page", page)?;
    }
    Ok(())
}

/// Returns a filter that passes one value.
fn filter_of(value: &Value) -> Option<Filter> {
    Some(match value {
        Value::Null => Filter::IsNull,
        Value::Boolean(v) => Filter::boolean(*v, false),
        Value::HugeInt(v) => Filter::hugeint_range(*v, *v, false),
        Value::Real(v) if !v.is_nan() => {
            Filter::float_range(Bound::Inclusive(*v), Bound::Inclusive(*v), false).ok()?
        }
        Value::Double(v) if !v.is_nan() => {
            Filter::double_range(Bound::Inclusive(*v), Bound::Inclusive(*v), false).ok()?
        }
        // Ranges without an upper end pass NaN.
        Value::Real(_) => {
            Filter::float_range(Bound::Exclusive(1e30), Bound::Unbounded, false).ok()?
        }
        Value::Double(_) => {
            Filter::double_range(Bound::Exclusive(1e300), Bound::Unbounded, false).ok()?
        }
        Value::Timestamp(v) => Filter::timestamp_range(*v, *v, false),
        Value::Bytes(v) => {
            let end = Bound::Inclusive(Arc::clone(v));
            Filter::bytes_range(end.clone(), end, false)
        }
        other => {
            let v = other.as_i64()?;
            Filter::bigint_range(v, v, false)
        }
    })
}

/// Checks that pruning by a filter that passes a value keeps its row group and its page, and that
/// `All` is returned only when it holds.
fn check_pruning(
    source: ChunkSource<'_>,
    values: &[(u64, Value)],
    index: &PageIndex,
    found: &mut Found,
) -> Result<()> {
    let leaf = &source.footer.schema.leaves()[source.leaf];
    let step = values.len().div_ceil(MAX_FILTERS).max(1);
    for (row, value) in values.iter().step_by(step) {
        let Some(filter) = filter_of(value) else { continue };
        let filters = [LeafFilter { leaf: source.leaf, filter: &filter, ty: &leaf.ty }];
        let answer = may_row_group_match(
            source.footer,
            source.row_group,
            &filters,
            Some(source.file),
            TrustOptions::default(),
        )?;
        assert_ne!(answer.matched, Match::None, "{filter} by {:?}", answer.pruned);
        let rows = pages_to_row_ranges(&filters[0], leaf, index);
        assert!(rows.overlaps(&(*row..*row + 1)), "{filter} in row {row} of {rows:?}");
        if answer.matched == Match::All {
            for (_, other) in values {
                assert!(filter.test_value(other, &leaf.ty)?, "{filter} of {other:?}");
            }
        }
        found.filters += 1;
        found.filters_that_prune_pages += usize::from(rows.num_rows() < index.num_rows());
    }
    Ok(())
}

#[test]
fn what_is_believed_of_the_corpus_holds_for_its_rows() {
    let Some(corpus) = corpus() else { return };
    let mut found = Found::default();
    let mut failures = Vec::new();
    for path in sound_files(&corpus) {
        let file = std::fs::read(corpus.join(&path)).unwrap();
        if let Err(error) = check_file(&file, &mut found) {
            failures.push(format!("{path}: {error}"));
        }
    }
    eprintln!("{found:?}");
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    assert!(found.files > 900 && found.trusted_bounds > 1000 && found.blooms > 5, "{found:?}");
}
