//! A bounded queue between producing drivers and one consumer, and the sink operator that fills it.
//!
//! ```text
//! driver -- QueueSink --put-->  BatchQueue  --take--> consumer (another driver or the cursor's)
//! ```
//!
//! | state | `put` | `space` | `take` | last `producer_done` | `close` |
//! |---|---|---|---|---|---|
//! | open, not full | kept, wakes consumer | Ready | item, or Wait when empty | Ended | Closed |
//! | open, full | kept: the bound is soft | Wait | item, wakes producers | Ended | Closed |
//! | Ended | cannot happen | | item, then End | | Closed |
//! | Closed by the consumer | dropped | Closed | End | Closed | Closed |
//!
//! A producer that has put all rows before a barrier arrives at it. When all of those that are left
//! have, and the queue is empty, the consumer takes the barrier. Before that, the consumer may state
//! that it needs no rows in front of the barrier: all items put until then are dropped, and
//! producers need not produce them.
//!
//! An item may carry a memory reservation ([`BatchQueue::put_paid`]), which is released when the
//! item is taken or dropped. It covers the bytes of a batch that no other pool accounts for.
//!
//! No method blocks: a caller that must wait receives a continuation. The bound is soft by one item
//! of each producer, because a producer checks the capacity before it makes a batch.

use std::collections::VecDeque;

use vector::sync::{Arc, Continuation, Mutex, promise};
use vector::{MemoryPool, Result, RowVector};

use super::Operator;
use super::loading::{load_batch, unpaid_bytes};
use super::reservation::Reservation;
use crate::blocking::{Blocked, BlockingReason};

/// A bounded queue with any number of producers and one consumer.
#[derive(Debug)]
pub struct BatchQueue<T = RowVector> {
    capacity: usize,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<(T, Option<Reservation>)>,
    num_producers: usize,
    barrier: QueueBarrier,
    closed: bool,
    waiting_consumer: Vec<vector::sync::Promise>,
    waiting_producers: Vec<vector::sync::Promise>,
}

/// The next barrier of a queue.
#[derive(Debug, Default)]
struct QueueBarrier {
    /// Number of the last barrier at which a producer has arrived.
    number: u64,
    /// Number of the last barrier that the consumer has taken.
    taken: u64,
    /// Number of producers that have arrived at a barrier that is not yet taken; they may put items
    /// behind it.
    arrived: usize,
    /// True when the consumer needs no items in front of the barrier.
    dropping: bool,
}

/// Whether a producer may put another item.
#[derive(Debug)]
pub enum Space {
    /// The queue is below its capacity.
    Ready,
    /// The queue is full; call again when the continuation is ready.
    Wait(Continuation),
    /// The consumer has closed the queue and takes no more items.
    Closed,
}

/// Result of one call of [`BatchQueue::take`].
#[derive(Debug)]
pub enum Taken<T> {
    /// The oldest item.
    Item(T),
    /// The queue is empty; call again when the continuation is ready.
    Wait(Continuation),
    /// The queue is empty, and all producers have arrived at the barrier of this number.
    Barrier(u64),
    /// The queue is empty, and all producers are done.
    End,
}

impl<T> BatchQueue<T> {
    /// Creates an open queue for `capacity` items and `num_producers` producers.
    pub fn new(capacity: usize, num_producers: usize) -> Self {
        BatchQueue {
            capacity: capacity.max(1),
            state: Mutex::new(State {
                items: VecDeque::new(),
                num_producers,
                barrier: QueueBarrier::default(),
                closed: false,
                waiting_consumer: Vec::new(),
                waiting_producers: Vec::new(),
            }),
        }
    }

    /// Adds an item; it is dropped when the consumer has closed the queue, or needs no items in
    /// front of the next barrier.
    pub fn put(&self, item: T) {
        self.put_paid(item, None);
    }

    /// Adds an item as [`BatchQueue::put`] does, together with its memory reservation.
    pub fn put_paid(&self, item: T, paid: Option<Reservation>) {
        let waiting = {
            let mut state = self.state.lock();
            if state.closed || state.barrier.dropping {
                return;
            }
            state.items.push_back((item, paid));
            std::mem::take(&mut state.waiting_consumer)
        };
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
    }

