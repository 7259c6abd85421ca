//! The operators of a task's drivers: one for each plan node, a filter and the projection over it
//! together.
//!
//! Operators of one node that meet across drivers do so in what the task made for the node before:
//! the splits and filters of a scan, the table of a join, the queues of an exchange.

use vector::sync::Arc;
use vector::{Error, Result};

use super::Shared;
use super::pipeline::{Exchange, ExchangeKind, Pipeline, PipelineEnd};
use crate::operator::aggregate::HashAggregation;
use crate::operator::distinct::Distinct;
use crate::operator::filter_project::FilterProject;
use crate::operator::hash_join::{FilterTarget, HashBuild, HashJoin, HashProbe, filter_keys};
use crate::operator::limit::Limit;
use crate::operator::local_exchange::LocalExchange;
use crate::operator::local_merge::LocalMerge;
use crate::operator::local_partition::{LocalPartition, Spread};
use crate::operator::order_by::OrderBy;
use crate::operator::single_row::EnforceSingleRow;
use crate::operator::sink::{BatchQueue, QueueSink};
use crate::operator::table_scan::TableScan;
use crate::operator::top_n::TopN;
use crate::operator::unnest::Unnest;
use crate::operator::values::Values;
use crate::operator::{Operator, OperatorCtx, SplitSource};
use crate::plan::{PlanNode, PlanNodeId, ProjectNode};

pub(super) type Operators = Vec<OperatorOfNode>;

