//! From a plan to pipelines: which nodes many drivers run, and where their rows meet.
//!
//! ```text
//! one driver       [scan, filter, aggregation, order by]                      one pipeline
//!
//! N drivers        [scan, filter, partial aggregation] x N --exchange-->
//!                                     [final aggregation, order by]           two pipelines
//!
//! a join           [right scan, filter] x N --table-->
//!                                     [left scan, join, ..] x N --exchange--> three pipelines
//! ```
//!
//! A join's right source is a chain of its own that ends in the join's table; its left source
//! goes on through the join. Chains stand in an order in which each needs only earlier ones.
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
use crate::plan::{
    AggregationNode, AggregationStep, HashJoinNode, LimitNode, PlanNode, PlanNodeId,
};
use vector::RowType;

/// Nodes that pass rows on to each other, leaves first.
#[derive(Debug)]
pub(crate) struct Chain {
    /// What each of many drivers runs, ending in the exchange; none with one driver.
    pub(crate) producers: Option<Vec<Arc<PlanNode>>>,
    /// What the one driver behind runs. With producers and a table as the end, nothing when the
    /// producers can fill the table themselves.
    pub(crate) consumer: Vec<Arc<PlanNode>>,
    /// Where the rows go.
    pub(crate) end: ChainEnd,
}

/// Where the rows of a chain go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChainEnd {
    /// To the task's consumer.
    Output,
    /// Into the table of the join with this id.
    Table(PlanNodeId),
}

impl Chain {
    /// True when the producers fill the table: nothing stands between.
    pub(crate) fn fills_in_parallel(&self) -> bool {
        self.producers.is_some() && self.consumer.is_empty() && self.end != ChainEnd::Output
    }

    /// True when the producers run `node`; else the one driver does, if the node is here at all.
    pub(crate) fn produces(&self, node: &PlanNodeId) -> bool {
        self.producers.iter().flatten().any(|n| n.id() == node)
    }

    /// The joins that the chain's rows go through.
    pub(crate) fn joins(&self) -> impl Iterator<Item = &HashJoinNode> {
        let nodes = self.producers.iter().flatten().chain(&self.consumer);
        nodes.filter_map(|node| match &**node {
            PlanNode::HashJoin(join) => Some(join),
            _ => None,
        })
    }
}

/// Cuts a plan for one or for many drivers; the last chain gives the task's output.
pub(crate) fn cut(plan: &Arc<PlanNode>, many_drivers: bool) -> Result<Vec<Chain>> {
    let mut chains = Vec::new();
    // Found from the output backwards: whatever fills a table comes after its user here.
    let mut rest = vec![(plan, ChainEnd::Output)];
    while let Some((root, end)) = rest.pop() {
        let mut nodes = Vec::new();
        let mut next = Some(root);
        while let Some(node) = next {
            if let PlanNode::HashJoin(join) = &**node {
                rest.push((&join.right, ChainEnd::Table(Arc::clone(&join.id))));
            }
            nodes.push(Arc::clone(node));
            next = node.source();
        }
        nodes.reverse();
        let (producers, consumer) = cut_chain(nodes, many_drivers)?;
        chains.push(Chain { producers, consumer, end });
    }
    chains.reverse();
    Ok(chains)
}

type Parts = (Option<Vec<Arc<PlanNode>>>, Vec<Arc<PlanNode>>);

/// The producers and the consumer of nodes in the order of the rows' way.
fn cut_chain(mut nodes: Vec<Arc<PlanNode>>, many_drivers: bool) -> Result<Parts> {
    // Rows that the plan holds exist once; several drivers would give them several times.
    let splittable = matches!(nodes.first().map(AsRef::as_ref), Some(PlanNode::TableScan(_)));
    if !many_drivers || !splittable {
        return Ok((None, nodes));
    }
    let meeting = nodes.iter().position(|node| {
        !matches!(
            **node,
            PlanNode::TableScan(_)
                | PlanNode::Values(_)
                | PlanNode::Filter(_)
                | PlanNode::Project(_)
                | PlanNode::HashJoin(_)
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
    Ok((Some(producers), consumer))
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
        aggregate.mask = None;
    }
    let partial = Arc::new(PlanNode::Aggregation(partial));
    last.source = Arc::clone(&partial);
    Ok((partial, Arc::new(PlanNode::Aggregation(last))))
}
