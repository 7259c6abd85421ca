//! `reduce`: each row's elements one after the other into a state.
//!
//! ```text
//! rows by length   c [1 2 3]   a [4 5]   b [6]        states
//! step 0           1           4         6            of c, a, b
//! step 1           2           5                      of c, a      b is done
//! step 2           3                                  of c         a is done
//! ```
//!
//! The n-th elements of all rows that have one are one batch for the lambda. With the longest rows
//! in front, the rows of a step are a beginning of those of the step before.

use vector::sync::Arc;
use vector::{BitmapMut, Buffer, BufferMut, DictionaryVector, Result, Vector, VectorRef, concat};

use super::HigherOrderCall;
use super::elements::Lists;

pub(super) fn reduce(call: &HigherOrderCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else {
        return Ok(Vector::nulls(call.ty.clone(), call.rows.len()));
    };
    let elements = lists.elements(call.rows)?;
    let (shape, elements) = (&elements.shape, elements.of(base)?);
    // The longest first, of equal ones the first row: one number holds both.
    let lists = call.rows.iter().filter(|row| shape.is_list(*row));
    let mut by_length: Vec<u64> =
        lists.map(|row| u64::from(u32::MAX - shape.lengths[row]) << 32 | row as u64).collect();
    by_length.sort_unstable();
    let rows: Buffer<u32> = by_length.iter().map(|row| *row as u32).collect();
    let length = |row: &u32| shape.lengths[*row as usize] as usize;
    let mut next: Vec<u32> = rows.iter().map(|row| shape.offsets[*row as usize]).collect();

    let mut states = Vector::wrap(call.arg(1)?, &rows);
    // States of rows that are done, the shortest rows first.
    let mut done: Vec<VectorRef> = Vec::new();
    let mut num_active = rows.len();
    for step in 0..rows.first().map_or(0, length) {
        let still = rows[..num_active].partition_point(|row| length(row) > step);
        if still < num_active {
            done.push(Vector::slice(&states, still, num_active - still)?);
            states = Vector::slice(&states, 0, still)?;
            num_active = still;
        }
        let of_step = Vector::wrap(&elements, &Buffer::from_slice(&next[..still]));
        next[..still].iter_mut().for_each(|next| *next += 1);
        let parameters = vec![states, of_step];
        states = call.lambda(0)?.evaluate(parameters, || rows.slice(0..still))?;
    }
    done.push(states);
    done.reverse();
    let states = concat(&done)?;
    let results = call.lambda(1)?.evaluate(vec![states], || rows.clone())?;
    in_rows(&results, &rows, call.rows.len())
}

/// `results` in the rows that they are of; other rows are null.
fn in_rows(results: &VectorRef, rows: &Buffer<u32>, num_rows: usize) -> Result<Vector> {
    if results.is_empty() {
        return Ok(Vector::nulls(results.ty().clone(), num_rows));
    }
    let mut places = BufferMut::new();
    places.resize(num_rows, 0u32);
    let mut found = BitmapMut::new();
    found.push_n(false, num_rows);
    for (place, row) in rows.iter().enumerate() {
        places.as_mut_slice()[*row as usize] = place as u32;
        found.set(*row as usize, true);
    }
    Ok(Vector::Dictionary(DictionaryVector::over_with_validity(
        Arc::clone(results),
        places.freeze(),
        found.freeze_validity(),
    )))
}
