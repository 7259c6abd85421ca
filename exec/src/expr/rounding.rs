//! Numbers to whole ones, and roots and powers.
//!
//! Integers are whole already: `floor` and `ceil` give them back as they are, in their own type.

use vector::{FlatType, Result, Type, TypeKind};

use super::kernel::{Argument, Call, Kernel, Operand, map, wrong_storage, zip};
use super::registry::Resolved;

/// Any number but a decimal, to the same type.
pub(super) fn same_number(types: &[Type]) -> Option<Resolved> {
    let [ty] = types else { return None };
    let is_known = ty.is_integer() || matches!(ty, Type::Real | Type::Double);
    is_known.then(|| Resolved::new(vec![ty.clone()], ty.clone()))
}

/// As many DOUBLEs as are given, one or two, to a DOUBLE.
pub(super) fn doubles(types: &[Type]) -> Option<Resolved> {
    let fits = |ty: &Type| ty.is_integer() || matches!(ty, Type::Real | Type::Double);
    let all = matches!(types.len(), 1 | 2) && types.iter().all(fits);
    all.then(|| Resolved::new(vec![Type::Double; types.len()], Type::Double))
}

pub(super) fn one_double(types: &[Type]) -> Option<Resolved> {
    doubles(types).filter(|resolved| resolved.args.len() == 1)
}

pub(super) fn two_doubles(types: &[Type]) -> Option<Resolved> {
    doubles(types).filter(|resolved| resolved.args.len() == 2)
}

pub(super) fn floor(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    whole(result, f32::floor, f64::floor)
}

pub(super) fn ceil(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    whole(result, f32::ceil, f64::ceil)
}

/// Half away from zero.
pub(super) fn round(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    whole(result, f32::round, f64::round)
}

pub(super) fn sqrt(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| mapped(call, f64::sqrt)))
}

pub(super) fn power(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let (base, exponent) =
            (Operand::<f64>::new(&call.args[0])?, Operand::<f64>::new(&call.args[1])?);
        call.fixed(zip(base.side(), exponent.side(), call.num_rows(), f64::powf))
    }))
}

fn whole(result: &Type, real: fn(f32) -> f32, double: fn(f64) -> f64) -> Result<Kernel> {
    Ok(match result.kind() {
        TypeKind::Real => Kernel::new(move |call| mapped(call, real)),
        TypeKind::Double => Kernel::new(move |call| mapped(call, double)),
        TypeKind::TinyInt => Kernel::new(|call| mapped(call, |x: i8| x)),
        TypeKind::SmallInt => Kernel::new(|call| mapped(call, |x: i16| x)),
        TypeKind::Integer => Kernel::new(|call| mapped(call, |x: i32| x)),
        TypeKind::BigInt => Kernel::new(|call| mapped(call, |x: i64| x)),
        TypeKind::HugeInt => Kernel::new(|call| mapped(call, |x: i128| x)),
        _ => return Err(wrong_storage(result)),
    })
}

fn mapped<T: FlatType>(call: &Call<'_>, f: impl Fn(T) -> T) -> Result<vector::Vector> {
    let argument = Operand::<T>::new(&call.args[0])?;
    call.fixed(map(argument.side(), call.num_rows(), f))
}
