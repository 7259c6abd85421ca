//! The aggregate functions by name: what they take and what they give.
//!
//! | function | arguments | intermediate | result |
//! |---|---|---|---|
//! | `count` | none or anything | BIGINT | BIGINT |
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
//! | `min`, `max` | anything with an order | the argument's type | the argument's type |
//! | `min_by`, `max_by` | anything, then something with an order | ROW of both | the first's type |
//! | `stddev`, `variance`, each also `_samp` and `_pop` | numbers | ROW(BIGINT, DOUBLE, DOUBLE) | DOUBLE |
//! | `bool_and`, `every`, `bool_or` | BOOLEAN | BOOLEAN | BOOLEAN |
//! | `count_if` | BOOLEAN | BIGINT | BIGINT |
//! | `array_agg`, `set_agg` | anything | ARRAY of it | ARRAY of it |
//! | `map_agg` | anything, twice | MAP of both | MAP of both |
//! | `any_value`, `arbitrary` | anything | the argument's type | the argument's type |
//! | `bitwise_and_agg`, also `or` and `xor` | TINYINT to BIGINT | the argument's type | the same |
//!
//! Integers and decimals are summed exactly, so that neither the order of rows nor the number of
//! drivers changes a result, and an intermediate excess that is cancelled later is no error.

use vector::sync::Arc;
use vector::{DecodedVector, Error, Result, Type, Value};

use dwio::expr::TypedExpr;

use super::accumulator::{Accumulator, Part};
use super::anything::Anything;
use super::array_agg::Collected;
use super::bits::{Bits, Bitwise};
use super::booleans::{CountIf, Decided};
use super::collections::{MapOf, SetOf};
use super::count::Count;
use super::extreme_by::{self, ExtremeBy};
use super::min_max;
use super::moments::{self, Dispersion, Statistic};
use super::sum;
use crate::expr::nearest;
use crate::plan::Aggregate;

/// What an aggregate function takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateSignature {
    /// The types that the arguments are to be cast to.
    pub args: Vec<Type>,
    /// The type of a partial step's output.
    pub intermediate: Type,
    /// The type of a single or final step's output.
    pub result: Type,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Count,
    CountIf,
    Sum,
    Avg,
    Min,
    Max,
    MinBy,
    MaxBy,
    And,
    Or,
    Dispersion(Statistic),
    Collect,
    Set,
    Map,
    Anything,
    Bits(Bitwise),
}

const FUNCTIONS: [(&str, Function); 25] = [
    ("count", Function::Count),
    ("count_if", Function::CountIf),
    ("sum", Function::Sum),
    ("avg", Function::Avg),
    ("min", Function::Min),
    ("max", Function::Max),
    ("min_by", Function::MinBy),
    ("max_by", Function::MaxBy),
    ("bool_and", Function::And),
    ("every", Function::And),
    ("bool_or", Function::Or),
    ("variance", Function::Dispersion(Statistic::VarianceOfSample)),
    ("var_samp", Function::Dispersion(Statistic::VarianceOfSample)),
    ("var_pop", Function::Dispersion(Statistic::VarianceOfPopulation)),
    ("stddev", Function::Dispersion(Statistic::DeviationOfSample)),
    ("stddev_samp", Function::Dispersion(Statistic::DeviationOfSample)),
    ("stddev_pop", Function::Dispersion(Statistic::DeviationOfPopulation)),
    ("array_agg", Function::Collect),
    ("set_agg", Function::Set),
    ("map_agg", Function::Map),
    ("any_value", Function::Anything),
    ("arbitrary", Function::Anything),
    ("bitwise_and_agg", Function::Bits(Bitwise::And)),
    ("bitwise_or_agg", Function::Bits(Bitwise::Or)),
    ("bitwise_xor_agg", Function::Bits(Bitwise::Xor)),
];

/// The names of all aggregate functions.
pub fn aggregate_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// True when repeated values do not change what `name` gives, so that DISTINCT says nothing.
pub fn ignores_repeats(name: &str) -> bool {
    let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
    function.is_some_and(|(_, function)| match function {
        Function::Min | Function::Max | Function::MinBy | Function::MaxBy => true,
        Function::And | Function::Or => true,
        Function::Count | Function::CountIf | Function::Sum | Function::Avg => false,
        Function::Set | Function::Anything => true,
        Function::Dispersion(_) | Function::Collect | Function::Map | Function::Bits(_) => false,
    })
}

