//! LZO1X, in Hadoop's framing.
//!
//! A block is a sequence of instructions. Each copies bytes from the output, followed by up to
//! three literals; one kind copies a longer sequence of literals.
//!
//! ```text
//! first byte     18..=255          literals, their number is the byte minus 17
//! 0000 LLLL      after a copy without literals: 3 + L literals
//! 0000 DDSS  H   after 1 to 3 literals: copy 2 from D + 4 H + 1; after more: copy 3 from 2 KiB more
//! 0001 HLLL  DD  copy 2 + L from 16 KiB + 16 KiB H + D; D and H 0: the end
//! 001L LLLL  DD  copy 2 + L from D + 1
//! 01LD DDSS  H   copy 3 + L from D + 8 H + 1
//! 1LLD DDSS  H   copy 5 + L from D + 8 H + 1
//! ```
//!
//! An `L` of 0 is continued: it is 255 for each zero byte, plus a byte that is not zero, plus the
//! largest value of `L`'s bits. `DD` is 16 bits, little-endian, of which the low two are `SS`. `SS`
//! literals follow.
//!
//! Nothing is written outside of the block's output and nothing is read before it: every length and
//! distance is checked, so an invalid block results in an error.

use vector::{Error, Result};

use super::hadoop;

/// Base of the distances of the third kind.
const FAR: usize = 16 << 10;

/// Base of the distance of a copy after four or more literals.
const MIDDLE: usize = 2 << 10;

/// Decompresses a page, which must fill `output` exactly.
pub(super) fn decompress(input: &[u8], output: &mut [u8]) -> Result<()> {
    hadoop::decode_frames(input, output, decode_block)
        .ok_or_else(|| Error::corrupt("an LZO page cannot be decompressed"))
}

/// Number of literals that the preceding instruction copied, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Copy,
    FewLiterals,
    ManyLiterals,
}

/// Decodes a block into the front of `room` and returns the number of bytes written; `None` when
/// the block is invalid.
fn decode_block(block: &[u8], room: &mut [u8]) -> Option<usize> {
    let mut block = Block { input: block, room, filled: 0 };
    let mut before = Before::Copy;
    if let [first @ 18..=255, rest @ ..] = block.input {
        let count = usize::from(*first) - 17;
        block.input = rest;
        block.literals(count)?;
        before = if count < 4 { Before::FewLiterals } else { Before::ManyLiterals };
    }
    loop {
        let op = usize::from(block.byte()?);
        let (length, distance, trailing) = match op {
            0..16 if before == Before::Copy => {
                let count = 3 + block.length(op, 4)?;
                block.literals(count)?;
                before = Before::ManyLiterals;
                continue;
            }
            0..16 => {
                let distance = 1 + (op >> 2) + 4 * usize::from(block.byte()?);
                match before {
                    Before::ManyLiterals => (3, distance + MIDDLE, op & 3),
                    _ => (2, distance, op & 3),
                }
            }
            16..32 => {
                let length = 2 + block.length(op & 7, 3)?;
                let (near, trailing) = block.distance()?;
                let distance = FAR + ((op & 8) << 11) + near;
                if distance == FAR {
                    // The end has a length and no literals; no bytes may follow it.
                    return (length == 3 && block.input.is_empty()).then_some(block.filled);
                }
                (length, distance, trailing)
            }
            32..64 => {
                let length = 2 + block.length(op & 31, 5)?;
                let (near, trailing) = block.distance()?;
                (length, near + 1, trailing)
            }
            _ => {
                let length = if op < 128 { 3 + (op >> 5 & 1) } else { 5 + (op >> 5 & 3) };
                (length, 1 + (op >> 2 & 7) + 8 * usize::from(block.byte()?), op & 3)
            }
        };
        block.copy(length, distance)?;
        block.literals(trailing)?;
        before = if trailing == 0 { Before::Copy } else { Before::FewLiterals };
    }
}

struct Block<'i, 'o> {
    input: &'i [u8],
    room: &'o mut [u8],
    filled: usize,
}

