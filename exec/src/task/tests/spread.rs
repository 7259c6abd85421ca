//! The number of drivers never changes the rows: runs plans with every kind of exchange over random
//! rows, and compares the results with nested loops over all rows.

use vector::testing::{Random, RandomVectors};

use super::*;
use crate::plan::{
    AggregationNode, AggregationStep, HashJoinNode, JoinType, LocalMergeNode, LocalPartitionNode,
    Partitioning, PlanNode, SortKey, TableScanNode,
};

type Row = Vec<Value>;

fn wide_type() -> Arc<RowType> {
    Arc::new(RowType::new([
        ("k", Type::BigInt),
        ("v", Type::BigInt),
        ("s", Type::Varchar),
        ("list", Type::array(Type::BigInt)),
        ("map", Type::map(Type::Varchar, Type::BigInt)),
    ]))
}

fn small(random: &mut Random, null_ratio: f64) -> Value {
    match random.chance(null_ratio) {
        true => Value::Null,
        false => Value::BigInt(random.between(0, 6)),
    }
}

fn word(random: &mut Random) -> Value {
    Value::bytes(*random.pick(&["", "a", "bb", "a longer word than fits", "\u{e9}"]))
}

fn random_row(random: &mut Random) -> Row {
    let elements = random.below(4);
    let list = match random.chance(0.2) {
        true => Value::Null,
        false => Value::Array((0..elements).map(|_| small(random, 0.2)).collect()),
    };
    let entries = random.below(3);
    let map = match random.chance(0.2) {
        true => Value::Null,
        false => Value::Map(
            (0..entries).map(|i| (Value::bytes(format!("key {i}")), small(random, 0.2))).collect(),
        ),
    };
    vec![small(random, 0.2), Value::BigInt(random.between(-50, 50)), word(random), list, map]
}

/// Two tables of random rows as scans `0` and `9`, randomly divided into splits.
struct Tables {
    random: Random,
    rows: [Vec<Row>; 2],
    splits: [Vec<Vec<Act>>; 2],
}

impl Tables {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut vectors = RandomVectors::new(seed);
        let mut table = |num_rows: usize| {
            let rows: Vec<Row> = (0..num_rows).map(|_| random_row(&mut random)).collect();
            let mut splits = vec![Vec::new(); 4];
            let mut rest = rows.as_slice();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(1 + random.below(rest.len().min(30)));
                rest = later;
                let row_type = wide_type();
                let columns = row_type.types().iter().enumerate().map(|(column, ty)| {
                    let values: Vec<Value> = now.iter().map(|row| row[column].clone()).collect();
                    vectors.encode(ty, &values)
                });
                let columns = columns.collect();
                let batch = RowVector::batch(Arc::clone(&row_type), now.len(), columns).unwrap();
                splits[random.below(4)].push(Act::Batch(batch));
            }
            (rows, splits)
        };
        let (first, second) = (table((seed as usize * 37) % 200), table((seed as usize * 53) % 90));
        Tables { random, rows: [first.0, second.0], splits: [first.1, second.1] }
    }

    /// Checks the rows of a plan for each number of drivers; `ordered` compares their order as
    /// well.
    fn run(&mut self, plan: &Arc<PlanNode>, expected: Vec<Row>, ordered: bool) {
        for drivers in [1, 2, 3] {
            let mut found = self.rows_of(plan, drivers);
            let mut expected = expected.clone();
            if !ordered {
                found.sort_by_key(|row| format!("{row:?}"));
                expected.sort_by_key(|row| format!("{row:?}"));
            }
            assert_eq!(found, expected, "{drivers} drivers:\n{plan}");
        }
    }

    fn rows_of(&mut self, plan: &Arc<PlanNode>, drivers: usize) -> Vec<Row> {
        let connector = ScriptConnector::default();
        let mut ctx = QueryCtx::clone(&query(&connector));
        ctx.config.max_output_batch_rows = 1 + self.random.below(40);
        ctx.config.local_exchange_batches_per_driver = 1 + self.random.below(3);
        let ctx = Arc::new(ctx);
        let task = Task::new(Arc::clone(plan), Arc::clone(&ctx), drivers).unwrap();
        let ids: Vec<_> = task.scan_ids().cloned().collect();
        for id in ids {
            let splits = &self.splits[usize::from(&*id == "9")];
            for split in splits {
                task.add_split(&id, Arc::new(Script(split.clone()))).unwrap();
            }
            task.no_more_splits(&id).unwrap();
        }
        let mut cursor = task.start().unwrap();
        let mut rows = Vec::new();
        while let Some(batch) = cursor.next().unwrap() {
            assert!(!batch.is_empty());
            assert_eq!(batch.row_type().types(), plan.output_type().types());
            let columns: Vec<DecodedVector> =
                batch.children().iter().map(|c| DecodedVector::new(c).unwrap()).collect();
            let row = |row| columns.iter().map(|c| c.value(row).unwrap()).collect();
            rows.extend((0..batch.len()).map(row));
        }
        drop(cursor);
        drop(task);
        assert_eq!(ctx.pool.used(), 0, "{plan}");
        rows
    }
}

