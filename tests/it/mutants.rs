//! Broken files: every mutant of small valid files ends in rows or in an error.
//!
//! ```text
//! layouts x groups of columns --> seeds --mutation--> mutants --scan--> rows, checked | an error
//! ```
//!
//! Mutants depend on a seed and a count, `OCIOR_MUTANTS=20000` or `OCIOR_MUTANTS=20000:7`; a test
//! that fails names the mutant.

mod mutation;
mod of_corpus;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::sleep;
use std::time::Duration;

use arrow_array::RecordBatch;
use dwio::fs::MemoryFiles;
use ocior::{Engine, ScanRequest};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterVersion;
use vector::sync::thread_cpu_time;
use vector::{ErrorKind, Result};

use crate::differential::rows::random_rows;
use crate::support::files::{Layout, in_order, parquet_file};
use crate::support::random::{Random, numbers_from_env};
use mutation::Seed;

/// What reading a mutant may take: of memory, and of the processor, however busy that is with others.
const MEMORY_LIMIT: u64 = 256 << 20;
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// Rows after which a file that says it has more is given up.
const MAX_ROWS: usize = 50_000;

/// Rows of a seed, with several pages and two row groups.
const NUM_ROWS: usize = 24;

/// Columns that stand in one file together.
const GROUPS: [&[&str]; 6] = [
    &["id", "bool_null", "int32", "int64_null", "float_null"],
    &["int16", "uint32_null", "uint64", "double", "date_null"],
    &["decimal9_null", "decimal38", "stamp_us_null", "time_ms", "fixed_null"],
    &["text", "text_null", "bytes_null", "all_null"],
    &["list", "list_list", "id"],
    &["map", "struct"],
];

fn layouts() -> Vec<Layout> {
    let small = Layout { rows_per_page: 8, rows_per_group: 16, ..Layout::default() };
    let second = Layout { version: WriterVersion::PARQUET_2_0, ..small };
    let plain = Layout { codec: Compression::UNCOMPRESSED, has_dictionary: false, ..small };
    vec![
        plain,
        Layout { codec: Compression::UNCOMPRESSED, ..small },
        Layout { codec: Compression::UNCOMPRESSED, ..second },
        Layout { encoding: None, splits_floats: true, version: second.version, ..plain },
        small,
        Layout { codec: Compression::GZIP(GzipLevel::default()), has_dictionary: false, ..second },
        Layout { codec: Compression::ZSTD(ZstdLevel::default()), dictionary_bytes: 16, ..small },
    ]
}

fn seeds() -> Vec<Seed> {
    let rows = random_rows(20261130, NUM_ROWS);
    let mut seeds = Vec::new();
    for (n, layout) in layouts().into_iter().enumerate() {
        for columns in GROUPS {
            let indices: Vec<usize> =
                columns.iter().map(|c| rows.schema_ref().index_of(c).unwrap()).collect();
            let part: RecordBatch = rows.project(&indices).unwrap();
            let name = format!("layout {n} of {}", columns.join(" "));
            seeds.push(Seed::new(name, parquet_file(&part, layout)));
        }
    }
    seeds
}

/// An engine over one file in memory, which is replaced by mutant after mutant.
struct Reader {
    files: MemoryFiles,
    engine: Engine,
}

impl Reader {
    fn new() -> Self {
        let files = MemoryFiles::new();
        let engine = Engine::builder()
            .file_system(vector::sync::Arc::new(files.clone()))
            .memory_limit(MEMORY_LIMIT)
            .build();
        Reader { files, engine }
    }

    /// Reads to the end, to an error or to more rows than a seed could have.
    fn rows(&self, request: &ScanRequest) -> Result<usize> {
        let mut rows = 0;
        for batch in self.engine.scan(request, &in_order())? {
            let batch = batch?;
            vector::check::check_batch(&batch)?;
            rows += batch.len();
            if rows > MAX_ROWS {
                break;
            }
        }
        Ok(rows)
    }

    /// True when memory is not given back. Drivers of a query that was left in the middle are closed by
    /// a worker, which may take a while.
    fn holds_memory(&self) -> bool {
        let is_held = || self.engine.memory_pool().used() > 0;
        (0..400).all(|_| {
            is_held() && {
                sleep(Duration::from_millis(5));
                true
            }
        })
    }

