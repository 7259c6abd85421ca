//! Scalar values as text, the way VARCHAR casts and their error messages show them.
//!
//! As everywhere (`vector::print`), except for floats, whose form is part of the language. They
//! are written with the fewest digits that read back as the same number: plain between
//! 0.001 and ten million, else as `1.5E10`; always with a point.

use std::fmt::Write;

use vector::{FlatValues, Type, print};

/// Appends value `at` of a flat column of type `ty`, which must not be null.
pub(super) fn write_value(out: &mut String, ty: &Type, values: &FlatValues, at: usize) {
    // Writing to a string cannot fail.
    let _ = match values {
        FlatValues::Real(v) => write_float(out, f64::from(v[at]), &format!("{:e}", v[at])),
        FlatValues::Double(v) => write_float(out, v[at], &format!("{:e}", v[at])),
        other => print::write_value(out, ty, &other.value(at)),
    };
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

#[cfg(all(test, not(loom)))]
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
}