    /// Reports whether the queue can take another item.
    pub fn space(&self) -> Space {
        let mut state = self.state.lock();
        if state.closed {
            Space::Closed
        } else if state.items.len() < self.capacity {
            Space::Ready
        } else {
            let (promise, continuation) = promise();
            state.waiting_producers.push(promise);
            Space::Wait(continuation)
        }
    }

    /// Returns true when the consumer has closed the queue.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Records that a producer has put all items in front of barrier `number`.
    pub fn arrive(&self, number: u64) {
        let waiting = {
            let mut state = self.state.lock();
            state.barrier.number = number;
            state.barrier.arrived += 1;
            std::mem::take(&mut state.waiting_consumer)
        };
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
    }

    /// Drops all items in front of the next barrier, which the consumer does not need.
    pub fn drop_to_barrier(&self) {
        let (dropped, producers) = {
            let mut state = self.state.lock();
            state.barrier.dropping = true;
            (std::mem::take(&mut state.items), std::mem::take(&mut state.waiting_producers))
        };
        drop(dropped);
        producers.into_iter().for_each(vector::sync::Promise::fulfil);
    }

    /// Returns true when the consumer needs no items in front of the next barrier from a producer
    /// that has arrived at the barriers up to number `arrived`.
    pub fn drops_to_barrier(&self, arrived: u64) -> bool {
        let barrier = &self.state.lock().barrier;
        barrier.dropping && barrier.taken >= arrived
    }

    /// Returns the oldest item, a barrier, a wait, or the end.
    pub fn take(&self) -> Taken<T> {
        let ((item, paid), waiting) = {
            let mut state = self.state.lock();
            match state.items.pop_front() {
                Some(item) => (item, std::mem::take(&mut state.waiting_producers)),
                None if state.is_at_barrier() && !state.closed => {
                    let number = state.barrier.number;
                    state.barrier = QueueBarrier { number, taken: number, ..Default::default() };
                    return Taken::Barrier(number);
                }
                None if state.closed || state.num_producers == 0 => return Taken::End,
                None => {
                    let (promise, continuation) = promise();
                    state.waiting_consumer.push(promise);
                    return Taken::Wait(continuation);
                }
            }
        };
        drop(paid);
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
        Taken::Item(item)
    }

    /// Ends one producer, which has arrived at the barriers up to number `arrived`.
    pub fn producer_done(&self, arrived: u64) {
        let waiting = {
            let mut state = self.state.lock();
            state.num_producers = state.num_producers.saturating_sub(1);
            if arrived > state.barrier.taken {
                state.barrier.arrived = state.barrier.arrived.saturating_sub(1);
            }
            if state.num_producers > 0 && !state.is_at_barrier() {
                return;
            }
            std::mem::take(&mut state.waiting_consumer)
        };
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
    }

    /// Closes the queue for the consumer: queued items are dropped and waiting producers are woken.
    pub fn close(&self) {
        let (dropped, consumer, producers) = {
            let mut state = self.state.lock();
            state.closed = true;
            (
                std::mem::take(&mut state.items),
                std::mem::take(&mut state.waiting_consumer),
                std::mem::take(&mut state.waiting_producers),
            )
        };
        drop(dropped);
        consumer.into_iter().chain(producers).for_each(vector::sync::Promise::fulfil);
    }
}

impl<T> State<T> {
    fn is_at_barrier(&self) -> bool {
        self.barrier.number > self.barrier.taken && self.barrier.arrived >= self.num_producers
    }
}

/// The last operator of a producing driver: loads batches and puts them into a queue.
#[derive(Debug)]
pub struct QueueSink {
    queue: Arc<BatchQueue>,
    /// Memory pool that accounts for queued batches.
    pool: Option<MemoryPool>,
    no_more_input: bool,
    /// Number of the last barrier at which this producer has arrived.
    arrived: u64,
    closed: bool,
}

impl QueueSink {
    /// Creates one of the producers of `queue`.
    pub fn new(queue: Arc<BatchQueue>) -> Self {
        QueueSink { queue, pool: None, no_more_input: false, arrived: 0, closed: false }
    }

    /// Makes `pool` account for batches while they are queued.
    pub fn with_pool(self, pool: &MemoryPool) -> Self {
        QueueSink { pool: Some(pool.clone()), ..self }
    }
}

