//! Set operations, VALUES, UNNEST and correlated subqueries over random rows with nulls, compared
//! with loops over all rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch};
use dwio::fs::MemoryFiles;
use ocior::Engine;

use crate::support::files::{Layout, engine_over, lines, put_table, with_drivers};
use crate::support::random::Random;

type Cell = Option<i64>;

/// A row of either table.
#[derive(Debug, Clone)]
struct Row {
    k: Cell,
    g: Cell,
    x: Cell,
    list: Option<Vec<Cell>>,
}

/// Two tables, `t` and `u`, in files of small row groups.
struct World {
    engine: Engine,
    t: Vec<Row>,
    u: Vec<Row>,
}

fn random_rows(random: &mut Random) -> Vec<Row> {
    let row = |random: &mut Random| {
        let mut cell = |below: u64| (!random.once_in(5)).then(|| random.below(below) as i64 - 1);
        let (k, g, x) = (cell(6), cell(3), cell(8));
        let list = cell(4).map(|len| (0..len.max(0)).map(|_| cell(9)).collect());
        Row { k, g, x, list }
    };
    (0..random.below(40)).map(|_| row(random)).collect()
}

fn put(files: &MemoryFiles, folder: &str, rows: &[Row]) {
    let column = |cell: fn(&Row) -> Cell| -> ArrayRef {
        Arc::new(Int64Array::from_iter(rows.iter().map(cell)))
    };
    let lists = rows.iter().map(|row| row.list.clone());
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists));
    let columns = [
        ("k", column(|row| row.k), true),
        ("g", column(|row| row.g), true),
        ("x", column(|row| row.x), true),
        ("list", list, true),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let layout = Layout { rows_per_group: 7, ..Layout::default() };
    put_table(files, folder, &batch, (rows.len() / 3 + 1, layout));
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (t, u) = (random_rows(&mut random), random_rows(&mut random));
        let files = MemoryFiles::new();
        put(&files, "t", &t);
        put(&files, "u", &u);
        World { engine: engine_over(&files), t, u }
    }

    /// Checks that a query returns these rows, in any order, with any number of drivers; `t` and
    /// `u` are replaced by the tables.
    fn check(&self, sql: &str, names: &[&str], expected: impl IntoIterator<Item = Vec<Cell>>) {
        let sql = sql.replace(" t ", " 't' t ").replace(" u ", " 'u' u ");
        let line = |row: Vec<Cell>| {
            assert_eq!(row.len(), names.len());
            let text = |cell: Cell| cell.map_or("null".to_string(), |v| v.to_string());
            let cells = names.iter().zip(row).map(|(n, c)| format!("\"{n}\":{}", text(c)));
            format!("{{{}}}", cells.collect::<Vec<_>>().join(","))
        };
        let mut expected: Vec<String> = expected.into_iter().map(line).collect();
        expected.sort();
        for drivers in [1, 3] {
            let options = with_drivers(drivers);
            let mut found = self.engine.query_with(&sql, &options).and_then(lines).expect(&sql);
            found.sort();
            assert_eq!(found, expected, "{drivers} drivers: {sql}");
        }
    }

    /// Returns the rows of `u` with the key of a row of `t`.
    fn partners<'w>(&'w self, row: &'w Row) -> impl Iterator<Item = &'w Row> {
        self.u.iter().filter(|other| row.k.is_some() && other.k == row.k)
    }
}

fn for_random_worlds(count: u64, check: impl Fn(&World)) {
    (0..count).for_each(|seed| check(&World::new(seed)));
}

/// Returns the number of occurrences of each row on either side.
fn counted(sides: [Vec<Vec<Cell>>; 2]) -> BTreeMap<Vec<Cell>, [usize; 2]> {
    let mut counts: BTreeMap<Vec<Cell>, [usize; 2]> = BTreeMap::new();
    for (side, rows) in sides.into_iter().enumerate() {
        rows.into_iter().for_each(|row| counts.entry(row).or_default()[side] += 1);
    }
    counts
}

