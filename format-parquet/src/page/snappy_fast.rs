//! The inner loop of the Snappy decoder: elements far from both ends, with wide moves.
//!
//! The cost of a step is the dependency chain from one tag to the next, so it is kept short: a
//! literal of up to four bytes and the tag after it come from one 8-byte load, and for copies
//! everything except the kind comes from a table, off that chain. Moves are of 16 bytes for all
//! lengths and may write more than the element; the next element overwrites the surplus, and the
//! slack at the end contains the last one. A copy that overlaps itself is a pattern, which is
//! expanded in a register.
//!
//! One comparison classifies elements: table entries of literals and of copies with 4-byte offsets
//! have no offset, and so fail the test "length is at most offset", as do overlapping copies and an
//! offset of 0.
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

/// Minimum number of remaining input bytes for a step: the longest short literal with its tag (61),
/// and a load (16) at the next tag.
const INPUT_SLACK: usize = 80;
/// Minimum number of remaining output bytes for a step: a literal of 4 and a copy of 64, of which
/// the last move starts before its end and writes 16.
const OUTPUT_SLACK: usize = 96;

/// A copy of the last 7 bytes of the preceding number, as stored in the input.
const NUMBER_COPY: u64 = 1 | 3 << 2 | 8 << 8;

/// For each tag: the length (7 bits), bits 8 to 10 of the offset at their position, and from bit 16
/// on a mask of the two bytes after the tag that belong to the offset.
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

/// For each pattern length, the number of bytes of whole repetitions in 16 bytes.
static STRIDES: [u8; 16] = [0, 16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15];

/// # Safety
/// `from` has 8 bytes.
#[inline(always)]
unsafe fn load(from: *const u8) -> u64 {
    // SAFETY: as the caller guarantees; the load needs no alignment.
    u64::from_le(unsafe { from.cast::<u64>().read_unaligned() })
}

/// Moves 16 bytes, all of them loaded before any is stored.
///
/// # Safety
/// `from` and `to` have 16 bytes each; they may overlap.
#[inline(always)]
unsafe fn move_16(from: *const u8, to: *mut u8) {
    // SAFETY: as the caller guarantees; neither access needs alignment.
    unsafe { to.cast::<[u8; 16]>().write_unaligned(from.cast::<[u8; 16]>().read_unaligned()) }
}

/// Moves `len` bytes, at most 64, and up to 15 more.
///
/// # Safety
/// `from` and `to` have `len` rounded up to a multiple of 16 bytes; when they overlap, `from` is
/// before `to` by at least 16 bytes or by `len`.
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

