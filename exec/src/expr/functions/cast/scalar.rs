//! Casts between scalar types: which ones exist, how they convert, and how they fail.
//!
//! | from \ to | integers | floats | decimal | BOOLEAN | VARCHAR | DATE, TIMESTAMP, TIME, UUID |
//! |---|---|---|---|---|---|---|
//! | integers | checked range | nearest | checked digits | not 0 | digits | |
//! | floats | rounded, checked | nearest | rounded, checked | not 0 | shortest | |
//! | decimal | rounded, checked | nearest | rounded, checked | not 0 | all digits of the scale | |
//! | BOOLEAN | 0 or 1 | 0 or 1 | 0 or 1 | | `true`, `false` | |
//! | VARCHAR | parsed | parsed | parsed | parsed | | parsed |
//! | DATE, TIMESTAMP, ... | | | | | ISO 8601 | DATE and TIMESTAMP both ways |
//!
//! Rounding is half away from zero. A value that does not convert is an `InvalidInput` error that
//! names it, or null in `try_cast`; only values of counted rows are considered. Casts from and to
//! text are in `varchar.rs`.

use vector::types::decimal::{fits, parse, power_of_ten, rescale};
use vector::types::temporal::TimeUnit;
use vector::{
    Bitmap, BitmapMut, BufferMut, Error, FlatType, FlatVector, Result, Timestamp, Type, TypeKind,
    Vector,
};

use super::nested;
use super::value_text::write_value;
use super::varchar;
use crate::expr::kernel::{Call, Kernel, Operand, Side, boolean_bits, map, wrong_storage};

/// Returns true when a cast from `from` to `to` exists; equivalent types and nulls always have one.
pub fn can_cast(from: &Type, to: &Type) -> bool {
    from.is_equivalent(to) || from == &Type::Unknown || bind(from, to, false).is_ok()
}

/// Types of a cast, and the treatment of values that do not convert.
#[derive(Debug, Clone)]
pub(super) struct Policy {
    pub(in crate::expr) from: Type,
    pub(in crate::expr) to: Type,
    /// True when a value that does not convert becomes null.
    pub(in crate::expr) null_on_failure: bool,
}

impl Policy {
    #[cold]
    pub(in crate::expr) fn error(&self, call: &Call<'_>, row: usize) -> Error {
        let mut text = String::new();
        if let Some(values) = call.args[0].flat_values() {
            write_value(&mut text, &self.from, values, call.args[0].index(row));
        }
        Error::invalid_input("a value cannot be cast")
            .with("value", text)
            .with("from", &self.from)
            .with("to", &self.to)
    }

    /// Returns the validity of a result in which the rows for which `failed` is true did not
    /// convert: they are null, or the first counted one is an error.
    pub(super) fn settle(
        &self,
        call: &Call<'_>,
        failed: impl Fn(usize) -> bool,
    ) -> Result<Option<Bitmap>> {
        let Some(first) = call.first_row(&failed) else { return Ok(call.validity.clone()) };
        if !self.null_on_failure {
            return Err(self.error(call, first));
        }
        let mut converted = BitmapMut::new();
        converted.push_n(true, call.num_rows());
        for row in call.rows.iter().filter(|row| failed(*row)) {
            converted.set(row, false);
        }
        Ok(Bitmap::and(call.validity.as_ref(), Some(&converted.freeze())))
    }
}

/// Creates the kernel of a cast. Casts between equivalent types and from UNKNOWN need none.
///
/// # Errors
/// `InvalidInput` when there is no such cast.
pub(in crate::expr) fn bind(from: &Type, to: &Type, null_on_failure: bool) -> Result<Kernel> {
    let policy = Policy { from: from.clone(), to: to.clone(), null_on_failure };
    if let Some(kernel) = varchar::bind(&policy) {
        return Ok(kernel);
    }
    let none = || {
        Err(Error::invalid_input("there is no cast between these types")
            .with("from", from)
            .with("to", to))
    };
    let number = |ty: &Type| ty.is_numeric() || ty == &Type::Boolean;
    // The row of a failed element is not known, so there is no TRY_CAST of nested types.
    if !null_on_failure && let Some(kernel) = nested::bind(from, to)? {
        return Ok(kernel);
    }
    match (from, to) {
        (from, to) if number(from) && number(to) => numbers(policy).map_or_else(none, Ok),
        (Type::Date, Type::Timestamp) => {
            Ok(convert::<i32, Timestamp>(policy, |days| Some(Timestamp::from_days(days))))
        }
        (Type::Timestamp, Type::Date) => {
            Ok(convert::<Timestamp, i32>(policy, |point| i32::try_from(point.days()).ok()))
        }
        (Type::Time(from), Type::Time(to)) => Ok(time(policy, *from, *to)),
        (Type::Timestamp, Type::Time(unit)) => {
            let unit = *unit;
            Ok(convert::<Timestamp, i64>(policy, move |point| {
                let midnight = point.days().checked_mul(86_400)?;
                Timestamp::new(point.seconds() - midnight, point.nanos()).to_units(unit)
            }))
        }
        _ => none(),
    }
}

