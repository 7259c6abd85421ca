//! Scalar values as text, the way VARCHAR casts and error messages show them.
//!
//! Floats are written with the fewest digits that read back as the same number: plain between
//! 0.001 and ten million, else as `1.5E10`; always with a point.

use std::fmt::Write;

use vector::types::decimal;
use vector::types::temporal::{NANOS_PER_SECOND, write_date, write_time};
use vector::{FlatType, FlatValues, Interval, TimeUnit, Type, match_flat};

/// Appends value `at` of a flat column of type `ty`, which must not be null.
pub(super) fn write_value(out: &mut String, ty: &Type, values: &FlatValues, at: usize) {
    // Writing to a string cannot fail.
    let _ = match (ty, values) {
        (Type::Date, FlatValues::Integer(days)) => write_date(out, i64::from(days[at])),
        (Type::Time(unit), FlatValues::BigInt(units)) => write_time_of_day(out, units[at], *unit),
        (Type::Decimal { scale, .. }, values) => {
            let value = match values {
                FlatValues::BigInt(v) => i128::from(v[at]),
                FlatValues::HugeInt(v) => v[at],
                _ => 0,
            };
            decimal::write(out, value, *scale)
        }
        (Type::Uuid, FlatValues::HugeInt(v)) => write_uuid(out, v[at]),
        (Type::Interval, FlatValues::HugeInt(v)) => {
            write!(out, "{}", Interval::from_stored(v[at]))
        }
        (_, FlatValues::Boolean(v)) => out.write_str(if v.get(at) { "true" } else { "false" }),
        (_, FlatValues::Real(v)) => write_float(out, f64::from(v[at]), &format!("{:e}", v[at])),
        (_, FlatValues::Double(v)) => write_float(out, v[at], &format!("{:e}", v[at])),
        (_, FlatValues::Timestamp(v)) => write!(out, "{}", v[at]),
        (_, FlatValues::String(v)) => out.write_str(&String::from_utf8_lossy(v.get(at))),
        (_, values) => match_flat!(
            values,
            fixed(v) => match v[at].value().as_i128() {
                Some(integer) => write!(out, "{integer}"),
                None => Ok(()),
            },
            boolean(_b) => Ok(()),
            string(_s) => Ok(())
        ),
    };
}

fn write_time_of_day(out: &mut String, units: i64, unit: TimeUnit) -> std::fmt::Result {
    let per_second = unit.per_second();
    let nanos = units.rem_euclid(per_second) as u64 * (NANOS_PER_SECOND / per_second as u64);
    write_time(out, units.div_euclid(per_second) as u64, nanos)
}

fn write_uuid(out: &mut String, value: i128) -> std::fmt::Result {
    let hex = format!("{:032x}", value as u128);
    let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    write!(out, "{a}-{b}-{c}-{d}-{e}")
}

/// `shortest` is the number in the form `-1.25e-7`, with the fewest digits for its width.
fn write_float(out: &mut String, value: f64, shortest: &str) -> std::fmt::Result {
    if value.is_nan() {
        return out.write_str("NaN");
    }
    if value.is_infinite() {
        return out.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-3..7).contains(&exponent) {
        let point = if mantissa.contains('.') { "" } else { ".0" };
        return write!(out, "{mantissa}{point}E{exponent}");
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    out.write_str(sign)?;
    if exponent < 0 {
        let zeros = (-exponent - 1) as usize;
        return write!(out, "0.{:0<zeros$}{digits}", "");
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return write!(out, "{digits:0<whole$}.0");
    }
    write!(out, "{}.{}", &digits[..whole], &digits[whole..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(value: f64) -> String {
        let mut out = String::new();
        write_float(&mut out, value, &format!("{value:e}")).unwrap();
        out
    }

    #[test]
    fn floats_are_short_and_always_have_a_point() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.00025, "2.5E-4"),
            (1_234_567.0, "1234567.0"),
            (12_345_678.0, "1.2345678E7"),
            (1e7, "1.0E7"),
            (1e300, "1.0E300"),
            (123.456, "123.456"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
        for value in [0.1 + 0.2, f64::MIN_POSITIVE, f64::MAX, 5e-324, 2.0 / 3.0] {
            assert_eq!(double(value).parse::<f64>().unwrap(), value);
        }
    }

    #[test]
    fn a_uuid_has_its_five_groups() {
        let mut out = String::new();
        write_uuid(&mut out, 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff).unwrap();
        assert_eq!(out, "00112233-4455-6677-8899-aabbccddeeff");
    }
}
