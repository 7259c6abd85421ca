//! Unpacks the deltas of a miniblock: bit-packed numbers of up to 64 bits.
//!
//! ```text
//! 8 deltas of `width` bits fill `width` bytes, so every group of 8 starts at a byte
//!
//! read   last += min_delta + delta, stored after each step
//! sum    only the total, which is all that skipping values needs
//! ```
//!
//! The width is a constant of the kernel: each delta is one unaligned 8-byte load, a shift and a
//! mask, all with constant operands. Sums wrap at 64 bits; a 32-bit column takes the low half,
//! which equals wrapping at 32 bits in every step.

/// Number of deltas of one group.
pub(super) const GROUP: usize = 8;

/// Maximum number of bits of a delta.
pub(super) const MAX_WIDTH: u8 = 64;

/// Number of bytes that a kernel may load from the start of a group: those of the widest group.
const WINDOW: usize = 64;

/// Consecutive deltas of a miniblock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed<'a> {
    /// The miniblock's bytes and those that follow it.
    pub bytes: &'a [u8],
    /// Number of bits of each delta.
    pub width: u8,
    /// Index of the first delta to decode.
    pub first: usize,
}

macro_rules! by_width {
    ($width:expr, $kernel:ident ( $($arg:expr),* )) => {
        by_width!(@ $width, $kernel, ($($arg),*),
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
            32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60
            61 62 63)
    };
    (@ $width:expr, $kernel:ident, $args:tt, $($w:literal)*) => {
        match $width {
            $($w => by_width!(@call $kernel, $w, $args),)*
            _ => by_width!(@call $kernel, 64, $args),
        }
    };
    (@call $kernel:ident, $w:literal, ($($arg:expr),*)) => { $kernel::<$w, _>($($arg),*) };
}

/// Adds each of the next `out.len()` deltas and `min_delta` to `last`, stores the low `N` bytes of
/// every sum and returns the last sum. `N` is 4 or 8.
pub(super) fn read<const N: usize>(
    packed: Packed<'_>,
    min_delta: u64,
    last: u64,
    out: &mut [[u8; N]],
) -> u64 {
    struct Store<'o, const N: usize>(&'o mut [[u8; N]]);
    impl<const N: usize> Store<'_, N> {
        #[inline(always)]
        fn low(value: u64) -> [u8; N] {
            let mut stored = [0; N];
            for (to, from) in stored.iter_mut().zip(value.to_le_bytes()) {
                *to = from;
            }
            stored
        }
    }
    fn kernel<const W: usize, S: Storing>(packed: Packed<'_>, min: u64, last: u64, out: S) -> u64 {
        out.fill::<W>(packed, min, last)
    }
    trait Storing {
        fn fill<const W: usize>(self, packed: Packed<'_>, min: u64, last: u64) -> u64;
    }
    impl<const N: usize> Storing for Store<'_, N> {
        fn fill<const W: usize>(self, packed: Packed<'_>, min: u64, mut last: u64) -> u64 {
            let mut groups = Groups::<W>::new(packed);
            let (head, rest) = self.0.split_at_mut(groups.head(self.0.len()));
            for (slot, delta) in head.iter_mut().zip(groups.next_head()) {
                last = last.wrapping_add(min).wrapping_add(delta);
                *slot = Self::low(last);
            }
            let (full, tail) = rest.as_chunks_mut::<GROUP>();
            for slots in full {
                for (slot, delta) in slots.iter_mut().zip(groups.next()) {
                    last = last.wrapping_add(min.wrapping_add(delta));
                    *slot = Self::low(last);
                }
            }
            if !tail.is_empty() {
                for (slot, delta) in tail.iter_mut().zip(groups.next()) {
                    last = last.wrapping_add(min).wrapping_add(delta);
                    *slot = Self::low(last);
                }
            }
            last
        }
    }
    by_width!(packed.width, kernel(packed, min_delta, last, Store(out)))
}

/// Unpacks the next `out.len()` deltas, without `min_delta`.
pub(super) fn unpack_all(packed: Packed<'_>, out: &mut [u64]) {
    trait Slots {
        fn fill<const W: usize>(self, packed: Packed<'_>);
    }
    impl Slots for &mut [u64] {
        fn fill<const W: usize>(self, packed: Packed<'_>) {
            let mut groups = Groups::<W>::new(packed);
            let (head, rest) = self.split_at_mut(groups.head(self.len()));
            head.iter_mut().zip(groups.next_head()).for_each(|(slot, delta)| *slot = delta);
            for slots in rest.chunks_mut(GROUP) {
                slots.iter_mut().zip(groups.next()).for_each(|(slot, delta)| *slot = delta);
            }
        }
    }
    fn kernel<const W: usize, S: Slots>(packed: Packed<'_>, out: S) {
        out.fill::<W>(packed);
    }
    by_width!(packed.width, kernel(packed, out))
}

/// Returns the sum of the next `num_values` deltas, without `min_delta`.
pub(super) fn sum(packed: Packed<'_>, num_values: usize) -> u64 {
    fn kernel<const W: usize, S: Into<usize>>(packed: Packed<'_>, num_values: S) -> u64 {
        let num_values = num_values.into();
        let mut groups = Groups::<W>::new(packed);
        let head = groups.head(num_values);
        let mut total = groups.next_head().take(head).fold(0u64, u64::wrapping_add);
        let rest = num_values.saturating_sub(head);
        let mut lanes = [0u64; GROUP];
        for _ in 0..rest / GROUP {
            for (lane, delta) in lanes.iter_mut().zip(groups.next()) {
                *lane = lane.wrapping_add(delta);
            }
        }
        if rest % GROUP != 0 {
            total = groups.next().into_iter().take(rest % GROUP).fold(total, u64::wrapping_add);
        }
        lanes.into_iter().fold(total, u64::wrapping_add)
    }
    if packed.width == 0 {
        return 0;
    }
    by_width!(packed.width, kernel(packed, num_values))
}

/// Iterates over the groups of a miniblock.
struct Groups<'a, const W: usize> {
    bytes: &'a [u8],
    /// Number of deltas of the first group that were decoded before.
    skipped: usize,
}

