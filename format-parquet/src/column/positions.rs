//! From rows to values and back, as bits: 64 at a time.
//!
//! ```text
//! rows      a b c d e f        compress_bits(rows, mask):  a c d f
//! mask      1 0 1 1 0 1        expand_bits(packed, mask):  a 0 c d 0 f
//! ```

use vector::bits;

/// Bits `at..at + n` of `words`, as words of their own; bits behind them are zero.
pub(super) fn piece_of(words: &[u64], at: usize, n: usize, out: &mut Vec<u64>) {
    out.clear();
    let starts = (0..n).step_by(64);
    out.extend(starts.map(|i| bits::word_at(words, at + i) & bits::low_mask(n - i)));
}

/// Appends the bits of `words` at the ones of `mask`, side by side; bits behind them are zero.
pub(super) fn compress_bits(words: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    let (mut word, mut filled) = (0, 0);
    for (bits, mask) in words.iter().zip(mask) {
        let packed = match *mask {
            u64::MAX => *bits,
            _ if bits & mask == 0 => 0,
            mask => bits::compress_word(*bits, mask),
        };
        word |= packed << filled;
        let end = filled + mask.count_ones();
        if end >= 64 {
            out.push(word);
            word = if filled == 0 { 0 } else { packed >> (64 - filled) };
        }
        filled = end % 64;
    }
    if filled > 0 {
        out.push(word);
    }
}

/// Appends a word for each of `mask`: the bits of `packed` spread to its ones.
pub(super) fn expand_bits(packed: &[u64], mask: &[u64], out: &mut Vec<u64>) {
    let mut at = 0;
    for mask in mask {
        let word = bits::word_at(packed, at);
        out.push(match *mask {
            u64::MAX => word,
            mask if word & bits::low_mask(mask.count_ones() as usize) == 0 => 0,
            mask => bits::expand_word(word, mask),
        });
        at += mask.count_ones() as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_values_and_values_rows() {
        let rows = [0x0123_4567_89ab_cdef, u64::MAX, 0, 0xf0f0_f0f0_f0f0_f0f0, 0x1f];
        let masks = [
            [u64::MAX; 5],
            [0; 5],
            [0xaaaa_aaaa_aaaa_aaaa, 1, 0, u64::MAX, 0x15],
            [1 << 63, u64::MAX, 0xffff, 1, 0x1f],
        ];
        for mask in masks {
            let (mut packed, mut back) = (Vec::new(), Vec::new());
            compress_bits(&rows, &mask, &mut packed);
            let ones: Vec<usize> = bits::ones(&mask, 320).collect();
            assert_eq!(packed.len(), bits::words_for(ones.len()));
            let expected = ones.iter().map(|i| bits::get(&rows, *i));
            assert!(expected.eq((0..ones.len()).map(|i| bits::get(&packed, i))));
            expand_bits(&packed, &mask, &mut back);
            assert!(rows.iter().zip(mask).map(|(row, mask)| row & mask).eq(back));
        }
        let mut piece = Vec::new();
        piece_of(&rows, 60, 70, &mut piece);
        assert_eq!(piece, [!0xf, 0xf]);
    }
}
