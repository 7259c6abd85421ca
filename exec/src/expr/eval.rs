//! Evaluates a program over the selected rows of one batch.
//!
//! Each node is evaluated for a set of rows, and returns a vector as long as the batch that is
//! valid for those rows. Special forms restrict the set: AND evaluates its second term only for
//! rows for which the first one was not false, and CASE evaluates a branch only for rows with a
//! true condition. No row is evaluated, or fails, unless it was requested.
//!
//! A term of AND that fails is evaluated again at the end, for the rows that no other term made
//! false, so that `x <> 0 AND 1 / x > 2` is safe in either order. That evaluation identifies the
//! failing rows (`failures.rs`), because a row for which one term fails may be decided by another
//! term that fails for other rows.

use vector::stop::check_stop;
use vector::sync::Arc;
use vector::{
    Bitmap, BufferMut, DecodedVector, Error, ErrorKind, Mapping, Result, RowVector,
    SelectivityVector, Vector, VectorRef, bits,
};

use super::failures::nulls_may_decide;
use super::kernel::Kernel;
use super::lambda::BoundLambda;
use super::lambda_call::{ElementLambda, LambdaCall};
use super::loaded::loaded;
use super::merge::{Part, merge};
use super::peel::{Memo, apply};
use super::program::{NodeId, Operation, Program};

/// Cached results of a program: those of shared nodes within a batch, and those over dictionaries
/// across batches.
#[derive(Debug, Default)]
pub(super) struct Memory {
    shared: Vec<Option<(SelectivityVector, VectorRef)>>,
    memos: Vec<Memo>,
}

impl Memory {
    /// Creates an empty cache for the nodes of a program.
    pub(super) fn for_program(program: &Program) -> Self {
        let mut memory = Memory::default();
        memory.shared.resize_with(program.nodes.len(), || None);
        memory.memos.resize_with(program.nodes.len(), Memo::default);
        memory
    }

    /// Discards the results of the batch.
    pub(super) fn end_batch(&mut self) {
        self.shared.iter_mut().for_each(|slot| *slot = None);
    }
}

