//! Writes the example warehouse: the 25 nations of the TPC-H benchmark, in two Hive partitions.
//!
//! ```text
//! examples/warehouse/nation/ds=2026-09-01/part-0.parquet    comments: the region of each nation
//!                           ds=2026-09-02/part-0.parquet    comments: the number of its letters
//! ```
//!
//! Run `cargo run --example write_warehouse [DIRECTORY]`. The output is deterministic; a test
//! compares the committed files with it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Names and region keys of the nations; the key of a nation is its index.
const NATIONS: [(&str, i32); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];

/// Builds the comment of a nation from its name and region key.
type Commenter = fn(&str, i32) -> String;

/// The partitions, with the functions that build their comments.
const PARTITIONS: [(&str, Commenter); 2] = [
    ("2026-09-01", |name, region| format!("{name} lies in {}", REGIONS[region as usize])),
    ("2026-09-02", |name, _| format!("{name} has {} letters", name.replace(' ', "").len())),
];

fn nations(comment: Commenter) -> Result<RecordBatch, Box<dyn Error>> {
    let comments = NATIONS.iter().map(|(name, region)| comment(name, *region));
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("nationkey", Arc::new(Int64Array::from_iter_values(0..NATIONS.len() as i64)), false),
        ("name", Arc::new(StringArray::from_iter_values(NATIONS.map(|n| n.0))), false),
        ("regionkey", Arc::new(Int32Array::from_iter_values(NATIONS.map(|n| n.1))), false),
        ("comment", Arc::new(StringArray::from_iter_values(comments)), true),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

fn write(path: &Path, rows: &RecordBatch) -> Result<(), Box<dyn Error>> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    // Without the Arrow schema in the metadata, so that readers rely on the Parquet schema alone.
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(fs::File::create(path)?, rows.schema(), options)?;
    writer.write(rows)?;
    writer.close()?;
    Ok(())
}

/// Writes the warehouse below `root` and returns the paths of its files.
///
/// # Errors
/// An error of the file system or of the Parquet writer.
pub(crate) fn write_warehouse(root: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = Vec::new();
    for (ds, comment) in PARTITIONS {
        let directory = root.join("nation").join(format!("ds={ds}"));
        fs::create_dir_all(&directory)?;
        let path = directory.join("part-0.parquet");
        write(&path, &nations(comment)?)?;
        paths.push(path);
    }
    Ok(paths)
}

fn main() -> Result<(), Box<dyn Error>> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/warehouse");
    let root = std::env::args().nth(1).unwrap_or_else(|| here.to_string());
    for path in write_warehouse(Path::new(&root))? {
        println!("{}", path.display());
    }
    Ok(())
}
