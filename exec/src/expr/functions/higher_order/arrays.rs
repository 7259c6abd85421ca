//! Higher-order functions of arrays.

use vector::sync::Arc;
use vector::{
    ArrayVector, Bitmap, BitmapMut, BufferMut, DecodedVector, DictionaryVector, ErrorKind,
    FlatVector, Result, SelectivityVector, Type, Vector, VectorRef,
};

use super::elements::{Elements, Lists, Shape};
use super::is_test;
use crate::expr::kernel::zip_words;
use crate::expr::lambda_call::{HigherOrder, LambdaCall};
use crate::expr::registry::Function;
use crate::expr::select_true;
use crate::expr::typing::Resolved;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::higher_order(
        "transform",
        &["(ARRAY(T), T -> U) -> ARRAY(U)"],
        HigherOrder::new(element, transform),
    )
    .with_rule(transform_types),
    Function::higher_order(
        "filter",
        &["(ARRAY(T), T -> BOOLEAN) -> ARRAY(T)"],
        HigherOrder::new(element, filter),
    )
    .with_rule(filter_types),
    Function::higher_order(
        "any_match",
        MATCH,
        HigherOrder::new(element, |call| matches(call, Match::Any)),
    )
    .with_rule(matches_types),
    Function::higher_order(
        "all_match",
        MATCH,
        HigherOrder::new(element, |call| matches(call, Match::All)),
    )
    .with_rule(matches_types),
    Function::higher_order(
        "none_match",
        MATCH,
        HigherOrder::new(element, |call| matches(call, Match::None)),
    )
    .with_rule(matches_types),
    Function::higher_order(
        "zip_with",
        &["(ARRAY(T), ARRAY(U), (T, U) -> R) -> ARRAY(R)"],
        HigherOrder::new(pair, zip_with),
    )
    .with_rule(zip_with_types),
];

const MATCH: &[&str] = &["(ARRAY(T), T -> BOOLEAN) -> BOOLEAN"];

fn transform_types(types: &[Type]) -> Option<Resolved> {
    let [Type::Array(_), result] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::array(result.clone())))
}

fn filter_types(types: &[Type]) -> Option<Resolved> {
    let [array @ Type::Array(_), test] = types else { return None };
    is_test(test).then(|| Resolved::new(vec![array.clone(), Type::Boolean], array.clone()))
}

fn matches_types(types: &[Type]) -> Option<Resolved> {
    let [array @ Type::Array(_), test] = types else { return None };
    is_test(test).then(|| Resolved::new(vec![array.clone(), Type::Boolean], Type::Boolean))
}

fn zip_with_types(types: &[Type]) -> Option<Resolved> {
    let [Type::Array(_), Type::Array(_), result] = types else { return None };
    Some(Resolved::new(types.to_vec(), Type::array(result.clone())))
}

/// Returns the parameter of a lambda over the elements of an array.
fn element(args: &[&Type]) -> Option<Vec<Vec<Type>>> {
    let [Type::Array(element)] = args else { return None };
    Some(vec![vec![Type::clone(element)]])
}

/// Returns the parameters of a lambda over the pairs of elements of two arrays.
fn pair(args: &[&Type]) -> Option<Vec<Vec<Type>>> {
    let [Type::Array(left), Type::Array(right)] = args else { return None };
    Some(vec![vec![Type::clone(left), Type::clone(right)]])
}

/// Quantifier of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    Any,
    All,
    None,
}

fn null(call: &LambdaCall<'_>) -> Vector {
    Vector::nulls(call.ty.clone(), call.rows.len())
}

fn array(shape: Shape, elements: VectorRef) -> Result<Vector> {
    ArrayVector::new(shape.offsets, shape.lengths, shape.validity, elements).map(Vector::Array)
}

/// Evaluates the lambda for each element of an array.
fn ask(call: &LambdaCall<'_>, elements: &Elements, base: &VectorRef) -> Result<VectorRef> {
    call.lambda(0)?.evaluate(vec![elements.of(base)?], &|| elements.shape.rows())
}

/// Returns the results of the lambda for each element.
fn transform(call: &LambdaCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else { return Ok(null(call)) };
    let elements = lists.elements(call.rows)?;
    let values = ask(call, &elements, base)?;
    array(elements.shape, values)
}

/// Returns the elements for which the lambda is true.
fn filter(call: &LambdaCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else { return Ok(null(call)) };
    let elements = lists.elements(call.rows)?;
    let test = ask(call, &elements, base)?;
    let kept = elements.kept(&test)?;
    let values = kept.of(base)?;
    array(kept.shape, values)
}