#[test]
fn set_operations_count_rows_and_find_nulls_equal() {
    type Kept = fn([usize; 2]) -> usize;
    let operations: [(&str, Kept); 6] = [
        ("INTERSECT", |[a, b]| usize::from(a > 0 && b > 0)),
        ("INTERSECT ALL", |[a, b]| a.min(b)),
        ("EXCEPT", |[a, b]| usize::from(a > 0 && b == 0)),
        ("EXCEPT ALL", |[a, b]| a.saturating_sub(b)),
        ("UNION", |_| 1),
        ("UNION ALL", |[a, b]| a + b),
    ];
    for_random_worlds(20, |world| {
        for (operation, kept) in operations {
            let rows = |table: &[Row]| table.iter().map(|row| vec![row.k, row.g]).collect();
            let counts = counted([rows(&world.t), rows(&world.u)]);
            let expected = counts.into_iter().flat_map(|(row, n)| vec![row; kept(n)]);
            let expected: Vec<Vec<Cell>> = expected.collect();
            let sql = format!("SELECT k, g FROM t {operation} SELECT k, g FROM u ");
            world.check(&sql, &["k", "g"], expected.clone());
            // Conditions of the outer query are pushed inside, and columns that it does not use
            // still distinguish rows.
            let around = format!("SELECT g FROM ({sql}) q WHERE k > 1");
            let some = expected.iter().filter(|row| row[0] > Some(1)).map(|row| vec![row[1]]);
            world.check(&around, &["g"], some);
            let count = vec![Some(expected.len() as i64)];
            world.check(&format!("SELECT count(*) AS n FROM ({sql}) q"), &["n"], [count]);
        }
    });
}

#[test]
fn set_operations_are_ordered_limited_and_nested() {
    let world = World::new(0);
    let row = |value: i64| vec![Some(value)];
    let five = "VALUES (1), (2), (3), (4), (5)";
    for (sql, expected) in [
        (format!("{five} EXCEPT VALUES (2) ORDER BY 1 DESC LIMIT 2"), vec![5, 4]),
        (format!("{five} INTERSECT VALUES (2), (4) ORDER BY col0 OFFSET 1"), vec![4]),
        // INTERSECT binds stronger.
        (format!("{five} EXCEPT VALUES (1), (2) INTERSECT VALUES (2), (3)"), vec![1, 3, 4, 5]),
        (format!("({five} EXCEPT VALUES (1), (2)) INTERSECT VALUES (2), (3)"), vec![3]),
        (
            format!("{five} EXCEPT VALUES (1) EXCEPT ALL VALUES (5), (6) MINUS VALUES (3)"),
            vec![2, 4],
        ),
    ] {
        world.check(&sql, &["col0"], expected.into_iter().map(row));
    }
}

#[test]
fn values_are_rows_of_a_common_type() {
    for_random_worlds(20, |world| {
        let sql = "SELECT t.x, v.n FROM t JOIN (VALUES (1, 10 + 1), (2, NULL), (1, 13)) AS v(k, n) \
                   ON t.k = v.k";
        let pairs = [(1, Some(11)), (2, None), (1, Some(13))];
        let expected = world.t.iter().flat_map(|row| {
            let found = pairs.iter().filter(|(k, _)| row.k == Some(*k));
            found.map(|(_, n)| vec![row.x, *n])
        });
        world.check(sql, &["x", "n"], expected);
        let sql = "SELECT k FROM t WHERE k IN (VALUES (0), (3))";
        let known = |row: &&Row| [Some(0), Some(3)].contains(&row.k);
        world.check(sql, &["k"], world.t.iter().filter(known).map(|row| vec![row.k]));
    });
}

#[test]
fn a_left_join_with_unnest_keeps_rows_without_elements() {
    for_random_worlds(20, |world| {
        let elements = |row: &Row| -> Vec<(Cell, Cell)> {
            let list = row.list.clone().unwrap_or_default();
            list.into_iter().enumerate().map(|(i, e)| (e, Some(i as i64 + 1))).collect()
        };
        let inner: Vec<Vec<Cell>> = world
            .t
            .iter()
            .flat_map(|row| elements(row).into_iter().map(|(e, n)| vec![row.k, e, n]))
            .collect();
        let unnest = "UNNEST(t.list) WITH ORDINALITY AS l(e, n)";
        let lateral = "LATERAL UNNEST(t.list) WITH ORDINALITY AS l(e, n)";
        for join in [
            format!("CROSS JOIN {unnest}"),
            format!("CROSS JOIN {lateral}"),
            format!(", {lateral}"),
            format!("JOIN {lateral} ON TRUE"),
        ] {
            let sql = format!("SELECT t.k, e, n FROM t {join}");
            world.check(&sql, &["k", "e", "n"], inner.clone());
        }
        let outer = world.t.iter().flat_map(|row| {
            let found = elements(row);
            let found = if found.is_empty() { vec![(None, None)] } else { found };
            found.into_iter().map(|(e, n)| vec![row.k, e, n])
        });
        let outer: Vec<Vec<Cell>> = outer.collect();
        for unnest in [unnest, lateral] {
            let sql = format!("SELECT t.k, e, n FROM t LEFT JOIN {unnest} ON TRUE");
            world.check(&sql, &["k", "e", "n"], outer.clone());
            let missing = outer.iter().filter(|row| row[2].is_none()).cloned();
            world.check(&format!("{sql} WHERE n IS NULL"), &["k", "e", "n"], missing);
        }
    });
}