impl Operator for QueueSink {
    fn needs_input(&self) -> bool {
        !self.no_more_input
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        // The scan moves on and another thread reads the batch, so no column may stay lazy.
        let batch = load_batch(batch)?;
        let pay = |pool: &MemoryPool| Reservation::of(unpaid_bytes(&batch), pool);
        let paid = self.pool.as_ref().map(pay).transpose()?;
        self.queue.put_paid(batch, paid);
        Ok(())
    }

    fn input_reservation(&self, batch: &RowVector) -> u64 {
        self.pool.as_ref().map_or(0, |_| unpaid_bytes(batch))
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        Ok(None)
    }

    fn is_blocked(&mut self) -> Option<Blocked> {
        match self.queue.space() {
            Space::Wait(until) if !self.no_more_input => {
                Some(Blocked::new(BlockingReason::WaitForConsumer, until))
            }
            _ => None,
        }
    }

    fn no_more_input(&mut self) {
        self.no_more_input = true;
    }

    fn is_finished(&self) -> bool {
        self.no_more_input || self.queue.is_closed()
    }

    fn start_drain(&mut self, number: u64) -> bool {
        self.arrived = number;
        self.queue.arrive(number);
        false
    }

    fn is_satisfied(&self) -> bool {
        self.queue.drops_to_barrier(self.arrived)
    }

    fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            self.queue.producer_done(self.arrived);
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use vector::sync::thread;

    fn drain(queue: &BatchQueue<u32>) -> Vec<u32> {
        let mut all = Vec::new();
        loop {
            match queue.take() {
                Taken::Item(item) => all.push(item),
                Taken::Wait(until) => until.wait().unwrap(),
                Taken::End => return all,
                Taken::Barrier(_) => {}
            }
        }
    }

    #[test]
    fn loom_everything_put_is_taken_and_then_the_end_comes() {
        loom::model(|| {
            let queue = Arc::new(BatchQueue::new(1, 1));
            let giving = Arc::clone(&queue);
            let producer = thread::spawn(move || {
                for item in 0..2 {
                    if let Space::Wait(until) = giving.space() {
                        until.wait().unwrap();
                    }
                    giving.put(item);
                }
                giving.producer_done(0);
            });
            assert_eq!(drain(&queue), [0, 1]);
            producer.join().unwrap();
        });
    }

    #[test]
    fn loom_two_producers_and_the_last_one_ends_the_queue() {
        loom::model(|| {
            let queue = Arc::new(BatchQueue::new(2, 2));
            let producers = [1, 2].map(|item| {
                let giving = Arc::clone(&queue);
                thread::spawn(move || {
                    giving.put(item);
                    giving.producer_done(0);
                })
            });
            let mut all = drain(&queue);
            all.sort_unstable();
            assert_eq!(all, [1, 2]);
            for producer in producers {
                producer.join().unwrap();
            }
        });
    }

    #[test]
    fn loom_a_barrier_is_taken_once_behind_all_items_though_a_producer_ends_at_it() {
        loom::model(|| {
            let queue = Arc::new(BatchQueue::new(2, 2));
            let producers = [true, false].map(|ends| {
                let giving = Arc::clone(&queue);
                thread::spawn(move || {
                    giving.put(1);
                    giving.arrive(1);
                    if ends {
                        giving.producer_done(1);
                    }
                })
            });
            let (mut items, mut barriers) = (0, 0);
            while barriers == 0 {
                match queue.take() {
                    Taken::Item(_) => items += 1,
                    Taken::Wait(until) => until.wait().unwrap(),
                    Taken::Barrier(number) => barriers += number,
                    Taken::End => panic!("one producer is left"),
                }
            }
            assert_eq!((items, barriers), (2, 1));
            for producer in producers {
                producer.join().unwrap();
            }
            assert!(matches!(queue.take(), Taken::Wait(_)));
        });
    }

    #[test]
    fn loom_a_producer_that_waits_for_room_is_let_go_by_the_close() {
        loom::model(|| {
            let queue = Arc::new(BatchQueue::new(1, 1));
            queue.put(1);
            let giving = Arc::clone(&queue);
            let producer = thread::spawn(move || {
                if let Space::Wait(until) = giving.space() {
                    until.wait().unwrap();
                }
                giving.is_closed()
            });
            queue.close();
            let _ = producer.join().unwrap();
            assert!(matches!(queue.space(), Space::Closed));
            assert!(matches!(queue.take(), Taken::End));
        });
    }
}
