//! The same queries for DuckDB: tables, SQL and the evaluator's rows in a folder, which
//! `tests/random_queries_duckdb.py` reads.

use std::path::Path;

use serde_json::{Value, json};

use super::arrays::record_batch;
use super::ast::Query;
use super::print::duckdb_sql;
use super::rows::Row;
use super::run::World;
use super::tables::Table;
use super::values::{Datum, Kind};
use crate::support::files::{Layout, parquet_file};

/// Writes the files of the tables below a folder, for the command line.
pub(super) fn write_files(world: &World, folder: &Path) {
    for (table, name) in world.tables.iter().zip(&world.paths) {
        for file in &table.files {
            let path = folder.join(name).join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &file.bytes).unwrap();
        }
    }
}

/// Writes each table as one plain file below a folder, since DuckDB lacks some of the encodings and
/// codecs; gives what FROM says for each table.
pub(super) fn write_plain_tables(world: &World, folder: &Path) -> Vec<String> {
    std::fs::create_dir_all(folder).unwrap();
    let write = |(table, name): (&Table, &String)| {
        let columns: Vec<_> = table.columns.iter().cloned().enumerate().collect();
        let rows = record_batch(&columns, &table.rows);
        let path = folder.join(format!("{name}.parquet"));
        std::fs::write(&path, parquet_file(&rows, Layout::default())).unwrap();
        format!("'{}'", path.display())
    };
    world.tables.iter().zip(&world.paths).map(write).collect()
}

/// A query with its expected rows; `None` when DuckDB has another meaning for a part of it.
pub(super) fn exported(
    query: &Query,
    rows: &[Row],
    tables: &[String],
    name: &str,
) -> Option<Value> {
    let sql = duckdb_sql(query, tables)?;
    let kinds = query.kinds();
    let row = |row: &Row| -> Value {
        row.iter().zip(&kinds).map(|(cell, kind)| exported_value(cell, kind)).collect()
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let kinds: Vec<String> = kinds.iter().map(kind_name).collect();
    Some(json!({ "name": name, "sql": sql, "kinds": kinds, "rows": rows }))
}

fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::List(_) => "list".to_string(),
        Kind::Row(_) => "row".to_string(),
        Kind::Map(..) => "map".to_string(),
        Kind::Decimal { .. } => "decimal".to_string(),
        scalar => scalar.name().to_lowercase(),
    }
}

fn exported_value(value: &Datum, kind: &Kind) -> Value {
    match (value, kind) {
        (Datum::Null, _) => Value::Null,
        (Datum::Bool(value), _) => json!(value),
        (Datum::Int(value), _) => json!(value),
        (Datum::Text(text), _) => json!(text),
        (Datum::List(items), Kind::List(kind)) => {
            items.iter().map(|item| exported_value(item, kind)).collect()
        }
        (Datum::Row(fields), Kind::Row(kinds)) => {
            fields.iter().zip(kinds).map(|(field, kind)| exported_value(field, kind)).collect()
        }
        (Datum::Map(entries), Kind::Map(key, item)) => {
            let entries = entries.iter();
            entries.map(|(k, v)| json!([exported_value(k, key), exported_value(v, item)])).collect()
        }
        (other, kind) => json!(other.text(kind)),
    }
}
