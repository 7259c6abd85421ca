//! Functions that build arrays: slices, concatenation, `reverse`, `flatten`, `repeat`, `sequence`.

use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{ArrayVector, BufferMut, DecodedVector, Error, FlatVector, Result, Type, Vector};

use super::lists::{Lists, Places, pick};
use crate::expr::by_row::{Integers, ROWS_PER_LOOK};
use crate::expr::functions::nested::constructors::rewrapped;
use crate::expr::functions::string::concat;
use crate::expr::functions::string::split_replace;
use crate::expr::kernel::{Argument, Call, Kernel, wrong_storage};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows(
        "reverse",
        &["(ARRAY(T)) -> ARRAY(T)", "(VARCHAR) -> VARCHAR", "(VARBINARY) -> VARBINARY"],
        reverse,
    ),
    Function::scalar(
        "concat",
        &[
            "(VARCHAR, ...) -> VARCHAR",
            "(ARRAY(T), ...) -> ARRAY(T)",
            "(ARRAY(T), T) -> ARRAY(T)",
            "(T, ARRAY(T)) -> ARRAY(T)",
            "(VARBINARY, ...) -> VARBINARY",
        ],
        concat,
    ),
    Function::rows("remove_nulls", &["(ARRAY(T)) -> ARRAY(T)"], remove_nulls),
    Function::rows("slice", &["(ARRAY(T), BIGINT, BIGINT) -> ARRAY(T)"], slice),
    Function::rows("trim_array", &["(ARRAY(T), BIGINT) -> ARRAY(T)"], trim),
    Function::rows("flatten", &["(ARRAY(ARRAY(T))) -> ARRAY(T)"], flatten),
    Function::scalar("repeat", &["(T, BIGINT) -> ARRAY(T)"], repeat),
    Function::rows(
        "sequence",
        &[
            "(BIGINT, BIGINT) -> ARRAY(BIGINT)",
            "(BIGINT, BIGINT, BIGINT) -> ARRAY(BIGINT)",
            "(DATE, DATE) -> ARRAY(DATE)",
        ],
        sequence,
    ),
];

/// Maximum number of elements of an array that is generated from a count, as in Velox.
const MAX_ENTRIES: i64 = 10_000;

/// `slice(array, start, length)`: positions from 1, or from -1 at the end.
fn slice(call: &Call<'_>) -> Result<Vector> {
    let (lists, starts) = (Lists::new(call, 1)?, Integers::new(call, 1)?);
    let lengths = Integers::new(call, 2)?;
    pick(call, &lists.elements, &mut |row, places| {
        let (span, start, length) = (lists.span(0, row), starts.at(row), lengths.at(row));
        if start == 0 || length < 0 {
            return Err(Error::invalid_input("a part of an array starts at 1 and has a length")
                .with("start", start)
                .with("length", length));
        }
        let len = span.len() as i64;
        let skipped = if start > 0 { start - 1 } else { len.saturating_add(start) };
        if (0..len).contains(&skipped) {
            let first = span.start + skipped as u32;
            places.extend(first..first + length.min(len - skipped) as u32);
        }
        Ok(())
    })
}

/// `trim_array(array, count)`: removes the last `count` elements.
fn trim(call: &Call<'_>) -> Result<Vector> {
    let (lists, counts) = (Lists::new(call, 1)?, Integers::new(call, 1)?);
    pick(call, &lists.elements, &mut |row, places| {
        let (span, count) = (lists.span(0, row), counts.at(row));
        let kept = (span.len() as i64).checked_sub(count).filter(|_| count >= 0);
        let Some(kept) = kept.filter(|kept| *kept >= 0) else {
            return Err(Error::invalid_input("an array has not so many elements to lose")
                .with("count", count)
                .with("elements", span.len()));
        };
        places.extend(span.start..span.start + kept as u32);
        Ok(())
    })
}

/// Reverses arrays, strings and binaries.
fn reverse(call: &Call<'_>) -> Result<Vector> {
    if !matches!(call.ty, Type::Array(_)) {
        return split_replace::reverse(call);
    }
    let lists = Lists::new(call, 1)?;
    pick(call, &lists.elements, &mut |row, places| {
        places.extend(lists.span(0, row).rev());
        Ok(())
    })
}

/// Concatenates arrays, an array and an element on either side, or strings.
fn concat(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let Type::Array(element) = result else { return concat::concat(args, result) };
    if args.iter().all(|arg| arg.ty == result) || args.len() != 2 {
        return Ok(Kernel::new(|call| {
            let lists = Lists::new(call, call.args.len())?;
            pick(call, &lists.elements, &mut |row, places| {
                places.extend(lists.all(row));
                Ok(())
            })
        }));
    }
    let (array, in_front) =
        (usize::from(args[0].ty == element.as_ref()), args[0].ty == element.as_ref());
    Ok(Kernel::new(move |call| {
        let lists = Lists::of(&call.args[array..array + 1])?;
        let start = lists.elements.len() as u32;
        let all = vector::concat(&[Arc::clone(&lists.elements), rewrapped(&call.args[1 - array])])?;
        pick(call, &all, &mut |row, places| {
            let own = start + row as u32;
            places.extend(in_front.then_some(own));
            places.extend(lists.span(0, row));
            places.extend((!in_front).then_some(own));
            Ok(())
        })
    }))
}

