//! LIKE patterns: literal text, `%` for any text and `_` for any single character.
//!
//! ```text
//! 'a%special%requests%z'      prefix a, pieces special and requests, suffix z
//!  contiguous strings     |len|...special...requests|len|...|len|...special...|
//!  needle                              [======]                no hit, no match
//! ```
//!
//! A pattern is parsed once. The forms that are frequent in queries (`abc`, `abc%`, `%abc`,
//! `%abc%`, `a%b%c`) only require comparing the ends of a string and searching for the pieces in
//! order. Only a pattern with `_` is matched token by token, with backtracking to the last `%` on a
//! mismatch.
//!
//! Contiguous strings are not searched one by one: the piece of the pattern that proves to be the
//! rarest is searched in the text of all strings at once, and only a string that contains it is
//! matched ([`PatternSearch`]).

use std::fmt;
use std::ops::Range;

use memchr::{memchr, memmem};
use vector::{Error, Result};

/// A parsed pattern. Two patterns are equal if they have the same tokens.
#[derive(Debug, Clone)]
pub struct LikePattern {
    tokens: Vec<Token>,
    form: Form,
    /// Literal text that every match contains: the text between two `%`, in order, or all text of a
    /// pattern with `_`.
    pieces: Vec<Piece>,
}

/// One element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Literal(Vec<u8>),
    AnyCharacter,
    AnyText,
}

/// How a pattern is matched.
#[derive(Debug, Clone)]
enum Form {
    /// No wildcard: the text itself.
    Exact(Vec<u8>),
    /// Only `%` wildcards: prefix and suffix, with the pieces between them.
    Pieces {
        prefix: Vec<u8>,
        suffix: Vec<u8>,
        /// Total number of bytes of prefix, pieces and suffix.
        min_bytes: usize,
    },
    /// Any pattern with `_`.
    Tokens,
}

/// Literal text to search for in a string.
#[derive(Debug, Clone)]
struct Piece {
    finder: memmem::Finder<'static>,
    /// Position of the rarest byte of the text.
    rare: usize,
}

/// Strings shorter than this are searched for one rare byte: the setup of `memmem` costs more than
/// it saves for them (it falls back to a rolling hash over single bytes).
const MIN_FINDER_BYTES: usize = 64;

/// Bytes of text ordered from frequent to rare; bytes that are not listed are rarer.
const FREQUENT: &[u8] = b" etaoinsrhldcumfpgwybvkETAOINSRHLDCUMFPGWYBVK0123456789xjqzXJQZ";

impl PartialEq for LikePattern {
    fn eq(&self, other: &Self) -> bool {
        self.tokens == other.tokens
    }
}

impl Piece {
    /// Returns a piece. `text` must not be empty.
    fn new(text: &[u8]) -> Self {
        let frequency = |byte: u8| FREQUENT.iter().position(|b| *b == byte);
        let rarity = |byte: u8| frequency(byte).unwrap_or(FREQUENT.len());
        let rare = (0..text.len()).max_by_key(|at| text.get(*at).map(|b| rarity(*b)));
        Piece { finder: memmem::Finder::new(text).into_owned(), rare: rare.unwrap_or(0) }
    }

    /// Returns the end of the first occurrence in `text`.
    #[inline]
    fn find_end(&self, text: &[u8]) -> Option<usize> {
        let wanted = self.finder.needle();
        if text.len() >= MIN_FINDER_BYTES {
            return Some(self.finder.find(text)? + wanted.len());
        }
        let rare = *wanted.get(self.rare)?;
        let mut from = self.rare;
        loop {
            let at = from + memchr(rare, text.get(from..)?)?;
            let start = at - self.rare;
            if text.get(start..)?.starts_with(wanted) {
                return Some(start + wanted.len());
            }
            from = at + 1;
        }
    }
}

