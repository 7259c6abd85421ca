//! Peeling: evaluates functions under encodings, so that equal rows are computed once.
//!
//! | arguments | function input | result |
//! |---|---|---|
//! | all constant | one row | a constant |
//! | dictionaries with the same indices, constants | the bases | a dictionary of these indices |
//! | other | the decoded rows | flat |
//!
//! The second case pays off when the base is not larger than the number of requested rows. A
//! function of one dictionary caches its result over the last base: requested rows are added up
//! over the batches that share the base, and once they exceed its size, the function is evaluated
//! for the whole base. `LIKE` over a column chunk with one dictionary therefore costs at most one
//! match per entry.
//!
//! The whole base is evaluated, including entries without a row. If one of those fails, or memory
//! does not suffice for all results, only the entries with rows are evaluated and nothing is
//! cached.

use vector::sync::{Arc, Weak};
use vector::{
    Bitmap, ConstantVector, DecodedVector, DictionaryVector, ErrorKind, Result, SelectivityVector,
    Type, Vector, VectorRef,
};

use super::kernel::{Call, Kernel, Nulls};

/// Cached result of a function over the last dictionary. Does not own the base, so that a column
/// can reuse its memory after its batch is released.
#[derive(Debug, Default)]
pub(super) struct Memo {
    base: Weak<Vector>,
    /// Number of rows requested over this base so far.
    num_rows: usize,
    result: Option<VectorRef>,
    /// True when some entry of the base fails.
    fails: bool,
}

impl Memo {
    /// Records `num_rows` further rows over `base`.
    fn see(&mut self, base: &VectorRef, num_rows: usize) {
        // A weak pointer keeps its address from being reused, so equal addresses mean the same
        // base.
        if !std::ptr::eq(self.base.as_ptr(), Arc::as_ptr(base)) {
            *self = Memo { base: Arc::downgrade(base), ..Memo::default() };
        }
        self.num_rows = self.num_rows.saturating_add(num_rows);
    }
}

/// Applies a function to `args` for `rows`. `memo` holds the index of the only argument that is not
/// constant, with its cache.
pub(super) fn apply(
    kernel: &Kernel,
    args: &[VectorRef],
    rows: &SelectivityVector,
    ty: &Type,
    memo: Option<(usize, &mut Memo)>,
) -> Result<VectorRef> {
    let len = rows.len();
    let all_null = kernel.nulls() == Nulls::Propagate && args.iter().any(is_null_constant);
    if rows.is_none() || all_null {
        return Ok(Arc::new(Vector::nulls(ty.clone(), len)));
    }
    if !kernel.is_deterministic() {
        return decoded(kernel, args, rows, ty);
    }
    // A function without arguments may have a different result for each row.
    if !args.is_empty() && args.iter().all(|arg| matches!(arg.as_ref(), Vector::Constant(_))) {
        let single: Vec<VectorRef> = args.iter().map(|arg| resized(arg, 1)).collect();
        let result = decoded(kernel, &single, &SelectivityVector::all(1), ty)?;
        let value = DecodedVector::new(&result)?.value(0)?;
        return Ok(Arc::new(Vector::Constant(ConstantVector::new(ty.clone(), value, len)?)));
    }
    if let Some(peeled) = Peeled::new(kernel, args)
        && let Some(result) = over_base(kernel, &peeled, rows, ty, memo)?
    {
        return Ok(peeled.wrap(&result, len));
    }
    decoded(kernel, args, rows, ty)
}

fn is_null_constant(vector: &VectorRef) -> bool {
    matches!(vector.as_ref(), Vector::Constant(constant) if constant.is_null())
}

/// Returns a constant with another length; other vectors unchanged.
fn resized(vector: &VectorRef, len: usize) -> VectorRef {
    match vector.as_ref() {
        Vector::Constant(constant) => Arc::new(Vector::Constant(constant.resized(len))),
        _ => Arc::clone(vector),
    }
}

/// Arguments without their common dictionary.
struct Peeled<'a> {
    dictionary: &'a DictionaryVector,
    /// The bases, and constants of the same length.
    args: Vec<VectorRef>,
}

