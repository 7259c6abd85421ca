//! The LocalPartition operator, the exchange sink that distributes the batches of one driver to
//! several queues.
//!
//! ```text
//! driver 0  .. LocalPartition --+--> BatchQueue 0 --> LocalExchange .. driver 0 behind
//!                            \ /
//!                            / \
//! driver 1  .. LocalPartition --+--> BatchQueue 1 --> LocalExchange .. driver 1 behind
//! ```
//!
//! Either the queues receive whole batches in turn, or each row goes to the queue that the hash of
//! its keys selects, so that equal keys reach the same driver. The rows are not copied: each queue
//! receives the batch wrapped in a dictionary of its row numbers. A queue that its driver has
//! closed drops the batches it receives; the remaining queues continue.

use vector::sync::Arc;
use vector::{BufferMut, MemoryPool, Result, RowVector, hash_into};

use super::Operator;
use super::loading::{decoded_column, load_batch, unpaid_bytes};
use super::reservation::Reservation;
use super::sink::{BatchQueue, Space};
use crate::blocking::{Blocked, BlockingReason};

/// Hash seed that makes the bits that select a queue independent of the bits that the hash tables
/// behind it use.
const SEED: u64 = 0x51ed_270b_9f6c_1a7d;

/// The rule by which a row's queue is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spread {
    /// Whole batches go to the queues in turn.
    RoundRobin,
    /// Each row goes to the queue that the hash of the columns at these channels selects.
    Hash(Vec<usize>),
}

/// The last operator of a producing driver whose rows go to several consuming drivers.
#[derive(Debug)]
pub struct LocalPartition {
    queues: Vec<Arc<BatchQueue>>,
    spread: Spread,
    /// Memory pool that holds the reservations of the batches in the queues; `None` when nothing is
    /// reserved for them.
    pool: Option<MemoryPool>,
    /// Number of the queue that receives the next batch of a round-robin distribution.
    next: usize,
    hashes: Vec<u64>,
    no_more_input: bool,
    /// Number of the last barrier at which this producer has arrived; 0 before the first one.
    arrived: u64,
    closed: bool,
}

impl LocalPartition {
    /// Creates the sink of producer number `producer`. There is at least one queue.
    pub fn new(queues: Vec<Arc<BatchQueue>>, spread: Spread, producer: usize) -> Self {
        let next = producer % queues.len().max(1);
        let (hashes, pool, no_more_input, closed) = (Vec::new(), None, false, false);
        LocalPartition { queues, spread, pool, next, hashes, no_more_input, arrived: 0, closed }
    }

    /// Returns the sink with `pool` as the memory pool that reserves the bytes of its batches while
    /// they wait in a queue.
    pub fn with_pool(self, pool: &MemoryPool) -> Self {
        LocalPartition { pool: Some(pool.clone()), ..self }
    }

    /// Splits a batch into the parts for the queues; queues without rows are absent.
    fn parts(&mut self, batch: RowVector) -> Result<Vec<(usize, RowVector)>> {
        match self.spread.clone() {
            Spread::RoundRobin => {
                let queue = self.next;
                self.next = (self.next + 1) % self.queues.len().max(1);
                Ok(vec![(queue, batch)])
            }
            Spread::Hash(channels) => self.parts_by_hash(batch, &channels),
        }
    }

    fn parts_by_hash(
        &mut self,
        batch: RowVector,
        channels: &[usize],
    ) -> Result<Vec<(usize, RowVector)>> {
        self.hashes.clear();
        self.hashes.resize(batch.len(), SEED);
        for channel in channels {
            hash_into(&decoded_column(&batch, *channel)?, &mut self.hashes)?;
        }
        let mut rows: Vec<BufferMut<u32>> = self.queues.iter().map(|_| BufferMut::new()).collect();
        for (row, hash) in self.hashes.iter().enumerate() {
            // The upper bits select the queue: a product scales them to the number of queues.
            let queue = (u128::from(*hash) * self.queues.len() as u128) >> 64;
            rows[queue as usize].push(row as u32);
        }
        let parts = rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        let part = |rows: BufferMut<u32>| match rows.len() {
            all if all == batch.len() => batch.clone(),
            _ => batch.wrap(&rows.freeze()),
        };
        Ok(parts.map(|(queue, rows)| (queue, part(rows))).collect())
    }

    /// Reserves the bytes of the parts of a batch that no memory pool has reserved yet: each part
    /// reserves its share of them, in proportion to its rows. Returns one reservation per part, or
    /// `None` for each part without a pool.
    fn pay(
        &self,
        batch: &RowVector,
        parts: &[(usize, RowVector)],
    ) -> Result<Vec<Option<Reservation>>> {
        let Some(pool) = &self.pool else { return Ok(parts.iter().map(|_| None).collect()) };
        let bytes_of_row = unpaid_bytes(batch) / batch.len().max(1) as u64 + self.row_bytes();
        let shares = parts.iter().map(|(_, part)| {
            Reservation::of(bytes_of_row.saturating_mul(part.len() as u64), pool).map(Some)
        });
        shares.collect()
    }

