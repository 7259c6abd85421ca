//! NOT, IS NULL, and IN over a list of constants.
//!
//! The list is sorted when the expression is compiled. Rows are looked up in it by search, or in a
//! table of bits for integers of a narrow range. AND, OR, IF, CASE and COALESCE determine for which
//! rows their arguments are evaluated, so they are special forms in `eval.rs` instead of functions.

use vector::{
    Bitmap, BitmapMut, DecodedVector, Error, FlatType, FlatValues, Result, StringValues, Timestamp,
    Type, TypeKind, Value, Vector, bits,
};

use super::operators::Ordered;
use crate::expr::kernel::{
    Argument, Call, Kernel, Operand, Side, boolean_bits, test_rows, test_slice, wrong_storage,
    zip_words,
};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("is_null", &["(T) -> BOOLEAN"], is_null),
    Function::scalar("not", &["(BOOLEAN) -> BOOLEAN"], not),
];

pub(in crate::expr) fn not(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| call.boolean(boolean_bits(&call.args[0])?.not())))
}

pub(in crate::expr) fn is_null(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::seeing_nulls(|call| match call.args[0].validity() {
        Some(validity) => call.boolean(validity.not()),
        None => Vector::constant(Type::Boolean, Value::Boolean(false), call.num_rows()),
    }))
}

/// True where both arguments are true. Unlike AND, null where either is null.
pub(in crate::expr) fn both(call: &Call<'_>) -> Result<Vector> {
    let (left, right) = (boolean_bits(&call.args[0])?, boolean_bits(&call.args[1])?);
    call.boolean(zip_words(&left, &right, call.num_rows(), |left, right| left & right))
}

/// Creates the kernel of `x IN (values)` for an `x` of type `ty`; its only argument is `x`.
pub(in crate::expr) fn bind_in(ty: &Type, values: &[Value]) -> Result<Kernel> {
    let has_null = values.iter().any(Value::is_null);
    Ok(match ty.kind() {
        TypeKind::Boolean => {
            let has =
                |wanted| values.iter().any(|v| matches!(v, Value::Boolean(b) if *b == wanted));
            let (on_false, on_true) = (has(false), has(true));
            members(has_null, move |call| {
                let bits = boolean_bits(&call.args[0])?;
                Ok(zip_words(&bits, &bits, call.num_rows(), |word, _| {
                    (if on_true { word } else { 0 }) | (if on_false { !word } else { 0 })
                }))
            })
        }
        TypeKind::TinyInt => integers::<i8>(values, has_null)?,
        TypeKind::SmallInt => integers::<i16>(values, has_null)?,
        TypeKind::Integer => integers::<i32>(values, has_null)?,
        TypeKind::BigInt => integers::<i64>(values, has_null)?,
        TypeKind::HugeInt => sorted::<i128>(values, has_null)?,
        TypeKind::Real => sorted::<f32>(values, has_null)?,
        TypeKind::Double => sorted::<f64>(values, has_null)?,
        TypeKind::Timestamp => sorted::<Timestamp>(values, has_null)?,
        TypeKind::Varchar | TypeKind::Varbinary => strings(values, has_null),
        // Every row is null, so the kernel is never called.
        TypeKind::Unknown => members(has_null, |call| Ok(Bitmap::filled(call.num_rows(), false))),
        TypeKind::Array | TypeKind::Map | TypeKind::Row => return Err(wrong_storage(ty)),
    })
}

/// Creates a membership test. With a null in the list, rows without a match are null.
fn members(
    has_null: bool,
    test: impl Fn(&Call<'_>) -> Result<Bitmap> + Send + Sync + 'static,
) -> Kernel {
    Kernel::new(move |call| {
        let found = test(call)?;
        if !has_null {
            return call.boolean(found);
        }
        let validity = Bitmap::and(call.validity.as_ref(), Some(&found));
        vector::FlatVector::boolean(found, validity).map(Vector::Flat)
    })
}

/// Returns the distinct values in ascending order, without nulls.
fn sorted_list<T: Ordered>(values: &[Value]) -> Result<Vec<T>> {
    let mut list = Vec::with_capacity(values.len());
    for value in values.iter().filter(|v| !v.is_null()) {
        list.push(T::from_value(value).ok_or_else(|| {
            Error::internal("a value of another type stands in a list").with("kind", T::KIND as u8)
        })?);
    }
    list.sort_by(|a, b| match (a.below(*b), b.below(*a)) {
        (true, _) => std::cmp::Ordering::Less,
        (_, true) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    });
    list.dedup_by(|a, b| a.same(*b));
    Ok(list)
}

fn test_side<T: FlatType>(argument: &DecodedVector, f: impl Fn(T) -> bool) -> Result<Bitmap> {
    let operand = Operand::<T>::new(argument)?;
    Ok(match operand.side() {
        Side::Many(values) => test_slice(values, f),
        Side::One(value) => Bitmap::filled(argument.len(), f(value)),
    })
}

fn sorted<T: Ordered>(values: &[Value], has_null: bool) -> Result<Kernel> {
    let list = sorted_list::<T>(values)?;
    Ok(members(has_null, move |call| {
        test_side(&call.args[0], |x: T| {
            let at = list.partition_point(|member| member.below(x));
            list.get(at).is_some_and(|member| member.same(x))
        })
    }))
}

/// Widest range of integers that is stored as a table of bits.
const MAX_TABLE_BITS: i128 = 1 << 16;

fn integers<T: Ordered + Into<i64>>(values: &[Value], has_null: bool) -> Result<Kernel> {
    let list = sorted_list::<T>(values)?;
    let (Some(first), Some(last)) = (list.first(), list.last()) else {
        return sorted::<T>(values, has_null);
    };
    let (first, last): (i64, i64) = ((*first).into(), (*last).into());
    let span = i128::from(last) - i128::from(first) + 1;
    if span > MAX_TABLE_BITS {
        return sorted::<T>(values, has_null);
    }
    let mut table = BitmapMut::new();
    table.push_n(false, span as usize);
    for member in list {
        table.set((member.into() - first) as usize, true);
    }
    let (table, span) = (table.freeze(), span as u64);
    Ok(members(has_null, move |call| {
        test_side(&call.args[0], |x: T| {
            let at = x.into().wrapping_sub(first) as u64;
            at < span && bits::get(table.words(), at as usize)
        })
    }))
}

fn strings(values: &[Value], has_null: bool) -> Kernel {
    let mut list: Vec<Box<[u8]>> =
        values.iter().filter_map(|v| v.as_bytes().map(Box::from)).collect();
    list.sort_unstable();
    list.dedup();
    // Most non-members are excluded by their length.
    let mut lengths = 0u64;
    for member in &list {
        lengths |= 1 << member.len().min(63);
    }
    members(has_null, move |call| {
        let argument = &call.args[0];
        let Some(FlatValues::String(strings)) = argument.flat_values() else {
            return Err(wrong_storage(argument.ty()));
        };
        Ok(test_rows(call.rows, |row| contains(&list, lengths, strings, argument.index(row))))
    })
}

fn contains(list: &[Box<[u8]>], lengths: u64, strings: &StringValues, at: usize) -> bool {
    let length = strings.views()[at].len();
    if lengths >> length.min(63) & 1 == 0 {
        return false;
    }
    let bytes = strings.get(at);
    list.binary_search_by(|member| (**member).cmp(bytes)).is_ok()
}
