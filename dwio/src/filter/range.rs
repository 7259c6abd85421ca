//! Closed ranges, and ranges with exclusive or absent bounds.
//!
//! Integers and timestamps have a successor, so closed ranges are sufficient for them.
//! Floating-point numbers and strings use [`Bound`]: an absent bound is represented explicitly and
//! not by a very large finite value, which would exclude the infinities (rule S2.29).

use std::borrow::Borrow;

use vector::sync::Arc;

/// One bound of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound<T> {
    /// No bound.
    Unbounded,
    /// The value of the bound belongs to the range.
    Inclusive(T),
    /// The value of the bound does not belong to the range.
    Exclusive(T),
}

impl<T> Bound<T> {
    /// Returns the value of the bound; `None` if unbounded.
    pub fn value(&self) -> Option<&T> {
        match self {
            Bound::Unbounded => None,
            Bound::Inclusive(value) | Bound::Exclusive(value) => Some(value),
        }
    }

    /// Returns true if there is no bound.
    pub fn is_unbounded(&self) -> bool {
        matches!(self, Bound::Unbounded)
    }

    /// Returns true if the value of the bound does not belong to the range.
    pub fn is_exclusive(&self) -> bool {
        matches!(self, Bound::Exclusive(_))
    }

    /// Returns the opposite bound of the adjacent range on the other side: a value that one range
    /// excludes is included in the other.
    pub fn flipped(self) -> Self {
        match self {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Inclusive(value) => Bound::Exclusive(value),
            Bound::Exclusive(value) => Bound::Inclusive(value),
        }
    }

    /// Returns true if this bound, as a lower bound, admits `value`.
    #[inline]
    pub fn is_below<Q: PartialOrd + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        match self {
            Bound::Unbounded => true,
            Bound::Inclusive(end) => end.borrow() <= value,
            Bound::Exclusive(end) => end.borrow() < value,
        }
    }

    /// Returns true if this bound, as an upper bound, admits `value`.
    #[inline]
    pub fn is_above<Q: PartialOrd + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        match self {
            Bound::Unbounded => true,
            Bound::Inclusive(end) => end.borrow() >= value,
            Bound::Exclusive(end) => end.borrow() > value,
        }
    }
}

/// The values between two bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundRange<T> {
    /// Lower bound.
    pub lower: Bound<T>,
    /// Upper bound.
    pub upper: Bound<T>,
}

impl<T: PartialOrd + Clone> BoundRange<T> {
    /// Returns the intersection of both ranges; `None` if it is empty.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let range = BoundRange {
            lower: tighter(&self.lower, &other.lower, |a, b| a > b),
            upper: tighter(&self.upper, &other.upper, |a, b| a < b),
        };
        (!range.is_empty()).then_some(range)
    }

    /// Returns true if no value can lie between the bounds.
    pub fn is_empty(&self) -> bool {
        match (self.lower.value(), self.upper.value()) {
            (Some(lower), Some(upper)) => {
                lower > upper
                    || (lower == upper && (self.lower.is_exclusive() || self.upper.is_exclusive()))
            }
            _ => false,
        }
    }

    /// Returns the only value of the range if both bounds include the same value.
    pub fn single_value(&self) -> Option<&T> {
        match (&self.lower, &self.upper) {
            (Bound::Inclusive(lower), Bound::Inclusive(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }
}

/// Returns the tighter of two bounds; for equal values, the exclusive one.
fn tighter<T: PartialOrd + Clone>(
    a: &Bound<T>,
    b: &Bound<T>,
    is_inside: impl Fn(&T, &T) -> bool,
) -> Bound<T> {
    let first = match (a.value(), b.value()) {
        (None, _) => false,
        (_, None) => true,
        (Some(x), Some(y)) => is_inside(x, y) || (x == y && a.is_exclusive()),
    };
    if first { a.clone() } else { b.clone() }
}

impl BoundRange<Arc<[u8]>> {
    /// Returns the range of the strings that start with `prefix`.
    pub fn of_prefix(prefix: &[u8]) -> Self {
        // The upper bound is the prefix with its last byte below 255 incremented and the bytes
        // after it removed; there is none if all bytes are 255.
        let upper = match prefix.iter().rposition(|byte| *byte < u8::MAX) {
            Some(last) => {
                let mut next: Vec<u8> = prefix.iter().copied().take(last + 1).collect();
                next.iter_mut().skip(last).for_each(|byte| *byte += 1);
                Bound::Exclusive(next.into())
            }
            None => Bound::Unbounded,
        };
        BoundRange { lower: Bound::Inclusive(prefix.into()), upper }
    }

    /// Returns true if the string is in the range.
    #[inline]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.lower.is_below(bytes) && self.upper.is_above(bytes)
    }

    /// Returns the ranges outside this range, in order; each of their bounds is inclusive exactly
    /// if the bound of this range is exclusive (rule S2.38).
    pub fn complement(&self) -> Vec<Self> {
        if self.is_empty() {
            return vec![BoundRange { lower: Bound::Unbounded, upper: Bound::Unbounded }];
        }
        let below = BoundRange { lower: Bound::Unbounded, upper: self.lower.clone().flipped() };
        let above = BoundRange { lower: self.upper.clone().flipped(), upper: Bound::Unbounded };
        let mut ranges = Vec::with_capacity(2);
        ranges.extend((!below.upper.is_unbounded()).then_some(below));
        ranges.extend((!above.lower.is_unbounded()).then_some(above));
        ranges
    }
}

/// A range of floating-point numbers in the form used by tests: closed bounds, and whether NaN
/// passes. If `lower > upper`, no number passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosedFloats<T> {
    pub(super) lower: T,
    pub(super) upper: T,
    pub(super) nan: bool,
}