#[test]
fn a_value_is_looked_up_for_each_row_around() {
    type Aggregate = fn(&[Cell]) -> Cell;
    let known = |values: &[Cell]| -> Vec<i64> { values.iter().flatten().copied().collect() };
    let aggregates: [(&str, Aggregate); 6] = [
        ("count(*)", |values| Some(values.len() as i64)),
        ("count(u.x)", |values| Some(values.iter().flatten().count() as i64)),
        ("max(u.x)", |values| values.iter().copied().max().flatten()),
        ("coalesce(max(u.x), -9)", |values| values.iter().copied().max().flatten().or(Some(-9))),
        ("count(*) + count(u.x)", |values| {
            Some((values.len() + values.iter().flatten().count()) as i64)
        }),
        ("max(u.x) + count(*)", |values| {
            Some(values.iter().copied().max().flatten()? + values.len() as i64)
        }),
    ];
    for_random_worlds(5, |world| {
        let found = |row: &Row| -> Vec<Cell> { world.partners(row).map(|u| u.x).collect() };
        for (text, aggregate) in aggregates {
            let subquery = format!("(SELECT {text} FROM u WHERE u.k = t.k)");
            let value = |row: &Row| aggregate(&found(row));
            let sql = format!("SELECT t.k, {subquery} AS v FROM t ");
            world.check(&sql, &["k", "v"], world.t.iter().map(|row| vec![row.k, value(row)]));
            let sql = format!("SELECT t.x FROM t WHERE t.x < {subquery}");
            let less = |row: &&Row| matches!((row.x, value(row)), (Some(a), Some(b)) if a < b);
            world.check(&sql, &["x"], world.t.iter().filter(less).map(|row| vec![row.x]));
            for (word, wanted) in [("IN", true), ("NOT IN", false)] {
                let sql = format!("SELECT t.x FROM t WHERE t.x {word} {subquery}");
                let is = |row: &&Row| matches!((row.x, value(row)), (Some(a), Some(b)) if (a == b) == wanted);
                world.check(&sql, &["x"], world.t.iter().filter(is).map(|row| vec![row.x]));
            }
            let sql = format!("SELECT sum({subquery}) AS s FROM t ");
            let all = known(&world.t.iter().map(value).collect::<Vec<_>>());
            let sum = (!all.is_empty()).then(|| all.iter().sum());
            world.check(&sql, &["s"], [vec![sum]]);
            let sql = format!("SELECT t.k, {subquery} AS v, count(*) AS n FROM t GROUP BY t.k");
            let mut groups: BTreeMap<Cell, (Cell, i64)> = BTreeMap::new();
            for row in &world.t {
                groups.entry(row.k).or_insert((value(row), 0)).1 += 1;
            }
            let groups = groups.into_iter().map(|(k, (v, n))| vec![k, v, Some(n)]);
            world.check(&sql, &["k", "v", "n"], groups);
            // Several correlations, other conditions, and a HAVING that may exclude all rows.
            let sql = format!(
                "SELECT t.k, (SELECT {text} FROM u WHERE u.k = t.k AND t.g = u.g AND u.x > 0 \
                 HAVING count(*) <> 1) AS v FROM t "
            );
            let expected = world.t.iter().map(|row| {
                let same = world.partners(row).filter(|u| row.g.is_some() && u.g == row.g);
                let values: Vec<Cell> = same.map(|u| u.x).filter(|x| *x > Some(0)).collect();
                let value = if values.len() == 1 { None } else { aggregate(&values) };
                vec![row.k, value]
            });
            world.check(&sql, &["k", "v"], expected);
        }
    });
}

