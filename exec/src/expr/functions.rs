//! The list of built-in functions: name, signatures for messages, typing rule, implementation.

use super::higher_order::types as lambda_types;
use super::registry::{Bind, Body, Form, Function, FunctionRegistry, HigherOrder, Rule};
use super::signatures as types;
use super::{
    arithmetic, comparison, containers, extremes, families, like, logic, nested, random, rounding,
    string, temporal, truncation,
};

impl FunctionRegistry {
    /// A registry of all built-in functions and special forms.
    pub fn builtin() -> Self {
        let mut registry = Self::empty();
        for function in ALL {
            registry.register(*function);
        }
        for family in families::ALL {
            family.members().for_each(|function| registry.register(function));
        }
        registry
    }
}

/// All built-in functions and special forms.
const ALL: &[Function] = &[
    scalar("eq", EQUATABLE, types::distinct_from, comparison::eq),
    scalar("neq", EQUATABLE, types::distinct_from, comparison::neq),
    scalar("lt", COMPARABLE, types::comparison, comparison::lt),
    scalar("lte", COMPARABLE, types::comparison, comparison::lte),
    scalar("gt", COMPARABLE, types::comparison, comparison::gt),
    scalar("gte", COMPARABLE, types::comparison, comparison::gte),
    scalar(
        "distinct_from",
        &["(T, T) -> BOOLEAN"],
        types::distinct_from,
        comparison::distinct_from,
    ),
    form("between", &["(T, T, T) -> BOOLEAN for scalar T"], types::between, Form::Between),
    form("in", &["(T, T, ...) -> BOOLEAN for scalar T"], types::in_list, Form::In),
    scalar("is_null", &["(T) -> BOOLEAN"], types::is_null, logic::is_null),
    scalar("not", &["(BOOLEAN) -> BOOLEAN"], types::not, logic::not),
    form("and", &["(BOOLEAN, BOOLEAN, ...) -> BOOLEAN"], types::junction, Form::And),
    form("or", &["(BOOLEAN, BOOLEAN, ...) -> BOOLEAN"], types::junction, Form::Or),
    scalar("plus", &[NUMBERS, "(DATE or TIMESTAMP, INTERVAL)"], types::plus, arithmetic::plus),
    scalar("minus", &[NUMBERS, "(DATE or TIMESTAMP, INTERVAL)"], types::minus, arithmetic::minus),
    scalar("multiply", &[NUMBERS], types::multiply, arithmetic::multiply),
    scalar("divide", &[NUMBERS], types::divide, arithmetic::divide),
    scalar("modulus", &[NUMBERS], types::modulus, arithmetic::modulus),
    scalar("negate", &["(T) -> T for numeric T"], types::sign, arithmetic::negate),
    scalar("abs", &["(T) -> T for numeric T"], types::sign, arithmetic::abs),
    form("if", &["(BOOLEAN, T [, T]) -> T"], types::if_else, Form::Switch),
    form("switch", &["(BOOLEAN, T, [BOOLEAN, T, ...] [, T]) -> T"], types::switch, Form::Switch),
    form("coalesce", &["(T, ...) -> T"], types::coalesce, Form::Coalesce),
    form("try", &["(T) -> T"], types::attempt, Form::Try),
    form("nullif", &["(T, T) -> T for scalar T"], types::nullif, Form::NullIf),
    scalar("like", &["(VARCHAR, VARCHAR [, VARCHAR]) -> BOOLEAN"], types::like, like::like),
    scalar(
        "length",
        &["(VARCHAR) -> BIGINT", "(VARBINARY) -> BIGINT"],
        types::length,
        string::length,
    ),
    scalar("lower", &["(VARCHAR) -> VARCHAR"], types::text_to_text, string::lower),
    scalar("upper", &["(VARCHAR) -> VARCHAR"], types::text_to_text, string::upper),
    scalar("substr", SUBSTR, types::substr, string::substr),
    scalar("substring", SUBSTR, types::substr, string::substr),
    scalar(
        "starts_with",
        &["(VARCHAR, VARCHAR) -> BOOLEAN"],
        types::starts_with,
        string::starts_with,
    ),
    scalar("ends_with", &["(VARCHAR, VARCHAR) -> BOOLEAN"], types::starts_with, string::ends_with),
    scalar("year", DATED, types::date_part, temporal::year),
    scalar("month", DATED, types::date_part, temporal::month),
    scalar("day", DATED, types::date_part, temporal::day),
    scalar(
        "cardinality",
        &["(ARRAY(T)) -> BIGINT", "(MAP(K,V)) -> BIGINT"],
        types::cardinality,
        nested::cardinality,
    ),
    scalar("subscript", ELEMENT, types::subscript, nested::subscript),
    scalar("element_at", ELEMENT, types::subscript, nested::element_at),
    scalar("contains", &["(ARRAY(T), T) -> BOOLEAN"], containers::member, containers::contains),
    scalar("map_keys", &["(MAP(K,V)) -> ARRAY(K)"], containers::keys, containers::map_keys),
    scalar("map_values", &["(MAP(K,V)) -> ARRAY(V)"], containers::values, containers::map_values),
    scalar(
        "row_constructor",
        &["(T, ...) -> ROW"],
        containers::row_of_any,
        containers::row_constructor,
    ),
    scalar(
        "array_constructor",
        &["(T, ...) -> ARRAY(T)"],
        containers::array_of_one_type,
        containers::array_constructor,
    ),
    scalar("greatest", &["(T, ...) -> T for scalar T"], extremes::scalars, extremes::greatest),
    scalar("least", &["(T, ...) -> T for scalar T"], extremes::scalars, extremes::least),
    scalar("floor", WHOLE, rounding::whole_number, rounding::floor),
    scalar("ceil", WHOLE, rounding::whole_number, rounding::ceil),
    scalar("ceiling", WHOLE, rounding::whole_number, rounding::ceil),
    scalar("truncate", ROUND, rounding::cut_number, rounding::truncate),
    scalar("round", ROUND, rounding::number_and_digits, rounding::round),
    scalar(
        "date_trunc",
        &["(VARCHAR, DATE) -> DATE", "(VARCHAR, TIMESTAMP) -> TIMESTAMP"],
        truncation::unit_and_point,
        truncation::date_trunc,
    ),
    dice(scalar("rand", &["() -> DOUBLE"], types::rand, random::rand)),
    dice(scalar("random", &["() -> DOUBLE"], types::rand, random::rand)),
    higher_order(
        "transform",
        &["(ARRAY(T), T -> U) -> ARRAY(U)"],
        lambda_types::transform,
        HigherOrder::Transform,
    ),
    higher_order(
        "filter",
        &["(ARRAY(T), T -> BOOLEAN) -> ARRAY(T)"],
        lambda_types::filter,
        HigherOrder::Filter,
    ),
    higher_order("any_match", MATCH, lambda_types::matches, HigherOrder::AnyMatch),
    higher_order("all_match", MATCH, lambda_types::matches, HigherOrder::AllMatch),
    higher_order("none_match", MATCH, lambda_types::matches, HigherOrder::NoneMatch),
    higher_order(
        "map_filter",
        &["(MAP(K,V), (K, V) -> BOOLEAN) -> MAP(K,V)"],
        lambda_types::map_filter,
        HigherOrder::MapFilter,
    ),
    higher_order(
        "transform_keys",
        &["(MAP(K,V), (K, V) -> L) -> MAP(L,V)"],
        lambda_types::transform_keys,
        HigherOrder::TransformKeys,
    ),
    higher_order(
        "transform_values",
        &["(MAP(K,V), (K, V) -> W) -> MAP(K,W)"],
        lambda_types::transform_values,
        HigherOrder::TransformValues,
    ),
    higher_order(
        "zip_with",
        &["(ARRAY(T), ARRAY(U), (T, U) -> R) -> ARRAY(R)"],
        lambda_types::zip_with,
        HigherOrder::ZipWith,
    ),
    higher_order(
        "reduce",
        &["(ARRAY(T), S, (S, T) -> S, S -> R) -> R"],
        lambda_types::reduce,
        HigherOrder::Reduce,
    ),
];