/// True when the order in which `name` takes its rows may change what it returns, by more than the
/// rounding of a sum.
pub fn depends_on_order(name: &str) -> bool {
    let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
    function.is_none_or(|(_, function)| match function {
        Function::Collect | Function::Set | Function::Map | Function::Anything => true,
        // Of rows with the same extreme the first one counts.
        Function::MinBy | Function::MaxBy => true,
        Function::Count | Function::CountIf | Function::Sum | Function::Avg => false,
        Function::Min | Function::Max | Function::And | Function::Or => false,
        Function::Dispersion(_) | Function::Bits(_) => false,
    })
}

/// True when `name`, in lower case, is an aggregate function.
pub fn is_aggregate(name: &str) -> bool {
    aggregate_names().any(|known| known == name)
}

fn function(name: &str) -> Result<Function> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, f)| *f).ok_or_else(|| {
        let error = Error::invalid_input("no such aggregate function").with("name", name);
        match nearest(name, aggregate_names()) {
            Some(close) => error.hint(format!("did you mean {close}?")),
            None => error,
        }
    })
}

/// The types of aggregate function `name` over arguments of `args`.
///
/// `InvalidInput` when there is no such function (the nearest name is suggested) or when it does
/// not take such arguments.
pub fn resolve_aggregate(name: &str, args: &[Type]) -> Result<AggregateSignature> {
    let function = function(name)?;
    let refuse = || {
        let given: Vec<String> = args.iter().map(ToString::to_string).collect();
        Error::invalid_input("an aggregate function does not take arguments of these types")
            .with("name", name)
            .with("arguments", format!("({})", given.join(", ")))
    };
    // A null literal has no type of its own; any will do for a result that is always null.
    let known = |arg: &Type| if *arg == Type::Unknown { Type::BigInt } else { arg.clone() };
    let (arg, by) = match args {
        [] if function == Function::Count => {
            let (intermediate, result) = (Type::BigInt, Type::BigInt);
            return Ok(AggregateSignature { args: Vec::new(), intermediate, result });
        }
        [arg] => (known(arg), None),
        [arg, by] => (known(arg), Some(known(by))),
        _ => return Err(refuse()),
    };
    let (intermediate, result) = match (function, &by) {
        (Function::Count, None) => {
            let (intermediate, result) = (Type::BigInt, Type::BigInt);
            return Ok(AggregateSignature { args: args.to_vec(), intermediate, result });
        }
        (Function::Min | Function::Max, None) if is_orderable(&arg) => (arg.clone(), arg.clone()),
        (Function::MinBy | Function::MaxBy, Some(by)) if is_orderable(by) => {
            let args = vec![arg.clone(), by.clone()];
            let intermediate = extreme_by::intermediate(&arg, by);
            return Ok(AggregateSignature { args, intermediate, result: arg });
        }
        (Function::Sum, None) => {
            let sum = exact_or_float(&arg).ok_or_else(refuse)?;
            let result = if arg.is_integer() {
                Type::BigInt
            } else if arg.is_float() {
                arg.clone()
            } else {
                sum.clone()
            };
            (sum::intermediate_type(&arg, sum, false), result)
        }
        (Function::Avg, None) => {
            let sum = exact_or_float(&arg).ok_or_else(refuse)?;
            let result = match arg {
                Type::Decimal { .. } => arg.clone(),
                _ => Type::Double,
            };
            (sum::intermediate_type(&arg, sum, true), result)
        }
        (Function::Dispersion(_), None) => {
            exact_or_float(&arg).ok_or_else(refuse)?;
            let args = vec![if let Type::Decimal { .. } = arg { Type::Double } else { arg }];
            let intermediate = moments::intermediate();
            return Ok(AggregateSignature { args, intermediate, result: Type::Double });
        }
        (Function::And | Function::Or | Function::CountIf, None) => {
            // For these a null literal is a truth value.
            if !matches!(args, [Type::Boolean | Type::Unknown]) {
                return Err(refuse());
            }
            let ty = if function == Function::CountIf { Type::BigInt } else { Type::Boolean };
            let args = vec![Type::Boolean];
            return Ok(AggregateSignature { args, intermediate: ty.clone(), result: ty });
        }
        (Function::Anything, None) => (arg.clone(), arg.clone()),
        (Function::Bits(_), None) if arg.is_integer() && arg != Type::HugeInt => {
            (arg.clone(), arg.clone())
        }
        (Function::Map, Some(value)) => {
            let (args, map) = (vec![arg.clone(), value.clone()], Type::map(arg, value.clone()));
            return Ok(AggregateSignature { args, intermediate: map.clone(), result: map });
        }
        (Function::Collect | Function::Set, None) => {
            let list = Type::array(arg.clone());
            (list.clone(), list)
        }
        _ => return Err(refuse()),
    };
    Ok(AggregateSignature { args: vec![arg], intermediate, result })
}

