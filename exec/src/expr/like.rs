//! LIKE: patterns of literal text, `%` for any text and `_` for any one character.
//!
//! A pattern is taken apart once. The shapes that queries mostly have (`abc`, `abc%`, `%abc`,
//! `%abc%`, `a%b%c`) need no more than comparing ends and searching for the pieces in order; only
//! a pattern with `_` is matched token by token, going back to the last `%` on a mismatch.
//!
//! Strings that stand side by side are not searched one by one: their longest piece is looked for
//! in all of their text at once, and only a string that has it is matched ([`Search`]).

use memchr::{memchr, memmem};
use vector::{
    Bitmap, BufferMut, DecodedVector, Error, FlatValues, Mapping, Result, StringValues, Type,
    Value, bits,
};

use super::kernel::{Argument, Call, Kernel, test_rows, wrong_storage};
use super::runs::{Run, RunVisitor, visit_runs};

/// A pattern ready to match.
#[derive(Debug)]
pub(super) enum Pattern {
    /// No wildcard: the text itself.
    Exact(Vec<u8>),
    /// `%` only: both ends, and the pieces between two `%`.
    Pieces {
        prefix: Vec<u8>,
        middle: Vec<Piece>,
        suffix: Vec<u8>,
        /// The bytes that all of these need.
        min_bytes: usize,
    },
    /// Anything with `_`.
    Tokens(Vec<Token>),
}

/// Text to be found inside of a string.
#[derive(Debug)]
pub(super) struct Piece {
    finder: memmem::Finder<'static>,
    /// The place of its rarest byte.
    rare: usize,
}

/// Shorter strings than this are searched for one rare byte: setting up a real search costs more
/// than they are worth (`memmem` falls back to hashing byte by byte there).
const MIN_FINDER_BYTES: usize = 64;

/// Letters of text from frequent to rare; what is not listed is rarer.
const FREQUENT: &[u8] = b" etaoinsrhldcumfpgwybvkETAOINSRHLDCUMFPGWYBVK0123456789xjqzXJQZ";

impl Piece {
    /// `text` must not be empty.
    fn new(text: &[u8]) -> Self {
        let frequency = |byte: u8| FREQUENT.iter().position(|b| *b == byte);
        let rarity = |byte: u8| frequency(byte).unwrap_or(FREQUENT.len());
        let rare = (0..text.len()).max_by_key(|at| rarity(text[*at])).unwrap_or(0);
        Piece { finder: memmem::Finder::new(text).into_owned(), rare }
    }

    /// Bytes of `text` up to the end of the first occurrence.
    #[inline]
    fn find_end(&self, text: &[u8]) -> Option<usize> {
        let wanted = self.finder.needle();
        if text.len() >= MIN_FINDER_BYTES {
            return Some(self.finder.find(text)? + wanted.len());
        }
        let mut from = self.rare;
        loop {
            let at = from + memchr(wanted[self.rare], text.get(from..)?)?;
            let start = at - self.rare;
            if text[start..].starts_with(wanted) {
                return Some(start + wanted.len());
            }
            from = at + 1;
        }
    }
}

/// One step of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Literal(Vec<u8>),
    AnyCharacter,
    AnyText,
}

impl Pattern {
    /// Takes a pattern apart; `InvalidInput` when the escape character is not followed by a
    /// wildcard or itself.
    pub(super) fn parse(pattern: &[u8], escape: Option<&[u8]>) -> Result<Self> {
        let tokens = tokens_of(pattern, escape)?;
        if tokens.contains(&Token::AnyCharacter) {
            return Ok(Pattern::Tokens(tokens));
        }
        if let [] | [Token::Literal(_)] = tokens.as_slice() {
            return Ok(Pattern::Exact(literal(tokens.first())));
        }
        let is_literal = |token: Option<&Token>| matches!(token, Some(Token::Literal(_)));
        let (first, last) = (tokens.first(), tokens.last());
        let inner = usize::from(is_literal(first))..tokens.len() - usize::from(is_literal(last));
        let (prefix, suffix) = (literal(first), literal(last));
        let pieces: Vec<Vec<u8>> = tokens[inner]
            .iter()
            .filter(|token| is_literal(Some(token)))
            .map(|token| literal(Some(token)))
            .collect();
        let min_bytes = prefix.len() + suffix.len() + pieces.iter().map(Vec::len).sum::<usize>();
        let middle = pieces.iter().map(|piece| Piece::new(piece)).collect();
        Ok(Pattern::Pieces { prefix, middle, suffix, min_bytes })
    }

