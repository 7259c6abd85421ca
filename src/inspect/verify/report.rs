//! Results of a verification: numbers of checks, and problems.

use std::fmt;

use vector::{Error, Result, RowVector, Type, Value};

use crate::inspect::facts::{Facts, number, text, texts};

/// Kinds of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Footer, compared with the file.
    Footer,
    /// Page headers, compared with the levels and the chunk.
    Pages,
    /// Checksums of pages.
    Checksums,
    /// Values, all of which are decoded.
    Values,
    /// Statistics of column chunks, compared with the values.
    Statistics,
    /// Offset indexes, compared with the pages.
    OffsetIndex,
    /// Bounds and counts of pages in column indexes, compared with the values.
    ColumnIndex,
    /// Bloom filters, which must contain each value.
    BloomFilters,
}

const CHECKS: [Check; 8] = [
    Check::Footer,
    Check::Pages,
    Check::Checksums,
    Check::Values,
    Check::Statistics,
    Check::OffsetIndex,
    Check::ColumnIndex,
    Check::BloomFilters,
];

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Footer => "footer",
            Check::Pages => "pages",
            Check::Checksums => "checksums",
            Check::Values => "values",
            Check::Statistics => "statistics",
            Check::OffsetIndex => "offset index",
            Check::ColumnIndex => "column index",
            Check::BloomFilters => "bloom filters",
        })
    }
}

/// Result of a verification.
#[derive(Debug, Default)]
pub struct Report {
    checked: [u64; CHECKS.len()],
    problems: Vec<(Check, Error)>,
}

impl Report {
    /// Number of comparisons of a kind.
    pub fn num_checked(&self, check: Check) -> u64 {
        self.checked.get(check as usize).copied().unwrap_or(0)
    }

    /// Problems in the order in which they were found.
    pub fn problems(&self) -> &[(Check, Error)] {
        &self.problems
    }

    /// Returns one row for each kind of check, with all of its problems.
    ///
    /// # Errors
    /// `Internal` if a value does not fit its column.
    pub fn by_check(&self) -> Result<RowVector> {
        let mut facts = Facts::new([
            ("check", Type::Varchar),
            ("checked", Type::BigInt),
            ("problems", Type::array(Type::Varchar)),
        ]);
        for check in CHECKS {
            let problems = self.of(check).map(one_line);
            facts.push(vec![
                text(check.to_string()),
                number(self.num_checked(check)),
                texts(problems),
            ]);
        }
        facts.finish()
    }

    /// Returns one row for each kind of check, followed by one row for each of its problems; for
    /// display to people.
    ///
    /// # Errors
    /// `Internal` if a value does not fit its column.
    pub fn by_problem(&self) -> Result<RowVector> {
        let mut facts = Facts::new([
            ("check", Type::Varchar),
            ("checked", Type::BigInt),
            ("problems", Type::BigInt),
            ("problem", Type::Varchar),
        ]);
        for check in CHECKS {
            let num_problems = number(self.of(check).count() as u64);
            let name = text(check.to_string());
            facts.push(vec![
                name.clone(),
                number(self.num_checked(check)),
                num_problems,
                Value::Null,
            ]);
            for problem in self.of(check) {
                let row = vec![name.clone(), Value::Null, Value::Null, text(one_line(problem))];
                facts.push(row);
            }
        }
        facts.finish()
    }

    fn of(&self, check: Check) -> impl Iterator<Item = &Error> {
        self.problems.iter().filter(move |(of, _)| *of == check).map(|(_, error)| error)
    }

    pub(super) fn count(&mut self, check: Check, num: u64) {
        if let Some(checked) = self.checked.get_mut(check as usize) {
            *checked = checked.saturating_add(num);
        }
    }

    pub(super) fn problem(&mut self, check: Check, error: Error) {
        self.problems.push((check, error));
    }
}

fn one_line(error: &Error) -> String {
    error.to_string().replace("\n  ", "; ")
}
