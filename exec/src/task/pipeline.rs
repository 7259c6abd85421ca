//! From a plan to pipelines: which nodes many drivers run, and where their rows meet.
//!
//! ```text
//! one driver       [scan, filter, aggregation, order by]                      one pipeline
//!
//! N drivers        [scan, filter, partial aggregation] x N --exchange-->
//!                                     [final aggregation, order by]           two pipelines
//! ```
//!
//! Rows meet at the first node that must see all of them. What such a node can do early, each
//! producing driver does for its own rows:
//!
//! | node | in each producer | behind the exchange |
//! |---|---|---|
//! | aggregation | partial | final |
//! | aggregation with DISTINCT | - | the whole |
//! | top N | top N | top N |
//! | limit | limit of offset + count, from 0 | limit |
//! | order by | - | order by |
//! | none of them | everything | nothing |

use vector::Result;
use vector::sync::Arc;

use dwio::expr::TypedExpr;

use crate::operator::aggregate::intermediate_type;
use crate::plan::{AggregationNode, AggregationStep, LimitNode, PlanNode};
use vector::RowType;

/// The nodes of a task's pipelines, leaves first.
#[derive(Debug)]
pub(crate) struct Pipelines {
    /// What each of many drivers runs, ending in the exchange; none with one driver.
    pub(crate) producers: Option<Vec<Arc<PlanNode>>>,
    /// What the one driver runs whose output is the task's.
    pub(crate) consumer: Vec<Arc<PlanNode>>,
}

/// Cuts a plan for one or for many drivers.
pub(crate) fn cut(plan: &Arc<PlanNode>, many_drivers: bool) -> Result<Pipelines> {
    let mut nodes = Vec::new();
    let mut next = Some(plan);
    while let Some(node) = next {
        nodes.push(Arc::clone(node));
        next = node.source();
    }
    nodes.reverse();
    // Rows that the plan holds exist once; several drivers would give them several times.
    let splittable = matches!(nodes.first().map(AsRef::as_ref), Some(PlanNode::TableScan(_)));
    if !many_drivers || !splittable {
        return Ok(Pipelines { producers: None, consumer: nodes });
    }
    let meeting = nodes.iter().position(|node| {
        !matches!(
            **node,
            PlanNode::TableScan(_)
                | PlanNode::Values(_)
                | PlanNode::Filter(_)
                | PlanNode::Project(_)
        )
    });
    let mut consumer = nodes.split_off(meeting.unwrap_or(nodes.len()));
    let mut producers = nodes;
    if let Some(node) = consumer.first_mut() {
        match &**node {
            PlanNode::Aggregation(aggregation)
                if aggregation.step == AggregationStep::Single
                    && !aggregation.aggregates.iter().any(|a| a.distinct) =>
            {
                let (partial, last) = split_aggregation(aggregation)?;
                producers.push(partial);
                *node = last;
            }
            PlanNode::TopN(_) => producers.push(Arc::clone(node)),
            PlanNode::Limit(limit) => producers.push(Arc::new(PlanNode::Limit(LimitNode {
                offset: 0,
                count: limit.offset.saturating_add(limit.count),
                ..limit.clone()
            }))),
            _ => {}
        }
    }
    Ok(Pipelines { producers: Some(producers), consumer })
}

/// A single-step aggregation as a partial one and a final one over its output.
fn split_aggregation(node: &AggregationNode) -> Result<(Arc<PlanNode>, Arc<PlanNode>)> {
    let mut partial = node.clone();
    partial.step = AggregationStep::Partial;
    let types = node.output_type.types().iter();
    let mut fields: Vec<_> =
        node.keys.iter().cloned().zip(types).map(|(name, ty)| (name, ty.clone())).collect();
    for aggregate in &mut partial.aggregates {
        aggregate.ty = intermediate_type(&aggregate.function, &aggregate.raw_types)?;
        fields.push((aggregate.name.clone(), aggregate.ty.clone()));
    }
    partial.output_type = Arc::new(RowType::new(fields));

    let mut last = node.clone();
    last.step = AggregationStep::Final;
    for (aggregate, partial) in last.aggregates.iter_mut().zip(&partial.aggregates) {
        aggregate.args = vec![TypedExpr::field(partial.name.as_str(), partial.ty.clone())];
    }
    let partial = Arc::new(PlanNode::Aggregation(partial));
    last.source = Arc::clone(&partial);
    Ok((partial, Arc::new(PlanNode::Aggregation(last))))
}
