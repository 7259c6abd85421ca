//! The writing program as the footer names it, and which programs wrote wrong bounds.
//!
//! ```text
//! parquet-mr version 1.5.0-cdh5.5.0 (build 8e266e052e423af5)
//! application        version              build
//!                    major.minor.patch suffix -pre.release +info
//! ```
//!
//! The text is free, and programs leave out what they like: what does not have the form is no
//! [`CreatedBy`]. Versions are ordered so that what comes before a release sorts before it.

use std::cmp::Ordering;

use crate::encoding::rle_hybrid::AfterLastValue;

/// A text of the form `APPLICATION version VERSION (build BUILD)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreatedBy<'a> {
    /// The program; never empty.
    pub application: &'a str,
    /// Its version, if it is there.
    pub version: Option<&'a str>,
    /// Its build, if it is there.
    pub build: Option<&'a str>,
}

impl<'a> CreatedBy<'a> {
    /// The parts of the text, if it has the form.
    pub fn parse(text: &'a str) -> Option<Self> {
        const WORD: &str = "version";
        text.match_indices(WORD).find_map(|(at, _)| {
            let (front, rest) = (text.get(..at)?, text.get(at + WORD.len()..)?);
            let application = front.trim_ascii_end();
            if application.len() == front.len() || application.is_empty() {
                return None;
            }
            let (version, build) = version_and_build(rest)?;
            let there = |part: &'a str| (!part.is_empty()).then_some(part);
            Some(CreatedBy { application, version: there(version), build: build.and_then(there) })
        })
    }

    /// The version as numbers, if it has the form.
    pub fn semantic_version(&self) -> Option<SemanticVersion<'a>> {
        SemanticVersion::parse(self.version?)
    }
}

/// What follows the word: the version, then perhaps the build in parentheses, then nothing.
fn version_and_build(rest: &str) -> Option<(&str, Option<&str>)> {
    let Some((version, build)) = rest.split_once('(') else {
        return Some((rest.trim_ascii(), None));
    };
    let build = build.trim_ascii_start().strip_prefix("build")?.strip_suffix(')')?;
    (!build.contains(')')).then(|| (version.trim_ascii(), Some(build.trim_ascii())))
}

/// A version of three numbers with what may follow them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SemanticVersion<'a> {
    /// The three numbers, the most important first.
    pub numbers: [u32; 3],
    /// Text that follows at once, such as `rc4`: it comes before the release.
    pub suffix: Option<&'a str>,
    /// Text behind `-`, parted by dots: it comes before the release.
    pub pre_release: Option<&'a str>,
    /// Text behind `+`, which does not count for the order.
    pub build_info: Option<&'a str>,
}

impl<'a> SemanticVersion<'a> {
    /// The parts of a version, if it starts with three numbers.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (text, build_info) = match text.split_once('+') {
            Some((front, info)) => (front, Some(info)),
            None => (text, None),
        };
        let (text, pre_release) = match text.split_once('-') {
            Some((front, pre)) => (front, Some(pre)),
            None => (text, None),
        };
        let (major, rest) = text.split_once('.')?;
        let (minor, rest) = rest.split_once('.')?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (patch, suffix) = rest.split_at_checked(digits)?;
        Some(SemanticVersion {
            numbers: [number(major)?, number(minor)?, number(patch)?],
            suffix: (!suffix.is_empty()).then_some(suffix),
            pre_release,
            build_info,
        })
    }

    /// The order of time, as far as versions tell.
    pub fn compare(&self, other: &SemanticVersion<'_>) -> Ordering {
        // Of two that are equal so far, the one with something more comes before the release.
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| other.suffix.is_some().cmp(&self.suffix.is_some()))
            .then_with(|| match (self.pre_release, other.pre_release) {
                (Some(a), Some(b)) => compare_pre_releases(a, b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            })
    }
}

