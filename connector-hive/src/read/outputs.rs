//! Output columns: the last transformation of a batch, from the reader's columns to those of the
//! scan (rules S6.35, S16.22).
//!
//! ```text
//! reader's column --passing rows--> selected --extractions--> output type --post-processor-->
//! ```

use vector::sync::Arc;
use vector::{Buffer, Result, ResultExt, RowSet, RowType, RowVector, VectorRef};

use crate::plan::columns::ScanColumns;
use crate::read::deferred::{DeferredTransform, apply_transform, take_rows};
use crate::read::extract_vector::extract;

/// Builds output batches.
pub(crate) struct Outputs {
    output_type: Arc<RowType>,
    /// Transform of each output column; usually `None`.
    transforms: Vec<Option<DeferredTransform>>,
}

impl Outputs {
    /// Returns the outputs of a scan.
    pub(crate) fn new(output_type: Arc<RowType>, columns: &ScanColumns) -> Self {
        let transforms = columns.outputs().iter().map(|handle| {
            let extractions = handle.extractions().to_vec();
            let post_processor = handle.post_processor().cloned();
            if extractions.is_empty() && post_processor.is_none() {
                return None;
            }
            let (name, ty) = (handle.name().to_string(), handle.ty().clone());
            let transform = move |column: VectorRef| {
                let column = match extractions.is_empty() {
                    true => column,
                    false => extract(&column, &extractions, &ty).in_named("column", &name)?,
                };
                match &post_processor {
                    Some(post_processor) => {
                        post_processor.process(column).in_named("column", &name)
                    }
                    None => Ok(column),
                }
            };
            Some(Arc::new(transform) as DeferredTransform)
        });
        let transforms = transforms.collect();
        Outputs { output_type, transforms }
    }

    /// Returns a batch without rows.
    pub(crate) fn empty(&self) -> RowVector {
        RowVector::empty(Arc::clone(&self.output_type))
    }

    /// Returns the output of a batch of the reader's type. `rows` selects rows; `None` selects all.
    ///
    /// # Errors
    /// Errors of extractions and post-processors.
    pub(crate) fn of(&self, batch: &RowVector, rows: Option<RowSet>) -> Result<RowVector> {
        let num_rows = rows.as_ref().map_or(batch.len(), RowSet::len);
        if num_rows == 0 {
            return Ok(self.empty());
        }
        let indices: Option<Buffer<u32>> = rows.map(|rows| rows.to_positions());
        let columns = batch.children().iter().zip(self.output_type.types()).zip(&self.transforms);
        let children = columns.map(|((child, ty), transform)| {
            let child = match &indices {
                Some(indices) => take_rows(child, indices),
                None => Arc::clone(child),
            };
            match transform {
                Some(transform) => apply_transform(&child, ty, transform),
                None => Ok(child),
            }
        });
        let children = children.collect::<Result<Vec<_>>>()?;
        RowVector::batch(Arc::clone(&self.output_type), num_rows, children)
    }
}
