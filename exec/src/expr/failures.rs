//! Evaluation that collects failing rows instead of failing as a whole.
//!
//! An error of a row does not always matter: another term of an AND may be false for the row,
//! another element may decide a match, or TRY may replace the error by null. After an evaluation
//! has failed, it is therefore repeated in this mode: each node is evaluated for all requested
//! rows, and failing rows are added to a set of rows instead of ending the evaluation.
//!
//! ```text
//! x <> 0 AND 10 / x > y                x     y     x <> 0   10 / x > y    AND
//!                                      0     1     false    fails         false
//!                                      5     1     true     true          true
//!                                      7     'a'   true     fails         fails
//! ```
//!
//! Special forms treat failed rows by their own rules, which are those of Velox. A function that
//! fails is applied to halves of its rows recursively, until the failing rows are isolated; the
//! cost grows with the number of failing rows. If few rows of a long batch are selected, they are
//! first copied to a dense batch. An expression is evaluated once in this mode, however deeply its
//! forms are nested.

use vector::sync::Arc;
use vector::{
    BufferMut, DecodedVector, ErrorKind, Result, SelectivityVector, Type, Vector, VectorRef,
};

use super::eval::{Evaluation, Junction, select_true};
use super::kernel::{Kernel, Nulls};
use super::lambda::BoundLambda;
use super::lambda_call::{ElementLambda, LambdaCall};
use super::merge::{Part, merge};
use super::peel::apply;
use super::program::{NodeId, Operation};

/// Rows are copied densely when fewer than one in this many rows of the batch are selected.
const SPARSE: usize = 4;