/// Repeats the `offset` bytes before `to` until `len` bytes are written, and up to 15 more.
///
/// # Safety
/// `offset` is 1..16, the bytes before `to` exist, and `to` has `len + 16` bytes.
#[inline(always)]
unsafe fn repeat(offset: usize, to: *mut u8, len: usize) {
    let mut bits = offset * 8;
    // SAFETY: the load starts `offset` bytes before `to` and ends within 16 bytes after it.
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

/// Writes the 8 bytes before `to` repeatedly, 64 bytes in total.
///
/// Columns of numbers repeat whole values. The pattern is loaded as it was written, 8 bytes at a
/// time: a wider load would have to wait for several earlier writes.
///
/// # Safety
/// There are 8 bytes before `to`, and `to` has 64.
#[inline(always)]
unsafe fn repeat_8(to: *mut u8) {
    // SAFETY: as the caller guarantees.
    unsafe {
        let pattern = u128::from(load(to.sub(8)));
        let pattern = (pattern | pattern << 64).to_le_bytes();
        for at in [0, 16, 32, 48] {
            to.add(at).cast::<[u8; 16]>().write_unaligned(pattern);
        }
    }
}

/// Decodes 8-byte numbers of which each differs from its predecessor only in the first bytes, and
/// repetitions of whole numbers, as sorted columns have them. The last number is kept in a
/// register: the copied bytes were just written, in pieces, and loading them would wait for all of
/// these writes. `at` is behind such a number; returns the position of the first element that is of
/// another kind or too near to `last`.
///
/// # Safety
/// `input` and `output` have INPUT_SLACK and OUTPUT_SLACK bytes from `last` on, and `output` has 8
/// bytes before `at`.
#[inline(never)]
unsafe fn numbers(input: *const u8, output: *mut u8, at: Position, last: Position) -> Position {
    let Position { input: mut i, output: mut o } = at;
    // SAFETY: there are 8 bytes before `at`.
    let mut number = unsafe { load(output.add(o - 8)) };
    // Number of bytes before `o` that are repetitions of the number.
    let mut same = 8;
    while i <= last.input && o <= last.output {
        // SAFETY: 8 of INPUT_SLACK bytes.
        let word = unsafe { load(input.add(i)) };
        if word & 0xf3 == 0 {
            // A literal of 1 to 4 bytes and a copy of the remaining ones of 8, with a 1-byte
            // offset.
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

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// An element was decoded.
    Element,
    /// An element was decoded that continues a number as its predecessor did, so that more may
    /// follow.
    Number,
    /// The element is not certainly valid.
    Other,
}

/// Decodes the element at `at`, or a short literal and the element after it, if that is certainly
/// valid; otherwise `at` stays before it.
///
/// # Safety
/// `input` has INPUT_SLACK bytes from `at.input` on, and `output` has all bytes before `at.output`
/// and OUTPUT_SLACK from there on.
#[inline(always)]
unsafe fn step(input: *const u8, output: *mut u8, at: &mut Position) -> Step {
    // SAFETY: 8 of INPUT_SLACK bytes.
    let mut word = unsafe { load(input.add(at.input)) };
    if word & 0xf3 == 0 {
        // A literal of 1 to 4 bytes. The tag after it and the offset of that tag are in `word`.
        // SAFETY: 8 of OUTPUT_SLACK bytes.
        unsafe { output.add(at.output).cast::<u64>().write_unaligned((word >> 8).to_le()) };
        let more = (word >> 2 & 3) as usize;
        at.input += more + 2;
        at.output += more + 1;
        // The tag is four times `more`: twice the tag is the number of bits of `more` bytes.
        word = word >> 16 >> (word.wrapping_add(word) & 0x3f);
    }
    // The input is now at most 5 and the output at most 4 bytes further than at the start, and the
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

/// Returns the last positions at which a step may start; `None` when there are none.
fn last_start(input: &[u8], output: &[u8]) -> Option<Position> {
    Some(Position {
        input: input.len().checked_sub(INPUT_SLACK)?,
        output: output.len().checked_sub(OUTPUT_SLACK)?,
    })
}

/// Decodes elements from `at` on as long as they are certainly valid, and returns the position of
/// the first one that is not or that is too near to an end. Bytes of `output` after it may have
/// changed.
pub(super) fn run(input: &[u8], output: &mut [u8], mut at: Position) -> Position {
    let Some(last) = last_start(input, output) else { return at };
    let (input, output) = (input.as_ptr(), output.as_mut_ptr());
    loop {
        // SAFETY: `last` is of these two slices.
        let step = unsafe { steps(input, output, &mut at, last) };
        if step != Step::Number {
            return at;
        }
        // SAFETY: the same, and the copied bytes were 8 bytes before their copy.
        at = unsafe { numbers(input, output, at, last) };
    }
}

/// Decodes elements up to one that is not [`Step::Element`], or up to `last`. This is a separate
/// function, as [`steps_of_two`] is, so that no call disturbs the registers of the loop.
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

/// Decodes elements of two blocks alternately, as [`run`] does for one; stops when either stops.
///
/// The path from tag to tag is a chain of dependent instructions. Two chains together take little
/// longer than one.
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
        // SAFETY: each `last` is of the two slices beside it, also in the call below, where the
        // copied bytes were 8 bytes before their copy.
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

/// Does the same as [`steps`] for two blocks, alternating between them.
///
/// # Safety
/// The same as for [`steps`], for both.
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
