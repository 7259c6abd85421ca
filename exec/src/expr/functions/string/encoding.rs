//! Encodings of strings: code points (`chr`, `codepoint`), hexadecimal digits (`to_hex`, `from_hex`)
//! and UTF-8 (`to_utf8`, `from_utf8`).

use vector::{Error, Result, Vector};

use super::split_replace::first_character;
use crate::expr::by_row::{Integers, numbers, texts};
use crate::expr::kernel::Call;
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows("chr", &["(BIGINT) -> VARCHAR"], chr),
    Function::rows("codepoint", &["(VARCHAR) -> INTEGER"], codepoint),
    Function::rows("to_hex", &["(VARBINARY) -> VARCHAR"], to_hex),
    Function::rows("from_utf8", &["(VARBINARY) -> VARCHAR"], from_utf8),
    Function::rows("from_hex", &["(VARCHAR) -> VARBINARY"], from_hex),
    Function::rows("to_utf8", &["(VARCHAR) -> VARBINARY"], to_utf8),
];

/// Returns the character of a code point.
fn chr(call: &Call<'_>) -> Result<Vector> {
    let codes = Integers::new(call, 0)?;
    texts(call, &mut |row, out| {
        let code = codes.at(row);
        let character = u32::try_from(code).ok().and_then(char::from_u32).ok_or_else(|| {
            Error::invalid_input("no character has this code point").with("code", code)
        })?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(true)
    })
}

/// Returns the code point of a string of one character.
fn codepoint(call: &Call<'_>) -> Result<Vector> {
    numbers(call, &mut |row| {
        let text = call.args[0].string(row);
        let mut characters = std::str::from_utf8(text).unwrap_or_default().chars();
        match (characters.next(), characters.next()) {
            (Some(only), None) => Ok(Some(u32::from(only).into())),
            _ => Err(Error::invalid_input(
                "a code point is asked of a text that is not one character",
            )
            .with("text", String::from_utf8_lossy(text))),
        }
    })
}

/// Returns two upper-case digits for each byte.
fn to_hex(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        let digit = |value: u8| if value < 10 { b'0' + value } else { b'A' - 10 + value };
        out.extend(call.args[0].string(row).iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]));
        Ok(true)
    })
}

fn from_hex(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        let text = call.args[0].string(row);
        let (pairs, rest) = text.as_chunks::<2>();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        for [high, low] in pairs {
            out.extend(digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low) as u8));
        }
        if !rest.is_empty() || out.len() < pairs.len() {
            return Err(Error::invalid_input("not pairs of hexadecimal digits")
                .with("text", String::from_utf8_lossy(text)));
        }
        Ok(true)
    })
}

/// Returns the bytes of a string.
fn to_utf8(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        out.extend_from_slice(call.args[0].string(row));
        Ok(true)
    })
}

/// Decodes UTF-8. An invalid sequence becomes one replacement character; its first byte determines
/// how long the sequence should have been.
fn from_utf8(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        let mut rest = call.args[0].string(row);
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, broken) = rest.split_at(error.valid_up_to());
            out.extend_from_slice(valid);
            out.extend_from_slice("\u{fffd}".as_bytes());
            let wanted = match broken.first() {
                Some(0xc0..=0xdf) => 2,
                Some(0xe0..=0xef) => 3,
                Some(0xf0..=0xf7) => 4,
                Some(0xf8..=0xfb) => 5,
                Some(0xfc..=0xfd) => 6,
                _ => 1,
            };
            rest = &broken[first_character(broken).min(wanted)..];
        }
        out.extend_from_slice(rest);
        Ok(true)
    })
}
