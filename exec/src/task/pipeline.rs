//! Cuts a plan into pipelines: decides which nodes several drivers run, and where their rows are
//! exchanged.
//!
//! ```text
//! one driver       [scan, filter, aggregation, order by]                      one pipeline
//!
//! N drivers        [scan, filter, partial aggregation] x N --hash of keys-->
//!                                     [final aggregation, order by] x N --merge--> [] x 1
//!
//! a join           [right scan, filter] x N --table-->
//!                                     [left scan, join, ..] x N --gather--> [] x 1
//!
//! UNION ALL        [scan, ..] x N --\
//!                  [scan, ..] x N ---+--round robin--> [aggregation, ..] x N .. --> [] x 1
//! ```
//!
//! A [`Pipeline`] is a chain of nodes that a number of drivers run in parallel. Nodes that process
//! each row by itself stay in the pipeline of their source. The other nodes must see all rows of a
//! group, or all rows, so the rows of several drivers go through an [`Exchange`] before them:
//!
//! | node | each driver before | exchange | after it |
//! |---|---|---|---|
//! | aggregation with keys | partial | by hash of the keys | final, N drivers |
//! | with DISTINCT | - | by hash of the keys | single step, N drivers |
//! | without keys | partial, unless DISTINCT | to one driver | final |
//! | order by | order by | sorted merge | - |
//! | top N | top N | to one driver | top N |
//! | limit | limit of offset + count, from 0 | to one driver | limit |
//! | single row | - | to one driver | single row |
//! | write of one file | - | to one driver | write |
//! | write of several | write | - | - |
//! | the task's output | - | to one driver | - |
//!
//! With one driver only a node with several sources needs an exchange.
//!
//! Pipelines are listed so that producers precede their consumers. Of several sources the first is
//! listed last: when one thread runs all pipelines, it always runs the last one that can make
//! progress, so rows are returned in the order of the sources, and a hash table is built when its
//! probe first requires it.

use vector::sync::Arc;
use vector::{Error, Result, RowType};

use dwio::expr::TypedExpr;

use crate::operator::aggregate::intermediate_type;
use crate::operator::channel_of;
use crate::plan::{
    AggregationNode, AggregationStep, HashJoinNode, LimitNode, LocalMergeNode, LocalPartitionNode,
    Parallelism, Partitioning, PlanNode, PlanNodeId, SortKey,
};

/// A plan that is cut into pipelines.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    /// Pipelines, producers first. The last one produces the task's rows, with one driver.
    pub(crate) pipelines: Vec<Pipeline>,
    /// Exchanges between the pipelines.
    pub(crate) exchanges: Vec<Exchange>,
}

/// A chain of nodes that each driver of the pipeline runs.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// Index of the exchange that the rows come from; `None` when the first node is a leaf.
    pub(crate) source: Option<usize>,
    /// Nodes in the order of the data flow.
    pub(crate) nodes: Vec<Arc<PlanNode>>,
    /// Number of drivers that run the nodes.
    pub(crate) num_drivers: usize,
    /// Destination of the rows.
    pub(crate) end: PipelineEnd,
}

/// Destination of the rows of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PipelineEnd {
    /// The consumer of the task.
    Output,
    /// The exchange with this index.
    Exchange(usize),
    /// The hash table of the join with this id.
    Table(PlanNodeId),
}

/// Transfers rows from the drivers of some pipelines to the drivers of another one.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Plan node of the exchange; `None` when only the number of drivers requires it.
    pub(crate) node: Option<PlanNodeId>,
    /// How rows are distributed over the consumers.
    pub(crate) kind: ExchangeKind,
    /// Number of producing drivers.
    pub(crate) num_producers: usize,
    /// Number of consuming drivers.
    pub(crate) num_consumers: usize,
}

/// How an exchange distributes rows over its consumers.
#[derive(Debug, Clone)]
pub(crate) enum ExchangeKind {
    /// All rows go to the only consumer.
    Gather,
    /// Batches go to the consumers in turn.
    RoundRobin,
    /// The hash of these channels selects the consumer of a row.
    Hash(Vec<usize>),
    /// All rows go to the only consumer, which merges the sorted rows of the producers.
    Merge(Vec<SortKey>, Arc<RowType>),
}

