//! Each kind of invalid plan is rejected before execution, with an error that names the node.

use super::*;
use crate::expr::{ExecEvaluator, FunctionRegistry};
use crate::operator::aggregate::{aggregate_call, intermediate_type};
use crate::plan::builder::{JoinSpec, PlanBuilder, PlanIds};
use crate::plan::{
    JoinType, LocalMergeNode, LocalPartitionNode, Partitioning, ProjectNode, SortKey,
};
use crate::testing::{ScriptConnector, Table};
use vector::{ErrorKind, RowVector, SortOrder, Value};

fn row(fields: &[(&str, Type)]) -> Arc<RowType> {
    Arc::new(RowType::new(fields.iter().map(|(name, ty)| (*name, ty.clone()))))
}

fn columns() -> Arc<RowType> {
    row(&[
        ("a", Type::BigInt),
        ("s", Type::Varchar),
        ("f", Type::Boolean),
        ("l", Type::array(Type::BigInt)),
    ])
}

fn source() -> PlanBuilder {
    PlanBuilder::values(columns(), vec![])
}

fn field(name: &str, ty: Type) -> TypedExpr {
    TypedExpr::field(name, ty)
}

fn big(name: &str) -> TypedExpr {
    field(name, Type::BigInt)
}

fn check(plan: &PlanNode) -> Result<()> {
    let mut connectors = ConnectorRegistry::new();
    connectors.register(Arc::new(ScriptConnector::default()));
    let evaluator = ExecEvaluator::new(Arc::new(FunctionRegistry::builtin()));
    validate(plan, PlanContext { evaluator: &evaluator, connectors: &connectors })
}

/// Checks that the plan is rejected at this node, with this message.
#[track_caller]
fn refused(plan: impl Into<Arc<PlanNode>>, node: &str, message: &str) {
    let error = check(&plan.into()).unwrap_err();
    assert_eq!(error.message(), message, "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains(&format!("plan node \"{node}\"")), "{error}");
}

/// Returns the plan with one node made invalid by `change`.
fn changed(plan: PlanBuilder, change: impl FnOnce(&mut PlanNode)) -> Arc<PlanNode> {
    let plan = plan.build();
    check(&plan).unwrap();
    let mut node = PlanNode::clone(&plan);
    change(&mut node);
    Arc::new(node)
}

const NO_COLUMN: &str = "a plan node uses a column that its source does not have";
const NO_FIELD: &str = "an expression uses a column its input has not";
const OTHER_TYPE: &str = "a column of a plan node has another type than is said of it";
const OTHER_COUNT: &str = "a plan node has another number of columns than it says";

#[test]
fn ids_are_unique_and_builders_that_share_them_can_be_joined() {
    let handle = || Arc::new(Table { takes_filters: false });
    let scan = |ids: &PlanIds, name: &str| {
        let output = row(&[(name, Type::BigInt)]);
        ids.table_scan(output, handle(), vec![(name.to_string(), handle())])
    };
    let join = || JoinSpec::new(JoinType::Inner, &[("a", "b")], &["a", "b"]);
    let ids = PlanIds::default();
    let joined = scan(&ids, "a").hash_join(scan(&ids, "b").limit(0, 1), join()).build();
    check(&joined).unwrap();
    let alone = (PlanIds::default(), PlanIds::default());
    let two = scan(&alone.0, "a").hash_join(scan(&alone.1, "b"), join()).build();
    refused(two, "TableScan[0]", "two nodes of a plan have the same id");
    let ids = PlanIds::default();
    let shared = scan(&ids, "a");
    let twice = shared.clone().union_all(vec![shared]).unwrap().build();
    refused(twice, "TableScan[0]", "a plan node is the source of two others");
    let ids = PlanIds::default();
    check(&scan(&ids, "a").union_all(vec![scan(&ids, "a")]).unwrap().build()).unwrap();
    let clash = PlanBuilder::from_node(source().limit(0, 1).build(), 0).limit(0, 1).build();
    refused(clash, "Values[0]", "two nodes of a plan have the same id");
}

#[test]
fn a_plan_is_not_nested_without_end() {
    let deep = |depth: usize| (0..depth).fold(source(), |plan, _| plan.limit(0, 1)).build();
    check(&deep(MAX_DEPTH - 1)).unwrap();
    let error = check(&deep(MAX_DEPTH)).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Limit, "a plan is nested too deep"));
}