fn scan_as(id: &str) -> Arc<PlanNode> {
    let handle = Arc::new(Table { takes_filters: false });
    let column = |name: &str| (name.to_string(), Arc::clone(&handle) as Arc<dyn ColumnHandle>);
    let output_type = wide_type();
    Arc::new(PlanNode::TableScan(TableScanNode {
        id: id.into(),
        assignments: output_type.names().iter().map(|name| column(name)).collect(),
        output_type,
        table: handle,
    }))
}

fn above(node: &Arc<PlanNode>, next_id: u32) -> PlanBuilder {
    PlanBuilder::above(PlanNode::clone(node), next_id)
}

fn both(id: &str, partitioning: Partitioning) -> Arc<PlanNode> {
    let sources = vec![scan_as("0"), scan_as("9")];
    let node = LocalPartitionNode::new(id.into(), sources, partitioning).unwrap();
    Arc::new(PlanNode::LocalPartition(node))
}

fn partitionings() -> [Partitioning; 3] {
    let by = Partitioning::Hash(vec!["k".into(), "s".into()]);
    [Partitioning::RoundRobin, Partitioning::Gather, by]
}

fn distinct(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut seen = Vec::new();
    for row in rows {
        if !seen.contains(&row) {
            seen.push(row);
        }
    }
    seen
}

const SEEDS: std::ops::Range<u64> = 0..12;

fn default_order() -> SortOrder {
    SortOrder::default()
}

/// Sorts nulls last.
fn key_of(value: &Value) -> (bool, i64) {
    (value.is_null(), value.as_i64().unwrap_or(0))
}

#[test]
fn rows_of_several_sources_are_all_there() {
    for seed in SEEDS {
        let mut tables = Tables::new(seed);
        let all = tables.rows.concat();
        for partitioning in partitionings() {
            let union = both("1", partitioning.clone());
            tables.run(&union, all.clone(), false);
            let filtered = above(&union, 2).filter(call("gt", "v", 0, Type::Boolean)).build();
            let positive = all.iter().filter(|row| row[1].as_i64() > Some(0)).cloned();
            tables.run(&filtered, positive.collect(), false);
            // A source that itself has several sources, and is partitioned again.
            let outer = vec![union, above(&scan_as("9b"), 20).limit(0, 0).build()];
            let node = LocalPartitionNode::new("5".into(), outer, partitioning).unwrap();
            tables.run(&Arc::new(PlanNode::LocalPartition(node)), all.clone(), false);
        }
    }
}

#[test]
fn with_one_driver_the_sources_come_one_after_the_other() {
    let mut tables = Tables::new(5);
    for splits in &mut tables.splits {
        *splits = vec![splits.concat()];
    }
    let mut tables_rows = Vec::new();
    for id in ["0", "9"] {
        tables_rows.extend(tables.rows_of(&scan_as(id), 1));
    }
    assert_eq!(tables.rows_of(&both("1", Partitioning::RoundRobin), 1), tables_rows);
}

