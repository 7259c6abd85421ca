//! Functions of the order and the sum of array elements, and of the position of an element.

use std::cmp::Ordering;

use vector::{
    BufferMut, DecodedVector, Error, FlatVector, Result, SelectivityVector, SortOrder, Type,
    Vector, VectorRef, equal_rows,
};

use super::lists::{Lists, Places, pick};
use crate::expr::by_row::{Integers, Missing, numbers, texts};
use crate::expr::functions::cast;
use crate::expr::functions::nested::access::dictionary;
use crate::expr::kernel::{Argument, Call, Kernel, wrong_storage};
use crate::expr::peel::apply;
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows("array_min", &["(ARRAY(T)) -> T for ordered T"], least),
    Function::rows("array_max", &["(ARRAY(T)) -> T for ordered T"], greatest),
    Function::rows("array_sum", &["(ARRAY(BIGINT)) -> BIGINT", "(ARRAY(DOUBLE)) -> DOUBLE"], sum),
    Function::rows("array_average", &["(ARRAY(DOUBLE)) -> DOUBLE"], average),
    Function::rows("array_sort", &["(ARRAY(T)) -> ARRAY(T) for ordered T"], sort),
    Function::rows("array_sort_desc", &["(ARRAY(T)) -> ARRAY(T) for ordered T"], sort_desc),
    Function::rows(
        "array_position",
        &["(ARRAY(T), T) -> BIGINT", "(ARRAY(T), T, BIGINT) -> BIGINT"],
        position,
    ),
    Function::rows("array_remove", &["(ARRAY(T), T) -> ARRAY(T)"], remove),
    Function::scalar(
        "array_join",
        &["(ARRAY(T), VARCHAR) -> VARCHAR", "(ARRAY(T), VARCHAR, VARCHAR) -> VARCHAR"],
        join,
    ),
];

fn sorted(call: &Call<'_>, order: SortOrder) -> Result<Vector> {
    let lists = Lists::new(call, 1)?;
    let mut places = Places::of_rows(call, &mut |row, places| {
        places.extend(lists.span(0, row));
        Ok(())
    })?;
    places.sort(&lists.elements, order)?;
    places.arrays(&lists.elements, call.validity.clone())
}

/// Sorts the elements in ascending order, nulls last.
fn sort(call: &Call<'_>) -> Result<Vector> {
    sorted(call, SortOrder::default())
}

/// Sorts the elements in descending order, nulls last.
fn sort_desc(call: &Call<'_>) -> Result<Vector> {
    sorted(call, SortOrder { descending: true, ..SortOrder::default() })
}

/// Returns the extreme element; null when the array is empty or has a null.
fn best(call: &Call<'_>, wanted: Ordering) -> Result<Vector> {
    let lists = Lists::new(call, 1)?;
    let (order, elements) = (lists.comparator()?, DecodedVector::new(&lists.elements)?);
    dictionary(call, &lists.elements, &mut |row| {
        let mut span = lists.span(0, row).map(|place| place as usize);
        let Some(mut best) = span.next() else { return Ok(None) };
        let mut has_null = elements.is_null(best);
        for place in span {
            has_null |= elements.is_null(place);
            if order.compare(0, place, best) == wanted {
                best = place;
            }
        }
        Ok((!has_null).then_some(best))
    })
}

fn least(call: &Call<'_>) -> Result<Vector> {
    best(call, Ordering::Less)
}

fn greatest(call: &Call<'_>) -> Result<Vector> {
    best(call, Ordering::Greater)
}

/// Returns the sum of the non-null elements, a BIGINT or a DOUBLE.
fn sum(call: &Call<'_>) -> Result<Vector> {
    if *call.ty == Type::Double {
        return doubles(call, |sum, _| Some(sum));
    }
    let lists = Lists::new(call, 1)?;
    let elements = DecodedVector::new(&lists.elements)?;
    let values = elements.base_slice::<i64>();
    numbers(call, &mut |row| {
        let mut sum = 0i64;
        for place in lists.span(0, row).map(|place| place as usize) {
            if let Some(values) = values
                && !elements.is_null(place)
            {
                let value = values[elements.index(place)];
                sum = sum.checked_add(value).ok_or_else(|| {
                    Error::invalid_input("integer overflow")
                        .with("operator", "array_sum")
                        .with("left", sum)
                        .with("right", value)
                })?;
            }
        }
        Ok(Some(sum))
    })
}

