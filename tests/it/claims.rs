//! Files that claim what is not so: one integer of a header, a footer or an index is changed, and
//! everything else is written again so that it fits.
//!
//! ```text
//! shapes x groups of columns --> seeds --one integer changed--> mutants
//! mutant --full scan--> rows --condition by hand--.
//!        --scan with the condition--------------- equal, or refused
//!        --count--------------------------------- equal, or refused
//! ```
//!
//! A mutant is a number, and depends on nothing else: `OCIOR_CLAIM_MUTANTS=1000000` reads that many,
//! `OCIOR_CLAIM_MUTANTS=1:4711` reads the one with that number. `OCIOR_CLAIM_FILES` is a directory
//! into which the files are written that are read wrongly.

mod condition;
mod names;
mod readings;
mod shapes;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::random_files::one_of;
use crate::support::file_parts::Part;
use crate::support::random::{Random, numbers_from_env};
use crate::support::thrift::Tree;
use condition::Condition;
use readings::{Outcome, Reader};
use shapes::{Seed, seeds};

/// Mutants that are read when nothing else is asked for.
const NUM_MUTANTS: u64 = 20_000;

/// How an integer is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    To(i64),
    Add(i64),
    Double,
}

const CHANGES: [Change; 8] = [
    Change::To(0),
    Change::To(1),
    Change::To(-1),
    Change::Add(-1),
    Change::Add(1),
    Change::Double,
    Change::To(i32::MAX as i64),
    Change::To(i64::MAX),
];

impl Change {
    fn of(self, value: i64) -> i64 {
        match self {
            Change::To(other) => other,
            Change::Add(step) => value.wrapping_add(step),
            Change::Double => value.wrapping_mul(2),
        }
    }
}

/// An integer of a file: its part, and the way to it in that part.
type Claim = (Part, Vec<usize>);

/// A seed, what is read of it, and its integers by name.
struct Prepared {
    seed: Seed,
    lines: Vec<String>,
    rows: Vec<Value>,
    claims: Vec<(String, Vec<Claim>)>,
}

impl Prepared {
    fn new(seed: Seed, reader: &Reader) -> Self {
        reader.put(seed.parts.bytes(&mut |_, _| {}));
        let Outcome::Rows(lines) = reader.rows(None, 0) else {
            panic!("{}: {:?}", seed.name, reader.rows(None, 0));
        };
        let mut claims: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
        seed.parts.for_each_part(&mut |part, tree| {
            tree.integers(&mut |path, numbers| {
                let name = names::name(part.name(), numbers);
                claims.entry(name).or_default().push((part, path.to_vec()));
            });
        });
        let rows = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        Prepared { seed, lines, rows, claims: claims.into_iter().collect() }
    }
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// Three readings with the same rows.
    Equal,
    /// At least one reading was refused, and the other readings return the right rows.
    Refused,
    /// The column of the condition has different types, so there is nothing to compare.
    NotCompared,
    /// Wrong rows, because a page was skipped about which nothing else in the file says anything.
    PassedOver,
    Wrong(String),
}

/// One mutant, changed and read.
struct Mutant<'a> {
    prepared: &'a Prepared,
    name: &'a str,
    part: Part,
    done: String,
    bytes: Vec<u8>,
    condition: Condition,
    batch_rows: u64,
}

impl<'a> Mutant<'a> {
    fn new(seeds: &'a [Prepared], number: u64) -> Self {
        let random = &mut Random::new(number.wrapping_mul(0x9e6c_63d0_876a_3f6b));
        let prepared = &seeds[(number % seeds.len() as u64) as usize];
        // Half of the mutants have a page header changed, which has few integers among many.
        let of_pages = prepared.claims.iter().filter(|(name, _)| name.starts_with("PageHeader"));
        let names: Vec<_> = match random.once_in(2) {
            true => of_pages.collect(),
            false => prepared.claims.iter().collect(),
        };
        let (name, claims) = one_of(random, &names);
        let (part, path) = &claims[random.below(claims.len() as u64) as usize];
        let first = random.below(CHANGES.len() as u64) as usize;
        let mut done = String::new();
        let bytes = prepared.seed.parts.bytes(&mut |at, tree| {
            if at == *part {
                let Tree::Int(_, value) = tree.at_mut(path) else { panic!("{path:?} moved") };
                let changes = (0..CHANGES.len()).map(|i| CHANGES[(first + i) % CHANGES.len()]);
                let changed = changes.map(|change| change.of(*value)).find(|new| new != value);
                done = format!("{value} -> {}", changed.unwrap());
                *value = changed.unwrap();
            }
        });
        let condition = Condition::random(&prepared.seed, &prepared.rows, random);
        let batch_rows = [0, 0, 1, 5, 16][random.below(5) as usize];
        Mutant { prepared, name, part: *part, done, bytes, condition, batch_rows }
    }

