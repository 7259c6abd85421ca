//! Plan nodes as Velox writes them.

use exec::plan::{
    Aggregate, AggregationNode, AggregationStep, LocalPartitionNode, Partitioning, PlanNode,
    SortKey, UnnestNode,
};
use serde_json::{Value as Json, json};
use vector::{Error, Result, RowType, Type};

use super::expressions::{expr_json, field_json};
use super::handles::{column_json, table_json};
use super::types::{row_json, type_json};

/// The JSON of a node and of everything below it; `Unsupported` names a node that traces have no
/// form for.
pub(super) fn plan_json(node: &PlanNode) -> Result<Json> {
    let mut json = match node {
        PlanNode::TableScan(scan) => {
            let assignments = scan.assignments.iter().map(|(output, column)| {
                Ok(json!({"assign": output, "columnHandle": column_json(&**column)?}))
            });
            json!({
                "name": "TableScanNode",
                "outputType": row_json(&scan.output_type)?,
                "tableHandle": table_json(&*scan.table)?,
                "assignments": assignments.collect::<Result<Vec<_>>>()?,
            })
        }
        PlanNode::Filter(filter) => {
            json!({"name": "FilterNode", "filter": expr_json(&filter.predicate)?})
        }
        PlanNode::Project(project) => {
            let projections = project.expressions.iter().map(expr_json);
            json!({
                "name": "ProjectNode",
                "names": project.output_type.names(),
                "projections": projections.collect::<Result<Vec<_>>>()?,
            })
        }
        PlanNode::Aggregation(aggregation) => aggregation_json(aggregation)?,
        PlanNode::OrderBy(sort) => {
            let mut json = json!({"name": "OrderByNode", "partial": false});
            sorting(&mut json, &sort.keys, sort.source.output_type())?;
            json
        }
        PlanNode::TopN(top) => {
            let mut json = json!({"name": "TopNNode", "partial": false, "count": top.count});
            sorting(&mut json, &top.keys, top.source.output_type())?;
            json
        }
        PlanNode::Limit(limit) => json!({
            "name": "LimitNode", "partial": false, "offset": limit.offset,
            "count": limit.count.min(i64::MAX.unsigned_abs()),
        }),
        PlanNode::HashJoin(join) => {
            let mut json = json!({
                "name": "HashJoinNode",
                "joinType": join.join_type.to_string(),
                "nullAware": join.null_aware,
                "leftKeys": columns(&join.left_keys, join.left.output_type())?,
                "rightKeys": columns(&join.right_keys, join.right.output_type())?,
                "outputType": row_json(&join.output_type)?,
            });
            if let Some(filter) = &join.filter {
                json["filter"] = expr_json(filter)?;
            }
            json
        }
        PlanNode::Unnest(unnest) => unnest_json(unnest)?,
        PlanNode::EnforceSingleRow(_) => json!({"name": "EnforceSingleRowNode"}),
        PlanNode::LocalMerge(merge) => {
            let mut json = json!({"name": "LocalMergeNode"});
            sorting(&mut json, &merge.keys, &merge.output_type)?;
            json
        }
        PlanNode::LocalPartition(partition) => partition_json(partition)?,
        // Who replays the rows has them, and no files are written again.
        PlanNode::TableWrite(write) => return plan_json(&write.source),
        PlanNode::Values(_) | PlanNode::Custom(_) => {
            return Err(Error::unsupported("a plan node that traces have no form for")
                .with("node", node.name())
                .with("id", node.id()));
        }
    };
    json["id"] = json!(&**node.id());
    let sources = node.sources().map(|source| plan_json(source)).collect::<Result<Vec<_>>>()?;
    if !sources.is_empty() {
        json["sources"] = json!(sources);
    }
    Ok(json)
}

