//! Mutants of files that other projects wrote, which have what the seeds made here have not.
//!
//! One bit or byte is changed, or the file is cut. A mutant is a number: `OCIOR_CORPUS_MUTANTS=1000000`
//! reads that many, `OCIOR_CORPUS_MUTANTS=1:4711` the one with that number. Then the peak of the
//! process is looked at too, which is that of this test alone when nothing else runs in it.

use super::{MEMORY_LIMIT, Reader};
use crate::corpus::{corpus, entries, has_rows};
use crate::support::random::{Random, numbers_from_env};

/// Mutants that are read when nothing else is asked for.
const NUM_MUTANTS: u64 = 4_000;
const NUM_THREADS: u64 = 2;
/// What the process may take beside the memory of the engines.
const SPARE_MEMORY: u64 = 64 << 20;

/// A file of the corpus.
struct Seed {
    path: String,
    bytes: Vec<u8>,
    footer: usize,
}

impl Seed {
    fn new(path: String, bytes: Vec<u8>) -> Self {
        let at = bytes.len().saturating_sub(8);
        let length = bytes[at..].first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        let footer = at.saturating_sub(length as usize);
        Seed { path, bytes, footer }
    }

    /// The file with one change, and which.
    fn mutant(&self, random: &mut Random) -> (Vec<u8>, String) {
        let mut file = self.bytes.clone();
        let len = file.len() as u64;
        // Footers are most of what can be wrong, and of large files the least part.
        let at = match random.once_in(2) {
            true => random.below(len) as usize,
            false => self.footer + random.below(len - self.footer as u64) as usize,
        };
        let done = match random.below(8) {
            0..=3 => {
                let bit = random.below(8);
                file[at] ^= 1 << bit;
                format!("bit {bit} of byte {at} flipped")
            }
            4..=6 => {
                let other = [0, 1, 0x7f, 0x80, 0xff, random.next() as u8];
                file[at] = other[random.below(other.len() as u64) as usize];
                format!("byte {at} set to {:#x}", file[at])
            }
            _ => {
                file.truncate(at);
                format!("cut to {at} bytes")
            }
        };
        (file, done)
    }
}

/// Returns the largest resident set of the process so far, where the system reports it.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Reads the mutants `first`, `first + NUM_THREADS`, ...: faults, and how many gave rows.
fn read_mutants(seeds: &[Seed], settings: (u64, u64), first: u64) -> (Vec<String>, u64) {
    let (count, start) = settings;
    let reader = Reader::new();
    let (mut faults, mut num_read) = (Vec::new(), 0);
    for n in (start + first..start + count).step_by(NUM_THREADS as usize) {
        let mut random = Random::new(n.wrapping_mul(0x9e6c_63d0_876a_3f6b));
        let seed = &seeds[random.below(seeds.len() as u64) as usize];
        let (mutant, done) = seed.mutant(&mut random);
        let (fault, is_read) = reader.fault(mutant, None);
        num_read += u64::from(is_read);
        if let Some(fault) = fault {
            faults.push(format!("mutant {n}, {}, {done}: {fault}", seed.path));
        }
    }
    (faults, num_read)
}

#[test]
fn every_mutant_of_a_foreign_file_gives_rows_or_an_error_in_time_and_memory() {
    let Some(corpus) = corpus() else { return };
    let is_long = std::env::var_os("OCIOR_CORPUS_MUTANTS").is_some();
    let settings = numbers_from_env("OCIOR_CORPUS_MUTANTS", (NUM_MUTANTS, 0));
    let seeds: Vec<Seed> = entries(&corpus)
        .iter()
        .filter(|entry| has_rows(entry))
        .map(|entry| {
            let path = entry["path"].as_str().unwrap();
            Seed::new(path.to_string(), std::fs::read(corpus.join(path)).unwrap())
        })
        .collect();
    let before = peak_bytes();
    let (mut faults, mut num_read) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let seeds = &seeds;
        let threads: Vec<_> = (0..NUM_THREADS)
            .map(|first| scope.spawn(move || read_mutants(seeds, settings, first)))
            .collect();
        for thread in threads {
            let (of_thread, read) = thread.join().unwrap();
            faults.extend(of_thread);
            num_read += read;
        }
    });
    let peak = peak_bytes();
    println!(
        "{num_read} of {} mutants of {} files gave rows; peak {:?} MiB, {:?} MiB before",
        settings.0,
        seeds.len(),
        peak.map(|bytes| bytes >> 20),
        before.map(|bytes| bytes >> 20),
    );
    assert!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
    // Mutants that all fail, or all pass, would show nothing.
    let is_sample = settings.0 >= NUM_MUTANTS;
    let is_mixed = num_read > settings.0 / 20 && num_read < settings.0 / 10 * 9;
    assert!(!is_sample || is_mixed, "{num_read}");
    if let (true, Some(before), Some(peak)) = (is_long, before, peak) {
        let allowed = before + NUM_THREADS * MEMORY_LIMIT + SPARE_MEMORY;
        assert!(peak <= allowed, "{} MiB of {} MiB", peak >> 20, allowed >> 20);
    }
}
