//! Plan nodes of an embedder: the open end of [`PlanNode`].
//!
//! A custom node describes itself by [`NodeInfo`] and makes its operators. Its parallelism is
//! [`Parallelism::RowWise`], [`Parallelism::Gathered`] or, for a leaf, [`Parallelism::OneDriver`].

use vector::sync::CancelFlag;
use vector::{Error, MemoryPool, Result};

use super::{NodeInfo, Parallelism};
use crate::operator_trait::Operator;

/// A node that the engine does not know.
///
/// It has at most one source, whose batches its operators take.
pub trait CustomNode: NodeInfo {
    /// Makes the operator of one driver.
    ///
    /// # Errors
    /// Any; the task is not started.
    fn operator(&self, ctx: CustomOperatorCtx) -> Result<Box<dyn Operator>>;

    /// Checks the node when a task is made of its plan.
    ///
    /// # Errors
    /// `InvalidInput` for a node that makes no sense.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// What a custom operator receives from its task.
#[derive(Debug)]
pub struct CustomOperatorCtx {
    /// The leaf pool to which the operator charges its memory.
    pub pool: MemoryPool,
    /// Set when the task ends, for whatever reason; long loops check it.
    pub stop: CancelFlag,
    /// The number of the driver among those that run the node.
    pub driver: usize,
}

/// Checks that a custom node has a shape that tasks can run.
pub(crate) fn check_custom(node: &dyn CustomNode) -> Result<()> {
    let num_sources = node.sources().len();
    let fits = match node.parallelism() {
        Parallelism::OneDriver => num_sources == 0,
        Parallelism::RowWise | Parallelism::Gathered => num_sources == 1,
        Parallelism::Splits | Parallelism::Special => false,
    };
    if !fits {
        return Err(Error::invalid_input(
            "a custom plan node has sources that do not fit its parallelism",
        )
        .with("sources", num_sources)
        .with("parallelism", format!("{:?}", node.parallelism())));
    }
    node.check()
}
