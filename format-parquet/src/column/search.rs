//! Strings of a page that match a pattern, searched many at a time.
//!
//! ```text
//! page    |len|..special..|len|.....|len|..special..|len|....        walked for the places
//! block       [----------------------------------------------)       searched at once
//! ```
//!
//! The places of a block of strings are noted, then the text from its first to its last byte is
//! searched for what every match has inside. What stands between two strings, lengths and strings
//! that are not wanted, is searched too: where that is too much, strings are matched one by one.

use dwio::filter::PatternSearch;
use vector::{Result, bits};

use super::spans::Spans;

/// Strings that are searched together: their text stays in the nearest caches.
const BLOCK: usize = 256;
/// A block is at most this many times as long as its strings.
const MAX_STRETCH: usize = 2;

/// Clears the bits of strings that do not match, or of those that do when `passes` is false.
pub(super) fn retain_matching(
    spans: Spans<'_>,
    mut search: PatternSearch<'_>,
    passes: bool,
    wanted: &mut [u64],
) -> Result<()> {
    let bytes = spans.bytes().clone();
    let mut matching = vec![0; wanted.len()];
    let mut block = Block::default();
    spans.each(wanted, |number, start, end| {
        if block.len == BLOCK {
            block.find(&bytes, &mut search, &mut matching);
        }
        block.push(Place { number, start, end });
    })?;
    block.find(&bytes, &mut search, &mut matching);
    match passes {
        true => bits::and_assign(wanted, &matching),
        false => bits::and_not_assign(wanted, &matching),
    }
    Ok(())
}

/// Where a string stands.
#[derive(Clone, Copy, Default)]
struct Place {
    number: usize,
    start: usize,
    end: usize,
}

/// Strings of which it is not known yet whether they match.
struct Block {
    places: [Place; BLOCK],
    len: usize,
    /// The bytes of the strings and of their lengths.
    num_bytes: usize,
}

impl Default for Block {
    fn default() -> Self {
        Block { places: [Place::default(); BLOCK], len: 0, num_bytes: 0 }
    }
}

impl Block {
    #[inline]
    fn push(&mut self, place: Place) {
        if let Some(slot) = self.places.get_mut(self.len) {
            *slot = place;
            self.len += 1;
            self.num_bytes += place.end - place.start + size_of::<u32>();
        }
    }

    /// Sets the bits of those that match, and empties the block.
    #[inline(never)]
    fn find(&mut self, bytes: &[u8], search: &mut PatternSearch<'_>, matching: &mut [u64]) {
        let places = self.places.get(..self.len).unwrap_or(&[]);
        if let (Some(first), Some(last)) = (places.first(), places.last()) {
            let from = first.start;
            if last.end - from <= MAX_STRETCH * self.num_bytes {
                let text = bytes.get(from..last.end).unwrap_or(&[]);
                let place = |i: usize| places.get(i).copied().unwrap_or(*last);
                let range = |i| place(i).start - from..place(i).end - from;
                search.block(text, places.len(), range, |i| bits::set(matching, place(i).number));
            } else {
                let matches = |p: &&Place| search.matches(bytes.get(p.start..p.end).unwrap_or(&[]));
                places.iter().filter(matches).for_each(|p| bits::set(matching, p.number));
            }
        }
        (self.len, self.num_bytes) = (0, 0);
    }
}
