//! Division of a text into fields at separators, as Hive does it.
//!
//! A separator after the escape byte is text. Fields are returned with their escapes; the code that
//! decodes a string removes them, so that a nested value can be divided again.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::dialect::Dialect;

/// Iterator over the fields of a text. An empty text has one field, which is empty.
#[derive(Debug, Clone)]
pub(crate) struct Pieces<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
    escape: Option<u8>,
}

impl<'a> Pieces<'a> {
    /// Returns the fields of `text` between separators.
    pub(crate) fn new(text: &'a [u8], separator: u8, dialect: &Dialect) -> Self {
        Pieces { rest: Some(text), separator, escape: dialect.escape }
    }

    /// Remaining input; `None` after the last field, `Some` of an empty text before an empty last
    /// field.
    pub(crate) fn rest(&self) -> Option<&'a [u8]> {
        self.rest
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match split_once(rest, self.separator, self.escape) {
            Some((piece, rest)) => {
                self.rest = Some(rest);
                Some(piece)
            }
            None => {
                self.rest = None;
                Some(rest)
            }
        }
    }
}

/// Divides the text at the first separator that is not escaped; `None` if there is none.
pub(crate) fn split_once(text: &[u8], separator: u8, escape: Option<u8>) -> Option<(&[u8], &[u8])> {
    let at = match escape {
        None => memchr(separator, text)?,
        Some(escape) => {
            let mut from = 0;
            loop {
                let found = from + memchr2(separator, escape, text.get(from..)?)?;
                // A byte that is both separator and escape acts as the escape.
                if text.get(found) == Some(&escape) {
                    from = found + 2;
                } else {
                    break found;
                }
            }
        }
    };
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Returns a string without its escapes. An escaped `n` is a line feed and an escaped `r` a
/// carriage return, since lines are divided before escapes are decoded (Hive's `LazyUtils`). Any
/// other escaped byte stands for itself, and so does an escape at the end of the text.
pub(crate) fn unescaped<'a>(text: &'a [u8], dialect: &Dialect) -> Cow<'a, [u8]> {
    let Some(escape) = dialect.escape else { return Cow::Borrowed(text) };
    let Some(first) = memchr(escape, text) else { return Cow::Borrowed(text) };
    let (before, after) = text.split_at(first);
    let mut out = before.to_vec();
    let mut bytes = after.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != escape {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(escaped) => escaped,
            None => escape,
        });
    }
    Cow::Owned(out)
}
