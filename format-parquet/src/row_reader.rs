//! One pass over a file: row groups, windows, filters.
//!
//! ```text
//! row groups of the range -> rows that metadata leaves (read_plan) -> windows of at most max_rows:
//!
//!   filter columns   tested, cheapest first, until no row is left
//!   other columns    the rows that passed are read, now or when somebody touches them
//! ```
//!
//! A row group belongs to the pass whose byte range its first page lies in. Without any column to
//! read, windows follow from the footer alone.
//!
//! Chunks are opened when they are first read: those of filters with the row group, others when a
//! window has rows for them. A row group without a passing row costs no byte of the others.
//!
//! | file | has |
//! |---|---|
//! | `group` | what columns need to know of a row group to open their chunks |
//! | `column` | a column's reader and the row it stands at |
//! | `ahead` | what the next row group will be read for, for files that are far away |
//! | `filters` | the filters' order, and their tests |
//! | `lazy` | columns that are read when they are touched |
//! | `pick` | wanted rows of vectors that have more |
//! | `counts` | what was done, for people |

mod ahead;
mod column;
mod counts;
mod filters;
mod group;
mod lazy;
mod order;
mod pick;

use std::collections::VecDeque;
use std::ops::Range;

use dwio::adaptation::ScanAdaptation;
use dwio::input::BufferedInput;
use dwio::reader::{
    ColumnCounts, Payload, ReadOutcome, ReadRequest, ReadRows, RowReader, RowReaderParams,
};
use dwio::scan_spec::BoundColumn;
use vector::sync::atomic::{AtomicU64, Ordering};
use vector::sync::{Arc, Mutex};
use vector::{
    Error, LazyVector, MemoryPool, Metrics, Result, ResultExt, RowSet, RowType, RowVector,
    SelectivityVector, Vector,
};

use crate::column::ColumnReader;
use crate::condition::Condition;
use crate::footer::Footer;
use crate::page::{PageCounters, PageOptions};
use crate::prune::PrunedBy;
use crate::read_plan::{ColumnFilter, GroupPlan, Planner};
use crate::thrift::structs::RowGroup;
use column::{ScanColumn, SharedColumn, no_rows, open_together};
use counts::{GroupCounts, OVERREAD_BYTES, READ_GAP_BYTES, VALUES_DECODED};
use filters::{FilterStep, Filtered};
use group::{Expected, GroupScan, Pass, piece_bytes};
use lazy::ColumnLoader;

/// Runs of passing rows are few when there is at most one in so many rows: pages have about as many
/// and more, so that most have none.
const ROWS_OF_A_PAGE: u64 = 8192;

/// A file whose footer is known.
pub(crate) struct OpenFile {
    /// Its footer.
    pub(crate) footer: Arc<Footer>,
    /// Its bytes.
    pub(crate) input: BufferedInput,
    /// How its pages are read.
    pub(crate) page_options: PageOptions,
    /// Somebody else had the footer already.
    pub(crate) is_known: bool,
}

/// One pass over a Parquet file.
pub(crate) struct ParquetRowReader {
    pass: Arc<Pass>,
    /// Reads metadata, and chunks that are loaded together.
    input: BufferedInput,
    params: RowReaderParams,
    /// One entry for each column of the spec that the file has.
    columns: Vec<BoundReader>,
    output_type: Arc<RowType>,
    /// Row groups of the range that are not started yet, with the file row they start at.
    row_groups: std::vec::IntoIter<(usize, u64)>,
    /// A row group was started, or all were left out.
    has_begun: bool,
    planner: Planner,
    current: Option<CurrentGroup>,
    /// All rows of the last window without filters: most windows have the same length.
    all_rows: Arc<SelectivityVector>,
    /// Counts windows, so that a lazy column knows when it is too late.
    window: Arc<AtomicU64>,
    counts: GroupCounts,
}

struct BoundReader {
    /// Position in the spec.
    index: usize,
    /// Position in the file.
    ordinal: usize,
    /// None for a column that is not read unless somebody filters by it.
    column: Option<SharedColumn>,
}