/// Evaluation of a program over one batch.
pub(super) struct Evaluation<'a> {
    program: &'a Program,
    memory: &'a mut Memory,
    batch: &'a RowVector,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(program: &'a Program, memory: &'a mut Memory, batch: &'a RowVector) -> Self {
        Evaluation { program, memory, batch }
    }

    pub(super) fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns the cached result of a shared node, if it covers `rows`.
    pub(super) fn known(&self, id: NodeId, rows: &SelectivityVector) -> Option<VectorRef> {
        let (known, vector) = self.memory.shared.get(id)?.as_ref()?;
        is_subset(rows, known).then(|| Arc::clone(vector))
    }

    /// Returns the values of a node for `rows`.
    pub(super) fn node(&mut self, id: NodeId, rows: &SelectivityVector) -> Result<VectorRef> {
        let node = &self.program.nodes[id];
        let num_rows = self.batch.len();
        if rows.is_none() {
            return Ok(Arc::new(Vector::nulls(node.ty.clone(), num_rows)));
        }
        let is_leaf = matches!(node.operation, Operation::Field(_) | Operation::Constant(_));
        let is_shared = node.num_uses > 1 && !is_leaf;
        if is_shared && let Some(known) = self.known(id, rows) {
            return Ok(known);
        }
        let vector = match &node.operation {
            Operation::Field(channel) => loaded(self.batch.child(*channel)?, rows)?,
            Operation::Constant(value) => {
                Arc::new(Vector::constant(node.ty.clone(), value.clone(), num_rows)?)
            }
            Operation::Call { kernel, args, memo } => {
                check_stop()?;
                let mut vectors = Vec::with_capacity(args.len());
                for arg in args {
                    match self.node(*arg, rows) {
                        Ok(vector) => vectors.push(vector),
                        Err(error) if error.kind() == ErrorKind::InvalidInput => {
                            return self.decided_by_nulls(id, kernel, args, vectors, rows, error);
                        }
                        Err(error) => return Err(error),
                    }
                }
                let memo = memo.map(|arg| (arg, &mut self.memory.memos[id]));
                apply(kernel, &vectors, rows, &node.ty, memo)?
            }
            Operation::HigherOrder { function, args, lambdas } => {
                let mut vectors = Vec::with_capacity(args.len());
                for arg in args {
                    vectors.push(self.node(*arg, rows)?);
                }
                let mut bound = Vec::with_capacity(lambdas.len());
                for lambda in lambdas {
                    let captures = lambda.captures().iter();
                    let captures = captures.map(|capture| self.node(*capture, rows));
                    bound.push(BoundLambda::new(lambda, captures.collect::<Result<_>>()?));
                }
                let lambdas: Vec<&dyn ElementLambda> =
                    bound.iter().map(|lambda| lambda as &dyn ElementLambda).collect();
                Arc::new(function.run(&LambdaCall {
                    args: &vectors,
                    lambdas: &lambdas,
                    rows,
                    ty: &node.ty,
                })?)
            }
            Operation::Dereference(input, index) => {
                let input = self.node(*input, rows)?;
                loaded(&Vector::field(&input, *index)?, rows)?
            }
            Operation::And(terms) => self.junction(terms, rows, false)?,
            Operation::Or(terms) => self.junction(terms, rows, true)?,
            Operation::Switch { branches, otherwise } => {
                self.switch(id, branches, *otherwise, rows)?
            }
            Operation::Coalesce(terms) => self.coalesce(id, terms, rows)?,
            Operation::Try(input) => self.attempt(*input, rows)?,
        };
        if is_shared {
            self.memory.shared[id] = Some((rows.clone(), Arc::clone(&vector)));
        }
        Ok(vector)
    }

    /// Evaluates AND (`deciding` is false) or OR (`deciding` is true). A row is decided when a term
    /// has the deciding value. The other rows are null if some term was null, otherwise the
    /// opposite value.
    fn junction(
        &mut self,
        terms: &[NodeId],
        rows: &SelectivityVector,
        deciding: bool,
    ) -> Result<VectorRef> {
        let mut junction = Junction::new(rows, deciding);
        let mut failed = Vec::new();
        for term in terms {
            if junction.undecided.is_none() {
                break;
            }
            match self.node(*term, &junction.undecided) {
                Ok(vector) => junction.settle(&vector, None)?,
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    failed.push((*term, error))
                }
                Err(error) => return Err(error),
            }
        }
        // The normal evaluation is not repeated, because nested junctions would repeat it at each
        // level.
        let mut failures = Vec::with_capacity(failed.len());
        for (term, error) in failed {
            let mut failing = SelectivityVector::none(rows.len());
            self.settle_aside(term, &mut junction, &mut failing)?;
            failures.push((failing, error));
        }
        for (mut failing, error) in failures {
            failing.intersect_words(junction.undecided.words());
            if !failing.is_none() {
                return Err(error);
            }
        }
        junction.finish(rows)
    }

    /// Returns the values of a function after an argument has failed. There is no error if another
    /// argument is null for each failing row, as in Velox.
    #[cold]
    fn decided_by_nulls(
        &mut self,
        id: NodeId,
        kernel: &Kernel,
        args: &[NodeId],
        mut evaluated: Vec<VectorRef>,
        rows: &SelectivityVector,
        error: Error,
    ) -> Result<VectorRef> {
        // The other arguments are evaluated once; those before the failed one already were.
        let behind = args.get(evaluated.len() + 1..).unwrap_or_default();
        evaluated.extend(behind.iter().filter_map(|arg| self.node(*arg, rows).ok()));
        let only_one_failed = evaluated.len() + 1 == args.len();
        if only_one_failed && !nulls_may_decide(kernel, &evaluated)? {
            return Err(error);
        }
        let mut failed = SelectivityVector::none(rows.len());
        let vector = self.setting_failures_aside(id, rows, &mut failed)?;
        if failed.is_none() { Ok(vector) } else { Err(error) }
    }

    fn switch(
        &mut self,
        id: NodeId,
        branches: &[(NodeId, NodeId)],
        otherwise: Option<NodeId>,
        rows: &SelectivityVector,
    ) -> Result<VectorRef> {
        let mut remaining = rows.clone();
        let mut parts = Vec::new();
        for (condition, value) in branches {
            if remaining.is_none() {
                break;
            }
            let condition = self.node(*condition, &remaining)?;
            let chosen = select_true(&condition, &remaining)?;
            if !chosen.is_none() {
                let vector = self.node(*value, &chosen)?;
                remaining.subtract(&chosen.to_bitmap());
                parts.push(Part { rows: chosen, vector });
            }
        }
        if !remaining.is_none()
            && let Some(otherwise) = otherwise
        {
            let vector = self.node(otherwise, &remaining)?;
            parts.push(Part { rows: remaining, vector });
        }
        merge(&self.program.nodes[id].ty, rows, &parts)
    }

    /// Returns the values of a node, with nulls for rows that fail.
    fn attempt(&mut self, id: NodeId, rows: &SelectivityVector) -> Result<VectorRef> {
        match self.node(id, rows) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.null_where_failing(id, rows)
            }
            other => other,
        }
    }

    fn coalesce(
        &mut self,
        id: NodeId,
        terms: &[NodeId],
        rows: &SelectivityVector,
    ) -> Result<VectorRef> {
        let mut remaining = rows.clone();
        let mut parts = Vec::new();
        for term in terms {
            if remaining.is_none() {
                break;
            }
            let vector = self.node(*term, &remaining)?;
            let mut valid = remaining.clone();
            valid.deselect_nulls(DecodedVector::new(&vector)?.validity());
            if !valid.is_none() {
                remaining.subtract(&valid.to_bitmap());
                parts.push(Part { rows: valid, vector });
            }
        }
        merge(&self.program.nodes[id].ty, rows, &parts)
    }
}

