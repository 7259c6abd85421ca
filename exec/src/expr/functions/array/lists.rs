//! Arrays as arguments: all their elements as one vector, and arrays of positions in it.
//!
//! ```text
//! arguments   [3 1] [2]      [1 2] []        elements   3 1 2 | 1 2
//! a function selects positions of elements for each row:  0 1 4   2
//! result      a dictionary over the elements            [3 1 2] [2]
//! ```
//!
//! No element is copied individually, and functions are independent of the element type: they
//! compare positions.

use std::ops::Range;

use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{
    ArrayVector, Bitmap, Buffer, BufferMut, DecodedVector, Error, FlatVector, Result,
    RowComparator, SortOrder, Type, Vector, VectorRef, check_room, concat, sorted_rows,
};

use crate::expr::by_row::ROWS_PER_LOOK;
use crate::expr::kernel::{Call, wrong_storage};

/// Array arguments of a call.
pub(in crate::expr) struct Lists<'a> {
    arrays: Vec<(&'a DecodedVector, &'a ArrayVector, usize)>,
    /// Elements of all arguments, concatenated in the order of the arguments.
    pub(in crate::expr) elements: VectorRef,
}

impl<'a> Lists<'a> {
    /// Reads the first `count` arguments.
    pub(in crate::expr) fn new(call: &Call<'a>, count: usize) -> Result<Self> {
        Lists::of(call.args.get(..count).unwrap_or_default())
    }

    /// Reads arguments that are arrays of one type.
    pub(in crate::expr) fn of(arguments: &'a [DecodedVector]) -> Result<Self> {
        let (mut arrays, mut elements, mut start) = (Vec::new(), Vec::new(), 0);
        for argument in arguments {
            let Vector::Array(array) = argument.base().as_ref() else {
                return Err(wrong_storage(argument.ty()));
            };
            arrays.push((argument, array, start));
            elements.push(Arc::clone(array.elements()));
            start += array.elements().len();
        }
        let elements = match elements.as_slice() {
            [only] => Arc::clone(only),
            many => concat(many)?,
        };
        Ok(Lists { arrays, elements })
    }

    /// Returns the positions of an argument's elements in a row, which must not be null.
    pub(in crate::expr) fn span(&self, argument: usize, row: usize) -> Range<u32> {
        let (decoded, array, start) = self.arrays[argument];
        let span = array.span(decoded.index(row));
        // The number of rows of a vector fits into a u32.
        (start + span.start) as u32..(start + span.end) as u32
    }

    /// Returns the positions of all arguments' elements in a row.
    pub(super) fn all(&self, row: usize) -> impl Iterator<Item = u32> {
        (0..self.arrays.len()).flat_map(move |argument| self.span(argument, row))
    }

    /// Returns a comparator of elements, with nulls last.
    pub(super) fn comparator(&self) -> Result<RowComparator> {
        RowComparator::new(
            std::slice::from_ref(&self.elements),
            std::slice::from_ref(&self.elements),
        )
    }
}

/// Number of positions that are collected without checking the available memory.
const MIN_CHECKED_PLACES: usize = 1 << 16;

/// Lists of positions, one per row.
#[derive(Default)]
pub(in crate::expr) struct Places {
    pub(in crate::expr) offsets: BufferMut<u32>,
    pub(in crate::expr) lengths: BufferMut<u32>,
    pub(in crate::expr) places: Vec<u32>,
}

impl Places {
    /// Collects the positions that `f` appends for each counted row.
    pub(in crate::expr) fn of_rows(
        call: &Call<'_>,
        f: &mut dyn FnMut(usize, &mut Vec<u32>) -> Result<()>,
    ) -> Result<Self> {
        let (mut made, mut checked) = (Places::default(), MIN_CHECKED_PLACES);
        let mut tick = StopTick::every(ROWS_PER_LOOK);
        for row in 0..call.num_rows() {
            tick.row()?;
            let start = made.places.len();
            if call.rows.contains(row) {
                f(row, &mut made.places)?;
            }
            if made.places.len() > checked {
                // The positions, the result, and the growth of both.
                checked = made.places.len().saturating_mul(2).max(MIN_CHECKED_PLACES);
                check_room(checked.saturating_mul(4 * size_of::<u32>()))?;
            }
            if u32::try_from(made.places.len()).is_err() {
                return Err(Error::limit("the lists of a batch have too many elements"));
            }
            made.offsets.push(start as u32);
            made.lengths.push((made.places.len() - start) as u32);
        }
        Ok(made)
    }

    /// Returns the range of a row in `places`.
    pub(in crate::expr) fn range(&self, row: usize) -> Range<usize> {
        let start = self.offsets[row] as usize;
        start..start + self.lengths[row] as usize
    }

    /// Sorts each row's positions by their values in `base`; the sort is stable.
    pub(super) fn sort(&mut self, base: &VectorRef, order: SortOrder) -> Result<()> {
        let order = self.order(base, order)?;
        self.places = order.iter().map(|at| self.places[*at as usize]).collect();
        Ok(())
    }

    /// Returns the indices of all positions, ordered by row and then by value.
    pub(in crate::expr) fn order(&self, base: &VectorRef, order: SortOrder) -> Result<Buffer<u32>> {
        let mut rows: BufferMut<i32> = BufferMut::with_capacity(self.places.len());
        for (row, len) in self.lengths.iter().enumerate() {
            rows.resize(rows.len() + *len as usize, row as i32);
        }
        let rows = FlatVector::from_buffer(Type::Integer, rows.freeze(), None)?;
        let values = Vector::wrap(base, &Buffer::from_slice(&self.places));
        let keys = [Arc::new(Vector::Flat(rows)), values];
        sorted_rows(&keys, &[SortOrder::default(), order], self.places.len())
    }

    /// Returns arrays of the values of `base` at the positions.
    pub(in crate::expr) fn arrays(
        self,
        base: &VectorRef,
        validity: Option<Bitmap>,
    ) -> Result<Vector> {
        let elements = Vector::wrap(base, &Buffer::from_slice(&self.places));
        ArrayVector::new(self.offsets.freeze(), self.lengths.freeze(), validity, elements)
            .map(Vector::Array)
    }
}

/// Returns an array for each counted row, of the positions in `base` that `f` selects.
pub(super) fn pick(
    call: &Call<'_>,
    base: &VectorRef,
    f: &mut dyn FnMut(usize, &mut Vec<u32>) -> Result<()>,
) -> Result<Vector> {
    Places::of_rows(call, f)?.arrays(base, call.validity.clone())
}