/// An operator, what it is called, and the plan node it works for.
type OperatorOfNode = (Box<dyn Operator>, &'static str, Option<PlanNodeId>);

/// Where the drivers of a task that starts meet.
#[derive(Debug)]
pub(super) struct Meetings {
    /// The joins, by node.
    pub(super) joins: Vec<(PlanNodeId, Arc<HashJoin>)>,
    /// The exchanges, as the plan numbers them.
    pub(super) exchanges: Vec<ExchangeQueues>,
}

/// The queues of an exchange: one for each consumer, of a merge one for each producer.
#[derive(Debug)]
pub(super) struct ExchangeQueues {
    queues: Vec<Arc<BatchQueue>>,
    /// Producers made so far.
    num_producers: usize,
}

impl Shared {
    /// Makes the joins, each between the drivers that fill its table and those that use it.
    pub(super) fn joins(&self) -> Result<Vec<(PlanNodeId, Arc<HashJoin>)>> {
        let mut joins = Vec::new();
        for (node, num_probers) in self.plan.joins() {
            let targets = filter_keys(node).into_iter().filter_map(|(key, scan, channel)| {
                let scan = self.scans.iter().find(|s| s.id == *scan)?;
                Some(FilterTarget { key, slot: Arc::clone(&scan.filters), channel })
            });
            let drivers = (self.plan.num_builders(&node.id), num_probers);
            let config = &self.query.config;
            let join = HashJoin::new(node, drivers, targets.collect(), config)?;
            joins.push((Arc::clone(&node.id), Arc::new(join)));
        }
        Ok(joins)
    }

    /// Makes the queues of all exchanges.
    pub(super) fn exchanges(&self) -> Vec<ExchangeQueues> {
        let per_driver = self.query.config.local_exchange_batches_per_driver;
        let exchanges = self.plan.exchanges.iter().map(|exchange| {
            let (num_queues, producers_of_each) = match exchange.kind {
                ExchangeKind::Merge(..) => (exchange.num_producers, 1),
                _ => (exchange.num_consumers, exchange.num_producers),
            };
            let capacity = per_driver.saturating_mul(producers_of_each);
            let queues = (0..num_queues)
                .map(|_| Arc::new(BatchQueue::new(capacity, producers_of_each)))
                .collect();
            ExchangeQueues { queues, num_producers: 0 }
        });
        exchanges.collect()
    }

    /// Makes the operators of driver number `driver` of a pipeline; a projection over a filter
    /// becomes one operator with it.
    pub(super) fn operators(
        &self,
        pipeline: &Pipeline,
        driver: usize,
        meetings: &mut Meetings,
    ) -> Result<Operators> {
        let mut made = Vec::new();
        if let Some(exchange) = pipeline.source {
            made.push(self.taking_end(exchange, driver, meetings)?);
        }
        let nodes = &pipeline.nodes;
        let mut i = 0;
        while let Some(node) = nodes.get(i) {
            let behind = nodes.get(i + 1).map(AsRef::as_ref);
            let fused = match (&**node, behind) {
                (PlanNode::Filter(_), Some(PlanNode::Project(project))) => Some(project),
                _ => None,
            };
            i += if fused.is_some() { 2 } else { 1 };
            let owner = fused.map_or(node.id(), |project| &project.id);
            let ctx = self.operator_ctx(owner);
            let (operator, name) = self.operator(node, fused, meetings, ctx)?;
            made.push((operator, name, Some(Arc::clone(owner))));
        }
        match &pipeline.end {
            PipelineEnd::Output => {}
            PipelineEnd::Exchange(exchange) => made.push(self.giving_end(*exchange, meetings)?),
            PipelineEnd::Table(id) => {
                let build = HashBuild::new(join_of(meetings, id)?, self.operator_ctx(id));
                made.push((Box::new(build), "HashBuild", Some(Arc::clone(id))));
            }
        }
        Ok(made)
    }

    /// The first operator of consumer number `consumer` of an exchange.
    fn taking_end(
        &self,
        number: usize,
        consumer: usize,
        meetings: &Meetings,
    ) -> Result<OperatorOfNode> {
        let (exchange, made) = self.exchange(number, meetings)?;
        if let ExchangeKind::Merge(keys, row_type) = &exchange.kind {
            let max_rows = self.query.config.max_output_batch_rows;
            let merge = LocalMerge::new(made.queues.clone(), keys, row_type, max_rows)?;
            return Ok((Box::new(merge), "LocalMerge", exchange.node.clone()));
        }
        let queue = made.queues.get(consumer).ok_or_else(no_exchange)?;
        let taking = LocalExchange::new(Arc::clone(queue));
        Ok((Box::new(taking), "LocalExchange", exchange.node.clone()))
    }

    /// The last operator of the next producer of an exchange.
    fn giving_end(&self, number: usize, meetings: &mut Meetings) -> Result<OperatorOfNode> {
        let producer = match meetings.exchanges.get_mut(number) {
            Some(made) => {
                made.num_producers += 1;
                made.num_producers - 1
            }
            None => return Err(no_exchange()),
        };
        let (exchange, made) = self.exchange(number, meetings)?;
        let spread = match &exchange.kind {
            ExchangeKind::RoundRobin => Spread::RoundRobin,
            ExchangeKind::Hash(channels) => Spread::Hash(channels.clone()),
            ExchangeKind::Gather | ExchangeKind::Merge(..) => {
                let merges = matches!(exchange.kind, ExchangeKind::Merge(..));
                let queue = made.queues.get(if merges { producer } else { 0 });
                let sink = QueueSink::new(Arc::clone(queue.ok_or_else(no_exchange)?));
                return Ok((Box::new(sink), "LocalExchangeSink", exchange.node.clone()));
            }
        };
        let sink = LocalPartition::new(made.queues.clone(), spread, producer);
        Ok((Box::new(sink), "LocalPartition", exchange.node.clone()))
    }

    fn exchange<'a>(
        &'a self,
        number: usize,
        meetings: &'a Meetings,
    ) -> Result<(&'a Exchange, &'a ExchangeQueues)> {
        let found = self.plan.exchanges.get(number).zip(meetings.exchanges.get(number));
        found.ok_or_else(no_exchange)
    }

    /// Makes the operator of a node and says what it is called.
    fn operator(
        &self,
        node: &PlanNode,
        fused: Option<&ProjectNode>,
        meetings: &Meetings,
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
            PlanNode::Aggregation(n) if n.aggregates.is_empty() && !n.keys.is_empty() => {
                (Box::new(Distinct::new(n, ctx)?), "Distinct")
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
                (Box::new(HashProbe::new(join_of(meetings, &join.id)?, ctx)?), "HashProbe")
            }
            PlanNode::Limit(limit) => (Box::new(Limit::new(limit.offset, limit.count)), "Limit"),
            PlanNode::Unnest(unnest) => {
                let max_rows = ctx.query.config.max_output_batch_rows;
                (Box::new(Unnest::new(unnest, max_rows)?), "Unnest")
            }
            PlanNode::EnforceSingleRow(single) => {
                let input = single.source.output_type();
                (Box::new(EnforceSingleRow::new(input)), "EnforceSingleRow")
            }
            PlanNode::LocalPartition(_) | PlanNode::LocalMerge(_) => {
                return Err(Error::internal("an exchange inside of a pipeline"));
            }
        };
        Ok(made)
    }

    pub(super) fn operator_ctx(&self, node: &PlanNodeId) -> OperatorCtx {
        OperatorCtx {
            node: Some(Arc::clone(node)),
            query: Arc::clone(&self.query),
            pool: self.pool.leaf(&**node),
            stop: self.termination.stop_flag().clone(),
        }
    }
}

fn join_of(meetings: &Meetings, id: &PlanNodeId) -> Result<Arc<HashJoin>> {
    let found = meetings.joins.iter().find(|(join, _)| join == id);
    found
        .map(|(_, join)| Arc::clone(join))
        .ok_or_else(|| Error::internal("a join without its state").with("node", id))
}

fn no_exchange() -> Error {
    Error::internal("an exchange without its queues")
}
