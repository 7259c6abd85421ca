//! Random filters of every kind, each with an independent model of the values that it passes.

use std::cmp::Ordering;

use dwio::filter::{Bound, BoundRange, ClosedRange, Filter, LikePattern, ValueTest};
use vector::sync::Arc;
use vector::{Timestamp, Type, TypeKind};

use super::values::Datum;
use crate::random_files::one_of;
use crate::support::random::Random;

/// A bound of a range and whether it is exclusive; `None` is unbounded.
type Side = Option<(Datum, bool)>;

/// Model of the values that a filter passes: null or not, and values inside of some ranges or
/// outside of all.
#[derive(Debug, Clone)]
pub(super) struct Model {
    null: bool,
    negated: bool,
    /// Lower and upper bounds, each a value and whether the value itself is excluded.
    ranges: Vec<(Side, Side)>,
    /// Texts that a string contains in this order, with anything around them.
    pieces: Option<Vec<Vec<u8>>>,
}

impl Model {
    fn new(null: bool, negated: bool, ranges: Vec<(Side, Side)>) -> Self {
        Model { null, negated, ranges, pieces: None }
    }

    fn of_pieces(null: bool, negated: bool, pieces: Vec<Vec<u8>>) -> Self {
        Model { pieces: Some(pieces), ..Model::new(null, negated, Vec::new()) }
    }

    pub(super) fn passes(&self, datum: &Datum) -> bool {
        match datum {
            Datum::Null => self.null,
            // Nested columns are tested with unbounded ranges only.
            Datum::Nested => self.ranges.is_empty() == self.negated,
            Datum::Bytes(value) if self.pieces.is_some() => {
                has_pieces(value, self.pieces.as_deref().unwrap_or(&[])) != self.negated
            }
            value => self.ranges.iter().any(|range| is_inside(range, value)) != self.negated,
        }
    }
}

fn has_pieces(text: &[u8], pieces: &[Vec<u8>]) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return true };
    (0..=text.len())
        .any(|at| text[at..].starts_with(piece) && has_pieces(&text[at + piece.len()..], rest))
}

fn is_inside((lower, upper): &(Side, Side), value: &Datum) -> bool {
    let inside = |side: &Side, beyond: Ordering| match side {
        None => true,
        Some((bound, is_excluded)) => match value.order(bound) {
            Ordering::Equal => !is_excluded,
            order => order != beyond,
        },
    };
    inside(lower, Ordering::Less) && inside(upper, Ordering::Greater)
}

/// Families of values that have separate filter kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Bool,
    Integer,
    Huge,
    Real,
    Double,
    Bytes,
    Timestamp,
    Nested,
}

fn family(ty: &Type) -> Family {
    match ty.kind() {
        TypeKind::Boolean => Family::Bool,
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::Integer | TypeKind::BigInt => {
            Family::Integer
        }
        TypeKind::HugeInt => Family::Huge,
        TypeKind::Real => Family::Real,
        TypeKind::Double => Family::Double,
        TypeKind::Varchar | TypeKind::Varbinary => Family::Bytes,
        TypeKind::Timestamp => Family::Timestamp,
        _ => Family::Nested,
    }
}

/// Returns a random filter on values of `ty` with its model; `samples` are values that occur.
pub(super) fn random_filter(ty: &Type, samples: &[Datum], random: &mut Random) -> (Filter, Model) {
    let null = random.once_in(3);
    let family = family(ty);
    if family == Family::Nested || random.once_in(6) {
        return without_values(random);
    }
    let values = Samples { values: samples, family };
    match family {
        Family::Bool => {
            let value = random.once_in(2);
            let ranges = vec![exactly(Datum::Bool(value))];
            (Filter::boolean(value, null), Model::new(null, false, ranges))
        }
        Family::Integer if random.once_in(12) => {
            let is_true = random.once_in(2);
            let zero = vec![exactly(Datum::Int(0))];
            (Filter::boolean(is_true, null), Model::new(null, is_true, zero))
        }
        Family::Bytes if random.once_in(4) => values.pattern(null, random),
        _ => match random.below(4) {
            0 | 1 => values.range(null, random),
            2 if !matches!(family, Family::Real | Family::Double | Family::Timestamp) => {
                values.list(null, random)
            }
            _ => values.multi_range(null, random),
        },
    }
}