#[test]
fn distinct_rows_are_given_once() {
    for seed in SEEDS {
        let mut tables = Tables::new(seed);
        let pair = |row: &Row| vec![row[0].clone(), row[2].clone()];
        let one = above(&scan_as("0"), 1).aggregate(&["k", "s"], vec![]).build();
        let expected = distinct(tables.rows[0].iter().map(pair));
        tables.run(&one, expected, false);
        for partitioning in partitionings() {
            let plan = above(&both("1", partitioning), 2).aggregate(&["k", "s"], vec![]);
            let expected = distinct(tables.rows.iter().flatten().map(pair));
            tables.run(&plan.clone().build(), expected.clone(), false);
            let plan =
                plan.aggregate(&[], vec![aggregate_call("n", "count", vec![], false).unwrap()]);
            let count = vec![vec![Value::BigInt(expected.len() as i64)]];
            tables.run(&plan.single_row().build(), count, false);
        }
    }
}

#[test]
fn groups_are_whole_in_one_step_and_in_two() {
    for seed in SEEDS {
        let mut tables = Tables::new(seed);
        let calls = |distinct| {
            vec![
                aggregate_call("n", "count", vec![column_of("v")], distinct).unwrap(),
                aggregate_call("s", "sum", vec![column_of("v")], distinct).unwrap(),
            ]
        };
        for partitioning in partitionings() {
            for once in [false, true] {
                let plan =
                    above(&both("1", partitioning.clone()), 2).aggregate(&["k"], calls(once));
                let keys = distinct(tables.rows.iter().flatten().map(|row| vec![row[0].clone()]));
                let expected = keys.into_iter().map(|key| {
                    let of_key = tables.rows.iter().flatten().filter(|row| row[0] == key[0]);
                    let mut values: Vec<i64> = of_key.filter_map(|row| row[1].as_i64()).collect();
                    if once {
                        values.sort_unstable();
                        values.dedup();
                    }
                    let (count, sum) = (values.len() as i64, values.iter().sum());
                    vec![key[0].clone(), Value::BigInt(count), Value::BigInt(sum)]
                });
                tables.run(&plan.build(), expected.collect(), false);
            }
        }
    }
}

#[test]
fn partial_groups_repeat_only_below_a_final_step() {
    let step = |source: Arc<PlanNode>, step, argument: &str| {
        let call = aggregate_call("n", "max", vec![column_of("v")], false).unwrap();
        let call = crate::plan::Aggregate { args: vec![column_of(argument)], ..call };
        let fields = [("k", Type::BigInt), ("n", call.ty.clone())];
        Arc::new(PlanNode::Aggregation(AggregationNode {
            id: format!("{}+", source.id()).into(),
            source,
            step,
            keys: vec!["k".into()],
            aggregates: vec![call],
            output_type: Arc::new(RowType::new(fields)),
        }))
    };
    let mut tables = Tables::new(8);
    let partial = step(scan_as("0"), AggregationStep::Partial, "v");
    let last = step(Arc::clone(&partial), AggregationStep::Final, "n");
    let expected = tables.rows_of(&last, 1);
    assert!(expected.len() > 3);
    tables.run(&last, expected.clone(), false);
    tables.run(&partial, expected, false);
}

