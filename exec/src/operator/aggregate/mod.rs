//! Aggregation: the operator that groups rows by key columns and computes aggregates of each group.
//!
//! ```text
//! batch --key columns--> GroupTable --group of each row--> accumulators, one for each aggregate
//!       --argument columns ------------------------------------^
//! end   --> keys of groups a..b, then the values of groups a..b of each accumulator
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `function.rs`, `registry.rs` | the interface of a function; all functions by name |
//! | `accumulator.rs` | the interface of an accumulator; the loops over rows and groups |
//! | `count.rs`, `sum.rs`, `min_max.rs` | COUNT; SUM and AVG; MIN and MAX |
//! | `variance.rs`, `bool_agg.rs` | VARIANCE and STDDEV; BOOL_AND, BOOL_OR and COUNT_IF |
//! | `bitwise_agg.rs` | BITWISE_AND_AGG, BITWISE_OR_AGG and BITWISE_XOR_AGG |
//! | `min_max_by.rs`, `any_value.rs` | MIN_BY and MAX_BY; ANY_VALUE |
//! | `array_agg.rs`, `set_map_agg.rs` | ARRAY_AGG; SET_AGG and MAP_AGG |
//! | `distinct.rs`, `masks.rs` | DISTINCT, around any function; FILTER (the mask), before it |
//! | `group_table.rs`, `key_column.rs` | the mapping between keys and group numbers |
//!
//! A partial step returns intermediate values, a final step merges them, an intermediate step does
//! both, and a single step does neither. Without keys there is one group, which exists even without
//! rows. A barrier ends all groups as the end of input does; rows after it belong to new groups.

mod accumulator;
mod any_value;
mod array_agg;
mod bitwise_agg;
mod bool_agg;
mod count;
mod distinct;
mod function;
mod group_table;
mod key_column;
mod masks;
mod min_max;
mod min_max_by;
mod registry;
mod set_map_agg;
mod sum;
mod variance;

#[cfg(all(test, not(loom)))]
mod plan_tests;
#[cfg(all(test, not(loom)))]
mod properties;
#[cfg(all(test, not(loom)))]
mod tests;

use vector::sync::Arc;
use vector::{Error, PoolScope, Result, RowType, RowVector, Value, Vector, VectorRef};

use dwio::expr::TypedExpr;

use self::accumulator::{Accumulator, Column, GroupLists, Groups, Part};
pub(super) use self::group_table::GroupTable;
use self::masks::Masked;
use super::loading::column_of;
use super::reservation::Reservation;
use super::{Operator, OperatorCtx, Phase, channel_of};
use crate::plan::{Aggregate, AggregationNode, AggregationStep};

pub use self::function::AggregateSignature;
pub use self::registry::{
    aggregate_call, aggregate_names, depends_on_order, ignores_duplicates, intermediate_type,
    is_aggregate, resolve_aggregate, result_of_no_rows,
};

/// Maximum number of groups for which the rows of a batch are listed by group.
const MAX_LISTED_GROUPS: usize = 64;
/// Minimum number of rows of a batch whose rows are listed by group.
const MIN_LISTED_ROWS: usize = 512;
/// Minimum number of aggregates, which share the lists, for which rows are listed by group.
const MIN_LISTED_AGGREGATES: usize = 3;

/// Groups rows by key columns and aggregates each group.
pub struct HashAggregation {
    ctx: OperatorCtx,
    node: AggregationNode,
    key_channels: Vec<usize>,
    table: GroupTable,
    aggregates: Vec<Running>,
    /// The source of each aggregate: the index of a running aggregate, and the number of its
    /// output.
    outputs: Vec<(usize, usize)>,
    /// The group of each row of the current batch.
    ids: Vec<u32>,
    lists: GroupLists,
    memory: Reservation,
    phase: Phase,
    /// Number of groups that have been returned.
    given: usize,
    /// Number of groups for which memory of the states is reserved.
    state_capacity: usize,
}

/// An accumulator with its inputs; it may compute several aggregates.
struct Running {
    accumulator: Box<dyn Accumulator>,
    args: Vec<Argument>,
    /// The channel of the BOOLEAN mask column: only rows for which it is true are aggregated.
    mask: Option<usize>,
}

#[derive(PartialEq)]
enum Argument {
    Channel(usize),
    Constant(Value, vector::Type),
}

