//! Snappy: a block consists of literals and of copies of earlier output.
//!
//! ```text
//! block    length (LEB128)  element ...
//! literal  llllll 00  [length - 1]        bytes      l < 60: length - 1; else 1-4 length bytes
//! copy 1   ooo lll 01  offset             length 4-11, offset 11 bits
//! copy 2   llllll 10  offset offset       length 1-64
//! copy 4   llllll 11  offset * 4          length 1-64
//! ```
//!
//! Two decoders alternate. [`snappy_fast`](super::snappy_fast) processes elements while both ends
//! are far away and stops before the first element that is not certainly valid; [`one_element`]
//! then decodes exactly that element with all checks. Therefore every error is found here, in safe
//! code, and the fast loop reports none (rule P7.31).

use vector::{Error, Result};

use super::snappy_fast::{run, run_two};

/// Maximum number of bytes, of seven bits each, of a block's length.
const MAX_LENGTH_BYTES: usize = 5;
/// Length code from which on the length of a literal is stored in separate bytes.
const FIRST_LONG: usize = 60;

/// Positions in input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    /// Number of bytes that were read.
    pub(super) input: usize,
    /// Number of bytes that were written.
    pub(super) output: usize,
}

/// Returns the decompressed length that a block declares.
pub(super) fn declared_len(input: &[u8]) -> Result<usize> {
    preamble(input).map(|(len, _)| len)
}

/// A block that is being decompressed into memory of its length.
struct Block<'a> {
    elements: &'a [u8],
    output: &'a mut [u8],
    at: Position,
}

/// Decompresses a block into `output`.
///
/// # Errors
///
/// `Corrupt` when the block is invalid or does not produce exactly the bytes of `output`.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<()> {
    Block::start(input, output)?.finish()
}

/// Decompresses two blocks together, which takes less time than one after the other.
pub(super) fn decompress_two(
    (input_a, output_a): (&[u8], &mut [u8]),
    (input_b, output_b): (&[u8], &mut [u8]),
) -> (Result<()>, Result<()>) {
    let (mut a, mut b) = match (Block::start(input_a, output_a), Block::start(input_b, output_b)) {
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => return (a.and_then(Block::finish), b.and_then(Block::finish)),
    };
    while !a.is_over() && !b.is_over() {
        let (of_a, of_b) = ((a.elements, &mut *a.output), (b.elements, &mut *b.output));
        [a.at, b.at] = run_two(of_a, of_b, [a.at, b.at]);
        // One element is not certainly valid or near its end; the other may be decoded in the same
        // way.
        match (a.take_one(), b.take_one()) {
            (Ok(()), Ok(())) => {}
            (Err(error), Ok(())) => return (Err(error), b.finish()),
            (Ok(()), Err(error)) => return (a.finish(), Err(error)),
            (Err(of_a), Err(of_b)) => return (Err(of_a), Err(of_b)),
        }
    }
    (a.finish(), b.finish())
}

impl<'a> Block<'a> {
    fn start(input: &'a [u8], output: &'a mut [u8]) -> Result<Self> {
        let (declared, elements) = preamble(input)?;
        if declared != output.len() {
            return Err(broken("the block has another length than was asked for", declared));
        }
        Ok(Block { elements, output, at: Position::default() })
    }

    fn is_over(&self) -> bool {
        self.at.input >= self.elements.len()
    }

    /// Decodes the next element, if there is one.
    fn take_one(&mut self) -> Result<()> {
        if !self.is_over() {
            self.at = one_element(self.elements, self.output, self.at)?;
        }
        Ok(())
    }

    /// Decodes the remaining elements.
    fn finish(mut self) -> Result<()> {
        while !self.is_over() {
            self.at = run(self.elements, self.output, self.at);
            self.take_one()?;
        }
        if self.at.output == self.output.len() {
            return Ok(());
        }
        Err(broken("the block ends before its length is reached", self.at.output))
    }
}

/// Returns the block's length and the bytes after it.
fn preamble(input: &[u8]) -> Result<(usize, &[u8])> {
    let mut len = 0u64;
    for (i, byte) in input.iter().take(MAX_LENGTH_BYTES).enumerate() {
        len |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            let fits = u32::try_from(len).ok().and_then(|len| usize::try_from(len).ok());
            let len = fits.ok_or_else(|| broken("the block's length has more than 32 bits", i))?;
            return Ok((len, input.get(i + 1..).unwrap_or(&[])));
        }
    }
    Err(broken("the block has no length", input.len()))
}

/// Decodes the element at `at` and writes its output.
fn one_element(input: &[u8], output: &mut [u8], at: Position) -> Result<Position> {
    let cut = || broken("an element is cut off", at.input);
    let (tag, rest) = input.get(at.input..).and_then(<[u8]>::split_first).ok_or_else(cut)?;
    let number = |num_bytes: usize| -> Result<usize> {
        let bytes = rest.get(..num_bytes).ok_or_else(cut)?;
        Ok(bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    };
    let high = usize::from(tag >> 2);
    let (num_bytes, len, offset) = match tag & 3 {
        0 => {
            let num_bytes = (high + 1).saturating_sub(FIRST_LONG);
            let len = if num_bytes == 0 { high } else { number(num_bytes)? }.saturating_add(1);
            let end = num_bytes.saturating_add(len);
            let from = rest.get(num_bytes..end).ok_or_else(cut)?;
            room(output, at, len)?.copy_from_slice(from);
            return Ok(Position { input: at.input + 1 + end, output: at.output + len });
        }
        1 => (1, (high & 7) + 4, (high >> 3) << 8 | number(1)?),
        2 => (2, high + 1, number(2)?),
        _ => (4, high + 1, number(4)?),
    };
    if offset == 0 || offset > at.output {
        return Err(broken("a copy from in front of the block", at.output).with("offset", offset));
    }
    room(output, at, len)?;
    let end = at.output + len;
    if offset >= len {
        let from = at.output - offset;
        output.copy_within(from..from + len, at.output);
    } else {
        // The copy reads bytes that it has written: the pattern continues byte by byte.
        for to in at.output..end {
            let byte = output.get(to - offset).copied().unwrap_or(0);
            if let Some(slot) = output.get_mut(to) {
                *slot = byte;
            }
        }
    }
    Ok(Position { input: at.input + 1 + num_bytes, output: end })
}

/// Returns the next `len` bytes of the output.
fn room(output: &mut [u8], at: Position, len: usize) -> Result<&mut [u8]> {
    let whole = output.len();
    let room = output.get_mut(at.output..at.output.saturating_add(len));
    room.ok_or_else(|| broken("the block is longer than it says", whole))
}

#[cold]
fn broken(what: &'static str, at: usize) -> Error {
    Error::corrupt(what).with("at", at)
}

#[cfg(test)]
mod tests;
