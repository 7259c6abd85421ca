//! Loops that evaluate a function row by row, for functions that cost more per row than a call.
//!
//! These loops exist once for all such functions and call them through a pointer, so that a hundred
//! functions add little code beyond their own. Functions for which inlined loops over plain values
//! pay off (comparisons, arithmetic) use the generic loops of `kernel.rs`.

use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, BufferMut, DecodedVector, FlatValues, FlatVector, Mapping, Result,
    SelectivityVector, StringBuilder, Type, TypeKind, Vector, VectorRef, check_room,
};

use super::kernel::{Call, Operand, map, wrong_storage, zip};

/// Number of rows between two checks of the stop flag; a row may take some microseconds.
pub(super) const ROWS_PER_LOOK: u32 = 64;

/// Rows of a result that are null without a null argument.
pub(super) struct Missing {
    rows: Option<SelectivityVector>,
    len: usize,
}

impl Missing {
    pub(super) fn new(call: &Call<'_>) -> Self {
        Missing { rows: None, len: call.num_rows() }
    }

    pub(super) fn push(&mut self, row: usize) {
        self.rows.get_or_insert_with(|| SelectivityVector::all(self.len)).set(row, false);
    }

    /// Returns the validity of the result.
    pub(super) fn validity(&self, call: &Call<'_>) -> Option<Bitmap> {
        let own = self.rows.as_ref().map(SelectivityVector::to_bitmap);
        Bitmap::and(call.validity.as_ref(), own.as_ref())
    }
}

/// Computes an integer or null for each counted row, in the type of the result. Values are
/// truncated to the bits of that type.
pub(super) fn numbers(
    call: &Call<'_>,
    f: &mut dyn FnMut(usize) -> Result<Option<i64>>,
) -> Result<Vector> {
    let (mut out, mut missing) = (BufferMut::new(), Missing::new(call));
    out.resize(call.num_rows(), 0i64);
    let mut tick = StopTick::every(ROWS_PER_LOOK);
    for row in call.rows.iter() {
        tick.row()?;
        match f(row)? {
            Some(number) => out[row] = number,
            None => missing.push(row),
        }
    }
    cut(call.ty, out.freeze(), missing.validity(call))
}

/// Truncates integers to the bits of a type.
fn cut(ty: &Type, values: Buffer<i64>, validity: Option<Bitmap>) -> Result<Vector> {
    let (kind, ty, all) = (ty.kind(), ty.clone(), values.iter());
    let made = match kind {
        TypeKind::TinyInt => FlatVector::from_buffer(ty, all.map(|v| *v as i8).collect(), validity),
        TypeKind::SmallInt => {
            FlatVector::from_buffer(ty, all.map(|v| *v as i16).collect(), validity)
        }
        TypeKind::Integer => {
            FlatVector::from_buffer(ty, all.map(|v| *v as i32).collect(), validity)
        }
        _ => FlatVector::from_buffer(ty, values, validity),
    };
    made.map(Vector::Flat)
}

/// Returns integers of a type, or nulls.
pub(crate) fn integers_of(ty: &Type, values: &[Option<i64>]) -> Result<VectorRef> {
    let validity: Bitmap = values.iter().map(Option::is_some).collect();
    let validity = (!validity.all_ones()).then_some(validity);
    let values = values.iter().map(|value| value.unwrap_or_default()).collect();
    cut(ty, values, validity).map(Arc::new)
}

/// Computes a string for each counted row. `f` appends to an empty buffer, and returns false for
/// null.
pub(super) fn texts(
    call: &Call<'_>,
    f: &mut dyn FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<Vector> {
    let (mut out, mut nulls, mut text) = (StringBuilder::new(), Missing::new(call), Vec::new());
    let mut tick = StopTick::every(ROWS_PER_LOOK);
    for row in 0..call.num_rows() {
        tick.row()?;
        text.clear();
        // After the builder has run out of memory, further rows are not evaluated.
        if call.rows.contains(row) && !out.has_failed() && !f(row, &mut text)? {
            nulls.push(row);
        }
        out.push(&text);
    }
    let values = FlatValues::String(out.finish()?);
    FlatVector::new(call.ty.clone(), values, nulls.validity(call)).map(Vector::Flat)
}

/// Number of bytes of a string that are allocated without checking the available memory.
const FREE_TEXT_BYTES: usize = 1 << 20;

/// Checks that memory suffices for `additional` more bytes of a string. For functions with results
/// that may be much larger for one row than their arguments.
///
/// # Errors
/// `Limit` when memory does not suffice.
pub(super) fn reserve_text(text: &mut Vec<u8>, additional: usize) -> Result<()> {
    let wanted = text.len().saturating_add(additional);
    if wanted > text.capacity() && wanted > FREE_TEXT_BYTES {
        // While the buffer grows, old and new bytes exist at the same time; then they are copied.
        check_room(wanted.saturating_mul(3))?;
    }
    Ok(())
}

/// Computes a boolean or null for each counted row.
pub(super) fn tests(
    call: &Call<'_>,
    f: &mut dyn FnMut(usize) -> Result<Option<bool>>,
) -> Result<Vector> {
    let (mut holds, mut nulls) = (SelectivityVector::none(call.num_rows()), Missing::new(call));
    let mut tick = StopTick::every(ROWS_PER_LOOK);
    for row in call.rows.iter() {
        tick.row()?;
        match f(row)? {
            Some(answer) => holds.set(row, answer),
            None => nulls.push(row),
        }
    }
    FlatVector::boolean(holds.to_bitmap(), nulls.validity(call)).map(Vector::Flat)
}

/// Applies `f` to a DOUBLE.
pub(super) fn double(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Vector> {
    let argument = Operand::<f64>::new(&call.args[0])?;
    call.fixed(map(argument.side(), call.num_rows(), f))
}

/// Applies `f` to two DOUBLEs.
pub(super) fn doubles(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Vector> {
    let (a, b) = (Operand::<f64>::new(&call.args[0])?, Operand::<f64>::new(&call.args[1])?);
    call.fixed(zip(a.side(), b.side(), call.num_rows(), f))
}

/// An integer argument of any width up to 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Integers<'a> {
    values: &'a FlatValues,
    mapping: &'a Mapping,
}

impl<'a> Integers<'a> {
    /// Reads argument `index` of a call.
    pub(super) fn new(call: &Call<'a>, index: usize) -> Result<Self> {
        Integers::of(call.args.get(index).ok_or_else(|| wrong_storage(call.ty))?)
    }

    /// Reads a column that is not all null.
    pub(crate) fn of(column: &'a DecodedVector) -> Result<Self> {
        match column.flat_values() {
            Some(
                values @ (FlatValues::TinyInt(_)
                | FlatValues::SmallInt(_)
                | FlatValues::Integer(_)
                | FlatValues::BigInt(_)),
            ) => Ok(Integers { values, mapping: column.mapping() }),
            _ => Err(wrong_storage(column.ty())),
        }
    }

    /// Returns the integer of a row.
    pub(crate) fn at(&self, row: usize) -> i64 {
        let at = self.mapping.index(row);
        match self.values {
            FlatValues::TinyInt(values) => values[at].into(),
            FlatValues::SmallInt(values) => values[at].into(),
            FlatValues::Integer(values) => values[at].into(),
            FlatValues::BigInt(values) => values[at],
            _ => 0,
        }
    }
}
