//! Tests whole plans of random aggregates over random rows against a plain computation: grouped and
//! global, with FILTER and DISTINCT, with one driver, with three drivers, and in three steps.

use std::cmp::Ordering;

use vector::build::vector_of;
use vector::sync::Arc;
use vector::testing::Random;
use vector::{DecodedVector, Error, Result, RowType, RowVector, Type, Value, VectorRef};

use dwio::connector::{ColumnHandle, CompiledExpr, ConnectorRegistry, ExpressionEvaluator};
use dwio::expr::TypedExpr;

use super::*;
use crate::plan::builder::PlanBuilder;
use crate::plan::{Aggregate, AggregationNode, AggregationStep, PlanNode};
use crate::testing::{Act, Script, ScriptConnector, Table};
use crate::{Executor, QueryCtx, Task};

/// An evaluator that rejects all expressions: these plans have none.
#[derive(Debug)]
struct NoExpressions;

impl ExpressionEvaluator for NoExpressions {
    fn compile(&self, _: &TypedExpr, _: &Arc<RowType>) -> Result<Box<dyn CompiledExpr>> {
        Err(Error::unsupported("no expressions"))
    }

    fn is_deterministic(&self, _: &TypedExpr) -> bool {
        false
    }
}

fn columns() -> [(&'static str, Type); 7] {
    [
        ("k", Type::Varchar),
        ("i", Type::Integer),
        ("d", Type::Double),
        ("s", Type::Varchar),
        ("b", Type::Boolean),
        ("m", Type::Boolean),
        // The values of this column are distinct.
        ("n", Type::BigInt),
    ]
}

fn field(name: &str) -> TypedExpr {
    let ty = columns().into_iter().find(|(known, _)| *known == name).unwrap().1;
    TypedExpr::field(name, ty)
}

fn some_row(random: &mut Random, number: usize) -> Vec<Value> {
    let flag = |random: &mut Random| Value::Boolean(random.chance(0.5));
    let mut row = vec![
        Value::bytes(*random.pick(&["", "x", "a key that is longer than a view"])),
        Value::Integer(random.below(9) as i32 - 4),
        Value::Double(*random.pick(&[0.5, -3.25, 1e3, -0.0, 7.0])),
        Value::bytes(*random.pick(&["", "ab", "a text that is longer than a view"])),
        flag(random),
        flag(random),
        Value::BigInt((number * 7_919 % 10_007) as i64),
    ];
    for value in row.iter_mut().take(6) {
        if random.chance(0.15) {
            *value = Value::Null;
        }
    }
    row
}

/// The functions under test with their argument columns.
const CALLS: [(&str, &[&str]); 20] = [
    ("count", &[]),
    ("count", &["s"]),
    ("count_if", &["b"]),
    ("sum", &["i"]),
    ("avg", &["d"]),
    ("min", &["s"]),
    ("max", &["d"]),
    ("min_by", &["s", "n"]),
    ("max_by", &["d", "n"]),
    ("bool_and", &["b"]),
    ("every", &["b"]),
    ("bool_or", &["b"]),
    ("variance", &["i"]),
    ("var_samp", &["d"]),
    ("var_pop", &["d"]),
    ("stddev", &["n"]),
    ("stddev_samp", &["i"]),
    ("stddev_pop", &["i"]),
    ("array_agg", &["s"]),
    ("array_agg", &["n"]),
];

fn some_aggregate(random: &mut Random, name: String) -> Aggregate {
    let (function, args) = *random.pick(&CALLS);
    let args: Vec<TypedExpr> = args.iter().map(|name| field(name)).collect();
    let distinct = !args.is_empty() && random.chance(0.2);
    let mut made = aggregate_call(name, function, args, distinct).unwrap();
    made.mask = random.chance(0.4).then(|| field("m"));
    made
}

fn distances(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Computes an aggregate plainly over rows of its arguments.
fn plainly(aggregate: &Aggregate, mut rows: Vec<Vec<Value>>) -> Value {
    let compare = |a: &Vec<Value>, b: &Vec<Value>| {
        a.iter().zip(b).map(|(a, b)| a.compare(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    if aggregate.distinct {
        rows.sort_by(compare);
        rows.dedup_by(|a, b| compare(a, b).is_eq());
    }
    let function = &*aggregate.function;
    if aggregate.args.is_empty() {
        return Value::BigInt(rows.len() as i64);
    }
    if function == "array_agg" {
        let values: Vec<Value> = rows.into_iter().map(|row| row[0].clone()).collect();
        return if values.is_empty() { Value::Null } else { Value::Array(values.into()) };
    }
    rows.retain(|row| !row.last().unwrap().is_null());
    let firsts: Vec<&Value> = rows.iter().map(|row| &row[0]).collect();
    let flags = || firsts.iter().map(|value| **value == Value::Boolean(true));
    let numbers: Vec<f64> = firsts
        .iter()
        .filter_map(|value| match value {
            Value::Double(value) => Some(*value),
            value => value.as_i64().map(|value| value as f64),
        })
        .collect();
    let n = rows.len();
    match function {
        "count" => return Value::BigInt(n as i64),
        "count_if" => return Value::BigInt(flags().filter(|flag| *flag).count() as i64),
        _ if n == 0 => return Value::Null,
        "variance" | "var_samp" | "stddev" | "stddev_samp" if n == 1 => return Value::Null,
        _ => {}
    }
    match function {
        "sum" => Value::BigInt(numbers.iter().sum::<f64>() as i64),
        "avg" => Value::Double(numbers.iter().sum::<f64>() / n as f64),
        "min" => firsts.into_iter().min_by(|a, b| a.compare(b)).unwrap().clone(),
        "max" => firsts.into_iter().max_by(|a, b| a.compare(b)).unwrap().clone(),
        "min_by" => rows.iter().min_by(|a, b| a[1].compare(&b[1])).unwrap()[0].clone(),
        "max_by" => rows.iter().max_by(|a, b| a[1].compare(&b[1])).unwrap()[0].clone(),
        "bool_and" | "every" => Value::Boolean(flags().all(|flag| flag)),
        "bool_or" => Value::Boolean(flags().any(|flag| flag)),
        "variance" | "var_samp" => Value::Double(distances(&numbers) / (n - 1) as f64),
        "var_pop" => Value::Double(distances(&numbers) / n as f64),
        "stddev" | "stddev_samp" => Value::Double((distances(&numbers) / (n - 1) as f64).sqrt()),
        "stddev_pop" => Value::Double((distances(&numbers) / n as f64).sqrt()),
        other => panic!("no model of {other}"),
    }
}

/// Returns true if the values are equal, except for the order of lists and the last digits of
/// floats.
fn is_same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Double(a), Value::Double(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1.0),
        (Value::Array(a), Value::Array(b)) => {
            let (mut a, mut b) = (a.to_vec(), b.to_vec());
            a.sort_by(Value::compare);
            b.sort_by(Value::compare);
            a == b
        }
        (a, b) => a.compare(b).is_eq() && a.is_null() == b.is_null(),
    }
}

/// Returns the expected groups in order, each with its key (if there are keys) and its aggregates.
fn expected(rows: &[Vec<Value>], grouped: bool, aggregates: &[Aggregate]) -> Vec<Vec<Value>> {
    let mut keys: Vec<Value> = match grouped {
        true => rows.iter().map(|row| row[0].clone()).collect(),
        false => vec![Value::Null],
    };
    keys.sort_by(Value::compare);
    keys.dedup_by(|a, b| a.compare(b).is_eq());
    let column = |name: &str| columns().iter().position(|(known, _)| *known == name).unwrap();
    let of_expr = |expr: &TypedExpr| match expr {
        TypedExpr::Field { name, .. } => column(name),
        other => panic!("{other} is no column"),
    };
    let of_group = |key: &Value| {
        let mut made: Vec<Value> = if grouped { vec![key.clone()] } else { Vec::new() };
        made.extend(aggregates.iter().map(|aggregate| {
            let counts = |row: &&Vec<Value>| {
                let is_masked =
                    aggregate.mask.is_some() && row[column("m")] != Value::Boolean(true);
                !is_masked && (!grouped || row[0].compare(key).is_eq())
            };
            let args: Vec<usize> = aggregate.args.iter().map(of_expr).collect();
            let args = |row: &Vec<Value>| args.iter().map(|arg| row[*arg].clone()).collect();
            plainly(aggregate, rows.iter().filter(counts).map(args).collect())
        }));
        made
    };
    keys.iter().map(of_group).collect()
}

fn batch(rows: &[Vec<Value>]) -> RowVector {
    let children = columns().into_iter().enumerate().map(|(i, (_, ty))| -> VectorRef {
        vector_of(&ty, rows.iter().map(|row| &row[i])).unwrap()
    });
    let row_type = Arc::new(RowType::new(columns()));
    RowVector::batch(row_type, rows.len(), children.collect()).unwrap()
}

/// Runs a plan and returns its rows in the order of their keys.
fn run(plan: Arc<PlanNode>, drivers: usize, rows: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let mut connectors = ConnectorRegistry::new();
    connectors.register(Arc::new(ScriptConnector::default()));
    let mut query = QueryCtx::new(Arc::new(NoExpressions), connectors);
    query.executor = Arc::new(Executor::new(3));
    let task = Task::new(plan, Arc::new(query), drivers).unwrap();
    for split in rows.chunks(40) {
        let acts = split.chunks(17).map(|rows| Act::Batch(batch(rows))).collect();
        task.add_split("0", Arc::new(Script(acts))).unwrap();
    }
    task.no_more_splits("0").unwrap();
    let (mut cursor, mut found) = (task.start().unwrap(), Vec::new());
    while let Some(batch) = cursor.next().unwrap() {
        let columns: Vec<DecodedVector> =
            batch.children().iter().map(|c| DecodedVector::new(c).unwrap()).collect();
        let row = |row| columns.iter().map(|c| c.value(row).unwrap()).collect();
        found.extend((0..batch.len()).map(row));
    }
    found.sort_by(|a: &Vec<Value>, b| a[0].compare(&b[0]));
    found
}

fn scan() -> PlanBuilder {
    let handle = || Arc::new(Table { takes_filters: false });
    let assignments = columns().map(|(name, _)| {
        let handle: Arc<dyn ColumnHandle> = handle();
        (name.to_string(), handle)
    });
    PlanBuilder::table_scan(Arc::new(RowType::new(columns())), handle(), assignments.into())
}

/// Splits an aggregation into a partial, an intermediate and a final node.
fn in_three_steps(single: &AggregationNode) -> Arc<PlanNode> {
    let mut source = Arc::clone(&single.source);
    for step in [AggregationStep::Partial, AggregationStep::Intermediate, AggregationStep::Final] {
        let mut node = AggregationNode { step, source, ..single.clone() };
        for aggregate in &mut node.aggregates {
            let partial = intermediate_type(&aggregate.function, &aggregate.raw_types).unwrap();
            if step != AggregationStep::Partial {
                aggregate.args = vec![TypedExpr::field(aggregate.name.as_str(), partial.clone())];
                aggregate.mask = None;
            }
            if step != AggregationStep::Final {
                aggregate.ty = partial;
            }
        }
        let types = single.output_type.types().iter().cloned();
        let keys = node.keys.iter().cloned().zip(types);
        let values = node.aggregates.iter().map(|a| (a.name.clone(), a.ty.clone()));
        node.output_type = Arc::new(RowType::new(keys.chain(values).collect::<Vec<_>>()));
        node.id = format!("{step:?}").into();
        source = Arc::new(PlanNode::Aggregation(node));
    }
    source
}

fn assert_same(found: &[Vec<Value>], expected: &[Vec<Value>], plan: &PlanNode) {
    assert_eq!(found.len(), expected.len(), "groups of {plan}");
    for (found, expected) in found.iter().zip(expected) {
        for (i, (a, b)) in found.iter().zip(expected).enumerate() {
            assert!(is_same(a, b), "column {i}: {a:?} for {b:?} of\n{plan}");
        }
    }
}

#[test]
fn any_aggregates_are_what_a_plain_computation_gives() {
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let num_rows = *random.pick(&[0, 1, 30, 200, 400]);
        let rows: Vec<Vec<Value>> = (0..num_rows).map(|i| some_row(&mut random, i)).collect();
        let aggregates: Vec<Aggregate> = (0..random.below(5) + 1)
            .map(|i| some_aggregate(&mut random, format!("a{i}")))
            .collect();
        for keys in [&[][..], &["k"]] {
            let expected = expected(&rows, !keys.is_empty(), &aggregates);
            let plan = scan().aggregate(keys, aggregates.clone()).build();
            for drivers in [1, 3] {
                assert_same(&run(Arc::clone(&plan), drivers, &rows), &expected, &plan);
            }
            let PlanNode::Aggregation(node) = &*plan else { panic!("an aggregation") };
            if !aggregates.iter().any(|aggregate| aggregate.distinct) {
                let plan = in_three_steps(node);
                assert_same(&run(Arc::clone(&plan), 1, &rows), &expected, &plan);
            }
        }
    }
}

#[test]
fn a_mask_is_printed_with_its_aggregate() {
    let mut call = aggregate_call("n", "count", Vec::new(), false).unwrap();
    call.mask = Some(field("m"));
    let plan = scan().aggregate(&[], vec![call]).build();
    assert!(plan.to_string().contains("n := count() filter m"), "{plan}");
}
