//! The LocalMerge operator, which merges the sorted rows of several drivers into one sorted stream.
//!
//! ```text
//! driver 0  .. OrderBy .. QueueSink --> BatchQueue 0 --\
//! driver 1  .. OrderBy .. QueueSink --> BatchQueue 1 ---+--> LocalMerge .. the one driver behind
//! driver 2  .. OrderBy .. QueueSink --> BatchQueue 2 --/
//! ```
//!
//! The operator compares the next rows of all streams. The stream with the least row contributes
//! rows until the least row of the other streams orders before its next one. The rows that a stream
//! contributes to an output batch are a range of the stream's batch, so the output is the
//! concatenation of these ranges, wrapped in a dictionary of the merged row numbers:
//!
//! ```text
//! stream 0: rows 3..6    stream 1: rows 0..2
//! concatenated  a3 a4 a5 b0 b1    indices  0 3 4 1 2
//! ```
//!
//! Equal rows are ordered by their streams. No row can be merged before each stream has a row or
//! has ended.

use std::cmp::Ordering;

use vector::sync::Arc;
use vector::{BufferMut, Result, RowComparator, RowType, RowVector, VectorRef, concat_batches};

use super::loading::slice_batch;
use super::sink::{BatchQueue, Taken};
use super::sort_prefix::prefixes;
use super::sorted_rows::SortChannels;
use super::{Operator, refuse_input};
use crate::blocking::{Blocked, BlockingReason};
use crate::plan::SortKey;

/// The exchange source that merges sorted streams; the first operator of its driver.
pub struct LocalMerge {
    streams: Vec<Stream>,
    keys: SortChannels,
    row_type: Arc<RowType>,
    max_rows: usize,
    /// Comparators of the current batches of each pair of streams, created when first needed.
    comparators: Vec<Vec<Option<RowComparator>>>,
    output: Output,
    blocked: Option<Blocked>,
    /// Number of the barrier that all streams have reached, until the driver resumes the operator.
    barrier: Option<u64>,
    finished: bool,
}

/// One sorted input stream.
struct Stream {
    queue: Arc<BatchQueue>,
    current: Option<Current>,
    /// Number of the barrier that the stream has reached.
    barrier: Option<u64>,
    ended: bool,
}

impl Stream {
    fn new(queue: Arc<BatchQueue>) -> Self {
        Stream { queue, current: None, barrier: None, ended: false }
    }

    /// Returns true when all rows of the stream are merged, up to a barrier or to its end.
    fn is_through(&self) -> bool {
        self.current.is_none() && (self.ended || self.barrier.is_some())
    }
}

/// The current batch of a stream, of which some rows are not merged yet.
struct Current {
    batch: RowVector,
    keys: Vec<VectorRef>,
    /// Sort prefixes of the first key, one for each row; empty when there are no keys.
    prefixes: Vec<u64>,
    /// Number of the first row that is not merged yet.
    row: usize,
    /// Number of the first row that belongs to the stream's open piece of the output.
    output_from: usize,
}

/// The rows merged so far: the pieces, which are ranges of batches, and the piece of each row.
#[derive(Default)]
struct Output {
    /// Index into `pieces` for each merged row.
    pieces_of_rows: Vec<u32>,
    /// Ranges of rows of the streams' batches; `None` for a piece that is still open.
    pieces: Vec<Option<RowVector>>,
    /// Index of the open piece of each stream; `None` when the stream has no open piece.
    open: Vec<Option<u32>>,
}

impl LocalMerge {
    /// Creates an operator that merges the rows of `queues`, each of which is sorted by `keys`,
    /// into batches of at most `max_rows` rows.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `Internal` when `row_type` has no column of a key's name.
    pub fn new(
        queues: Vec<Arc<BatchQueue>>,
        keys: &[SortKey],
        row_type: &Arc<RowType>,
        max_rows: usize,
    ) -> Result<Self> {
        let num = queues.len();
        let streams = queues.into_iter();
        Ok(LocalMerge {
            streams: streams.map(Stream::new).collect(),
            keys: SortChannels::new(keys, row_type)?,
            row_type: Arc::clone(row_type),
            max_rows: max_rows.max(1),
            comparators: (0..num).map(|_| (0..num).map(|_| None).collect()).collect(),
            output: Output { open: vec![None; num], ..Output::default() },
            blocked: None,
            barrier: None,
            finished: false,
        })
    }