impl LikePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// `InvalidInput` if the escape is not a single byte, or is not followed by a wildcard or
    /// itself in the pattern.
    pub fn parse(pattern: &[u8], escape: Option<&[u8]>) -> Result<Self> {
        let tokens = tokens_of(pattern, escape)?;
        let pieces = |texts: &[&[u8]]| texts.iter().map(|text| Piece::new(text)).collect();
        let literals: Vec<&[u8]> = tokens.iter().filter_map(Token::as_literal).collect();
        if tokens.contains(&Token::AnyCharacter) {
            return Ok(LikePattern { form: Form::Tokens, pieces: pieces(&literals), tokens });
        }
        let (first, last) = (tokens.first(), tokens.last());
        if tokens.len() < 2 && first != Some(&Token::AnyText) {
            let text = literals.concat();
            return Ok(LikePattern { form: Form::Exact(text), pieces: Vec::new(), tokens });
        }
        let end = |token: Option<&Token>| token.and_then(Token::as_literal).unwrap_or(&[]).to_vec();
        let (prefix, suffix) = (end(first), end(last));
        let inner =
            usize::from(!prefix.is_empty())..literals.len() - usize::from(!suffix.is_empty());
        let min_bytes = literals.iter().map(|text| text.len()).sum();
        let pieces = pieces(literals.get(inner).unwrap_or(&[]));
        Ok(LikePattern { form: Form::Pieces { prefix, suffix, min_bytes }, pieces, tokens })
    }

    /// Returns true if the whole of `text` matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        match &self.form {
            Form::Exact(wanted) => text == wanted.as_slice(),
            Form::Pieces { prefix, suffix, min_bytes } => {
                // Empty ends are not compared: a comparison of zero bytes through the dangling
                // pointer of an empty slice was measured at 40 ns on some CPUs.
                text.len() >= *min_bytes
                    && (prefix.is_empty() || text.starts_with(prefix))
                    && (suffix.is_empty() || text.ends_with(suffix))
                    && follow(&self.pieces, text, prefix.len()..text.len() - suffix.len())
            }
            Form::Tokens => matches_tokens(&self.tokens, text).unwrap_or(false),
        }
    }

    /// Returns true if the whole of `text` matches. The first occurrence of `piece` in it is at
    /// `found`.
    fn matches_with(&self, text: &[u8], piece: usize, found: Range<usize>) -> bool {
        match (&self.form, self.pieces.split_first()) {
            (Form::Pieces { prefix, suffix, .. }, Some((_, rest)))
                if piece == 0 && prefix.is_empty() && suffix.is_empty() =>
            {
                follow(rest, text, found.end..text.len())
            }
            _ => self.matches(text),
        }
    }

    /// Returns the literal prefix of all matches.
    pub fn prefix(&self) -> &[u8] {
        self.tokens.first().and_then(Token::as_literal).unwrap_or(&[])
    }

    /// Returns the simpler test that is equivalent to the pattern, if there is one.
    pub(super) fn simple(&self) -> Option<SimplePattern<'_>> {
        match &*self.tokens {
            [] => Some(SimplePattern::Text(&[])),
            [Token::Literal(text)] => Some(SimplePattern::Text(text)),
            [Token::AnyText] => Some(SimplePattern::AnyText),
            [Token::Literal(prefix), Token::AnyText] => Some(SimplePattern::Prefix(prefix)),
            _ => None,
        }
    }
}

/// Patterns that are equivalent to simpler tests.
pub(super) enum SimplePattern<'a> {
    /// Exactly this text.
    Text(&'a [u8]),
    /// All strings with this prefix.
    Prefix(&'a [u8]),
    /// All strings.
    AnyText,
}

impl Token {
    fn as_literal(&self) -> Option<&[u8]> {
        match self {
            Token::Literal(text) => Some(text),
            _ => None,
        }
    }
}

/// Returns true if the pieces occur in this order in `range` of `text`, without overlap.
#[inline]
fn follow(pieces: &[Piece], text: &[u8], range: Range<usize>) -> bool {
    let mut rest = text.get(range).unwrap_or(&[]);
    pieces.iter().all(|piece| match piece.find_end(rest) {
        Some(end) => {
            rest = rest.get(end..).unwrap_or(&[]);
            true
        }
        None => false,
    })
}

/// Searches contiguous strings for matches, block by block.
///
/// The first blocks determine the rarest piece: each of them is searched for a different piece.
#[derive(Debug)]
pub struct PatternSearch<'a> {
    pattern: &'a LikePattern,
    /// Piece for which the next block is searched.
    piece: usize,
    /// Number of pieces that have been tried.
    num_tried: usize,
    rarest: Option<(usize, usize)>,
    /// Number of following blocks that are matched string by string, because most strings of an
    /// earlier block had the piece.
    num_spared: usize,
}

/// Number of blocks that are not searched after one in which more than half of the strings had the
/// piece.
const NUM_SPARED: usize = 15;

impl<'a> PatternSearch<'a> {
    /// Returns a search for strings that match; `None` if matching them one by one is faster.
    pub fn new(pattern: &'a LikePattern) -> Option<Self> {
        let search = PatternSearch { pattern, piece: 0, num_tried: 0, rarest: None, num_spared: 0 };
        (!pattern.pieces.is_empty()).then_some(search)
    }