#[test]
fn scans_have_a_connector_and_a_handle_for_each_column() {
    let handle = || Arc::new(Table { takes_filters: false });
    let scan = |names: &[&str]| {
        let assignments = names.iter().map(|name| (name.to_string(), handle() as _)).collect();
        let output = row(&[("a", Type::BigInt), ("b", Type::BigInt)]);
        PlanBuilder::table_scan(output, handle(), assignments).build()
    };
    check(&scan(&["a", "b"])).unwrap();
    refused(scan(&["a"]), "TableScan[0]", "a column of a scan has no handle");
    refused(scan(&["a", "b", "a"]), "TableScan[0]", "a column of a scan has two handles");
    let evaluator = ExecEvaluator::new(Arc::new(FunctionRegistry::builtin()));
    let context = PlanContext { evaluator: &evaluator, connectors: &ConnectorRegistry::new() };
    let error = validate(&scan(&["a", "b"]), context).unwrap_err();
    assert!(error.is_in("plan node"), "{error}");
}

#[test]
fn output_columns_have_different_names_and_the_types_of_their_rows() {
    let twice = row(&[("a", Type::BigInt), ("a", Type::BigInt)]);
    let two = "two output columns of a plan node have one name";
    refused(PlanBuilder::values(twice, vec![]).build(), "Values[0]", two);
    let project = source().project([("x", big("a")), ("x", big("a"))]);
    refused(project.build(), "Project[1]", two);
    let rows = RowVector::empty(row(&[("a", Type::BigInt)]));
    let other = |ty: Type| PlanBuilder::values(row(&[("a", ty)]), vec![rows.clone()]).build();
    check(&other(Type::BigInt)).unwrap();
    refused(other(Type::Varchar), "Values[0]", OTHER_TYPE);
    let more = row(&[("a", Type::BigInt), ("b", Type::BigInt)]);
    refused(PlanBuilder::values(more, vec![rows]).build(), "Values[0]", OTHER_COUNT);
}

#[test]
fn expressions_use_columns_functions_and_types_that_there_are() {
    let call = |name: &str, args: Vec<TypedExpr>, ty: Type| {
        source().project([("x", TypedExpr::call(name, args, ty))]).build()
    };
    check(&call("plus", vec![big("a"), big("a")], Type::BigInt)).unwrap();
    refused(call("plus", vec![big("a"), big("zz")], Type::BigInt), "Project[1]", NO_FIELD);
    refused(call("length", vec![field("a", Type::Varchar)], Type::BigInt), "Project[1]", NO_FIELD);
    refused(
        call("pluss", vec![big("a"), big("a")], Type::BigInt),
        "Project[1]",
        "no such function",
    );
    refused(
        call("plus", vec![big("a"), field("f", Type::Boolean)], Type::BigInt),
        "Project[1]",
        "a function does not take arguments of these types",
    );
    refused(
        call("plus", vec![big("a"), big("a")], Type::Varchar),
        "Project[1]",
        "a call was given another type than it has",
    );
    let constant = TypedExpr::constant(Value::Boolean(true), Type::BigInt);
    let project = source().project([("x", constant)]).build();
    refused(project, "Project[1]", "a constant does not fit its type");
    let lambda = |of: &str| {
        let body = TypedExpr::call("plus", vec![big("x"), big(of)], Type::BigInt);
        let lambda = TypedExpr::lambda(&RowType::new([("x", Type::BigInt)]), body);
        let list = Type::array(Type::BigInt);
        call("transform", vec![field("l", list.clone()), lambda], list)
    };
    check(&lambda("a")).unwrap();
    refused(lambda("zz"), "Project[1]", NO_FIELD);
    let struct_of = Type::row([("x", Type::BigInt)]);
    let input = TypedExpr::constant(Value::Null, struct_of);
    let field_of = |index| {
        let input = Box::new(input.clone());
        source().project([("x", TypedExpr::Dereference { input, index, ty: Type::BigInt })]).build()
    };
    check(&field_of(0)).unwrap();
    refused(field_of(1), "Project[1]", "a struct has no such field");
    // The number of terms is not limited, however they are nested.
    let conjunction = (0..2_000).fold(field("f", Type::Boolean), |all, _| {
        TypedExpr::call("and", vec![all, field("f", Type::Boolean)], Type::Boolean)
    });
    check(&source().filter(conjunction).build()).unwrap();
}

