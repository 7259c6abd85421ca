//! Unnest: a row for each element of arrays and maps.
//!
//! ```text
//! id  list     map            id  element  key    value  ordinality
//! 1   [a, b]   {x: 7}         1   a        x      7      1
//! 2   []       null           1   b        null   null   2
//! 3   null     {y: 8}         3   null     y      8      1
//! ```
//!
//! A row has as many output rows as its longest list; a null list has none. Where rows without
//! elements are kept (a left join) such a row has one output row, of nulls. Output rows are produced
//! in pieces: the input row of each, and the entry of each list in it. Columns are wrapped in
//! dictionaries of these indices, so that neither values nor elements are copied.

use std::ops::Range;

use vector::sync::Arc;
use vector::{
    BitmapMut, Buffer, BufferMut, DecodedVector, DictionaryVector, Error, FlatVector, Result,
    RowSet, RowType, RowVector, SelectivityVector, Type, Vector, VectorRef,
};

use super::loading::{decoded_column, load_column};
use super::{Operator, channel_of};
use crate::plan::UnnestNode;

/// Unnests arrays and maps.
pub struct Unnest {
    replicated: Vec<usize>,
    unnested: Vec<usize>,
    with_ordinality: bool,
    keeps_empty: bool,
    output_type: Arc<RowType>,
    max_rows: usize,
    input: Option<Input>,
    no_more_input: bool,
}

/// The batch that is being unnested.
struct Input {
    replicated: Vec<VectorRef>,
    lists: Vec<Lists>,
    /// Number of output rows of each row.
    counts: Vec<usize>,
    /// The next row, and its next element.
    row: usize,
    element: usize,
}

/// One unnested column.
struct Lists {
    column: DecodedVector,
    /// Columns of the entries: elements, or keys and values.
    entries: Vec<VectorRef>,
    offsets: Buffer<u32>,
    lengths: Buffer<u32>,
}

impl Unnest {
    /// Creates an operator for `node`, which returns batches of at most `max_rows` rows.
    pub fn new(node: &UnnestNode, max_rows: usize) -> Result<Self> {
        let input = node.source.output_type();
        let channels = |names: &[String]| -> Result<Vec<usize>> {
            names.iter().map(|name| channel_of(input, name)).collect()
        };
        Ok(Unnest {
            replicated: channels(&node.replicated)?,
            unnested: channels(&node.unnested)?,
            with_ordinality: node.with_ordinality,
            keeps_empty: node.keeps_empty,
            output_type: Arc::clone(&node.output_type),
            max_rows: max_rows.max(1),
            input: None,
            no_more_input: false,
        })
    }
}

impl Input {
    fn new(unnest: &Unnest, batch: &RowVector) -> Result<Self> {
        let lists = unnest.unnested.iter().map(|channel| Lists::new(batch, *channel));
        let lists: Vec<Lists> = lists.collect::<Result<_>>()?;
        let least = usize::from(unnest.keeps_empty);
        let counts: Vec<usize> =
            (0..batch.len()).map(|row| longest(&lists, row).max(least)).collect();
        // The repeated columns are loaded for the rows that have elements, once for all pieces.
        let mut shown = SelectivityVector::none(batch.len());
        for (row, count) in counts.iter().enumerate() {
            shown.set(row, *count > 0);
        }
        let rows: RowSet = shown.to_rows();
        let replicated = unnest.replicated.iter();
        let replicated = replicated.map(|channel| load_column(batch.child(*channel)?, &rows));
        let replicated = replicated.collect::<Result<_>>()?;
        Ok(Input { replicated, lists, counts, row: 0, element: 0 })
    }

    /// Returns the next output rows as runs of one row's elements; none at the end.
    fn next_runs(&mut self, max_rows: usize) -> Vec<(usize, Range<usize>)> {
        let mut runs = Vec::new();
        let mut left = max_rows;
        while let Some(count) = self.counts.get(self.row) {
            if left == 0 {
                break;
            }
            let taken = (count - self.element).min(left);
            if taken > 0 {
                runs.push((self.row, self.element..self.element + taken));
            }
            left -= taken;
            self.element += taken;
            if self.element == *count {
                self.row += 1;
                self.element = 0;
            }
        }
        runs
    }

    fn is_done(&self) -> bool {
        self.counts.get(self.row..).unwrap_or_default().iter().all(|count| *count == 0)
    }