#[test]
fn rows_are_asked_for_with_groups_and_limits() {
    for_random_worlds(10, |world| {
        let groups = |row: &Row| -> BTreeMap<Cell, Vec<Cell>> {
            let mut groups: BTreeMap<Cell, Vec<Cell>> = BTreeMap::new();
            world.partners(row).for_each(|u| groups.entry(u.g).or_default().push(u.x));
            groups
        };
        type Asks<'a> = (&'a str, Box<dyn Fn(&Row) -> bool + 'a>);
        let asked: [Asks<'_>; 5] = [
            ("SELECT 1 FROM u WHERE u.k = t.k LIMIT 3", Box::new(|row| !groups(row).is_empty())),
            (
                "SELECT u.g FROM u WHERE u.k = t.k GROUP BY u.g HAVING count(*) > 1",
                Box::new(|row| groups(row).values().any(|rows| rows.len() > 1)),
            ),
            ("SELECT count(*) FROM u WHERE u.k = t.k", Box::new(|_| true)),
            (
                "SELECT 1 FROM u WHERE u.k = t.k HAVING count(*) <> 2",
                Box::new(|row| world.partners(row).count() != 2),
            ),
            (
                "SELECT 1 FROM u WHERE u.k = t.k AND u.x < t.x",
                Box::new(|row| {
                    world.partners(row).any(|u| u.x.is_some() && row.x.is_some() && u.x < row.x)
                }),
            ),
        ];
        for (subquery, answer) in &asked {
            for (word, wanted) in [("EXISTS", true), ("NOT EXISTS", false)] {
                let sql = format!("SELECT t.k, t.x FROM t WHERE {word} ({subquery})");
                let rows = world.t.iter().filter(|row| answer(row) == wanted);
                world.check(&sql, &["k", "x"], rows.map(|row| vec![row.k, row.x]));
            }
        }
        for (word, wanted) in [("IN", true), ("NOT IN", false)] {
            let sql = format!(
                "SELECT t.k, t.x FROM t WHERE t.x {word} \
                 (SELECT max(u.x) FROM u WHERE u.k = t.k GROUP BY u.g)"
            );
            let is = |row: &&Row| {
                let values: Vec<Cell> =
                    groups(row).into_values().map(|xs| xs.into_iter().max().flatten()).collect();
                let found = row.x.is_some() && values.contains(&row.x);
                let unknown = !values.is_empty() && (row.x.is_none() || values.contains(&None));
                if wanted { found } else { !found && !unknown }
            };
            let rows = world.t.iter().filter(is).map(|row| vec![row.k, row.x]);
            world.check(&sql, &["k", "x"], rows);
        }
    });
}

#[test]
fn what_cannot_be_joined_is_refused_by_name_and_place() {
    let world = World::new(0);
    let of = |subquery: &str| format!("SELECT t.k FROM t WHERE t.x > ({subquery})");
    for (sql, says) in [
        (of("SELECT u.x FROM u WHERE u.k = t.k"), "must be an aggregate"),
        (of("SELECT max(u.x) FROM u WHERE u.k < t.k"), "by = only"),
        (of("SELECT max(u.x) FROM u WHERE u.k = t.k GROUP BY u.g"), "cannot have GROUP BY"),
        (of("SELECT max(u.x + t.x) FROM u "), "in its WHERE only"),
        (of("SELECT max(u.x) FROM (SELECT x FROM u WHERE k = t.k) u"), "in its WHERE only"),
        (of("SELECT 1 EXCEPT SELECT t.x"), "in its WHERE only"),
        (
            "SELECT k FROM t WHERE x IN (SELECT x FROM u WHERE u.k = t.k LIMIT 1)".into(),
            "with a limit",
        ),
        (
            "SELECT t.g, (SELECT max(x) FROM u WHERE u.k = t.k) FROM t GROUP BY t.g".into(),
            "neither grouped by nor inside an aggregate",
        ),
        ("SELECT * FROM t LEFT JOIN UNNEST(t.list) AS l(e) ON e = 1".into(), "ON TRUE only"),
        ("SELECT * FROM t RIGHT JOIN UNNEST(t.list) AS l(e) ON TRUE".into(), "inner and left"),
        ("SELECT * FROM t , LATERAL (SELECT t.k)".into(), "LATERAL is supported with UNNEST only"),
        ("SELECT k FROM t EXCEPT SELECT k, g FROM t ".into(), "differ in columns"),
        ("SELECT k FROM t INTERSECT BY NAME SELECT k FROM t ".into(), "BY NAME"),
        ("VALUES (1), (2, 3)".into(), "differ in length"),
        ("VALUES (1), (rand())".into(), "constants only"),
        ("VALUES (1), (DATE '2020-01-01')".into(), "no common type"),
    ] {
        let sql = sql.replace(" t ", " 't' t ").replace(" u ", " 'u' u ");
        let error = world.engine.query(&sql).and_then(lines).expect_err(&sql).to_string();
        assert!(error.contains(says), "{sql}\n{error}");
        assert!(error.contains("at=1:"), "{sql}\n{error}");
    }
}
