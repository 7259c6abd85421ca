//! Random queries over random files, against a naive evaluator: nested loops over all rows, a row
//! at a time, with values and three-valued logic of its own.
//!
//! ```text
//! seed --> tables --> Parquet files --> engine, with settings of every kind --> rows == rows
//!            |                            ^ SQL                                         |
//!            +------> syntax of a query --+--> evaluator ---------------------------> rows
//! ```
//!
//! | file | has |
//! |---|---|
//! | `values` | values and types, their order and their text |
//! | `tables`, `arrays` | random tables, and their rows as batches of the Arrow crates |
//! | `ast`, `print` | the syntax of queries, and its text |
//! | `expressions`, `queries` | random expressions and queries |
//! | `evaluate`, `rows`, `aggregates` | the evaluator |
//! | `settings`, `run` | ways to run a query, and the engine |
//! | `compare`, `shrink` | what differs, and smaller queries that differ too |
//! | `partitions` | conditions that cut a table in three |
//! | `duckdb` | the same for DuckDB |
//!
//! `OCIOR_RANDOM_QUERIES` says how many queries, `OCIOR_SEED` from which set of tables on: a failure
//! names its set, and with that as the seed it comes first. `OCIOR_SHOW_QUERIES` prints them all. Its files are left in the directory for
//! temporary files of the build, so that the command line can read them.

mod aggregates;
mod arrays;
mod ast;
mod compare;
mod duckdb;
mod evaluate;
mod expressions;
mod partitions;
mod print;
mod queries;
mod rows;
mod run;
mod settings;
mod shrink;
mod tables;
mod values;

use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use vector::ErrorKind;

use crate::support::command::Scratch;
use crate::support::random::{Random, number_from_env};
use ast::Query;
use queries::Generator;
use rows::{Evaluator, Row};
use run::World;
use settings::Settings;

/// Queries over the same tables.
const QUERIES_PER_WORLD: u64 = 25;

/// Number of rows and pairs that the evaluator visits for a query; larger queries are skipped.
const MAX_STEPS: u64 = 40_000;

/// What became of queries.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    queries: u64,
    runs: u64,
    without_rows: u64,
    too_expensive: u64,
    unsupported: u64,
    out_of_memory: u64,
    /// The time of the evaluator, of the engine, and of making tables and their files.
    evaluator: Duration,
    engine: Duration,
    tables: Duration,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.queries += other.queries;
        self.runs += other.runs;
        self.without_rows += other.without_rows;
        self.too_expensive += other.too_expensive;
        self.unsupported += other.unsupported;
        self.out_of_memory += other.out_of_memory;
        self.evaluator += other.evaluator;
        self.engine += other.engine;
        self.tables += other.tables;
    }
}

/// The rows that a query has; `None` when it is too expensive.
fn wanted(world: &World, query: &Query) -> Option<Vec<Row>> {
    Evaluator::new(&world.tables, MAX_STEPS).query(query, None).ok()
}

