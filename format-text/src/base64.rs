//! Base64 with the standard alphabet and padding.

/// Decodes base64 text; `None` if it is not valid base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    decode_bytes(text.as_bytes())
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes as base64 with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Decodes base64 that need not be UTF-8; `None` if it is not valid base64.
pub fn decode_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let (quads, []) = text.as_chunks::<4>() else { return None };
    let mut bytes = Vec::with_capacity(quads.len() * 3);
    for (i, quad) in quads.iter().enumerate() {
        let padding = quad.iter().rev().take_while(|c| **c == b'=').count();
        if padding > 2 || (padding > 0 && i + 1 < quads.len()) {
            return None;
        }
        let mut bits = 0u32;
        for c in &quad[..4 - padding] {
            bits = bits << 6 | u32::from(digit(*c)?);
        }
        bits <<= 6 * padding;
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(bytes)
}

fn digit(c: u8) -> Option<u8> {
    Some(match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn texts_of_all_lengths_are_read_and_others_refused() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo")] {
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        assert_eq!(decode("+/8=").unwrap(), [0xfb, 0xff]);
        for wrong in ["Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zm9*", "Z=9v"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