fn without_values(random: &mut Random) -> (Filter, Model) {
    match random.below(12) {
        0 => (Filter::AlwaysFalse, Model::new(false, false, Vec::new())),
        1 | 2 => (Filter::AlwaysTrue, Model::new(true, true, Vec::new())),
        3..=6 => (Filter::IsNull, Model::new(true, false, Vec::new())),
        _ => (Filter::IsNotNull, Model::new(false, true, Vec::new())),
    }
}

fn exactly(value: Datum) -> (Side, Side) {
    (Some((value.clone(), false)), Some((value, false)))
}

/// Source of the bounds of filters.
struct Samples<'a> {
    values: &'a [Datum],
    family: Family,
}

impl Samples<'_> {
    /// Returns a value that occurs, one near it, or an arbitrary one.
    fn value(&self, random: &mut Random) -> Datum {
        let sample = match self.values.len() as u64 {
            0 => None,
            len => self.values.get(random.below(len) as usize),
        };
        let near = random.once_in(4);
        match (self.family, sample) {
            (Family::Integer, Some(Datum::Int(value))) if near => {
                let moved = *value + i128::from(random.below(5)) - 2;
                Datum::Int(moved.clamp(i64::MIN.into(), i64::MAX.into()))
            }
            (Family::Real | Family::Double, Some(Datum::Float(value))) if value.is_nan() => {
                Datum::Float(one_of(random, &[0.0, -0.0, f64::INFINITY, -7.5]))
            }
            (Family::Bytes, Some(Datum::Bytes(value))) if near => {
                let mut value = value.clone();
                match random.below(3) {
                    0 => value.truncate(value.len() / 2),
                    1 => value.push(random.below(256) as u8),
                    _ => value.clear(),
                }
                Datum::Bytes(value)
            }
            (_, Some(value)) => value.clone(),
            (Family::Real | Family::Double, None) => Datum::Float(0.5),
            (Family::Bytes, None) => Datum::Bytes(b"b".to_vec()),
            (_, None) => Datum::Int(random.below(100).into()),
        }
    }

    /// Returns two bounds, which are sometimes in the wrong order and make an empty range.
    fn sides(&self, random: &mut Random) -> (Side, Side) {
        let (mut a, mut b) = (self.value(random), self.value(random));
        if a.order(&b) == Ordering::Greater && !random.once_in(10) {
            std::mem::swap(&mut a, &mut b);
        }
        let can_exclude = matches!(self.family, Family::Real | Family::Double | Family::Bytes);
        let mut excluded = || can_exclude && random.once_in(3);
        let (mut lower, mut upper) = (Some((a, excluded())), Some((b, excluded())));
        match random.below(4) {
            0 => lower = self.open(true),
            1 => upper = self.open(false),
            _ => {}
        }
        (lower, upper)
    }

    /// Returns an unbounded side; families whose ranges are always closed have the least or
    /// greatest value instead.
    fn open(&self, is_lower: bool) -> Side {
        let closed =
            |min: i128, max: i128| Some((Datum::Int(if is_lower { min } else { max }), false));
        match self.family {
            Family::Integer => closed(i64::MIN.into(), i64::MAX.into()),
            Family::Huge => closed(i128::MIN, i128::MAX),
            Family::Timestamp => closed(-(1 << 90), 1 << 90),
            _ => None,
        }
    }

    fn range(&self, null: bool, random: &mut Random) -> (Filter, Model) {
        let sides = self.sides(random);
        let can_negate = matches!(self.family, Family::Integer | Family::Bytes);
        let is_negated = can_negate && random.once_in(3);
        let test = match (self.test(&sides), is_negated) {
            (ValueTest::BigintRange(range), true) => ValueTest::NegatedBigintRange(range),
            (ValueTest::BytesRange(range), true) => ValueTest::NegatedBytesRange(range),
            (test, _) => test,
        };
        (Filter::values(test, null), Model::new(null, is_negated, vec![sides]))
    }

    fn list(&self, null: bool, random: &mut Random) -> (Filter, Model) {
        let len = one_of(random, &[1, 2, 3, 9, 40]);
        let values: Vec<Datum> = (0..len).map(|_| self.value(random)).collect();
        let is_negated = self.family != Family::Huge && random.once_in(3);
        let filter = match self.family {
            Family::Integer => {
                let values = values.iter().map(|v| int(v) as i64).collect();
                match is_negated {
                    true => Filter::negated_bigint_values(values, null),
                    false => Filter::bigint_values(values, null),
                }
            }
            Family::Huge => Filter::hugeint_values(values.iter().map(int).collect(), null),
            _ => {
                let values = values.iter().map(bytes).collect();
                match is_negated {
                    true => Filter::negated_bytes_values(values, null),
                    false => Filter::bytes_values(values, null),
                }
            }
        };
        let ranges = values.into_iter().map(exactly).collect();
        (filter, Model::new(null, is_negated, ranges))
    }

    /// Returns a LIKE pattern of parts of a value.
    fn pattern(&self, null: bool, random: &mut Random) -> (Filter, Model) {
        let value = bytes(&self.value(random));
        let (mut pieces, mut rest) = (Vec::new(), &*value);
        for _ in 0..1 + random.below(2) {
            rest = &rest[random.below(rest.len() as u64 + 1) as usize..];
            let (piece, after) = rest.split_at(rest.len().min(1 + random.below(8) as usize));
            pieces.push(piece.to_vec());
            rest = after;
        }
        let mut text = b"%".to_vec();
        for piece in &pieces {
            for byte in piece {
                // Only characters with a special meaning are escaped.
                text.extend(b"%_!".contains(byte).then_some(b'!'));
                text.push(*byte);
            }
            text.push(b'%');
        }
        let pattern = LikePattern::parse(&text, Some(b"!")).unwrap();
        let negated = random.once_in(3);
        let filter = match negated {
            true => Filter::not_like(pattern, null),
            false => Filter::like(pattern, null),
        };
        (filter, Model::of_pieces(null, negated, pieces))
    }

    fn multi_range(&self, null: bool, random: &mut Random) -> (Filter, Model) {
        let len = 2 + random.below(3);
        let ranges: Vec<_> = (0..len).map(|_| self.sides(random)).collect();
        let tests: Vec<ValueTest> = ranges.iter().map(|sides| self.test(sides)).collect();
        let filter = match self.family {
            Family::Integer => {
                let closed = tests.into_iter().filter_map(|test| match test {
                    ValueTest::BigintRange(range) => Some(range),
                    _ => None,
                });
                Filter::bigint_multi_range(closed.collect(), null)
            }
            _ => Filter::multi_range(tests, null),
        };
        (filter, Model::new(null, false, ranges))
    }

    fn test(&self, (lower, upper): &(Side, Side)) -> ValueTest {
        fn bounds<T>(lower: &Side, upper: &Side, value: impl Fn(&Datum) -> T) -> BoundRange<T> {
            let bound = |side: &Side| match side {
                None => Bound::Unbounded,
                Some((bound, true)) => Bound::Exclusive(value(bound)),
                Some((bound, false)) => Bound::Inclusive(value(bound)),
            };
            BoundRange { lower: bound(lower), upper: bound(upper) }
        }
        let closed = |side: &Side| side.as_ref().map_or(0, |(bound, _)| int(bound));
        match self.family {
            Family::Real => {
                ValueTest::FloatRange(bounds(lower, upper, |value| float(value) as f32))
            }
            Family::Double => ValueTest::DoubleRange(bounds(lower, upper, float)),
            Family::Bytes => ValueTest::BytesRange(bounds(lower, upper, bytes)),
            Family::Huge => ValueTest::HugeintRange(ClosedRange::new(closed(lower), closed(upper))),
            Family::Timestamp => {
                let (lower, upper) = (timestamp(closed(lower)), timestamp(closed(upper)));
                ValueTest::TimestampRange(ClosedRange::new(lower, upper))
            }
            _ => {
                let (lower, upper) = (closed(lower) as i64, closed(upper) as i64);
                ValueTest::BigintRange(ClosedRange::new(lower, upper))
            }
        }
    }
}

fn int(datum: &Datum) -> i128 {
    match datum {
        Datum::Int(value) => *value,
        other => panic!("{other:?} is no integer"),
    }
}

fn float(datum: &Datum) -> f64 {
    match datum {
        Datum::Float(value) => *value,
        other => panic!("{other:?} is no float"),
    }
}

fn bytes(datum: &Datum) -> Arc<[u8]> {
    match datum {
        Datum::Bytes(value) => value.as_slice().into(),
        other => panic!("{other:?} is no string"),
    }
}

fn timestamp(nanos: i128) -> Timestamp {
    let second = 1_000_000_000;
    Timestamp::new(nanos.div_euclid(second) as i64, nanos.rem_euclid(second) as u64)
}
