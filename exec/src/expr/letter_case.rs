//! Upper and lower case, one character for one.
//!
//! Velox and its peers change case by the simple mapping of Unicode, which never changes how many
//! characters a text has; the standard library knows the full one, where `ß` becomes `SS`. Where
//! the full mapping is one character, both agree; elsewhere the simple one is told here (Unicode
//! Character Database, UnicodeData.txt, fields 12 and 13).

/// The upper case of a character; itself when it has none of one character.
pub(super) fn upper(c: char) -> char {
    if let Some(upper) = only(c.to_uppercase()) {
        return upper;
    }
    match c {
        // Not in the table, but what Velox's library gives.
        'ß' => 'ẞ',
        // Greek letters with an iota below have capitals with an iota beside.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
        _ => c,
    }
}

/// The lower case of a character; itself when it has none.
pub(super) fn lower(c: char) -> char {
    // The only letter whose full mapping has two characters.
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
