//! Creates the operators of a task's drivers: one per plan node, where a filter and the projection
//! over it become one operator.
//!
//! Operators of one node share state across drivers: the splits and filters of a scan, the table of
//! a join, the queues of an exchange. The task creates this state before the operators.

use vector::sync::Arc;
use vector::{Error, MemoryPool, Result};

use super::Shared;
use super::pipeline::{Exchange, ExchangeKind, Pipeline, PipelineEnd};
use super::scan::ScanContext;
use crate::driver::StageParams;
use crate::operator::aggregate::HashAggregation;
use crate::operator::distinct::Distinct;
use crate::operator::filter_project::FilterProject;
use crate::operator::hash_join::{HashBuild, HashJoin, HashProbe, KeyTargets, filter_keys};
use crate::operator::limit::Limit;
use crate::operator::local_exchange::LocalExchange;
use crate::operator::local_merge::LocalMerge;
use crate::operator::local_partition::{LocalPartition, Spread};
use crate::operator::order_by::OrderBy;
use crate::operator::order_filter::OrderFilter;
use crate::operator::scan_targets::{ColumnSources, ScanTarget};
use crate::operator::single_row::EnforceSingleRow;
use crate::operator::sink::{BatchQueue, QueueSink};
use crate::operator::table_write::TableWrite;
use crate::operator::top_n::TopN;
use crate::operator::traced::Traced;
use crate::operator::unnest::Unnest;
use crate::operator::values::Values;
use crate::operator::{Operator, OperatorCtx};
use crate::plan::{
    AggregationStep, CustomOperatorCtx, PlanNode, PlanNodeId, ProjectNode, TopNNode, WriterPlace,
};
use crate::trace::{OperatorTrace, TracedOperator};

pub(super) type Operators = Vec<StageParams>;

/// Identifies a driver within its task, for the names of pools: a pool of an operator is called
/// `op.<node>.<pipeline>.<driver>.<type>` (rule S14.1).
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) pipeline: usize,
    /// Index of the driver within its pipeline.
    pub(super) driver: usize,
}

/// State that connects the drivers of a starting task.
#[derive(Debug)]
pub(super) struct TaskLinks {
    /// Joins by plan node.
    pub(super) joins: Vec<(PlanNodeId, Arc<HashJoin>)>,
    /// Exchanges in the order of the plan's exchange numbers.
    pub(super) exchanges: Vec<ExchangeQueues>,
}

/// Queues of an exchange: one per consumer, or one per producer for a merge.
#[derive(Debug)]
pub(super) struct ExchangeQueues {
    queues: Vec<Arc<BatchQueue>>,
    /// Parent of the producers' pools, which the queued batches are charged to.
    pool: MemoryPool,
    /// Number of producers created so far.
    num_producers: usize,
}

impl Shared {
    /// Creates the joins, each shared by the drivers that build its table and those that probe it.
    pub(super) fn joins(&self) -> Result<Vec<(PlanNodeId, Arc<HashJoin>)>> {
        let mut joins = Vec::new();
        for (node, num_probers) in self.plan.joins() {
            let targets = filter_keys(node).into_iter().map(|(key, sources)| KeyTargets {
                key,
                scans: self.targets_of(&sources),
                covers_all: sources.covers_all,
            });
            let drivers = (self.plan.num_builders(&node.id), num_probers);
            let config = &self.query.config;
            let join = HashJoin::new(node, drivers, targets.collect(), config)?;
            joins.push((Arc::clone(&node.id), Arc::new(join)));
        }
        Ok(joins)
    }

    /// Returns the filter slots of the scans that produce a column.
    fn targets_of(&self, sources: &ColumnSources<'_>) -> Vec<ScanTarget> {
        let scans = sources.scans.iter().filter_map(|(id, channel)| {
            let scan = self.scans.iter().find(|scan| scan.id == **id)?;
            Some(ScanTarget { slot: Arc::clone(&scan.filters), channel: *channel })
        });
        scans.collect()
    }

    /// Returns the filter that a top-N pushes into the scans below it; `None` when no scan can take
    /// it or the pushdown is disabled.
    fn order_filter(&self, node: &TopNNode) -> Option<OrderFilter> {
        let key = node.keys.first()?;
        if !self.query.config.topn_dynamic_filter_pushdown_enabled {
            return None;
        }
        let sources = ColumnSources::of(&node.source, &key.column);
        let targets = self.targets_of(&sources);
        if sources.is_direct {
            targets.iter().for_each(|target| target.slot.read_first(target.channel, key.order));
        }
        let ty = node.source.output_type().type_of(&key.column)?.clone();
        (!targets.is_empty()).then(|| OrderFilter::new(&node.id, (ty, key.order), targets))
    }