/// Runs a query in every way, and says what is wrong.
fn check(
    world: &World,
    query: &Query,
    random: &mut Random,
    counts: &mut Counts,
) -> Result<(), String> {
    let start = Instant::now();
    let Some(want) = wanted(world, query) else {
        counts.too_expensive += 1;
        return Ok(());
    };
    counts.evaluator += start.elapsed();
    counts.queries += 1;
    counts.without_rows += u64::from(want.is_empty());
    let mut ways: Vec<Settings> =
        [1, 2, 5].into_iter().map(|drivers| Settings::random(drivers, random)).collect();
    if random.once_in(2) {
        let drivers = 1 + random.below(3) as usize;
        ways.push(Settings::random(drivers, random).with_little_memory(random));
    }
    for settings in ways {
        counts.runs += 1;
        let start = Instant::now();
        let outcome_of_run = outcome(world, query, &want, &settings);
        counts.engine += start.elapsed();
        match outcome_of_run {
            Outcome::Right => {}
            Outcome::OutOfMemory => counts.out_of_memory += 1,
            Outcome::Unsupported(message) => {
                println!("{message}\n  {}", print::sql(query, &world.paths));
                counts.unsupported += 1;
                return Ok(());
            }
            Outcome::Wrong { what, class } => {
                let sql = print::sql(query, &world.paths);
                let small = shrink::shrunk(query.clone(), |small| {
                    let fails = || {
                        let want = wanted(world, small)?;
                        match outcome(world, small, &want, &settings) {
                            Outcome::Wrong { what, class: found } if found == class => Some(what),
                            _ => None,
                        }
                    };
                    catch_unwind(AssertUnwindSafe(fails)).is_ok_and(|what| what.is_some())
                });
                let small_sql = print::sql(&small, &world.paths);
                let of_small =
                    wanted(world, &small).map(|want| outcome(world, &small, &want, &settings));
                let of_small = match of_small {
                    Some(Outcome::Wrong { what, .. }) => what,
                    _ => "right in another run".to_string(),
                };
                let settings = settings.describe();
                return Err(format!(
                    "{what}\n  {sql}\n  {settings}\n smaller: {small_sql}\n{of_small}"
                ));
            }
        }
    }
    Ok(())
}

/// How a run ended.
enum Outcome {
    Right,
    OutOfMemory,
    Unsupported(String),
    /// `class` is the same for failures of one kind.
    Wrong {
        what: String,
        class: String,
    },
}

fn outcome(world: &World, query: &Query, want: &[Row], settings: &Settings) -> Outcome {
    let sql = print::sql(query, &world.paths);
    match world.run(&sql, &query.kinds(), settings) {
        Ok(got) => match compare::difference(query, &got, want) {
            None => Outcome::Right,
            Some(what) => Outcome::Wrong { what, class: "rows".to_string() },
        },
        Err(error) if settings.has_limit && error.kind() == ErrorKind::Limit => {
            Outcome::OutOfMemory
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            Outcome::Unsupported(error.to_string())
        }
        Err(error) => {
            let what = error.to_string();
            Outcome::Wrong { class: what.chars().take(40).collect(), what }
        }
    }
}

/// The tables of a seed, and the random numbers for their queries.
fn world(seed: u64) -> (World, Random) {
    let mut random = Random::new(seed.wrapping_mul(0xd134_2543_de82_ef95));
    (World::random(&mut random), random)
}

/// Checks the queries of one set of tables.
fn check_world(seed: u64) -> (Counts, Vec<String>) {
    let start = Instant::now();
    let (world, mut random) = world(seed);
    let (mut counts, mut failures) = (Counts::default(), Vec::new());
    counts.tables = start.elapsed();
    for number in 0..QUERIES_PER_WORLD {
        let mut of_query = Random::new(random.next());
        let query = Generator::new(&mut of_query, &world.tables).statement();
        if std::env::var_os("OCIOR_SHOW_QUERIES").is_some() {
            println!("OCIOR_SEED={seed}, query {number}: {}", print::sql(&query, &world.paths));
        }
        if let Err(what) = check(&world, &query, &mut of_query, &mut counts) {
            failures.push(format!("OCIOR_SEED={seed}, query {number}: {what}"));
        }
    }
    keep_files_of(&world, seed, &failures);
    (counts, failures)
}

/// Leaves the files of failures for the command line.
fn keep_files_of(world: &World, seed: u64, failures: &[String]) {
    if !failures.is_empty() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random_queries/{seed}"));
        duckdb::write_files(world, &folder);
    }
}