/// Returns the mean of the non-null elements; null if there are none.
fn average(call: &Call<'_>) -> Result<Vector> {
    doubles(call, |sum, count| (count > 0).then(|| sum / count as f64))
}

/// Applies `result` to the sum and the number of the non-null elements.
fn doubles(call: &Call<'_>, result: fn(f64, usize) -> Option<f64>) -> Result<Vector> {
    let lists = Lists::new(call, 1)?;
    let elements = DecodedVector::new(&lists.elements)?;
    let values = elements.base_slice::<f64>();
    let (mut out, mut missing) = (BufferMut::new(), Missing::new(call));
    out.resize(call.num_rows(), 0f64);
    for row in call.rows.iter() {
        let (mut sum, mut count) = (0.0, 0);
        for place in lists.span(0, row).map(|place| place as usize) {
            if let Some(values) = values
                && !elements.is_null(place)
            {
                sum += values[elements.index(place)];
                count += 1;
            }
        }
        match result(sum, count) {
            Some(value) => out[row] = value,
            None => missing.push(row),
        }
    }
    FlatVector::from_buffer(Type::Double, out.freeze(), missing.validity(call)).map(Vector::Flat)
}

/// `array_position(array, value [, instance])`: positions from 1; 0 when there are fewer instances.
/// A negative instance counts from the end.
fn position(call: &Call<'_>) -> Result<Vector> {
    let (lists, wanted) = (Lists::new(call, 1)?, &call.args[1]);
    let elements = DecodedVector::new(&lists.elements)?;
    let instances = match call.args.len() {
        3 => Some(Integers::new(call, 2)?),
        _ => None,
    };
    numbers(call, &mut |row| {
        let instance = instances.as_ref().map_or(1, |instances| instances.at(row));
        if instance == 0 {
            return Err(Error::invalid_input("instances are counted from 1 or from -1"));
        }
        let span = lists.span(0, row);
        let (mut left, len) = (instance.unsigned_abs(), span.len());
        for step in 0..len {
            let at = if instance > 0 { step } else { len - 1 - step };
            let place = span.start as usize + at;
            if !elements.is_null(place) && equal_rows(&elements, place, wanted, row)? {
                left -= 1;
                if left == 0 {
                    return Ok(Some(at as i64 + 1));
                }
            }
        }
        Ok(Some(0))
    })
}

/// Removes the elements that equal the value.
fn remove(call: &Call<'_>) -> Result<Vector> {
    let (lists, dropped) = (Lists::new(call, 1)?, &call.args[1]);
    let elements = DecodedVector::new(&lists.elements)?;
    pick(call, &lists.elements, &mut |row, places| {
        for place in lists.span(0, row) {
            let at = place as usize;
            if elements.is_null(at) || !equal_rows(&elements, at, dropped, row)? {
                places.push(place);
            }
        }
        Ok(())
    })
}

/// `array_join(array, separator [, null text])`: joins the elements as text. Nulls are skipped
/// unless a text for them is given.
fn join(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let Some(Type::Array(element)) = args.first().map(|arg| arg.ty) else {
        return Err(wrong_storage(result));
    };
    let to_text = match element.as_ref() {
        Type::Varchar | Type::Unknown => None,
        element => Some(cast::bind(element, &Type::Varchar, false)?),
    };
    Ok(Kernel::new(move |call| {
        let lists = Lists::new(call, 1)?;
        let as_text: VectorRef = match &to_text {
            Some(cast) => {
                let of_all = SelectivityVector::all(lists.elements.len());
                let elements = std::slice::from_ref(&lists.elements);
                apply(cast, elements, &of_all, &Type::Varchar, None)?
            }
            None => VectorRef::clone(&lists.elements),
        };
        let elements = DecodedVector::new(&as_text)?;
        texts(call, &mut |row, out| {
            let mut is_first = true;
            for place in lists.span(0, row).map(|place| place as usize) {
                let text = match (elements.is_null(place), call.args.get(2)) {
                    (false, _) => elements.string(place),
                    (true, Some(for_nulls)) => for_nulls.string(row),
                    (true, None) => continue,
                };
                if !std::mem::take(&mut is_first) {
                    out.extend_from_slice(call.args[1].string(row));
                }
                out.extend_from_slice(text);
            }
            Ok(true)
        })
    }))
}
