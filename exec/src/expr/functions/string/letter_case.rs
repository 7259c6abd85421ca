//! Upper and lower case, mapping each character to one character.
//!
//! Velox and other engines use the simple case mapping of Unicode, which never changes the number
//! of characters. The standard library implements the full mapping, in which `ß` becomes `SS`. The
//! mappings agree where the full one yields one character; the other characters are mapped here
//! (Unicode Character Database, UnicodeData.txt, fields 12 and 13).

/// Returns the upper case of a character; the character itself if that is not a single character.
pub(super) fn upper(c: char) -> char {
    if let Some(upper) = only(c.to_uppercase()) {
        return upper;
    }
    match c {
        // Not in the Unicode table, but returned by the library that Velox uses.
        'ß' => 'ẞ',
        // Greek letters with iota subscript have capital letters with iota adscript.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
        _ => c,
    }
}

/// Returns the lower case of a character; the character itself when it has none.
pub(super) fn lower(c: char) -> char {
    // The only letter that maps to two characters in the full mapping.
    if c == 'İ' { 'i' } else { only(c.to_lowercase()).unwrap_or(c) }
}

fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next();
    if chars.next().is_none() { first } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_stays_one() {
        let uppers: String = "aßŉﬃéǆᾳῃῳᾀῼЖ".chars().map(upper).collect();
        assert_eq!(uppers, "AẞŉﬃÉǄᾼῌῼᾈῼЖ");
        let lowers: String = "AẞİÉǄᾼΣЖ".chars().map(lower).collect();
        assert_eq!(lowers, "aßiéǆᾳσж");
    }

    #[test]
    fn only_one_letter_has_a_longer_lower_case() {
        let longer: Vec<char> =
            ('\0'..=char::MAX).filter(|c| only(c.to_lowercase()).is_none()).collect();
        assert_eq!(longer, ['İ']);
    }
}
