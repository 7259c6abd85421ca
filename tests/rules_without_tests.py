#!/usr/bin/env python3
"""Prints the scan rules that no test cites.

    python3 tests/rules_without_tests.py [folder of the project]

A rule is cited by a test whose name begins with it (`s7_46_...`), or by a comment in a test or in a
test module (`S7.46`, `S4.1 to S4.10`). Rules that have no test for a reason are listed here; they
may be a tenth of all. Ends with 1 when a rule is neither cited nor listed, or too many are listed.
"""
import pathlib
import re
import sys

# The page that defines the rules, and its chapters that describe what a test can observe.
RULES = "docs/rules/scan.md"
CHAPTERS = {4, 6, 7, 8, 9, 12, 16}

REASONS = {
    "S4.19": "the evaluator of expressions is handed over; there is no registry of parsers",
    "S4.38": "the metadata filter hangs on no spec that could be built anew",
    "S6.28": "no reader changes the type of a column, so there is one type",
    "S6.31": "a check on readers that no reader fails",
    "S6.60": "an interface",
    "S7.14": "file handles are not cached",
    "S7.15": "there is one kind of input",
    "S7.18": "true by construction: opening a split makes its one row reader",
    "S7.41": "all filters are deterministic",
    "S9.9": "there is no exchange by buckets",
    "S9.10": "there is no exchange by buckets",
    "S12.8": "no lock is taken while another is held",
}

MAX_SHARE_WITHOUT_TEST = 0.1


def defined(root):
    """The rules of the chapters, by the anchors of the page."""
    anchors = re.findall(r'^<a id="s(\d+)-(\d+)"></a>$', (root / RULES).read_text(), re.M)
    rules = [(int(chapter), int(number)) for chapter, number in anchors]
    return [rule for rule in rules if rule[0] in CHAPTERS]


def test_text(path, text):
    """The part of a file that is tests."""
    if "/tests/" in path or path.startswith("tests/") or path.endswith("/tests.rs"):
        return text
    return text.partition("#[cfg(test)]")[2]


def cited_in(text):
    for section, number in re.findall(r"\bS(\d+)\.(\d+)\b", text):
        yield int(section), int(number)
    for section, number in re.findall(r"\bfn s(\d+)_(\d+)_", text):
        yield int(section), int(number)
    for section, first, last in re.findall(r"\bS(\d+)\.(\d+) to S\1\.(\d+)\b", text):
        yield from ((int(section), n) for n in range(int(first), int(last) + 1))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    rules = defined(root)
    cited = set()
    for path in sorted(root.rglob("*.rs")):
        relative = path.relative_to(root).as_posix()
        if not relative.startswith("target/"):
            cited.update(cited_in(test_text(relative, path.read_text())))
    excused = {tuple(map(int, rule[1:].split("."))): why for rule, why in REASONS.items()}
    wrong = ["S%d.%d is excused and not defined" % rule for rule in excused if rule not in rules]
    for rule in rules:
        name = "S%d.%d" % rule
        if rule not in cited:
            print(name, excused.get(rule, "NO TEST AND NO REASON"))
            if rule not in excused:
                wrong.append(name)
    for rule in sorted(set(excused) & cited):
        print("S%d.%d has a test now and needs no reason" % rule)
    print("\n".join(wrong))
    print(f"{sum(rule in cited for rule in rules)} of {len(rules)} rules have a test")
    if len(excused) > MAX_SHARE_WITHOUT_TEST * len(rules):
        print("too many rules without a test")
        wrong.append("all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
