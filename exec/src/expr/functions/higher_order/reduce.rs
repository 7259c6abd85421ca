//! `reduce`: combines the elements of each row with a state, one after the other.
//!
//! ```text
//! rows by length   c [1 2 3]   a [4 5]   b [6]        states
//! step 0           1           4         6            of c, a, b
//! step 1           2           5                      of c, a      b is done
//! step 2           3                                  of c         a is done
//! ```
//!
//! The n-th elements of all rows with that many elements form one batch for the lambda. The longest
//! rows come first, so the rows of a step are a prefix of those of the step before.

use vector::sync::Arc;
use vector::{
    BitmapMut, Buffer, BufferMut, DictionaryVector, Result, SelectivityVector, Type, Vector,
    VectorRef, concat,
};

use super::elements::{Lists, Shape};
use crate::expr::coercion::can_coerce;
use crate::expr::lambda_call::{HigherOrder, LambdaCall};
use crate::expr::registry::Function;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[Function::higher_order(
    "reduce",
    &["(ARRAY(T), S, (S, T) -> S, S -> R) -> R"],
    HigherOrder::new(step_and_result, reduce),
)
.with_rule(reduce_types)];

/// The state has the result type of the first lambda, because that lambda takes and returns the
/// state.
fn reduce_types(types: &[Type]) -> Option<Resolved> {
    let [array @ Type::Array(_), state, next, result] = types else { return None };
    let args = vec![array.clone(), next.clone(), next.clone(), result.clone()];
    can_coerce(state, next).then(|| Resolved::new(args, result.clone()))
}

/// Returns the parameters of both lambdas: those of a step, and the state of the last step.
fn step_and_result(args: &[&Type]) -> Option<Vec<Vec<Type>>> {
    let &[Type::Array(element), state] = args else { return None };
    Some(vec![vec![state.clone(), Type::clone(element)], vec![state.clone()]])
}

fn reduce(call: &LambdaCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else {
        return Ok(Vector::nulls(call.ty.clone(), call.rows.len()));
    };
    let elements = lists.elements(call.rows)?;
    let (shape, elements) = (&elements.shape, elements.of(base)?);
    let rows = longest_first(shape, call.rows);
    let length = |row: &u32| shape.lengths[*row as usize] as usize;
    let mut next: Vec<u32> = rows.iter().map(|row| shape.offsets[*row as usize]).collect();

    let mut states = Vector::wrap(call.arg(1)?, &rows);
    // States of rows that are complete, shortest rows first.
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
        states = call.lambda(0)?.evaluate(parameters, &|| rows.slice(0..still))?;
    }
    done.push(states);
    done.reverse();
    let states = concat(&done)?;
    let results = call.lambda(1)?.evaluate(vec![states], &|| rows.clone())?;
    in_rows(&results, &rows, call.rows.len())
}

/// Returns the rows that are not null, in descending order of length and ascending order of rows.
/// Uses a counting sort, or a comparison sort when the range of lengths is large.
fn longest_first(shape: &Shape, rows: &SelectivityVector) -> Buffer<u32> {
    let longest = shape.lengths.iter().fold(0, |longest, len| longest.max(*len)) as usize;
    let lists = || rows.iter().filter(|row| shape.is_list(*row));
    if longest > rows.len() {
        let mut by_length: Vec<u64> =
            lists().map(|row| u64::from(!shape.lengths[row]) << 32 | row as u64).collect();
        by_length.sort_unstable();
        return by_length.iter().map(|row| *row as u32).collect();
    }
    // Number of longer lists, which is the position of the first list of a length.
    let mut places = vec![0usize; longest + 2];
    lists().for_each(|row| places[longest - shape.lengths[row] as usize + 1] += 1);
    for i in 1..places.len() {
        places[i] += places[i - 1];
    }
    let mut sorted = BufferMut::new();
    sorted.resize_unspecified(places[longest + 1]);
    for row in lists() {
        let place = &mut places[longest - shape.lengths[row] as usize];
        sorted[*place] = row as u32;
        *place += 1;
    }
    sorted.freeze()
}

/// Returns `results` at the rows to which they belong; other rows are null.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::Bitmap;
    use vector::testing::Random;

    #[test]
    fn lists_are_in_the_order_of_their_lengths_however_long_they_are() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let (num_rows, longest) = (random.below(100) + 1, *random.pick(&[1, 9, 500]));
            let lengths: Vec<u32> = (0..num_rows).map(|_| random.below(longest) as u32).collect();
            let valid: Bitmap = (0..num_rows).map(|_| random.chance(0.9)).collect();
            let mut rows = SelectivityVector::all(num_rows);
            (0..num_rows).for_each(|row| rows.set(row, random.chance(0.9)));
            let mut expected: Vec<u32> =
                rows.iter().filter(|row| valid.get(*row)).map(|row| row as u32).collect();
            expected.sort_by_key(|row| std::cmp::Reverse(lengths[*row as usize]));
            let mut of_shape = BufferMut::new();
            of_shape.extend_from_slice(&lengths);
            let shape = Shape::new(of_shape, Some(valid)).unwrap();
            assert_eq!(longest_first(&shape, &rows).as_slice(), expected, "seed {seed}");
        }
    }
}
