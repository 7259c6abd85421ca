//! A bounded queue between drivers and whoever takes their batches, and its giving end.
//!
//! ```text
//! driver -- QueueSink --put-->  BatchQueue  --take--> consumer (another driver or the cursor's)
//! ```
//!
//! | state | `put` | `space` | `take` | last `producer_done` | `close` |
//! |---|---|---|---|---|---|
//! | open, has room | kept, wakes consumer | Ready | item, or Wait when empty | Ended | Closed |
//! | open, full | kept: the bound is soft | Wait | item, wakes producers | Ended | Closed |
//! | Ended | cannot happen | | item, then End | | Closed |
//! | Closed by the consumer | dropped | Closed | End | Closed | Closed |
//!
//! Nobody blocks inside: who must wait gets a continuation. The bound is soft by one item of each
//! producer, because a producer asks for room before it makes a batch.

use std::collections::VecDeque;

use vector::sync::{Arc, Continuation, Mutex, promise};
use vector::{Result, RowVector};

use super::loading::load_batch;
use super::{Blocked, BlockingReason, Operator};

/// A bounded queue with any number of producers and one consumer.
#[derive(Debug)]
pub struct BatchQueue<T = RowVector> {
    capacity: usize,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    num_producers: usize,
    closed: bool,
    waiting_consumer: Vec<vector::sync::Promise>,
    waiting_producers: Vec<vector::sync::Promise>,
}

/// Whether a producer may go on.
#[derive(Debug)]
pub enum Space {
    /// There is room.
    Ready,
    /// Full; ask again when the continuation is ready.
    Wait(Continuation),
    /// Nobody will take anything any more.
    Closed,
}

/// What one call of [`BatchQueue::take`] gives.
#[derive(Debug)]
pub enum Taken<T> {
    /// The oldest item.
    Item(T),
    /// Empty; ask again when the continuation is ready.
    Wait(Continuation),
    /// Empty, and all producers are done.
    End,
}

impl<T> BatchQueue<T> {
    /// An open queue for `capacity` items and `num_producers` producers.
    pub fn new(capacity: usize, num_producers: usize) -> Self {
        BatchQueue {
            capacity: capacity.max(1),
            state: Mutex::new(State {
                items: VecDeque::new(),
                num_producers,
                closed: false,
                waiting_consumer: Vec::new(),
                waiting_producers: Vec::new(),
            }),
        }
    }

    /// Adds an item; it is dropped when the consumer has closed the queue.
    pub fn put(&self, item: T) {
        let waiting = {
            let mut state = self.state.lock();
            if state.closed {
                return;
            }
            state.items.push_back(item);
            std::mem::take(&mut state.waiting_consumer)
        };
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
    }

    /// Whether there is room for another item.
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

    /// True when there is no room, without registering a wait.
    pub fn is_full(&self) -> bool {
        let state = self.state.lock();
        !state.closed && state.items.len() >= self.capacity
    }

    /// True when the consumer has closed the queue.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// The oldest item, a wait, or the end.
    pub fn take(&self) -> Taken<T> {
        let (item, waiting) = {
            let mut state = self.state.lock();
            match state.items.pop_front() {
                Some(item) => (item, std::mem::take(&mut state.waiting_producers)),
                None if state.closed || state.num_producers == 0 => return Taken::End,
                None => {
                    let (promise, continuation) = promise();
                    state.waiting_consumer.push(promise);
                    return Taken::Wait(continuation);
                }
            }
        };
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
        Taken::Item(item)
    }

    /// One producer will put no more.
    pub fn producer_done(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.num_producers = state.num_producers.saturating_sub(1);
            if state.num_producers > 0 {
                return;
            }
            std::mem::take(&mut state.waiting_consumer)
        };
        waiting.into_iter().for_each(vector::sync::Promise::fulfil);
    }

    /// The consumer will take no more: what waits is dropped, producers are let go.
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

/// The last operator of a producing driver: loads batches and puts them into a queue.
#[derive(Debug)]
pub struct QueueSink {
    queue: Arc<BatchQueue>,
    no_more_input: bool,
    closed: bool,
}

impl QueueSink {
    /// One of the producers of `queue`.
    pub fn new(queue: Arc<BatchQueue>) -> Self {
        QueueSink { queue, no_more_input: false, closed: false }
    }
}

impl Operator for QueueSink {
    fn needs_input(&self) -> bool {
        !self.no_more_input && !self.queue.is_full()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        // The scan moves on and another thread reads the batch: nothing may stay lazy.
        self.queue.put(load_batch(batch)?);
        Ok(())
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

    fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            self.queue.producer_done();
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
                giving.producer_done();
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
                    giving.producer_done();
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
