//! Lazy vectors: columns that are read when their values are first needed.
//!
//! | state    | `load(rows)`                                                | `loaded()`         |
//! |----------|-------------------------------------------------------------|--------------------|
//! | Unloaded | Loading, the loader runs without a lock; Loaded or Poisoned | loads all rows     |
//! | Loading  | another thread waits; the loading thread gets an error      | the same           |
//! | Loaded   | the same vector, if it covers `rows`                        | if it has all rows |
//! | Poisoned | the same error again                                        | the same           |
//!
//! The loader runs at most once (rule S1.25). A loader that needs its own column is a bug, which is
//! reported as an `Internal` error instead of a deadlock. A loader that panics leaves an `Internal`
//! error that reports the panic. A loader whose reader has advanced returns an `Internal` error and
//! never other rows (rule S1.37); the loader itself keeps track of the reader position that it
//! belongs to. Two loaders on two threads that need each other's columns would deadlock, so the
//! loaders of formats need no lazy column but their own.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::{Vector, VectorRef};
use crate::error::{Error, Result};
use crate::rows::RowSet;
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Condvar, ModelArc, Mutex, thread_cpu_time};
use crate::types::Type;

/// Reads the values of a lazy column.
pub trait VectorLoader: Send {
    /// Reads the rows `rows`, which are ascending positions of the lazy vector. The result must
    /// have at least as many rows as the lazy vector; rows that were not requested are unspecified,
    /// but safe to decode (rule S1.29).
    ///
    /// # Errors
    /// Errors of reading the column; `Internal` if the reader has advanced.
    fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef>;
}

enum Load {
    Unloaded(Box<dyn VectorLoader>),
    /// The loader is running on this thread.
    Loading(ThreadId),
    /// The loaded vector and the rows that were requested.
    Loaded {
        vector: VectorRef,
        rows: RowSet,
    },
    Poisoned(Error),
}

/// State shared by all clones of a lazy vector.
struct LoadCell {
    state: Mutex<Load>,
    /// Notified when a load has ended.
    ended: Condvar,
}

/// Ends the load if the loader panics, so that no other thread waits for it forever.
struct LoadGuard<'a>(&'a LoadCell);

impl LoadGuard<'_> {
    fn end(self, outcome: Load) {
        self.0.end(outcome);
        std::mem::forget(self);
    }
}

impl Drop for LoadGuard<'_> {
    fn drop(&mut self) {
        self.0.end(Load::Poisoned(Error::internal("the loader of a lazy column panicked")));
    }
}

impl LoadCell {
    fn end(&self, outcome: Load) {
        *self.state.lock() = outcome;
        self.ended.notify_all();
    }
}

/// A column that is read when its values are first needed; clones share the load.
#[derive(Clone)]
pub struct LazyVector {
    ty: Type,
    len: usize,
    cell: ModelArc<LoadCell>,
}

impl LazyVector {
    /// Creates a vector of `len` rows that `loader` reads on demand.
    pub fn new(ty: Type, len: usize, loader: impl VectorLoader + 'static) -> Self {
        let state = Mutex::new(Load::Unloaded(Box::new(loader)));
        LazyVector { ty, len, cell: ModelArc::new(LoadCell { state, ended: Condvar::new() }) }
    }

    /// Returns the logical type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true once a load has succeeded.
    pub fn is_loaded(&self) -> bool {
        matches!(*self.cell.state.lock(), Load::Loaded { .. })
    }

    /// Returns the loaded vector without triggering a load; possibly only some of its rows were
    /// loaded.
    pub fn loaded_if_ready(&self) -> Option<VectorRef> {
        match &*self.cell.state.lock() {
            Load::Loaded { vector, .. } => Some(vector.clone()),
            _ => None,
        }
    }

    /// Returns the loaded vector without triggering a load, if all its rows were loaded.
    pub fn complete_if_ready(&self) -> Option<VectorRef> {
        match &*self.cell.state.lock() {
            Load::Loaded { vector, rows } if rows.is_all(self.len) => Some(vector.clone()),
            _ => None,
        }
    }

    /// Returns the vector, loaded for all rows (rule S1.26).
    ///
    /// # Errors
    /// As [`LazyVector::load`].
    pub fn loaded(&self) -> Result<VectorRef> {
        self.load(&RowSet::all(self.len))
    }