/// Returns whether the lambda is true for any, all or none of the elements. An element that decides
/// the result has priority over elements for which the lambda is null or fails (Velox's
/// `MatchFunctions.cpp`).
fn matches(call: &LambdaCall<'_>, wanted: Match) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else { return Ok(null(call)) };
    let elements = lists.elements(call.rows)?;
    let lambda = call.lambda(0)?;
    let batch = lambda.elements(vec![elements.of(base)?], &|| elements.shape.rows())?;
    let all = SelectivityVector::all(batch.len());
    let (test, failed) = match lambda.evaluate_batch(&batch, &all) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            let (test, failed) = lambda.evaluate_setting_failures_aside(&batch)?;
            (test, Some((failed, error)))
        }
        test => (test?, None),
    };
    let mut good = all;
    if let Some((failed, _)) = &failed {
        good.remove(failed);
    }
    let is_true = select_true(&test, &good)?;
    let mut is_known = good.clone();
    is_known.deselect_nulls(DecodedVector::new(&test)?.validity());
    let mut unknown = good;
    unknown.remove(&is_known);
    let mut decides = is_true.clone();
    if wanted == Match::All {
        is_known.remove(&is_true);
        decides = is_known;
    }
    let (shape, num_rows) = (&elements.shape, call.rows.len());
    // Returns a bit for each row, set if some element of the row has its bit set in `words`.
    let with_some = |words: &[u64]| {
        let mut rows = BitmapMut::new();
        rows.extend_from_fn(num_rows, |row| shape.any(row, words));
        rows.freeze()
    };
    let decided = with_some(decides.words());
    if let Some((mut failed, first_error)) = failed {
        let rows = shape.rows();
        let in_decided: Vec<usize> =
            failed.iter().filter(|element| decided.get(rows[*element] as usize)).collect();
        in_decided.into_iter().for_each(|element| failed.set(element, false));
        if !failed.is_none() {
            return Err(first_error);
        }
    }
    let validity = if unknown.is_none() {
        shape.validity.clone()
    } else {
        let open = with_some(unknown.words());
        let known = zip_words(&decided, &open, num_rows, |decided, open| decided | !open);
        Bitmap::and(shape.validity.as_ref(), Some(&known))
    };
    let answers = if wanted == Match::Any { decided } else { decided.not() };
    FlatVector::boolean(answers, validity).map(Vector::Flat)
}

/// Returns the results of the lambda for each pair of elements; the shorter list is padded with
/// nulls.
fn zip_with(call: &LambdaCall<'_>) -> Result<Vector> {
    let sides = [Lists::new(call.arg(0)?)?, Lists::new(call.arg(1)?)?];
    let (Some(left), Some(right)) = (sides[0].array()?, sides[1].array()?) else {
        return Ok(null(call));
    };
    let (mut lengths, mut is_pair) = (BufferMut::new(), BitmapMut::new());
    let mut pairs = [Side::default(), Side::default()];
    for row in 0..call.rows.len() {
        let spans = match [sides[0].span(row), sides[1].span(row)] {
            [Some(a), Some(b)] if call.rows.contains(row) => Some([a, b]),
            _ => None,
        };
        is_pair.push(spans.is_some());
        let spans = spans.unwrap_or_default();
        let len = spans[0].len().max(spans[1].len());
        lengths.push(len as u32);
        for (side, span) in pairs.iter_mut().zip(spans) {
            (0..len).for_each(|i| side.push((i < span.len()).then_some(span.start + i)));
        }
    }
    let shape = Shape::new(lengths, is_pair.freeze_validity())?;
    let [a, b] = pairs;
    let parameters = vec![a.of(left), b.of(right)];
    let values = call.lambda(0)?.evaluate(parameters, &|| shape.rows())?;
    array(shape, values)
}

/// Elements of one side of the pairs.
#[derive(Default)]
struct Side {
    places: BufferMut<u32>,
    found: BitmapMut,
}

impl Side {
    fn push(&mut self, place: Option<usize>) {
        self.places.push(place.unwrap_or(0) as u32);
        self.found.push(place.is_some());
    }

    fn of(self, base: &VectorRef) -> VectorRef {
        if base.is_empty() {
            return Arc::new(Vector::nulls(base.ty().clone(), self.places.len()));
        }
        let (places, found) = (self.places.freeze(), self.found.freeze_validity());
        let base = Arc::clone(base);
        Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(base, places, found)))
    }
}