#[test]
fn filters_are_boolean_and_projections_have_an_expression_for_each_column() {
    check(&source().filter(field("f", Type::Boolean)).build()).unwrap();
    refused(source().filter(big("a")).build(), "Filter[1]", "a filter is not BOOLEAN");
    refused(source().filter(field("g", Type::Boolean)).build(), "Filter[1]", NO_FIELD);
    let project = |expressions: Vec<TypedExpr>| {
        changed(source().project([("x", big("a")), ("y", big("a"))]), |node| {
            let PlanNode::Project(node) = node else { panic!("no projection") };
            *node = ProjectNode { expressions, ..node.clone() };
        })
    };
    refused(project(vec![big("a")]), "Project[1]", OTHER_COUNT);
    refused(project(vec![big("a"), field("s", Type::Varchar)]), "Project[1]", OTHER_TYPE);
}

#[test]
fn sorts_exchanges_and_merges_have_their_keys() {
    let order = SortOrder::default();
    check(&source().order_by(&[("a", order)]).top_n(&[("s", order)], 3).build()).unwrap();
    refused(source().order_by(&[("zz", order)]).build(), "OrderBy[1]", NO_COLUMN);
    refused(source().top_n(&[("a", order), ("zz", order)], 3).build(), "TopN[1]", NO_COLUMN);
    let partition = |key: &str| {
        let by = Partitioning::Hash(vec![key.into()]);
        let node = LocalPartitionNode::new("p".into(), vec![source().build()], by).unwrap();
        PlanNode::LocalPartition(node)
    };
    check(&partition("a")).unwrap();
    refused(partition("zz"), "LocalPartition[p]", NO_COLUMN);
    let keys = vec![SortKey { column: "zz".into(), order }];
    let merge = LocalMergeNode::new("m".into(), vec![source().build()], keys).unwrap();
    refused(PlanNode::LocalMerge(merge), "LocalMerge[m]", NO_COLUMN);
    let PlanNode::LocalPartition(mut node) = partition("a") else { panic!("no exchange") };
    node.output_type = row(&[("a", Type::Varchar)]);
    refused(PlanNode::LocalPartition(node.clone()), "LocalPartition[p]", OTHER_COUNT);
    node.sources.clear();
    refused(PlanNode::LocalPartition(node), "LocalPartition[p]", "a plan node needs a source");
}

fn sums(step: AggregationStep) -> Arc<PlanNode> {
    let intermediate = intermediate_type("avg", &[Type::BigInt]).unwrap();
    let takes_partials = matches!(step, AggregationStep::Intermediate | AggregationStep::Final);
    let makes_partials = matches!(step, AggregationStep::Partial | AggregationStep::Intermediate);
    let mut average = aggregate_call("x", "avg", vec![big("a")], false).unwrap();
    if takes_partials {
        average.args = vec![field("p", intermediate.clone())];
    }
    if makes_partials {
        average.ty = intermediate.clone();
    }
    let input = row(&[("a", Type::BigInt), ("p", intermediate), ("f", Type::Boolean)]);
    changed(
        PlanBuilder::values(input, vec![])
            .aggregate(&["f"], vec![aggregate_call("x", "avg", vec![big("a")], false).unwrap()]),
        |node| {
            let PlanNode::Aggregation(node) = node else { panic!("no aggregation") };
            node.output_type = row(&[("f", Type::Boolean), ("x", average.ty.clone())]);
            (node.step, node.aggregates) = (step, vec![average]);
        },
    )
}

fn change_aggregate(
    step: AggregationStep,
    change: impl FnOnce(&mut AggregationNode),
) -> Arc<PlanNode> {
    let plan = sums(step);
    check(&plan).unwrap();
    let mut node = PlanNode::clone(&plan);
    let PlanNode::Aggregation(aggregation) = &mut node else { panic!("no aggregation") };
    change(aggregation);
    Arc::new(node)
}

