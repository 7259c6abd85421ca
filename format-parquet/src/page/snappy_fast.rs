//! The inner loop of the Snappy decoder: elements far from both ends, by wide moves.
//!
//! A step's cost is the way from one tag to the next, so it is kept short: a literal of up to four
//! bytes and the tag behind it come out of one 8-byte load, and for copies all but the kind is off
//! that way, in a table. Moves are of 16 bytes whatever the length and may write behind what is
//! meant; the next element writes over it, and the slack at the end takes the last. A copy that
//! overlaps itself is a pattern, which is spread in a register.
//!
//! One comparison sorts elements: table entries of literals and of copies with 4-byte offsets have
//! no offset, and so fail the test "length is at most offset" together with overlapping copies and
//! with offset 0.
#![allow(unsafe_code)]
#![cfg_attr(
    not(test),
    expect(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "kernel; tables have an entry for every byte, and what is cut off is masked"
    )
)]

use super::snappy::Position;

/// A step starts only with this many bytes of input left: the longest short literal with its tag
/// (61), and a load (16) where the next tag is.
const INPUT_SLACK: usize = 80;
/// A step starts only with room for this many bytes: a literal of 4 and a copy of 64, whose last
/// move starts before its end and writes 16.
const OUTPUT_SLACK: usize = 96;

/// For each tag: length (7 bits), the offset's bits 8..11 in their place, and from bit 16 on which
/// of the two bytes behind the tag are the offset's.
static TAGS: [u32; 256] = {
    let mut entries = [0; 256];
    let mut tag = 0;
    while tag < 256 {
        let high = tag as u32 >> 2;
        entries[tag] = match tag & 3 {
            1 => ((high & 7) + 4) | (high >> 3 << 8) | (0xff << 16),
            2 => (high + 1) | (0xffff << 16),
            _ => high + 1,
        };
        tag += 1;
    }
    entries
};

/// How many bytes of a pattern that is repeated in 16 are whole repetitions.
static STRIDES: [u8; 16] = [0, 16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15];

/// # Safety
/// `from` has 8 bytes.
#[inline(always)]
unsafe fn load(from: *const u8) -> u64 {
    // SAFETY: as the caller says; the load needs no alignment.
    u64::from_le(unsafe { from.cast::<u64>().read_unaligned() })
}

/// Moves 16 bytes, all of them loaded before any is stored.
///
/// # Safety
/// `from` and `to` have 16 bytes each; they may overlap.
#[inline(always)]
unsafe fn move_16(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller says; neither needs alignment.
    unsafe { to.cast::<[u8; 16]>().write_unaligned(from.cast::<[u8; 16]>().read_unaligned()) }
}

/// Moves `len` bytes, at most 64, and up to 15 more.
///
/// # Safety
/// `from` and `to` have `len` rounded up to a multiple of 16 bytes; when they overlap, `from` is
/// in front by at least 16 bytes or by `len`.
#[inline(always)]
unsafe fn move_short(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: each move starts below `len`, so it ends below `len` rounded up to 16.
    unsafe {
        move_16(from, to);
        if len > 16 {
            move_16(from.add(16), to.add(16));
            if len > 32 {
                move_16(from.add(32), to.add(32));
                if len > 48 {
                    move_16(from.add(48), to.add(48));
                }
            }
        }
    }
}

/// Repeats the `offset` bytes in front of `to` until `len` bytes are written, and up to 15 more.
///
/// # Safety
/// `offset` is 1..16, the bytes in front of `to` are there, and `to` has `len + 16` bytes.
#[inline(always)]
unsafe fn repeat(offset: usize, to: *mut u8, len: usize) {
    let mut bits = offset * 8;
    // SAFETY: the load is from `offset` bytes in front of `to` on and ends within 16 behind it.
    let seen = u128::from_le(unsafe { to.sub(offset).cast::<u128>().read_unaligned() });
    let mut pattern = seen & ((1 << bits) - 1);
    while bits < 128 {
        pattern |= pattern << bits;
        bits *= 2;
    }
    let stride = usize::from(STRIDES[offset & 15]).max(1);
    let mut done = 0;
    while done < len {
        // SAFETY: `done` is below `len`, so the store ends within `len + 16`.
        unsafe { to.add(done).cast::<u128>().write_unaligned(pattern.to_le()) };
        done += stride;
    }
}

/// Takes elements from `at` on as long as they are plainly good; gives where the first one that is
/// not, or that is too near to an end, starts. Bytes of `output` behind that may have changed.
#[inline(never)]
pub(super) fn run(input: &[u8], output: &mut [u8], at: Position) -> Position {
    let num_input = input.len();
    let num_output = output.len();
    let (Some(last_input), Some(last_output)) =
        (num_input.checked_sub(INPUT_SLACK), num_output.checked_sub(OUTPUT_SLACK))
    else {
        return at;
    };
    let (input, output) = (input.as_ptr(), output.as_mut_ptr());
    let Position { input: mut i, output: mut o } = at;
    // Invariant: what the loop reads of `input` is in `i..i + INPUT_SLACK`, of `output` in
    // `0..o + OUTPUT_SLACK`, and it writes to `o..o + OUTPUT_SLACK` only.
    while i <= last_input && o <= last_output {
        // SAFETY: 8 of INPUT_SLACK bytes.
        let mut word = unsafe { load(input.add(i)) };
        if word & 0xf3 == 0 {
            // A literal of 1 to 4 bytes. The tag behind it and that one's offset are in `word`.
            // SAFETY: 8 of OUTPUT_SLACK bytes.
            unsafe { output.add(o).cast::<u64>().write_unaligned((word >> 8).to_le()) };
            let more = (word >> 2 & 3) as usize;
            i += more + 2;
            o += more + 1;
            // The tag is four times `more`: twice the tag are the bits of `more` bytes.
            word = word >> 16 >> (word.wrapping_add(word) & 0x3f);
        }
        // Now `i` is at most 5 and `o` at most 4 further than the loop's condition says, and the
        // lowest three bytes of `word` are those at `i`.
        let entry = TAGS[(word & 0xff) as usize];
        let kind = (word & 3) as usize;
        let len = (entry & 0x7f) as usize;
        let offset = ((word >> 8) as u32 & entry >> 16 | entry & 0x700) as usize;
        if len <= offset {
            if offset > o {
                break;
            }
            // SAFETY: `offset` is at most `o`, so `from` is inside of `output`; `len` is at most
            // 64 and at most `offset`: the moves end within 4 + 64 bytes.
            unsafe { move_short(output.add(o - offset), output.add(o), len) };
            i += kind + 1;
            o += len;
        } else if kind == 0 {
            if len > 60 {
                break;
            }
            // SAFETY: at most 5 + 1 + 64 bytes of input, 4 + 64 of output; these are two slices.
            unsafe { move_short(input.add(i + 1), output.add(o), len) };
            i += len + 1;
            o += len;
        } else {
            if offset == 0 || offset > o {
                break;
            }
            // SAFETY: `offset` is at most `o`; the moves end within 4 + 64 bytes, the repetition
            // within 4 + 64 + 16. Only offsets of 16 and more are moved.
            unsafe {
                let to = output.add(o);
                if offset < 16 {
                    repeat(offset, to, len);
                } else {
                    move_short(to.sub(offset), to, len);
                }
            }
            i += kind + 1;
            o += len;
        }
    }
    Position { input: i, output: o }
}
