//! The language of the comments and pages: no private phrasings, and every cited rule is in `docs/rules`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Phrasings that made comments hard to understand. There are no exceptions.
const BANNED: [&str; 17] = [
    "nobody",
    "whoever",
    "somebody",
    "what comes",
    "lets go",
    "let go",
    "so many",
    "pass over",
    "passes over",
    "passed over",
    "knows better",
    "dice",
    "who asks",
    "who comes",
    "who holds",
    "who wants",
    "gives back what",
];

/// Pages whose anchors define the rules, with the letter of their numbers.
const RULE_PAGES: [(char, &str); 2] = [('S', "docs/rules/scan.md"), ('P', "docs/rules/parquet.md")];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files below `folder` with one of the extensions, without builds and hidden folders.
fn files_below(folder: &Path, extensions: &[&str], out: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                files_below(&path, extensions, out);
            }
        } else if path.extension().is_some_and(|e| extensions.iter().any(|x| e == *x)) {
            out.push(path);
        }
    }
}

fn files(extensions: &[&str]) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    files_below(&root(), extensions, &mut paths);
    let relative = |path: &Path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
    paths.iter().map(|path| (relative(path), fs::read_to_string(path).unwrap())).collect()
}

/// The text of a line's comment, if it has one. A `//` inside of a string is taken for a comment only
/// where a space is in front of it.
fn comment_of(line: &str) -> Option<&str> {
    let trimmed = line.trim_start();
    if let Some(comment) = trimmed.strip_prefix("//") {
        return Some(comment.trim_start_matches(['/', '!']).trim());
    }
    line.find(" // ").map(|start| line[start + 4..].trim())
}

/// Whether `phrase` is in `text` as whole words. Both are lower case.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(start, _)| {
        !is_letter(text[..start].chars().next_back())
            && !is_letter(text[start + phrase.len()..].chars().next())
    })
}

/// Consecutive lines of prose, joined, each group with the number of its first line.
fn paragraphs<'a>(lines: impl Iterator<Item = Option<&'a str>>) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in lines.enumerate() {
        match line {
            Some(text) if open => {
                let last = out.last_mut().map(|(_, last)| last);
                last.into_iter().for_each(|last| *last = format!("{last} {text}"));
            }
            Some(text) => out.push((number + 1, text.to_string())),
            None => {}
        }
        open = line.is_some();
    }
    out
}

#[test]
fn comments_and_pages_use_the_terms_of_the_field() {
    let mut found = Vec::new();
    for (path, text) in files(&["rs", "md"]) {
        let is_page = path.ends_with(".md");
        let prose = |line| if is_page { Some(line) } else { comment_of(line) };
        for (number, paragraph) in paragraphs(text.lines().map(prose)) {
            let paragraph = paragraph.to_lowercase();
            let banned = BANNED.iter().filter(|phrase| has_phrase(&paragraph, phrase));
            found.extend(banned.map(|phrase| format!("{path}:{number}: \"{phrase}\"")));
        }
    }
    assert!(
        found.is_empty(),
        "phrasings that are not in the field's terms:\n  {}",
        found.join("\n  ")
    );
}

/// A rule: the letter of its page, its chapter and its number.
type Rule = (char, u32, u32);

/// The rule that `word` is: `S7.63`, `P6.44`, or the name of a test, `s7_63_..`.
fn rule_of(word: &str) -> Option<Rule> {
    let word = word.trim_matches('.');
    let (letter, rest, end) = match word.chars().next()? {
        's' => ('S', word[1..].split_once('_')?, '_'),
        letter if RULE_PAGES.iter().any(|(known, _)| *known == letter) => {
            (letter, word[1..].split_once('.')?, '.')
        }
        _ => return None,
    };
    let number = if end == '_' { rest.1.split_once('_')?.0 } else { rest.1 };
    Some((letter, rest.0.parse().ok()?, number.parse().ok()?))
}

/// The rules that `text` cites, and the ranges of rules, such as `S6.54 to S6.57`, of which every rule
/// that exists is cited.
fn citations(text: &str) -> (Vec<Rule>, Vec<(Rule, Rule)>) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    let words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let rules: Vec<Option<Rule>> = words.iter().map(|word| rule_of(word)).collect();
    let ranges = words
        .iter()
        .enumerate()
        .filter(|(_, word)| **word == "to")
        .filter_map(|(i, _)| Some((rules[i.checked_sub(1)?]?, (*rules.get(i + 1)?)?)));
    (rules.iter().copied().flatten().collect(), ranges.collect())
}

#[test]
fn every_cited_rule_has_an_anchor_and_every_anchor_is_cited() {
    let (mut cited, mut ranges) = (BTreeMap::new(), Vec::new());
    for (path, text) in files(&["rs", "py", "md"]) {
        if path.starts_with("docs/rules/") || path == "tests/it/language.rs" {
            continue;
        }
        // Comments are joined, because a range may be broken over two lines.
        let prose = paragraphs(text.lines().map(comment_of));
        let texts = prose.iter().map(|(_, paragraph)| paragraph.as_str());
        for text in texts.chain([text.as_str()]) {
            let (rules, more) = citations(text);
            cited.extend(rules.into_iter().map(|rule| (rule, path.clone())));
            ranges.extend(more);
        }
    }
    assert!(cited.len() > 300, "citations were not found");
    let mut anchors = BTreeSet::new();
    let mut found = Vec::new();
    for (letter, page) in RULE_PAGES {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let starts = text.match_indices("<a id=\"").map(|(start, found)| start + found.len());
        for start in starts {
            let id = text[start..].split('"').next().unwrap();
            match rule_of(&id.to_uppercase().replace('-', ".")) {
                Some(rule) if rule.0 == letter && anchors.insert(rule) => {}
                _ => found.push(format!("{page}: the anchor \"{id}\" is no rule, or is repeated")),
            }
        }
    }
    let undefined = cited.iter().filter(|(rule, _)| !anchors.contains(*rule));
    found.extend(undefined.map(|(rule, path)| format!("{path}: {rule:?} has no anchor")));
    let is_cited = |rule: &Rule| {
        let in_range = ranges.iter().any(|(first, last)| first <= rule && rule <= last);
        in_range || cited.contains_key(rule)
    };
    let uncited = anchors.iter().filter(|rule| !is_cited(rule));
    found.extend(uncited.map(|rule| format!("{rule:?} is cited nowhere")));
    assert!(found.is_empty(), "rules:\n  {}", found.join("\n  "));
}

#[test]
fn phrases_and_citations_are_found_as_whole_words() {
    assert!(has_phrase("for nobody else", "nobody") && !has_phrase("indices", "dice"));
    let (rules, ranges) =
        citations("(S7.63, P6.44). fn s4_1_names S4.1-x s9_a S12 to P5.4 to P5.9");
    let (first, last) = (('P', 5, 4), ('P', 5, 9));
    assert_eq!(rules, [('S', 7, 63), ('P', 6, 44), ('S', 4, 1), ('S', 4, 1), first, last]);
    assert_eq!(ranges, [(first, last)]);
    let joined = paragraphs(["a", "b", "", "c"].map(|l| (!l.is_empty()).then_some(l)).into_iter());
    assert_eq!(joined, [(1, "a b".to_string()), (4, "c".to_string())]);
}
