//! Results made row by row, for functions whose work on a row is much more than a call.
//!
//! These loops exist once, for all such functions, and ask what is told apart through a pointer:
//! a hundred functions cost little more than what each of them does. Where a loop over plain
//! values pays (comparisons, arithmetic), `kernel.rs` has loops that functions are compiled into.

use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{
    Bitmap, Buffer, BufferMut, DecodedVector, FlatValues, FlatVector, Mapping, Result,
    SelectivityVector, StringBuilder, Type, TypeKind, Vector, VectorRef, check_room,
};

use super::kernel::{Call, Operand, map, wrong_storage, zip};

/// Rows between two looks at the stop flag: each may take some microseconds.
pub(super) const ROWS_PER_LOOK: u32 = 64;

/// Rows of a result that are null although no argument is null there.
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

    /// The validity of the result.
    pub(super) fn validity(&self, call: &Call<'_>) -> Option<Bitmap> {
        let own = self.rows.as_ref().map(SelectivityVector::to_bitmap);
        Bitmap::and(call.validity.as_ref(), own.as_ref())
    }
}

/// An integer for each row that counts, in the type of the result, or null. What does not fit is
/// cut to the bits that the type has.
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

/// Integers in the bits that a type has.
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

/// Integers of a type, or nulls.
pub(crate) fn integers_of(ty: &Type, values: &[Option<i64>]) -> Result<VectorRef> {
    let validity: Bitmap = values.iter().map(Option::is_some).collect();
    let validity = (!validity.all_ones()).then_some(validity);
    let values = values.iter().map(|value| value.unwrap_or_default()).collect();
    cut(ty, values, validity).map(Arc::new)
}

/// A string for each row that counts, written into a buffer that is lent to `f` empty; null where
/// `f` says false.
pub(super) fn texts(
    call: &Call<'_>,
    f: &mut dyn FnMut(usize, &mut Vec<u8>) -> Result<bool>,
) -> Result<Vector> {
    let (mut out, mut nulls, mut text) = (StringBuilder::new(), Missing::new(call), Vec::new());
    let mut tick = StopTick::every(ROWS_PER_LOOK);
    for row in 0..call.num_rows() {
        tick.row()?;
        text.clear();
        // Without memory for the results so far nothing comes of more.
        if call.rows.contains(row) && !out.has_failed() && !f(row, &mut text)? {
            nulls.push(row);
        }
        out.push(&text);
    }
    let values = FlatValues::String(out.finish()?);
    FlatVector::new(call.ty.clone(), values, nulls.validity(call)).map(Vector::Flat)
}

/// Bytes of a text that are made without a look at the memory that is left.
const FREE_TEXT_BYTES: usize = 1 << 20;

/// Makes room for `additional` more bytes of a text, for functions of which one row may be much
/// larger than their arguments. `Limit` when there is no memory for it.
pub(super) fn reserve_text(text: &mut Vec<u8>, additional: usize) -> Result<()> {
    let wanted = text.len().saturating_add(additional);
    if wanted > text.capacity() && wanted > FREE_TEXT_BYTES {
        // While it grows the old bytes and the new ones are there; then they are copied.
        check_room(wanted.saturating_mul(3))?;
    }
    Ok(())
}

/// Whether something holds for each row that counts, or null.
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

/// `f` of a DOUBLE.
pub(super) fn double(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Vector> {
    let argument = Operand::<f64>::new(&call.args[0])?;
    call.fixed(map(argument.side(), call.num_rows(), f))
}

/// `f` of two DOUBLEs.
pub(super) fn doubles(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<Vector> {
    let (a, b) = (Operand::<f64>::new(&call.args[0])?, Operand::<f64>::new(&call.args[1])?);
    call.fixed(zip(a.side(), b.side(), call.num_rows(), f))
}

/// An argument of integers of any width up to 64 bits.
#[derive(Clone, Copy)]
pub(crate) struct Integers<'a> {
    values: &'a FlatValues,
    mapping: &'a Mapping,
}

impl<'a> Integers<'a> {
    /// Argument `index` of a call.
    pub(super) fn new(call: &Call<'a>, index: usize) -> Result<Self> {
        Integers::of(call.args.get(index).ok_or_else(|| wrong_storage(call.ty))?)
    }

    /// Of a column that is not all null.
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

    /// The number in a row.
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
