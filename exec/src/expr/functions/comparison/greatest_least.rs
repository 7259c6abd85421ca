//! `greatest` and `least` of several values: null when one of them is null. NaN is the greatest
//! number.

use std::cmp::Ordering;

use vector::{Result, StringBuilder, Type, TypeKind, Vector};

use super::operators::Ordered;
use crate::expr::functions::string::characters::strings_of;
use crate::expr::kernel::{
    Argument, Call, Kernel, Operand, Side, boolean_bits, map, wrong_storage, zip, zip_words,
};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("greatest", &["(T, ...) -> T for scalar T"], greatest),
    Function::scalar("least", &["(T, ...) -> T for scalar T"], least),
];

fn greatest(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(result, true)
}

fn least(_: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    bind(result, false)
}

/// Creates a kernel that returns the first of the greatest (or least) values.
fn bind(result: &Type, greatest: bool) -> Result<Kernel> {
    Ok(match result.kind() {
        TypeKind::Boolean => Kernel::new(move |call| booleans(call, greatest)),
        TypeKind::TinyInt => Kernel::new(move |call| fixed::<i8>(call, greatest)),
        TypeKind::SmallInt => Kernel::new(move |call| fixed::<i16>(call, greatest)),
        TypeKind::Integer => Kernel::new(move |call| fixed::<i32>(call, greatest)),
        TypeKind::BigInt => Kernel::new(move |call| fixed::<i64>(call, greatest)),
        TypeKind::HugeInt => Kernel::new(move |call| fixed::<i128>(call, greatest)),
        TypeKind::Real => Kernel::new(move |call| fixed::<f32>(call, greatest)),
        TypeKind::Double => Kernel::new(move |call| fixed::<f64>(call, greatest)),
        TypeKind::Timestamp => Kernel::new(move |call| fixed::<vector::Timestamp>(call, greatest)),
        TypeKind::Varchar | TypeKind::Varbinary => Kernel::new(move |call| strings(call, greatest)),
        // Every row is null, so the kernel is never called.
        TypeKind::Unknown => {
            Kernel::new(|call| Ok(Vector::nulls(call.ty.clone(), call.num_rows())))
        }
        TypeKind::Array | TypeKind::Map | TypeKind::Row => return Err(wrong_storage(result)),
    })
}

fn fixed<T: Ordered>(call: &Call<'_>, greatest: bool) -> Result<Vector> {
    let [first, rest @ ..] = call.args else { return Err(wrong_storage(call.ty)) };
    let len = call.num_rows();
    let mut best = map(Operand::<T>::new(first)?.side(), len, |value| value);
    for argument in rest {
        let other = Operand::<T>::new(argument)?;
        best = zip(Side::Many(&best), other.side(), len, |best: T, value: T| {
            let beats = if greatest { best.below(value) } else { value.below(best) };
            if beats { value } else { best }
        });
    }
    call.fixed(best)
}

fn booleans(call: &Call<'_>, greatest: bool) -> Result<Vector> {
    let [first, rest @ ..] = call.args else { return Err(wrong_storage(call.ty)) };
    let mut best = boolean_bits(first)?;
    for argument in rest {
        let other = boolean_bits(argument)?;
        best = zip_words(&best, &other, call.num_rows(), |best, other| {
            if greatest { best | other } else { best & other }
        });
    }
    call.boolean(best)
}

fn strings(call: &Call<'_>, greatest: bool) -> Result<Vector> {
    let sources = call.args.iter().map(strings_of).collect::<Result<Vec<_>>>()?;
    let wins = if greatest { Ordering::Greater } else { Ordering::Less };
    let mut out = StringBuilder::new();
    for row in 0..call.num_rows() {
        let mut best: &[u8] = &[];
        if call.rows.contains(row) {
            for (i, (strings, argument)) in sources.iter().zip(call.args).enumerate() {
                let text = strings.get(argument.index(row));
                if i == 0 || text.cmp(best) == wins {
                    best = text;
                }
            }
        }
        out.push(best);
    }
    call.strings(out.finish()?)
}