/// Concatenates the arrays within an array, skipping nulls.
fn flatten(call: &Call<'_>) -> Result<Vector> {
    let lists = Lists::new(call, 1)?;
    let inner = [DecodedVector::new(&lists.elements)?];
    if inner[0].all_null() {
        // All results are empty arrays.
        let Type::Array(element) = call.ty else { return Err(wrong_storage(call.ty)) };
        let none = Arc::new(Vector::nulls(element.as_ref().clone(), 0));
        return pick(call, &none, &mut |_, _| Ok(()));
    }
    let inner_lists = Lists::of(&inner)?;
    pick(call, &inner_lists.elements, &mut |row, places| {
        for list in lists.span(0, row).map(|list| list as usize) {
            if !inner[0].is_null(list) {
                places.extend(inner_lists.span(0, list));
            }
        }
        Ok(())
    })
}

/// Removes null elements.
fn remove_nulls(call: &Call<'_>) -> Result<Vector> {
    let lists = Lists::new(call, 1)?;
    let elements = DecodedVector::new(&lists.elements)?;
    pick(call, &lists.elements, &mut |row, places| {
        places.extend(lists.span(0, row).filter(|place| !elements.is_null(*place as usize)));
        Ok(())
    })
}

/// `repeat(value, count)`; the value may be null.
fn repeat(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::seeing_nulls(|call| {
        let [value, counts] = call.args else { return Err(wrong_storage(call.ty)) };
        let validity = counts.validity().cloned();
        if counts.all_null() {
            return Ok(Vector::nulls(call.ty.clone(), call.num_rows()));
        }
        let numbers = Integers::new(call, 1)?;
        let made = Places::of_rows(call, &mut |row, places| {
            if !counts.is_null(row) {
                let count = entries(numbers.at(row).into())?;
                places.extend(std::iter::repeat_n(row as u32, count));
            }
            Ok(())
        })?;
        made.arrays(&rewrapped(value), validity)
    }))
}

/// Checks the number of elements of a generated array.
fn entries(count: i128) -> Result<usize> {
    if (0..=i128::from(MAX_ENTRIES)).contains(&count) {
        return Ok(count as usize);
    }
    Err(Error::invalid_input("an array cannot be made with so many entries")
        .with("entries", count)
        .with("max", MAX_ENTRIES))
}

/// Returns the number of entries from `first` by `step` up to `last`.
fn num_steps(first: i64, last: i64, step: i64) -> Result<usize> {
    let distance = i128::from(last) - i128::from(first);
    if step == 0 || distance != 0 && (distance > 0) != (step > 0) {
        return Err(Error::invalid_input("a sequence does not come to its end")
            .with("first", first)
            .with("last", last)
            .with("step", step));
    }
    entries(distance / i128::from(step) + 1)
}

/// `sequence(first, last [, step])` of numbers or days. The default step is 1 or -1.
fn sequence(call: &Call<'_>) -> Result<Vector> {
    let (firsts, lasts) = (Integers::new(call, 0)?, Integers::new(call, 1)?);
    let steps = match call.args.len() {
        3 => Some(Integers::new(call, 2)?),
        _ => None,
    };
    let step = |row: usize| match &steps {
        Some(steps) => steps.at(row),
        None if firsts.at(row) <= lasts.at(row) => 1,
        None => -1,
    };
    // All entries are counted before the first one is made, so that what does not fit costs nothing.
    let (mut offsets, mut lengths) = (BufferMut::<u32>::new(), BufferMut::<u32>::new());
    offsets.try_reserve(call.num_rows())?;
    lengths.try_reserve(call.num_rows())?;
    let mut num_entries = 0usize;
    let mut tick = StopTick::every(ROWS_PER_LOOK);
    for row in 0..call.num_rows() {
        tick.row()?;
        let count = match call.rows.contains(row) {
            true => num_steps(firsts.at(row), lasts.at(row), step(row))?,
            false => 0,
        };
        offsets.push(num_entries as u32);
        lengths.push(count as u32);
        num_entries += count;
        if u32::try_from(num_entries).is_err() {
            return Err(Error::limit("the lists of a batch have too many elements"));
        }
    }
    let mut values: BufferMut<i64> = BufferMut::new();
    values.try_reserve(num_entries)?;
    for row in 0..call.num_rows() {
        tick.row()?;
        if lengths[row] > 0 {
            let (first, step) = (firsts.at(row), step(row));
            // No entry is beyond the last one, so that what wraps on the way there comes back.
            let entry = |i| first.wrapping_add(step.wrapping_mul(i));
            values.extend((0..i64::from(lengths[row])).map(entry));
        }
    }
    let Type::Array(element) = call.ty else { return Err(wrong_storage(call.ty)) };
    let values = match element.as_ref() {
        Type::Date => {
            let mut days: BufferMut<i32> = BufferMut::new();
            days.try_reserve(values.len())?;
            days.extend(values.iter().map(|day| *day as i32));
            FlatVector::from_buffer(Type::Date, days.freeze(), None)?
        }
        _ => FlatVector::from_buffer(Type::BigInt, values.freeze(), None)?,
    };
    let values = Arc::new(Vector::Flat(values));
    let (offsets, lengths) = (offsets.freeze(), lengths.freeze());
    ArrayVector::new(offsets, lengths, call.validity.clone(), values).map(Vector::Array)
}
