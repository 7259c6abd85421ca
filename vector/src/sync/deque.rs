//! Work queues: one shared queue that all threads push to, and one queue per worker that other
//! workers steal from.
//!
//! In normal builds these are `crossbeam`'s queues. Loom cannot model those, so under `cfg(loom)`
//! they are plain queues behind a lock: the models check how workers sleep and wake, not the
//! queues.

#[cfg(not(loom))]
pub use crossbeam::deque::{Injector, Steal, Stealer, Worker};

#[cfg(loom)]
pub use model::{Injector, Steal, Stealer, Worker};

#[cfg(loom)]
mod model {
    use std::collections::VecDeque;

    use crate::sync::{Arc, Mutex};

    /// Result of an attempt to take an entry from a queue.
    #[derive(Debug)]
    pub enum Steal<T> {
        /// The queue was empty.
        Empty,
        /// The oldest entry of the queue.
        Success(T),
        /// Another thread interfered; the caller has to try again.
        Retry,
    }

    type Queue<T> = Mutex<VecDeque<T>>;

    fn steal<T>(queue: &Queue<T>) -> Steal<T> {
        queue.lock().pop_front().map_or(Steal::Empty, Steal::Success)
    }

    /// The shared queue that all threads push to.
    #[derive(Debug)]
    pub struct Injector<T>(Queue<T>);

    impl<T> Injector<T> {
        /// Creates an empty queue.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Injector(Mutex::new(VecDeque::new()))
        }

        /// Appends an entry.
        pub fn push(&self, entry: T) {
            self.0.lock().push_back(entry);
        }

        /// Returns true if the queue is empty.
        pub fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }

        /// Returns the oldest entry and moves further entries to `worker`'s queue. For a moment the
        /// moved entries are in neither queue, as with crossbeam's.
        pub fn steal_batch_and_pop(&self, worker: &Worker<T>) -> Steal<T> {
            let mut taken: VecDeque<T> = self.0.lock().drain(..).collect();
            let Some(first) = taken.pop_front() else { return Steal::Empty };
            worker.0.lock().append(&mut taken);
            Steal::Success(first)
        }
    }

    /// The owner's end of a worker's queue.
    #[derive(Debug)]
    pub struct Worker<T>(Arc<Queue<T>>);

    impl<T> Worker<T> {
        /// Creates an empty queue that returns the oldest entry first.
        pub fn new_fifo() -> Self {
            Worker(Arc::new(Mutex::new(VecDeque::new())))
        }

        /// Removes and returns the oldest entry.
        pub fn pop(&self) -> Option<T> {
            self.0.lock().pop_front()
        }

        /// Returns true if the queue is empty.
        pub fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }

        /// Creates an end from which other workers steal.
        pub fn stealer(&self) -> Stealer<T> {
            Stealer(Arc::clone(&self.0))
        }
    }

    /// The end of a worker's queue from which other workers steal.
    #[derive(Debug)]
    pub struct Stealer<T>(Arc<Queue<T>>);

    impl<T> Stealer<T> {
        /// Removes and returns the oldest entry.
        pub fn steal(&self) -> Steal<T> {
            steal(&self.0)
        }

        /// Returns true if the queue is empty.
        pub fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }
    }
}
