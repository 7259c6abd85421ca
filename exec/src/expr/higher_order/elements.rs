//! The elements of the selected rows of arrays or maps, and lists made of what became of them.

use std::ops::Range;

use vector::{
    Bitmap, BitmapMut, Buffer, BufferMut, DecodedVector, Error, Result, SelectivityVector, Vector,
    VectorRef,
};

use super::super::kernel::wrong_storage;

/// Elements of one batch: more would not be looked at in one go.
const MAX_ELEMENTS: usize = 1 << 28;

/// An argument whose rows are lists.
pub(super) struct Lists {
    decoded: DecodedVector,
}

impl Lists {
    pub(super) fn new(argument: &VectorRef) -> Result<Self> {
        Ok(Lists { decoded: DecodedVector::new(argument)? })
    }

    /// The elements of all arrays; `None` when every row is null and there are no arrays.
    pub(super) fn array(&self) -> Result<Option<&VectorRef>> {
        match self.decoded.base().as_ref() {
            _ if self.decoded.all_null() => Ok(None),
            Vector::Array(array) => Ok(Some(array.elements())),
            other => Err(wrong_storage(other.ty())),
        }
    }

    /// The keys and the values of all maps; `None` when every row is null and there are no maps.
    pub(super) fn map(&self) -> Result<Option<(&VectorRef, &VectorRef)>> {
        match self.decoded.base().as_ref() {
            _ if self.decoded.all_null() => Ok(None),
            Vector::Map(map) => Ok(Some((map.keys(), map.values()))),
            other => Err(wrong_storage(other.ty())),
        }
    }

    /// Where the elements of a row are; `None` when the row is null.
    pub(super) fn span(&self, row: usize) -> Option<Range<usize>> {
        if self.decoded.is_null(row) {
            return None;
        }
        match self.decoded.base().as_ref() {
            Vector::Array(array) => Some(array.span(self.decoded.index(row))),
            Vector::Map(map) => Some(map.span(self.decoded.index(row))),
            _ => None,
        }
    }

    /// The elements of the selected rows.
    pub(super) fn elements(&self, rows: &SelectivityVector) -> Result<Elements> {
        let mut elements = Builder::default();
        for row in 0..rows.len() {
            let span = if rows.contains(row) { self.span(row) } else { None };
            elements.push_row(row, span)?;
        }
        Ok(elements.finish())
    }
}

/// Elements one after another, and which of them make up which row.
pub(super) struct Elements {
    /// Where each element stands among all that the argument has.
    pub(super) places: Buffer<u32>,
    /// The row of each element.
    pub(super) rows: Buffer<u32>,
    pub(super) shape: Shape,
}

/// How many elements each row has, one row after the other; none where a row is null.
pub(super) struct Shape {
    pub(super) offsets: Buffer<u32>,
    pub(super) lengths: Buffer<u32>,
    pub(super) validity: Option<Bitmap>,
}

#[derive(Default)]
struct Builder {
    places: BufferMut<u32>,
    rows: BufferMut<u32>,
    shape: ShapeBuilder,
}

impl Builder {
    fn push_row(&mut self, row: usize, span: Option<Range<usize>>) -> Result<()> {
        self.shape.push(span.as_ref().map(Range::len))?;
        for place in span.unwrap_or_default() {
            self.places.push(place as u32);
            self.rows.push(row as u32);
        }
        Ok(())
    }

    fn finish(self) -> Elements {
        Elements {
            places: self.places.freeze(),
            rows: self.rows.freeze(),
            shape: self.shape.finish(),
        }
    }
}

/// Collects the lengths of lists.
#[derive(Default)]
pub(super) struct ShapeBuilder {
    offsets: BufferMut<u32>,
    lengths: BufferMut<u32>,
    validity: BitmapMut,
    num_elements: usize,
}

impl ShapeBuilder {
    /// The next list, `None` for null.
    pub(super) fn push(&mut self, len: Option<usize>) -> Result<()> {
        self.offsets.push(self.num_elements as u32);
        self.lengths.push(len.unwrap_or(0) as u32);
        self.validity.push(len.is_some());
        self.num_elements += len.unwrap_or(0);
        if self.num_elements > MAX_ELEMENTS {
            return Err(Error::limit("the lists of a batch have too many elements")
                .with("max", MAX_ELEMENTS));
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Shape {
        Shape {
            offsets: self.offsets.freeze(),
            lengths: self.lengths.freeze(),
            validity: self.validity.freeze_validity(),
        }
    }
}

impl Elements {
    /// The elements themselves, of what `base` has for all of the argument.
    pub(super) fn of(&self, base: &VectorRef) -> VectorRef {
        picked(base, &self.places)
    }

    /// The elements, in their rows, that `test` is true for.
    pub(super) fn kept(&self, test: &VectorRef) -> Result<Elements> {
        let keeps = super::super::select_true(test, &SelectivityVector::all(self.places.len()))?;
        let mut kept = Builder::default();
        for (row, len) in self.shape.lengths.iter().enumerate() {
            if self.shape.validity.as_ref().is_some_and(|validity| !validity.get(row)) {
                kept.push_row(row, None)?;
                continue;
            }
            let start = self.shape.offsets[row] as usize;
            let before = kept.places.len();
            for element in (start..start + *len as usize).filter(|e| keeps.contains(*e)) {
                kept.places.push(self.places[element]);
                kept.rows.push(row as u32);
            }
            let len = kept.places.len() - before;
            kept.shape.push(Some(len))?;
        }
        Ok(kept.finish())
    }
}

/// The rows `places` of `base`, or `base` itself when those are all of its rows in their order.
pub(super) fn picked(base: &VectorRef, places: &Buffer<u32>) -> VectorRef {
    let is_whole = places.len() == base.len()
        && places.iter().enumerate().all(|(i, place)| *place as usize == i);
    if is_whole { base.clone() } else { Vector::wrap(base, places) }
}
