//! The greatest and the least of several values; null when one is null. NaN is the greatest.

use std::cmp::Ordering;

use vector::sync::Arc;
use vector::{Error, Result, Type, Vector, VectorBuilder, compare_rows};

use super::coercion::common_type;
use super::kernel::{Argument, Kernel};
use super::registry::Resolved;

/// Scalars of one type.
pub(super) fn scalars(types: &[Type]) -> Option<Resolved> {
    let (first, rest) = types.split_first()?;
    let common = rest.iter().try_fold(first.clone(), |common, ty| common_type(&common, ty))?;
    (!common.is_nested()).then(|| Resolved::new(vec![common.clone(); types.len()], common))
}

pub(super) fn greatest(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(extreme(Ordering::Greater))
}

pub(super) fn least(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(extreme(Ordering::Less))
}

/// The first of the values that no other one beats.
fn extreme(wins: Ordering) -> Kernel {
    Kernel::new(move |call| {
        let mut out = VectorBuilder::new(call.ty.clone());
        for row in 0..call.num_rows() {
            if !call.rows.contains(row) {
                out.push_null();
                continue;
            }
            let mut args = call.args.iter();
            let mut best = args.next().ok_or_else(|| Error::internal("no value to choose"))?;
            for arg in args {
                if compare_rows(arg, row, best, row)? == wins {
                    best = arg;
                }
            }
            out.push(&best.value(row)?)?;
        }
        let made: Vector = Arc::unwrap_or_clone(out.finish()?);
        Ok(made)
    })
}