    /// True when all of `text` matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match self {
            Pattern::Exact(wanted) => text == wanted.as_slice(),
            Pattern::Pieces { prefix, middle, suffix, min_bytes } => {
                // An empty end is not compared: comparing with no bytes, which stand nowhere in
                // memory, was measured at 40 ns on some CPUs.
                if text.len() < *min_bytes
                    || !(prefix.is_empty() || text.starts_with(prefix))
                    || !(suffix.is_empty() || text.ends_with(suffix))
                {
                    return false;
                }
                let mut rest = &text[prefix.len()..text.len() - suffix.len()];
                middle.iter().all(|piece| match piece.find_end(rest) {
                    Some(end) => {
                        rest = &rest[end..];
                        true
                    }
                    None => false,
                })
            }
            Pattern::Tokens(tokens) => matches_tokens(tokens, text),
        }
    }
    /// The longest text between two `%`: what every match has somewhere inside.
    fn needle(&self) -> Option<&memmem::Finder<'static>> {
        let Pattern::Pieces { middle, .. } = self else { return None };
        let finders = middle.iter().map(|piece| &piece.finder);
        finders.max_by_key(|finder| finder.needle().len())
    }
}

/// The rows of one call that match, while they are found.
struct Search<'a> {
    pattern: &'a Pattern,
    needle: &'a memmem::Finder<'static>,
    strings: &'a StringValues,
    matching: BufferMut<u64>,
    /// Runs that are matched row by row, because most rows of an earlier one had the needle.
    num_spared: usize,
}

/// Runs that are not searched after one in which the needle was in every other row.
const NUM_SPARED: usize = 15;

impl<'a> Search<'a> {
    /// `pattern` for all rows of a call with plain strings; `None` when rows are better matched
    /// one by one.
    fn bits(pattern: &'a Pattern, call: &'a Call<'_>) -> Option<Bitmap> {
        let (needle, text) = (pattern.needle()?, call.args.first()?);
        let (Mapping::Identity, Some(FlatValues::String(strings))) =
            (text.mapping(), text.flat_values())
        else {
            return None;
        };
        let mut matching = BufferMut::new();
        matching.resize(bits::words_for(call.num_rows()), 0);
        let mut search = Search { pattern, needle, strings, matching, num_spared: 0 };
        visit_runs(strings, call.rows, &mut search);
        Some(Bitmap::new(search.matching.freeze(), call.num_rows()))
    }
}

impl RunVisitor for Search<'_> {
    #[inline]
    fn row(&mut self, row: usize) {
        if self.pattern.matches(self.strings.get(row)) {
            bits::set(&mut self.matching, row);
        }
    }

    fn run(&mut self, run: &Run<'_>) {
        if self.num_spared > 0 {
            self.num_spared -= 1;
            return run.rows.iter().for_each(|row| self.row(*row as usize));
        }
        let (mut from, mut i, mut num_tried) = (0, 0, 0);
        while let Some(found) = self.needle.find(&run.text[from..]) {
            let (found, found_end) = (from + found, from + found + self.needle.needle().len());
            // The first string that ends behind the needle; the run's last one ends with the text.
            let (mut start, mut end) = run.range(i);
            while end < found_end {
                i += 1;
                (start, end) = run.range(i);
            }
            if start > found {
                // It stood between two strings, or in part.
                from = start;
                continue;
            }
            num_tried += 1;
            if self.pattern.matches(&run.text[start..end]) {
                bits::set(&mut self.matching, run.rows[i] as usize);
            }
            from = end;
        }
        if num_tried * 2 > run.rows.len() {
            self.num_spared = NUM_SPARED;
        }
    }
}

fn literal(token: Option<&Token>) -> Vec<u8> {
    match token {
        Some(Token::Literal(bytes)) => bytes.clone(),
        _ => Vec::new(),
    }
}

/// The pattern as tokens; neighbouring literals are one, neighbouring `%` too.
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

/// Matches greedily from the left. A mismatch lets the last `%` take one more character: earlier
/// ones need no second try, because the last one takes whatever they would have given up.
fn matches_tokens(tokens: &[Token], text: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let advanced = match tokens.get(token) {
            None if at == text.len() => return true,
            None => None,
            Some(Token::AnyText) => {
                token += 1;
                if token == tokens.len() {
                    return true;
                }
                retry = Some((token, at));
                continue;
            }
            Some(Token::AnyCharacter) => character_bytes(&text[at..]),
            Some(Token::Literal(bytes)) => text[at..].starts_with(bytes).then_some(bytes.len()),
        };
        match (advanced, retry) {
            (Some(bytes), _) => {
                token += 1;
                at += bytes;
            }
            (None, None) => return false,
            (None, Some((first, from))) => {
                let Some(bytes) = character_bytes(&text[from..]) else { return false };
                retry = Some((first, from + bytes));
                (token, at) = (first, from + bytes);
            }
        }
    }
}