impl Evaluation<'_> {
    /// Returns the values of a node for those of `rows` that do not fail. Failing rows are added to
    /// `failed`, and their values are unspecified.
    ///
    /// # Errors
    /// All kinds except `InvalidInput`, which is the kind of an error of a row.
    pub(super) fn setting_failures_aside(
        &mut self,
        id: NodeId,
        rows: &SelectivityVector,
        failed: &mut SelectivityVector,
    ) -> Result<VectorRef> {
        let program = self.program();
        let node = &program.nodes[id];
        if rows.is_none() {
            return Ok(Arc::new(Vector::nulls(node.ty.clone(), rows.len())));
        }
        if let Some(known) = self.known(id, rows) {
            return Ok(known);
        }
        match &node.operation {
            Operation::Field(_) | Operation::Constant(_) => self.node(id, rows),
            Operation::Call { kernel, args, .. } => {
                let (vectors, left) = self.arguments(args, kernel.nulls(), rows, failed)?;
                let mut call = |args: &[VectorRef], rows: &SelectivityVector| {
                    apply(kernel, args, rows, &node.ty, None)
                };
                by_halves(&mut call, &vectors, &left, &node.ty, failed)
            }
            Operation::HigherOrder { function, args, lambdas } => {
                let captures = lambdas.iter().flat_map(|lambda| lambda.captures());
                let inputs: Vec<NodeId> = args.iter().chain(captures).copied().collect();
                let (vectors, left) = self.arguments(&inputs, Nulls::Seen, rows, failed)?;
                let mut call = |inputs: &[VectorRef], rows: &SelectivityVector| {
                    let (args, mut captured) = inputs.split_at(args.len());
                    let bound = lambdas.iter().map(|lambda| {
                        let (captures, rest) = captured.split_at(lambda.captures().len());
                        captured = rest;
                        BoundLambda::new(lambda, captures.to_vec())
                    });
                    let bound: Vec<BoundLambda<'_>> = bound.collect();
                    let lambdas: Vec<&dyn ElementLambda> =
                        bound.iter().map(|lambda| lambda as &dyn ElementLambda).collect();
                    let call = LambdaCall { args, lambdas: &lambdas, rows, ty: &node.ty };
                    function.run(&call).map(Arc::new)
                };
                by_halves(&mut call, &vectors, &left, &node.ty, failed)
            }
            Operation::Dereference(input, index) => {
                let input = self.setting_failures_aside(*input, rows, failed)?;
                super::loaded::loaded(&Vector::field(&input, *index)?, rows)
            }
            Operation::And(terms) => self.junction_aside(terms, rows, false, failed),
            Operation::Or(terms) => self.junction_aside(terms, rows, true, failed),
            Operation::Switch { branches, otherwise } => {
                let mut forms = Alternatives::new(rows);
                for (condition, value) in branches {
                    if forms.remaining.is_none() {
                        break;
                    }
                    let condition = self.aside(*condition, &mut forms.remaining, failed)?;
                    let mut chosen = select_true(&condition, &forms.remaining)?;
                    forms.remaining.remove(&chosen);
                    let value = self.aside(*value, &mut chosen, failed)?;
                    forms.add(chosen, value);
                }
                if let Some(otherwise) = otherwise {
                    let mut chosen = forms.remaining.clone();
                    let value = self.aside(*otherwise, &mut chosen, failed)?;
                    forms.add(chosen, value);
                }
                merge(&node.ty, rows, &forms.parts)
            }
            Operation::Coalesce(terms) => {
                let mut forms = Alternatives::new(rows);
                for term in terms {
                    if forms.remaining.is_none() {
                        break;
                    }
                    let value = self.aside(*term, &mut forms.remaining, failed)?;
                    let mut valid = forms.remaining.clone();
                    valid.deselect_nulls(DecodedVector::new(&value)?.validity());
                    forms.remaining.remove(&valid);
                    forms.add(valid, value);
                }
                merge(&node.ty, rows, &forms.parts)
            }
            Operation::Try(input) => self.null_where_failing(*input, rows),
        }
    }

    /// Returns the values of a node, with nulls for rows that fail.
    pub(super) fn null_where_failing(
        &mut self,
        id: NodeId,
        rows: &SelectivityVector,
    ) -> Result<VectorRef> {
        let mut good = rows.clone();
        let mut failed = SelectivityVector::none(rows.len());
        let vector = self.aside(id, &mut good, &mut failed)?;
        merge(vector.ty(), rows, &[Part { rows: good, vector: Arc::clone(&vector) }])
    }

    /// Returns the values of a node for `rows`. Failing rows are removed from `rows` and added to
    /// `failed`.
    fn aside(
        &mut self,
        id: NodeId,
        rows: &mut SelectivityVector,
        failed: &mut SelectivityVector,
    ) -> Result<VectorRef> {
        let mut own = SelectivityVector::none(rows.len());
        let vector = self.setting_failures_aside(id, rows, &mut own)?;
        rows.remove(&own);
        failed.unite(&own);
        Ok(vector)
    }

    /// Returns the arguments of a function and the rows to apply it to, which are those without a
    /// failed argument. Where nulls propagate, a null argument decides the result, so that a
    /// failure of another argument does not matter (Velox's `evalArgsDefaultNulls`).
    fn arguments(
        &mut self,
        args: &[NodeId],
        nulls: Nulls,
        rows: &SelectivityVector,
        failed: &mut SelectivityVector,
    ) -> Result<(Vec<VectorRef>, SelectivityVector)> {
        let mut own = SelectivityVector::none(rows.len());
        let mut null = SelectivityVector::none(rows.len());
        let mut vectors = Vec::with_capacity(args.len());
        for arg in args {
            let mut good = rows.clone();
            let vector = self.aside(*arg, &mut good, &mut own)?;
            let decoded = DecodedVector::new(&vector)?;
            if nulls == Nulls::Propagate && decoded.validity().is_some() {
                let mut valid = good.clone();
                valid.deselect_nulls(decoded.validity());
                good.remove(&valid);
                null.unite(&good);
            }
            vectors.push(vector);
        }
        own.remove(&null);
        let mut left = rows.clone();
        left.remove(&own);
        failed.unite(&own);
        Ok((vectors, left))
    }

    /// Evaluates AND or OR with a [`Junction`]. Rows for which a term fails and that no other term
    /// decides are added to `failed`.
    fn junction_aside(
        &mut self,
        terms: &[NodeId],
        rows: &SelectivityVector,
        deciding: bool,
        failed: &mut SelectivityVector,
    ) -> Result<VectorRef> {
        let mut junction = Junction::new(rows, deciding);
        let mut own = SelectivityVector::none(rows.len());
        for term in terms {
            if junction.undecided().is_none() {
                break;
            }
            self.settle_aside(*term, &mut junction, &mut own)?;
        }
        own.intersect_words(junction.undecided().words());
        failed.unite(&own);
        junction.finish(rows)
    }

    /// Adds the values of one term to a junction. Rows for which it fails stay undecided and are
    /// added to `failed`.
    pub(super) fn settle_aside(
        &mut self,
        term: NodeId,
        junction: &mut Junction,
        failed: &mut SelectivityVector,
    ) -> Result<()> {
        let mut good = junction.undecided().clone();
        let vector = self.aside(term, &mut good, failed)?;
        junction.settle(&vector, Some(&good))
    }
}

