//! Higher-order functions of arrays.

use vector::sync::Arc;
use vector::{
    ArrayVector, BitmapMut, BufferMut, DecodedVector, DictionaryVector, FlatVector, Result, Vector,
    VectorRef,
};

use super::HigherOrderCall;
use super::elements::{Lists, Shape, ShapeBuilder};

/// What a match asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Any,
    All,
    None,
}

fn null(call: &HigherOrderCall<'_>) -> Vector {
    Vector::nulls(call.ty.clone(), call.rows.len())
}

fn array(shape: Shape, elements: VectorRef) -> Result<Vector> {
    ArrayVector::new(shape.offsets, shape.lengths, shape.validity, elements).map(Vector::Array)
}

/// What the lambda gives for each element.
pub(super) fn transform(call: &HigherOrderCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else { return Ok(null(call)) };
    let elements = lists.elements(call.rows)?;
    let values = call.lambda(0)?.evaluate(vec![elements.of(base)], &elements.rows)?;
    array(elements.shape, values)
}

/// The elements for which the lambda is true.
pub(super) fn filter(call: &HigherOrderCall<'_>) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else { return Ok(null(call)) };
    let elements = lists.elements(call.rows)?;
    let test = call.lambda(0)?.evaluate(vec![elements.of(base)], &elements.rows)?;
    let kept = elements.kept(&test)?;
    let values = kept.of(base);
    array(kept.shape, values)
}

/// Whether the lambda is true for any, all or none of the elements. What decides wins over null.
pub(super) fn matches(call: &HigherOrderCall<'_>, wanted: Match) -> Result<Vector> {
    let lists = Lists::new(call.arg(0)?)?;
    let Some(base) = lists.array()? else { return Ok(null(call)) };
    let elements = lists.elements(call.rows)?;
    let test = call.lambda(0)?.evaluate(vec![elements.of(base)], &elements.rows)?;
    let test = DecodedVector::new(&test)?;
    let decides = wanted != Match::All;
    let (mut answers, mut known) = (BitmapMut::new(), BitmapMut::new());
    let shape = &elements.shape;
    for (row, (start, len)) in shape.offsets.iter().zip(shape.lengths.iter()).enumerate() {
        let mut of_row = *start as usize..(*start + *len) as usize;
        let decided = of_row.clone().any(|e| !test.is_null(e) && test.boolean(e) == decides);
        let is_list = shape.validity.as_ref().is_none_or(|validity| validity.get(row));
        answers.push(decided == (wanted == Match::Any));
        known.push(is_list && (decided || !of_row.any(|e| test.is_null(e))));
    }
    FlatVector::boolean(answers.freeze(), known.freeze_validity()).map(Vector::Flat)
}

/// What the lambda gives for each pair of elements; a list that ends first goes on with nulls.
pub(super) fn zip_with(call: &HigherOrderCall<'_>) -> Result<Vector> {
    let sides = [Lists::new(call.arg(0)?)?, Lists::new(call.arg(1)?)?];
    let (Some(left), Some(right)) = (sides[0].array()?, sides[1].array()?) else {
        return Ok(null(call));
    };
    let mut shape = ShapeBuilder::default();
    let mut rows = BufferMut::new();
    let mut pairs = [Side::default(), Side::default()];
    for row in 0..call.rows.len() {
        let spans = [sides[0].span(row), sides[1].span(row)];
        let [Some(a), Some(b)] = spans else {
            shape.push(None)?;
            continue;
        };
        if !call.rows.contains(row) {
            shape.push(None)?;
            continue;
        }
        let len = a.len().max(b.len());
        shape.push(Some(len))?;
        for (side, span) in pairs.iter_mut().zip([a, b]) {
            (0..len).for_each(|i| side.push((i < span.len()).then_some(span.start + i)));
        }
        (0..len).for_each(|_| rows.push(row as u32));
    }
    let [a, b] = pairs;
    let parameters = vec![a.of(left), b.of(right)];
    let values = call.lambda(0)?.evaluate(parameters, &rows.freeze())?;
    array(shape.finish(), values)
}

/// Elements of one side of pairs.
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
