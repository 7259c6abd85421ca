//! Casts from and to VARCHAR.
//!
//! Text may have white space around a number, date or boolean, but not within. `value_text.rs` defines
//! the written form. All written values are read back as the same value, except INTERVAL, which is
//! not read.

use vector::types::decimal;
use vector::types::temporal::{NANOS_PER_SECOND, parse_date, parse_time};
use vector::{
    BitmapMut, BufferMut, FlatType, FlatValues, FlatVector, Result, StringBuilder, Timestamp, Type,
    TypeKind, Vector,
};

use super::scalar::{Policy, strings_error};
use super::value_text::write_value;
use crate::expr::kernel::{Call, Kernel};

/// Creates the kernel of a cast from or to text; `None` when the cast is not one or does not exist.
pub(in crate::expr) fn bind(policy: &Policy) -> Option<Kernel> {
    let policy = policy.clone();
    match (&policy.from, &policy.to) {
        (Type::Varchar, Type::Varbinary) | (Type::Varbinary, Type::Varchar) => {
            Some(Kernel::new(relabelled))
        }
        (from, Type::Varchar) if !from.is_nested() && from != &Type::Unknown => {
            Some(Kernel::new(move |call| write_all(&policy.from, call)))
        }
        (Type::Varchar, _) => from_text(policy),
        _ => None,
    }
}

/// Returns the same bytes with another type.
fn relabelled(call: &Call<'_>) -> Result<Vector> {
    let argument = &call.args[0];
    let Some(FlatValues::String(strings)) = argument.flat_values() else {
        return Err(strings_error(argument.ty()));
    };
    let mut views = BufferMut::with_capacity(call.num_rows());
    views.extend((0..call.num_rows()).map(|row| strings.views()[argument.index(row)]));
    call.strings(vector::StringValues::new(views.freeze(), strings.buffers().clone()))
}

fn write_all(from: &Type, call: &Call<'_>) -> Result<Vector> {
    let argument = &call.args[0];
    let Some(values) = argument.flat_values() else { return Err(strings_error(argument.ty())) };
    match (from, values) {
        (Type::TinyInt, FlatValues::TinyInt(values)) => return write_integers(call, values),
        (Type::SmallInt, FlatValues::SmallInt(values)) => return write_integers(call, values),
        (Type::Integer, FlatValues::Integer(values)) => return write_integers(call, values),
        (Type::BigInt, FlatValues::BigInt(values)) => return write_integers(call, values),
        _ => {}
    }
    let mut out = StringBuilder::new();
    let mut text = String::new();
    for row in 0..call.num_rows() {
        text.clear();
        if call.rows.contains(row) {
            write_value(&mut text, from, values, argument.index(row));
        }
        out.push(text.as_bytes());
    }
    call.strings(out.finish()?)
}

/// Writes integers, which are frequent, without the formatting machinery.
fn write_integers<T: Copy + Into<i64>>(call: &Call<'_>, values: &[T]) -> Result<Vector> {
    let argument = &call.args[0];
    let mut out = StringBuilder::new();
    let mut digits = [0; MAX_DIGITS];
    for row in 0..call.num_rows() {
        match call.rows.contains(row) {
            true => out.push(decimal_digits(values[argument.index(row)].into(), &mut digits)),
            false => out.push(b""),
        }
    }
    call.strings(out.finish()?)
}

/// Maximum length of a 64-bit integer with its sign.
const MAX_DIGITS: usize = 20;

/// Writes the number in decimal at the end of `digits`.
fn decimal_digits(value: i64, digits: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut rest = value.unsigned_abs();
    let mut start = MAX_DIGITS;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    &digits[start..]
}

fn from_text(policy: Policy) -> Option<Kernel> {
    macro_rules! number {
        ($t:ty) => {
            parsed::<$t>(policy, |text| text.parse().ok())
        };
    }
    Some(match &policy.to {
        Type::TinyInt => number!(i8),
        Type::SmallInt => number!(i16),
        Type::Integer => number!(i32),
        Type::BigInt => number!(i64),
        Type::HugeInt => number!(i128),
        Type::Real => number!(f32),
        Type::Double => number!(f64),
        Type::Date => parsed::<i32>(policy, |text| i32::try_from(parse_date(text)?).ok()),
        Type::Timestamp => parsed::<Timestamp>(policy, Timestamp::parse),
        Type::Time(unit) => {
            let per_second = unit.per_second();
            parsed::<i64>(policy, move |text| {
                let (seconds, nanos) = parse_time(text)?;
                let part = nanos / (NANOS_PER_SECOND / per_second as u64);
                Some(seconds * per_second + part as i64)
            })
        }
        Type::Uuid => parsed::<i128>(policy, parse_uuid),
        Type::Decimal { precision, scale } => {
            let (precision, scale) = (*precision, *scale);
            if policy.to.kind() == TypeKind::BigInt {
                parsed::<i64>(policy, move |text| {
                    i64::try_from(decimal::parse(text, precision, scale)?).ok()
                })
            } else {
                parsed::<i128>(policy, move |text| decimal::parse(text, precision, scale))
            }
        }
        Type::Boolean => Kernel::new(move |call| booleans(&policy, call)),
        _ => return None,
    })
}

fn parse_uuid(text: &str) -> Option<i128> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hex = groups.concat();
    let shaped = matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32]);
    if !shaped || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(&hex, 16).ok().map(|v| v as i128)
}

fn parse_boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(["true", "t", "1"]) {
        Some(true)
    } else if is(["false", "f", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// Returns the text of a row without surrounding white space; empty when it is not valid UTF-8,
/// which parses as no value.
fn text_of<'a>(call: &'a Call<'_>, row: usize) -> &'a str {
    std::str::from_utf8(call.args[0].string(row)).unwrap_or("").trim()
}

fn parsed<B: FlatType + Default>(
    policy: Policy,
    parse: impl Fn(&str) -> Option<B> + Send + Sync + 'static,
) -> Kernel {
    Kernel::new(move |call| {
        let mut out = BufferMut::new();
        out.resize(call.num_rows(), B::default());
        let mut failed = false;
        for row in call.rows.iter() {
            match parse(text_of(call, row)) {
                Some(value) => out[row] = value,
                None => failed = true,
            }
        }
        let values = out.freeze();
        if !failed {
            return call.fixed(values);
        }
        let validity = policy.settle(call, |row| parse(text_of(call, row)).is_none())?;
        FlatVector::from_buffer(call.ty.clone(), values, validity).map(Vector::Flat)
    })
}

fn booleans(policy: &Policy, call: &Call<'_>) -> Result<Vector> {
    let mut out = BitmapMut::new();
    out.push_n(false, call.num_rows());
    let mut failed = false;
    for row in call.rows.iter() {
        match parse_boolean(text_of(call, row)) {
            Some(value) => out.set(row, value),
            None => failed = true,
        }
    }
    let validity = if failed {
        policy.settle(call, |row| parse_boolean(text_of(call, row)).is_none())?
    } else {
        call.validity.clone()
    };
    FlatVector::boolean(out.freeze(), validity).map(Vector::Flat)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_written_as_everywhere() {
        let mut digits = [0; MAX_DIGITS];
        let powers = (0..63).flat_map(|power| [(1i64 << power) - 1, 1 << power, -(1 << power)]);
        for value in powers.chain([0, 10, -10, 99, 100, i64::MIN, i64::MAX]) {
            assert_eq!(decimal_digits(value, &mut digits), value.to_string().as_bytes());
        }
    }
}
