//! The operators of a task's drivers: one for each plan node, a filter and the projection over it
//! together.
//!
//! Operators of one node that meet across drivers do so in what the task made for the node before:
//! the splits and filters of a scan, the table of a join.

use vector::sync::Arc;
use vector::{Error, Result};

use super::Shared;
use super::pipeline::{Chain, ChainEnd};
use crate::driver::StageParams;
use crate::operator::aggregate::HashAggregation;
use crate::operator::filter_project::FilterProject;
use crate::operator::hash_join::{FilterTarget, HashBuild, HashJoin, HashProbe, filter_keys};
use crate::operator::limit::Limit;
use crate::operator::order_by::OrderBy;
use crate::operator::table_scan::TableScan;
use crate::operator::top_n::TopN;
use crate::operator::values::Values;
use crate::operator::{Operator, OperatorCtx, SplitSource};
use crate::plan::{PlanNode, PlanNodeId, ProjectNode};

pub(super) type Operators = Vec<StageParams>;

/// A driver among those of its task, for the names of pools (rule S14.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) pipeline: usize,
    /// Which of the pipeline's drivers.
    pub(super) driver: usize,
}

/// The joins of a task that starts, by node.
pub(super) type Joins = Vec<(PlanNodeId, Arc<HashJoin>)>;

impl Shared {
    /// Makes the joins, each between the drivers that fill its table and those that use it.
    pub(super) fn joins(&self) -> Result<Joins> {
        let drivers = |parallel: bool| if parallel { self.num_drivers } else { 1 };
        let mut joins = Vec::new();
        for node in self.chains.iter().flat_map(Chain::joins) {
            let fills = |c: &Chain| matches!(&c.end, ChainEnd::Table(id) if *id == node.id);
            let parallel_build = self.chains.iter().any(|c| fills(c) && c.fills_in_parallel());
            let parallel_probe = self.chains.iter().any(|c| c.produces(&node.id));
            let targets = filter_keys(node).into_iter().filter_map(|(key, scan, channel)| {
                let scan = self.scans.iter().find(|s| s.id == *scan)?;
                Some(FilterTarget { key, slot: Arc::clone(&scan.filters), channel })
            });
            let drivers = (drivers(parallel_build), drivers(parallel_probe));
            let config = &self.query.config;
            let join = HashJoin::new(node, drivers, targets.collect(), config)?;
            joins.push((Arc::clone(&node.id), Arc::new(join)));
        }
        Ok(joins)
    }

    /// Adds the operator that a chain ends in, unless the rows are the task's.
    pub(super) fn end(
        &self,
        end: &ChainEnd,
        joins: &Joins,
        operators: &mut Operators,
        place: Place,
    ) -> Result<()> {
        if let ChainEnd::Table(id) = end {
            let ctx = self.operator_ctx(id, place, "HashBuild");
            let pool = Some(ctx.pool.clone());
            let operator = Box::new(HashBuild::new(join_of(joins, id)?, ctx));
            let node = Some(Arc::clone(id));
            operators.push(StageParams { operator, name: "HashBuild", node, pool });
        }
        Ok(())
    }

    /// Makes the operators of one driver behind those that there are; a projection over a filter
    /// becomes one operator with it.
    pub(super) fn operators(
        &self,
        nodes: &[Arc<PlanNode>],
        joins: &Joins,
        mut made: Operators,
        place: Place,
    ) -> Result<Operators> {
        let mut i = 0;
        while let Some(node) = nodes.get(i) {
            let behind = nodes.get(i + 1).map(AsRef::as_ref);
            let fused = match (&**node, behind) {
                (PlanNode::Filter(_), Some(PlanNode::Project(project))) => Some(project),
                _ => None,
            };
            i += if fused.is_some() { 2 } else { 1 };
            let owner = fused.map_or(node.id(), |project| &project.id);
            let ctx = self.operator_ctx(owner, place, node.name());
            let pool = Some(ctx.pool.clone());
            let (operator, name) = self.operator(node, fused, joins, ctx)?;
            made.push(StageParams { operator, name, node: Some(Arc::clone(owner)), pool });
        }
        Ok(made)
    }

    /// Makes the operator of a node and says what it is called.
    fn operator(
        &self,
        node: &PlanNode,
        fused: Option<&ProjectNode>,
        joins: &Joins,
        ctx: OperatorCtx,
    ) -> Result<(Box<dyn Operator>, &'static str)> {
        let evaluator = &*self.query.evaluator;
        let made: (Box<dyn Operator>, _) = match node {
            PlanNode::TableScan(scan) => {
                let state = self.scans.iter().find(|s| s.id == scan.id);
                let Some(state) = state else {
                    return Err(Error::internal("a scan without splits"));
                };
                let splits = Arc::clone(&state.splits) as Arc<dyn SplitSource>;
                let operator = TableScan::new(scan, splits, ctx);
                (Box::new(operator.with_filters(Arc::clone(&state.filters))), "TableScan")
            }
            PlanNode::Values(values) => (Box::new(Values::new(values)), "Values"),
            PlanNode::Filter(filter) => {
                let input = filter.source.output_type();
                let projections =
                    fused.map(|project| (project.expressions.as_slice(), &project.output_type));
                let predicate = Some(&filter.predicate);
                let step = FilterProject::new(evaluator, input, predicate, projections)?;
                (Box::new(step), "FilterProject")
            }
            PlanNode::Project(project) => {
                let input = project.source.output_type();
                let projections = Some((project.expressions.as_slice(), &project.output_type));
                let step = FilterProject::new(evaluator, input, None, projections)?;
                (Box::new(step), "FilterProject")
            }
            PlanNode::Aggregation(aggregation) => {
                (Box::new(HashAggregation::new(aggregation, ctx)?), "Aggregation")
            }
            PlanNode::OrderBy(order_by) => {
                let input = order_by.source.output_type();
                (Box::new(OrderBy::new(&order_by.keys, input, ctx)?), "OrderBy")
            }
            PlanNode::TopN(top_n) => {
                let input = top_n.source.output_type();
                (Box::new(TopN::new(&top_n.keys, top_n.count, input, ctx)?), "TopN")
            }
            PlanNode::HashJoin(join) => {
                (Box::new(HashProbe::new(join_of(joins, &join.id)?, ctx)?), "HashProbe")
            }
            PlanNode::Limit(limit) => (Box::new(Limit::new(limit.offset, limit.count)), "Limit"),
        };
        Ok(made)
    }

    /// What an operator of `node` is given; `kind` is a part of its pool's name.
    fn operator_ctx(&self, node: &PlanNodeId, place: Place, kind: &str) -> OperatorCtx {
        let Place { pipeline, driver } = place;
        let above = self.node_pools.iter().find(|(id, _)| id == node).map(|(_, pool)| pool);
        let name = format!("op.{node}.{pipeline}.{driver}.{kind}");
        OperatorCtx {
            node: Some(Arc::clone(node)),
            query: Arc::clone(&self.query),
            pool: above.unwrap_or(&self.pool).leaf(name),
            stop: self.termination.stop_flag().clone(),
        }
    }
}

fn join_of(joins: &Joins, id: &PlanNodeId) -> Result<Arc<HashJoin>> {
    let found = joins.iter().find(|(join, _)| join == id);
    found
        .map(|(_, join)| Arc::clone(join))
        .ok_or_else(|| Error::internal("a join without its state").with("node", id))
}
