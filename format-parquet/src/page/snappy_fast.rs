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

/// A copy of the last 7 bytes of the number in front, as it stands in the input.
const NUMBER_COPY: u64 = 1 | 3 << 2 | 8 << 8;

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

/// Writes the 8 bytes in front of `to` again and again, 64 bytes in all.
///
/// Columns of numbers repeat whole values. The pattern is loaded as it was written, 8 bytes at a
/// time: a wider load would have to wait for several writes before it.
///
/// # Safety
/// There are 8 bytes in front of `to`, and `to` has 64.
#[inline(always)]
unsafe fn repeat_8(to: *mut u8) {
    // SAFETY: as the caller says.
    unsafe {
        let pattern = u128::from(load(to.sub(8)));
        let pattern = (pattern | pattern << 64).to_le_bytes();
        for at in [0, 16, 32, 48] {
            to.add(at).cast::<[u8; 16]>().write_unaligned(pattern);
        }
    }
}

/// Takes 8-byte numbers of which each begins with other bytes than the one before and goes on with
/// the same, and repetitions of whole numbers, as sorted columns have them. The last number stays in
/// a register: what is copied was just written, in pieces, and loading it would wait for all of
/// them. `at` stands behind such a number; gives where what is anything else or too near to `last`
/// starts.
///
/// # Safety
/// `input` and `output` have INPUT_SLACK and OUTPUT_SLACK bytes from `last` on, and `output` has 8
/// bytes in front of `at`.
#[inline(never)]
unsafe fn numbers(input: *const u8, output: *mut u8, at: Position, last: Position) -> Position {
    let Position { input: mut i, output: mut o } = at;
    // SAFETY: 8 bytes in front of `at`.
    let mut number = unsafe { load(output.add(o - 8)) };
    // So many bytes in front of `o` are repetitions of the number.
    let mut same = 8;
    while i <= last.input && o <= last.output {
        // SAFETY: 8 of INPUT_SLACK bytes.
        let word = unsafe { load(input.add(i)) };
        if word & 0xf3 == 0 {
            // A literal of 1 to 4 bytes and a copy of what is left to 8, with a 1-byte offset.
            let more = (word >> 2 & 3) as usize;
            let copy = word >> 16 >> (8 * more);
            let offset = (copy >> 8 & 0xff) as usize;
            let expected = 1 | (3 - more as u64) << 2;
            if copy & 0xff != expected || !offset.is_multiple_of(8) || offset > same || offset == 0
            {
                break;
            }
            let new = u64::MAX >> (56 - 8 * more);
            number = number & !new | word >> 8 & new;
            // SAFETY: 8 of OUTPUT_SLACK bytes.
            unsafe { output.add(o).cast::<u64>().write_unaligned(number.to_le()) };
            (i, o, same) = (i + more + 4, o + 8, 8);
        } else {
            // A copy of whole numbers with a 2-byte offset.
            let len = (word >> 2 & 0x3f) as usize + 1;
            if word & 3 != 2 || word >> 8 & 0xffff != 8 || !len.is_multiple_of(8) {
                break;
            }
            let pattern = u128::from(number);
            let pattern = (pattern | pattern << 64).to_le_bytes();
            for to in [0, 16, 32, 48] {
                // SAFETY: 64 of OUTPUT_SLACK bytes.
                unsafe { output.add(o + to).cast::<[u8; 16]>().write_unaligned(pattern) };
            }
            (i, o, same) = (i + 3, o + len, same + len);
        }
    }
    Position { input: i, output: o }
}

/// What a step found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// An element, which was taken.
    Element,
    /// The same, and it goes on with a number as the one before did: there may be more such.
    Number,
    /// An element that is not plainly good.
    Other,
}

/// Takes the element at `at`, or a short literal and the element behind it, if that is plainly
/// good; else `at` stands in front of it.
///
/// # Safety
/// `input` has INPUT_SLACK bytes from `at.input` on, and `output` has all bytes in front of
/// `at.output` and OUTPUT_SLACK from there on.
#[inline(always)]
unsafe fn step(input: *const u8, output: *mut u8, at: &mut Position) -> Step {
    // SAFETY: 8 of INPUT_SLACK bytes.
    let mut word = unsafe { load(input.add(at.input)) };
    if word & 0xf3 == 0 {
        // A literal of 1 to 4 bytes. The tag behind it and that one's offset are in `word`.
        // SAFETY: 8 of OUTPUT_SLACK bytes.
        unsafe { output.add(at.output).cast::<u64>().write_unaligned((word >> 8).to_le()) };
        let more = (word >> 2 & 3) as usize;
        at.input += more + 2;
        at.output += more + 1;
        // The tag is four times `more`: twice the tag are the bits of `more` bytes.
        word = word >> 16 >> (word.wrapping_add(word) & 0x3f);
    }
    // Now the input is at most 5 and the output at most 4 further than at the start, and the
    // lowest three bytes of `word` are the next ones of the input.
    let entry = TAGS[(word & 0xff) as usize];
    let kind = (word & 3) as usize;
    let len = (entry & 0x7f) as usize;
    let offset = ((word >> 8) as u32 & entry >> 16 | entry & 0x700) as usize;
    if len <= offset {
        if offset > at.output {
            return Step::Other;
        }
        // SAFETY: `offset` is at most `at.output`, so the source is inside of `output`; `len` is
        // at most 64 and at most `offset`: the moves end within 4 + 64 bytes.
        unsafe { move_short(output.add(at.output - offset), output.add(at.output), len) };
        at.input += kind + 1;
        if word & 0xffff == NUMBER_COPY {
            at.output += len;
            return Step::Number;
        }
    } else if kind == 0 {
        if len > 60 {
            return Step::Other;
        }
        // SAFETY: at most 5 + 1 + 64 bytes of input, 4 + 64 of output; these are two slices.
        unsafe { move_short(input.add(at.input + 1), output.add(at.output), len) };
        at.input += len + 1;
    } else {
        if offset == 0 || offset > at.output {
            return Step::Other;
        }
        // SAFETY: `offset` is at most `at.output`; the moves end within 4 + 64 bytes, repetitions
        // within 4 + 64 + 16. Only offsets of 16 and more are moved.
        unsafe {
            let to = output.add(at.output);
            match offset {
                8 => repeat_8(to),
                0..16 => repeat(offset, to, len),
                _ => move_short(to.sub(offset), to, len),
            }
        }
        at.input += kind + 1;
    }
    at.output += len;
    Step::Element
}