#[test]
fn aggregates_fit_their_arguments_and_steps() {
    use AggregationStep::{Final, Intermediate, Partial, Single};
    let at = "Aggregation[1]";
    for step in [Single, Partial, Intermediate, Final] {
        check(&sums(step)).unwrap();
        refused(change_aggregate(step, |n| n.keys[0] = "zz".into()), at, NO_COLUMN);
        refused(change_aggregate(step, |n| n.keys[0] = "a".into()), at, OTHER_TYPE);
        refused(change_aggregate(step, |n| n.keys.push("a".into())), at, OTHER_COUNT);
        let wrong_type = change_aggregate(step, |n| n.aggregates[0].ty = Type::Varchar);
        refused(wrong_type, at, OTHER_TYPE);
        let no_args = change_aggregate(step, |n| n.aggregates[0].args.clear());
        refused(no_args, at, OTHER_COUNT);
        let function = change_aggregate(step, |n| n.aggregates[0].function = "avgg".into());
        refused(function, at, "no such aggregate function");
        let raw = change_aggregate(step, |n| n.aggregates[0].raw_types = vec![Type::Varchar]);
        refused(raw, at, "an aggregate function does not take arguments of these types");
        let called = TypedExpr::call("negate", vec![big("a")], Type::BigInt);
        let called = change_aggregate(step, |n| n.aggregates[0].args = vec![called]);
        refused(called, at, "an argument of an aggregate is neither a column nor a constant");
        let mask = change_aggregate(step, |n| n.aggregates[0].mask = Some(big("a")));
        refused(mask, at, OTHER_TYPE);
    }
    for (from, to) in [(Single, Final), (Partial, Single), (Final, Partial), (Intermediate, Final)]
    {
        refused(change_aggregate(from, |n| n.step = to), at, OTHER_TYPE);
    }
    let mask = || Some(field("f", Type::Boolean));
    check(&change_aggregate(Single, |n| n.aggregates[0].mask = mask())).unwrap();
    let masked = change_aggregate(Final, |n| n.aggregates[0].mask = mask());
    refused(masked, at, "an aggregate of intermediate results has a mask");
}

#[test]
fn joins_have_keys_of_equal_types_and_filters_over_both_sides() {
    let ids = PlanIds::default();
    let left = || ids.values(columns(), vec![]);
    let right = || ids.values(row(&[("b", Type::BigInt), ("t", Type::Varchar)]), vec![]);
    let join = |keys: &[(&str, &str)]| JoinSpec::new(JoinType::Inner, keys, &["a", "t"]);
    let plan = |join: JoinSpec| {
        let plan = left().hash_join(right(), join).build();
        (format!("HashJoin[{}]", plan.id()), plan)
    };
    let filter = |name: &str, ty: Type| {
        TypedExpr::call("eq", vec![big("a"), field(name, ty)], Type::Boolean)
    };
    check(&plan(join(&[("a", "b"), ("s", "t")])).1).unwrap();
    check(&plan(join(&[]).with_filter(filter("b", Type::BigInt))).1).unwrap();
    let keys = "the keys of a join are not columns of the same types";
    for pair in [("a", "t"), ("a", "zz"), ("zz", "b"), ("b", "a")] {
        let (at, plan) = plan(join(&[pair]));
        refused(plan, &at, keys);
    }
    let (at, node) = plan(join(&[]).with_filter(filter("zz", Type::BigInt)));
    refused(node, &at, NO_FIELD);
    let (at, node) = plan(join(&[]).with_filter(big("a")));
    refused(node, &at, "a filter is not BOOLEAN");
    let (at, node) = plan(join(&[("a", "b"), ("s", "t")]).null_aware());
    refused(node, &at, "a null aware join is a semi project or anti join of one key");
    let spec = JoinSpec::new(JoinType::Inner, &[], &["a", "zz"]);
    let (at, node) = plan(spec);
    refused(node, &at, "an output column of a join is not a column of one source");
    let same = row(&[("a", Type::BigInt), ("b", Type::BigInt)]);
    let join = JoinSpec::new(JoinType::Inner, &[], &["s"]).with_filter(filter("b", Type::BigInt));
    let node = left().hash_join(ids.values(same, vec![]), join).build();
    let at = format!("HashJoin[{}]", node.id());
    refused(node, &at, "both sides of a join with a filter have a column of one name");
}

#[test]
fn unnests_take_lists_apart() {
    let unnest = |change: fn(&mut UnnestNode)| {
        changed(source().unnest(&["a"], &["l"], &["x", "n"]).unwrap(), |node| {
            let PlanNode::Unnest(node) = node else { panic!("no unnest") };
            change(node);
        })
    };
    let at = "Unnest[1]";
    refused(unnest(|n| n.replicated[0] = "zz".into()), at, NO_COLUMN);
    refused(unnest(|n| n.unnested[0] = "zz".into()), at, NO_COLUMN);
    let lists = "only arrays and maps can be unnested";
    refused(unnest(|n| n.unnested[0] = "s".into()), at, lists);
    refused(unnest(|n| n.with_ordinality = false), at, OTHER_COUNT);
    refused(unnest(|n| n.replicated[0] = "s".into()), at, OTHER_TYPE);
}