/// The row group that is being read.
struct CurrentGroup {
    scan: Arc<GroupScan>,
    /// The rows that are still to be scanned; the first range may be begun.
    ranges: VecDeque<Range<u64>>,
    filters: Vec<FilterStep>,
    /// The adaptation's version that `filters` were made of.
    filters_version: u64,
    /// The columns that do not filter were opened, as far as they are read with the windows.
    is_payload_open: bool,
    rows_scanned: u64,
    /// Runs of passing rows so far.
    runs_passed: u64,
}

/// The rows of a window and those of them that passed.
struct Window {
    scan: Arc<GroupScan>,
    /// The first row, counted from the row group's.
    row: u64,
    passed: Arc<SelectivityVector>,
    filtered: Vec<(usize, Filtered)>,
    expected: Expected,
}

impl CurrentGroup {
    /// True when the dictionary of a column shows that none of its values passes (rule P5.40).
    fn is_excluded(&self) -> Result<bool> {
        for step in &self.filters {
            if step.is_excluded_by_dictionary(&self.scan)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl ParquetRowReader {
    pub(crate) fn new(file: OpenFile, params: RowReaderParams, pool: &MemoryPool) -> Result<Self> {
        let OpenFile { footer, input, page_options, is_known } = file;
        let mut columns = Vec::new();
        let mut output = Vec::new();
        let mut num_leaves = 0;
        for (index, spec) in params.spec.columns().iter().enumerate() {
            let bound = params.binding.column(index).ok_or_else(|| {
                Error::internal("the split binds fewer columns than the scan has")
                    .with("column", &spec.name)
            })?;
            let BoundColumn::File { ordinal } = *bound else { continue };
            let is_read = spec.channel.is_some() || spec.has_filter();
            let column = match is_read {
                true => {
                    let wanted = (spec, params.binding.nested(index));
                    let reader = ColumnReader::new(&footer.schema, ordinal, wanted, pool)?;
                    num_leaves += reader.leaf_numbers().len();
                    Some(Arc::new(Mutex::new(ScanColumn::new(reader))))
                }
                false => None,
            };
            columns.push(BoundReader { index, ordinal, column });
            if spec.channel.is_some() {
                output.push((spec.name.clone(), spec.ty.clone()));
            }
        }
        let row_groups = row_groups_of(&footer, &params.range)?.into_iter();
        let condition = Condition::new(&params, &footer.schema);
        let pass = Pass {
            file: input.reopened_for_values(),
            max_piece: piece_bytes(num_leaves, input.coalescing()),
            page_options,
            pages: Arc::new(PageCounters::default()),
            footer,
        };
        Ok(ParquetRowReader {
            pass: Arc::new(pass),
            input,
            params,
            columns,
            output_type: Arc::new(RowType::new(output)),
            row_groups,
            has_begun: false,
            planner: Planner::new(condition),
            current: None,
            all_rows: Arc::new(SelectivityVector::none(0)),
            window: Arc::new(AtomicU64::new(0)),
            counts: GroupCounts::of_file(is_known),
        })
    }

    /// The filters that metadata can be asked about.
    fn column_filters(&self, adaptation: &ScanAdaptation) -> Vec<ColumnFilter> {
        let filters = self.columns.iter().filter_map(|column| {
            let spec = self.params.spec.columns().get(column.index)?;
            // The dynamic filter has the static one merged into it.
            let own = adaptation.dynamic_filter(column.index).or(spec.filter.as_ref());
            let file_column = self.pass.footer.schema.columns().get(column.ordinal)?;
            let wanted = (spec, self.params.binding.nested(column.index));
            Some(ColumnFilter::of_column(column.index, file_column, wanted, own))
        });
        filters.flatten().collect()
    }

    /// What the rows of the row group have to be tested for, in order.
    fn filter_steps(
        &self,
        adaptation: &ScanAdaptation,
        decided: &[usize],
    ) -> Result<Vec<FilterStep>> {
        let mut steps = Vec::new();
        let specs = self.params.spec.columns();
        for (position, bound) in self.columns.iter().enumerate() {
            let Some(spec) = specs.get(bound.index) else { continue };
            let dynamic = adaptation.dynamic_filter(bound.index);
            if (dynamic.is_none() && !spec.has_filter()) || decided.contains(&bound.index) {
                continue;
            }
            let Some(column) = &bound.column else {
                return Err(Error::internal("a filter arrived for a column that is not read")
                    .with("column", &spec.name)
                    .with("ordinal", bound.ordinal));
            };
            steps.push(FilterStep {
                position,
                index: bound.index,
                column: Arc::clone(column),
                own: dynamic.or(spec.filter.as_ref()).cloned(),
            });
        }
        filters::sort(&mut steps, specs, adaptation);
        Ok(steps)
    }

    /// Compares what was read of the row group before with what it claims, and releases its bytes.
    fn end_row_group(&mut self) -> Result<()> {
        self.current = None;
        let mut ended = Ok(());
        for column in self.columns.iter().filter_map(|bound| bound.column.as_ref()) {
            ended = ended.and(column.lock().close());
        }
        self.input.release();
        ended
    }

    /// Moves on to the next row group with rows that may pass; false when there is none.
    fn start_row_group(&mut self, adaptation: &ScanAdaptation) -> Result<bool> {
        self.end_row_group()?;
        if let Some(first) = adaptation.first().filter(|_| !self.has_begun) {
            self.order_row_groups(first);
        }
        self.has_begun = true;
        let filters = self.column_filters(adaptation);
        loop {
            let Some((number, first_row)) = self.row_groups.next() else { return Ok(false) };
            let Some(group) = self.pass.footer.row_groups().get(number) else {
                return Err(Error::internal("no such row group"));
            };
            let num_rows = group.num_rows;
            if num_rows == 0 {
                continue;
            }
            let plan = self.planner.plan(&self.pass.footer, &self.input, number, &filters);
            let plan = plan.in_place("row group", number)?;
            if let Some(by) = plan.pruned {
                self.counts.skipped(by);
                continue;
            }
            let current = self.open_row_group((number, first_row, num_rows), plan, adaptation);
            let current = current.in_place("row group", number)?;
            if current.is_excluded().in_place("row group", number)? {
                self.counts.skipped(PrunedBy::Dictionary);
                self.end_row_group()?;
                continue;
            }
            self.counts.started(num_rows, &current.scan.wanted);
            // Where metadata leaves rows out of this one it will of the next one too.
            if current.scan.wanted.num_rows() == num_rows {
                self.announce_next_row_group(&current, &filters);
            }
            self.current = Some(current);
            return Ok(true);
        }
    }

    /// Opens the columns that filter.
    fn open_row_group(
        &mut self,
        (number, first_row, num_rows): (usize, u64, u64),
        plan: GroupPlan,
        adaptation: &ScanAdaptation,
    ) -> Result<CurrentGroup> {
        // Filters below a column are not asked of metadata.
        let specs = self.params.spec.columns();
        let has_only_own =
            |index: &usize| specs.get(*index).is_some_and(|spec| !spec.nested.has_filter());
        let decided: Vec<usize> = plan.decided.into_iter().filter(has_only_own).collect();
        let current = CurrentGroup {
            ranges: plan.rows.ranges().iter().cloned().collect(),
            filters: self.filter_steps(adaptation, &decided)?,
            filters_version: adaptation.filters_version(),
            is_payload_open: false,
            rows_scanned: 0,
            runs_passed: 0,
            scan: Arc::new(GroupScan {
                pass: Arc::clone(&self.pass),
                number,
                first_row,
                num_rows,
                wanted: plan.rows,
                offsets: plan.offsets,
            }),
        };
        let columns = current.filters.iter().map(|step| &step.column);
        open_together(columns, &current.scan, Expected::Most, &mut self.input)?;
        Ok(current)
    }

    /// Takes the next rows of the row group and tests them; gives those that passed also as a set.
    fn scan_window(
        &mut self,
        max_rows: usize,
        adaptation: &mut ScanAdaptation,
    ) -> Result<(Window, RowSet)> {
        if let Some(current) = &self.current
            && current.filters_version != adaptation.filters_version()
        {
            // A filter that arrived is merged with the one that all rows pass, but may drop some.
            let filters = self.filter_steps(adaptation, &[])?;
            if let Some(current) = &mut self.current {
                current.filters = filters;
                current.filters_version = adaptation.filters_version();
            }
        }
        let Some(current) = &mut self.current else {
            return Err(Error::internal("no row group to read from"));
        };
        let Some(range) = current.ranges.front_mut() else {
            return Err(Error::internal("no rows of the row group are left"));
        };
        let left = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let num_rows = max_rows.clamp(1, left.max(1));
        let row = range.start;
        range.start = range.start.saturating_add(num_rows as u64);
        if range.is_empty() {
            current.ranges.pop_front();
        }
        if current.filters.is_empty() {
            if self.all_rows.len() != num_rows {
                self.all_rows = Arc::new(SelectivityVector::all(num_rows));
            }
            let (scan, passed) = (Arc::clone(&current.scan), Arc::clone(&self.all_rows));
            let (filtered, expected) = (Vec::new(), Expected::Most);
            return Ok((Window { scan, row, passed, filtered, expected }, RowSet::all(num_rows)));
        }
        let mut passed = SelectivityVector::all(num_rows);
        let mut filtered = Vec::new();
        for step in &current.filters {
            if passed.is_none() {
                break;
            }
            let Some(spec) = self.params.spec.columns().get(step.index) else { continue };
            let gave = step.apply(&current.scan, row, spec, &mut passed, adaptation);
            if let Some(gave) = gave.in_place("row group", current.scan.number)? {
                filtered.push((step.position, gave));
            }
        }
        current.rows_scanned = current.rows_scanned.saturating_add(num_rows as u64);
        current.runs_passed = current.runs_passed.saturating_add(num_runs(&passed));
        let most_runs = current.rows_scanned / ROWS_OF_A_PAGE + 1;
        let expected = match current.runs_passed > most_runs {
            true => Expected::Most,
            false => Expected::Few,
        };
        let (scan, rows) = (Arc::clone(&current.scan), passed.to_rows());
        let passed = Arc::new(passed);
        Ok((Window { scan, row, passed, filtered, expected }, rows))
    }

    /// The columns of the rows that passed.
    fn output(&mut self, window: &Window, rows: &RowSet, payload: Payload) -> Result<RowVector> {
        if payload == Payload::Eager && !rows.is_empty() {
            self.open_payload(window)?;
        }
        let mut children = Vec::with_capacity(self.output_type.len());
        for (position, bound) in self.columns.iter().enumerate() {
            let Some(spec) = self.params.spec.columns().get(bound.index) else { continue };
            let (Some(column), Some(_)) = (&bound.column, spec.channel) else { continue };
            if rows.is_empty() {
                children.push(no_rows(&spec.ty));
                continue;
            }
            let gave = window.filtered.iter().find(|(of, _)| *of == position);
            children.push(match (gave, payload) {
                (Some((_, filtered)), _) => filtered.of_rows(&window.passed, rows.len())?,
                (None, Payload::Eager) => {
                    let passed = (window.passed.as_ref(), window.expected);
                    column.lock().read_selected(&window.scan, window.row, passed)?
                }
                (None, Payload::Lazy) => {
                    let loader = self.loader(column, window);
                    Arc::new(Vector::Lazy(LazyVector::new(spec.ty.clone(), rows.len(), loader)))
                }
            });
        }
        RowVector::batch(Arc::clone(&self.output_type), rows.len(), children)
    }

    fn loader(&self, column: &SharedColumn, window: &Window) -> ColumnLoader {
        ColumnLoader {
            column: Arc::clone(column),
            group: Arc::clone(&window.scan),
            row: window.row,
            passed: Arc::clone(&window.passed),
            expected: window.expected,
            window: self.window.load(Ordering::Acquire),
            current_window: Arc::clone(&self.window),
        }
    }

    /// Opens the columns that do not filter, once for a row group.
    fn open_payload(&mut self, window: &Window) -> Result<()> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if std::mem::replace(&mut current.is_payload_open, true) {
            return Ok(());
        }
        let specs = self.params.spec.columns();
        let columns = self
            .columns
            .iter()
            .filter(|bound| specs.get(bound.index).is_some_and(|spec| spec.channel.is_some()));
        let columns = columns.filter_map(|bound| bound.column.as_ref());
        open_together(columns, &window.scan, window.expected, &mut self.input)
    }

    fn next_window(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome> {
        self.window.fetch_add(1, Ordering::AcqRel);
        let ReadRequest { max_rows, adaptation, payload } = request;
        if self.current.as_ref().is_none_or(|group| group.ranges.is_empty())
            && !self.start_row_group(adaptation)?
        {
            return Ok(ReadOutcome::End);
        }
        let (window, selected) = self.scan_window(max_rows, adaptation)?;
        let scanned = window.passed.len();
        self.counts.scanned(scanned, selected.len());
        let batch = self.output(&window, &selected, payload);
        let batch = batch.in_place("row group", window.scan.number)?;
        let first_row = window.scan.first_row.saturating_add(window.row);
        Ok(ReadOutcome::Rows(ReadRows { first_row, scanned, selected, batch }))
    }
}

impl RowReader for ParquetRowReader {
    fn next(&mut self, request: ReadRequest<'_>) -> Result<ReadOutcome> {
        self.next_window(request).map_err(|e| e.in_named("file", self.input.path()))
    }

    fn estimated_row_size(&self) -> Option<u64> {
        let group = self.pass.footer.row_groups().first()?;
        let columns = self.columns.iter().filter_map(|bound| bound.column.as_ref());
        let mut bytes = 0u64;
        for column in columns {
            for leaf in column.lock().reader.leaf_numbers() {
                let chunk = group.columns.chunk(*leaf).ok();
                let meta = chunk.and_then(|chunk| chunk.meta_data.as_ref());
                let of_leaf = meta.map_or(0, |meta| meta.total_uncompressed_bytes);
                bytes = bytes.saturating_add(of_leaf);
            }
        }
        bytes.checked_div(group.num_rows)
    }

    fn metrics(&self) -> Metrics {
        let mut metrics = self.counts.metrics(&self.pass.pages);
        let decoded = self.column_counts().into_iter().map(|counts| counts.values_decoded);
        let decoded = decoded.fold(0u64, u64::saturating_add);
        if decoded > 0 {
            let decoded = usize::try_from(decoded).unwrap_or(usize::MAX);
            metrics.add_count(VALUES_DECODED, decoded);
        }
        if self.input.gap_bytes() > 0 {
            metrics.add_bytes(READ_GAP_BYTES, self.input.gap_bytes());
            metrics.add_bytes(OVERREAD_BYTES, self.input.gap_bytes());
        }
        metrics
    }

    fn column_counts(&self) -> Vec<ColumnCounts> {
        let columns = self.columns.iter().filter_map(|bound| {
            let counts = bound.column.as_ref()?.lock().counts();
            Some(ColumnCounts { column: bound.index, ..counts })
        });
        columns.collect()
    }
}

/// The runs of selected rows.
fn num_runs(rows: &SelectivityVector) -> u64 {
    let (mut runs, mut carry) = (0u64, 0u64);
    for word in rows.words() {
        let starts = word & !(word << 1 | carry);
        runs = runs.saturating_add(u64::from(starts.count_ones()));
        carry = word >> 63;
    }
    runs
}

/// The row groups that start in `range`, each with the file row it starts at.
fn row_groups_of(footer: &Footer, range: &Range<u64>) -> Result<Vec<(usize, u64)>> {
    let mut found = Vec::new();
    let mut first_row = 0u64;
    for (number, group) in footer.row_groups().iter().enumerate() {
        if range.contains(&start_of(group)) {
            found.push((number, first_row));
        }
        first_row = first_row
            .checked_add(group.num_rows)
            .ok_or_else(|| Error::corrupt("the file has too many rows"))?;
    }
    Ok(found)
}

/// Where a row group's first page is: the offsets that the row group states itself are often wrong.
/// A row group without any chunk belongs to whoever owns the start of the file.
fn start_of(group: &RowGroup) -> u64 {
    let chunks = group.columns.briefs().iter().filter_map(|chunk| chunk.meta.as_ref());
    chunks.map(|meta| meta.start_offset).min().unwrap_or(0)
}

#[cfg(test)]
mod tests;