    /// Creates the queues of all exchanges.
    pub(super) fn exchanges(&self) -> Vec<ExchangeQueues> {
        let per_driver = self.query.config.local_exchange_batches_per_driver;
        let exchanges = self.plan.exchanges.iter().enumerate().map(|(number, exchange)| {
            let (num_queues, producers_of_each) = match exchange.kind {
                ExchangeKind::Merge(..) => (exchange.num_producers, 1),
                _ => (exchange.num_consumers, exchange.num_producers),
            };
            let capacity = per_driver.saturating_mul(producers_of_each);
            let queues = (0..num_queues)
                .map(|_| Arc::new(BatchQueue::new(capacity, producers_of_each)))
                .collect();
            let pool = self.pool.aggregate(format!("exchange.{number}"), u64::MAX);
            ExchangeQueues { queues, pool, num_producers: 0 }
        });
        exchanges.collect()
    }

    /// Creates the operators of a driver of a pipeline. A filter and the projection over it become
    /// one operator.
    pub(super) fn operators(
        &self,
        pipeline: &Pipeline,
        place: Place,
        meetings: &mut TaskLinks,
    ) -> Result<Operators> {
        let mut made = Vec::new();
        if let Some(exchange) = pipeline.source {
            made.push(self.taking_end(exchange, place.driver, meetings)?);
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
            let ctx = self.operator_ctx(owner, place, node.name());
            let pool = Some(ctx.pool.clone());
            let trace = self.trace(owner, operator_name(node), step_of(node), place)?;
            let (operator, name) =
                self.operator(node, fused, meetings, (ctx, place.driver), trace.as_ref())?;
            let operator = traced(operator, trace);
            made.push(StageParams { operator, name, node: Some(Arc::clone(owner)), pool });
        }
        match &pipeline.end {
            PipelineEnd::Output => {}
            PipelineEnd::Exchange(exchange) => made.push(self.giving_end(*exchange, meetings)?),
            PipelineEnd::Table(id) => {
                let ctx = self.operator_ctx(id, place, "HashBuild");
                let pool = Some(ctx.pool.clone());
                let operator = Box::new(HashBuild::new(join_of(meetings, id)?, ctx));
                let operator = traced(operator, self.trace(id, "HashBuild", None, place)?);
                let node = Some(Arc::clone(id));
                made.push(StageParams { operator, name: "HashBuild", node, pool });
            }
        }
        Ok(made)
    }

    /// Returns the exchange source: the first operator of consumer number `consumer` of an
    /// exchange.
    fn taking_end(
        &self,
        number: usize,
        consumer: usize,
        meetings: &TaskLinks,
    ) -> Result<StageParams> {
        let (exchange, made) = self.exchange(number, meetings)?;
        let stage = match &exchange.kind {
            ExchangeKind::Merge(keys, row_type) => {
                let max_rows = self.query.config.max_output_batch_rows;
                let merge = LocalMerge::new(made.queues.clone(), keys, row_type, max_rows)?;
                StageParams::of_task(merge, "LocalMerge")
            }
            _ => {
                let queue = made.queues.get(consumer).ok_or_else(no_exchange)?;
                StageParams::of_task(LocalExchange::new(Arc::clone(queue)), "LocalExchange")
            }
        };
        Ok(StageParams { node: exchange.node.clone(), ..stage })
    }

    /// Returns the exchange sink: the last operator of the next producer of an exchange.
    fn giving_end(&self, number: usize, meetings: &mut TaskLinks) -> Result<StageParams> {
        let producer = match meetings.exchanges.get_mut(number) {
            Some(made) => {
                made.num_producers += 1;
                made.num_producers - 1
            }
            None => return Err(no_exchange()),
        };
        let (exchange, made) = self.exchange(number, meetings)?;
        let pool = made.pool.leaf(format!("producer.{producer}"));
        let sink = |queue: usize| {
            let queue = made.queues.get(queue).ok_or_else(no_exchange)?;
            let sink = QueueSink::new(Arc::clone(queue)).with_pool(&pool);
            Ok(StageParams::of_task(sink, "LocalExchangeSink"))
        };
        let partition = |spread| {
            let partition = LocalPartition::new(made.queues.clone(), spread, producer);
            StageParams::of_task(partition.with_pool(&pool), "LocalPartition")
        };
        let stage = match &exchange.kind {
            ExchangeKind::Gather => sink(0)?,
            ExchangeKind::Merge(..) => sink(producer)?,
            ExchangeKind::RoundRobin => partition(Spread::RoundRobin),
            ExchangeKind::Hash(channels) => partition(Spread::Hash(channels.clone())),
        };
        Ok(StageParams { node: exchange.node.clone(), pool: Some(pool), ..stage })
    }