impl<'a, const W: usize> Groups<'a, W> {
    fn new(packed: Packed<'a>) -> Self {
        let bytes = packed.bytes.get(packed.first / GROUP * W..).unwrap_or(&[]);
        Groups { bytes, skipped: packed.first % GROUP }
    }

    /// Returns how many of `num_values` deltas come from a group that was begun before.
    fn head(&self, num_values: usize) -> usize {
        if self.skipped == 0 { 0 } else { num_values.min(GROUP - self.skipped) }
    }

    /// Returns the remaining deltas of a group that was begun before.
    fn next_head(&mut self) -> impl Iterator<Item = u64> {
        let values = if self.skipped == 0 { [0; GROUP] } else { self.next() };
        values.into_iter().skip(self.skipped)
    }

    #[inline(always)]
    fn next(&mut self) -> [u64; GROUP] {
        let values = match self.bytes.first_chunk::<WINDOW>() {
            Some(window) => unpack::<W>(window),
            None => unpack_end::<W>(self.bytes),
        };
        self.bytes = self.bytes.get(W..).unwrap_or(&[]);
        values
    }
}

/// Unpacks a group when fewer bytes than a window are left; missing bits count as zeros.
#[inline(never)]
fn unpack_end<const W: usize>(bytes: &[u8]) -> [u64; GROUP] {
    let mut window = [0; WINDOW];
    for (to, from) in window.iter_mut().zip(bytes) {
        *to = *from;
    }
    unpack::<W>(&window)
}

#[inline(always)]
fn unpack<const W: usize>(window: &[u8; WINDOW]) -> [u64; GROUP] {
    let mask = if W >= 64 { u64::MAX } else { (1 << W) - 1 };
    std::array::from_fn(|i| {
        let bit = i * W;
        let (byte, shift) = (bit / 8, bit % 8);
        let mut value = word_at(window, byte) >> shift;
        if shift + W > 64 {
            value |= u64::from(window.get(byte + 8).copied().unwrap_or(0)) << (64 - shift);
        }
        value & mask
    })
}

#[inline(always)]
fn word_at(window: &[u8; WINDOW], byte: usize) -> u64 {
    // Near the end of the window a full word would exceed it: an earlier word is loaded and
    // shifted.
    let start = byte.min(WINDOW - 8);
    match window.get(start..).and_then(|rest| rest.first_chunk()) {
        Some(word) => u64::from_le_bytes(*word) >> (8 * (byte - start)),
        None => 0,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Packs bits one by one: the reference for the kernels.
    pub(in crate::encoding) fn pack(values: &[u64], width: u8) -> Vec<u8> {
        let mut bytes = vec![0u8; (values.len() * usize::from(width)).div_ceil(8)];
        for (i, value) in values.iter().enumerate() {
            for bit in 0..usize::from(width) {
                let at = i * usize::from(width) + bit;
                bytes[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
            }
        }
        bytes
    }

    fn sample(width: u8, n: usize) -> Vec<u64> {
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut step = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state ^ state >> 29) & mask
        };
        (0..n).map(|_| step()).collect()
    }

    #[test]
    fn every_width_from_every_position_reads_and_sums_like_single_bits() {
        for width in 0..=MAX_WIDTH {
            let deltas = sample(width, 48);
            let mut bytes = pack(&deltas, width);
            // Once with bytes behind the deltas and once without: the two ways to load a group.
            for behind in [0, WINDOW] {
                bytes.resize(bytes.len() + behind, 0xee);
                for first in 0..deltas.len() {
                    for n in [0, 1, 3, 8, 13, 16, 40] {
                        let wanted = &deltas[first..(first + n).min(48)];
                        let packed = Packed { bytes: &bytes, width, first };
                        let mut out = vec![[0u8; 8]; wanted.len()];
                        let end = read(packed, 5, 100, &mut out);
                        let mut last = 100u64;
                        for (found, delta) in out.iter().zip(wanted) {
                            last = last.wrapping_add(5).wrapping_add(*delta);
                            assert_eq!(u64::from_le_bytes(*found), last, "{width} {first} {n}");
                        }
                        assert_eq!(end, last);
                        let mut plain = vec![0; wanted.len()];
                        unpack_all(packed, &mut plain);
                        assert_eq!(plain, wanted);
                        let total = wanted.iter().fold(0u64, |a, b| a.wrapping_add(*b));
                        assert_eq!(sum(packed, wanted.len()), total, "{width} {first} {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_low_half_is_stored_for_32_bit_columns() {
        let packed = Packed { bytes: &[0xff; 80], width: 64, first: 0 };
        let mut out = [[0u8; 4]; 3];
        read(packed, 0, 1, &mut out);
        assert_eq!(out.map(i32::from_le_bytes), [0, -1, -2]);
    }
}