impl HashAggregation {
    /// Creates the operator of `node`.
    ///
    /// # Errors
    ///
    /// `Internal` when an argument or a mask is not a column of the source, or when a DISTINCT
    /// aggregate is split into steps; the errors of [`resolve_aggregate`] for an unknown function
    /// or wrong argument types.
    pub fn new(node: &AggregationNode, ctx: OperatorCtx) -> Result<Self> {
        let _scope = PoolScope::enter(&ctx.pool);
        let input = node.source.output_type();
        let key_channels: Vec<usize> =
            node.keys.iter().map(|key| channel_of(input, key)).collect::<Result<_>>()?;
        let key_types: Vec<_> = key_channels.iter().map(|c| input.types()[*c].clone()).collect();
        let mut aggregates: Vec<Running> = Vec::new();
        let mut outputs = Vec::with_capacity(node.aggregates.len());
        for aggregate in &node.aggregates {
            outputs.push(add_aggregate(&mut aggregates, aggregate, node.step, input)?);
        }
        let mut made = HashAggregation {
            memory: Reservation::new(&ctx.pool),
            ctx,
            node: node.clone(),
            table: GroupTable::new(&key_types),
            key_channels,
            aggregates,
            outputs,
            ids: Vec::new(),
            lists: GroupLists::default(),
            phase: Phase::default(),
            given: 0,
            state_capacity: 0,
        };
        if made.is_global() {
            made.aggregates.iter_mut().for_each(|a| a.accumulator.resize(1));
        }
        Ok(made)
    }

    fn is_global(&self) -> bool {
        self.key_channels.is_empty()
    }

    fn num_groups(&self) -> usize {
        if self.is_global() { 1 } else { self.table.len() }
    }

    fn aggregate(&mut self, batch: &RowVector) -> Result<()> {
        // A column that several aggregates use is loaded and decoded once.
        let mut decoded: Vec<Option<Column>> = vec![None; batch.children().len()];
        let groups = if self.key_channels.is_empty() {
            Groups::One { num_rows: batch.len() }
        } else {
            let keys: Vec<VectorRef> = self
                .key_channels
                .iter()
                .map(|channel| column_of(batch, *channel))
                .collect::<Result<_>>()?;
            self.table.assign(&keys, batch.len(), &mut self.ids)?;
            let few = self.table.len() <= MAX_LISTED_GROUPS
                && batch.len() >= MIN_LISTED_ROWS
                && self.outputs.len() >= MIN_LISTED_AGGREGATES;
            if few {
                self.lists.build(&self.ids, self.table.len());
                Groups::Listed { ids: &self.ids, lists: &self.lists }
            } else {
                Groups::Each { ids: &self.ids }
            }
        };
        let num_groups = if self.key_channels.is_empty() { 1 } else { self.table.len() };
        if num_groups > self.state_capacity {
            // The old and the new states exist at the same time while they move to twice the
            // memory.
            let bytes = self.aggregates.iter().map(|a| a.accumulator.bytes() as u64).sum::<u64>();
            self.memory.grow(bytes.saturating_mul(2))?;
            self.state_capacity = num_groups.max(self.state_capacity.saturating_mul(2));
        }
        let mut masks: Vec<(usize, Masked)> = Vec::new();
        for channel in self.aggregates.iter().filter_map(|running| running.mask) {
            if !masks.iter().any(|(known, _)| *known == channel) {
                let mask = Column::new(column_of(batch, channel)?)?;
                masks.push((channel, Masked::new(&mask.decoded, groups)?));
            }
        }
        for running in &mut self.aggregates {
            let mask = running.mask;
            let mask = masks.iter().find(|(channel, _)| Some(*channel) == mask).map(|(_, m)| m);
            let mut args = Vec::with_capacity(running.args.len());
            for arg in &running.args {
                args.push(match arg {
                    Argument::Channel(channel) => match &mut decoded[*channel] {
                        Some(column) => column.clone(),
                        empty => empty.insert(Column::new(column_of(batch, *channel)?)?).clone(),
                    },
                    Argument::Constant(value, ty) => {
                        let constant = Vector::constant(ty.clone(), value.clone(), batch.len())?;
                        Column::new(Arc::new(constant))?
                    }
                });
            }
            let mut groups = groups;
            if let Some(mask) = mask {
                groups = mask.groups(groups);
                args = args.into_iter().map(|arg| mask.of(arg)).collect::<Result<_>>()?;
            }
            running.accumulator.resize(num_groups);
            match args.as_slice() {
                [partial] if takes_partials(self.node.step) => {
                    running.accumulator.merge(groups, partial)?
                }
                args => running.accumulator.update(groups, args)?,
            }
        }
        Ok(())
    }

    /// Returns the maximum number of groups of an output batch, so that the batch has the preferred
    /// size for groups of average size.
    fn max_output_groups(&self) -> usize {
        let config = &self.ctx.query.config;
        let states = self.aggregates.iter().map(|a| a.accumulator.value_bytes());
        let bytes = states.sum::<usize>() + self.table.key_bytes();
        let bytes_of_group = (bytes / self.num_groups().max(1)).max(1) as u64;
        let fitting = config.preferred_output_batch_bytes / bytes_of_group;
        config.max_output_batch_rows.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
    }

    /// Ends the output: the operator is done, or starts again after a barrier.
    fn all_given(&mut self) -> Result<()> {
        if self.phase == Phase::Draining {
            *self = HashAggregation::new(&self.node, self.ctx.clone())?;
        } else {
            self.phase = Phase::Done;
        }
        Ok(())
    }

