//! Ranges with closed ends, and ranges whose ends may be open or missing.
//!
//! Integers and timestamps have a next value, so closed ranges say everything. Floats and strings
//! use [`Bound`]: an end that is not there is said so, not played by a very large value, which
//! would shut out the infinities (rule S2.29).

use std::borrow::Borrow;

use vector::sync::Arc;

/// One end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound<T> {
    /// No end.
    Unbounded,
    /// The end belongs to the range.
    Inclusive(T),
    /// The end does not belong to the range.
    Exclusive(T),
}

impl<T> Bound<T> {
    /// The end's value.
    pub fn value(&self) -> Option<&T> {
        match self {
            Bound::Unbounded => None,
            Bound::Inclusive(value) | Bound::Exclusive(value) => Some(value),
        }
    }

    /// True when there is no end.
    pub fn is_unbounded(&self) -> bool {
        matches!(self, Bound::Unbounded)
    }

    /// True when the end's value does not belong to the range.
    pub fn is_exclusive(&self) -> bool {
        matches!(self, Bound::Exclusive(_))
    }

    /// The end of the values on the other side: what one range excludes the next includes.
    pub fn flipped(self) -> Self {
        match self {
            Bound::Unbounded => Bound::Unbounded,
            Bound::Inclusive(value) => Bound::Exclusive(value),
            Bound::Exclusive(value) => Bound::Inclusive(value),
        }
    }

    /// True when this, as a lower end, lets `value` in.
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

    /// True when this, as an upper end, lets `value` in.
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

/// Values between two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundRange<T> {
    /// The lower end.
    pub lower: Bound<T>,
    /// The upper end.
    pub upper: Bound<T>,
}

impl<T: PartialOrd + Clone> BoundRange<T> {
    /// What is in both ranges; `None` when nothing can be.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let range = BoundRange {
            lower: tighter(&self.lower, &other.lower, |a, b| a > b),
            upper: tighter(&self.upper, &other.upper, |a, b| a < b),
        };
        (!range.is_empty()).then_some(range)
    }

    /// True when the ends leave nothing between them.
    pub fn is_empty(&self) -> bool {
        match (self.lower.value(), self.upper.value()) {
            (Some(lower), Some(upper)) => {
                lower > upper
                    || (lower == upper && (self.lower.is_exclusive() || self.upper.is_exclusive()))
            }
            _ => false,
        }
    }

    /// The one value of the range, if both ends are that value.
    pub fn single_value(&self) -> Option<&T> {
        match (&self.lower, &self.upper) {
            (Bound::Inclusive(lower), Bound::Inclusive(upper)) if lower == upper => Some(lower),
            _ => None,
        }
    }
}

/// The end that lets less in; on the same value the exclusive one.
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
    /// The strings that begin with `prefix`.
    pub fn of_prefix(prefix: &[u8]) -> Self {
        // The first string behind them ends with the next byte, where there is one.
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

    /// True when the string is inside.
    #[inline]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.lower.is_below(bytes) && self.upper.is_above(bytes)
    }

    /// The accepted ranges of the complement, in order (rule S2.38).
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

/// A range of floats in the form that is tested: closed ends, and whether NaN passes. Nothing but
/// perhaps NaN passes when `lower > upper`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosedFloats<T> {
    pub(super) lower: T,
    pub(super) upper: T,
    pub(super) nan: bool,
}

macro_rules! closed_floats {
    ($($t:ty),*) => { $(
        impl BoundRange<$t> {
            /// The same range with closed ends: an open end becomes the float next to it.
            pub(super) fn closed(&self) -> ClosedFloats<$t> {
                let nothing = (<$t>::INFINITY, <$t>::NEG_INFINITY);
                let (lower, upper) = match (self.lower, self.upper) {
                    // No number lies beyond an infinity, and no float stands next to it.
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

/// Values from `lower` to `upper`, both included; none when `lower > upper`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedRange<T> {
    /// The lowest value.
    pub lower: T,
    /// The highest value.
    pub upper: T,
}

impl<T: Ord + Copy> ClosedRange<T> {
    /// The values from `lower` to `upper`.
    pub fn new(lower: T, upper: T) -> Self {
        ClosedRange { lower, upper }
    }

    /// True when the value is inside.
    #[inline]
    pub fn contains(&self, value: T) -> bool {
        (value >= self.lower) & (value <= self.upper)
    }

    /// True when no value is inside.
    pub fn is_empty(&self) -> bool {
        self.lower > self.upper
    }

    /// What is in both ranges; `None` when nothing is.
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let range = Self::new(self.lower.max(other.lower), self.upper.min(other.upper));
        (!range.is_empty()).then_some(range)
    }
}
