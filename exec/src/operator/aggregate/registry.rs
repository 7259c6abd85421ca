//! The list of aggregate functions, and their resolution by name.
//!
//! | function | arguments | intermediate | result |
//! |---|---|---|---|
//! | `count` | none, or any type | BIGINT | BIGINT |
//! | `sum` | TINYINT to BIGINT | HUGEINT | BIGINT, `InvalidInput` when it does not fit |
//! | | HUGEINT | ROW(HUGEINT, BIGINT) | HUGEINT, likewise |
//! | | DECIMAL(p,s), p <= 18 | DECIMAL(38,s) | DECIMAL(38,s), likewise |
//! | | DECIMAL(p,s), p > 18 | ROW(HUGEINT, BIGINT) | DECIMAL(38,s), likewise |
//! | | REAL, DOUBLE | DOUBLE | the argument's type |
//! | `avg` | integers to BIGINT | ROW(HUGEINT, BIGINT) | DOUBLE |
//! | | HUGEINT | ROW(HUGEINT, BIGINT, BIGINT) | DOUBLE |
//! | | DECIMAL(p,s), p <= 18 | ROW(DECIMAL(38,s), BIGINT) | DECIMAL(p,s), rounded half away from zero |
//! | | DECIMAL(p,s), p > 18 | ROW(HUGEINT, BIGINT, BIGINT) | likewise |
//! | | REAL, DOUBLE | ROW(DOUBLE, BIGINT) | DOUBLE |
//! | `min`, `max` | any orderable type | the argument's type | the argument's type |
//! | `min_by`, `max_by` | any type, then an orderable type | ROW of both | the first's type |
//! | `stddev`, `variance`, each also `_samp` and `_pop` | numbers | ROW(BIGINT, DOUBLE, DOUBLE) | DOUBLE |
//! | `bool_and`, `every`, `bool_or` | BOOLEAN | BOOLEAN | BOOLEAN |
//! | `count_if` | BOOLEAN | BIGINT | BIGINT |
//! | `array_agg`, `set_agg` | any type | ARRAY of it | ARRAY of it |
//! | `map_agg` | any two types | MAP of both | MAP of both |
//! | `any_value`, `arbitrary` | any type | the argument's type | the argument's type |
//! | `bitwise_and_agg`, also `or` and `xor` | TINYINT to BIGINT | the argument's type | the same |
//!
//! Integers and decimals are summed exactly, so neither the order of rows nor the number of drivers
//! changes a result, and an intermediate sum that overflows is no error if later values bring it
//! back into range.

use vector::sync::Arc;
use vector::{Error, Result, Type, Value};

use dwio::expr::TypedExpr;

use super::accumulator::Accumulator;
use super::function::{AggregateFunction, AggregateSignature};
use super::{
    any_value, array_agg, bitwise_agg, bool_agg, count, min_max, min_max_by, set_map_agg, sum,
    variance,
};
use crate::expr::nearest;
use crate::plan::Aggregate;

/// The functions of each module. A new function is added to the list of its module.
const FAMILIES: &[&[&dyn AggregateFunction]] = &[
    count::FUNCTIONS,
    sum::FUNCTIONS,
    min_max::FUNCTIONS,
    min_max_by::FUNCTIONS,
    bool_agg::FUNCTIONS,
    variance::FUNCTIONS,
    array_agg::FUNCTIONS,
    set_map_agg::FUNCTIONS,
    any_value::FUNCTIONS,
    bitwise_agg::FUNCTIONS,
];

fn functions() -> impl Iterator<Item = &'static dyn AggregateFunction> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

fn find(name: &str) -> Option<&'static dyn AggregateFunction> {
    functions().find(|function| function.name() == name)
}

/// Returns the names of all aggregate functions.
pub fn aggregate_names() -> impl Iterator<Item = &'static str> {
    functions().map(AggregateFunction::name)
}

/// Returns true if repeated values do not change the result of `name`, so that DISTINCT has no
/// effect.
pub fn ignores_duplicates(name: &str) -> bool {
    find(name).is_some_and(AggregateFunction::ignores_duplicates)
}

/// Returns true if the order of its rows may change the result of `name` by more than the rounding
/// of a sum. Returns true for an unknown function.
pub fn depends_on_order(name: &str) -> bool {
    find(name).is_none_or(AggregateFunction::depends_on_order)
}

/// Returns true if `name`, in lower case, is an aggregate function.
pub fn is_aggregate(name: &str) -> bool {
    find(name).is_some()
}

fn function(name: &str) -> Result<&'static dyn AggregateFunction> {
    find(name).ok_or_else(|| {
        let error = Error::invalid_input("no such aggregate function").with("name", name);
        match nearest(name, aggregate_names()) {
            Some(close) => error.hint(format!("did you mean {close}?")),
            None => error,
        }
    })
}

fn resolved(
    name: &str,
    args: &[Type],
) -> Result<(&'static dyn AggregateFunction, AggregateSignature)> {
    let function = function(name)?;
    let signature = function.resolve(args).ok_or_else(|| {
        let given: Vec<String> = args.iter().map(ToString::to_string).collect();
        Error::invalid_input("an aggregate function does not take arguments of these types")
            .with("name", name)
            .with("arguments", format!("({})", given.join(", ")))
    })?;
    Ok((function, signature))
}