    /// Takes batches until each stream has a row, has reached a barrier or has ended. Returns false
    /// when a stream must be waited for.
    fn fill(&mut self) -> Result<bool> {
        for (i, stream) in self.streams.iter_mut().enumerate() {
            while stream.current.is_none() && !stream.is_through() {
                match stream.queue.take() {
                    Taken::Item(batch) => {
                        stream.current = Some(Current::new(batch, &self.keys)?);
                        self.comparators[i].iter_mut().for_each(|c| *c = None);
                        self.comparators.iter_mut().for_each(|of| of[i] = None);
                    }
                    Taken::Wait(until) => {
                        let reason = BlockingReason::WaitForProducer;
                        self.blocked = Some(Blocked::new(reason, until));
                        return Ok(false);
                    }
                    Taken::Barrier(number) => stream.barrier = Some(number),
                    Taken::End => stream.ended = true,
                }
            }
        }
        Ok(true)
    }

    /// Compares the next rows of two streams; equal rows are ordered by their streams.
    fn compare(&mut self, a: usize, b: usize) -> Result<Ordering> {
        let (Some(left), Some(right)) = (&self.streams[a].current, &self.streams[b].current) else {
            return Ok(a.cmp(&b));
        };
        let by_prefix = left.prefix().cmp(&right.prefix());
        if by_prefix.is_ne() {
            return Ok(by_prefix);
        }
        let comparator = &mut self.comparators[a][b];
        let comparator = match comparator {
            Some(made) => made,
            None => {
                let orders = &self.keys.orders;
                comparator.insert(RowComparator::with_orders(&left.keys, &right.keys, orders)?)
            }
        };
        Ok(comparator.compare_all(left.row, right.row).then(a.cmp(&b)))
    }

    /// Returns the streams with the least and the second least next row.
    fn first_two(&mut self) -> Result<(Option<usize>, Option<usize>)> {
        let (mut first, mut second) = (None, None);
        for i in 0..self.streams.len() {
            if self.streams[i].current.is_none() {
                continue;
            }
            match (first, second) {
                (None, _) => first = Some(i),
                (Some(f), _) if self.compare(i, f)?.is_lt() => {
                    second = first;
                    first = Some(i);
                }
                (Some(_), Some(s)) if self.compare(i, s)?.is_gt() => {}
                (Some(_), _) => second = Some(i),
            }
        }
        Ok((first, second))
    }

