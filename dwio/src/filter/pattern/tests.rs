//! Tests of patterns against the definition of LIKE, and of searches against matching one by one.

use vector::testing::Random;

use super::*;

fn like(text: &str, pattern: &str) -> bool {
    LikePattern::parse(pattern.as_bytes(), None).unwrap().matches(text.as_bytes())
}

/// The definition of LIKE, character by character.
fn naive(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skip| naive(&text[skip..], rest)),
        Some(('_', rest)) => !text.is_empty() && naive(&text[1..], rest),
        Some((c, rest)) => text.first() == Some(c) && naive(&text[1..], rest),
    }
}

#[test]
fn every_short_pattern_matches_as_defined() {
    let texts = ["", "a", "b", "ab", "ba", "aab", "abab", "äb", "bä", "äöä", "abcabd"];
    let letters = ['a', 'b', 'ä', '%', '_'];
    let mut patterns = vec![String::new()];
    for _ in 0..4 {
        let longer: Vec<String> =
            patterns.iter().flat_map(|p| letters.iter().map(move |c| format!("{p}{c}"))).collect();
        for pattern in &longer {
            for text in texts {
                let (t, p): (Vec<char>, Vec<char>) =
                    (text.chars().collect(), pattern.chars().collect());
                assert_eq!(like(text, pattern), naive(&t, &p), "{text} like {pattern}");
            }
        }
        patterns = longer;
    }
}

#[test]
fn pieces_must_come_in_order_without_overlap() {
    assert!(like("special requests", "%special%requests%"));
    assert!(!like("requests special", "%special%requests%"));
    assert!(!like("aba", "ab%ba"));
    assert!(like("abba", "ab%ba"));
}

#[test]
fn a_piece_is_found_in_short_and_in_long_text() {
    for padding in 0..100 {
        let text = format!("{}qqua quaqua{}", "q".repeat(padding), "u".repeat(padding));
        assert!(like(&text, "%quaq%u%"), "{padding}");
        assert!(!like(&text, "%quaqq%"), "{padding}");
    }
}

#[test]
fn an_escaped_wildcard_is_text() {
    let pattern = |p: &str| LikePattern::parse(p.as_bytes(), Some(b"\\"));
    assert!(pattern("10\\%").unwrap().matches(b"10%"));
    assert!(!pattern("10\\%").unwrap().matches(b"100"));
    assert!(pattern("a\\_\\\\%").unwrap().matches(b"a_\\b"));
    assert_eq!(
        pattern("a\\b").unwrap_err().to_string(),
        "invalid input: the escape of LIKE must stand before %, _ or itself (pattern=a\\b)"
    );
    assert!(LikePattern::parse(b"a", Some(b"ab")).is_err());
}

#[test]
fn bytes_that_are_not_utf8_are_matched_one_by_one() {
    let pattern = LikePattern::parse(b"_b", None).unwrap();
    assert!(pattern.matches(b"\xffb"));
    assert!(!LikePattern::parse(b"__", None).unwrap().matches(b"\xc3\xa4"));
}

#[test]
fn a_pattern_is_written_so_that_it_can_be_read_again() {
    for (pattern, escape, written) in [
        ("%a_b%", None, "'%a_b%'"),
        ("it's%%", None, "'it''s%'"),
        ("a\\b%", None, "'a\\b%'"),
        ("10!%%", Some(b"!".as_slice()), "'10\\%%' escape '\\'"),
        ("!_\\!!%", Some(b"!"), "'\\_\\\\!%' escape '\\'"),
    ] {
        let parsed = LikePattern::parse(pattern.as_bytes(), escape).unwrap();
        assert_eq!(parsed.to_string(), written);
        let (text, has_escape) = match written.split_once("' escape") {
            Some((text, _)) => (&text[1..], true),
            None => (&written[1..written.len() - 1], false),
        };
        let again = text.replace("''", "'");
        let again = LikePattern::parse(again.as_bytes(), has_escape.then_some(b"\\"));
        assert_eq!(again.unwrap(), parsed);
    }
}

#[test]
fn a_search_finds_the_strings_that_match_one_by_one() {
    let mut random = Random::new(3);
    let patterns = ["%ab%", "%ab%ba%", "a%bb%", "%aa%b", "%a_b%", "_ba%", "%aabb%ba%", "%a%"];
    for _ in 0..500 {
        let pattern = LikePattern::parse(random.pick(&patterns).as_bytes(), None).unwrap();
        let mut search = PatternSearch::new(&pattern).unwrap();
        let gap = random.below(3);
        // Several blocks, so that some are matched without a search.
        for _ in 0..4 {
            let (mut text, mut places) = (Vec::new(), Vec::new());
            for _ in 0..1 + random.below(40) {
                text.extend((0..if text.is_empty() { 0 } else { gap }).map(|_| b'a'));
                let start = text.len();
                let len = random.below(12);
                text.extend((0..len).map(|_| *random.pick(b"aabc")));
                places.push(start..text.len());
            }
            let mut found = Vec::new();
            search.block(&text, places.len(), |i| places[i].clone(), |i| found.push(i));
            let matching = (0..places.len()).filter(|i| pattern.matches(&text[places[*i].clone()]));
            assert_eq!(found, matching.collect::<Vec<_>>(), "{pattern} {places:?}");
        }
    }
}

#[test]
fn the_rarest_piece_is_searched_for_once_it_is_known() {
    let pattern = LikePattern::parse(b"%a%bb%cc%", None).unwrap();
    let mut search = PatternSearch::new(&pattern).unwrap();
    let text = b"abbabbccacc";
    let mut pieces = Vec::new();
    for _ in 0..5 {
        pieces.push(search.piece);
        let mut found = Vec::new();
        let places = [0..3, 3..8, 8..11];
        search.block(text, 3, |i| places[i].clone(), |i| found.push(i));
        assert_eq!(found, [1]);
    }
    // Two of three strings have the second piece: the block after that is matched string by string.
    assert_eq!(pieces, [0, 1, 2, 1, 1]);
    assert_eq!(search.num_spared, NUM_SPARED - 1);
}

#[test]
fn only_patterns_with_text_inside_are_searched_for() {
    let searched = |pattern: &str| {
        let pattern = LikePattern::parse(pattern.as_bytes(), None).unwrap();
        let texts = pattern.pieces.iter().map(|piece| piece.finder.needle());
        let texts = texts.map(|text| String::from_utf8(text.to_vec()).unwrap());
        PatternSearch::new(&pattern).map(|_| texts.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(searched("%ab%abc%d"), Some("ab abc".to_string()));
    assert_eq!(searched("abcd_b"), Some("abcd b".to_string()));
    for pattern in ["", "abc", "abc%", "%abc", "ab%cd", "%", "_", "_%"] {
        assert_eq!(searched(pattern), None, "{pattern}");
    }
}
