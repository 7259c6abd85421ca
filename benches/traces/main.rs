//! Benchmark of the Velox trace cases on Ocior alone: the best time and the number of rows of each.
//!
//! `cargo bench --bench traces [-- DIR]` runs all cases of the directory `DIR`, by default
//! `velox-traces` below `OCIOR_SHARED`. `compare.py` in this directory derives cases over files of
//! scale factor 1 from them and also runs those on Velox.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use exec::expr::FunctionRegistry;
use ocior::replay::{PathMap, Replay};
use ocior::{Engine, QueryOptions};
use vector::sync::Arc;

/// Number of timed runs of each case.
const RUNS: usize = 7;

fn main() {
    let given = std::env::args().skip(1).find(|arg| !arg.starts_with('-')).map(PathBuf::from);
    let shared = || std::env::var_os("OCIOR_SHARED").map_or("../shared".into(), PathBuf::from);
    let folder = given.unwrap_or_else(|| shared().join("velox-traces"));
    if !folder.is_dir() {
        println!("no cases at {}: nothing was measured", folder.display());
        return;
    }
    let entries = std::fs::read_dir(&folder).expect("a folder of cases can be listed");
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    cases.retain(|case| case.join("case.json").is_file());
    cases.sort();
    println!("{:<30}{:>10}{:>12}", "case", "rows", "best ms");
    for case in cases {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match best(&case) {
            Ok((rows, time)) => {
                println!("{name:<30}{rows:>10}{:>12.3}", time.as_secs_f64() * 1e3);
            }
            Err(error) => println!("{name:<30}{error}"),
        }
    }
}

/// Returns the number of rows of a case and its best time.
fn best(case: &Path) -> vector::Result<(usize, Duration)> {
    let text = |name: &str| std::fs::read_to_string(case.join(name)).expect("a case can be read");
    let (plan, splits) = (text("plan.json"), text("case.json"));
    let functions = Arc::new(FunctionRegistry::builtin());
    let replay = Replay::read(&plan, &splits, case, Engine::HIVE, &PathMap::default(), &functions)?;
    let mut builder = Engine::builder();
    for (key, value) in replay.connector_settings.iter() {
        builder = builder.setting(key, value);
    }
    let engine = builder.build();
    let options = QueryOptions {
        drivers: 1,
        settings: replay.session_settings.clone(),
        ..QueryOptions::default()
    };
    let (mut rows, mut best) = (0, Duration::MAX);
    for _ in 0..RUNS {
        let start = Instant::now();
        rows = 0;
        for batch in engine.run_nodes(&replay.root, replay.splits.clone(), &options)? {
            rows += batch?.len();
        }
        best = best.min(start.elapsed());
    }
    Ok((rows, best))
}
