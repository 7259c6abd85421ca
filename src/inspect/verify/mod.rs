//! Verification of a file: decodes it completely and compares all of its metadata with the data.
//!
//! ```text
//! for each row group and column
//!   stored pages   headers, checksums, levels, offset index      `stored`
//!   values         decoded once, passed to every check           `values`
//!                  StatisticsCheck of the chunk, of each page; bloom filter
//! ```
//!
//! Statistics that readers do not trust are not compared; those that contradict themselves are a
//! problem. A part that cannot be read is a problem too, and the verification continues with the
//! other parts.

mod report;
mod stored;
mod values;

use format_parquet::bloom::{BloomFilter, FoundBloom};
use format_parquet::page_index::{PageIndex, read_page_index};
use format_parquet::statistics::{BoundRules, RejectedBound, TrustOptions};
use vector::{Error, Result};

use super::InspectedFile;
use super::chunks::{Chosen, ChunksOf};
use dwio::stats::ColumnStatistics;

pub use report::{Check, Report};

/// A column chunk with the metadata that is compared with its values.
struct ChunkFacts<'a> {
    chosen: Chosen<'a>,
    statistics: ColumnStatistics,
    index: PageIndex,
    bloom: Option<BloomFilter>,
}

/// Verifies a file and returns the report of its checks.
///
/// # Errors
/// Errors that prevent reading the file at all. Errors in parts of the file are problems of the
/// report.
pub fn verify(file: &InspectedFile) -> Result<Report> {
    let mut report = Report::default();
    check_footer(file, &mut report);
    let mut first_row = 0u64;
    for row_group in 0..file.footer.row_groups().len() {
        let num_rows = file.footer.row_groups().get(row_group).map_or(0, |group| group.num_rows);
        let wanted = ChunksOf { row_group: Some(row_group), ..ChunksOf::default() };
        let mut chunks = Vec::new();
        for chosen in wanted.find(&file.footer)? {
            let facts = read_facts(file, chosen, &mut report)?;
            stored::check(file, &facts, &mut report);
            chunks.push(facts);
        }
        let rows = first_row..first_row.saturating_add(num_rows);
        // The readers require a footer that fits the file.
        if file.footer.defect.is_none() && !rows.is_empty() {
            for ordinal in 0..file.footer.schema.columns().len() {
                values::check(file, ordinal, &rows, &chunks, &mut report);
            }
        }
        first_row = rows.end;
    }
    Ok(report)
}

fn check_footer(file: &InspectedFile, report: &mut Report) {
    let footer = &file.footer;
    report.count(Check::Footer, 1);
    if let Some(defect) = &footer.defect {
        report.problem(Check::Footer, defect.duplicate());
    } else if footer.metadata.num_rows != footer.num_rows {
        let error = Error::corrupt("the file has another number of rows than its row groups")
            .with("file", footer.metadata.num_rows)
            .with("row_groups", footer.num_rows);
        report.problem(Check::Footer, error);
    }
}

/// Reads the metadata outside the pages. Metadata that is invalid by itself is reported as a
/// problem.
fn read_facts<'a>(
    file: &InspectedFile,
    chosen: Chosen<'a>,
    report: &mut Report,
) -> Result<ChunkFacts<'a>> {
    let options = TrustOptions::default();
    let source = file.chunk(chosen.row_group, chosen.leaf);
    let mut statistics = ColumnStatistics::default();
    if let (Some(rules), Some(meta)) =
        (BoundRules::new(&file.footer, chosen.leaf, options), source.meta())
        && let Some(stored) = &meta.statistics
    {
        let judged = rules.judge(stored, meta.num_values);
        let reasons = [judged.distrust, judged.min.distrust, judged.max.distrust];
        if let Some(reason) = reasons.into_iter().flatten().find(|reason| is_wrong(*reason)) {
            report.problem(Check::Statistics, chosen.place(Error::corrupt(reason.as_str())));
        }
        report.count(Check::Statistics, 1);
        statistics = judged.trusted;
    }
    let index = read_page_index(source, true, options)?;
    let defects =
        [(Check::OffsetIndex, index.offset_defect()), (Check::ColumnIndex, index.column_defect())];
    for (check, defect) in defects {
        if let Some(defect) = defect {
            report.problem(check, chosen.place(defect.duplicate()));
        }
    }
    check_bounds(&index, &chosen, report);
    let bloom = match BloomFilter::open(source)? {
        FoundBloom::Missing => None,
        FoundBloom::Unusable(defect) => {
            report.problem(Check::BloomFilters, chosen.place(defect));
            None
        }
        FoundBloom::Usable(mut bloom) => {
            bloom.load(&file.input)?;
            Some(bloom)
        }
    };
    Ok(ChunkFacts { chosen, statistics, index, bloom })
}

/// Checks whether bounds of pages contradict each other or the order that the column index states.
fn check_bounds(index: &PageIndex, chosen: &Chosen<'_>, report: &mut Report) {
    if let Some((page, reason)) = index.doubts().iter().find(|(_, reason)| is_wrong(*reason)) {
        let error = Error::corrupt(reason.as_str()).in_place("page", page);
        return report.problem(Check::ColumnIndex, chosen.place(error));
    }
    let Some(stored) = index.stored_columns().filter(|_| index.column_defect().is_none()) else {
        return;
    };
    let sentence = match stored.boundary_order {
        // Bounds that cannot be decoded have no order.
        0..=2 if index.statistics().is_empty() => return,
        0 => return,
        1 | 2 if index.is_ordered() => return,
        1 | 2 => "the bounds of pages are not in the order that the column index says",
        _ => "the column index names an order that does not exist",
    };
    let error = Error::corrupt(sentence).with("boundary_order", stored.boundary_order);
    report.problem(Check::ColumnIndex, chosen.place(error));
}

/// Returns true if the reason is a defect of the file, not a rule of the format or a known property
/// of a writer.
fn is_wrong(reason: RejectedBound) -> bool {
    matches!(
        reason,
        RejectedBound::Malformed
            | RejectedBound::MinAboveMax
            | RejectedBound::NullCount
            | RejectedBound::LengthInFront
            | RejectedBound::NumberOfOrders
    )
}
