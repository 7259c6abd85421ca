//! Pieces of a text between separators, as Hive cuts it.
//!
//! A separator behind the escape byte is text. Pieces are given as they are written: escapes are
//! taken off by whoever reads a string, so that a nested value can be cut once more.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use super::dialect::Dialect;

/// The pieces of a text; an empty text has one, which is empty.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
    escape: Option<u8>,
}

impl<'a> Pieces<'a> {
    /// The pieces of `text` between separators of a level.
    pub fn new(text: &'a [u8], separator: u8, dialect: &Dialect) -> Self {
        Pieces { rest: Some(text), separator, escape: dialect.escape }
    }

    /// What was not cut yet; None when there is nothing more, which is not the same as nothing.
    pub fn rest(&self) -> Option<&'a [u8]> {
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

/// The text before and behind the first separator that is not escaped.
pub fn split_once(text: &[u8], separator: u8, escape: Option<u8>) -> Option<(&[u8], &[u8])> {
    let at = match escape {
        None => memchr(separator, text)?,
        Some(escape) => {
            let mut from = 0;
            loop {
                let found = from + memchr2(separator, escape, text.get(from..)?)?;
                // A byte that is both escapes.
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

/// A string without its escapes. An escaped `n` is a line feed and an escaped `r` a carriage return,
/// since lines end before escapes are looked at (Hive's `LazyUtils`); any other escaped byte is
/// itself, and so is an escape at the very end.
pub fn unescaped<'a>(text: &'a [u8], dialect: &Dialect) -> Cow<'a, [u8]> {
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
