//! Padding, joining and encoding of strings: `lpad`, `concat_ws`, `chr`, `to_hex`, `from_utf8`.

use vector::{Error, Result, Type, Vector};

use super::by_row::{Integers, numbers, texts};
use super::kernel::{Argument, Call, Kernel};
use super::pieces::first_character;
use super::string::{characters, count_characters};

/// Maximum length of a padded string, as in Velox.
const MAX_SIZE: i64 = 1 << 20;

pub(super) fn lpad(call: &Call<'_>) -> Result<Vector> {
    pad(call, true)
}

pub(super) fn rpad(call: &Call<'_>) -> Result<Vector> {
    pad(call, false)
}

/// Pads with arguments `(text, size, filling)`; sizes are characters of a string, or bytes of a
/// binary.
fn pad(call: &Call<'_>, in_front: bool) -> Result<Vector> {
    let sizes = Integers::new(call, 1)?;
    let in_bytes = *call.ty == Type::Varbinary;
    let count = |text: &[u8]| if in_bytes { text.len() } else { count_characters(text) };
    let first = |text: &[u8], count: usize| match in_bytes {
        true => count.min(text.len()),
        false => characters(text, 1, count as i64).end,
    };
    texts(call, &mut |row, out| {
        let (text, filling) = (call.args[0].string(row), call.args[2].string(row));
        let size = sizes.at(row);
        if !(0..=MAX_SIZE).contains(&size) {
            return Err(Error::invalid_input("a text cannot be filled up to this size")
                .with("size", size)
                .with("max", MAX_SIZE));
        }
        if filling.is_empty() {
            return Err(Error::invalid_input("a text is filled up with nothing"));
        }
        let size = size as usize;
        let Some(missing) = size.checked_sub(count(text)) else {
            out.extend_from_slice(&text[..first(text, size)]);
            return Ok(true);
        };
        if !in_front {
            out.extend_from_slice(text);
        }
        let of_filling = count(filling);
        for _ in 0..missing / of_filling {
            out.extend_from_slice(filling);
        }
        out.extend_from_slice(&filling[..first(filling, missing % of_filling)]);
        if in_front {
            out.extend_from_slice(text);
        }
        Ok(true)
    })
}

/// `concat_ws(separator, text, ..)`: skips nulls; null when the separator is null.
pub(super) fn concat_ws(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::seeing_nulls(|call| {
        texts(call, &mut |row, out| {
            let Some((separator, rest)) = call.args.split_first() else { return Ok(false) };
            if separator.is_null(row) {
                return Ok(false);
            }
            for (i, text) in rest.iter().filter(|text| !text.is_null(row)).enumerate() {
                if i > 0 {
                    out.extend_from_slice(separator.string(row));
                }
                out.extend_from_slice(text.string(row));
            }
            Ok(true)
        })
    }))
}

/// Returns the character of a code point.
pub(super) fn chr(call: &Call<'_>) -> Result<Vector> {
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
pub(super) fn codepoint(call: &Call<'_>) -> Result<Vector> {
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
pub(super) fn to_hex(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        let digit = |value: u8| if value < 10 { b'0' + value } else { b'A' - 10 + value };
        out.extend(call.args[0].string(row).iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]));
        Ok(true)
    })
}

pub(super) fn from_hex(call: &Call<'_>) -> Result<Vector> {
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
pub(super) fn to_utf8(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        out.extend_from_slice(call.args[0].string(row));
        Ok(true)
    })
}

/// Decodes UTF-8. An invalid sequence becomes one replacement character; its first byte determines
/// how long the sequence should have been.
pub(super) fn from_utf8(call: &Call<'_>) -> Result<Vector> {
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