    /// What is wrong with how a mutant was read, `None` when nothing is; and whether it gave rows.
    fn fault(&self, mutant: Vec<u8>, filter: Option<&str>) -> (Option<String>, bool) {
        self.files.put("f.parquet", mutant);
        let request = ScanRequest {
            paths: vec!["f.parquet".to_string()],
            filter: filter.map(str::to_string),
            ..ScanRequest::default()
        };
        // One driver runs here. Others may make the processor slow: too slow is what is so each time.
        for attempt in 0.. {
            let start = thread_cpu_time();
            let outcome = catch_unwind(AssertUnwindSafe(|| self.rows(&request)));
            let took = thread_cpu_time().unwrap_or_default() - start.unwrap_or_default();
            match outcome {
                Err(_) => return (Some("a panic".to_string()), false),
                Ok(Err(error)) if error.kind() == ErrorKind::Internal => {
                    return (Some(error.to_string()), false);
                }
                Ok(_) if self.holds_memory() => {
                    return (Some("memory that is still held".to_string()), false);
                }
                Ok(_) if took > TIME_LIMIT && attempt < 3 => {}
                Ok(_) if took > TIME_LIMIT => return (Some(format!("{took:?}")), false),
                Ok(outcome) => return (None, outcome.is_ok()),
            }
        }
        (None, false)
    }
}

/// Every third mutant is read with a condition, so that bounds and indexes are looked at too.
fn filter_of(seed: &Seed, random: &mut Random) -> Option<&'static str> {
    if !random.once_in(3) {
        return None;
    }
    let columns = seed.name.rsplit(" of ").next().unwrap();
    let conditions = [
        ("int32", "int32 > 10 OR int32 IS NULL"),
        ("uint64", "uint64 BETWEEN 3 AND 90"),
        ("decimal38", "decimal38 < 12.5"),
        ("text", "text = 'b' OR text LIKE 'n%'"),
        ("list_list", "id >= 9"),
    ];
    conditions.into_iter().find(|(c, _)| columns.split(' ').any(|n| n == *c)).map(|(_, f)| f)
}

/// Reads the mutants `first`, `first + step`, ... and gives the faults and how many gave rows.
fn read_mutants(seeds: &[Seed], settings: (u64, u64), first: u64, step: u64) -> (Vec<String>, u64) {
    let (count, seed_number) = settings;
    let reader = Reader::new();
    let (mut faults, mut num_read) = (Vec::new(), 0);
    for n in (first..count).step_by(step as usize) {
        let mut random = Random::new(seed_number ^ n.wrapping_mul(0x9e6c_63d0_876a_3f6b));
        let seed = &seeds[(n % seeds.len() as u64) as usize];
        let (mutant, done) = seed.broken(&mut random);
        let filter = filter_of(seed, &mut random);
        let (fault, is_read) = reader.fault(mutant, filter);
        num_read += u64::from(is_read);
        if let Some(fault) = fault {
            faults.push(format!("mutant {n}, {}, {done}, filter {filter:?}: {fault}", seed.name));
        }
    }
    (faults, num_read)
}

#[test]
fn every_mutant_gives_rows_or_an_error_in_time_and_memory() {
    const NUM_THREADS: u64 = 2;
    let settings = numbers_from_env("OCIOR_MUTANTS", (20_000, 1));
    let seeds = seeds();
    for seed in &seeds {
        assert_eq!(Reader::new().fault(seed.bytes.clone(), None), (None, true), "{}", seed.name);
    }
    let (faults, num_read) = std::thread::scope(|scope| {
        let seeds = &seeds;
        let threads: Vec<_> = (0..NUM_THREADS)
            .map(|first| scope.spawn(move || read_mutants(seeds, settings, first, NUM_THREADS)))
            .collect();
        let mut all = (Vec::new(), 0);
        for thread in threads {
            let (faults, num_read) = thread.join().unwrap();
            all.0.extend(faults);
            all.1 += num_read;
        }
        all
    });
    println!("{num_read} of {} mutants gave rows", settings.0);
    assert!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
    // Mutants that all fail, or all pass, would show nothing.
    assert!(num_read > settings.0 / 20 && num_read < settings.0 / 10 * 9, "{num_read}");
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let seeds = seeds();
    let seed = seeds.iter().min_by_key(|seed| seed.bytes.len()).unwrap();
    let reader = Reader::new();
    for len in 0..seed.bytes.len() {
        assert_eq!(reader.fault(seed.cut(len), None), (None, false), "{} cut to {len}", seed.name);
    }
}
