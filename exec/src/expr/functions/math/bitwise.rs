//! Bit functions of integers. Results are BIGINT, except those of shifts, which have the type of
//! the shifted value and drop bits that leave it.

use vector::{Error, Result, TypeKind, Vector};

use crate::expr::by_row::{Integers, numbers};
use crate::expr::kernel::Call;
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows("bitwise_and", &["(BIGINT, BIGINT) -> BIGINT"], and),
    Function::rows("bitwise_or", &["(BIGINT, BIGINT) -> BIGINT"], or),
    Function::rows("bitwise_xor", &["(BIGINT, BIGINT) -> BIGINT"], xor),
    Function::rows(
        "bitwise_arithmetic_shift_right",
        &["(BIGINT, BIGINT) -> BIGINT"],
        arithmetic_shift_right,
    ),
    Function::rows("bit_count", &["(BIGINT, BIGINT) -> BIGINT"], bit_count),
    Function::rows("bitwise_not", &["(BIGINT) -> BIGINT"], not),
    Function::rows("bitwise_left_shift", &["(T, BIGINT) -> T for integer T"], left_shift),
    Function::rows("bitwise_right_shift", &["(T, BIGINT) -> T for integer T"], right_shift),
    Function::rows(
        "bitwise_right_shift_arithmetic",
        &["(T, BIGINT) -> T for integer T"],
        right_shift_arithmetic,
    ),
    Function::rows(
        "bitwise_logical_shift_right",
        &["(BIGINT, BIGINT, BIGINT) -> BIGINT"],
        logical_shift_right,
    ),
    Function::rows("bitwise_shift_left", &["(BIGINT, BIGINT, BIGINT) -> BIGINT"], shift_left),
];

fn pairs(call: &Call<'_>, f: fn(i64, i64) -> i64) -> Result<Vector> {
    let (a, b) = (Integers::new(call, 0)?, Integers::new(call, 1)?);
    numbers(call, &mut |row| Ok(Some(f(a.at(row), b.at(row)))))
}

fn and(call: &Call<'_>) -> Result<Vector> {
    pairs(call, |a, b| a & b)
}

fn or(call: &Call<'_>) -> Result<Vector> {
    pairs(call, |a, b| a | b)
}

fn xor(call: &Call<'_>) -> Result<Vector> {
    pairs(call, |a, b| a ^ b)
}

fn not(call: &Call<'_>) -> Result<Vector> {
    let a = Integers::new(call, 0)?;
    numbers(call, &mut |row| Ok(Some(!a.at(row))))
}

/// Applies `f` to a number, the shift distance, and the number of bits of its type.
fn shifted(call: &Call<'_>, f: fn(i64, i64, i64) -> i64) -> Result<Vector> {
    let bits = match call.ty.kind() {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::Integer => 32,
        _ => 64,
    };
    let (numbers_of, by) = (Integers::new(call, 0)?, Integers::new(call, 1)?);
    numbers(call, &mut |row| Ok(Some(f(numbers_of.at(row), by.at(row), bits))))
}

/// Returns the lowest `bits` bits.
fn low(number: i64, bits: i64) -> i64 {
    if bits < 64 { number & ((1 << bits) - 1) } else { number }
}

fn left_shift(call: &Call<'_>) -> Result<Vector> {
    shifted(call, |number, by, bits| if (0..bits).contains(&by) { number << by } else { 0 })
}

/// Shifts in zeros.
fn right_shift(call: &Call<'_>) -> Result<Vector> {
    shifted(call, |number, by, bits| match (0..bits).contains(&by) {
        true => (low(number, bits).cast_unsigned() >> by).cast_signed(),
        false => 0,
    })
}

/// Shifts in copies of the sign bit.
fn right_shift_arithmetic(call: &Call<'_>) -> Result<Vector> {
    shifted(
        call,
        |number, by, bits| {
            if (0..bits).contains(&by) { number >> by } else { number >> 63 }
        },
    )
}

fn arithmetic_shift_right(call: &Call<'_>) -> Result<Vector> {
    let (a, by) = (Integers::new(call, 0)?, Integers::new(call, 1)?);
    numbers(call, &mut |row| Ok(Some(a.at(row) >> shift(by.at(row))?.min(63))))
}

fn shift(by: i64) -> Result<i64> {
    match by {
        0.. => Ok(by),
        _ => Err(Error::invalid_input("a shift is negative").with("shift", by)),
    }
}

/// Applies `f` to a number, a second number, and the number of bits, which is the last argument.
fn in_bits(call: &Call<'_>, f: fn(i64, i64, i64) -> Result<i64>) -> Result<Vector> {
    let [a, b] = [Integers::new(call, 0)?, Integers::new(call, call.args.len() - 2)?];
    let bits = Integers::new(call, call.args.len() - 1)?;
    numbers(call, &mut |row| {
        let bits = bits.at(row);
        if !(2..=64).contains(&bits) {
            return Err(Error::invalid_input("there must be 2 to 64 bits").with("bits", bits));
        }
        f(a.at(row), b.at(row), bits).map(Some)
    })
}

/// `(number, shift, bits)`.
fn logical_shift_right(call: &Call<'_>) -> Result<Vector> {
    in_bits(call, |number, by, bits| {
        let by = shift(by)?;
        Ok(if by < 64 { (low(number, bits).cast_unsigned() >> by).cast_signed() } else { 0 })
    })
}

/// `(number, shift, bits)`.
fn shift_left(call: &Call<'_>) -> Result<Vector> {
    in_bits(call, |number, by, bits| {
        let by = shift(by)?;
        Ok(if by < 64 { low(low(number, bits) << by, bits) } else { 0 })
    })
}

/// `(number, bits)`: returns the number of set bits.
fn bit_count(call: &Call<'_>) -> Result<Vector> {
    in_bits(call, |number, _, bits| {
        let most = i64::MAX >> (64 - bits);
        if number > most || number < !most {
            return Err(Error::invalid_input("a number does not fit its bits")
                .with("number", number)
                .with("bits", bits));
        }
        Ok(low(number, bits).count_ones().into())
    })
}