    fn exchange<'a>(
        &'a self,
        number: usize,
        meetings: &'a TaskLinks,
    ) -> Result<(&'a Exchange, &'a ExchangeQueues)> {
        let found = self.plan.exchanges.get(number).zip(meetings.exchanges.get(number));
        found.ok_or_else(no_exchange)
    }

    /// Creates the operator of a node and returns its name.
    fn operator(
        &self,
        node: &PlanNode,
        fused: Option<&ProjectNode>,
        meetings: &TaskLinks,
        (ctx, driver): (OperatorCtx, usize),
        trace: Option<&Arc<dyn OperatorTrace>>,
    ) -> Result<(Box<dyn Operator>, &'static str)> {
        let evaluator = &*self.query.evaluator;
        let made: (Box<dyn Operator>, _) = match node {
            PlanNode::TableScan(scan) => {
                let state = self.scans.iter().find(|s| s.id == scan.id);
                let Some(state) = state else {
                    return Err(Error::internal("a scan without splits"));
                };
                let surroundings =
                    ScanContext { termination: &self.termination, threads: &self.threads, trace };
                (Box::new(state.operator(scan, ctx, surroundings)), "TableScan")
            }
            PlanNode::Values(values) => (Box::new(Values::new(values)), "Values"),
            PlanNode::Filter(filter) => {
                let input = filter.source.output_type();
                let projections =
                    fused.map(|project| (project.expressions.as_slice(), &project.output_type));
                let predicate = Some(&filter.predicate);
                let step = FilterProject::new(evaluator, input, predicate, projections)?
                    .with_batch_bytes(self.query.config.preferred_output_batch_bytes);
                (Box::new(step), "FilterProject")
            }
            PlanNode::Project(project) => {
                let input = project.source.output_type();
                let projections = Some((project.expressions.as_slice(), &project.output_type));
                let step = FilterProject::new(evaluator, input, None, projections)?
                    .with_batch_bytes(self.query.config.preferred_output_batch_bytes);
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
                let operator = TopN::new(&top_n.keys, top_n.count, input, ctx)?;
                (Box::new(operator.with_order_filter(self.order_filter(top_n))), "TopN")
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
            PlanNode::TableWrite(write) => {
                let num_drivers = self.plan.num_drivers_of(&write.id);
                let place = WriterPlace { driver, num_drivers, pool: ctx.pool };
                (Box::new(TableWrite::new(write.target.writer(place)?)), "TableWrite")
            }
            PlanNode::Custom(custom) => {
                let ctx = CustomOperatorCtx { pool: ctx.pool, stop: ctx.stop, driver };
                (custom.operator(ctx)?, custom.name())
            }
            PlanNode::LocalPartition(_) | PlanNode::LocalMerge(_) => {
                return Err(Error::internal("an exchange inside of a pipeline"));
            }
        };
        Ok(made)
    }

    /// Returns the trace of an operator, if the query is traced.
    fn trace(
        &self,
        node: &PlanNodeId,
        name: &'static str,
        step: Option<AggregationStep>,
        place: Place,
    ) -> Result<Option<Arc<dyn OperatorTrace>>> {
        let Some(tracer) = &self.query.tracer else { return Ok(None) };
        let Place { pipeline, driver } = place;
        tracer.operator(&TracedOperator { node, name, step, pipeline, driver })
    }

    /// Returns the context of an operator of `node`; `kind` is a part of the name of its pool.
    fn operator_ctx(&self, node: &PlanNodeId, place: Place, kind: &str) -> OperatorCtx {
        let Place { pipeline, driver } = place;
        let above = self.node_pools.iter().find(|(id, _)| id == node).map(|(_, pool)| pool);
        let limit = self.query.config.operator_memory_limit_bytes;
        let name = format!("op.{node}.{pipeline}.{driver}.{kind}");
        OperatorCtx {
            node: Some(Arc::clone(node)),
            query: Arc::clone(&self.query),
            pool: above.unwrap_or(&self.pool).limited_leaf(name, limit),
            stop: self.termination.stop_flag().clone(),
        }
    }
}

/// Wraps the operator in its trace, if it has one.
fn traced(operator: Box<dyn Operator>, trace: Option<Arc<dyn OperatorTrace>>) -> Box<dyn Operator> {
    match trace {
        Some(trace) => Box::new(Traced::new(operator, trace)),
        None => operator,
    }
}

/// Returns the name of the operator of a node.
fn operator_name(node: &PlanNode) -> &'static str {
    match node {
        PlanNode::Filter(_) | PlanNode::Project(_) => "FilterProject",
        PlanNode::HashJoin(_) => "HashProbe",
        node => node.name(),
    }
}

fn step_of(node: &PlanNode) -> Option<AggregationStep> {
    match node {
        PlanNode::Aggregation(aggregation) => Some(aggregation.step),
        _ => None,
    }
}

fn join_of(meetings: &TaskLinks, id: &PlanNodeId) -> Result<Arc<HashJoin>> {
    let found = meetings.joins.iter().find(|(join, _)| join == id);
    found
        .map(|(_, join)| Arc::clone(join))
        .ok_or_else(|| Error::internal("a join without its state").with("node", id))
}

fn no_exchange() -> Error {
    Error::internal("an exchange without its queues")
}
