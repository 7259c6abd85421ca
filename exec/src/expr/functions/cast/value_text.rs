//! Scalar values as text, as written by casts to VARCHAR and shown in their error messages.
//!
//! The form is that of `vector::print`, except where it is specified by the language. A float from
//! 0.001 to ten million is written without exponent, with the fewest digits that read back as the
//! same number. Other floats are written like `1.5E10`, with up to 17 digits for DOUBLE and 8 for
//! REAL, without trailing zeros; there is always a decimal point. Timestamps have three digits of a
//! second, truncated, and years beyond 9999 have no sign. This is the form of Velox (observed in
//! 0.2.0: `1e300` is `1.0000000000000001E300`, a whole second `10000-01-01 00:00:00.000`).

use std::fmt::{self, Write};

use vector::{FlatValues, Timestamp, Type, print};

/// Appends value `at` of a flat column of type `ty`, which must not be null.
pub(super) fn write_value(out: &mut String, ty: &Type, values: &FlatValues, at: usize) {
    // Writing to a string cannot fail.
    let _ = match values {
        FlatValues::Real(v) => write_float(out, v[at].into(), &v[at], 7),
        FlatValues::Double(v) => write_float(out, v[at], &v[at], 16),
        FlatValues::Timestamp(v) => write_point(out, v[at]),
        other if *ty == Type::Date => {
            without_plus(out, |out| print::write_value(out, ty, &other.value(at)))
        }
        other => print::write_value(out, ty, &other.value(at)),
    };
}

fn write_point(out: &mut String, point: Timestamp) -> fmt::Result {
    let whole = Timestamp::new(point.seconds(), 0);
    without_plus(out, |out| write!(out, "{whole}"))?;
    write!(out, ".{:03}", point.nanos() / 1_000_000)
}

/// Writes a text that begins with a year, and removes its plus sign.
fn without_plus(out: &mut String, write: impl Fn(&mut String) -> fmt::Result) -> fmt::Result {
    let start = out.len();
    write(out)?;
    if out[start..].starts_with('+') {
        out.remove(start);
    }
    Ok(())
}

/// Writes a float. `float` is the same number in its own width, which determines the shortest
/// digits; `decimals` is the number of decimals in the form with an exponent.
fn write_float(
    out: &mut String,
    value: f64,
    float: &dyn fmt::LowerExp,
    decimals: usize,
) -> fmt::Result {
    if value.is_nan() {
        return out.write_str("NaN");
    }
    if value.is_infinite() {
        return out.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let is_plain = value == 0.0 || (0.001..1e7).contains(&value.abs());
    let text = if is_plain { format!("{float:e}") } else { format!("{float:.decimals$e}") };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    if !is_plain {
        let mantissa = mantissa.trim_end_matches('0');
        let zero = if mantissa.ends_with('.') { "0" } else { "" };
        return write!(out, "{mantissa}{zero}E{exponent}");
    }
    let exponent: i32 = exponent.parse().unwrap_or(0);
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
        write_float(&mut out, value, &value, 16).unwrap();
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
            (0.00025, "2.5000000000000001E-4"),
            (1_234_567.0, "1234567.0"),
            (12_345_678.0, "1.2345678E7"),
            (1e7, "1.0E7"),
            (1e300, "1.0000000000000001E300"),
            (1e23, "9.9999999999999992E22"),
            (-1e22, "-1.0E22"),
            (1e-7, "9.9999999999999995E-8"),
            (5e-324, "4.9406564584124654E-324"),
            (9_999_999.999, "9999999.999"),
            (123.456, "123.456"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(value), text);
        }
        for value in [0.1 + 0.2, f64::MIN_POSITIVE, f64::MAX, 5e-324, 2.0 / 3.0] {
            assert_eq!(double(value).parse::<f64>().unwrap(), value);
        }
        let real = |value: f32| {
            let mut out = String::new();
            write_float(&mut out, value.into(), &value, 7).unwrap();
            out
        };
        for (value, text) in [
            (1e10, "1.0E10"),
            (1e-5, "9.9999997E-6"),
            (f32::MAX, "3.4028235E38"),
            (f32::MIN_POSITIVE, "1.1754944E-38"),
            (12_345_678.9, "1.2345679E7"),
            (0.1, "0.1"),
        ] {
            assert_eq!(real(value), text);
        }
    }

    #[test]
    fn points_in_time_have_three_digits_of_a_second() {
        let point = |seconds, nanos| {
            let mut out = String::new();
            write_point(&mut out, Timestamp::new(seconds, nanos)).unwrap();
            out
        };
        assert_eq!(point(0, 0), "1970-01-01 00:00:00.000");
        assert_eq!(point(-1, 999_999_999), "1969-12-31 23:59:59.999");
        assert_eq!(point(0, 1_500_000), "1970-01-01 00:00:00.001");
        assert_eq!(point(253_402_300_800, 0), "10000-01-01 00:00:00.000");
    }
}
