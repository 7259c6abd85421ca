//! Queues for workers: one that everybody puts into, and one for each worker that others steal from.
//!
//! In normal builds these are `crossbeam`'s. Loom cannot look inside of those, so under `cfg(loom)`
//! they are plain queues behind a lock: what is model-checked is how workers go to sleep and wake,
//! not the queues.

#[cfg(not(loom))]
pub use crossbeam::deque::{Injector, Steal, Stealer, Worker};

#[cfg(loom)]
pub use model::{Injector, Steal, Stealer, Worker};

#[cfg(loom)]
mod model {
    use std::collections::VecDeque;

    use crate::sync::{Arc, Mutex};

    /// What a look into a queue found.
    #[derive(Debug)]
    pub enum Steal<T> {
        /// Nothing.
        Empty,
        /// The oldest entry.
        Success(T),
        /// Somebody else was there; look again.
        Retry,
    }

    type Queue<T> = Mutex<VecDeque<T>>;

    fn steal<T>(queue: &Queue<T>) -> Steal<T> {
        queue.lock().pop_front().map_or(Steal::Empty, Steal::Success)
    }

    /// The queue that everybody puts into.
    #[derive(Debug)]
    pub struct Injector<T>(Queue<T>);

    impl<T> Injector<T> {
        /// An empty queue.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Injector(Mutex::new(VecDeque::new()))
        }

        /// Puts an entry at the end.
        pub fn push(&self, entry: T) {
            self.0.lock().push_back(entry);
        }

        /// True when there is nothing.
        pub fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }

        /// Gives the oldest entry and moves some more into `worker`'s queue. They are in neither
        /// of both for a moment, as with the real one.
        pub fn steal_batch_and_pop(&self, worker: &Worker<T>) -> Steal<T> {
            let mut taken: VecDeque<T> = self.0.lock().drain(..).collect();
            let Some(first) = taken.pop_front() else { return Steal::Empty };
            worker.0.lock().append(&mut taken);
            Steal::Success(first)
        }
    }

    /// A worker's end of its own queue.
    #[derive(Debug)]
    pub struct Worker<T>(Arc<Queue<T>>);

    impl<T> Worker<T> {
        /// An empty queue, oldest entry first.
        pub fn new_fifo() -> Self {
            Worker(Arc::new(Mutex::new(VecDeque::new())))
        }

        /// The oldest entry.
        pub fn pop(&self) -> Option<T> {
            self.0.lock().pop_front()
        }

        /// True when there is nothing.
        pub fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }

        /// The end for the others.
        pub fn stealer(&self) -> Stealer<T> {
            Stealer(Arc::clone(&self.0))
        }
    }

    /// The others' end of a worker's queue.
    #[derive(Debug)]
    pub struct Stealer<T>(Arc<Queue<T>>);

    impl<T> Stealer<T> {
        /// Takes the oldest entry.
        pub fn steal(&self) -> Steal<T> {
            steal(&self.0)
        }

        /// True when there is nothing.
        pub fn is_empty(&self) -> bool {
            self.0.lock().is_empty()
        }
    }
}
