//! Decimals as unscaled integers: text, rescaling and range checks.

use std::fmt;

use super::MAX_PRECISION;

/// Returns 10 to the power `exponent`, or `None` above 38.
pub fn power_of_ten(exponent: u8) -> Option<i128> {
    if exponent > MAX_PRECISION { None } else { 10i128.checked_pow(u32::from(exponent)) }
}

/// Returns true if `value` has at most `precision` digits.
pub fn fits(value: i128, precision: u8) -> bool {
    power_of_ten(precision).is_none_or(|bound| value.unsigned_abs() < bound.unsigned_abs())
}

/// Converts an unscaled value to another scale: exact if the scale grows, rounded half away from
/// zero if it shrinks. Returns `None` if the result has more than `precision` digits.
pub fn rescale(value: i128, from_scale: u8, to_scale: u8, precision: u8) -> Option<i128> {
    let result = if to_scale >= from_scale {
        value.checked_mul(power_of_ten(to_scale - from_scale)?)?
    } else {
        divide_rounded(value, power_of_ten(from_scale - to_scale)?)
    };
    fits(result, precision).then_some(result)
}

/// Returns `value / divisor`, rounded half away from zero; `divisor` must be positive.
pub fn divide_rounded(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    if rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs() {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// Returns `(high * 2^128 + low) / divisor`, rounded half away from zero, or `None` if the result
/// does not fit 128 bits or `divisor` is 0.
pub fn divide_wide_rounded(high: i64, low: i128, divisor: u64) -> Option<i128> {
    // The dividend has 192 bits in two's complement; `low` is signed, so its sign extends into the
    // top.
    let top = high.checked_add(if low < 0 { -1 } else { 0 })?;
    let (is_negative, bits) = (top < 0, low as u128);
    let (top, bits) = match (is_negative, bits) {
        (false, bits) => (top.unsigned_abs(), bits),
        (true, 0) => (top.unsigned_abs(), 0),
        (true, bits) => (top.unsigned_abs() - 1, bits.wrapping_neg()),
    };
    let divisor = u128::from(divisor);
    let (mut quotient, mut rest) = (0u128, 0u128);
    for limb in [top, (bits >> 64) as u64, bits as u64] {
        if quotient >> 64 != 0 {
            return None;
        }
        let dividend = rest << 64 | u128::from(limb);
        quotient = quotient << 64 | dividend.checked_div(divisor)?;
        rest = dividend % divisor;
    }
    let rounded = quotient.checked_add(u128::from(rest >= divisor - rest))?;
    match is_negative {
        true => 0i128.checked_sub_unsigned(rounded),
        false => i128::try_from(rounded).ok(),
    }
}

/// Writes the value with all digits of its scale: `-0.05`, `1.00`, `7`.
pub fn write(out: &mut impl fmt::Write, value: i128, scale: u8) -> fmt::Result {
    if value < 0 {
        out.write_str("-")?;
    }
    let digits = value.unsigned_abs();
    if scale == 0 {
        return write!(out, "{digits}");
    }
    match 10u128.checked_pow(u32::from(scale)) {
        Some(unit) => {
            let width = usize::from(scale);
            write!(out, "{}.{:0width$}", digits / unit, digits % unit)
        }
        None => write!(out, "0.{digits:0width$}", width = usize::from(scale)),
    }
}

/// Parses decimal text (`[+-]digits[.digits][e[+-]digits]`) at `scale`, rounding half away from
/// zero. Returns `None` if the text is not a number or the value has more than `precision` digits.
pub fn parse(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let text = text.trim();
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], rest[at + 1..].parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    // Number of digits of the mantissa that are kept once the exponent is applied; the next digit
    // determines the rounding.
    let kept = i64::from(scale) + i64::from(exponent) + whole.len() as i64;
    let mut value: i128 = 0;
    let mut taken: i64 = 0;
    let mut round = false;
    for digit in whole.bytes().chain(fraction.bytes()).map(|b| i128::from(b - b'0')) {
        if taken < kept {
            value = value.checked_mul(10)?.checked_add(digit)?;
        } else if taken == kept {
            round = digit >= 5;
        }
        taken += 1;
    }
    while taken < kept && value != 0 {
        value = value.checked_mul(10)?;
        taken += 1;
    }
    value = value.checked_add(i128::from(round))?;
    if negative {
        value = -value;
    }
    fits(value, precision).then_some(value)
}

/// Decodes a two's complement number from big-endian bytes. Bytes before the last 16 must only
/// repeat the sign, otherwise the result is `None`. Empty input is 0.
pub fn from_big_endian(bytes: &[u8]) -> Option<i128> {
    let Some(first) = bytes.first() else { return Some(0) };
    let sign = if first & 0x80 != 0 { 0xff } else { 0 };
    let mut raw = [sign; 16];
    if bytes.len() <= 16 {
        raw[16 - bytes.len()..].copy_from_slice(bytes);
        return Some(i128::from_be_bytes(raw));
    }
    let (front, tail) = bytes.split_at(bytes.len() - 16);
    raw.copy_from_slice(tail);
    let value = i128::from_be_bytes(raw);
    let same_sign = (value < 0) == (sign == 0xff);
    (front.iter().all(|b| *b == sign) && same_sign).then_some(value)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn text(value: i128, scale: u8) -> String {
        let mut out = String::new();
        write(&mut out, value, scale).unwrap();
        out
    }

    #[test]
    fn text_has_all_digits_of_the_scale() {
        assert_eq!(text(-5, 2), "-0.05");
        assert_eq!(text(100, 2), "1.00");
        assert_eq!(text(7, 0), "7");
        assert_eq!(text(i128::MIN, 0), i128::MIN.to_string());
    }

    #[test]
    fn parsing_rounds_half_away_from_zero_and_checks_the_precision() {
        assert_eq!(parse("12.345", 10, 2), Some(1235));
        assert_eq!(parse("-12.345", 10, 2), Some(-1235));
        assert_eq!(parse("1.5e2", 10, 1), Some(1500));
        assert_eq!(parse("15e-1", 10, 0), Some(2));
        assert_eq!(parse("999.99", 4, 1), None);
        assert_eq!(parse(".5", 4, 1), Some(5));
        assert_eq!(parse("0.00001", 4, 1), Some(0));
        for bad in ["", ".", "1.2.3", "abc", "1e", "--1"] {
            assert_eq!(parse(bad, 10, 2), None, "{bad}");
        }
    }

    /// Rounds the text of a number digit by digit with carries, as the expected result.
    fn parsed_by_digits(whole: &str, fraction: &str, scale: usize) -> String {
        let mut digits: Vec<u8> = [b"0", whole.as_bytes(), fraction.as_bytes()].concat();
        let kept = 1 + whole.len() + scale;
        digits.resize(digits.len().max(kept + 1), b'0');
        let round = digits[kept] >= b'5';
        digits.truncate(kept);
        if round {
            let nines = digits.iter().rev().take_while(|digit| **digit == b'9').count();
            digits[kept - nines..].fill(b'0');
            digits[kept - nines - 1] += 1;
        }
        let text = String::from_utf8(digits).unwrap();
        let text = text.trim_start_matches('0');
        if text.is_empty() { "0".into() } else { text.into() }
    }

    #[test]
    fn numbers_at_the_ends_of_precision_and_storage_are_parsed_or_refused_without_overflow() {
        let max = i128::MAX.to_string();
        let wholes =
            ["", "0", "9", "1", &max, &max[..38], "99999999999999999999999999999999999999"];
        let longer = ["170141183460469231731687303715884105728", &"9".repeat(39), &"9".repeat(400)];
        let fractions = ["", "4", "5", "49", "99999999999999999999", &"9".repeat(60)];
        for whole in wholes.into_iter().chain(longer) {
            for fraction in fractions.into_iter().filter(|f| !f.is_empty() || !whole.is_empty()) {
                for (precision, scale) in [(1, 0), (18, 2), (38, 0), (38, 1), (38, 20), (38, 38)] {
                    let digits = parsed_by_digits(whole, fraction, usize::from(scale));
                    let expected = digits.parse::<i128>().ok().filter(|v| fits(*v, precision));
                    for (sign, factor) in [("", 1), ("+", 1), ("-", -1)] {
                        let text = format!("{sign}{whole}.{fraction}");
                        let expected = expected.map(|value| value * factor);
                        assert_eq!(parse(&text, precision, scale), expected, "{text} {scale}");
                        // The same number, with its point moved by an exponent.
                        let moved = format!("{sign}{whole}{fraction}e-{}", fraction.len());
                        assert_eq!(parse(&moved, precision, scale), expected, "{moved} {scale}");
                    }
                }
            }
        }
        for exponent in [i32::MIN, -400, -39, 39, 400, i32::MAX] {
            let fits = exponent < 0;
            assert_eq!(parse(&format!("1e{exponent}"), 38, 0), fits.then_some(0), "{exponent}");
            assert_eq!(parse(&format!("0e{exponent}"), 38, 38), Some(0), "{exponent}");
        }
    }

    #[test]
    fn rescaling_is_exact_upwards_and_rounded_downwards() {
        assert_eq!(rescale(125, 2, 4, 10), Some(12_500));
        assert_eq!(rescale(125, 2, 1, 10), Some(13));
        assert_eq!(rescale(-125, 2, 1, 10), Some(-13));
        assert_eq!(rescale(124, 2, 1, 10), Some(12));
        assert_eq!(rescale(i128::MAX, 0, 1, 38), None);
    }

    #[test]
    fn wide_sums_are_divided_like_narrow_ones() {
        let mut random = crate::testing::Random::new(11);
        for _ in 0..20_000 {
            let bits = random.below(120) as u32;
            let low = i128::from(random.bits() as i64) << bits >> random.below(60);
            let divisor = (random.bits() >> random.below(64)).max(1);
            let narrow = divide_rounded(low, i128::from(divisor));
            assert_eq!(divide_wide_rounded(0, low, divisor), Some(narrow), "{low} / {divisor}");
            // The dividend is n * value, whose product needs more than 128 bits.
            let n = 1 + random.below(1 << 20) as u64;
            let value = i128::from(random.bits() as i64) * i128::from(random.bits() >> 1);
            let (mut high, mut sum) = (0i64, 0i128);
            for bit in (0..21).rev() {
                // Doubles the sum, and adds the value where the bit of `n` is set.
                high = 2 * high
                    + if sum > i128::MAX >> 1 {
                        1
                    } else if sum < i128::MIN >> 1 {
                        -1
                    } else {
                        0
                    };
                sum = sum.wrapping_mul(2);
                if n >> bit & 1 == 1 {
                    let (added, wrapped) = sum.overflowing_add(value);
                    sum = added;
                    high += if wrapped { value.signum() as i64 } else { 0 };
                }
            }
            assert_eq!(divide_wide_rounded(high, sum, n), Some(value), "{value} * {n}");
        }
        assert_eq!(divide_wide_rounded(0, i128::MIN, 1), Some(i128::MIN));
        assert_eq!(divide_wide_rounded(1, i128::MIN, 1), None);
        assert_eq!(divide_wide_rounded(i64::MIN, i128::MIN, 1), None);
        assert_eq!(divide_wide_rounded(3, 0, 2), None);
        assert_eq!(divide_wide_rounded(0, 5, 0), None);
    }

    #[test]
    fn big_endian_numbers_may_repeat_their_sign() {
        assert_eq!(from_big_endian(&[]), Some(0));
        assert_eq!(from_big_endian(&[0xff]), Some(-1));
        assert_eq!(from_big_endian(&[0; 20]), Some(0));
        assert_eq!(from_big_endian(&[0xff; 17]), Some(-1));
        let mut big = [0u8; 17];
        big[0] = 1;
        assert_eq!(from_big_endian(&big), None);
    }
}