    fn verdict(&self, reader: &Reader) -> Verdict {
        reader.put(self.bytes.clone());
        let full = reader.rows(None, self.batch_rows);
        let selected = reader.rows(Some(&self.condition.sql()), self.batch_rows);
        // Counts are taken from the footer alone.
        let counted = match self.part {
            Part::Footer => reader.count(),
            _ => full.clone(),
        };
        for outcome in [&full, &selected, &counted] {
            if let Outcome::Fault(fault) = outcome {
                return Verdict::Wrong(fault.clone());
            }
        }
        // What a full scan refuses may be read in part, as far as the rows are right.
        let lines = match &full {
            Outcome::Rows(lines) => lines,
            _ => &self.prepared.lines,
        };
        if self.part == Part::Footer
            && let Outcome::Rows(counted) = &counted
            && counted[..] != [format!("{{\"n\":{}}}", lines.len())]
        {
            return Verdict::Wrong(format!("counted {counted:?} of {} rows", lines.len()));
        }
        let Outcome::Rows(selected) = selected else { return Verdict::Refused };
        let Some(wanted) = self.by_hand(lines) else { return Verdict::NotCompared };
        let refused = |outcome| matches!(outcome, &Outcome::Refused(_));
        let selected: Vec<&String> = selected.iter().collect();
        match wanted == selected {
            true if refused(&full) || refused(&counted) => Verdict::Refused,
            true => Verdict::Equal,
            false if self.is_passed_over() => Verdict::PassedOver,
            false => {
                let len = wanted.len().max(selected.len());
                let at = (0..len).find(|at| wanted.get(*at) != selected.get(*at)).unwrap();
                let (got, want) = (selected.get(at), wanted.get(at));
                let of = if refused(&full) { "the file before" } else { "the full scan" };
                Verdict::Wrong(format!("row {at} is {got:.200?} and in {of} {want:.200?}"))
            }
        }
    }

    /// The lines that pass the condition.
    fn by_hand<'l>(&self, lines: &'l [String]) -> Option<Vec<&'l String>> {
        let mut passed = Vec::new();
        for line in lines {
            if self.condition.passes(&serde_json::from_str(line).unwrap())? {
                passed.push(line);
            }
        }
        Some(passed)
    }

    /// True when the changed page header is that of a data page without rows of the result, whose
    /// column has no condition, and whose chunk has no offset index.
    fn is_passed_over(&self) -> bool {
        let Part::PageHeader { group, column, page } = self.part else { return false };
        let parts = &self.prepared.seed.parts;
        let Some(rows) = parts.rows_of_page((group, column, page)) else { return false };
        let mut rows = self.prepared.rows[rows.start as usize..rows.end as usize].iter();
        !parts.has_offset_index(group, column)
            && self.prepared.seed.columns.get(column) != Some(&self.condition.column.as_str())
            && !rows.any(|row| self.condition.passes(row) != Some(false))
    }

    fn describe(&self, number: u64) -> String {
        format!(
            "mutant {number}: {}, {:?}, {} {}, WHERE {}, batches of {}",
            self.prepared.seed.name,
            self.part,
            self.name,
            self.done,
            self.condition.sql(),
            self.batch_rows,
        )
    }
}

/// How many mutants ended in each way, and those that were read wrongly by the field's name.
#[derive(Debug, Default)]
struct Tally {
    ends: BTreeMap<&'static str, u64>,
    wrong: BTreeMap<String, Vec<String>>,
}