/// How far both ends may be for another step; `None` when they are too near from the start.
fn last_start(input: &[u8], output: &[u8]) -> Option<Position> {
    Some(Position {
        input: input.len().checked_sub(INPUT_SLACK)?,
        output: output.len().checked_sub(OUTPUT_SLACK)?,
    })
}

/// Takes elements from `at` on as long as they are plainly good; gives where the first one that is
/// not, or that is too near to an end, starts. Bytes of `output` behind that may have changed.
pub(super) fn run(input: &[u8], output: &mut [u8], mut at: Position) -> Position {
    let Some(last) = last_start(input, output) else { return at };
    let (input, output) = (input.as_ptr(), output.as_mut_ptr());
    loop {
        // SAFETY: `last` is of these two slices.
        let step = unsafe { steps(input, output, &mut at, last) };
        if step != Step::Number {
            return at;
        }
        // SAFETY: the same, and what was copied stood 8 bytes in front of it.
        at = unsafe { numbers(input, output, at, last) };
    }
}

/// Takes elements up to one that is more than that, or up to `last`. A function of its own, as
/// [`steps_of_two`] is, so that no call disturbs the registers of the loop.
///
/// # Safety
/// `input` and `output` have INPUT_SLACK and OUTPUT_SLACK bytes from `last` on.
#[inline(never)]
unsafe fn steps(input: *const u8, output: *mut u8, at: &mut Position, last: Position) -> Step {
    let mut now = *at;
    let mut found = Step::Element;
    while now.input <= last.input && now.output <= last.output && found == Step::Element {
        // SAFETY: the loop's condition.
        found = unsafe { step(input, output, &mut now) };
    }
    *at = now;
    found
}

/// Takes elements of two blocks in turn, as [`run`] does of one; ends with whichever ends first.
///
/// The way from tag to tag is a chain of instructions that wait for each other. Two chains at once
/// take little longer than one.
pub(super) fn run_two(
    (input_a, output_a): (&[u8], &mut [u8]),
    (input_b, output_b): (&[u8], &mut [u8]),
    mut at: [Position; 2],
) -> [Position; 2] {
    let last = (last_start(input_a, output_a), last_start(input_b, output_b));
    let (Some(last_a), Some(last_b)) = last else { return at };
    let a = (input_a.as_ptr(), output_a.as_mut_ptr(), last_a);
    let b = (input_b.as_ptr(), output_b.as_mut_ptr(), last_b);
    loop {
        // SAFETY: each `last` is of the two slices beside it; so it is below, where what was copied
        // stood 8 bytes in front of it.
        let found = unsafe { steps_of_two(a, b, &mut at) };
        if found == [Step::Element; 2] || found.contains(&Step::Other) {
            return at;
        }
        for ((step, at), (input, output, last)) in found.iter().zip(&mut at).zip([a, b]) {
            if *step == Step::Number {
                // SAFETY: as above.
                *at = unsafe { numbers(input, output, *at, last) };
            }
        }
    }
}

type Ends = (*const u8, *mut u8, Position);

/// [`steps`] of two blocks: one of each in turn.
///
/// # Safety
/// As for [`steps`], of both.
#[inline(never)]
unsafe fn steps_of_two(
    (input_a, output_a, last_a): Ends,
    (input_b, output_b, last_b): Ends,
    at: &mut [Position; 2],
) -> [Step; 2] {
    let [mut a, mut b] = *at;
    let mut found = [Step::Element; 2];
    while a.input <= last_a.input
        && a.output <= last_a.output
        && b.input <= last_b.input
        && b.output <= last_b.output
    {
        // SAFETY: the loop's condition; a step of one block does not move the other.
        unsafe {
            let of_a = step(input_a, output_a, &mut a);
            if of_a != Step::Element {
                found = [of_a, Step::Element];
                break;
            }
            let of_b = step(input_b, output_b, &mut b);
            if of_b != Step::Element {
                found = [Step::Element, of_b];
                break;
            }
        }
    }
    *at = [a, b];
    found
}
