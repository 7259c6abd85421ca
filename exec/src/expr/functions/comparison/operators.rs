//! `=`, `<>`, `<`, `<=`, `>`, `>=` and IS DISTINCT FROM.
//!
//! Floats compare as they sort: NaN equals itself and is greater than all numbers (rule S2.25), and
//! -0 equals 0 (rule S2.26). Strings compare as unsigned bytes. Each operator has one loop per
//! storage and shape of the arguments, and writes its result 64 rows at a time.

use std::cmp::Ordering;

use vector::{
    Bitmap, DecodedVector, FlatType, FlatValues, Mapping, Result, StringValues, StringView,
    Timestamp, Type, TypeKind, equal_rows,
};

use crate::expr::functions::nested::equality;
use crate::expr::kernel::{
    Argument, Call, Kernel, Operand, boolean_bits, test_pairs, test_rows, validity_bits,
    wrong_storage, zip_words,
};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("eq", EQUATABLE, eq),
    Function::scalar("neq", EQUATABLE, neq),
    Function::scalar("lt", COMPARABLE, lt),
    Function::scalar("lte", COMPARABLE, lte),
    Function::scalar("gt", COMPARABLE, gt),
    Function::scalar("gte", COMPARABLE, gte),
    Function::scalar("distinct_from", &["(T, T) -> BOOLEAN"], distinct_from),
];

const COMPARABLE: &[&str] = &["(T, T) -> BOOLEAN for scalar T"];
const EQUATABLE: &[&str] = &["(T, T) -> BOOLEAN"];

/// The comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::expr) enum Comparison {
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order.is_eq(),
            Comparison::Neq => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::Lte => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::Gte => order.is_ge(),
        }
    }
}

/// Values with the order of SQL.
pub(super) trait Ordered: FlatType {
    fn same(self, other: Self) -> bool;
    fn below(self, other: Self) -> bool;
}

macro_rules! ordered {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            #[inline]
            fn same(self, other: Self) -> bool { self == other }
            #[inline]
            fn below(self, other: Self) -> bool { self < other }
        }
    )* };
}
ordered!(i8, i16, i32, i64, i128, Timestamp);

macro_rules! ordered_floats {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            #[inline]
            fn same(self, other: Self) -> bool {
                (self == other) | (self.is_nan() & other.is_nan())
            }
            #[inline]
            fn below(self, other: Self) -> bool {
                (self < other) | (!self.is_nan() & other.is_nan())
            }
        }
    )* };
}
ordered_floats!(f32, f64);

pub(in crate::expr) fn eq(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    bind(Comparison::Eq, args)
}

fn neq(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    bind(Comparison::Neq, args)
}

fn lt(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    bind(Comparison::Lt, args)
}

fn lte(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    bind(Comparison::Lte, args)
}

pub(in crate::expr) fn gt(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    bind(Comparison::Gt, args)
}

fn gte(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    bind(Comparison::Gte, args)
}