impl Tally {
    fn add(&mut self, mutant: &Mutant, number: u64, verdict: &Verdict) {
        let end = match verdict {
            Verdict::Equal => "equal",
            Verdict::Refused => "refused, the rest right",
            Verdict::NotCompared => "not compared: the column of the condition has another type",
            Verdict::PassedOver => "passed over, with no second statement",
            Verdict::Wrong(_) => "wrong",
        };
        *self.ends.entry(end).or_default() += 1;
        if let Verdict::Wrong(how) = verdict {
            if let Some(dir) = std::env::var_os("OCIOR_CLAIM_FILES") {
                let path = std::path::Path::new(&dir).join(format!("{number}.parquet"));
                std::fs::write(path, &mutant.bytes).unwrap();
            }
            let found = self.wrong.entry(mutant.name.to_string()).or_default();
            found.push(format!("{}: {how}", mutant.describe(number)));
        }
    }

    fn merge(&mut self, other: Tally) {
        other.ends.into_iter().for_each(|(end, n)| *self.ends.entry(end).or_default() += n);
        for (name, found) in other.wrong {
            self.wrong.entry(name).or_default().extend(found);
        }
    }

    fn report(&self) -> String {
        let mut out = String::new();
        for (end, n) in &self.ends {
            out += &format!("{n:>9} {end}\n");
        }
        for (name, found) in &self.wrong {
            out += &format!("{:>9} wrong: {name}\n", found.len());
            found.iter().take(3).for_each(|one| out += &format!("            {one}\n"));
        }
        out
    }
}

/// Reads the mutants `first`, `first + step`, ...
fn read_mutants(seeds: &[Prepared], numbers: std::ops::Range<u64>, step: usize) -> Tally {
    let reader = Reader::new();
    let mut tally = Tally::default();
    for number in numbers.step_by(step) {
        let mutant = Mutant::new(seeds, number);
        let verdict = mutant.verdict(&reader);
        tally.add(&mutant, number, &verdict);
    }
    tally
}

fn prepared() -> Vec<Prepared> {
    let reader = Reader::new();
    seeds().into_iter().map(|seed| Prepared::new(seed, &reader)).collect()
}

#[test]
fn a_wrong_claim_gives_the_same_rows_to_every_reading_or_is_refused() {
    const NUM_THREADS: u64 = 2;
    let (count, start) = numbers_from_env("OCIOR_CLAIM_MUTANTS", (NUM_MUTANTS, 0));
    let seeds = prepared();
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let seeds = &seeds;
        let threads: Vec<_> = (0..NUM_THREADS)
            .map(|first| {
                let numbers = start + first..start + count;
                scope.spawn(move || read_mutants(seeds, numbers, NUM_THREADS as usize))
            })
            .collect();
        threads.into_iter().for_each(|thread| tally.merge(thread.join().unwrap()));
    });
    println!("{count} mutants of {} files\n{}", seeds.len(), tally.report());
    assert!(tally.wrong.is_empty(), "{}", tally.report());
}

#[test]
fn files_in_parts_are_written_as_they_were_and_read_the_same_in_every_way() {
    let reader = Reader::new();
    let mut names = std::collections::BTreeSet::new();
    for prepared in prepared() {
        let bytes = prepared.seed.parts.bytes(&mut |_, _| {});
        reader.put(bytes);
        for number in 0..8 {
            let random = &mut Random::new(number);
            let condition = Condition::random(&prepared.seed, &prepared.rows, random);
            let passed = |row: &Value| condition.passes(row).unwrap();
            let wanted = prepared.lines.iter().zip(&prepared.rows);
            let wanted: Vec<_> =
                wanted.filter(|(_, row)| passed(row)).map(|(line, _)| line.clone()).collect();
            let got = reader.rows(Some(&condition.sql()), number);
            assert_eq!(got, Outcome::Rows(wanted), "{} {condition:?}", prepared.seed.name);
        }
        assert_eq!(
            reader.count(),
            Outcome::Rows(vec![format!("{{\"n\":{}}}", prepared.lines.len())])
        );
        names.extend(prepared.claims.into_iter().map(|(name, _)| name));
    }
    // Every struct of the format that a reader trusts is there, with all its integers.
    for name in [
        "PageHeader v1 num_values",
        "PageHeader v2 num_rows",
        "PageHeader dictionary num_values",
        "OffsetIndex first_row_index",
        "ColumnIndex null_counts",
        "BloomFilterHeader numBytes",
    ] {
        assert!(names.contains(name), "{name} is not among {names:#?}");
    }
}
