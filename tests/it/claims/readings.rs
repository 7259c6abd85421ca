//! A file read in three ways, and whether these agree.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use dwio::fs::MemoryFiles;
use format_parquet::ParquetReaderFactory;
use format_parquet::decrypt::{FixedKeys, Key};
use ocior::output::{OutputFormat, batch_writer};
use ocior::{Engine, QueryOptions, QueryResult};
use vector::sync::{Arc, thread_cpu_time};
use vector::{ErrorKind, Result};

use crate::support::encryption::KEY;
use crate::support::files::in_order;

/// What reading a mutant may take: of memory, and of the processor, however busy that is.
const MEMORY_LIMIT: u64 = 256 << 20;
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Rows after which a file is given up that claims to have more.
const MAX_ROWS: usize = 20_000;

const FILE: &str = "f.parquet";

/// How a reading ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The rows as canonical lines.
    Rows(Vec<String>),
    /// An error, which is right for a file that contradicts itself.
    Refused(String),
    /// A panic, an internal error, too much time or memory.
    Fault(String),
}

/// An engine over one file in memory, which is replaced by mutant after mutant.
pub(super) struct Reader {
    files: MemoryFiles,
    engine: Engine,
}

impl Reader {
    pub(super) fn new() -> Self {
        let files = MemoryFiles::new();
        let keys = FixedKeys { footer: Some(Key::new(&KEY).unwrap()), ..FixedKeys::default() };
        let engine = Engine::builder()
            .file_system(Arc::new(files.clone()))
            .format(Arc::new(ParquetReaderFactory::with_keys(Arc::new(keys))))
            .memory_limit(MEMORY_LIMIT)
            .build();
        Reader { files, engine }
    }

    /// Sets the file that is read from now on.
    pub(super) fn put(&self, bytes: Vec<u8>) {
        self.files.put(FILE, bytes);
    }

    /// All rows, or those that pass a condition.
    pub(super) fn rows(&self, condition: Option<&str>, batch_rows: u64) -> Outcome {
        let mut options = in_order();
        options.settings.set("table_scan_output_batch_rows_override", batch_rows.to_string());
        let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
        self.outcome(&format!("SELECT * FROM '{FILE}'{condition}"), &options)
    }

    /// The number of rows, as one line.
    pub(super) fn count(&self) -> Outcome {
        self.outcome(&format!("SELECT count(*) AS n FROM '{FILE}'"), &in_order())
    }

    fn outcome(&self, sql: &str, options: &QueryOptions) -> Outcome {
        // One driver runs on this thread. Too slow is what is too slow each time.
        for attempt in 0.. {
            let start = thread_cpu_time();
            let run = || lines(self.engine.query_with(sql, options)?);
            let outcome = catch_unwind(AssertUnwindSafe(run));
            let took = thread_cpu_time().unwrap_or_default() - start.unwrap_or_default();
            match outcome {
                Err(_) => return Outcome::Fault("a panic".into()),
                Ok(Err(e)) if e.kind() == ErrorKind::Internal => {
                    return Outcome::Fault(e.to_string());
                }
                Ok(_) if self.engine.memory_pool().used() > 0 => {
                    return Outcome::Fault("memory that is still held".into());
                }
                Ok(_) if took > TIME_LIMIT && attempt < 3 => {}
                Ok(_) if took > TIME_LIMIT => return Outcome::Fault(format!("{took:?}")),
                Ok(Err(e)) => return Outcome::Refused(e.to_string()),
                Ok(Ok(lines)) if lines.len() > MAX_ROWS => {
                    return Outcome::Fault(format!("{} rows and more", lines.len()));
                }
                Ok(Ok(lines)) => return Outcome::Rows(lines),
            }
        }
        unreachable!("the loop ends by itself")
    }
}

/// The rows as canonical lines, up to a few more than are expected.
fn lines(result: QueryResult) -> Result<Vec<String>> {
    let row_type = Arc::clone(result.row_type());
    let (mut bytes, mut num_rows) = (Vec::new(), 0);
    let mut writer = batch_writer(OutputFormat::JsonLines, &row_type, Box::new(&mut bytes))?;
    for batch in result {
        let batch = batch?;
        vector::check::check_batch(&batch)?;
        num_rows += batch.len();
        writer.write(&batch)?;
        if num_rows > MAX_ROWS {
            break;
        }
    }
    writer.finish()?;
    drop(writer);
    Ok(String::from_utf8(bytes).unwrap().lines().map(str::to_string).collect())
}