/// Creates the kernel of a comparison of two values of one type; nested values compare only for
/// equality.
pub(in crate::expr) fn bind(comparison: Comparison, args: &[Argument<'_>]) -> Result<Kernel> {
    if args.first().is_some_and(|arg| arg.ty.is_nested())
        && let Comparison::Eq | Comparison::Neq = comparison
    {
        return Ok(equality::bind(comparison == Comparison::Eq));
    }
    let compare = bits_of(comparison, args)?;
    Ok(Kernel::new(move |call| call.boolean(compare(call)?)))
}

/// Compares the two arguments of a call; bits of null and unselected rows are unspecified.
type Compare = Box<dyn Fn(&Call<'_>) -> Result<Bitmap> + Send + Sync>;

fn bits_of(comparison: Comparison, args: &[Argument<'_>]) -> Result<Compare> {
    let Some(argument) = args.first() else { return Err(wrong_storage(&Type::Unknown)) };
    macro_rules! fixed {
        ($t:ty) => {
            Box::new(move |call| fixed::<$t>(comparison, call))
        };
    }
    Ok(match argument.ty.kind() {
        TypeKind::Boolean => Box::new(move |call| booleans(comparison, call)),
        TypeKind::TinyInt => fixed!(i8),
        TypeKind::SmallInt => fixed!(i16),
        TypeKind::Integer => fixed!(i32),
        TypeKind::BigInt => fixed!(i64),
        TypeKind::HugeInt => fixed!(i128),
        TypeKind::Real => fixed!(f32),
        TypeKind::Double => fixed!(f64),
        TypeKind::Timestamp => fixed!(Timestamp),
        TypeKind::Varchar | TypeKind::Varbinary => Box::new(move |call| strings(comparison, call)),
        // Every row is null, so the kernel is never called.
        TypeKind::Unknown => Box::new(|call| Ok(Bitmap::filled(call.num_rows(), false))),
        TypeKind::Array | TypeKind::Map | TypeKind::Row => {
            return Err(wrong_storage(argument.ty));
        }
    })
}

fn fixed<T: Ordered>(comparison: Comparison, call: &Call<'_>) -> Result<Bitmap> {
    let (left, right) = (Operand::<T>::new(&call.args[0])?, Operand::<T>::new(&call.args[1])?);
    let (left, right, len) = (left.side(), right.side(), call.num_rows());
    Ok(match comparison {
        Comparison::Eq => test_pairs(left, right, len, |x: T, y: T| x.same(y)),
        Comparison::Neq => test_pairs(left, right, len, |x: T, y: T| !x.same(y)),
        Comparison::Lt => test_pairs(left, right, len, |x: T, y: T| x.below(y)),
        Comparison::Lte => test_pairs(left, right, len, |x: T, y: T| !y.below(x)),
        Comparison::Gt => test_pairs(left, right, len, |x: T, y: T| y.below(x)),
        Comparison::Gte => test_pairs(left, right, len, |x: T, y: T| !x.below(y)),
    })
}

fn booleans(comparison: Comparison, call: &Call<'_>) -> Result<Bitmap> {
    let (left, right) = (boolean_bits(&call.args[0])?, boolean_bits(&call.args[1])?);
    let len = call.num_rows();
    Ok(match comparison {
        Comparison::Eq => zip_words(&left, &right, len, |x, y| !(x ^ y)),
        Comparison::Neq => zip_words(&left, &right, len, |x, y| x ^ y),
        Comparison::Lt => zip_words(&left, &right, len, |x, y| !x & y),
        Comparison::Lte => zip_words(&left, &right, len, |x, y| !x | y),
        Comparison::Gt => zip_words(&left, &right, len, |x, y| x & !y),
        Comparison::Gte => zip_words(&left, &right, len, |x, y| x | !y),
    })
}

/// Strings of an argument and the mapping of its rows to them.
struct Strings<'a> {
    values: &'a StringValues,
    mapping: &'a Mapping,
}

impl<'a> Strings<'a> {
    fn new(argument: &'a DecodedVector) -> Result<Self> {
        match argument.flat_values() {
            Some(FlatValues::String(values)) => Ok(Strings { values, mapping: argument.mapping() }),
            _ => Err(wrong_storage(argument.ty())),
        }
    }

    fn view(&self, row: usize) -> StringView {
        self.values.views()[self.mapping.index(row)]
    }

    fn bytes(&self, row: usize) -> &'a [u8] {
        self.values.get(self.mapping.index(row))
    }

    /// Compares the first four bytes before the remaining bytes.
    #[inline]
    fn compare(&self, row: usize, other: &Strings<'_>, other_row: usize) -> Ordering {
        let prefix = |view: StringView| ((view.head() >> 32) as u32).swap_bytes();
        let (a, b) = (self.view(row), other.view(other_row));
        // Short strings are padded with zeros, so strings with equal prefixes may differ in length.
        prefix(a).cmp(&prefix(b)).then_with(|| self.bytes(row).cmp(other.bytes(other_row)))
    }

    /// Compares length and the first four bytes before the remaining bytes.
    #[inline]
    fn equals(&self, row: usize, other: &Strings<'_>, other_row: usize) -> bool {
        let (a, b) = (self.view(row), other.view(other_row));
        if a.head() != b.head() {
            return false;
        }
        if a.is_inline() { a == b } else { self.bytes(row) == other.bytes(other_row) }
    }
}

fn strings(comparison: Comparison, call: &Call<'_>) -> Result<Bitmap> {
    let (left, right) = (Strings::new(&call.args[0])?, Strings::new(&call.args[1])?);
    let rows = call.rows;
    Ok(match comparison {
        Comparison::Eq => test_rows(rows, |row| left.equals(row, &right, row)),
        Comparison::Neq => test_rows(rows, |row| !left.equals(row, &right, row)),
        other => test_rows(rows, |row| other.holds(left.compare(row, &right, row))),
    })
}

/// IS DISTINCT FROM: two nulls are not distinct, a null and a value are.
fn distinct_from(args: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    if args.iter().any(|arg| arg.ty.is_nested()) {
        return Ok(Kernel::seeing_nulls(|call| {
            let (left, right) = (&call.args[0], &call.args[1]);
            let mut outcome = Ok(());
            let distinct = test_rows(call.rows, |row| {
                match (left.is_null(row), right.is_null(row)) {
                    (false, false) => equal_rows(left, row, right, row).map(|same| !same),
                    (a, b) => Ok(a != b),
                }
                .unwrap_or_else(|error| {
                    outcome = Err(error);
                    false
                })
            });
            outcome?;
            call.boolean(distinct)
        }));
    }
    let compare = bits_of(Comparison::Neq, args)?;
    Ok(Kernel::seeing_nulls(move |call| {
        let (left, right, len) =
            (call.args[0].validity(), call.args[1].validity(), call.num_rows());
        let both = Bitmap::and(left, right);
        let mut rows = call.rows.clone();
        rows.deselect_nulls(both.as_ref());
        // If every row has a null, there may be no values to access.
        let differ = if rows.is_none() {
            Bitmap::filled(len, false)
        } else {
            compare(&Call { args: call.args, rows: &rows, validity: None, ty: call.ty })?
        };
        let Some(both) = both else { return call.boolean(differ) };
        let (left, right) = (validity_bits(left, len), validity_bits(right, len));
        let one_null = zip_words(&left, &right, len, |x, y| x ^ y);
        let differ = zip_words(&differ, &both, len, |x, y| x & y);
        call.boolean(zip_words(&differ, &one_null, len, |x, y| x | y))
    }))
}