    /// Returns the number of bytes that each row of a part takes in addition to the batch.
    fn row_bytes(&self) -> u64 {
        match self.spread {
            Spread::RoundRobin => 0,
            Spread::Hash(_) => size_of::<u32>() as u64,
        }
    }
}

impl Operator for LocalPartition {
    fn needs_input(&self) -> bool {
        !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        // The scan produces its next batch while other threads read this one, so no column may
        // remain lazy.
        let batch = load_batch(batch)?;
        let parts = self.parts(batch.clone())?;
        let paid = self.pay(&batch, &parts)?;
        for ((queue, part), paid) in parts.into_iter().zip(paid) {
            if let Some(queue) = self.queues.get(queue) {
                queue.put_paid(part, paid);
            }
        }
        Ok(())
    }

    fn input_reservation(&self, batch: &RowVector) -> u64 {
        let rows = self.row_bytes().saturating_mul(batch.len() as u64);
        self.pool.as_ref().map_or(0, |_| unpaid_bytes(batch).saturating_add(rows))
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        Ok(None)
    }

    fn is_blocked(&mut self) -> Option<Blocked> {
        if self.no_more_input {
            return None;
        }
        self.queues.iter().find_map(|queue| match queue.space() {
            Space::Wait(until) => Some(Blocked::new(BlockingReason::WaitForConsumer, until)),
            Space::Ready | Space::Closed => None,
        })
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.no_more_input || self.queues.iter().all(|queue| queue.is_closed())
    }

    fn start_drain(&mut self, number: u64) -> bool {
        self.arrived = number;
        self.queues.iter().for_each(|queue| queue.arrive(number));
        false
    }

    fn is_satisfied(&self) -> bool {
        let arrived = self.arrived;
        self.queues.iter().all(|queue| queue.is_closed() || queue.drops_to_barrier(arrived))
    }

    fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            self.queues.iter().for_each(|queue| queue.producer_done(self.arrived));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::sink::Taken;
    use super::*;
    use vector::build::vector_of;
    use vector::{RowType, Type, Value, ValueReader, Vector};

    fn batch(values: impl Iterator<Item = i64>) -> RowVector {
        let values: Vec<Value> = values.map(Value::BigInt).collect();
        let column = vector_of(&Type::BigInt, &values).unwrap();
        let row_type = Arc::new(RowType::new([("k", Type::BigInt)]));
        RowVector::batch(row_type, values.len(), vec![column]).unwrap()
    }

    fn queues(num: usize) -> Vec<Arc<BatchQueue>> {
        (0..num).map(|_| Arc::new(BatchQueue::new(100, 1))).collect()
    }

    fn taken(queue: &BatchQueue) -> Vec<i64> {
        let mut all = Vec::new();
        while let Taken::Item(batch) = queue.take() {
            let column = ValueReader::new(batch.child(0).unwrap()).unwrap();
            all.extend((0..batch.len()).map(|row| column.value(row).as_i64().unwrap()));
        }
        all
    }

    #[test]
    fn equal_keys_meet_whatever_the_encoding_of_their_batches() {
        for num in [2, 3, 7] {
            let queues = queues(num);
            let spread = Spread::Hash(vec![0]);
            let mut sink = LocalPartition::new(queues.clone(), spread, 0);
            sink.add_input(batch(0..1_000)).unwrap();
            let wrapped = batch(0..1_000).wrap(&(0..500).rev().collect());
            sink.add_input(wrapped).unwrap();
            let constant = Vector::constant(Type::BigInt, Value::BigInt(17), 3).unwrap();
            let row_type = Arc::clone(batch(0..1).row_type());
            sink.add_input(RowVector::batch(row_type, 3, vec![Arc::new(constant)]).unwrap())
                .unwrap();
            let mut homes = std::collections::HashMap::new();
            let mut num_rows = 0;
            for (home, queue) in queues.iter().enumerate() {
                let rows = taken(queue);
                assert!(rows.len() > 1_500 / num / 2, "{num}: {} rows", rows.len());
                num_rows += rows.len();
                for row in rows {
                    assert_eq!(*homes.entry(row).or_insert(home), home);
                }
            }
            assert_eq!(num_rows, 1_503);
        }
    }

