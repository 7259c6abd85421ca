//! Validation of a plan when its task is created: checks the properties that operators rely on.
//!
//! | part | check |
//! |---|---|
//! | the plan | ids are unique, each node is the source of one other, and the depth is limited |
//! | every node | output column names are unique; used columns exist in the source |
//! | scan | its connector is registered; each output column has one handle |
//! | values | batches have the columns of the output |
//! | filter, join filter | BOOLEAN; columns, functions and their types exist |
//! | projection | one expression for each output column, of its type |
//! | aggregation | functions exist for the arguments; types and arguments are those of the step; masks are BOOLEAN columns; the output is keys, then aggregates |
//! | join | keys are equal in number and type; further checks in [`HashJoinNode::check`](crate::plan::HashJoinNode::check) |
//! | unnest | arrays and maps; the output has the expanded columns |
//! | exchange, merge | all sources have the columns of the output |
//!
//! A plan is a tree of immutable `Arc`s, so no node can be below itself. A node that is the source
//! of two other nodes is rejected: it would run twice with one state, and two scans that share
//! splits would each read a part of them.
//!
//! Errors are `InvalidInput`, `Limit`, or those of [`ExpressionEvaluator::check`], and name the
//! node.

use std::collections::{HashMap, HashSet};

use vector::{Error, Result, RowType, Type};

use dwio::connector::{ConnectorRegistry, ExpressionEvaluator};
use dwio::expr::TypedExpr;
use vector::sync::Arc;

use crate::operator::aggregate::resolve_aggregate;
use crate::plan::{
    Aggregate, AggregationNode, AggregationStep, HashJoinNode, PlanNode, TableScanNode, UnnestNode,
    ValuesNode, check_custom,
};

/// Maximum number of nodes from the root to a leaf, because plans are traversed recursively.
const MAX_DEPTH: usize = 1_000;

/// Registries that the nodes of a plan refer to.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext<'a> {
    /// Resolves and checks functions.
    pub evaluator: &'a dyn ExpressionEvaluator,
    /// Registry of the connectors of tables.
    pub connectors: &'a ConnectorRegistry,
}

/// Checks `plan`; see the module.
///
/// # Errors
/// `InvalidInput` for an inconsistent plan, `Limit` for a plan that is nested too deeply, and the
/// errors of expressions; each names the node.
pub fn validate(plan: &PlanNode, context: PlanContext<'_>) -> Result<()> {
    let mut known: HashMap<&str, &PlanNode> = HashMap::new();
    let mut rest = vec![(plan, 1)];
    while let Some((node, depth)) = rest.pop() {
        let framed =
            |error: Error| error.in_named("plan node", format!("{}[{}]", node.name(), node.id()));
        if depth > MAX_DEPTH {
            return Err(framed(
                Error::limit("a plan is nested too deep").with("max_depth", MAX_DEPTH),
            ));
        }
        if let Some(other) = known.insert(node.id(), node) {
            let message = match std::ptr::eq(node, other) {
                true => "a plan node is the source of two others",
                false => "two nodes of a plan have the same id",
            };
            return Err(framed(Error::invalid_input(message).with("other", other.name())));
        }
        check_names(node).and_then(|()| check_node(node, context)).map_err(framed)?;
        rest.extend(node.sources().map(|source| (&**source, depth + 1)));
    }
    Ok(())
}

/// Checks that the output columns of a node have different names.
fn check_names(node: &PlanNode) -> Result<()> {
    let mut names = HashSet::new();
    match node.output_type().names().iter().find(|name| !names.insert(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::invalid_input("two output columns of a plan node have one name")
            .with("column", name)),
    }
}