impl<'a> Peeled<'a> {
    /// Peels off the common dictionary, if there is one.
    fn new(kernel: &Kernel, args: &'a [VectorRef]) -> Option<Self> {
        let mut common: Option<&DictionaryVector> = None;
        for arg in args {
            match (arg.as_ref(), common) {
                (Vector::Constant(_), _) => {}
                (Vector::Dictionary(dictionary), None) => common = Some(dictionary),
                (Vector::Dictionary(dictionary), Some(first)) => {
                    // Different validities would have to be combined; that case is rare.
                    let same =
                        std::ptr::eq(dictionary.indices().as_slice(), first.indices().as_slice())
                            && dictionary.base().len() == first.base().len()
                            && dictionary.validity().is_none()
                            && first.validity().is_none();
                    if !same {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        let dictionary = common?;
        // A row that is null only in the dictionary has no base entry to evaluate.
        if dictionary.validity().is_some() && kernel.nulls() == Nulls::Seen {
            return None;
        }
        let num_base = dictionary.base().len();
        let args = args
            .iter()
            .map(|arg| match arg.as_ref() {
                Vector::Dictionary(dictionary) => Arc::clone(dictionary.base()),
                _ => resized(arg, num_base),
            })
            .collect();
        Some(Peeled { dictionary, args })
    }

    /// Returns the base rows to which `rows` map.
    fn base_rows(&self, rows: &SelectivityVector) -> SelectivityVector {
        let mut valid = rows.clone();
        valid.deselect_nulls(self.dictionary.validity());
        let indices = self.dictionary.indices();
        let mut base_rows = SelectivityVector::none(self.dictionary.base().len());
        for row in valid.iter() {
            base_rows.set(indices[row] as usize, true);
        }
        base_rows
    }

    /// Wraps the result in the dictionary again.
    fn wrap(&self, result: &VectorRef, len: usize) -> VectorRef {
        let validity = self.dictionary.validity();
        match result.as_ref() {
            Vector::Constant(_) if validity.is_none() => resized(result, len),
            _ => Arc::new(Vector::Dictionary(DictionaryVector::over_with_validity(
                Arc::clone(result),
                self.dictionary.indices().clone(),
                validity.cloned(),
            ))),
        }
    }
}

/// Evaluates the function over the bases; returns `None` when that does not pay off.
fn over_base(
    kernel: &Kernel,
    peeled: &Peeled<'_>,
    rows: &SelectivityVector,
    ty: &Type,
    memo: Option<(usize, &mut Memo)>,
) -> Result<Option<VectorRef>> {
    let num_base = peeled.dictionary.base().len();
    let num_rows = rows.count();
    if num_base == 0 {
        return Ok(None);
    }
    let Some((arg, memo)) = memo else {
        if num_base > num_rows {
            return Ok(None);
        }
        return whole_or_needed(kernel, peeled, rows, ty).map(|(result, _)| Some(result));
    };
    memo.see(&peeled.args[arg], num_rows);
    if let Some(result) = &memo.result {
        return Ok(Some(Arc::clone(result)));
    }
    if num_base > memo.num_rows || (memo.fails && num_base > num_rows) {
        return Ok(None);
    }
    // If both attempts fail for lack of memory, the next evaluation uses fewer decoded rows.
    let (result, complete) =
        whole_or_needed(kernel, peeled, rows, ty).inspect_err(|_| memo.fails = true)?;
    if complete {
        memo.result = Some(Arc::clone(&result));
    } else {
        memo.fails = true;
    }
    Ok(Some(result))
}

/// Evaluates the function for all entries, or for those with rows if another entry fails. Returns
/// whether all were evaluated.
fn whole_or_needed(
    kernel: &Kernel,
    peeled: &Peeled<'_>,
    rows: &SelectivityVector,
    ty: &Type,
) -> Result<(VectorRef, bool)> {
    let all = SelectivityVector::all(peeled.dictionary.base().len());
    match apply(kernel, &peeled.args, &all, ty, None) {
        Ok(result) => Ok((result, true)),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Limit) => {
            apply(kernel, &peeled.args, &peeled.base_rows(rows), ty, None)
                .map(|result| (result, false))
        }
        Err(error) => Err(error),
    }
}

/// Evaluates the function over decoded rows.
fn decoded(
    kernel: &Kernel,
    args: &[VectorRef],
    rows: &SelectivityVector,
    ty: &Type,
) -> Result<VectorRef> {
    let args = args.iter().map(DecodedVector::new).collect::<Result<Vec<_>>>()?;
    if kernel.nulls() == Nulls::Seen {
        let call = Call { args: &args, rows, validity: None, ty };
        return kernel.run(&call).map(Arc::new);
    }
    let validity = args
        .iter()
        .fold(None, |both: Option<Bitmap>, arg| Bitmap::and(both.as_ref(), arg.validity()));
    let mut valid = rows.clone();
    valid.deselect_nulls(validity.as_ref());
    // If every row is null, there may be no values to access.
    if valid.is_none() {
        return Ok(Arc::new(Vector::nulls(ty.clone(), rows.len())));
    }
    kernel.run(&Call { args: &args, rows: &valid, validity, ty }).map(Arc::new)
}
