//! Operators: the steps of a pipeline, through which a driver moves batches.
//!
//! ```text
//! source ops    table_scan, values, local_exchange and local_merge (exchange sources)
//! middle ops    filter_project, hash_join (probe), aggregate, distinct, unnest, limit, order_by,
//!               top_n, single_row, table_write
//! sink ops      sink (exchange sink of a queue), local_partition (of several), hash_join (build)
//! ```
//!
//! An operator belongs to one driver and is called by one thread at a time. It accepts input when
//! `needs_input` is true, returns output when it has some, and never blocks its thread: when it
//! must wait, it reports the reason and a continuation. All batches have at least one row. Their
//! lazy columns can be loaded only until the source produces its next batch (S1.37), which it does
//! only when the operator behind it needs input again (S11.41).
//!
//! | call | may be called | guarantee |
//! |---|---|---|
//! | `is_blocked` | always | a reason always comes with a continuation to wait on (S11.4) |
//! | `add_input` | after `needs_input` returned true | |
//! | `get_output` | always | returns a batch with rows, or `None` for no output at the moment |
//! | `no_more_input` | once, after the source has finished | |
//! | `start_drain` | at a barrier, from source to sink | returns all retained rows, then resets |
//! | `close` | once, last | releases all resources |

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

/// The phase of an operator that retains its rows until the end of its input or a barrier.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The operator accepts input.
    #[default]
    Taking,
    /// All input before a barrier has been added; the operator returns its results and then accepts
    /// input again.
    Draining,
    /// All input has been added; the operator returns its results.
    Ending,
    /// All results have been returned.
    Done,
}

impl Phase {
    /// Returns true while the operator accepts input.
    pub(crate) fn takes(self) -> bool {
        self == Phase::Taking
    }

    /// Returns true while the operator returns its results.
    pub(crate) fn gives(self) -> bool {
        matches!(self, Phase::Draining | Phase::Ending)
    }

    /// Notes the end of input, unless all results have been returned already.
    pub(crate) fn end_input(&mut self) {
        if *self != Phase::Done {
            *self = Phase::Ending;
        }
    }
}

/// The context that a task passes to each of its operators.
#[derive(Debug, Clone)]
pub struct OperatorCtx {
    /// Id of the plan node that the operator executes; `None` for an operator that the task added
    /// itself.
    pub node: Option<PlanNodeId>,
    /// Context of the query.
    pub query: Arc<QueryCtx>,
    /// Leaf pool from which the operator reserves its memory.
    pub pool: MemoryPool,
    /// Flag that is set when the task ends, for any reason.
    pub stop: CancelFlag,
}

/// Returns the `Internal` error of a source operator that received input.
pub(crate) fn refuse_input() -> Error {
    Error::internal("a source operator was given input")
}

/// Returns the channel of column `name` in `input`.
///
/// # Errors
///
/// Returns an error of kind `Internal` when the input has no such column.
pub(crate) fn channel_of(input: &RowType, name: &str) -> Result<usize> {
    input.index_of(name).ok_or_else(|| {
        Error::internal("an operator uses a column its input has not")
            .with("column", name)
            .with("input", input)
    })
}