    /// Merges rows until the output is full or a stream's current batch has no rows left.
    fn merge(&mut self) -> Result<()> {
        while self.output.len() < self.max_rows {
            let (Some(first), second) = self.first_two()? else { return Ok(()) };
            loop {
                self.output.add(first, &self.streams[first]);
                let at_end = match &mut self.streams[first].current {
                    Some(current) => current.step(),
                    None => true,
                };
                if at_end {
                    self.output.cut(first, &mut self.streams[first])?;
                    self.streams[first].current = None;
                    return Ok(());
                }
                let goes_on = match second {
                    Some(second) => self.compare(first, second)?.is_lt(),
                    None => true,
                };
                if !goes_on || self.output.len() >= self.max_rows {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the merged rows as a batch and clears the output; `None` when there are no rows.
    fn flush(&mut self) -> Result<Option<RowVector>> {
        if self.output.len() == 0 {
            return Ok(None);
        }
        for (i, stream) in self.streams.iter_mut().enumerate() {
            self.output.cut(i, stream)?;
        }
        self.output.take(&self.row_type).map(Some)
    }
}

impl Current {
    fn new(batch: RowVector, keys: &SortChannels) -> Result<Self> {
        let columns = keys.columns(&batch)?;
        let prefixes = match (columns.first(), keys.orders.first()) {
            (Some(first), Some(order)) => prefixes(first, *order)?.values,
            _ => Vec::new(),
        };
        Ok(Current { batch, keys: columns, prefixes, row: 0, output_from: 0 })
    }

    fn prefix(&self) -> Option<u64> {
        self.prefixes.get(self.row).copied()
    }

    /// Advances to the next row; returns true when the batch has none.
    fn step(&mut self) -> bool {
        self.row += 1;
        self.row == self.batch.len()
    }
}

impl Output {
    fn len(&self) -> usize {
        self.pieces_of_rows.len()
    }

    fn clear(&mut self) {
        self.pieces.clear();
        self.pieces_of_rows.clear();
        self.open.iter_mut().for_each(|open| *open = None);
    }

    /// Appends the next row of a stream.
    fn add(&mut self, stream: usize, of: &Stream) {
        if of.current.is_none() {
            return;
        }
        let piece = *self.open[stream].get_or_insert_with(|| {
            self.pieces.push(None);
            (self.pieces.len() - 1) as u32
        });
        self.pieces_of_rows.push(piece);
    }

    /// Closes the open piece of a stream before its next row.
    fn cut(&mut self, i: usize, stream: &mut Stream) -> Result<()> {
        let (Some(piece), Some(current)) = (self.open[i].take(), &mut stream.current) else {
            return Ok(());
        };
        let from = std::mem::replace(&mut current.output_from, current.row);
        let rows = slice_batch(&current.batch, from, current.row - from)?;
        if let Some(place) = self.pieces.get_mut(piece as usize) {
            *place = Some(rows);
        }
        Ok(())
    }

    /// Returns the rows as a batch and clears the output.
    fn take(&mut self, row_type: &Arc<RowType>) -> Result<RowVector> {
        let pieces: Vec<RowVector> =
            std::mem::take(&mut self.pieces).into_iter().flatten().collect();
        let rows = std::mem::take(&mut self.pieces_of_rows);
        if let [only] = pieces.as_slice() {
            return Ok(only.clone());
        }
        let mut next = Vec::with_capacity(pieces.len());
        let mut start = 0u32;
        for piece in &pieces {
            next.push(start);
            start += piece.len() as u32;
        }
        let mut order = BufferMut::with_capacity(rows.len());
        for piece in rows {
            let next = &mut next[piece as usize];
            order.push(*next);
            *next += 1;
        }
        Ok(concat_batches(row_type, &pieces)?.wrap(&order.freeze()))
    }
}

impl Operator for LocalMerge {
    fn needs_input(&self) -> bool {
        false
    }

    fn add_input(&mut self, _: RowVector) -> Result<()> {
        Err(refuse_input())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        self.blocked = None;
        while !self.finished && self.barrier.is_none() {
            if !self.fill()? {
                // Rows that are merged already are returned without waiting.
                let merged = self.flush()?;
                if merged.is_some() {
                    self.blocked = None;
                }
                return Ok(merged);
            }
            self.merge()?;
            let is_through = self.streams.iter().all(Stream::is_through);
            if is_through || self.output.len() >= self.max_rows {
                let merged = self.flush()?;
                if is_through {
                    self.barrier = self.streams.iter().find_map(|stream| stream.barrier);
                    self.finished = self.barrier.is_none();
                }
                return Ok(merged);
            }
        }
        Ok(None)
    }

    fn is_blocked(&mut self) -> Option<Blocked> {
        self.blocked.take()
    }

    fn no_more_input(&mut self) {}

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn at_barrier(&self) -> Option<u64> {
        self.barrier
    }

    fn resume_after_barrier(&mut self) {
        self.barrier = None;
        self.streams.iter_mut().for_each(|stream| stream.barrier = None);
    }

    fn discard_until_barrier(&mut self) {
        // The next rows of a stream that has already reached the barrier are behind it, so only the
        // other streams discard rows.
        for stream in self.streams.iter_mut().filter(|stream| stream.barrier.is_none()) {
            stream.current = None;
            stream.queue.drop_to_barrier();
        }
        self.output.clear();
    }

    fn close(&mut self) {
        self.finished = true;
        for stream in &mut self.streams {
            stream.current = None;
            stream.queue.close();
        }
        self.output.clear();
    }
}

#[cfg(all(test, loom))]
mod loom_tests;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::{SortOrder, Type, Value, ValueReader};

    fn row_type() -> Arc<RowType> {
        Arc::new(RowType::new([("k", Type::BigInt), ("from", Type::BigInt)]))
    }

    fn key(descending: bool, nulls_first: bool) -> Vec<SortKey> {
        let order = SortOrder { descending, nulls_first };
        vec![SortKey { column: "k".into(), order }]
    }

    fn rows_of(batch: &RowVector) -> Vec<(Option<i64>, i64)> {
        let columns = [0, 1].map(|c| ValueReader::new(batch.child(c).unwrap()).unwrap());
        let row = |i| (columns[0].value(i).as_i64(), columns[1].value(i).as_i64().unwrap());
        (0..batch.len()).map(row).collect()
    }

    fn batch(rows: &[(Option<i64>, i64)]) -> RowVector {
        let value = |v: Option<i64>| v.map_or(Value::Null, Value::BigInt);
        let keys: Vec<Value> = rows.iter().map(|r| value(r.0)).collect();
        let from: Vec<Value> = rows.iter().map(|r| Value::BigInt(r.1)).collect();
        let columns = [keys, from].map(|values| vector_of(&Type::BigInt, &values).unwrap());
        RowVector::batch(row_type(), rows.len(), columns.to_vec()).unwrap()
    }

    fn merged(streams: &[Vec<(Option<i64>, i64)>], keys: &[SortKey], cut: usize, max: usize) {
        let queues: Vec<_> = streams.iter().map(|_| Arc::new(BatchQueue::new(100, 1))).collect();
        let mut merge = LocalMerge::new(queues.clone(), keys, &row_type(), max).unwrap();
        let mut given = Vec::new();
        let mut take = |merge: &mut LocalMerge| {
            while let Some(batch) = merge.get_output().unwrap() {
                assert!(!batch.is_empty() && batch.len() <= max);
                given.extend(rows_of(&batch));
            }
        };
        for (queue, rows) in queues.iter().zip(streams) {
            take(&mut merge);
            for piece in rows.chunks(cut) {
                queue.put(batch(piece));
            }
            queue.producer_done(0);
        }
        take(&mut merge);
        assert!(merge.is_finished() && merge.is_blocked().is_none());
        let mut expected: Vec<_> = streams.iter().flatten().copied().collect();
        let order = keys[0].order;
        expected.sort_by(|a, b| match (a.0, b.0) {
            (None, None) => Ordering::Equal,
            (None, _) if order.nulls_first => Ordering::Less,
            (None, _) => Ordering::Greater,
            (_, None) if order.nulls_first => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(a), Some(b)) if order.descending => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
        });
        assert_eq!(given, expected, "stable over the streams");
    }

    #[test]
    fn streams_come_out_in_order_and_equal_rows_in_that_of_the_streams() {
        let values = [Some(1), Some(1), Some(3), Some(i64::MAX), None, None];
        for (descending, nulls_first) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let keys = key(descending, nulls_first);
            let stream = |from: i64, step: usize| {
                let mut rows: Vec<_> = values.iter().step_by(step).map(|v| (*v, from)).collect();
                if descending {
                    rows.reverse();
                }
                rows.sort_by_key(|r| r.0.is_none() != nulls_first);
                rows
            };
            let streams = [stream(0, 1), stream(1, 2), vec![], stream(3, 3), stream(4, 1)];
            for (cut, max) in [(1, 1), (1, 100), (2, 3), (100, 2), (100, 100)] {
                for num in 1..=streams.len() {
                    merged(&streams[..num], &keys, cut, max);
                }
            }
        }
    }

    #[test]
    fn without_rows_of_a_stream_nothing_is_said() {
        let queues: Vec<_> = (0..2).map(|_| Arc::new(BatchQueue::new(10, 1))).collect();
        let keys = key(false, false);
        let mut merge = LocalMerge::new(queues.clone(), &keys, &row_type(), 10).unwrap();
        queues[0].put(batch(&[(Some(1), 0)]));
        assert!(merge.get_output().unwrap().is_none());
        let blocked = merge.is_blocked().unwrap();
        assert_eq!(blocked.reason, BlockingReason::WaitForProducer);
        queues[1].put(batch(&[(Some(0), 1), (Some(2), 1)]));
        assert!(blocked.until.is_ready());
        let first = merge.get_output().unwrap().unwrap();
        assert_eq!(rows_of(&first), [(Some(0), 1), (Some(1), 0)]);
    }
}
