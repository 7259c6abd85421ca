//! The time that planning takes, by the number of columns.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ocior::{Engine, QueryOptions};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::support::command::Scratch;

/// A file without rows of many columns, half of them fields of one struct.
fn write(path: &Path, num_columns: usize) {
    let field = |i: usize| format!("optional int64 column_{i};");
    let (plain, fields): (Vec<usize>, Vec<usize>) = (0..num_columns).partition(|i| i % 2 == 0);
    let list = |columns: Vec<usize>| columns.into_iter().map(field).collect::<String>();
    let schema =
        format!("message schema {{ {} optional group s {{ {} }} }}", list(plain), list(fields));
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let file = File::create(path).unwrap();
    SerializedFileWriter::new(file, schema, Arc::default()).unwrap().close().unwrap();
}

/// The least time of several runs of a statement, to its end.
fn time(path: &Path, statement: &dyn Fn(&[String]) -> String, num_columns: usize) -> Duration {
    let names: Vec<String> = (0..num_columns).step_by(2).map(|i| format!("column_{i}")).collect();
    let sql = statement(&names).replace('$', &format!("'{}'", path.display()));
    let options = QueryOptions { drivers: 1, ..QueryOptions::default() };
    let run = || {
        let start = Instant::now();
        let engine = Engine::new();
        assert!(engine.query_with(&sql, &options).unwrap().collect_batches().unwrap().is_empty());
        start.elapsed()
    };
    (0..3).map(|_| run()).min().unwrap()
}

/// Four times the columns take four times as long, and not sixteen times.
#[test]
fn planning_is_linear_in_the_columns() {
    let scratch = Scratch::new("planning");
    let sizes = [5_000, 20_000];
    let paths = sizes.map(|size| scratch.path().join(format!("{size}.parquet")));
    sizes.iter().zip(&paths).for_each(|(size, path)| write(path, *size));
    type MakeStatement<'a> = &'a dyn Fn(&[String]) -> String;
    // A statement has 2,000 operators at most, and a point is one: fields are some of all.
    let statements: [(&str, MakeStatement); 6] = [
        ("all", &|_| "SELECT * FROM $".into()),
        ("by name", &|names| format!("SELECT {} FROM $", names.join(", "))),
        ("aliases", &|names| {
            let items = names.iter().enumerate().map(|(i, name)| format!("{name} a{i}"));
            format!("SELECT {} FROM $", items.collect::<Vec<_>>().join(", "))
        }),
        ("groups", &|names| {
            let names = names.join(", ");
            format!("SELECT {names} FROM $ GROUP BY {names}")
        }),
        ("fields", &|names| {
            let odd = (0..names.len()).step_by(6).map(|i| format!("s.column_{}", 2 * i + 1));
            format!("SELECT {} FROM $", odd.collect::<Vec<_>>().join(", "))
        }),
        ("sums", &|names| {
            let items = names.iter().step_by(6).map(|name| format!("{name} + 1"));
            format!("SELECT {} FROM $", items.collect::<Vec<_>>().join(", "))
        }),
    ];
    for (name, statement) in statements {
        let [few, many] = [0, 1].map(|i| time(&paths[i], statement, sizes[i]));
        assert!(many < few * 9 + Duration::from_millis(50), "{name}: {few:?}, {many:?}");
    }
}