    /// Returns the vector, loaded for `rows`. The first call determines which rows are read. Blocks
    /// while another thread loads.
    ///
    /// # Errors
    /// The error of the loader, which is returned again by each later call; `Internal` if an
    /// earlier partial load does not cover `rows`, if the loader needs its own column, or if the
    /// loader panicked.
    pub fn load(&self, rows: &RowSet) -> Result<VectorRef> {
        let mut state = self.cell.state.lock();
        let loader = loop {
            match &*state {
                Load::Loaded { vector, rows: loaded } => {
                    if loaded.covers(rows) {
                        return Ok(vector.clone());
                    }
                    let message = "a lazy column was loaded for some of its rows only";
                    return Err(Error::internal(message));
                }
                Load::Poisoned(error) => return Err(error.duplicate()),
                Load::Loading(by) if *by == thread::current().id() => {
                    return Err(Error::internal("a lazy column was needed by its own loader"));
                }
                Load::Loading(_) => state = self.cell.ended.wait(state),
                Load::Unloaded(_) => {
                    let loading = Load::Loading(thread::current().id());
                    if let Load::Unloaded(loader) = std::mem::replace(&mut *state, loading) {
                        break loader;
                    }
                }
            }
        };
        drop(state);
        let guard = LoadGuard(&self.cell);
        let outcome = self.run(loader, rows);
        guard.end(match &outcome {
            Ok(vector) => Load::Loaded { vector: vector.clone(), rows: rows.clone() },
            Err(error) => Load::Poisoned(error.duplicate()),
        });
        outcome
    }

    fn run(&self, loader: Box<dyn VectorLoader>, rows: &RowSet) -> Result<VectorRef> {
        // If no rows are requested, nothing is read and the vector consists of nulls (rule S1.28).
        if rows.is_empty() {
            return Ok(Vector::nulls(self.ty.clone(), self.len).into());
        }
        let vector = Vector::loaded(&counted(|| loader.load(rows))?)?;
        if vector.len() < self.len || !vector.ty().is_equivalent(&self.ty) {
            return Err(Error::internal("a loader gave another vector than it promised")
                .with("rows", vector.len())
                .with("promised_rows", self.len)
                .with("type", vector.ty())
                .with("promised_type", &self.ty));
        }
        Ok(vector)
    }
}

/// Cost of loading lazy columns on a thread, which is attributed to the operator that triggers the
/// load and then moved to the scan (rule S15.20).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LazyLoads {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the thread; 0 unless the thread measures it.
    pub cpu: Duration,
    /// Size in bytes of the loaded values; 0 unless the thread measures it.
    pub bytes: u64,
}

impl LazyLoads {
    /// Returns what was added since `before`.
    pub fn since(self, before: LazyLoads) -> LazyLoads {
        LazyLoads {
            wall: self.wall.saturating_sub(before.wall),
            cpu: self.cpu.saturating_sub(before.cpu),
            bytes: self.bytes.saturating_sub(before.bytes),
        }
    }
}

/// Loads of a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Loading {
    until_now: LazyLoads,
    /// Number of nested loaders that are running on the thread.
    depth: u32,
    /// Whether CPU time and bytes are measured, which costs more than reading the clock.
    measures: bool,
}

thread_local! {
    static LOADING: Cell<Loading> = const {
        let until_now = LazyLoads { wall: Duration::ZERO, cpu: Duration::ZERO, bytes: 0 };
        Cell::new(Loading { until_now, depth: 0, measures: false })
    };
}

/// Returns what the calling thread has spent on loading lazy columns so far. The difference of two
/// readings is the part of a call that was spent on loading.
pub fn lazy_loads() -> LazyLoads {
    LOADING.get().until_now
}

/// Sets whether the calling thread measures CPU time and bytes of its loads from now on.
pub fn measure_lazy_loads(measures: bool) {
    LOADING.set(Loading { measures, ..LOADING.get() });
}

/// Resets the number of running loaders of the thread to `.0`, even if a loader panics.
struct DepthGuard(u32);

impl Drop for DepthGuard {
    fn drop(&mut self) {
        LOADING.set(Loading { depth: self.0, ..LOADING.get() });
    }
}

/// Runs `load` and adds its cost to the loads of the thread; a load inside another load is not
/// counted twice.
fn counted(load: impl FnOnce() -> Result<VectorRef>) -> Result<VectorRef> {
    let before = LOADING.get();
    let _depth = DepthGuard(before.depth);
    LOADING.set(Loading { depth: before.depth.saturating_add(1), ..before });
    if before.depth > 0 {
        return load();
    }
    let cpu = before.measures.then(thread_cpu_time).flatten();
    let start = Instant::now();
    let result = load();
    let wall = start.elapsed();
    let mut after = before.until_now;
    after.wall += wall;
    if before.measures {
        let worked = thread_cpu_time().zip(cpu).map(|(now, then)| now.saturating_sub(then));
        after.cpu += worked.unwrap_or_default();
        let bytes = result.as_ref().map_or(0, |vector| vector.flat_bytes());
        after.bytes = after.bytes.saturating_add(bytes);
    }
    LOADING.set(Loading { until_now: after, ..before });
    result
}