    /// Updates the memory reservation to the size of the groups.
    fn tell_memory(&mut self) {
        let bytes: usize = self.aggregates.iter().map(|a| a.accumulator.bytes()).sum();
        self.memory.resize_in_steps((bytes + self.table.bytes()) as u64);
    }
}

/// Returns true when the input of a step is the intermediate output of another step.
fn takes_partials(step: AggregationStep) -> bool {
    matches!(step, AggregationStep::Intermediate | AggregationStep::Final)
}

/// Adds an aggregate, either with its own accumulator or as another output of an accumulator that
/// has the state it needs. Returns the index of the running aggregate and the number of its output.
fn add_aggregate(
    running: &mut Vec<Running>,
    aggregate: &Aggregate,
    step: AggregationStep,
    input: &RowType,
) -> Result<(usize, usize)> {
    let new = Running::new(aggregate, step, input)?;
    // Only raw input can be shared: an average and a sum of the same column have the same raw
    // values, but different partial results.
    if !aggregate.distinct && !takes_partials(step) {
        let is_alike = |other: &Running| other.args == new.args && other.mask == new.mask;
        let mut alike = running.iter_mut().enumerate().filter(|(_, other)| is_alike(other));
        let adopted = alike.find_map(|(i, other)| {
            Some((i, other.accumulator.adopt(&aggregate.function, &aggregate.raw_types)?))
        });
        if let Some(adopted) = adopted {
            return Ok(adopted);
        }
    }
    running.push(new);
    Ok((running.len() - 1, 0))
}

impl Running {
    fn new(aggregate: &Aggregate, step: AggregationStep, input: &RowType) -> Result<Self> {
        let args = aggregate.args.iter().map(|arg| match arg {
            TypedExpr::Field { name, .. } => channel_of(input, name).map(Argument::Channel),
            TypedExpr::Constant { value, ty } => Ok(Argument::Constant(value.clone(), ty.clone())),
            other => Err(Error::internal("an aggregate's argument is not a column")
                .with("aggregate", &aggregate.name)
                .with("argument", other)),
        });
        let args: Vec<Argument> = args.collect::<Result<_>>()?;
        if takes_partials(step) && (args.len() != 1 || aggregate.mask.is_some()) {
            return Err(Error::internal("a final aggregate takes one intermediate column")
                .with("aggregate", &aggregate.name));
        }
        let mask = match &aggregate.mask {
            None => None,
            Some(TypedExpr::Field { name, .. }) => Some(channel_of(input, name)?),
            Some(other) => {
                return Err(Error::internal("an aggregate's mask is not a column")
                    .with("aggregate", &aggregate.name)
                    .with("mask", other));
            }
        };
        let plain = registry::accumulator(&aggregate.function, &aggregate.raw_types)?;
        let accumulator = match (aggregate.distinct, step) {
            (false, _) => plain,
            (true, AggregationStep::Single) => {
                Box::new(distinct::Distinct::new(plain, &aggregate.raw_types))
            }
            (true, _) => {
                return Err(Error::internal("a DISTINCT aggregate cannot be done in parts")
                    .with("aggregate", &aggregate.name));
            }
        };
        Ok(Running { accumulator, args, mask })
    }
}

impl Operator for HashAggregation {
    fn needs_input(&self) -> bool {
        self.phase.takes()
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.memory.commit()?;
        self.aggregate(&batch)?;
        self.tell_memory();
        Ok(())
    }

    fn output_reservation(&self) -> u64 {
        // The next batch is assumed to have as many rows as the last one.
        let growth = if self.phase.takes() { self.table.bytes_to_grow(self.ids.len()) } else { 0 };
        self.memory.deficit().saturating_add(growth)
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        self.memory.commit()?;
        if !self.phase.gives() {
            return Ok(None);
        }
        let end = self.num_groups().min(self.given + self.max_output_groups());
        if end == self.given {
            return self.all_given().map(|()| None);
        }
        let groups = self.given..end;
        let part = match self.node.step {
            AggregationStep::Partial | AggregationStep::Intermediate => Part::Intermediate,
            AggregationStep::Single | AggregationStep::Final => Part::Result,
        };
        let mut columns = self.table.keys(groups.clone())?;
        for (running, output) in &self.outputs {
            let accumulator = &self.aggregates[*running].accumulator;
            columns.push(accumulator.output(*output, part, groups.clone())?);
        }
        self.given = end;
        let batch = RowVector::batch(Arc::clone(&self.node.output_type), groups.len(), columns)?;
        if end == self.num_groups() {
            self.all_given()?;
        }
        Ok(Some(batch))
    }

    fn no_more_input(&mut self) {
        self.phase.end_input();
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Done
    }

    fn start_drain(&mut self, _: u64) -> bool {
        self.phase = Phase::Draining;
        true
    }

    fn close(&mut self) {
        self.table = GroupTable::new(&[]);
        self.aggregates.clear();
        self.outputs.clear();
        self.phase = Phase::Done;
        self.memory.resize(0);
    }
}