fn number(digits: &str) -> Option<u32> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Part by part: numbers by value and before words, and the shorter first.
fn compare_pre_releases(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (number(a), number(b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Programs that are known for wrong bounds.
const MR: &str = "parquet-mr";
const CPP: &str = "parquet-cpp";
const DOTNET: &str = "Parquet.Net";
const HYPARQUET: &str = "hyparquet";

/// The first release of `parquet-mr` with sound bounds of byte strings.
const MR_FIXED: SemanticVersion<'static> = release([1, 8, 0], None);
/// A line of builds of an older release that has the repair too, from here up to that release.
const MR_FIXED_BUILDS: SemanticVersion<'static> = release([1, 5, 0], Some("cdh5.5.0"));
const MR_FIXED_BUILDS_END: SemanticVersion<'static> = release([1, 5, 0], None);
/// The first release of `parquet-cpp` with sound bounds of byte strings.
const CPP_FIXED: SemanticVersion<'static> = release([1, 3, 0], None);

const fn release(numbers: [u32; 3], pre_release: Option<&str>) -> SemanticVersion<'_> {
    SemanticVersion { numbers, suffix: None, pre_release, build_info: None }
}

/// Which bounds of a file may be wrong because of its writer. Where nothing is said here, bounds
/// are as good as the rest of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BoundFaults {
    /// Of everything that is stored as bytes (PARQUET-251): also when the writer does not say who
    /// it is, which those did not.
    pub bytes: bool,
    /// Of decimals that are stored as bytes, which were compared as strings of signed bytes
    /// (PARQUET-1655).
    pub decimals_as_bytes: bool,
    /// Of decimals however they are stored: the scale was applied twice.
    pub decimals: bool,
    /// Of timestamps: they were moved by the writer's time zone, the values were not.
    pub timestamps: bool,
}

impl BoundFaults {
    /// The faults of the writer that the footer names.
    pub fn of(created_by: Option<&str>) -> Self {
        let Some(writer) = created_by.and_then(CreatedBy::parse) else {
            let decimals = created_by.is_some_and(|text| text.starts_with(HYPARQUET));
            return BoundFaults { bytes: true, decimals, ..BoundFaults::default() };
        };
        let version = writer.semantic_version();
        let is_from = |first: &SemanticVersion<'_>| {
            version.is_some_and(|version| version.compare(first).is_ge())
        };
        let bytes = match writer.application {
            MR => {
                !is_from(&MR_FIXED) && (!is_from(&MR_FIXED_BUILDS) || is_from(&MR_FIXED_BUILDS_END))
            }
            CPP => !is_from(&CPP_FIXED),
            // Before 3.7.8 in the order of the user's culture, later in that of UTF-16, which is
            // not that of bytes where characters beyond U+FFFF occur.
            DOTNET => true,
            _ => false,
        };
        BoundFaults {
            bytes,
            // Later releases have another name.
            decimals_as_bytes: writer.application == CPP,
            decimals: writer.application.starts_with(HYPARQUET),
            timestamps: writer.application == DOTNET,
        }
    }
}

/// Programs that order byte strings by their bytes also in files that state no column orders.
const BYTE_ORDER: [&str; 9] = [
    MR,
    "parquet-mr-trino",
    "parquet-mr compatible Photon",
    CPP,
    "parquet-cpp-arrow",
    "parquet-rs",
    "impala",
    DUCKDB,
    "fastparquet-python",
];

/// Whether the writer of a file without column orders is known to order byte strings by their bytes.
///
/// SPEC (`FileMetaData.column_orders`): "Without column_orders, the meaning of the min_value and
/// max_value fields in the Statistics object and ColumnIndex object is undefined." Numbers have one
/// order that all programs use; strings have many.
pub fn orders_by_bytes(created_by: Option<&str>) -> bool {
    let writer = created_by.and_then(CreatedBy::parse);
    writer.is_some_and(|writer| BYTE_ORDER.contains(&writer.application))
}

/// Programs whose pages are read in another way than the format says.
const DUCKDB: &str = "DuckDB";

/// What has to be tolerated in the pages of a file because of its writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageQuirks {
    /// Pages of version 2 that say they are not compressed are compressed all the same.
    pub ignore_is_compressed: bool,
    /// The first value of a DELTA_BYTE_ARRAY page may go on from the last one of the page before.
    pub carries_prefixes: bool,
    /// What may stand behind the dictionary indices of a page.
    pub after_indices: AfterLastValue,
}