    /// Returns true if the whole of `text` matches, for a string outside a block.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        self.pattern.matches(text)
    }

    /// Calls `found` with the number of each matching string of a block, in ascending order. String
    /// `i` of the `num_strings` strings is at `range(i)` of `text`. The ranges are ascending and do
    /// not overlap, and the last one ends at the end of `text`. Bytes between the ranges belong to
    /// no string.
    #[inline]
    pub fn block(
        &mut self,
        text: &[u8],
        num_strings: usize,
        range: impl Fn(usize) -> Range<usize>,
        mut found: impl FnMut(usize),
    ) {
        let string = |range: Range<usize>| text.get(range).unwrap_or(&[]);
        let Some(Piece { finder, .. }) = self.pattern.pieces.get(self.piece) else { return };
        if self.num_spared > 0 {
            self.num_spared -= 1;
            (0..num_strings).filter(|i| self.matches(string(range(*i)))).for_each(found);
            return;
        }
        let (mut from, mut i, mut num_found) = (0, 0, 0);
        while let Some(at) = text.get(from..).and_then(|rest| finder.find(rest)) {
            let (start, end) = (from + at, from + at + finder.needle().len());
            // Advances to the first string that ends at or after the end of the piece.
            let mut place = range(i);
            while place.end < end && i + 1 < num_strings {
                i += 1;
                place = range(i);
            }
            if place.start > start {
                // The occurrence is not inside one string: it overlaps the bytes between two
                // strings.
                from = place.start;
                continue;
            }
            from = place.end;
            num_found += 1;
            let in_string = start - place.start..end - place.start;
            if self.pattern.matches_with(string(place), self.piece, in_string) {
                found(i);
            }
        }
        self.learn(num_strings, num_found);
    }

    /// Records that `num_found` of `num_strings` strings had the piece.
    fn learn(&mut self, num_strings: usize, num_found: usize) {
        if self.num_tried < self.pattern.pieces.len() {
            self.num_tried += 1;
            let best = self.rarest.unwrap_or((usize::MAX, 0)).min((num_found, self.piece));
            self.rarest = Some(best);
            self.piece =
                if self.num_tried < self.pattern.pieces.len() { self.num_tried } else { best.1 };
        } else if num_found * 2 > num_strings {
            self.num_spared = NUM_SPARED;
        }
    }
}

/// Parses the pattern into tokens, joining adjacent literals and adjacent `%`.
///
/// # Errors
/// `InvalidInput` as for [`LikePattern::parse`].
fn tokens_of(pattern: &[u8], escape: Option<&[u8]>) -> Result<Vec<Token>> {
    let escape = match escape {
        None => None,
        Some([byte]) => Some(*byte),
        Some(other) => {
            return Err(Error::invalid_input("the escape of LIKE must be one ASCII character")
                .with("escape", String::from_utf8_lossy(other)));
        }
    };
    let mut tokens: Vec<Token> = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        let literal = if Some(*byte) == escape {
            match bytes.next() {
                Some(next) if matches!(next, b'%' | b'_') || Some(*next) == escape => *next,
                _ => {
                    return Err(Error::invalid_input(
                        "the escape of LIKE must stand before %, _ or itself",
                    )
                    .with("pattern", String::from_utf8_lossy(pattern)));
                }
            }
        } else if *byte == b'%' {
            if tokens.last() != Some(&Token::AnyText) {
                tokens.push(Token::AnyText);
            }
            continue;
        } else if *byte == b'_' {
            tokens.push(Token::AnyCharacter);
            continue;
        } else {
            *byte
        };
        match tokens.last_mut() {
            Some(Token::Literal(text)) => text.push(literal),
            _ => tokens.push(Token::Literal(vec![literal])),
        }
    }
    Ok(tokens)
}

/// Matches greedily from the left. On a mismatch, the last `%` takes one more character. Earlier
/// `%` need no backtracking, because the last one can take any text that they would have left to
/// it. Returns `None` for a mismatch without a `%` to extend.
fn matches_tokens(tokens: &[Token], text: &[u8]) -> Option<bool> {
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let advanced = match tokens.get(token) {
            None if at == text.len() => return Some(true),
            None => None,
            Some(Token::AnyText) => {
                token += 1;
                if token == tokens.len() {
                    return Some(true);
                }
                retry = Some((token, at));
                continue;
            }
            Some(Token::AnyCharacter) => character_bytes(text.get(at..)?),
            Some(Token::Literal(bytes)) => {
                text.get(at..)?.starts_with(bytes).then_some(bytes.len())
            }
        };
        if let Some(bytes) = advanced {
            token += 1;
            at += bytes;
        } else {
            let (first, from) = retry?;
            let next = from + character_bytes(text.get(from..)?)?;
            retry = Some((first, next));
            (token, at) = (first, next);
        }
    }
}

/// Returns the number of bytes of the first character; a byte that is not valid UTF-8 counts as
/// one. Returns `None` for empty text.
fn character_bytes(text: &[u8]) -> Option<usize> {
    let follow = text.get(1..)?.iter().take(3).take_while(|b| **b & 0xc0 == 0x80).count();
    Some(match text.first()? {
        0xc0..=0xdf => 1 + follow.min(1),
        0xe0..=0xef => 1 + follow.min(2),
        0xf0..=0xff => 1 + follow.min(3),
        _ => 1,
    })
}

/// Prints the pattern in SQL syntax: `'10\%%' escape '\'`.
impl fmt::Display for LikePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pattern = Vec::new();
        let is_special = |byte: &u8| matches!(byte, b'%' | b'_');
        let literals = || self.tokens.iter().filter_map(Token::as_literal);
        let is_escaped = literals().flatten().any(is_special);
        for token in &self.tokens {
            match token {
                Token::AnyText => pattern.push(b'%'),
                Token::AnyCharacter => pattern.push(b'_'),
                Token::Literal(text) => {
                    for byte in text {
                        if is_escaped && (is_special(byte) || *byte == b'\\') {
                            pattern.push(b'\\');
                        }
                        pattern.push(*byte);
                    }
                }
            }
        }
        let escape = if is_escaped { " escape '\\'" } else { "" };
        write!(f, "'{}'{escape}", String::from_utf8_lossy(&pattern).replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests;