fn check_node(node: &PlanNode, context: PlanContext<'_>) -> Result<()> {
    let source = node.source().map(|source| source.output_type());
    let columns = || Columns::of(source.map(|source| &**source));
    match node {
        PlanNode::TableScan(scan) => check_scan(scan, context.connectors),
        PlanNode::Values(values) => check_values(values),
        PlanNode::Filter(filter) => {
            check_filter(&filter.predicate, filter.source.output_type(), context)
        }
        PlanNode::Project(project) => {
            let (expressions, outputs) = (&project.expressions, &project.output_type);
            check_count("expressions", expressions.len(), outputs.len())?;
            context.evaluator.check(expressions, project.source.output_type())?;
            let mut outputs = expressions.iter().zip(outputs.fields());
            outputs.try_for_each(|(expr, (name, ty))| check_type(name, expr.ty(), ty))
        }
        PlanNode::Aggregation(aggregation) => check_aggregation(aggregation, &columns()),
        PlanNode::OrderBy(sort) => columns().all(sort.keys.iter().map(|key| &key.column)),
        PlanNode::TopN(sort) => columns().all(sort.keys.iter().map(|key| &key.column)),
        PlanNode::HashJoin(join) => check_join(join, context),
        PlanNode::Unnest(unnest) => check_unnest(unnest, &columns()),
        PlanNode::LocalPartition(partition) => {
            check_sources(node, &partition.output_type)?;
            match &partition.partitioning {
                crate::plan::Partitioning::Hash(keys) => columns().all(keys),
                crate::plan::Partitioning::Gather | crate::plan::Partitioning::RoundRobin => Ok(()),
            }
        }
        PlanNode::LocalMerge(merge) => {
            check_sources(node, &merge.output_type)?;
            columns().all(merge.keys.iter().map(|key| &key.column))
        }
        PlanNode::Custom(custom) => check_custom(&**custom),
        PlanNode::Limit(_) | PlanNode::EnforceSingleRow(_) | PlanNode::TableWrite(_) => Ok(()),
    }
}

/// Columns of a source by name.
struct Columns<'a>(HashMap<&'a str, &'a Type>);

impl<'a> Columns<'a> {
    fn of(source: Option<&'a RowType>) -> Self {
        Columns(source.into_iter().flat_map(RowType::fields).collect())
    }

    fn type_of(&self, name: &str) -> Result<&'a Type> {
        self.0.get(name).copied().ok_or_else(|| {
            Error::invalid_input("a plan node uses a column that its source does not have")
                .with("column", name)
        })
    }

    fn expect(&self, name: &str, ty: &Type) -> Result<()> {
        check_type(name, self.type_of(name)?, ty)
    }

    fn all<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Result<()> {
        names.into_iter().try_for_each(|name| self.type_of(name).map(drop))
    }
}

/// Checks that types are equal, except for the names of the fields of structs.
fn check_type(column: &str, found: &Type, expected: &Type) -> Result<()> {
    if found.is_equivalent(expected) {
        return Ok(());
    }
    Err(Error::invalid_input("a column of a plan node has another type than is said of it")
        .with("column", column)
        .with("found", found)
        .with("expected", expected))
}

fn check_count(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid_input("a plan node has another number of columns than it says")
        .with("of", what)
        .with("found", found)
        .with("expected", expected))
}

fn check_columns(found: &RowType, expected: &RowType) -> Result<()> {
    check_count("columns", found.len(), expected.len())?;
    let types = found.types().iter().zip(expected.fields());
    types.into_iter().try_for_each(|(found, (name, expected))| check_type(name, found, expected))
}

fn check_scan(scan: &TableScanNode, connectors: &ConnectorRegistry) -> Result<()> {
    connectors.get(scan.table.connector_id())?;
    let mut handles = HashSet::new();
    if let Some((name, _)) = scan.assignments.iter().find(|(name, _)| !handles.insert(&**name)) {
        return Err(Error::invalid_input("a column of a scan has two handles").with("column", name));
    }
    match scan.output_type.names().iter().find(|name| !handles.contains(name.as_str())) {
        None => Ok(()),
        // A connector may identify its columns by name alone, as that of recorded inputs does.
        Some(_) if scan.assignments.is_empty() => Ok(()),
        Some(name) => {
            Err(Error::invalid_input("a column of a scan has no handle").with("column", name))
        }
    }
}

fn check_values(values: &ValuesNode) -> Result<()> {
    let mut batches = values.batches.iter();
    batches.try_for_each(|batch| check_columns(batch.row_type(), &values.output_type))
}

fn check_filter(
    predicate: &TypedExpr,
    input: &Arc<RowType>,
    context: PlanContext<'_>,
) -> Result<()> {
    if *predicate.ty() != Type::Boolean {
        return Err(Error::invalid_input("a filter is not BOOLEAN").with("type", predicate.ty()));
    }
    context.evaluator.check(std::slice::from_ref(predicate), input)
}