impl PageQuirks {
    /// The quirks of the writer that the footer names.
    pub fn of(created_by: Option<&str>) -> Self {
        let is_duckdb = created_by.is_some_and(|text| text.starts_with(DUCKDB));
        PageQuirks {
            ignore_is_compressed: writes_wrong_is_compressed(created_by),
            carries_prefixes: carries_prefixes(created_by),
            after_indices: match is_duckdb {
                true => AfterLastValue::Anything,
                false => AfterLastValue::Nothing,
            },
        }
    }
}

/// Arrow C++ before version 3 marked compressed pages of version 2 as not compressed
/// (ARROW-10353); it is the writer that calls itself exactly so.
fn writes_wrong_is_compressed(created_by: Option<&str>) -> bool {
    created_by.and_then(|text| text.split_whitespace().next()) == Some(CPP)
}

/// parquet-mr before 1.8.0 did not start anew with each page (PARQUET-246); a writer that does not
/// name itself may be one of them.
fn carries_prefixes(created_by: Option<&str>) -> bool {
    let Some(text) = created_by else { return true };
    let Some(rest) = text.strip_prefix("parquet-mr version ") else {
        return text.trim() == MR;
    };
    let mut numbers = rest.split(['.', '-', ' ']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (1, 8),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn application_version_and_build_are_told_apart() {
        let parts = |text| {
            CreatedBy::parse(text)
                .map(|c| (c.application, c.version.unwrap_or("none"), c.build.unwrap_or("none")))
        };
        assert_eq!(
            parts("parquet-mr version 1.8.0rc4 (build 10ba3e3)"),
            Some(("parquet-mr", "1.8.0rc4", "10ba3e3"))
        );
        assert_eq!(parts("impala version 1.0 (build 6cf94d)"), Some(("impala", "1.0", "6cf94d")));
        assert_eq!(
            parts("parquet-cpp-arrow version 14.0.2"),
            Some(("parquet-cpp-arrow", "14.0.2", "none"))
        );
        assert_eq!(
            parts("DuckDB version v1.4.0 (build b8a06e4a22)"),
            Some(("DuckDB", "v1.4.0", "b8a06e4a22"))
        );
        assert_eq!(parts("parquet-mr version (build abc)"), Some(("parquet-mr", "none", "abc")));
        assert_eq!(parts("a \t version1(  build  )"), Some(("a", "1", "none")));
        assert_eq!(
            parts("my version tool version 2.1.0 ( build x y )"),
            Some(("my", "tool version 2.1.0", "x y"))
        );
        assert_eq!(
            parts("x (y) version 3 (z) version 4"),
            Some(("x (y) version 3 (z)", "4", "none"))
        );
        for text in ["", "Polars", "version 1.0", "parquet-mr 1.8.0", "a version 1 (built b)"] {
            assert_eq!(parts(text), None, "{text}");
        }
        assert_eq!(parts("a version 1 (build b) c"), None);
    }

    #[test]
    fn versions_are_three_numbers_and_what_comes_before_a_release_sorts_before_it() {
        let ascending = [
            "1.5.0rc1",
            "1.5.0-5",
            "1.5.0-cdh5.4.9",
            "1.5.0-cdh5.5",
            "1.5.0-cdh5.5.0",
            "1.5.0-cdh5.5.1-SNAPSHOT",
            "1.5.0-cdh5.10.0",
            "1.5.0",
            "1.8.0rc4",
            "1.8.0-SNAPSHOT",
            "1.8.0",
            "1.10.0",
            "2.0.0",
        ];
        let versions: Vec<_> =
            ascending.iter().map(|text| SemanticVersion::parse(text).unwrap()).collect();
        for (i, a) in versions.iter().enumerate() {
            for (j, b) in versions.iter().enumerate() {
                assert_eq!(a.compare(b), i.cmp(&j), "{} {}", ascending[i], ascending[j]);
            }
        }
        let with_info = SemanticVersion::parse("1.8.0+abc-d").unwrap();
        assert_eq!(with_info.build_info, Some("abc-d"));
        assert_eq!(with_info.compare(&MR_FIXED), Ordering::Equal);
        for text in ["", "1", "1.2", "v1.4.0", "1..0", "1.2.x", "1.2.99999999999", "+1.2.3"] {
            assert_eq!(SemanticVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn byte_strings_of_two_programs_and_of_the_nameless_are_distrusted() {
        let faulty = |text| BoundFaults::of(text).bytes;
        let sound = [
            "parquet-mr version 1.8.0 (build abc)",
            "parquet-mr version 1.12.3-SNAPSHOT (build abc)",
            "parquet-mr version 1.5.0-cdh5.5.0 (build abc)",
            "parquet-mr version 1.5.0-cdh5.10.2",
            "parquet-cpp version 1.3.0",
            "parquet-cpp version 1.5.1-SNAPSHOT",
            "parquet-cpp-arrow version 14.0.2",
            "impala version 1.0 (build 6cf94d)",
            "DuckDB version v1.4.0 (build b8a06e4a22)",
        ];
        for text in sound {
            assert!(!faulty(Some(text)), "{text}");
        }
        let distrusted = [
            "",
            "Polars",
            "parquet-mr",
            "parquet-mr version (build abc)",
            "parquet-mr version 1.8 (build abc)",
            "parquet-mr version 1.8.0rc4 (build 10ba3e3)",
            "parquet-mr version 1.6.0",
            "parquet-mr version 1.5.0",
            "parquet-mr version 1.5.0-cdh5.4.9",
            "parquet-cpp version 1.2.9",
            "Parquet.Net version 3.7.7 (build 98ed5f)",
            "Parquet.Net version 4.25.0 (build 687fbb)",
        ];
        for text in distrusted {
            assert!(faulty(Some(text)), "{text}");
        }
        assert!(faulty(None));
    }

    #[test]
    fn without_column_orders_only_known_programs_order_strings_by_bytes() {
        let known = [
            "DuckDB version v1.4.0 (build b8a06e4a22)",
            "fastparquet-python version 2024.5.0 (build 0)",
            "parquet-mr version 1.12.3 (build abc)",
            "parquet-mr-trino version 481 (build n/a)",
            "parquet-mr compatible Photon version 0.2 (build 16.0)",
            "parquet-rs version 36.0.0",
            "parquet-cpp-arrow version 21.0.0",
        ];
        assert!(known.into_iter().all(|text| orders_by_bytes(Some(text))));
        let unknown = [None, Some(""), Some("my tool version 1.0.0"), Some("hyparquet")];
        assert!(!unknown.into_iter().any(orders_by_bytes));
    }

    #[test]
    fn quirks_of_pages_follow_from_the_writer() {
        let of = |text| PageQuirks::of(Some(text));
        assert_eq!(of("parquet-rs version 59.0.0"), PageQuirks::default());
        assert!(of("parquet-cpp version 1.5.1-SNAPSHOT").ignore_is_compressed);
        assert!(of("parquet-mr version 1.7.0 (build abc)").carries_prefixes);
        assert!(!of("parquet-mr version 1.8.0 (build abc)").carries_prefixes);
        assert!(PageQuirks::of(None).carries_prefixes);
        let duckdb = of("DuckDB version v1.3.0 (build 71c5c07cdd)");
        assert_eq!(duckdb.after_indices, AfterLastValue::Anything);
    }

    #[test]
    fn decimals_and_timestamps_of_some_programs_are_distrusted() {
        let faults = |text| {
            let BoundFaults { decimals_as_bytes, decimals, timestamps, .. } =
                BoundFaults::of(Some(text));
            (decimals_as_bytes, decimals, timestamps)
        };
        assert_eq!(faults("parquet-cpp version 1.5.1-SNAPSHOT"), (true, false, false));
        assert_eq!(faults("parquet-cpp-arrow version 4.0.0"), (false, false, false));
        assert_eq!(faults("hyparquet"), (false, true, false));
        assert_eq!(faults("Parquet.Net version 4.25.0 (build 687fbb)"), (false, false, true));
    }
}
