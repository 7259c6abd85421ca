//! Output of `inspect` for sound and broken files.

mod broken;
mod parts;
mod verify;

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};

use crate::support::command::{Scratch, ocior, output_of};
use crate::support::files::{Layout, numbers_file, parquet_file};

const FILE: &str = "examples/warehouse/nation/ds=2026-09-01/part-0.parquet";

fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&output_of(args)).unwrap()
}

#[test]
fn the_schema_is_a_tree_of_elements_with_types() {
    let mut tags = ListBuilder::new(Int64Builder::new());
    tags.append_value([Some(1), None]);
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("name", Arc::new(StringArray::from(vec!["x"])) as ArrayRef, false),
        ("tags", Arc::new(tags.finish()) as ArrayRef, true),
    ]);
    let scratch = Scratch::new("schema");
    let path = scratch.write("f.parquet", &parquet_file(&rows.unwrap(), Layout::default()));
    let want = "\
| column   | repetition | physical   | logical | type          | max_definition | max_repetition | field_id |
|----------|------------|------------|---------|---------------|----------------|----------------|----------|
| name     | REQUIRED   | BYTE_ARRAY | STRING  | VARCHAR       |              0 |              0 |     NULL |
| tags     | OPTIONAL   | NULL       | LIST    | ARRAY(BIGINT) |              1 |              0 |     NULL |
| · list   | REPEATED   | NULL       | NULL    | NULL          |              2 |              1 |     NULL |
| · · item | OPTIONAL   | INT64      | NULL    | BIGINT        |              3 |              1 |     NULL |
";
    assert_eq!(output_of(&["inspect", "schema", "-v", &path, "-f", "markdown"]), want);
    let elements = json(&["inspect", "schema", &path, "-f", "json"]);
    assert_eq!(elements[3]["column"], "tags.list.item");
}

#[test]
fn the_file_is_told_as_a_whole() {
    let file = &json(&["inspect", "file", FILE, "-f", "json"])[0];
    assert_eq!(
        (&file["rows"], &file["row_groups"], &file["leaf_columns"]),
        (&25.into(), &1.into(), &4.into())
    );
    let bytes = std::fs::metadata(concat!(env!("CARGO_MANIFEST_DIR"), "/").to_string() + FILE);
    assert_eq!(file["file_bytes"], bytes.unwrap().len());
    let table = output_of(&["inspect", "file", FILE, "-f", "table"]);
    let cells: Vec<&str> = table.split_whitespace().collect();
    assert!(cells.windows(3).any(|cells| cells == ["rows", "┆", "25"]), "{table}");
}

#[test]
fn headers_tell_of_levels_and_footers_of_where_the_indexes_are() {
    let scratch = Scratch::new("details");
    let rows = crate::support::files::numbers(100);
    let path = scratch.write("f.parquet", &parquet_file(&rows, Layout::default()));
    let pages = json(&["inspect", "pages", &path, "-f", "json"]);
    let data = pages.as_array().unwrap().iter().find(|page| !page["page"].is_null()).unwrap();
    assert_eq!(data["details"][0], "definition levels RLE", "{data}");
    let chunk = &json(&["inspect", "columns", &path, "-f", "json"])[0];
    let regions = chunk["regions"].as_array().unwrap();
    let names: Vec<&str> =
        regions.iter().filter_map(|r| r.as_str()?.split(" index ").next()).collect();
    assert_eq!(names, ["column", "offset"], "{chunk}");
    assert_eq!(json(&["inspect", "row-groups", &path, "-f", "json"])[0]["stated_ordinal"], 0);
}

#[test]
fn row_groups_are_listed_with_rows_bytes_and_place() {
    let rows = crate::support::files::numbers(2500);
    let layout = Layout { rows_per_group: 1000, ..Layout::default() };
    let scratch = Scratch::new("row-groups");
    let path = scratch.write("f.parquet", &parquet_file(&rows, layout));
    let groups = json(&["inspect", "row-groups", &path, "-f", "json"]);
    let counts: Vec<_> =
        groups.as_array().unwrap().iter().map(|group| group["rows"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1000, 1000, 500]);
    assert_eq!(groups[0]["offset"], 4);
    assert!(groups[2]["offset"].as_u64() > groups[1]["offset"].as_u64());
}

#[test]
fn column_chunks_are_listed_and_can_be_chosen() {
    let chunks = json(&["inspect", "columns", FILE, "--column", "name", "-f", "json"]);
    assert_eq!(chunks.as_array().unwrap().len(), 1);
    let chunk = &chunks[0];
    assert_eq!(chunk["codec"], "SNAPPY");
    assert_eq!(chunk["values"], 25);
    assert_eq!(chunk["statistics"], serde_json::json!(["min", "max", "nulls"]));
    let all = json(&["inspect", "columns", FILE, "--row-group", "0", "-f", "json"]);
    assert_eq!(all.as_array().unwrap().len(), 4);
}

#[test]
fn what_does_not_exist_is_an_error() {
    let missing = ocior(&["inspect", "columns", FILE, "--column", "nam"]);
    assert_eq!(
        (missing.code, missing.err.as_str()),
        (1, "error: not found: no such column (column=nam)\n")
    );
    let missing = ocior(&["inspect", "columns", FILE, "--row-group", "1"]);
    let want = "error: not found: no such row group (row_group=1 row_groups=1)\n";
    assert_eq!((missing.code, missing.err.as_str()), (1, want));
}

#[test]
fn a_cut_file_is_told_to_be_no_parquet_file() {
    let scratch = Scratch::new("cut");
    let bytes = numbers_file(10);
    let path = scratch.write("f.parquet", &bytes[..bytes.len() - 1]);
    for what in ["schema", "file", "row-groups", "columns"] {
        let ran = ocior(&["inspect", what, &path]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        assert!(ran.err.starts_with("error: corrupt: not a Parquet file"), "{}", ran.err);
    }
}
