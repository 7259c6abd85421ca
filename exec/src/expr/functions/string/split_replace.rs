//! Functions that split and search strings: `split`, `split_part`, `replace`, `strrpos`.
//!
//! An empty delimiter matches between any two characters, and an empty search string matches at
//! once.

use memchr::memmem;
use vector::stop::StopTick;
use vector::sync::Arc;
use vector::{
    ArrayVector, BufferMut, Error, FlatValues, FlatVector, Result, StringBuilder, StringView, Type,
    Vector, check_room,
};

use super::characters::{count_characters, is_character_start};
use crate::expr::by_row::{Integers, ROWS_PER_LOOK, numbers, reserve_text, texts};
use crate::expr::kernel::Call;
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows(
        "strrpos",
        &["(VARCHAR, VARCHAR) -> BIGINT", "(VARCHAR, VARCHAR, BIGINT) -> BIGINT"],
        position_from_end,
    ),
    Function::rows(
        "replace",
        &["(VARCHAR, VARCHAR) -> VARCHAR", "(VARCHAR, VARCHAR, VARCHAR) -> VARCHAR"],
        replace,
    ),
    Function::rows(
        "split",
        &["(VARCHAR, VARCHAR) -> ARRAY(VARCHAR)", "(VARCHAR, VARCHAR, BIGINT) -> ARRAY(VARCHAR)"],
        split,
    ),
    Function::rows("split_part", &["(VARCHAR, VARCHAR, BIGINT) -> VARCHAR"], split_part),
];

/// Returns the length of the first character in bytes; the length of the text when it has only one.
pub(super) fn first_character(text: &[u8]) -> usize {
    let next = text.iter().skip(1).position(|byte| is_character_start(*byte));
    next.map_or(text.len(), |at| at + 1)
}

/// Returns start and end of the first delimiter.
fn delimiter(text: &[u8], delimiter: &[u8]) -> Option<(usize, usize)> {
    if delimiter.is_empty() {
        let at = first_character(text);
        return (at > 0).then_some((at, at));
    }
    memmem::find(text, delimiter).map(|at| (at, at + delimiter.len()))
}

/// Passes the pieces of `text` to `f` until it returns true. The last of `limit` pieces has the
/// remaining text.
fn split_into(text: &[u8], by: &[u8], limit: i64, f: &mut dyn FnMut(&[u8]) -> bool) {
    let (mut rest, mut number) = (text, 1);
    while number < limit
        && let Some((end, next)) = delimiter(rest, by)
    {
        if f(&rest[..end]) {
            return;
        }
        rest = &rest[next..];
        number += 1;
    }
    f(rest);
}

/// `split(text, delimiter [, limit])`.
fn split(call: &Call<'_>) -> Result<Vector> {
    let limits = match call.args.len() {
        3 => Some(Integers::new(call, 2)?),
        _ => None,
    };
    let mut pieces = StringBuilder::new();
    let (mut offsets, mut lengths) = (BufferMut::new(), BufferMut::new());
    let mut tick = StopTick::every(ROWS_PER_LOOK);
    for row in 0..call.num_rows() {
        tick.row()?;
        let start = pieces.len();
        if call.rows.contains(row) && !pieces.has_failed() {
            // A piece takes at least one byte, or is one character between empty delimiters.
            check_room((start + call.args[0].string(row).len()) * size_of::<StringView>())?;
            let limit = limits.as_ref().map_or(i64::MAX, |limits| limits.at(row));
            if limit <= 0 {
                return Err(Error::invalid_input("a limit must be positive").with("limit", limit));
            }
            split_into(call.args[0].string(row), call.args[1].string(row), limit, &mut |piece| {
                pieces.push(piece);
                false
            });
        }
        if u32::try_from(pieces.len()).is_err() {
            return Err(Error::limit("a batch has too many pieces of texts"));
        }
        offsets.push(start as u32);
        lengths.push((pieces.len() - start) as u32);
    }
    let pieces = FlatVector::new(Type::Varchar, FlatValues::String(pieces.finish()?), None)?;
    let (pieces, validity) = (Arc::new(Vector::Flat(pieces)), call.validity.clone());
    ArrayVector::new(offsets.freeze(), lengths.freeze(), validity, pieces).map(Vector::Array)
}