/// State of the rows of an AND or OR.
pub(super) struct Junction {
    undecided: SelectivityVector,
    /// Rows for which some term was null.
    nulls: Vec<u64>,
    deciding: bool,
}

impl Junction {
    /// Creates the state of an AND (`deciding` is false) or an OR (`deciding` is true).
    pub(super) fn new(rows: &SelectivityVector, deciding: bool) -> Self {
        let nulls = vec![0; rows.words().len()];
        Junction { undecided: rows.clone(), nulls, deciding }
    }

    /// Returns the rows that no term has decided.
    pub(super) fn undecided(&self) -> &SelectivityVector {
        &self.undecided
    }

    /// Adds the values of one more term for the undecided rows, or for the subset `good`.
    pub(super) fn settle(
        &mut self,
        vector: &VectorRef,
        good: Option<&SelectivityVector>,
    ) -> Result<()> {
        let truth = Truth::new(vector)?;
        let flip = if self.deciding { 0 } else { u64::MAX };
        let mut decided = BufferMut::with_capacity(self.nulls.len());
        let rows = good.unwrap_or(&self.undecided).words();
        for (index, rows) in rows.iter().enumerate() {
            let valid = truth.validity.as_ref().map_or(u64::MAX, |v| v.words()[index]);
            decided.push(rows & valid & (truth.values.words()[index] ^ flip));
            self.nulls[index] |= rows & !valid;
        }
        self.undecided.subtract(&Bitmap::new(decided.freeze(), self.undecided.len()));
        Ok(())
    }

    pub(super) fn finish(self, rows: &SelectivityVector) -> Result<VectorRef> {
        let Junction { undecided, mut nulls, deciding } = self;
        bits::and_assign(&mut nulls, undecided.words());
        let values = if deciding {
            let mut decided = rows.clone();
            decided.subtract(&undecided.to_bitmap());
            decided.to_bitmap()
        } else {
            undecided.to_bitmap()
        };
        let validity = nulls.iter().any(|word| *word != 0).then(|| {
            bits::not_assign(&mut nulls);
            Bitmap::new(nulls.iter().copied().collect(), rows.len())
        });
        Ok(Arc::new(Vector::Flat(vector::FlatVector::boolean(values, validity)?)))
    }
}

/// A boolean vector of any encoding as bitmaps, one bit per row.
struct Truth {
    /// Unspecified where the validity is zero.
    values: Bitmap,
    validity: Option<Bitmap>,
}

impl Truth {
    fn new(vector: &VectorRef) -> Result<Self> {
        let decoded = DecodedVector::new(vector)?;
        let len = vector.len();
        let validity = decoded.validity().cloned();
        if decoded.all_null() {
            return Ok(Truth { values: Bitmap::filled(len, false), validity });
        }
        let Some(vector::FlatValues::Boolean(base)) = decoded.flat_values() else {
            return Err(Error::internal("a condition is not boolean").with("type", vector.ty()));
        };
        let values = match decoded.mapping() {
            Mapping::Identity => base.clone(),
            Mapping::Constant => Bitmap::filled(len, base.get(0)),
            Mapping::Indices(indices) => base.gather(indices),
        };
        Ok(Truth { values, validity })
    }
}

/// Returns the selected rows for which a boolean vector is true, neither false nor null (rule
/// S6.38).
pub fn select_true(vector: &VectorRef, rows: &SelectivityVector) -> Result<SelectivityVector> {
    let truth = Truth::new(vector)?;
    let mut selected = rows.clone();
    selected.intersect(&truth.values);
    selected.deselect_nulls(truth.validity.as_ref());
    Ok(selected)
}

fn is_subset(rows: &SelectivityVector, of: &SelectivityVector) -> bool {
    rows.words().iter().zip(of.words()).all(|(a, b)| a & !b == 0)
}
