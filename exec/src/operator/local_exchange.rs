//! The LocalExchange operator, the exchange source that reads the batches of one or more drivers
//! from a queue.
//!
//! ```text
//! driver 0  .. QueueSink --\
//! driver 1  .. QueueSink ---+--> BatchQueue --> LocalExchange .. the one driver behind
//! driver 2  .. QueueSink --/
//! ```
//!
//! The queue and its exchange sink are in `sink`. Batches of different drivers are returned in the
//! order of their arrival.

use vector::sync::Arc;
use vector::{Result, RowVector};

use super::sink::{BatchQueue, Taken};
use super::{Operator, refuse_input};
use crate::blocking::{Blocked, BlockingReason};

/// The exchange source of a queue; the first operator of its driver.
#[derive(Debug)]
pub struct LocalExchange {
    queue: Arc<BatchQueue>,
    blocked: Option<Blocked>,
    barrier: Option<u64>,
    finished: bool,
}

impl LocalExchange {
    /// Creates the consumer of `queue`.
    pub fn new(queue: Arc<BatchQueue>) -> Self {
        LocalExchange { queue, blocked: None, barrier: None, finished: false }
    }
}

impl Operator for LocalExchange {
    fn needs_input(&self) -> bool {
        false
    }

    fn add_input(&mut self, _: RowVector) -> Result<()> {
        Err(refuse_input())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if self.finished || self.barrier.is_some() {
            return Ok(None);
        }
        match self.queue.take() {
            Taken::Item(batch) => Ok(Some(batch)),
            Taken::Wait(until) => {
                self.blocked = Some(Blocked::new(BlockingReason::WaitForProducer, until));
                Ok(None)
            }
            Taken::Barrier(number) => {
                self.barrier = Some(number);
                Ok(None)
            }
            Taken::End => {
                self.finished = true;
                Ok(None)
            }
        }
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
    }

    fn discard_until_barrier(&mut self) {
        self.queue.drop_to_barrier();
    }

    fn close(&mut self) {
        self.finished = true;
        self.queue.close();
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::sink::QueueSink;
    use super::*;
    use vector::RowType;
    use vector::sync::thread;

    fn batch(num_rows: usize) -> RowVector {
        RowVector::batch(Arc::new(RowType::empty()), num_rows, Vec::new()).unwrap()
    }

    #[test]
    fn loom_the_consumer_sees_all_rows_of_two_sinks() {
        loom::model(|| {
            let queue = Arc::new(BatchQueue::new(2, 2));
            let producers = [1, 2].map(|num_rows| {
                let mut sink = QueueSink::new(Arc::clone(&queue));
                thread::spawn(move || {
                    sink.add_input(batch(num_rows)).unwrap();
                    sink.close();
                })
            });
            let mut exchange = LocalExchange::new(queue);
            let mut rows = 0;
            while !exchange.is_finished() {
                if let Some(blocked) = exchange.is_blocked() {
                    blocked.until.wait().unwrap();
                }
                rows += exchange.get_output().unwrap().map_or(0, |b| b.len());
            }
            assert_eq!(rows, 3);
            for producer in producers {
                producer.join().unwrap();
            }
        });
    }
}
