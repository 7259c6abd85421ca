//! Decodes the values of one column in one row group and passes each value to all checks.

use std::ops::Range;

use dwio::adaptation::ScanAdaptation;
use dwio::reader::{ReadOutcome, ReadRequest, Reader, RowReaderParams};
use dwio::scan_spec::{BoundColumn, ColumnSpec, ScanSpec, SplitBinding};
use format_parquet::ParquetReader;
use format_parquet::bloom::{BloomFilter, knows};
use format_parquet::schema::{Column, Leaf};
use format_parquet::statistics::{StatisticsCheck, each_leaf_value};
use vector::sync::Arc;
use vector::{Error, Result, Value, ValueReader};

use super::{Check, ChunkFacts, Report};
use crate::inspect::InspectedFile;

/// Number of rows decoded at a time.
const BATCH_ROWS: usize = 1024;

/// Checks column `ordinal` of the file in one row group. `rows` are the row group's rows in the
/// file, and `chunks` its column chunks.
pub(super) fn check(
    file: &InspectedFile,
    ordinal: usize,
    rows: &Range<u64>,
    chunks: &[ChunkFacts<'_>],
    report: &mut Report,
) {
    let Some(column) = file.footer.schema.columns().get(ordinal) else { return };
    let Some(chunks) = chunks.get(column.leaves.clone()) else { return };
    let mut leaves = Vec::new();
    for facts in chunks {
        let Some(leaf) = file.footer.schema.leaves().get(facts.chosen.leaf) else { return };
        leaves.push(LeafCheck::new(file, facts, leaf));
    }
    match decode(file, (ordinal, column), rows, &mut leaves, report) {
        Ok(()) => leaves.into_iter().for_each(|leaf| leaf.finish(report)),
        Err(error) => {
            let error = match chunks.first() {
                Some(facts) => facts.chosen.place(error),
                None => error,
            };
            report.problem(Check::Values, error);
        }
    }
}

fn decode(
    file: &InspectedFile,
    (ordinal, column): (usize, &Column),
    rows: &Range<u64>,
    leaves: &mut [LeafCheck<'_>],
    report: &mut Report,
) -> Result<()> {
    let pool = file.input.pool().clone();
    let reader = ParquetReader::of_footer(Arc::clone(&file.footer), file.input.reopened(), pool);
    let spec = ColumnSpec::whole(&column.name, column.ty.clone(), 0);
    let mut pass = reader.row_reader(RowReaderParams::new(
        Arc::new(ScanSpec::new(vec![spec])),
        Arc::new(SplitBinding::new(vec![BoundColumn::File { ordinal }])),
        group_start(file, leaves),
    ))?;
    let mut adaptation = ScanAdaptation::new(1);
    let mut next_row = rows.start;
    while next_row < rows.end {
        let request = ReadRequest::new(BATCH_ROWS, &mut adaptation);
        let ReadOutcome::Rows(read) = pass.next(request)? else {
            return Err(Error::corrupt("the column has fewer rows than its row group")
                .with("missing", rows.end - next_row));
        };
        // Another row group may start at the same offset.
        if read.first_row < rows.start {
            continue;
        }
        let values = ValueReader::new(read.batch.child(0)?)?;
        report.count(Check::Values, values.len() as u64);
        for row in 0..values.len() {
            let row_in_group = read.first_row.saturating_add(row as u64) - rows.start;
            let mut failed = None;
            each_leaf_value(column, &values.value(row), &mut |leaf, value| {
                let leaf = leaf.checked_sub(column.leaves.start).and_then(|at| leaves.get_mut(at));
                let Some(leaf) = leaf else { return };
                if let Err(error) = leaf.observe(row_in_group, value, report) {
                    failed.get_or_insert(error);
                }
            });
            failed.map_or(Ok(()), Err)?;
        }
        next_row = read.first_row.saturating_add(values.len() as u64);
    }
    Ok(())
}

/// Returns a byte range that contains the start of this row group only.
fn group_start(file: &InspectedFile, leaves: &[LeafCheck<'_>]) -> Range<u64> {
    let number = leaves.first().map(|leaf| leaf.facts.chosen.row_group);
    let group = number.and_then(|number| file.footer.row_groups().get(number));
    let chunks = group.into_iter().flat_map(|group| group.columns.briefs());
    let starts = chunks.filter_map(|chunk| Some(chunk.meta?.start_offset));
    match starts.min() {
        Some(start) => start..start.saturating_add(1),
        None => 0..u64::MAX,
    }
}

/// The checks of one leaf in one row group. A check ends when it fails.
struct LeafCheck<'a> {
    file: &'a InspectedFile,
    facts: &'a ChunkFacts<'a>,
    leaf: &'a Leaf,
    chunk: Option<StatisticsCheck<'a>>,
    /// The page that is being compared, with its number in the index.
    page: Option<(usize, StatisticsCheck<'a>)>,
    /// True if a page has failed its check; later pages are not compared then.
    pages_failed: bool,
    bloom: Option<&'a BloomFilter>,
}

impl<'a> LeafCheck<'a> {
    fn new(file: &'a InspectedFile, facts: &'a ChunkFacts<'a>, leaf: &'a Leaf) -> Self {
        LeafCheck {
            file,
            facts,
            leaf,
            chunk: Some(StatisticsCheck::new(&facts.statistics, &leaf.ty)),
            page: None,
            pages_failed: false,
            bloom: facts.bloom.as_ref(),
        }
    }

    /// Passes a value, which is in row `row` of the row group, to the checks.
    fn observe(&mut self, row: u64, value: &Value, report: &mut Report) -> Result<()> {
        if let Some(chunk) = &mut self.chunk
            && let Err(error) = chunk.observe_value(value)
        {
            self.chunk = None;
            report.problem(Check::Statistics, self.facts.chosen.place(error));
        }
        if !self.pages_failed {
            self.observe_page(row, value, report);
        }
        if let Some(bloom) = self.bloom
            && !value.is_null()
        {
            let answer = knows(bloom, &self.file.input, self.leaf, value)?;
            report.count(Check::BloomFilters, u64::from(answer.is_some()));
            if answer == Some(false) {
                self.bloom = None;
                let error = Error::corrupt("the bloom filter does not know a value")
                    .with("value", vector::value_text(&self.leaf.ty, value));
                report.problem(Check::BloomFilters, self.facts.chosen.place(error));
            }
        }
        Ok(())
    }

    fn observe_page(&mut self, row: u64, value: &Value, report: &mut Report) {
        let pages = self.facts.index.statistics();
        let mut at = self.page.as_ref().map_or(0, |(at, _)| *at);
        if at < pages.len() && row >= self.facts.index.rows(at).end {
            self.finish_page(report);
            while at < pages.len() && row >= self.facts.index.rows(at).end {
                at += 1;
            }
        }
        let Some(page) = pages.get(at) else { return };
        let ty = &self.leaf.ty;
        let (_, check) = self.page.get_or_insert_with(|| (at, StatisticsCheck::new(page, ty)));
        if let Err(error) = check.observe_value(value) {
            self.fail_page(at, error, report);
        }
    }

    fn finish_page(&mut self, report: &mut Report) {
        let Some((at, check)) = self.page.take() else { return };
        report.count(Check::ColumnIndex, 1);
        if let Err(error) = check.finish() {
            self.fail_page(at, error, report);
        }
    }

    fn fail_page(&mut self, at: usize, error: Error, report: &mut Report) {
        self.page = None;
        self.pages_failed = true;
        let error = self.facts.chosen.place(error.in_place("page", at));
        report.problem(Check::ColumnIndex, error);
    }

    fn finish(mut self, report: &mut Report) {
        self.finish_page(report);
        if let Some(chunk) = self.chunk.take()
            && let Err(error) = chunk.finish()
        {
            report.problem(Check::Statistics, self.facts.chosen.place(error));
        }
    }
}