/// The type of a partial step's output; errors as [`resolve_aggregate`].
pub fn intermediate_type(name: &str, raw_types: &[Type]) -> Result<Type> {
    resolve_aggregate(name, raw_types).map(|signature| signature.intermediate)
}

/// A single-step aggregate called `name` over columns or constants; errors as
/// [`resolve_aggregate`], and `Internal` when an argument still has to be cast.
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

/// The accumulator of function `name` over arguments of `raw_types`.
pub(super) fn accumulator(name: &str, raw_types: &[Type]) -> Result<Box<dyn Accumulator>> {
    let signature = resolve_aggregate(name, raw_types)?;
    let function = function(name)?;
    let (arg, by) = match signature.args.as_slice() {
        [] => return Ok(Box::new(Count::default())),
        [arg] => (arg, arg),
        [arg, by, ..] => (arg, by),
    };
    let of_both = |make: fn(Type, Type) -> ExtremeBy| Box::new(make(arg.clone(), by.clone()));
    Ok(match function {
        Function::Count => Box::new(Count::default()),
        Function::CountIf => Box::new(CountIf::default()),
        Function::Min => min_max::accumulator(arg, true)?,
        Function::Max => min_max::accumulator(arg, false)?,
        Function::Sum | Function::Avg => sum::accumulator(arg, form(function, &signature)),
        Function::MinBy => of_both(ExtremeBy::min),
        Function::MaxBy => of_both(ExtremeBy::max),
        Function::And => Box::new(Decided::and()),
        Function::Or => Box::new(Decided::or()),
        Function::Dispersion(statistic) => Box::new(Dispersion::new(statistic)),
        Function::Collect => Box::new(Collected::new(arg.clone())),
        Function::Set => Box::new(SetOf::new(arg.clone())),
        Function::Map => Box::new(MapOf::new(arg.clone(), by.clone())),
        Function::Anything => Box::new(Anything::new(arg.clone())),
        Function::Bits(operator) => Box::new(Bits::new(arg.clone(), operator)),
    })
}

/// The result of aggregate function `name` over no rows: 0 for counts, null for most others. Errors
/// as [`resolve_aggregate`].
pub fn result_of_no_rows(name: &str, raw_types: &[Type]) -> Result<Value> {
    let mut accumulator = accumulator(name, raw_types)?;
    accumulator.resize(1);
    let result = accumulator.output(0, Part::Result, 0..1)?;
    DecodedVector::new(&result)?.value(0)
}

/// The statistic that function `name` gives; `None` when it gives something else.
pub(super) fn statistic_of(name: &str) -> Option<Statistic> {
    match function(name).ok()? {
        Function::Dispersion(statistic) => Some(statistic),
        _ => None,
    }
}

/// What comes out of sums for function `name` over arguments of `raw_types`; `None` when it is
/// made of something else.
pub(super) fn form_of_sums(name: &str, raw_types: &[Type]) -> Option<sum::Form> {
    let function = function(name).ok()?;
    matches!(function, Function::Sum | Function::Avg)
        .then(|| resolve_aggregate(name, raw_types).ok())
        .flatten()
        .map(|signature| form(function, &signature))
}

fn form(function: Function, signature: &AggregateSignature) -> sum::Form {
    sum::Form {
        result: signature.result.clone(),
        intermediate: signature.intermediate.clone(),
        is_average: function == Function::Avg,
    }
}

/// The type in which values of `arg` are summed.
fn exact_or_float(arg: &Type) -> Option<Type> {
    match arg {
        Type::Decimal { scale, .. } => Type::decimal(38, *scale).ok(),
        Type::HugeInt => Some(Type::HugeInt),
        _ if arg.is_integer() => Some(Type::HugeInt),
        _ if arg.is_float() => Some(Type::Double),
        _ => None,
    }
}

fn is_orderable(ty: &Type) -> bool {
    match ty {
        Type::Map(..) | Type::Unknown => false,
        Type::Array(element) => is_orderable(element),
        Type::Row(row) => row.types().iter().all(is_orderable),
        _ => true,
    }
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
