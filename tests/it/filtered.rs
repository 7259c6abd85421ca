//! Random filters on random files, compared with reading all values and filtering afterwards.
//!
//! ```text
//! random rows --> file --> row reader with filters, random loads --> values == values <-- model
//!                  |   \-> SQL with a random WHERE               --> lines  == lines  <--  |
//!                  +------> Arrow reader: every value ---------------------------------->--+
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `values` | the values that the Arrow reader returns, by their position in the schema |
//! | `filters` | a random filter, and an independent model of the values that it passes |
//! | `wanted` | random scan specs: columns, filters on them and on their members, omitted members |
//! | `pass` | one pass of a row reader: windows, lazy columns, filters that arrive during it |
//! | `conditions` | random conditions as SQL text, with their truth by three-valued logic |
//!
//! `OCIOR_CASES` is the number of cases, `OCIOR_SEED` the number of the first one. A failing case
//! reports its number; with this number as `OCIOR_SEED` it is the first case.

mod conditions;
mod filters;
mod pass;
mod values;
mod wanted;

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;

use crate::random_files::schema::{random_batch, random_rows};
use crate::random_files::{one_of, random_file};
use crate::support::random::{Random, number_from_env};
use values::Table;

/// Returns a table of mostly few rows, so that many files are tested, and sometimes of more rows
/// than a reader decodes at once.
fn random_table(random: &mut Random) -> RecordBatch {
    if random.once_in(100) {
        let num_rows = one_of(random, &[4_000, 9_000, 17_000]);
        let num_columns = 1 + random.below(2) as usize;
        return random_rows(num_rows, num_columns, random);
    }
    random_batch(random)
}

/// Returns the failure of the case; `None` when it passes.
fn failure(case: u64) -> Option<String> {
    let random = &mut Random::new(case.wrapping_mul(0xd134_2543_de82_ef95));
    let rows = random_table(random);
    let file = random_file(&rows, random);
    let table = Table::read(file.clone());
    let run = |name: &str, check: &mut dyn FnMut() -> Result<(), String>| {
        let outcome = catch_unwind(AssertUnwindSafe(check));
        let told = match outcome {
            Ok(outcome) => outcome.err()?,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
                format!("panic: {}", text.unwrap_or_default())
            }
        };
        Some(format!("case {case}, {name}: {told}\n of {:?}", rows.schema_ref().fields()))
    };
    let mut of_pass = Random::new(random.next());
    let mut of_sql = Random::new(random.next());
    run("pass", &mut || pass::check(&table, &file, &mut of_pass))
        .or_else(|| run("sql", &mut || conditions::check(&table, &file, &mut of_sql)))
}

#[test]
fn random_filters_leave_what_filtering_afterwards_leaves() {
    const NUM_THREADS: u64 = 2;
    let cases = number_from_env("OCIOR_CASES", 2_000);
    let seed = number_from_env("OCIOR_SEED", 1);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..NUM_THREADS)
            .map(|first| {
                let own = (seed + first..seed + cases).step_by(NUM_THREADS as usize);
                scope.spawn(move || own.filter_map(failure).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let shown: Vec<&str> = failures.iter().take(8).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} of {cases} fail:\n{}", failures.len(), shown.join("\n"));
}
