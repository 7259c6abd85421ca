//! Text of UUIDs: 32 hexadecimal digits in groups of 8-4-4-4-12.
//!
//! A UUID is stored as the `i128` with the bits of its 16 bytes in big-endian order.

use std::fmt;

/// Number of characters of a UUID.
const TEXT_LEN: usize = 36;

/// Parses a UUID. Returns `None` if the text does not have the form of one.
pub fn parse(text: &str) -> Option<i128> {
    if text.len() != TEXT_LEN {
        return None;
    }
    let mut bits = 0u128;
    for (i, c) in text.chars().enumerate() {
        match (i, c) {
            (8 | 13 | 18 | 23, '-') => {}
            (8 | 13 | 18 | 23, _) => return None,
            _ => bits = bits << 4 | u128::from(c.to_digit(16)?),
        }
    }
    Some(bits as i128)
}

/// Writes a UUID in lower case.
///
/// # Errors
/// Errors of `out`.
pub fn write(out: &mut impl fmt::Write, uuid: i128) -> fmt::Result {
    let bits = uuid as u128;
    let group = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
    write!(
        out,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        group(96, 32),
        group(80, 16),
        group(64, 16),
        group(48, 16),
        group(0, 48)
    )
}

#[cfg(test)]
mod tests {
    use super::{parse, write};

    #[test]
    fn a_uuid_is_parsed_as_it_is_written_and_other_forms_are_refused() {
        for uuid in [0, 1, -1, i128::MAX, i128::MIN, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
            let mut text = String::new();
            write(&mut text, uuid).unwrap();
            assert_eq!(parse(&text), Some(uuid), "{text}");
            assert_eq!(parse(&text.to_uppercase()), Some(uuid), "{text}");
        }
        for wrong in [
            "",
            "01234567-89ab-cdef-0123-456789abcde",
            "01234567-89ab-cdef-0123-456789abcdef0",
            "0123456789abcdef0123456789abcdef",
            "0123456-789ab-cdef-0123-456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "+1234567-89ab-cdef-0123-456789abcdef",
            "01234567-89ab-cdef-0123-456789abc\u{e4}f",
            "01234567-89ab-cdef-01\u{ff12}3-456789abc",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