impl Block<'_, '_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.input.split_first()?;
        self.input = rest;
        Some(*byte)
    }

    /// Returns a length of which `field` are the first `bits` bits.
    fn length(&mut self, field: usize, bits: u32) -> Option<usize> {
        if field != 0 {
            return Some(field);
        }
        let zeros = self.input.iter().take_while(|byte| **byte == 0).count();
        self.input = self.input.get(zeros..)?;
        let last = usize::from(self.byte()?);
        zeros.checked_mul(255)?.checked_add(last + (1 << bits) - 1)
    }

    /// Returns the distance in the next two bytes and the number of literals after the copy.
    fn distance(&mut self) -> Option<(usize, usize)> {
        let low = usize::from(self.byte()?);
        let value = low | usize::from(self.byte()?) << 8;
        Some((value >> 2, value & 3))
    }

    fn literals(&mut self, count: usize) -> Option<()> {
        let (literals, rest) = self.input.split_at_checked(count)?;
        self.room.get_mut(self.filled..)?.get_mut(..count)?.copy_from_slice(literals);
        self.filled += count;
        self.input = rest;
        Some(())
    }

    fn copy(&mut self, length: usize, distance: usize) -> Option<()> {
        let start = self.filled.checked_sub(distance)?;
        let end = self.filled.checked_add(length).filter(|end| *end <= self.room.len())?;
        // A copy may read bytes that it has written: it proceeds in steps of bytes that are already
        // present.
        while self.filled < end {
            let step = (self.filled - start).min(end - self.filled);
            self.room.copy_within(start..start + step, self.filled);
            self.filled += step;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(bytes: &[u8], len: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; len];
        let filled = decode_block(bytes, &mut out)?;
        out.truncate(filled);
        Some(out)
    }

    const END: [u8; 3] = [17, 0, 0];

    #[test]
    fn literals_of_all_lengths_are_copied() {
        for n in [1usize, 3, 4, 18, 100, 238] {
            let text: Vec<u8> = (0..n).map(|i| i as u8).collect();
            let bytes = [&[17 + n as u8][..], &text, &END].concat();
            assert_eq!(block(&bytes, 300).unwrap(), text);
        }
        let text = vec![9u8; 3 + 15 + 2 * 255 + 7];
        let bytes = [&[0, 0, 0, 7][..], &text, &END].concat();
        assert_eq!(block(&bytes, 1000).unwrap(), text);
    }

    #[test]
    fn every_kind_of_copy_takes_what_its_distance_says() {
        // Four literals, then copies of each kind followed by literals.
        let start = [17 + 4, b'a', b'b', b'c', b'd'];
        let with = |rest: &[u8]| block(&[&start[..], rest, &END].concat(), 10_000).unwrap();
        // 1LLDDDSS: 5 from distance 4, then one literal.
        assert_eq!(with(&[0x80 | 3 << 2 | 1, 0, b'x']), b"abcdabcdax");
        // 01LDDDSS: 4 from distance 1, which repeats the last byte.
        assert_eq!(with(&[0x40 | 0x20, 0]), b"abcddddd");
        // 001LLLLL: 2 + 31 + 10 from distance 2.
        let expected = [&b"abcd"[..], &b"cd".repeat(22)].concat();
        assert_eq!(with(&[0x20, 10, 1 << 2, 0]), expected[..4 + 43]);
        // After one literal: two bytes from distance 1 + 2.
        assert_eq!(with(&[0x40 | 1, 0, b'x', 2 << 2, 0]), b"abcddddxdd");
        // After four or more literals: three bytes from more than 2 KiB before, which do not exist
        // here.
        assert!(block(&[&start[..], &[0, 0], &END].concat(), 100).is_none());
    }

    #[test]
    fn copies_from_afar_reach_back_to_what_was_written() {
        // Preceded by 2 KiB and 16 KiB of literals.
        let text: Vec<u8> = (0..20_000u32).map(|i| ((i * 31) >> 3) as u8).collect();
        let literals = |n: usize| {
            let rest = n - 18;
            let mut head = vec![0u8; 1 + rest / 255];
            head.push((rest % 255) as u8);
            [head, text[..n].to_vec()].concat()
        };
        let mut bytes = literals(3000);
        bytes.extend([1 << 2, 3, 17, 0, 0]);
        let found = block(&bytes, 4000).unwrap();
        let from = 3000 - (MIDDLE + 1 + 1 + 12);
        assert_eq!(found[3000..], text[from..from + 3]);

        let mut bytes = literals(20_000);
        bytes.extend([16 | 4, 0x90, 1, 17, 0, 0]);
        let found = block(&bytes, 30_000).unwrap();
        let from = 20_000 - (FAR + 100);
        assert_eq!(found[20_000..], text[from..from + 6]);
    }

    #[test]
    fn no_cut_and_no_changed_byte_does_harm() {
        let inner = [
            &[17 + 4, b'a', b'b', b'c', b'd', 0x80 | 3 << 2 | 1, 0, b'x', 2 << 2, 0][..],
            &[0x20, 10, 1 << 2, 0, 0, 5],
            &[b'q'; 23],
            &END,
        ]
        .concat();
        let plain = block(&inner, 1000).unwrap();
        let sizes = [plain.len() as u32, inner.len() as u32].map(u32::to_be_bytes).concat();
        let page = [sizes, inner].concat();
        let read = |page: &[u8]| {
            let mut out = vec![0; plain.len()];
            decompress(page, &mut out).map(|()| out)
        };
        assert_eq!(read(&page).unwrap(), plain);
        for len in 0..page.len() {
            assert!(read(&page[..len]).is_err());
        }
        for at in 0..page.len() {
            for value in 0..=255 {
                let mut page = page.clone();
                page[at] = value;
                let _ = read(&page);
            }
        }
        assert!(decompress(&page, &mut [0; 5]).is_err());
    }
}