    fn columns(&self, runs: &[(usize, Range<usize>)], ordinality: bool) -> Result<Vec<VectorRef>> {
        let of_rows = runs.iter().flat_map(|(row, run)| run.clone().map(|_| *row as u32));
        let of_rows: Buffer<u32> = of_rows.collect();
        let mut columns: Vec<VectorRef> =
            self.replicated.iter().map(|column| Vector::wrap(column, &of_rows)).collect();
        for list in &self.lists {
            columns.extend(list.columns(runs, of_rows.len()));
        }
        if ordinality {
            let numbers = runs.iter().flat_map(|(_, run)| run.clone().map(|i| i as i64 + 1));
            let mut validity = BitmapMut::new();
            for (row, run) in runs {
                validity.push_n(longest(&self.lists, *row) > 0, run.len());
            }
            let numbers = numbers.collect::<Buffer<i64>>();
            let validity = validity.freeze_validity();
            let numbers = FlatVector::from_buffer(Type::BigInt, numbers, validity)?;
            columns.push(Arc::new(numbers.into()));
        }
        Ok(columns)
    }
}

impl Lists {
    fn new(batch: &RowVector, channel: usize) -> Result<Self> {
        let column = decoded_column(batch, channel)?;
        let base = Arc::clone(column.base());
        let (entries, offsets, lengths) = match base.as_ref() {
            Vector::Array(array) => {
                (vec![Arc::clone(array.elements())], array.offsets(), array.lengths())
            }
            Vector::Map(map) => {
                let entries = vec![Arc::clone(map.keys()), Arc::clone(map.values())];
                (entries, map.offsets(), map.lengths())
            }
            other if column.all_null() => {
                let entry = |ty: &Type| Arc::new(Vector::nulls(ty.clone(), 0));
                let entries: Vec<VectorRef> = match other.ty() {
                    Type::Array(element) => vec![entry(element)],
                    Type::Map(key, value) => vec![entry(key), entry(value)],
                    _ => return Err(not_a_list(other)),
                };
                (entries, &Buffer::empty(), &Buffer::empty())
            }
            other => return Err(not_a_list(other)),
        };
        let (offsets, lengths) = (offsets.clone(), lengths.clone());
        Ok(Lists { column, entries, offsets, lengths })
    }

    /// Returns the entries of a row; a null row has none.
    fn span(&self, row: usize) -> Range<usize> {
        if self.column.is_null(row) {
            return 0..0;
        }
        let index = self.column.index(row);
        let (start, len) = (self.offsets[index] as usize, self.lengths[index] as usize);
        start..start + len
    }

    fn columns(
        &self,
        runs: &[(usize, Range<usize>)],
        num_rows: usize,
    ) -> impl Iterator<Item = VectorRef> {
        let mut indices = BufferMut::with_capacity(num_rows);
        let mut validity = BitmapMut::new();
        for (row, run) in runs {
            let span = self.span(*row);
            let shown = run.start.min(span.len())..run.end.min(span.len());
            indices.extend(shown.clone().map(|i| (span.start + i) as u32));
            validity.push_n(true, shown.len());
            let missing = run.len() - shown.len();
            indices.extend(std::iter::repeat_n(0, missing));
            validity.push_n(false, missing);
        }
        let (indices, validity) = (indices.freeze(), validity.freeze_validity());
        self.entries.iter().map(move |entries| {
            let ty = entries.ty().clone();
            if entries.is_empty() {
                return Arc::new(Vector::nulls(ty, num_rows));
            }
            Arc::new(match &validity {
                None => return Vector::wrap(entries, &indices),
                Some(validity) => Vector::Dictionary(DictionaryVector::over_with_validity(
                    Arc::clone(entries),
                    indices.clone(),
                    Some(validity.clone()),
                )),
            })
        })
    }
}

/// Returns the number of elements of a row's longest list.
fn longest(lists: &[Lists], row: usize) -> usize {
    lists.iter().map(|list| list.span(row).len()).max().unwrap_or(0)
}

fn not_a_list(found: &Vector) -> Error {
    Error::internal("only arrays and maps can be unnested").with("type", found.ty())
}

impl Operator for Unnest {
    fn needs_input(&self) -> bool {
        self.input.is_none() && !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        let input = Input::new(self, &batch)?;
        self.input = Some(input).filter(|input| !input.is_done());
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        let Some(input) = &mut self.input else { return Ok(None) };
        let runs = input.next_runs(self.max_rows);
        let columns = input.columns(&runs, self.with_ordinality)?;
        let num_rows = runs.iter().map(|(_, run)| run.len()).sum();
        if input.is_done() {
            self.input = None;
        }
        RowVector::batch(Arc::clone(&self.output_type), num_rows, columns).map(Some)
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.no_more_input && self.input.is_none()
    }

    fn close(&mut self) {
        self.input = None;
    }
}