    #[test]
    fn batches_go_round_and_a_full_queue_makes_the_producer_wait() {
        let queues: Vec<_> = (0..2).map(|_| Arc::new(BatchQueue::new(1, 1))).collect();
        let mut sink = LocalPartition::new(queues.clone(), Spread::RoundRobin, 1);
        sink.add_input(batch(0..1)).unwrap();
        let blocked = sink.is_blocked().unwrap();
        assert_eq!(blocked.reason, BlockingReason::WaitForConsumer);
        assert_eq!(taken(&queues[1]), [0]);
        assert!(blocked.until.is_ready() && sink.is_blocked().is_none());
        sink.add_input(batch(1..2)).unwrap();
        assert_eq!(taken(&queues[0]), [1]);
        queues[0].close();
        assert!(!sink.is_finished(), "the other one still takes");
        queues[1].close();
        assert!(sink.is_finished());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::local_exchange::LocalExchange;
    use super::super::sink::QueueSink;
    use super::*;
    use vector::RowType;
    use vector::sync::thread;

    fn batch(num_rows: usize) -> RowVector {
        RowVector::batch(Arc::new(RowType::empty()), num_rows, Vec::new()).unwrap()
    }

    /// Puts batches with the given numbers of rows, waiting for free capacity as a driver does.
    fn produce(mut sink: LocalPartition, batches: &[usize]) {
        for num_rows in batches {
            while let Some(blocked) = sink.is_blocked() {
                blocked.until.wait().unwrap();
            }
            sink.add_input(batch(*num_rows)).unwrap();
        }
        sink.close();
    }

    fn consume(mut exchange: LocalExchange) -> usize {
        let mut rows = 0;
        while !exchange.is_finished() {
            rows += exchange.get_output().unwrap().map_or(0, |batch| batch.len());
            if let Some(blocked) = exchange.is_blocked() {
                blocked.until.wait().unwrap();
            }
        }
        rows
    }

    #[test]
    fn loom_a_producer_fills_queues_in_turn_and_each_consumer_sees_its_rows_and_the_end() {
        loom::model(|| {
            let queues: Vec<_> = (0..2).map(|_| Arc::new(BatchQueue::new(1, 1))).collect();
            let sink = LocalPartition::new(queues.clone(), Spread::RoundRobin, 0);
            let consumers = queues.into_iter().map(LocalExchange::new);
            let consumers: Vec<_> =
                consumers.map(|exchange| thread::spawn(move || consume(exchange))).collect();
            produce(sink, &[1, 2, 4]);
            let rows: Vec<usize> = consumers.into_iter().map(|c| c.join().unwrap()).collect();
            assert_eq!(rows, [5, 2]);
        });
    }

    #[test]
    fn loom_a_consumer_that_closes_does_not_hold_up_the_producer_of_another() {
        loom::model(|| {
            let queues: Vec<_> = (0..2).map(|_| Arc::new(BatchQueue::new(1, 1))).collect();
            let sink = LocalPartition::new(queues.clone(), Spread::RoundRobin, 0);
            let closing = Arc::clone(&queues[0]);
            let other = thread::spawn(move || closing.close());
            let exchange = LocalExchange::new(Arc::clone(&queues[1]));
            let consumer = thread::spawn(move || consume(exchange));
            produce(sink, &[1, 2, 4]);
            other.join().unwrap();
            assert_eq!(consumer.join().unwrap(), 2);
        });
    }

    /// A driver that ended before a barrier would leave its split unread and lose the rows behind
    /// the barrier.
    #[test]
    fn loom_a_producer_whose_consumers_have_enough_until_a_barrier_has_not_finished() {
        loom::model(|| {
            let queues: Vec<_> = (0..2).map(|_| Arc::new(BatchQueue::new(1, 2))).collect();
            let sinks: [Box<dyn Operator>; 2] = [
                Box::new(LocalPartition::new(queues.clone(), Spread::RoundRobin, 0)),
                Box::new(QueueSink::new(Arc::clone(&queues[0]))),
            ];
            let drop = |queue: Arc<BatchQueue>| thread::spawn(move || queue.drop_to_barrier());
            let consumers: Vec<_> = queues.into_iter().map(drop).collect();
            for sink in &sinks {
                // A driver calls the two methods in this order.
                assert!(sink.is_satisfied() || !sink.is_finished());
            }
            consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
            assert!(sinks.iter().all(|sink| sink.is_satisfied() && !sink.is_finished()));
        });
    }

    #[test]
    fn loom_memory_of_batches_that_wait_is_back_when_they_were_taken_or_dropped() {
        loom::model(|| {
            let root = MemoryPool::root("task", 1_000);
            let queue = Arc::new(BatchQueue::new(2, 1));
            let (giving, leaf) = (Arc::clone(&queue), root.leaf("producer"));
            let producer = thread::spawn(move || {
                let paid = Reservation::of(400, &leaf).unwrap();
                giving.put_paid(batch(1), Some(paid));
                giving.producer_done(0);
            });
            let mut exchange = LocalExchange::new(queue);
            let rows = exchange.get_output().unwrap().map_or(0, |batch| batch.len());
            exchange.close();
            producer.join().unwrap();
            assert!(rows <= 1);
            assert_eq!(root.used(), 0);
        });
    }
}
