//! Query execution: plans, expressions, operators, drivers and tasks.
//!
//! ```text
//! plan          PlanNode: what a query does                      plan/
//!   | cut into
//! pipelines     chains of operators                              task/pipeline.rs
//!   | run by
//! drivers       move batches through a chain                     driver/
//!   | on
//! threads       the caller's, and the executor's workers         executor.rs
//!   | while others
//! preload       the splits that scans read next                  preload/
//! ```
//!
//! A [`Task`] holds the drivers of one plan, takes splits for its scans and returns a [`Cursor`]
//! over the rows. A [`QueryCtx`] holds the state that all tasks of a query share. The end of tasks
//! is described in [`termination`], the blocking of drivers in [`driver`], and the contract of an
//! operator in [`operator`].

pub mod blocking;
pub mod control;
pub mod driver;
pub mod executor;
pub mod expr;
mod ids;
pub mod operator;
mod operator_trait;
pub mod plan;
pub mod preload;
pub mod query_ctx;
pub mod split_source;
pub mod stats;
pub mod task;
pub mod termination;
#[cfg(all(test, not(loom)))]
mod testing;
pub mod trace;
pub mod validate;

pub use executor::Executor;
pub use query_ctx::{QueryConfig, QueryCtx, ScanListener};
pub use stats::{OperatorStats, ScanStats, TaskStats};
pub use task::{Canceller, Cursor, Drivers, Poll, Task};
pub use termination::{QueryCancel, TaskState};