/// Branches of a CASE or COALESCE evaluated so far.
struct Alternatives {
    /// Rows with neither a value nor a failure.
    remaining: SelectivityVector,
    parts: Vec<Part>,
}

impl Alternatives {
    fn new(rows: &SelectivityVector) -> Self {
        Alternatives { remaining: rows.clone(), parts: Vec::new() }
    }

    fn add(&mut self, rows: SelectivityVector, vector: VectorRef) {
        if !rows.is_none() {
            self.parts.push(Part { rows, vector });
        }
    }
}

/// A function of vectors as long as the batch, for some of its rows.
type Call<'a> = &'a mut dyn FnMut(&[VectorRef], &SelectivityVector) -> Result<VectorRef>;

/// Returns the values of `call` for `rows`, with type `ty`. Rows for which it fails are added to
/// `failed`.
fn by_halves(
    call: Call<'_>,
    args: &[VectorRef],
    rows: &SelectivityVector,
    ty: &Type,
    failed: &mut SelectivityVector,
) -> Result<VectorRef> {
    let count = rows.count();
    if count > 0 {
        match call(args, rows) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            other => return other,
        }
    }
    if count <= 1 {
        failed.unite(rows);
        return Ok(Arc::new(Vector::nulls(ty.clone(), rows.len())));
    }
    if count < rows.len() / SPARSE {
        return side_by_side(call, args, rows, ty, failed);
    }
    let (mut first, mut second) = (rows.clone(), rows.clone());
    for (i, row) in rows.iter().enumerate() {
        if i < count / 2 { &mut second } else { &mut first }.set(row, false);
    }
    let mut parts = Vec::with_capacity(2);
    for rows in [first, second] {
        let vector = by_halves(call, args, &rows, ty, failed)?;
        parts.push(Part { rows, vector });
    }
    merge(ty, rows, &parts)
}

/// Applies [`by_halves`] to dense copies of the rows.
fn side_by_side(
    call: Call<'_>,
    args: &[VectorRef],
    rows: &SelectivityVector,
    ty: &Type,
    failed: &mut SelectivityVector,
) -> Result<VectorRef> {
    let positions = rows.to_rows().to_positions();
    let copies: Vec<VectorRef> = args.iter().map(|arg| Vector::wrap(arg, &positions)).collect();
    let all = SelectivityVector::all(positions.len());
    let mut among_copies = SelectivityVector::none(positions.len());
    let values = by_halves(call, &copies, &all, ty, &mut among_copies)?;
    let mut places = BufferMut::new();
    places.resize(rows.len(), 0u32);
    for (place, row) in positions.iter().enumerate() {
        places[*row as usize] = place as u32;
    }
    among_copies.iter().for_each(|place| failed.set(positions[place] as usize, true));
    Ok(Vector::wrap(&values, &places.freeze()))
}

/// Returns true when nulls in `args` may decide a function's result where another argument fails.
pub(super) fn nulls_may_decide(kernel: &Kernel, args: &[VectorRef]) -> Result<bool> {
    if kernel.nulls() == Nulls::Propagate {
        for arg in args {
            if DecodedVector::new(arg)?.validity().is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