fn check_aggregation(node: &AggregationNode, columns: &Columns<'_>) -> Result<()> {
    let outputs = &node.output_type;
    check_count("keys and aggregates", node.keys.len() + node.aggregates.len(), outputs.len())?;
    let (keys, aggregates) = outputs.types().split_at(node.keys.len());
    for (key, ty) in node.keys.iter().zip(keys) {
        columns.expect(key, ty)?;
    }
    for (aggregate, ty) in node.aggregates.iter().zip(aggregates) {
        check_type(&aggregate.name, &aggregate.ty, ty)
            .and_then(|()| check_aggregate(aggregate, node.step, columns))
            .map_err(|error| error.in_named("aggregate", &aggregate.name))?;
    }
    Ok(())
}

fn check_aggregate(
    aggregate: &Aggregate,
    step: AggregationStep,
    columns: &Columns<'_>,
) -> Result<()> {
    for arg in &aggregate.args {
        match arg {
            TypedExpr::Field { name, ty } => columns.expect(name, ty)?,
            TypedExpr::Constant { .. } => {}
            other => {
                return Err(Error::invalid_input(
                    "an argument of an aggregate is neither a column nor a constant",
                )
                .with("argument", other));
            }
        }
    }
    match &aggregate.mask {
        None => {}
        Some(TypedExpr::Field { name, .. }) => columns.expect(name, &Type::Boolean)?,
        Some(other) => {
            return Err(Error::invalid_input("the mask of an aggregate is not a column")
                .with("mask", other));
        }
    }
    let signature = resolve_aggregate(&aggregate.function, &aggregate.raw_types)?;
    let takes_partials = matches!(step, AggregationStep::Intermediate | AggregationStep::Final);
    let expected = match takes_partials {
        true => std::slice::from_ref(&signature.intermediate),
        false => signature.args.as_slice(),
    };
    check_count("arguments of an aggregate", aggregate.args.len(), expected.len())?;
    for (arg, ty) in aggregate.args.iter().zip(expected) {
        check_type(&aggregate.name, arg.ty(), ty)?;
    }
    if takes_partials && aggregate.mask.is_some() {
        return Err(Error::invalid_input("an aggregate of intermediate results has a mask"));
    }
    let result = match step {
        AggregationStep::Single | AggregationStep::Final => &signature.result,
        AggregationStep::Partial | AggregationStep::Intermediate => &signature.intermediate,
    };
    check_type(&aggregate.name, &aggregate.ty, result)
}

fn check_join(join: &HashJoinNode, context: PlanContext<'_>) -> Result<()> {
    join.check()?;
    let Some(filter) = &join.filter else { return Ok(()) };
    let (left, right) = (join.left.output_type(), join.right.output_type());
    let both = left.fields().chain(right.fields()).map(|(name, ty)| (name.to_string(), ty.clone()));
    let both = Arc::new(RowType::new(both));
    let mut names = HashSet::new();
    if let Some(name) = both.names().iter().find(|name| !names.insert(name.as_str())) {
        return Err(Error::invalid_input(
            "both sides of a join with a filter have a column of one name",
        )
        .with("column", name));
    }
    check_filter(filter, &both, context)
}

fn check_unnest(unnest: &UnnestNode, columns: &Columns<'_>) -> Result<()> {
    let mut types = Vec::new();
    for name in &unnest.replicated {
        types.push(columns.type_of(name)?.clone());
    }
    for name in &unnest.unnested {
        match columns.type_of(name)? {
            Type::Array(element) => types.push((**element).clone()),
            Type::Map(key, value) => types.extend([(**key).clone(), (**value).clone()]),
            other => {
                return Err(Error::invalid_input("only arrays and maps can be unnested")
                    .with("column", name)
                    .with("type", other));
            }
        }
    }
    types.extend(unnest.with_ordinality.then_some(Type::BigInt));
    check_count("columns", unnest.output_type.len(), types.len())?;
    let outputs = unnest.output_type.fields().zip(&types);
    outputs.into_iter().try_for_each(|((name, found), ty)| check_type(name, found, ty))
}

fn check_sources(node: &PlanNode, output: &RowType) -> Result<()> {
    if node.source().is_none() {
        return Err(Error::invalid_input("a plan node needs a source"));
    }
    let mut sources = node.sources();
    sources.try_for_each(|source| check_columns(source.output_type(), output))
}

#[cfg(all(test, not(loom)))]
mod tests;