#[test]
fn sorted_rows_of_all_drivers_are_merged() {
    for seed in SEEDS {
        let mut tables = Tables::new(seed);
        let descending = SortOrder { descending: true, nulls_first: false };
        let project =
            |plan: PlanBuilder| plan.project([("k", column_of("k")), ("v", column_of("v"))]);
        let pair = |row: &Row| vec![row[0].clone(), row[1].clone()];
        let sorted = |mut rows: Vec<Row>| {
            rows.sort_by_key(|row| (key_of(&row[0]), -row[1].as_i64().unwrap()));
            rows
        };
        let keys = [("k", default_order()), ("v", descending)];
        let expected = sorted(tables.rows.iter().flatten().map(pair).collect());
        for partitioning in partitionings() {
            let plan = project(above(&both("1", partitioning), 2)).order_by(&keys);
            tables.run(&plan.clone().build(), expected.clone(), true);
            let few = expected.iter().skip(3).take(20).cloned().collect::<Vec<_>>();
            tables.run(&plan.limit(3, 20).build(), few, true);
        }
        let top = project(above(&both("1", Partitioning::RoundRobin), 2)).top_n(&keys, 9).build();
        tables.run(&top, expected.iter().take(9).cloned().collect(), true);
        let source = |id: &str, next| project(above(&scan_as(id), next)).order_by(&keys).build();
        let merge_of = |sources: Vec<Arc<PlanNode>>| {
            let key = |(column, order): &(&str, SortOrder)| SortKey {
                column: column.to_string(),
                order: *order,
            };
            let keys = keys.iter().map(key).collect();
            let node = LocalMergeNode::new("m".into(), sources, keys).unwrap();
            Arc::new(PlanNode::LocalMerge(node))
        };
        tables.run(&merge_of(vec![source("0", 1), source("9", 10)]), expected.clone(), true);
        let limited = above(&source("9", 10), 12).limit(0, 1_000).build();
        tables.run(&merge_of(vec![source("0", 1), limited]), expected, true);
        let only = sorted(tables.rows[0].iter().map(pair).collect());
        tables.run(&merge_of(vec![source("0", 1)]), only, true);
    }
}

#[test]
fn lists_are_taken_apart_side_by_side() {
    for seed in SEEDS {
        let mut tables = Tables::new(seed);
        let replicated = ["s", "list"];
        let names = ["element", "key", "value", "n"];
        let unnested = |row: &Row| {
            let elements = match &row[3] {
                Value::Array(elements) => elements.to_vec(),
                _ => Vec::new(),
            };
            let entries = match &row[4] {
                Value::Map(entries) => entries.to_vec(),
                _ => Vec::new(),
            };
            let row = row.clone();
            (0..elements.len().max(entries.len())).map(move |i| {
                let (key, value) = entries.get(i).cloned().unwrap_or((Value::Null, Value::Null));
                let element = elements.get(i).cloned().unwrap_or(Value::Null);
                let number = Value::BigInt(i as i64 + 1);
                vec![row[2].clone(), row[3].clone(), element, key, value, number]
            })
        };
        let expected: Vec<Row> = tables.rows[0].iter().flat_map(unnested).collect();
        let plan = above(&scan_as("0"), 1);
        let plan = plan.unnest(&replicated, &["list", "map"], &names).unwrap();
        tables.run(&plan.clone().build(), expected.clone(), false);
        let plan = plan.filter(call("gt", "n", 1, Type::Boolean)).project([
            ("s", TypedExpr::field("s", Type::Varchar)),
            ("m", call("plus", "n", 5, Type::BigInt)),
        ]);
        let later = expected.iter().filter(|row| row[5] != Value::BigInt(1));
        let later =
            later.map(|row| vec![row[0].clone(), Value::BigInt(row[5].as_i64().unwrap() + 5)]);
        tables.run(&plan.build(), later.collect(), false);
        let plan = above(&both("1", Partitioning::RoundRobin), 2);
        let plan = plan.unnest(&[], &["list"], &["k"]).unwrap().aggregate(&["k"], vec![]);
        let elements = tables.rows.iter().flatten().flat_map(|row| match &row[3] {
            Value::Array(elements) => elements.to_vec(),
            _ => Vec::new(),
        });
        let expected = distinct(elements.map(|e| vec![e]));
        tables.run(&plan.build(), expected, false);
    }
}