macro_rules! closed_floats {
    ($($t:ty),*) => { $(
        impl BoundRange<$t> {
            /// Returns the same range with closed bounds: an exclusive bound is replaced by the
            /// adjacent number.
            pub(super) fn closed(&self) -> ClosedFloats<$t> {
                let nothing = (<$t>::INFINITY, <$t>::NEG_INFINITY);
                let (lower, upper) = match (self.lower, self.upper) {
                    // No number is beyond an infinity, and an infinity has no adjacent number on
                    // that side.
                    (Bound::Exclusive(<$t>::INFINITY), _) => nothing,
                    (_, Bound::Exclusive(<$t>::NEG_INFINITY)) => nothing,
                    (lower, upper) => (
                        match lower {
                            Bound::Unbounded => <$t>::NEG_INFINITY,
                            Bound::Inclusive(v) => v,
                            Bound::Exclusive(v) => v.next_up(),
                        },
                        match upper {
                            Bound::Unbounded => <$t>::INFINITY,
                            Bound::Inclusive(v) => v,
                            Bound::Exclusive(v) => v.next_down(),
                        },
                    ),
                };
                ClosedFloats { lower, upper, nan: self.upper.is_unbounded() }
            }
        }

        impl ClosedFloats<$t> {
            #[inline]
            pub(super) fn contains(&self, value: $t) -> bool {
                ((value >= self.lower) & (value <= self.upper)) | (self.nan & value.is_nan())
            }
        }
    )* };
}
closed_floats!(f32, f64);

/// The values from `lower` to `upper`, both inclusive; empty if `lower > upper`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedRange<T> {
    /// Smallest value.
    pub lower: T,
    /// Largest value.
    pub upper: T,
}

impl<T: Ord + Copy> ClosedRange<T> {
    /// Returns the range from `lower` to `upper`.
    pub fn new(lower: T, upper: T) -> Self {
        ClosedRange { lower, upper }
    }

    /// Returns true if the value is in the range.
    #[inline]
    pub fn contains(&self, value: T) -> bool {
        (value >= self.lower) & (value <= self.upper)
    }

    /// Returns true if the range has no values.
    pub fn is_empty(&self) -> bool {
        self.lower > self.upper
    }

    /// Returns the intersection of both ranges; `None` if it is empty.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let range = Self::new(self.lower.max(other.lower), self.upper.min(other.upper));
        (!range.is_empty()).then_some(range)
    }
}