impl std::fmt::Debug for LazyVector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LazyVector({}, {} rows)", self.ty, self.len)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::encoding::FlatVector;
    use crate::error::ErrorKind;
    use crate::memory::buffer::Buffer;

    struct Numbers(Result<usize>);

    impl VectorLoader for Numbers {
        fn load(self: Box<Self>, _: &RowSet) -> Result<VectorRef> {
            let values: Buffer<i64> = (0..self.0? as i64).collect();
            Ok(Vector::Flat(FlatVector::from_buffer(Type::BigInt, values, None)?).into())
        }
    }

    #[test]
    fn a_lazy_column_loads_once_and_its_clones_share_the_load() {
        let lazy = LazyVector::new(Type::BigInt, 5, Numbers(Ok(5)));
        let clone = lazy.clone();
        assert!(!clone.is_loaded());
        let first = lazy.loaded().unwrap();
        assert!(crate::sync::Arc::ptr_eq(&first, &clone.loaded().unwrap()));
    }

    #[test]
    fn a_failed_load_fails_again_with_the_same_error() {
        let lazy = LazyVector::new(Type::BigInt, 5, Numbers(Err(Error::corrupt("bad page"))));
        for _ in 0..2 {
            assert_eq!(lazy.loaded().unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    /// Loads the lazy column that holds it, or panics if there is none.
    struct Itself(crate::sync::Arc<Mutex<Option<LazyVector>>>);

    impl VectorLoader for Itself {
        fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
            let lazy = self.0.lock().clone();
            let lazy = lazy.expect("a column that the loader needs");
            // Queries that do not load are not blocked either.
            assert!(!lazy.is_loaded() && lazy.loaded_if_ready().is_none());
            lazy.load(rows)
        }
    }

    #[test]
    fn a_loader_that_needs_its_own_column_is_an_internal_error_and_no_dead_lock() {
        let shared = crate::sync::Arc::new(Mutex::new(None));
        let lazy = LazyVector::new(Type::BigInt, 5, Itself(shared.clone()));
        *shared.lock() = Some(lazy.clone());
        for _ in 0..2 {
            let error = lazy.loaded().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
            assert_eq!(error.message(), "a lazy column was needed by its own loader");
        }
    }

    #[test]
    fn after_a_loader_that_panicked_every_load_says_so_and_loads_are_counted_as_before() {
        let lazy = LazyVector::new(Type::BigInt, 5, Itself(Default::default()));
        let clone = lazy.clone();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| clone.loaded()));
        assert!(panicked.is_err());
        for rows in [RowSet::all(5), RowSet::range(1, 2)] {
            let error = lazy.load(&rows).unwrap_err();
            assert_eq!(error.message(), "the loader of a lazy column panicked");
        }
        measure_lazy_loads(true);
        let before = lazy_loads();
        LazyVector::new(Type::BigInt, 5, Numbers(Ok(5))).loaded().unwrap();
        assert_eq!(lazy_loads().since(before).bytes, 40);
        measure_lazy_loads(false);
    }

    #[test]
    fn a_loader_that_breaks_its_promise_is_an_internal_error() {
        let short = LazyVector::new(Type::BigInt, 5, Numbers(Ok(4)));
        assert_eq!(short.loaded().unwrap_err().kind(), ErrorKind::Internal);
        let wrong = LazyVector::new(Type::Integer, 5, Numbers(Ok(5)));
        assert_eq!(wrong.loaded().unwrap_err().kind(), ErrorKind::Internal);
    }

    #[test]
    fn a_partial_load_is_not_taken_for_a_whole_one() {
        let lazy = LazyVector::new(Type::BigInt, 5, Numbers(Ok(5)));
        lazy.load(&RowSet::range(1, 3)).unwrap();
        lazy.load(&RowSet::range(2, 3)).unwrap();
        assert_eq!(lazy.load(&RowSet::range(2, 4)).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(lazy.loaded().unwrap_err().kind(), ErrorKind::Internal);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::sync::thread;
    use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    /// Counts its runs; loads nulls, or fails.
    struct Counting {
        runs: ModelArc<AtomicUsize>,
        fails: bool,
    }

    impl VectorLoader for Counting {
        fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
            self.runs.fetch_add(1, Ordering::SeqCst);
            // Another thread may arrive in the middle of the load.
            thread::yield_now();
            if self.fails {
                return Err(Error::corrupt("bad page"));
            }
            Ok(Vector::nulls(Type::BigInt, rows.end()).into())
        }
    }

    fn race(fails: bool, check: impl Fn(Result<VectorRef>, Result<VectorRef>) + Send + Sync) {
        let runs = ModelArc::new(AtomicUsize::new(0));
        let loader = Counting { runs: ModelArc::clone(&runs), fails };
        let lazy = LazyVector::new(Type::BigInt, 3, loader);
        let clone = lazy.clone();
        let other = thread::spawn(move || clone.loaded());
        let mine = lazy.loaded();
        check(mine, other.join().unwrap());
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn loom_two_threads_load_a_lazy_column_once_and_see_the_same_vector() {
        loom::model(|| {
            race(false, |a, b| {
                assert!(crate::sync::Arc::ptr_eq(&a.unwrap(), &b.unwrap()));
            });
        });
    }

    #[test]
    fn loom_two_threads_see_the_error_of_the_one_failed_load() {
        loom::model(|| {
            race(true, |a, b| {
                for outcome in [a, b] {
                    assert_eq!(outcome.unwrap_err().message(), "bad page");
                }
            });
        });
    }

    /// Panics, or loads nulls.
    struct Panicking(bool);

    impl VectorLoader for Panicking {
        fn load(self: Box<Self>, rows: &RowSet) -> Result<VectorRef> {
            thread::yield_now();
            assert!(!self.0, "asked to panic");
            Ok(Vector::nulls(Type::BigInt, rows.end()).into())
        }
    }

    #[test]
    fn loom_a_thread_that_waits_for_a_loader_that_panics_gets_an_error() {
        loom::model(|| {
            let lazy = LazyVector::new(Type::BigInt, 3, Panicking(true));
            let clone = lazy.clone();
            let load = |lazy: LazyVector| {
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || lazy.loaded()))
            };
            let other = thread::spawn(move || load(clone));
            let outcomes = [load(lazy), other.join().unwrap()];
            assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1);
            for outcome in outcomes.into_iter().flatten() {
                let message = outcome.unwrap_err().message().to_string();
                assert_eq!(message, "the loader of a lazy column panicked");
            }
        });
    }

    #[test]
    fn loom_whoever_sees_a_column_loaded_gets_its_vector_without_loading() {
        loom::model(|| {
            let runs = ModelArc::new(AtomicUsize::new(0));
            let loader = Counting { runs: ModelArc::clone(&runs), fails: false };
            let lazy = LazyVector::new(Type::BigInt, 3, loader);
            let clone = lazy.clone();
            let watcher = thread::spawn(move || {
                if let Some(vector) = clone.loaded_if_ready() {
                    assert_eq!((vector.len(), clone.is_loaded()), (3, true));
                }
            });
            lazy.loaded().unwrap();
            watcher.join().unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), 1);
        });
    }

    /// A column of a reader: its position, and the current window of the reader.
    struct Column {
        row: Mutex<u64>,
        window: AtomicU64,
    }

    /// Reads the row of its window unless the reader has advanced, as loaders of formats do.
    struct WindowLoader(ModelArc<Column>, u64);

    impl VectorLoader for WindowLoader {
        fn load(self: Box<Self>, _: &RowSet) -> Result<VectorRef> {
            let mut row = self.0.row.lock();
            if self.0.window.load(Ordering::Acquire) != self.1 {
                return Err(Error::internal("moved on"));
            }
            assert!(*row <= self.1, "the column went past the window that is read");
            *row = self.1 + 1;
            Ok(Vector::nulls(Type::BigInt, 1).into())
        }
    }

    #[test]
    fn loom_a_load_gives_the_rows_of_its_window_or_an_error_while_the_reader_moves_on() {
        loom::model(|| {
            let column = ModelArc::new(Column { row: Mutex::new(0), window: AtomicU64::new(0) });
            let lazy = LazyVector::new(Type::BigInt, 1, WindowLoader(ModelArc::clone(&column), 0));
            let reader = thread::spawn(move || {
                column.window.fetch_add(1, Ordering::AcqRel);
                let mut row = column.row.lock();
                *row = (*row).max(1) + 1;
            });
            match lazy.loaded() {
                Ok(vector) => assert_eq!(vector.len(), 1),
                Err(error) => assert_eq!(error.message(), "moved on"),
            }
            reader.join().unwrap();
        });
    }
}