fn time(policy: Policy, from: TimeUnit, to: TimeUnit) -> Kernel {
    let (from, to) = (from.per_second(), to.per_second());
    convert::<i64, i64>(policy, move |units| {
        if to >= from { units.checked_mul(to / from) } else { Some(units.div_euclid(from / to)) }
    })
}

/// Creates a kernel that converts each value with `f`; `None` is a value that does not convert.
fn convert<A: FlatType, B: FlatType + Default>(
    policy: Policy,
    f: impl Fn(A) -> Option<B> + Send + Sync + 'static,
) -> Kernel {
    Kernel::new(move |call| {
        let operand = Operand::<A>::new(&call.args[0])?;
        let side = operand.side();
        let mut failed = false;
        let values = map(side, call.num_rows(), |x| {
            f(x).unwrap_or_else(|| {
                failed = true;
                B::default()
            })
        });
        if !failed {
            return call.fixed(values);
        }
        let validity = policy.settle(call, |row| f(side.at(row)).is_none())?;
        FlatVector::from_buffer(call.ty.clone(), values, validity).map(Vector::Flat)
    })
}

/// Evaluates `$body` with `$t` as the storage type of a kind; returns `None` for a kind that is not
/// listed.
macro_rules! with_storage {
    ($kind:expr, $t:ident => $body:expr, $($listed:ident: $storage:ty),+) => {
        match $kind {
            $(TypeKind::$listed => {
                type $t = $storage;
                $body
            })+
            _ => return None,
        }
    };
}

macro_rules! with_integer {
    ($kind:expr, $t:ident => $body:expr) => {
        with_storage!(
            $kind, $t => $body,
            TinyInt: i8, SmallInt: i16, Integer: i32, BigInt: i64, HugeInt: i128
        )
    };
}

macro_rules! with_decimal {
    ($kind:expr, $t:ident => $body:expr) => {
        with_storage!($kind, $t => $body, BigInt: i64, HugeInt: i128)
    };
}

macro_rules! with_float {
    ($kind:expr, $t:ident => $body:expr) => {
        with_storage!($kind, $t => $body, Real: f32, Double: f64)
    };
}

/// Class of a numeric type, independent of its storage.
#[derive(Debug, Clone, Copy)]
enum Number {
    Boolean,
    Integer,
    Float,
    Decimal { precision: u8, scale: u8 },
}

fn number_of(ty: &Type) -> Option<Number> {
    Some(match ty {
        Type::Boolean => Number::Boolean,
        Type::Decimal { precision, scale } => {
            Number::Decimal { precision: *precision, scale: *scale }
        }
        Type::Float16 | Type::Real | Type::Double => Number::Float,
        ty if ty.is_numeric() => Number::Integer,
        _ => return None,
    })
}

