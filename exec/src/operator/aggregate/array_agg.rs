//! The aggregate function ARRAY_AGG: collects the values of each group into a list, nulls included,
//! in input order.
//!
//! ```text
//! batches    | v0 v1 v2 | v3 v4 |         one flat copy per input batch
//! groups       0: 0 2 3    1: 1 4         positions of values across all batches
//! ```

use std::cell::OnceCell;
use std::ops::Range;

use vector::sync::Arc;
use vector::{
    ArrayVector, Bitmap, Buffer, Error, Held, Result, Type, Vector, VectorRef, concat, flatten,
    gather,
};

use super::accumulator::{Accumulator, Column, Groups, Part, fold_rows};
use super::function::{AggregateFunction, AggregateSignature, only};

pub(super) const FUNCTIONS: &[&dyn AggregateFunction] = &[&ArrayAggFunction];

struct ArrayAggFunction;

impl AggregateFunction for ArrayAggFunction {
    fn name(&self) -> &'static str {
        "array_agg"
    }

    fn resolve(&self, args: &[Type]) -> Option<AggregateSignature> {
        let arg = only(args)?;
        let list = Type::array(arg.clone());
        Some(AggregateSignature::unary(arg, list.clone(), list))
    }

    fn accumulator(&self, signature: &AggregateSignature) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(ArrayAgg::new(signature.arg(0))))
    }

    fn depends_on_order(&self) -> bool {
        true
    }
}

/// The accumulator of ARRAY_AGG.
pub(super) struct ArrayAgg {
    element: Type,
    batches: Vec<VectorRef>,
    /// Number of values in all batches.
    num_values: usize,
    /// Number of bytes that the values take.
    value_bytes: usize,
    /// The part of `value_bytes` that no memory pool accounts for.
    unpaid_bytes: usize,
    /// All batches concatenated; set when the first output is returned.
    joined: OnceCell<VectorRef>,
    /// The positions of each group's values.
    positions: Vec<Vec<u32>>,
    position_bytes: usize,
}

impl ArrayAgg {
    /// Creates an accumulator of lists of `element`.
    pub(super) fn new(element: Type) -> Self {
        ArrayAgg {
            element,
            batches: Vec::new(),
            num_values: 0,
            value_bytes: 0,
            unpaid_bytes: 0,
            joined: OnceCell::new(),
            positions: Vec::new(),
            position_bytes: 0,
        }
    }

    /// Stores the values and returns the position of the first one.
    ///
    /// # Errors
    ///
    /// `Limit` when there are more values than a `u32` can number.
    fn keep(&mut self, values: &VectorRef) -> Result<u32> {
        let first = self.num_values;
        self.num_values = first.saturating_add(values.len());
        if u32::try_from(self.num_values).is_err() {
            return Err(Error::limit("too many values in the lists of an aggregation"));
        }
        // The flat copy releases the dictionaries and the buffers that the values shared.
        let values = flatten(values)?;
        self.value_bytes += values.retained_bytes();
        self.unpaid_bytes += values.held_bytes(Held::Unpaid);
        self.batches.push(values);
        Ok(first as u32)
    }

    fn push(&mut self, group: usize, positions: Range<u32>) {
        let list = &mut self.positions[group];
        let before = list.capacity();
        list.extend(positions);
        self.position_bytes += (list.capacity() - before) * size_of::<u32>();
    }

    fn joined(&self) -> Result<&VectorRef> {
        if let Some(joined) = self.joined.get() {
            return Ok(joined);
        }
        let joined = match self.batches.as_slice() {
            [] => Arc::new(Vector::nulls(self.element.clone(), 0)),
            [only] => Arc::clone(only),
            many => concat(many)?,
        };
        Ok(self.joined.get_or_init(|| joined))
    }
}

impl Accumulator for ArrayAgg {
    fn resize(&mut self, num_groups: usize) {
        self.positions.resize_with(num_groups, Vec::new);
    }

    fn update(&mut self, groups: Groups<'_>, args: &[Column]) -> Result<()> {
        let arg = args.first().ok_or_else(|| Error::internal("a list without its argument"))?;
        let first = self.keep(&arg.vector)?;
        match groups {
            Groups::One { num_rows } => self.push(0, first..first + num_rows as u32),
            Groups::Each { ids } | Groups::Listed { ids, .. } => {
                for (position, id) in (first..).zip(ids) {
                    self.push(*id as usize, position..position + 1);
                }
            }
        }
        Ok(())
    }

    fn merge(&mut self, groups: Groups<'_>, partial: &Column) -> Result<()> {
        let partial = &partial.decoded;
        let Vector::Array(lists) = partial.base().as_ref() else {
            return if partial.all_null() { Ok(()) } else { Err(not_lists(partial.ty())) };
        };
        let first = self.keep(lists.elements())?;
        let mut rows: Vec<(usize, usize)> = Vec::new();
        let mut numbers: Vec<usize> = (0..self.positions.len()).collect();
        fold_rows(groups, partial, &mut numbers, |group, row| rows.push((*group, row)));
        for (group, row) in rows {
            let span = lists.span(partial.index(row));
            self.push(group, first + span.start as u32..first + span.end as u32);
        }
        Ok(())
    }

    fn output(&self, _: usize, _: Part, groups: Range<usize>) -> Result<VectorRef> {
        let lists = &self.positions[groups];
        let mut lengths: Vec<u32> = Vec::with_capacity(lists.len());
        let mut offsets: Vec<u32> = Vec::with_capacity(lists.len());
        let mut positions: Vec<u32> = Vec::new();
        for list in lists {
            // `keep` ensures that the number of values fits into a u32.
            offsets.push(positions.len() as u32);
            lengths.push(list.len() as u32);
            positions.extend_from_slice(list);
        }
        let elements = gather(self.joined()?, &positions)?;
        let validity: Bitmap = lists.iter().map(|list| !list.is_empty()).collect();
        let validity = (!validity.all_ones()).then_some(validity);
        let (offsets, lengths) = (Buffer::from_slice(&offsets), Buffer::from_slice(&lengths));
        Ok(Arc::new(ArrayVector::new(offsets, lengths, validity, elements)?.into()))
    }

    fn bytes(&self) -> usize {
        self.unpaid_bytes + self.position_bytes + self.positions.capacity() * size_of::<Vec<u32>>()
    }

    fn value_bytes(&self) -> usize {
        self.value_bytes + self.position_bytes
    }
}

fn not_lists(ty: &Type) -> Error {
    Error::internal("partial lists are not lists").with("type", ty)
}
