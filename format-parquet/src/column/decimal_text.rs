//! Conversion to text of decimals with more digits than any decimal type.

/// Maximum number of significant bytes of a number. The largest supported precision has 1,000
/// digits, which are 416 bytes; the cost grows with the square of the length, so longer values of a
/// hostile file would take excessive time.
const MAX_NUMBER_BYTES: usize = 512;

/// Returns a big-endian two's complement number as decimal text, with all digits of the scale;
/// `None` for numbers that are longer than any precision.
pub(super) fn decimal_text(bytes: &[u8], scale: u32) -> Option<String> {
    const BILLION: u64 = 1_000_000_000;
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    // Leading bytes that only repeat the sign are dropped, except for the one that holds the sign
    // bit.
    let sign = if negative { 0xff } else { 0 };
    let repeated = bytes.iter().take_while(|b| **b == sign).count();
    let bytes = bytes.get(repeated.saturating_sub(1)..).unwrap_or(bytes);
    if bytes.len() > MAX_NUMBER_BYTES {
        return None;
    }
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
    // Each round of the division yields nine digits, the lowest first.
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
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], scale: u32) -> String {
        decimal_text(bytes, scale).unwrap()
    }

    #[test]
    fn numbers_of_any_length_become_their_digits() {
        assert_eq!(text(&[], 0), "0");
        assert_eq!(text(&[], 2), "0.00");
        assert_eq!(text(&[0xfb], 2), "-0.05");
        assert_eq!(text(&[0x80], 0), "-128");
        assert_eq!(text(&[0x00, 0xff], 1), "25.5");
        assert_eq!(text(&1_000_000_000i64.to_be_bytes(), 9), "1.000000000");
        for value in [i128::MAX, i128::MIN, -1, 1, 1 << 96, 10i128.pow(27)] {
            assert_eq!(text(&value.to_be_bytes(), 0), value.to_string());
        }
        let mut wide = vec![0u8; 17];
        wide[0] = 1;
        assert_eq!(text(&wide, 0), "340282366920938463463374607431768211456");
        wide[0] = 0xff;
        assert_eq!(text(&wide, 3), "-340282366920938463463374607431768211.456");
    }

    #[test]
    fn only_the_bytes_that_matter_are_limited() {
        let mut long = vec![0xff; 1 << 20];
        assert_eq!(text(&long, 1), "-0.1");
        long[(1 << 20) - MAX_NUMBER_BYTES] = 0x7f;
        assert!(decimal_text(&long, 0).is_none());
        long.fill(0);
        long[(1 << 20) - MAX_NUMBER_BYTES + 1] = 0x7f;
        assert_eq!(text(&long, 0).len(), 1231);
        long[(1 << 20) - MAX_NUMBER_BYTES] = 0x80;
        assert!(decimal_text(&long, 0).is_none());
    }
}