/// Returns the types of aggregate function `name` for arguments of types `args`.
///
/// # Errors
///
/// `InvalidInput` if there is no such function (the nearest name is suggested) or if it does not
/// take such arguments.
pub fn resolve_aggregate(name: &str, args: &[Type]) -> Result<AggregateSignature> {
    resolved(name, args).map(|(_, signature)| signature)
}

/// Returns the type of a partial step's output.
///
/// # Errors
///
/// The errors of [`resolve_aggregate`].
pub fn intermediate_type(name: &str, raw_types: &[Type]) -> Result<Type> {
    resolve_aggregate(name, raw_types).map(|signature| signature.intermediate)
}

/// Creates a single-step aggregate called `name` over columns or constants.
///
/// # Errors
///
/// The errors of [`resolve_aggregate`], and `Internal` when an argument still has to be cast.
pub fn aggregate_call(
    name: impl Into<String>,
    function: &str,
    args: Vec<TypedExpr>,
    distinct: bool,
) -> Result<Aggregate> {
    let raw_types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
    let signature = resolve_aggregate(function, &raw_types)?;
    if signature.args != raw_types {
        return Err(Error::internal("an aggregate's argument was not cast")
            .with("function", function)
            .with("argument", args.first().map(ToString::to_string).unwrap_or_default()));
    }
    let function = Arc::from(function);
    let (name, ty) = (name.into(), signature.result);
    Ok(Aggregate { name, function, args, raw_types, ty, distinct, mask: None })
}

/// Creates the accumulator of function `name` for arguments of `raw_types`.
pub(super) fn accumulator(name: &str, raw_types: &[Type]) -> Result<Box<dyn Accumulator>> {
    let (function, signature) = resolved(name, raw_types)?;
    function.accumulator(&signature)
}

/// Returns the result of aggregate function `name` over no rows: 0 for counts, null for all other
/// functions.
///
/// # Errors
///
/// The errors of [`resolve_aggregate`].
pub fn result_of_no_rows(name: &str, raw_types: &[Type]) -> Result<Value> {
    let (function, signature) = resolved(name, raw_types)?;
    function.result_of_no_rows(&signature)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_suggested() {
        let error = resolve_aggregate("cuont", &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid input: no such aggregate function (name=cuont)\n  hint: did you mean count?"
        );
    }

    #[test]
    fn sums_and_averages_have_the_types_of_the_table_above() {
        let resolve = |name: &str, ty: &Type| {
            let s = resolve_aggregate(name, std::slice::from_ref(ty)).unwrap();
            format!("{} {}", s.intermediate, s.result)
        };
        let price = Type::decimal(15, 2).unwrap();
        assert_eq!(resolve("sum", &Type::Integer), "HUGEINT BIGINT");
        assert_eq!(resolve("sum", &price), "DECIMAL(38,2) DECIMAL(38,2)");
        let long = Type::decimal(20, 2).unwrap();
        assert_eq!(resolve("sum", &long), "ROW(sum HUGEINT,overflows BIGINT) DECIMAL(38,2)");
        assert_eq!(
            resolve("avg", &long),
            "ROW(sum HUGEINT,count BIGINT,overflows BIGINT) DECIMAL(20,2)"
        );
        assert_eq!(resolve("sum", &Type::Real), "DOUBLE REAL");
        assert_eq!(resolve("avg", &price), "ROW(sum DECIMAL(38,2),count BIGINT) DECIMAL(15,2)");
        assert_eq!(resolve("avg", &Type::BigInt), "ROW(sum HUGEINT,count BIGINT) DOUBLE");
        assert_eq!(resolve("max", &Type::Date), "DATE DATE");
    }

    #[test]
    fn counts_of_no_rows_are_zero_and_other_aggregates_are_null() {
        for name in aggregate_names() {
            let by = |ty: Type| match name {
                "min_by" | "max_by" | "map_agg" => vec![ty.clone(), ty],
                _ => vec![ty],
            };
            let raw_types = match resolve_aggregate(name, &by(Type::BigInt)) {
                Ok(_) => by(Type::BigInt),
                Err(_) => by(Type::Boolean),
            };
            let is_count = matches!(name, "count" | "count_if");
            let expected = if is_count { Value::BigInt(0) } else { Value::Null };
            assert_eq!(result_of_no_rows(name, &raw_types).unwrap(), expected, "{name}");
        }
        assert_eq!(result_of_no_rows("count", &[]).unwrap(), Value::BigInt(0));
    }

    #[test]
    fn what_has_no_sum_or_no_order_is_refused() {
        for (name, ty) in [
            ("sum", Type::Varchar),
            ("avg", Type::Date),
            ("min", Type::map(Type::Integer, Type::Integer)),
        ] {
            assert!(resolve_aggregate(name, &[ty]).unwrap_err().is_user());
        }
        assert!(resolve_aggregate("sum", &[]).unwrap_err().is_user());
    }
}