#[test]
fn joins_take_several_sources_on_either_side() {
    for seed in SEEDS {
        let mut tables = Tables::new(seed);
        let named = |plan: PlanBuilder, k: &str, v: &str| {
            plan.project([(k.to_string(), column_of("k")), (v.to_string(), column_of("v"))]).build()
        };
        for (join_type, pairs) in [(JoinType::Inner, true), (JoinType::RightSemiFilter, false)] {
            let left = named(above(&both("1", Partitioning::RoundRobin), 2), "k", "v");
            let right = named(above(&scan_as("9b"), 20), "j", "w");
            let fields = match pairs {
                true => vec![("v", Type::BigInt), ("w", Type::BigInt)],
                false => vec![("w", Type::BigInt)],
            };
            // The scan of the build side reads the first table.
            let join = PlanNode::HashJoin(HashJoinNode {
                id: "join".into(),
                join_type,
                null_aware: false,
                left: Arc::clone(&left),
                right: Arc::clone(&right),
                left_keys: vec!["k".into()],
                right_keys: vec!["j".into()],
                filter: None,
                output_type: Arc::new(RowType::new(fields)),
            });
            let all: Vec<&Row> = tables.rows.iter().flatten().collect();
            let meets = |l: &Row, r: &Row| l[0] == r[0] && !l[0].is_null();
            let mut expected = Vec::new();
            for r in &tables.rows[0] {
                let partners = all.iter().filter(|l| meets(l, r));
                match pairs {
                    true => expected.extend(partners.map(|l| vec![l[1].clone(), r[1].clone()])),
                    false => expected.extend(partners.take(1).map(|_| vec![r[1].clone()])),
                }
            }
            tables.run(&Arc::new(join), expected, false);
        }
        // The other direction: several sources build the table.
        let left = named(above(&scan_as("9b"), 20), "j", "w");
        let right = named(above(&both("1", Partitioning::Gather), 2), "k", "v");
        let join = PlanNode::HashJoin(HashJoinNode {
            id: "join".into(),
            join_type: JoinType::LeftSemiFilter,
            null_aware: false,
            left,
            right,
            left_keys: vec!["j".into()],
            right_keys: vec!["k".into()],
            filter: None,
            output_type: Arc::new(RowType::new([("w", Type::BigInt)])),
        });
        let all = || tables.rows.iter().flatten();
        let with_partner =
            tables.rows[0].iter().filter(|l| !l[0].is_null() && all().any(|r| r[0] == l[0]));
        let expected: Vec<Row> = with_partner.map(|l| vec![l[1].clone()]).collect();
        tables.run(&Arc::new(join), expected, false);
    }
}

#[test]
fn a_limit_above_several_sources_ends_them() {
    for drivers in [1, 2, 3] {
        let mut tables = Tables::new(5);
        let num_rows = tables.rows.iter().map(Vec::len).sum::<usize>();
        let union = both("1", Partitioning::RoundRobin);
        for (offset, count) in [(0, 0), (0, 1), (7, 5), (3, 10_000)] {
            let plan = above(&union, 2).limit(offset as u64, count as u64).build();
            let rows = tables.rows_of(&plan, drivers);
            assert_eq!(rows.len(), count.min(num_rows.saturating_sub(offset)));
            let plan = above(&union, 2).aggregate(&["k"], vec![]).limit(0, 3).build();
            assert_eq!(tables.rows_of(&plan, drivers).len(), 3);
        }
    }
}

#[test]
fn a_value_is_one_row_or_null_and_never_two() {
    let mut tables = Tables::new(5);
    let value = |limit| above(&scan_as("0"), 1).limit(0, limit).single_row().build();
    for drivers in [1, 2, 3] {
        assert_eq!(tables.rows_of(&value(1), drivers).len(), 1);
        let nulls = vec![vec![Value::Null; 5]];
        assert_eq!(tables.rows_of(&value(0), drivers), nulls);
        let ctx = query(&ScriptConnector::default());
        let task = Task::new(value(2), ctx, drivers).unwrap();
        for split in &tables.splits[0] {
            task.add_split("0", Arc::new(Script(split.clone()))).unwrap();
        }
        task.no_more_splits("0").unwrap();
        let mut cursor = task.start().unwrap();
        let error = loop {
            match cursor.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("two rows are no value"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("several rows"), "{error}");
    }
}