impl Pipelines {
    /// Returns the number of drivers that build the table of a join.
    pub(crate) fn num_builders(&self, join: &PlanNodeId) -> usize {
        let fills = |p: &&Pipeline| matches!(&p.end, PipelineEnd::Table(id) if id == join);
        self.pipelines.iter().filter(fills).map(|p| p.num_drivers).sum()
    }

    /// Returns the number of drivers that run a node.
    pub(crate) fn num_drivers_of(&self, node: &PlanNodeId) -> usize {
        let runs = |p: &&Pipeline| p.nodes.iter().any(|n| n.id() == node);
        self.pipelines.iter().filter(runs).map(|p| p.num_drivers).sum()
    }

    /// Returns all joins, each with the number of drivers that probe its table.
    pub(crate) fn joins(&self) -> impl Iterator<Item = (&HashJoinNode, usize)> {
        let nodes = self.pipelines.iter().flat_map(|p| p.nodes.iter().map(|n| (n, p.num_drivers)));
        nodes.filter_map(|(node, num_drivers)| match &**node {
            PlanNode::HashJoin(join) => Some((join, num_drivers)),
            _ => None,
        })
    }
}

/// Number of drivers that run the pipelines of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drivers {
    pub(crate) most: usize,
    of_scans: Vec<(PlanNodeId, usize)>,
}

impl From<usize> for Drivers {
    /// Uses `most` drivers, at least one, for every pipeline that may have several.
    fn from(most: usize) -> Self {
        Drivers { most: most.max(1), of_scans: Vec::new() }
    }
}

impl Drivers {
    /// Uses fewer drivers for the pipeline of a scan that has few splits. The pipelines above its
    /// exchanges keep their number of drivers.
    pub fn with_scan(mut self, scan: PlanNodeId, drivers: usize) -> Self {
        self.of_scans.push((scan, drivers.clamp(1, self.most)));
        self
    }

    fn of_scan(&self, scan: &PlanNodeId) -> usize {
        let known = self.of_scans.iter().find(|(id, _)| id == scan);
        known.map_or(self.most, |(_, drivers)| *drivers)
    }
}

/// Cuts a plan into pipelines for the given numbers of drivers.
pub(crate) fn cut(plan: &Arc<PlanNode>, drivers: &Drivers) -> Result<Pipelines> {
    let mut cutter = Cutter { drivers, made: Pipelines::default() };
    let open = cutter.open(plan)?;
    let open = cutter.gather(open);
    cutter.close(open, PipelineEnd::Output);
    Ok(cutter.made)
}

/// Builds the pipelines; holds those that are complete.
struct Cutter<'d> {
    drivers: &'d Drivers,
    made: Pipelines,
}

/// A pipeline with an end that is not yet known.
struct Open {
    source: Option<usize>,
    nodes: Vec<Arc<PlanNode>>,
    num_drivers: usize,
}

impl Open {
    fn leaf(node: &Arc<PlanNode>, num_drivers: usize) -> Self {
        Open { source: None, nodes: vec![Arc::clone(node)], num_drivers }
    }

    fn then(mut self, node: &Arc<PlanNode>) -> Self {
        self.nodes.push(Arc::clone(node));
        self
    }
}

