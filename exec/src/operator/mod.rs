//! Operators: the steps that a driver moves batches through.
//!
//! ```text
//! source ops    table_scan, values, local_exchange and local_merge (taking ends)
//! middle ops    filter_project, hash_join (probe), aggregate, distinct, unnest, limit, order_by,
//!               top_n, single_row, table_write
//! sink ops      sink (giving end of a queue), local_partition (of several), hash_join (build)
//! ```
//!
//! An operator has one driver and is called by one thread at a time. It takes input when it says
//! so, gives output when it has some, and never blocks its thread: when it must wait it says why
//! and on what. Batches given and taken have at least one row; their columns may be lazy until the
//! operator asks its source for the next batch (rules S1.37, S11.41).
//!
//! | call | may come | promise |
//! |---|---|---|
//! | `is_blocked` | always | a reason always has something to wait on (S11.4) |
//! | `add_input` | after `needs_input` said yes | |
//! | `get_output` | always | a batch with rows, or nothing now |
//! | `no_more_input` | once, after the source has finished | |
//! | `start_drain` | at a barrier, in the order of the rows' way | gives all it kept, then begins anew |
//! | `close` | once, last | lets go of everything |

pub mod aggregate;
mod batch_size;
mod compaction;
pub mod distinct;
pub mod filter_project;
pub mod hash_join;
pub mod limit;
pub mod loading;
pub mod local_exchange;
pub mod local_merge;
pub mod local_partition;
pub mod order_by;
pub mod order_filter;
pub mod reservation;
pub mod scan_filters;
mod scan_preloader;
pub mod scan_scale;
pub mod scan_source;
pub mod scan_targets;
pub mod single_row;
pub mod sink;
mod sort_prefix;
mod sort_selection;
pub(crate) mod sorted_rows;
pub mod table_scan;
pub mod table_write;
pub mod top_n;
pub(crate) mod traced;
pub mod unnest;
pub mod values;

pub use crate::operator_trait::Operator;

use vector::sync::{Arc, CancelFlag};
use vector::{Error, MemoryPool, Result, RowType};

use crate::plan::PlanNodeId;
use crate::query_ctx::QueryCtx;

/// How far an operator is that keeps rows until no more come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Input comes.
    #[default]
    Taking,
    /// All input before a barrier has come.
    Draining,
    /// All input has come.
    Ending,
    /// All was given.
    Done,
}

impl Phase {
    /// True while input is taken.
    pub(crate) fn takes(self) -> bool {
        self == Phase::Taking
    }

    /// True while what came of the input is given.
    pub(crate) fn gives(self) -> bool {
        matches!(self, Phase::Draining | Phase::Ending)
    }

    /// Nothing more will come.
    pub(crate) fn end_input(&mut self) {
        if *self != Phase::Done {
            *self = Phase::Ending;
        }
    }
}

/// What an operator is given by its task.
#[derive(Debug, Clone)]
pub struct OperatorCtx {
    /// The plan node that the operator works for; none for what the task put in itself.
    pub node: Option<PlanNodeId>,
    /// The query.
    pub query: Arc<QueryCtx>,
    /// The leaf pool that pays for the operator's memory.
    pub pool: MemoryPool,
    /// Goes up when the task ends, for whatever reason.
    pub stop: CancelFlag,
}

/// The error of an operator that was given input it never asks for.
pub(crate) fn refuse_input() -> Error {
    Error::internal("a source operator was given input")
}

/// The channel of column `name`; `Internal` when the input has no such column.
pub(crate) fn channel_of(input: &RowType, name: &str) -> Result<usize> {
    input.index_of(name).ok_or_else(|| {
        Error::internal("an operator uses a column its input has not")
            .with("column", name)
            .with("input", input)
    })
}
