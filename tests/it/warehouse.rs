//! Queries over the example warehouse, run by the whole engine: partitions, filters, groups and
//! order.

use std::path::Path;

use ocior::Engine;
use vector::Type;

use crate::support::command::{Scratch, ocior_reading, output_of};
use crate::support::files::lines_of;

#[path = "../../examples/write_warehouse.rs"]
#[allow(dead_code)]
mod write_warehouse;

const README_QUERY: &str = "SELECT name AS country, comment, ds \
    FROM 'examples/warehouse/nation' \
    WHERE ds = '2026-09-01' AND nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4";

fn csv(sql: &str) -> String {
    output_of(&["query", "-f", "csv", sql])
}

#[test]
fn the_query_of_the_readme_gives_the_one_row_of_canada() {
    let want = "country,comment,ds\nCANADA,CANADA lies in AMERICA,2026-09-01\n";
    assert_eq!(csv(README_QUERY), want);
}

#[test]
fn the_query_of_the_readme_is_in_the_readme() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&readme).contains(&words(README_QUERY)));
}

#[test]
fn the_committed_files_are_those_that_the_example_writes() {
    let scratch = Scratch::new("warehouse");
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/warehouse");
    let engine = Engine::new();
    for path in write_warehouse::write_warehouse(scratch.path()).unwrap() {
        let twin = committed.join(path.strip_prefix(scratch.path()).unwrap());
        let rows = |path: &Path| lines_of(&engine, &format!("SELECT * FROM '{}'", path.display()));
        let written = rows(&path).unwrap();
        assert_eq!(written.len(), 25);
        assert_eq!(written, rows(&twin).unwrap());
    }
}

#[test]
fn groups_span_partitions() {
    let want = "\
regionkey,n,first,last
0,10,ALGERIA,MOZAMBIQUE
1,10,ARGENTINA,UNITED STATES
2,10,CHINA,VIETNAM
3,10,FRANCE,UNITED KINGDOM
4,10,EGYPT,SAUDI ARABIA
";
    let sql = "SELECT regionkey, count(*) AS n, min(name) AS first, max(name) AS last \
        FROM 'examples/warehouse/nation' GROUP BY regionkey ORDER BY regionkey";
    assert_eq!(csv(sql), want);
}

#[test]
fn groups_by_partition_column_are_counted_apart() {
    let sql = "SELECT ds, count(*) AS n, max(regionkey) AS last \
        FROM 'examples/warehouse/nation' WHERE nationkey < 10 GROUP BY ds ORDER BY ds";
    assert_eq!(csv(sql), "ds,n,last\n2026-09-01,10,4\n2026-09-02,10,4\n");
}

#[test]
fn having_filters_groups_and_order_may_name_an_alias() {
    let sql = "SELECT regionkey, sum(nationkey) AS s FROM 'examples/warehouse/nation' \
        WHERE ds = '2026-09-01' GROUP BY regionkey HAVING sum(nationkey) > 57 ORDER BY s DESC";
    assert_eq!(csv(sql), "regionkey,s\n3,77\n2,68\n4,58\n");
}

#[test]
fn the_first_rows_in_order_are_given() {
    let sql = "SELECT name FROM 'examples/warehouse/nation' WHERE ds = '2026-09-02' \
        ORDER BY name DESC LIMIT 3";
    assert_eq!(csv(sql), "name\nVIETNAM\nUNITED STATES\nUNITED KINGDOM\n");
}

#[test]
fn a_limit_of_zero_gives_the_header_only() {
    assert_eq!(csv("SELECT name FROM 'examples/warehouse/nation' LIMIT 0"), "name\n");
}

#[test]
fn partition_values_become_dates_unless_told_otherwise() {
    let engine = Engine::new();
    let plan = engine.plan("SELECT ds FROM 'examples/warehouse/nation'").unwrap();
    assert_eq!(plan.row_type().type_of("ds"), Some(&Type::Date));
    let sql = "SELECT length(ds) AS n FROM 'examples/warehouse/nation' LIMIT 1";
    let typed = output_of(&["query", "--partition-types", "ds=varchar", "-f", "csv", sql]);
    assert_eq!(typed, "n\n10\n");
}

#[test]
fn tables_may_be_named_and_the_statement_may_come_from_the_input() {
    let args = ["query", "--table", "nation=examples/warehouse/nation", "--format", "csv"];
    let ran = ocior_reading("SELECT count(*) AS n FROM nation WHERE regionkey = 2", &args);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "n\n10\n", ""));
}

#[test]
fn any_number_of_drivers_gives_the_same_rows() {
    let sql = "SELECT ds, nationkey, comment FROM 'examples/warehouse/nation' \
        WHERE nationkey IN (3, 5, 8) ORDER BY ds, nationkey";
    let one = output_of(&["query", "--drivers", "1", sql]);
    assert_eq!(one.lines().count(), 7);
    assert_eq!(output_of(&["--drivers", "4", "query", sql]), one);
    assert_eq!(output_of(&["query", sql, "--mmap", "--threads", "2"]), one);
}

#[test]
fn a_scan_gives_files_in_the_order_given() {
    let file = |ds: &str| format!("examples/warehouse/nation/ds={ds}/part-0.parquet");
    let (first, second) = (file("2026-09-02"), file("2026-09-01"));
    let filter = "nationkey = 3 OR nationkey = 7";
    let args = ["scan", &first, &second, "--columns", "comment,nationkey", "--where", filter];
    let want = "\
comment,nationkey
CANADA has 6 letters,3
GERMANY has 7 letters,7
CANADA lies in AMERICA,3
GERMANY lies in EUROPE,7
";
    assert_eq!(output_of(&args), want);
}

#[test]
fn an_explained_plan_names_the_table_scan() {
    let plan = output_of(&["explain", README_QUERY]);
    assert!(plan.contains("TableScan"), "{plan}");
}

#[test]
fn repeated_runs_are_timed_and_print_their_rows_once() {
    let args = ["query", "--repeat", "3", "--timing", "-f", "csv", README_QUERY];
    let ran = crate::support::command::ocior(&args);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2));
    let timing: serde_json::Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
    let times = timing["times"].as_array().unwrap();
    assert_eq!(times.len(), 3);
    assert!(times.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0));
}
