//! Bit functions of integers. Results are BIGINT, except those of shifts, which have the type of
//! the shifted value and drop bits that leave it.

use vector::{Error, Result, TypeKind, Vector};

use super::by_row::{Integers, numbers};
use super::kernel::Call;

fn pairs(call: &Call<'_>, f: fn(i64, i64) -> i64) -> Result<Vector> {
    let (a, b) = (Integers::new(call, 0)?, Integers::new(call, 1)?);
    numbers(call, &mut |row| Ok(Some(f(a.at(row), b.at(row)))))
}

pub(super) fn and(call: &Call<'_>) -> Result<Vector> {
    pairs(call, |a, b| a & b)
}

pub(super) fn or(call: &Call<'_>) -> Result<Vector> {
    pairs(call, |a, b| a | b)
}

pub(super) fn xor(call: &Call<'_>) -> Result<Vector> {
    pairs(call, |a, b| a ^ b)
}

pub(super) fn not(call: &Call<'_>) -> Result<Vector> {
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

pub(super) fn left_shift(call: &Call<'_>) -> Result<Vector> {
    shifted(call, |number, by, bits| if (0..bits).contains(&by) { number << by } else { 0 })
}

/// Shifts in zeros.
pub(super) fn right_shift(call: &Call<'_>) -> Result<Vector> {
    shifted(call, |number, by, bits| match (0..bits).contains(&by) {
        true => (low(number, bits).cast_unsigned() >> by).cast_signed(),
        false => 0,
    })
}

/// Shifts in copies of the sign bit.
pub(super) fn right_shift_arithmetic(call: &Call<'_>) -> Result<Vector> {
    shifted(
        call,
        |number, by, bits| {
            if (0..bits).contains(&by) { number >> by } else { number >> 63 }
        },
    )
}

pub(super) fn arithmetic_shift_right(call: &Call<'_>) -> Result<Vector> {
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
pub(super) fn logical_shift_right(call: &Call<'_>) -> Result<Vector> {
    in_bits(call, |number, by, bits| {
        let by = shift(by)?;
        Ok(if by < 64 { (low(number, bits).cast_unsigned() >> by).cast_signed() } else { 0 })
    })
}

/// `(number, shift, bits)`.
pub(super) fn shift_left(call: &Call<'_>) -> Result<Vector> {
    in_bits(call, |number, by, bits| {
        let by = shift(by)?;
        Ok(if by < 64 { low(low(number, bits) << by, bits) } else { 0 })
    })
}

/// `(number, bits)`: returns the number of set bits.
pub(super) fn bit_count(call: &Call<'_>) -> Result<Vector> {
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
