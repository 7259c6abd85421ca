//! Pattern search over the strings of a page, many at a time.
//!
//! ```text
//! page    |len|..special..|len|.....|len|..special..|len|....        walked for the positions
//! block       [----------------------------------------------)       searched as one text
//! ```
//!
//! The positions of a block of strings are collected, then the text from its first to its last byte
//! is searched for the part of the pattern that every match contains. Bytes between two strings,
//! which are lengths and strings that are not selected, are searched too; where they are too many,
//! strings are matched one by one.

use dwio::filter::PatternSearch;
use vector::{Result, bits};

use super::spans::Spans;

/// Number of strings that are searched together: their text stays in the L1 and L2 caches.
const BLOCK: usize = 256;
/// Maximum ratio of the length of a block to that of its strings.
const MAX_STRETCH: usize = 2;

/// Clears the bits of strings that do not match, or, when `passes` is false, of those that do.
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

/// The number and position of a string.
#[derive(Clone, Copy, Default)]
struct Place {
    number: usize,
    start: usize,
    end: usize,
}

/// Strings that are not matched yet.
struct Block {
    places: [Place; BLOCK],
    len: usize,
    /// Total number of bytes of the strings and of their lengths.
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

    /// Sets the bits of the strings that match, and empties the block.
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