/// `split_part(text, delimiter, number)`: null beyond the last piece.
fn split_part(call: &Call<'_>) -> Result<Vector> {
    let numbers = Integers::new(call, 2)?;
    texts(call, &mut |row, out| {
        let (wanted, by) = (numbers.at(row), call.args[1].string(row));
        if wanted <= 0 {
            return Err(Error::invalid_input("pieces are counted from 1").with("piece", wanted));
        }
        let (mut number, mut is_found) = (0, false);
        split_into(call.args[0].string(row), by, i64::MAX, &mut |piece| {
            number += 1;
            is_found = number == wanted && (!by.is_empty() || !piece.is_empty());
            if is_found {
                out.extend_from_slice(piece);
            }
            is_found
        });
        Ok(is_found)
    })
}

/// `replace(text, part [, other])`.
fn replace(call: &Call<'_>) -> Result<Vector> {
    texts(call, &mut |row, out| {
        let (part, other) = (call.args[1].string(row), call.args.get(2));
        let other = other.map_or(&[][..], |other| other.string(row));
        // An empty part matches before each character and at the end.
        if part.is_empty() {
            out.extend_from_slice(other);
        }
        let mut rest = call.args[0].string(row);
        while let Some((end, next)) = delimiter(rest, part) {
            reserve_text(out, end + other.len())?;
            out.extend_from_slice(&rest[..end]);
            out.extend_from_slice(other);
            rest = &rest[next..];
        }
        out.extend_from_slice(rest);
        Ok(true)
    })
}

/// Returns the characters of a string, or the bytes of a binary, in reverse order.
pub(in crate::expr) fn reverse(call: &Call<'_>) -> Result<Vector> {
    let in_bytes = *call.ty == Type::Varbinary;
    texts(call, &mut |row, out| {
        let mut end = call.args[0].string(row);
        while let Some(start) = end.iter().rposition(|b| in_bytes || is_character_start(*b)) {
            out.extend_from_slice(&end[start..]);
            end = &end[..start];
        }
        // Leading continuation bytes without a character.
        out.extend_from_slice(end);
        Ok(true)
    })
}

/// `strpos(text, part, instance)`: instances may overlap; 0 when there are fewer instances.
pub(super) fn position(call: &Call<'_>) -> Result<Vector> {
    positions(call, |text, part, before| {
        let start = before.map_or(0, |at| at + 1);
        memmem::find(text.get(start..)?, part).map(|at| start + at)
    })
}

/// `strrpos(text, part [, instance])`: like `strpos`, from the end.
fn position_from_end(call: &Call<'_>) -> Result<Vector> {
    positions(call, |text, part, before| {
        let end = before.map_or(text.len(), |at| at + part.len() - 1);
        memmem::rfind(text.get(..end)?, part)
    })
}

/// Returns the byte position of the next occurrence of a non-empty part, given that of the one
/// before.
type NextPosition = fn(&[u8], &[u8], Option<usize>) -> Option<usize>;

/// Returns positions in characters, from 1.
fn positions(call: &Call<'_>, next: NextPosition) -> Result<Vector> {
    let instances = match call.args.len() {
        3 => Some(Integers::new(call, 2)?),
        _ => None,
    };
    numbers(call, &mut |row| {
        let instance = instances.as_ref().map_or(1, |instances| instances.at(row));
        if instance <= 0 {
            return Err(
                Error::invalid_input("instances are counted from 1").with("instance", instance)
            );
        }
        let (text, part) = (call.args[0].string(row), call.args[1].string(row));
        if part.is_empty() {
            return Ok(Some(1));
        }
        let (mut at, mut found) = (None, 0);
        while found < instance {
            at = next(text, part, at);
            if at.is_none() {
                break;
            }
            found += 1;
        }
        Ok(Some(at.map_or(0, |at| count_characters(&text[..at]) as i64 + 1)))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn pieces(text: &str, by: &str, limit: i64) -> Vec<String> {
        let mut found = Vec::new();
        split_into(text.as_bytes(), by.as_bytes(), limit, &mut |piece| {
            found.push(String::from_utf8(piece.to_vec()).unwrap());
            false
        });
        found
    }

    #[test]
    fn texts_split_at_delimiters_and_between_characters() {
        assert_eq!(pieces("a,,b,", ",", i64::MAX), ["a", "", "b", ""]);
        assert_eq!(pieces("", ",", i64::MAX), [""]);
        assert_eq!(pieces("a,b,c", ",", 2), ["a", "b,c"]);
        assert_eq!(pieces("a,b,c", ",", 1), ["a,b,c"]);
        assert_eq!(pieces("äb€", "", i64::MAX), ["ä", "b", "€", ""]);
        assert_eq!(pieces("abc", "", 2), ["a", "bc"]);
        assert_eq!(pieces("", "", i64::MAX), [""]);
    }
}