impl Cutter<'_> {
    /// Returns the pipeline that produces the rows of `node`.
    fn open(&mut self, node: &Arc<PlanNode>) -> Result<Open> {
        match node.info().parallelism() {
            Parallelism::Splits => Ok(Open::leaf(node, self.drivers.of_scan(node.id()))),
            Parallelism::OneDriver => Ok(Open::leaf(node, 1)),
            Parallelism::RowWise => Ok(self.open(source_of(node)?)?.then(node)),
            Parallelism::Gathered => {
                let open = self.open(source_of(node)?)?;
                Ok(self.gather(open).then(node))
            }
            Parallelism::Special => self.special(node),
        }
    }

    /// The pipeline of a node with a rule of its own.
    fn special(&mut self, node: &Arc<PlanNode>) -> Result<Open> {
        Ok(match &**node {
            PlanNode::HashJoin(join) => {
                let right = self.open(&join.right)?;
                self.close(right, PipelineEnd::Table(Arc::clone(&join.id)));
                self.open(&join.left)?.then(node)
            }
            PlanNode::Aggregation(n) => self.aggregation(n, node)?,
            PlanNode::OrderBy(n) => {
                let sorted = self.open(&n.source)?.then(node);
                let row_type = Arc::clone(n.source.output_type());
                self.exchange(sorted, ExchangeKind::Merge(n.keys.clone(), row_type), 1)
            }
            PlanNode::TopN(n) => match self.open(&n.source)? {
                open if open.num_drivers == 1 => open.then(node),
                open => self.gather(open.then(node)).then(node),
            },
            PlanNode::Limit(n) => match self.open(&n.source)? {
                open if open.num_drivers == 1 => open.then(node),
                open => {
                    let first = Arc::new(PlanNode::Limit(LimitNode {
                        offset: 0,
                        count: n.offset.saturating_add(n.count),
                        ..n.clone()
                    }));
                    self.gather(open.then(&first)).then(node)
                }
            },
            PlanNode::LocalPartition(n) => self.partition(n)?,
            PlanNode::LocalMerge(n) => self.merge(n)?,
            other => {
                return Err(Error::internal("a plan node without a rule for its pipelines")
                    .with("node", format!("{}[{}]", other.name(), other.id())));
            }
        })
    }

    /// Adds an aggregation; see the table above. Partial results may repeat a group only if a final
    /// step of the same plan combines them.
    fn aggregation(&mut self, n: &AggregationNode, node: &Arc<PlanNode>) -> Result<Open> {
        if let (AggregationStep::Final, PlanNode::Aggregation(partial)) = (n.step, &*n.source)
            && partial.step == AggregationStep::Partial
        {
            let open = self.open(&partial.source)?.then(&n.source);
            return Ok(self.by_keys(open, &n.keys, n.source.output_type())?.then(node));
        }
        let open = self.open(&n.source)?;
        let in_parts =
            n.step == AggregationStep::Single && !n.aggregates.iter().any(|a| a.distinct);
        if open.num_drivers > 1 && in_parts {
            let (partial, last) = split_aggregation(n)?;
            let open = self.by_keys(open.then(&partial), &n.keys, partial.output_type())?;
            return Ok(open.then(&last));
        }
        Ok(self.by_keys(open, &n.keys, n.source.output_type())?.then(node))
    }

    /// Adds a local partition over all of its sources.
    fn partition(&mut self, n: &LocalPartitionNode) -> Result<Open> {
        let kind = match &n.partitioning {
            _ if self.drivers.most == 1 => ExchangeKind::Gather,
            Partitioning::Gather => ExchangeKind::Gather,
            Partitioning::RoundRobin => ExchangeKind::RoundRobin,
            Partitioning::Hash(keys) => ExchangeKind::Hash(channels(keys, &n.output_type)?),
        };
        let num_consumers = match kind {
            ExchangeKind::Gather => 1,
            _ => self.drivers.most,
        };
        if let [only] = n.sources.as_slice() {
            let open = self.open(only)?;
            return Ok(self.exchange(open, kind, num_consumers));
        }
        let exchange = self.add_exchange(Some(&n.id), kind, num_consumers);
        for source in n.sources.iter().rev() {
            let open = self.open(source)?;
            self.close(open, PipelineEnd::Exchange(exchange));
        }
        Ok(Open { source: Some(exchange), nodes: Vec::new(), num_drivers: num_consumers })
    }

    /// Adds a sorted merge of all sources. A source that is a sort by the same keys needs no merge
    /// of its own drivers before.
    fn merge(&mut self, n: &LocalMergeNode) -> Result<Open> {
        let mut sorted = Vec::new();
        for source in n.sources.iter().rev() {
            sorted.push(match &**source {
                PlanNode::OrderBy(order_by) if order_by.keys == n.keys => {
                    self.open(&order_by.source)?.then(source)
                }
                _ => {
                    let open = self.open(source)?;
                    self.gather(open)
                }
            });
        }
        let kind = ExchangeKind::Merge(n.keys.clone(), Arc::clone(&n.output_type));
        if sorted.len() == 1
            && let Some(only) = sorted.pop()
        {
            return Ok(self.exchange(only, kind, 1));
        }
        let exchange = self.add_exchange(Some(&n.id), kind, 1);
        for open in sorted {
            self.close(open, PipelineEnd::Exchange(exchange));
        }
        Ok(Open { source: Some(exchange), nodes: Vec::new(), num_drivers: 1 })
    }

    /// Sends all rows to one driver.
    fn gather(&mut self, open: Open) -> Open {
        self.exchange(open, ExchangeKind::Gather, 1)
    }

    /// Sends rows with equal keys to the same driver, and all rows to one driver if there are no
    /// keys.
    fn by_keys(&mut self, open: Open, keys: &[String], input: &RowType) -> Result<Open> {
        if open.num_drivers == 1 || keys.is_empty() {
            return Ok(self.gather(open));
        }
        let kind = ExchangeKind::Hash(channels(keys, input)?);
        Ok(self.exchange(open, kind, self.drivers.most))
    }

    /// Sends the rows through an exchange, unless both sides have only one driver.
    fn exchange(&mut self, open: Open, kind: ExchangeKind, num_consumers: usize) -> Open {
        if open.num_drivers == 1 && num_consumers == 1 {
            return open;
        }
        // A round-robin exchange directly before this one is replaced by it, as no node depends on
        // its distribution.
        if let (Some(exchange), []) = (open.source, open.nodes.as_slice())
            && let Some(before) = self.made.exchanges.get_mut(exchange)
            && matches!(before.kind, ExchangeKind::RoundRobin)
            && !matches!(kind, ExchangeKind::Merge(..))
        {
            before.kind = kind;
            before.num_consumers = num_consumers;
            return Open { num_drivers: num_consumers, ..open };
        }
        let exchange = self.add_exchange(None, kind, num_consumers);
        self.close(open, PipelineEnd::Exchange(exchange));
        Open { source: Some(exchange), nodes: Vec::new(), num_drivers: num_consumers }
    }

    fn add_exchange(
        &mut self,
        node: Option<&PlanNodeId>,
        kind: ExchangeKind,
        num_consumers: usize,
    ) -> usize {
        let node = node.cloned();
        self.made.exchanges.push(Exchange { node, kind, num_producers: 0, num_consumers });
        self.made.exchanges.len() - 1
    }

    fn close(&mut self, open: Open, end: PipelineEnd) {
        let Open { source, nodes, num_drivers } = open;
        if let PipelineEnd::Exchange(exchange) = end
            && let Some(exchange) = self.made.exchanges.get_mut(exchange)
        {
            exchange.num_producers += num_drivers;
        }
        self.made.pipelines.push(Pipeline { source, nodes, num_drivers, end });
    }
}

fn source_of(node: &PlanNode) -> Result<&Arc<PlanNode>> {
    node.source().ok_or_else(|| {
        Error::invalid_input("a plan node needs a source")
            .with("node", format!("{}[{}]", node.name(), node.id()))
    })
}

fn channels(keys: &[String], input: &RowType) -> Result<Vec<usize>> {
    keys.iter().map(|key| channel_of(input, key)).collect()
}

/// Splits a single-step aggregation into a partial one and a final one over its output.
fn split_aggregation(node: &AggregationNode) -> Result<(Arc<PlanNode>, Arc<PlanNode>)> {
    if node.step != AggregationStep::Single {
        return Err(Error::internal("an aggregation of one step only cannot be split"));
    }
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