const WHOLE: &[&str] = &["(T) -> T for numeric T, decimals with their own result type"];
const ROUND: &[&str] = &["(T [, BIGINT]) -> T for numeric T, decimals with their own result type"];
const MATCH: &[&str] = &["(ARRAY(T), T -> BOOLEAN) -> BOOLEAN"];
const ELEMENT: &[&str] = &["(ARRAY(T), BIGINT) -> T", "(MAP(K,V), K) -> V"];
const EQUATABLE: &[&str] = &["(T, T) -> BOOLEAN"];
const COMPARABLE: &[&str] = &["(T, T) -> BOOLEAN for scalar T"];
const NUMBERS: &str = "(T, T) -> T for numeric T, decimals with their own result type";
const SUBSTR: &[&str] = &["(VARCHAR, BIGINT [, BIGINT]) -> VARCHAR"];
const DATED: &[&str] = &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"];

const fn scalar(
    name: &'static str,
    signatures: &'static [&'static str],
    resolve: Rule,
    bind: Bind,
) -> Function {
    Function {
        name,
        signatures,
        resolve: Some(resolve),
        body: Body::Scalar(bind),
        deterministic: true,
    }
}

/// Marks a function as non-deterministic.
const fn dice(function: Function) -> Function {
    Function { deterministic: false, ..function }
}

const fn form(
    name: &'static str,
    signatures: &'static [&'static str],
    resolve: Rule,
    form: Form,
) -> Function {
    Function {
        name,
        signatures,
        resolve: Some(resolve),
        body: Body::Form(form),
        deterministic: true,
    }
}

const fn higher_order(
    name: &'static str,
    signatures: &'static [&'static str],
    resolve: Rule,
    function: HigherOrder,
) -> Function {
    Function {
        name,
        signatures,
        resolve: Some(resolve),
        body: Body::HigherOrder(function),
        deterministic: true,
    }
}
