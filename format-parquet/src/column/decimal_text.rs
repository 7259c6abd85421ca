//! Decimals with more digits than any decimal type: their text.

/// A big-endian two's complement number of any length as decimal text, with all of the scale.
pub(super) fn decimal_text(bytes: &[u8], scale: u32) -> String {
    const BILLION: u64 = 1_000_000_000;
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    // The magnitude in 32-bit words, most significant first.
    let mut words: Vec<u32> = Vec::with_capacity(bytes.len() / 4 + 1);
    for word in bytes.rchunks(4) {
        let fill = if negative { 0xff } else { 0 };
        let mut raw = [fill; 4];
        for (to, from) in raw.iter_mut().rev().zip(word.iter().rev()) {
            *to = *from;
        }
        words.push(u32::from_be_bytes(raw));
    }
    if negative {
        let mut carry = true;
        for word in &mut words {
            (*word, carry) = (!*word).overflowing_add(u32::from(carry));
        }
        if carry {
            words.push(1);
        }
    }
    let mut words: Vec<u64> = words.into_iter().rev().map(u64::from).collect();
    // Nine digits a round, the lowest first.
    let mut digits = String::new();
    let mut rounds: Vec<u64> = Vec::new();
    while words.iter().any(|word| *word != 0) {
        let mut rest = 0u64;
        for word in &mut words {
            let value = rest << 32 | *word;
            *word = value / BILLION;
            rest = value % BILLION;
        }
        rounds.push(rest);
        let zeros = words.iter().take_while(|word| **word == 0).count();
        words.drain(..zeros);
    }
    for (i, round) in rounds.iter().rev().enumerate() {
        digits += &if i == 0 { round.to_string() } else { format!("{round:09}") };
    }
    let scale = scale as usize;
    if digits.len() <= scale {
        digits.insert_str(0, &"0".repeat(scale + 1 - digits.len()));
    }
    if scale > 0 {
        digits.insert(digits.len() - scale, '.');
    }
    if negative {
        digits.insert(0, '-');
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_become_their_digits() {
        assert_eq!(decimal_text(&[], 0), "0");
        assert_eq!(decimal_text(&[], 2), "0.00");
        assert_eq!(decimal_text(&[0xfb], 2), "-0.05");
        assert_eq!(decimal_text(&[0x80], 0), "-128");
        assert_eq!(decimal_text(&[0x00, 0xff], 1), "25.5");
        assert_eq!(decimal_text(&1_000_000_000i64.to_be_bytes(), 9), "1.000000000");
        for value in [i128::MAX, i128::MIN, -1, 1, 1 << 96, 10i128.pow(27)] {
            assert_eq!(decimal_text(&value.to_be_bytes(), 0), value.to_string());
        }
        let mut wide = vec![0u8; 17];
        wide[0] = 1;
        assert_eq!(decimal_text(&wide, 0), "340282366920938463463374607431768211456");
        wide[0] = 0xff;
        assert_eq!(decimal_text(&wide, 3), "-340282366920938463463374607431768211.456");
    }
}