/// Bytes of the first character; a byte that is not UTF-8 counts as one. `None` without text.
fn character_bytes(text: &[u8]) -> Option<usize> {
    let follow = text.get(1..)?.iter().take(3).take_while(|b| **b & 0xc0 == 0x80).count();
    Some(match text.first()? {
        0xc0..=0xdf => 1 + follow.min(1),
        0xe0..=0xef => 1 + follow.min(2),
        0xf0..=0xff => 1 + follow.min(3),
        _ => 1,
    })
}

/// `text LIKE pattern [ESCAPE escape]`.
pub(super) fn like(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let [_, pattern, escapes @ ..] = args else { return Err(wrong_storage(result)) };
    let constants = (pattern.constant, escapes.first().map(|escape| escape.constant));
    if let (Some(Value::Bytes(pattern)), None | Some(Some(Value::Bytes(_)))) = constants {
        let escape = constants.1.flatten().and_then(Value::as_bytes);
        let pattern = Pattern::parse(pattern, escape)?;
        return Ok(Kernel::new(move |call| {
            let matching = Search::bits(&pattern, call).unwrap_or_else(|| {
                let text = &call.args[0];
                test_rows(call.rows, |row| pattern.matches(text.string(row)))
            });
            call.boolean(matching)
        }));
    }
    Ok(Kernel::new(like_each))
}

/// LIKE with a pattern for each row; equal neighbours are taken apart once.
fn like_each(call: &Call<'_>) -> Result<vector::Vector> {
    let [text, patterns, escapes @ ..] = call.args else { return Err(wrong_storage(call.ty)) };
    let mut outcome = Ok(());
    let mut last: Option<(Vec<u8>, Option<Vec<u8>>, Pattern)> = None;
    let bits = test_rows(call.rows, |row| {
        let pattern = patterns.string(row);
        let escape = escapes.first().map(|e: &DecodedVector| e.string(row));
        if let Some((p, e, parsed)) = &last
            && p == pattern
            && e.as_deref() == escape
        {
            return parsed.matches(text.string(row));
        }
        match Pattern::parse(pattern, escape) {
            Ok(parsed) => {
                let matched = parsed.matches(text.string(row));
                last = Some((pattern.to_vec(), escape.map(<[u8]>::to_vec), parsed));
                matched
            }
            Err(error) => {
                outcome = Err(error);
                false
            }
        }
    });
    outcome?;
    call.boolean(bits)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::parse(pattern.as_bytes(), None).unwrap().matches(text.as_bytes())
    }

    /// The definition, character by character.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|skip| naive(&text[skip..], rest)),
            Some(('_', rest)) => !text.is_empty() && naive(&text[1..], rest),
            Some((c, rest)) => text.first() == Some(c) && naive(&text[1..], rest),
        }
    }

    #[test]
    fn every_short_pattern_matches_as_defined() {
        let texts = ["", "a", "b", "ab", "ba", "aab", "abab", "äb", "bä", "äöä", "abcabd"];
        let letters = ['a', 'b', 'ä', '%', '_'];
        let mut patterns = vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<String> = patterns
                .iter()
                .flat_map(|p| letters.iter().map(move |c| format!("{p}{c}")))
                .collect();
            for pattern in &longer {
                for text in texts {
                    let (t, p): (Vec<char>, Vec<char>) =
                        (text.chars().collect(), pattern.chars().collect());
                    assert_eq!(like(text, pattern), naive(&t, &p), "{text} like {pattern}");
                }
            }
            patterns = longer;
        }
    }

    #[test]
    fn pieces_must_come_in_order_without_overlap() {
        assert!(like("special requests", "%special%requests%"));
        assert!(!like("requests special", "%special%requests%"));
        assert!(!like("aba", "ab%ba"));
        assert!(like("abba", "ab%ba"));
    }

    #[test]
    fn a_piece_is_found_in_short_and_in_long_text() {
        for padding in 0..100 {
            let text = format!("{}qqua quaqua{}", "q".repeat(padding), "u".repeat(padding));
            assert!(like(&text, "%quaq%u%"), "{padding}");
            assert!(!like(&text, "%quaqq%"), "{padding}");
        }
    }

    #[test]
    fn an_escaped_wildcard_is_text() {
        let pattern = |p: &str| Pattern::parse(p.as_bytes(), Some(b"\\"));
        assert!(pattern("10\\%").unwrap().matches(b"10%"));
        assert!(!pattern("10\\%").unwrap().matches(b"100"));
        assert!(pattern("a\\_\\\\%").unwrap().matches(b"a_\\b"));
        assert_eq!(
            pattern("a\\b").unwrap_err().to_string(),
            "invalid input: the escape of LIKE must stand before %, _ or itself (pattern=a\\b)"
        );
        assert!(Pattern::parse(b"a", Some(b"ab")).is_err());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_matched_one_by_one() {
        let pattern = Pattern::parse(b"_b", None).unwrap();
        assert!(pattern.matches(b"\xffb"));
        assert!(!Pattern::parse(b"__", None).unwrap().matches(b"\xc3\xa4"));
    }
}