#[expect(
    clippy::unnecessary_fallible_conversions,
    clippy::useless_conversion,
    reason = "one text serves all pairs of widths, some of which need no check"
)]
fn numbers(policy: Policy) -> Option<Kernel> {
    // Rounding to half precision is not implemented.
    if policy.to == Type::Float16 {
        return None;
    }
    let (from, to) = (policy.from.kind(), policy.to.kind());
    match (number_of(&policy.from)?, number_of(&policy.to)?) {
        (Number::Boolean, target) => from_boolean(to, target),
        (_, Number::Boolean) => to_boolean(from),
        (Number::Integer, Number::Integer) => with_integer!(from, A => with_integer!(to, B => {
            Some(convert::<A, B>(policy, |x| B::try_from(x).ok()))
        })),
        (Number::Integer, Number::Float) => with_integer!(from, A => with_float!(to, B => {
            Some(convert::<A, B>(policy, |x| Some(x as B)))
        })),
        (Number::Float, Number::Float) => with_float!(from, A => with_float!(to, B => {
            Some(convert::<A, B>(policy, |x| Some(x as B)))
        })),
        (Number::Float, Number::Integer) => with_float!(from, A => with_integer!(to, B => {
            Some(convert::<A, B>(policy, |x| B::try_from(round(f64::from(x))?).ok()))
        })),
        (Number::Integer, Number::Decimal { precision, scale }) => {
            with_integer!(from, A => with_decimal!(to, B => {
                Some(convert::<A, B>(policy, move |x| {
                    B::try_from(rescale(i128::from(x), 0, scale, precision)?).ok()
                }))
            }))
        }
        (Number::Float, Number::Decimal { precision, scale }) => {
            with_float!(from, A => with_decimal!(to, B => {
                Some(convert::<A, B>(policy, move |x: A| {
                    // The shortest decimal text of a float is the value that users expect.
                    B::try_from(parse(&format!("{x:e}"), precision, scale)?).ok()
                }))
            }))
        }
        (Number::Decimal { scale, .. }, Number::Integer) => {
            with_decimal!(from, A => with_integer!(to, B => {
                Some(convert::<A, B>(policy, move |x| {
                    B::try_from(rescale(i128::from(x), scale, 0, u8::MAX)?).ok()
                }))
            }))
        }
        (Number::Decimal { scale, .. }, Number::Float) => {
            with_decimal!(from, A => with_float!(to, B => {
                Some(convert::<A, B>(policy, move |x| {
                    Some(decimal_to_float(i128::from(x), scale) as B)
                }))
            }))
        }
        (Number::Decimal { scale: s1, .. }, Number::Decimal { precision, scale: s2 }) => {
            with_decimal!(from, A => with_decimal!(to, B => {
                Some(convert::<A, B>(policy, move |x| {
                    let x = i128::from(x);
                    let same = s1 == s2 && fits(x, precision);
                    let x = if same { x } else { rescale(x, s1, s2, precision)? };
                    B::try_from(x).ok()
                }))
            }))
        }
    }
}

/// Returns the nearest integer, half away from zero; `None` for NaN and beyond 128 bits.
fn round(x: f64) -> Option<i128> {
    let rounded = x.round();
    let limit = 2f64.powi(127);
    (rounded >= -limit && rounded < limit).then_some(rounded as i128)
}

/// Largest range of integers that a DOUBLE represents exactly.
const MAX_EXACT_DOUBLE: u128 = 1 << 53;
/// Largest exponent of a power of ten that a DOUBLE represents exactly.
const MAX_EXACT_POWER: u8 = 22;

/// Returns the DOUBLE nearest to a decimal.
fn decimal_to_float(value: i128, scale: u8) -> f64 {
    if scale == 0 {
        return value as f64;
    }
    // Both operands are exact, so the division rounds once, to the nearest value.
    if value.unsigned_abs() <= MAX_EXACT_DOUBLE
        && scale <= MAX_EXACT_POWER
        && let Some(unit) = power_of_ten(scale)
    {
        return value as f64 / unit as f64;
    }
    // A text of digits always parses.
    format!("{value}e-{scale}").parse().unwrap_or(f64::NAN)
}

fn from_boolean(to: TypeKind, target: Number) -> Option<Kernel> {
    fn numbers<B: FlatType>(zero: B, one: B) -> Kernel {
        Kernel::new(move |call| {
            let bits = boolean_bits(&call.args[0])?;
            let mut out = BufferMut::new();
            out.resize(call.num_rows(), zero);
            bits.ones().for_each(|row| out[row] = one);
            call.fixed(out.freeze())
        })
    }
    match target {
        Number::Boolean => None,
        Number::Float => with_float!(to, B => Some(numbers::<B>(0.0, 1.0))),
        Number::Integer => with_integer!(to, B => Some(numbers::<B>(0, 1))),
        // The value 1 has a digit before the point, which DECIMAL(p,p) cannot represent.
        Number::Decimal { precision, scale } => {
            let one = rescale(1, 0, scale, precision)?;
            with_decimal!(to, B => Some(numbers::<B>(0, B::try_from(one).ok()?)))
        }
    }
}

fn to_boolean(from: TypeKind) -> Option<Kernel> {
    fn test<A: FlatType + Default>() -> Kernel {
        Kernel::new(|call| {
            let operand = Operand::<A>::new(&call.args[0])?;
            let zero = Side::One(A::default());
            let len = call.num_rows();
            call.boolean(crate::expr::kernel::test_pairs(operand.side(), zero, len, |x: A, y| {
                x != y
            }))
        })
    }
    Some(match from {
        TypeKind::Real => test::<f32>(),
        TypeKind::Double => test::<f64>(),
        kind => with_integer!(kind, A => test::<A>()),
    })
}

/// Returns the error for an argument without strings in its counted rows.
pub(super) fn strings_error(ty: &Type) -> Error {
    wrong_storage(ty)
}
