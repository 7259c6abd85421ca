//! From a plan to pipelines: which nodes many drivers run, and where their rows meet.
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
//! A [`Pipeline`] is a run of nodes that a number of drivers do side by side. Nodes that look at
//! one row at a time stay in the pipeline of their source. The others must see rows together, and
//! rows of several drivers meet in an [`Exchange`] before them:
//!
//! | node | each driver before | rows meet | behind |
//! |---|---|---|---|
//! | aggregation with keys | partial | by hash of the keys | final, N drivers |
//! | with DISTINCT | - | by hash of the keys | the whole, N drivers |
//! | without keys | partial, unless DISTINCT | in one driver | final |
//! | order by | order by | merged in order | - |
//! | top N | top N | in one driver | top N |
//! | limit | limit of offset + count, from 0 | in one driver | limit |
//! | single row | - | in one driver | single row |
//! | write of one file | - | in one driver | write |
//! | write of several | write | - | - |
//! | the task's output | - | in one driver | - |
//!
//! Where there is one driver anyway nothing needs an exchange, except sources that are several.
//!
//! Pipelines stand in an order in which rows come from earlier ones. Of several sources the first
//! stands last: when one thread runs all of them, always the latest one that can go on, rows come
//! in the order of the sources, and tables are made when a probe first asks for them.

use vector::sync::Arc;
use vector::{Error, Result, RowType};

use dwio::expr::TypedExpr;

use crate::operator::aggregate::intermediate_type;
use crate::operator::channel_of;
use crate::plan::{
    AggregationNode, AggregationStep, HashJoinNode, LimitNode, LocalMergeNode, LocalPartitionNode,
    Parallelism, Partitioning, PlanNode, PlanNodeId, SortKey,
};

/// A plan, cut.
#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    /// The last one gives the task's rows, in one driver.
    pub(crate) pipelines: Vec<Pipeline>,
    /// Where the rows of pipelines meet.
    pub(crate) exchanges: Vec<Exchange>,
}

/// Nodes that pass rows on to each other, in each of some drivers.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// The exchange that rows come from; none when the first node is a leaf.
    pub(crate) source: Option<usize>,
    /// The nodes in the order of the rows' way.
    pub(crate) nodes: Vec<Arc<PlanNode>>,
    /// Drivers that run them.
    pub(crate) num_drivers: usize,
    /// Where the rows go.
    pub(crate) end: PipelineEnd,
}

/// Where the rows of a pipeline go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PipelineEnd {
    /// To the task's consumer.
    Output,
    /// Into this exchange.
    Exchange(usize),
    /// Into the table of the join with this id.
    Table(PlanNodeId),
}

/// A place where rows go from the drivers of some pipelines to those of another.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The plan node that asks for it; none when only the number of drivers does.
    pub(crate) node: Option<PlanNodeId>,
    /// Which consumer gets a row.
    pub(crate) kind: ExchangeKind,
    /// Drivers that give.
    pub(crate) num_producers: usize,
    /// Drivers that take.
    pub(crate) num_consumers: usize,
}

/// Which consumer of an exchange gets a row.
#[derive(Debug, Clone)]
pub(crate) enum ExchangeKind {
    /// The only one.
    Gather,
    /// The next in turn gets a batch.
    RoundRobin,
    /// The one that the hash of these channels says.
    Hash(Vec<usize>),
    /// The only one; it merges what comes in order from each producer.
    Merge(Vec<SortKey>, Arc<RowType>),
}

impl Pipelines {
    /// Drivers of the pipeline that fills the table of a join.
    pub(crate) fn num_builders(&self, join: &PlanNodeId) -> usize {
        let fills = |p: &&Pipeline| matches!(&p.end, PipelineEnd::Table(id) if id == join);
        self.pipelines.iter().filter(fills).map(|p| p.num_drivers).sum()
    }

    /// Drivers that run a node.
    pub(crate) fn num_drivers_of(&self, node: &PlanNodeId) -> usize {
        let runs = |p: &&Pipeline| p.nodes.iter().any(|n| n.id() == node);
        self.pipelines.iter().filter(runs).map(|p| p.num_drivers).sum()
    }

    /// All joins, each with the number of drivers that look its table up.
    pub(crate) fn joins(&self) -> impl Iterator<Item = (&HashJoinNode, usize)> {
        let nodes = self.pipelines.iter().flat_map(|p| p.nodes.iter().map(|n| (n, p.num_drivers)));
        nodes.filter_map(|(node, num_drivers)| match &**node {
            PlanNode::HashJoin(join) => Some((join, num_drivers)),
            _ => None,
        })
    }
}

/// How many drivers run the pipelines of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drivers {
    pub(crate) most: usize,
    of_scans: Vec<(PlanNodeId, usize)>,
}

impl From<usize> for Drivers {
    /// So many, at least one, wherever more than one can be.
    fn from(most: usize) -> Self {
        Drivers { most: most.max(1), of_scans: Vec::new() }
    }
}

impl Drivers {
    /// Fewer for the pipeline of a scan that has few splits; those above its exchanges keep theirs.
    pub fn with_scan(mut self, scan: PlanNodeId, drivers: usize) -> Self {
        self.of_scans.push((scan, drivers.clamp(1, self.most)));
        self
    }

    fn of_scan(&self, scan: &PlanNodeId) -> usize {
        let known = self.of_scans.iter().find(|(id, _)| id == scan);
        known.map_or(self.most, |(_, drivers)| *drivers)
    }
}

/// Cuts a plan for some drivers.
pub(crate) fn cut(plan: &Arc<PlanNode>, drivers: &Drivers) -> Result<Pipelines> {
    let mut cutter = Cutter { drivers, made: Pipelines::default() };
    let open = cutter.open(plan)?;
    let open = cutter.gather(open);
    cutter.close(open, PipelineEnd::Output);
    Ok(cutter.made)
}

/// The pipelines made so far.
struct Cutter<'d> {
    drivers: &'d Drivers,
    made: Pipelines,
}

/// A pipeline whose end is not known yet.
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
    /// The pipeline that gives the rows of `node`.
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

    /// Groups; see the table above. Partial results may repeat groups only where a final step of
    /// the same plan puts them together.
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

    /// The rows of all sources.
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

    /// The rows of all sources in order; those that are sorted by the same keys right here need not
    /// be merged before.
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

    /// All rows in one driver.
    fn gather(&mut self, open: Open) -> Open {
        self.exchange(open, ExchangeKind::Gather, 1)
    }

    /// Rows with equal keys in one driver; all rows without keys.
    fn by_keys(&mut self, open: Open, keys: &[String], input: &RowType) -> Result<Open> {
        if open.num_drivers == 1 || keys.is_empty() {
            return Ok(self.gather(open));
        }
        let kind = ExchangeKind::Hash(channels(keys, input)?);
        Ok(self.exchange(open, kind, self.drivers.most))
    }

    /// Lets the rows go through an exchange, unless they stay in one driver anyway.
    fn exchange(&mut self, open: Open, kind: ExchangeKind, num_consumers: usize) -> Open {
        if open.num_drivers == 1 && num_consumers == 1 {
            return open;
        }
        // Rows that come from one and have no reason to be where they are go the new way at once.
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

/// A single-step aggregation as a partial one and a final one over its output.
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
