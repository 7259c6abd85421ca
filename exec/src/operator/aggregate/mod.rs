//! Aggregation: groups and what is computed over each, globally or hashed.
//!
//! ```text
//! batch --key columns--> GroupTable --group of each row--> accumulators, one for an aggregate
//!       --argument columns ------------------------------------^
//! end   --> keys of groups a..b, then each accumulator's values of groups a..b
//! ```
//!
//! | file | contains |
//! |---|---|
//! | `function.rs`, `registry.rs` | the interface of a function; all functions by name |
//! | `accumulator.rs` | the interface of an accumulator; the loops over rows and groups |
//! | `count.rs`, `sum.rs`, `min_max.rs` | COUNT; SUM and AVG; MIN and MAX |
//! | `variance.rs`, `bool_agg.rs`, `bitwise_agg.rs` | VARIANCE and STDDEV; truth values; bits |
//! | `min_max_by.rs`, `any_value.rs` | MIN_BY and MAX_BY; ANY_VALUE |
//! | `array_agg.rs`, `set_map_agg.rs` | ARRAY_AGG; SET_AGG and MAP_AGG |
//! | `distinct.rs`, `masks.rs` | DISTINCT around any function; FILTER before it |
//! | `group_table.rs`, `key_column.rs` | from keys to group numbers, and back |
//!
//! A partial step gives intermediate values, a final step takes them, an intermediate step does
//! both, and a single step has none. Without keys there is one group, which exists also when there
//! are no rows. A barrier ends the groups as the end of input does; those behind it are others.

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

/// Rows are listed by group for at most this many groups,
const MAX_LISTED_GROUPS: usize = 64;
/// at least this many rows of a batch,
const MIN_LISTED_ROWS: usize = 512;
/// and at least this many aggregates, which share the lists.
const MIN_LISTED_AGGREGATES: usize = 3;

/// Groups rows by key columns and aggregates each group.
pub struct HashAggregation {
    ctx: OperatorCtx,
    node: AggregationNode,
    key_channels: Vec<usize>,
    table: GroupTable,
    aggregates: Vec<Running>,
    /// Where each aggregate comes from: the running one, and which of its outputs.
    outputs: Vec<(usize, usize)>,
    /// The group of each row of the current batch.
    ids: Vec<u32>,
    lists: GroupLists,
    memory: Reservation,
    phase: Phase,
    given: usize,
    /// Groups that the states have room for.
    state_capacity: usize,
}

/// One aggregate being computed.
struct Running {
    accumulator: Box<dyn Accumulator>,
    args: Vec<Argument>,
    /// The channel of a BOOLEAN column: only rows for which it is true count.
    mask: Option<usize>,
}

#[derive(PartialEq)]
enum Argument {
    Channel(usize),
    Constant(Value, vector::Type),
}

impl HashAggregation {
    /// An aggregation as `node` says, over its source's output.
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
        // Columns that several aggregates use are loaded and decoded once.
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
            // States move to twice the memory, and for a moment both are there.
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

    /// Groups of an output batch at most: no more than fill it by the average of all groups.
    fn max_output_groups(&self) -> usize {
        let config = &self.ctx.query.config;
        let states = self.aggregates.iter().map(|a| a.accumulator.value_bytes());
        let bytes = states.sum::<usize>() + self.table.key_bytes();
        let bytes_of_group = (bytes / self.num_groups().max(1)).max(1) as u64;
        let fitting = config.preferred_output_batch_bytes / bytes_of_group;
        config.max_output_batch_rows.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1)
    }

    /// All groups were given: it is done, or begins anew behind a barrier.
    fn all_given(&mut self) -> Result<()> {
        if self.phase == Phase::Draining {
            *self = HashAggregation::new(&self.node, self.ctx.clone())?;
        } else {
            self.phase = Phase::Done;
        }
        Ok(())
    }

    /// Says what the groups take.
    fn tell_memory(&mut self) {
        let bytes: usize = self.aggregates.iter().map(|a| a.accumulator.bytes()).sum();
        self.memory.resize_in_steps((bytes + self.table.bytes()) as u64);
    }
}

/// True when the input of a step is what another step made of rows.
fn takes_partials(step: AggregationStep) -> bool {
    matches!(step, AggregationStep::Intermediate | AggregationStep::Final)
}

/// Makes an aggregate run: on its own, or as another output of one that has what it needs.
fn add_aggregate(
    running: &mut Vec<Running>,
    aggregate: &Aggregate,
    step: AggregationStep,
    input: &RowType,
) -> Result<(usize, usize)> {
    let new = Running::new(aggregate, step, input)?;
    // Values of one column only are sums for an average and sums for a sum, not partial results.
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

    fn bytes_wanted(&self) -> u64 {
        // What comes next is about as much as what came last.
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