fn partition_json(node: &LocalPartitionNode) -> Result<Json> {
    let (kind, spec) = match &node.partitioning {
        Partitioning::Gather => ("GATHER", json!({"name": "GatherPartitionFunctionSpec"})),
        Partitioning::RoundRobin => {
            ("REPARTITION", json!({"name": "RoundRobinPartitionFunctionSpec"}))
        }
        Partitioning::Hash(keys) => {
            let channels = keys.iter().map(|key| {
                node.output_type.index_of(key).ok_or_else(|| {
                    Error::internal("a plan names a column that its source has not")
                        .with("column", key)
                })
            });
            let spec = json!({
                "name": "HashPartitionFunctionSpec",
                "inputType": row_json(&node.output_type)?,
                "keyChannels": channels.collect::<Result<Vec<_>>>()?,
                "constants": [],
            });
            ("REPARTITION", spec)
        }
    };
    Ok(json!({"name": "LocalPartitionNode", "type": kind, "scaleWriter": false,
        "partitionFunctionSpec": spec}))
}

fn unnest_json(node: &UnnestNode) -> Result<Json> {
    if node.keeps_empty {
        let what = "traces have no form for an unnest that keeps rows without elements";
        return Err(Error::unsupported(what).with("id", &node.id));
    }
    let input = node.source.output_type();
    let mut names = node.output_type.names().get(node.replicated.len()..).unwrap_or_default();
    let mut json = json!({
        "name": "UnnestNode",
        "replicateVariables": columns(&node.replicated, input)?,
        "unnestVariables": columns(&node.unnested, input)?,
        "withOrdinality": node.with_ordinality,
    });
    if let (true, Some((last, others))) = (node.with_ordinality, names.split_last()) {
        json["ordinalityName"] = json!(last);
        names = others;
    }
    json["unnestNames"] = json!(names);
    Ok(json)
}

fn aggregation_json(node: &AggregationNode) -> Result<Json> {
    if node.step != AggregationStep::Single {
        return Err(Error::unsupported("a step of an aggregation cannot be recorded alone")
            .with("id", &node.id));
    }
    let aggregates = node.aggregates.iter().map(aggregate_json).collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = node.aggregates.iter().map(|a| a.name.as_str()).collect();
    Ok(json!({
        "name": "AggregationNode",
        "step": "SINGLE",
        "groupingKeys": columns(&node.keys, node.source.output_type())?,
        "preGroupedKeys": [],
        "aggregateNames": names,
        "aggregates": aggregates,
        "globalGroupingSets": [],
        "ignoreNullKeys": false,
    }))
}

fn aggregate_json(aggregate: &Aggregate) -> Result<Json> {
    // Velox averages REAL as REAL: its plan would be another one.
    if &*aggregate.function == "avg" && aggregate.raw_types == [Type::Real] {
        return Err(Error::unsupported("an average of REAL cannot be recorded")
            .with("name", &aggregate.name));
    }
    let inputs = aggregate.args.iter().map(expr_json).collect::<Result<Vec<_>>>()?;
    let raw_types = aggregate.raw_types.iter().map(type_json).collect::<Result<Vec<_>>>()?;
    let mut json = json!({
        "call": {
            "name": "CallTypedExpr", "type": type_json(&aggregate.ty)?,
            "functionName": &*aggregate.function, "inputs": inputs,
        },
        "rawInputTypes": raw_types,
        "sortingKeys": [],
        "sortingOrders": [],
        "distinct": aggregate.distinct,
    });
    if let Some(mask) = &aggregate.mask {
        json["mask"] = expr_json(mask)?;
    }
    Ok(json)
}

fn columns(names: &[String], input: &RowType) -> Result<Vec<Json>> {
    names.iter().map(|name| column(name, input)).collect()
}

fn column(name: &str, input: &RowType) -> Result<Json> {
    let ty = input.type_of(name).ok_or_else(|| {
        Error::internal("a plan names a column that its source has not").with("column", name)
    })?;
    field_json(name, ty)
}

fn sorting(json: &mut Json, keys: &[SortKey], input: &RowType) -> Result<()> {
    let columns = keys.iter().map(|key| column(&key.column, input)).collect::<Result<Vec<_>>>()?;
    let order = |key: &SortKey| json!({"ascending": !key.order.descending, "nullsFirst": key.order.nulls_first});
    json["sortingKeys"] = json!(columns);
    json["sortingOrders"] = json!(keys.iter().map(order).collect::<Vec<_>>());
    Ok(())
}