/// What `check` finds for each of the seeds, by a thread for each processor.
fn for_seeds<T: Send>(seeds: std::ops::Range<u64>, check: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let num_threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..num_threads as u64)
            .map(|offset| {
                let own = (seeds.start + offset..seeds.end).step_by(num_threads);
                let check = &check;
                scope.spawn(move || own.map(check).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[track_caller]
fn assert_none(failures: &[String]) {
    let shown: Vec<&str> = failures.iter().take(8).map(|failure| failure.as_str()).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), shown.join("\n\n"));
}

/// The name of the variable that holds down the instructions of the CPU.
const SIMD: &str = "OCIOR_SIMD";

/// Queries in this process, and in one without the CPU's wide instructions.
const NUM_QUERIES: [u64; 2] = [600, 400];

#[test]
fn random_queries_have_the_rows_of_a_naive_evaluator() {
    let num_queries = number_from_env("OCIOR_RANDOM_QUERIES", NUM_QUERIES[0]);
    let first = number_from_env("OCIOR_SEED", 1);
    let results = for_seeds(first..first + num_queries.div_ceil(QUERIES_PER_WORLD), check_world);
    let mut counts = Counts::default();
    results.iter().for_each(|(of_world, _)| counts += *of_world);
    println!("{counts:?}");
    let failures: Vec<String> = results.into_iter().flat_map(|(_, failures)| failures).collect();
    assert_none(&failures);
    assert!(counts.unsupported * 20 < counts.queries, "{counts:?}");
    // About half of them have none.
    assert!(counts.without_rows * 3 < counts.queries * 2, "{counts:?}");
}

#[test]
fn random_queries_have_the_same_rows_without_wide_instructions() {
    if std::env::var_os(SIMD).is_some() {
        println!("SKIPPED: {SIMD} is set, and the other test has the same instructions");
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "random_queries::random_queries_have_the_rows_of_a_naive_evaluator"]);
    child.arg("--nocapture").env(SIMD, "off");
    if std::env::var_os("OCIOR_RANDOM_QUERIES").is_none() {
        child.env("OCIOR_RANDOM_QUERIES", NUM_QUERIES[1].to_string()).env("OCIOR_SEED", "1000001");
    }
    let output = child.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    print!("{told}");
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
fn a_condition_its_opposite_and_its_unknown_part_a_table() {
    let num_conditions = number_from_env("OCIOR_RANDOM_QUERIES", 200);
    let first = number_from_env("OCIOR_SEED", 2_000_001);
    let seeds = first..first + num_conditions.div_ceil(QUERIES_PER_WORLD);
    let failures = for_seeds(seeds, |seed| {
        let (world, mut random) = world(seed);
        let found = (0..QUERIES_PER_WORLD).filter_map(|number| {
            let mut of_query = Random::new(random.next());
            let what = partitions::failure(&world, &mut of_query)?;
            Some(format!("OCIOR_SEED={seed}, condition {number}: {what}"))
        });
        let found: Vec<String> = found.collect();
        keep_files_of(&world, seed, &found);
        found
    });
    assert_none(&failures.concat());
}

/// The evaluator itself against DuckDB, which `OCIOR_DUCKDB_PYTHON`, a Python with that module, runs.
#[test]
fn random_queries_have_the_rows_of_duckdb() {
    let Some(python) = std::env::var_os("OCIOR_DUCKDB_PYTHON") else {
        println!("SKIPPED: OCIOR_DUCKDB_PYTHON names no Python with the module duckdb");
        return;
    };
    let num_queries = number_from_env("OCIOR_RANDOM_QUERIES", 500);
    let first = number_from_env("OCIOR_SEED", 3_000_001);
    let scratch = Scratch::new("random_queries_duckdb");
    let seeds = first..first + num_queries.div_ceil(QUERIES_PER_WORLD);
    let exported = for_seeds(seeds, |seed| {
        let (world, mut random) = world(seed);
        let tables = duckdb::write_plain_tables(&world, &scratch.path().join(seed.to_string()));
        let mut found = Vec::new();
        for number in 0..QUERIES_PER_WORLD {
            let mut of_query = Random::new(random.next());
            let query = Generator::new(&mut of_query, &world.tables).statement();
            let name = format!("OCIOR_SEED={seed}, query {number}");
            let rows = wanted(&world, &query);
            found.extend(rows.and_then(|rows| duckdb::exported(&query, &rows, &tables, &name)));
        }
        found
    });
    let queries = serde_json::Value::Array(exported.concat());
    scratch.write("queries.json", queries.to_string().as_bytes());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random_queries_duckdb.py");
    let output = Command::new(python).arg(script).arg(scratch.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}");
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}
