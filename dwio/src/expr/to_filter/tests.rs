//! Tests of the extraction against the table of rule S4.14, and against an evaluation of whole
//! predicates.

use std::cmp::Ordering;

use vector::testing::Random;
use vector::{Timestamp, Type, Value};

use super::*;
use crate::filter::LikePattern;
use crate::subfield::PathElement;

fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
    TypedExpr::call(name, args, Type::Boolean)
}

fn constant(value: Value, ty: Type) -> TypedExpr {
    TypedExpr::constant(value, ty)
}

fn big(value: i64) -> TypedExpr {
    constant(Value::BigInt(value), Type::BigInt)
}

fn text(value: &str) -> TypedExpr {
    constant(Value::bytes(value), Type::Varchar)
}

fn null() -> TypedExpr {
    constant(Value::Null, Type::Unknown)
}

fn column(name: &str, ty: Type) -> TypedExpr {
    TypedExpr::field(name, ty)
}

fn a() -> TypedExpr {
    column("a", Type::BigInt)
}

fn s() -> TypedExpr {
    column("s", Type::Varchar)
}

/// Folds constants and their sums; all other expressions fail.
fn fold(expr: &TypedExpr) -> Option<Value> {
    match expr {
        TypedExpr::Constant { value, .. } => Some(value.clone()),
        TypedExpr::Call { name, args, .. } if &**name == "plus" => {
            let sum = args.iter().map(|arg| fold(arg)?.as_i64()).sum::<Option<i64>>()?;
            Some(Value::BigInt(sum))
        }
        _ => None,
    }
}

fn extract(expr: &TypedExpr) -> Extraction {
    extract_filters(expr, &fold, &|name| name == "$row_id")
}

/// Returns the filters and the remaining expression as text.
fn shown(expr: &TypedExpr) -> String {
    let Extraction { filters, remaining, sample_rate } = extract(expr);
    let mut parts: Vec<String> = filters.iter().map(|(s, f)| format!("{s}: {f}")).collect();
    parts.extend((sample_rate != 1.0).then(|| format!("rate {sample_rate}")));
    parts.extend(remaining.map(|rest| format!("rest {rest}")));
    parts.join("; ")
}

fn not(expr: TypedExpr) -> TypedExpr {
    call("not", vec![expr])
}

fn and(terms: Vec<TypedExpr>) -> TypedExpr {
    call("and", terms)
}

fn or(terms: Vec<TypedExpr>) -> TypedExpr {
    call("or", terms)
}

fn between(column: TypedExpr, lower: TypedExpr, upper: TypedExpr) -> TypedExpr {
    call("between", vec![column, lower, upper])
}

/// A comparison with a null constant accepts no row (rule S4.13); each comparison has the filter of
/// the table (S4.14), which rejects null (S4.15), also at the limits of the type (S4.18).
#[test]
fn comparisons_become_the_filters_of_the_table() {
    let d = || column("d", Type::Double);
    let t = || column("t", Type::Timestamp);
    let h = || column("h", Type::HugeInt);
    let double = |v| constant(Value::Double(v), Type::Double);
    let huge = |v| constant(Value::HugeInt(v), Type::HugeInt);
    let time = |s, n| constant(Value::Timestamp(Timestamp::new(s, n)), Type::Timestamp);
    let flag = |v| constant(Value::Boolean(v), Type::Boolean);
    let b = || column("b", Type::Boolean);
    for (name, left, right, positive, negative) in [
        (
            "eq",
            a(),
            big(5),
            "a: [5, 5]",
            "a: [-9223372036854775808, 4] or [6, 9223372036854775807]",
        ),
        (
            "neq",
            a(),
            big(i64::MIN),
            "a: [-9223372036854775807, 9223372036854775807]",
            "a: [-9223372036854775808, -9223372036854775808]",
        ),
        ("lt", a(), big(i64::MIN), "a: false", "a: [-9223372036854775808, 9223372036854775807]"),
        ("gt", a(), big(i64::MAX), "a: false", "a: [-9223372036854775808, 9223372036854775807]"),
        ("lte", a(), big(5), "a: [-9223372036854775808, 5]", "a: [6, 9223372036854775807]"),
        ("gte", a(), null(), "a: false", "a: false"),
        ("eq", b(), flag(true), "b: is true", "rest not(eq(b, true))"),
        ("neq", b(), flag(true), "rest neq(b, true)", "b: is true"),
        ("eq", d(), double(1.5), "rest eq(d, 1.5)", "rest not(eq(d, 1.5))"),
        ("neq", d(), double(1.5), "d: (-inf, 1.5) or (1.5, +inf)", "rest not(neq(d, 1.5))"),
        ("neq", d(), double(f64::NEG_INFINITY), "d: (-inf, +inf)", "rest not(neq(d, -inf))"),
        ("lt", d(), double(1.5), "d: (-inf, 1.5)", "d: [1.5, +inf)"),
        ("gte", d(), double(f64::NAN), "rest gte(d, NaN)", "rest not(gte(d, NaN))"),
        ("eq", s(), text("x"), "s: in {\"x\"}", "s: (-inf, \"x\") or (\"x\", +inf)"),
        ("neq", s(), text(""), "s: (\"\", +inf)", "s: in {\"\"}"),
        ("gt", s(), text("x"), "s: (\"x\", +inf)", "s: (-inf, \"x\"]"),
        ("eq", h(), huge(5), "h: [5, 5]", "rest not(eq(h, 5))"),
        ("neq", h(), huge(5), "rest neq(h, 5)", "h: [5, 5]"),
        (
            "lt",
            h(),
            huge(i128::MIN),
            "h: false",
            "h: [-170141183460469231731687303715884105728, 170141183460469231731687303715884105727]",
        ),
    ] {
        let expr = call(name, vec![left, right]);
        assert_eq!(shown(&expr), positive);
        assert_eq!(shown(&not(expr.clone())), negative, "not {expr}");
    }
    let later = extract(&call("gt", vec![t(), time(7, 999_999_999)]));
    let last = Timestamp::new(i64::MAX, 999_999_999);
    let expected = Filter::timestamp_range(Timestamp::new(8, 0), last, false);
    assert_eq!(later.filters, [(Subfield::column("t"), expected)]);
    assert_eq!(shown(&call("gt", vec![t(), time(i64::MAX, 999_999_999)])), "t: false");
}

/// The constant operand is any expression that folds to a constant (rule S4.12).
#[test]
fn a_constant_may_stand_on_the_left_or_be_computed() {
    assert_eq!(shown(&call("lt", vec![big(5), a()])), "a: [6, 9223372036854775807]");
    assert_eq!(shown(&call("eq", vec![call_plus(big(2), big(3)), a()])), "a: [5, 5]");
    // An expression that fails or is not constant remains, so that its error occurs where it is
    // evaluated.
    let random = TypedExpr::call("rand", vec![], Type::BigInt);
    assert_eq!(shown(&call("eq", vec![a(), random])), "rest eq(a, rand())");
    assert_eq!(shown(&call("eq", vec![a(), call_plus(a(), big(1))])), "rest eq(a, plus(a, 1))");
    // If the operands differ in type, the comparison is not converted.
    let small = constant(Value::Integer(5), Type::Integer);
    assert_eq!(shown(&call("eq", vec![a(), small])), "rest eq(a, 5)");
    let price = column("p", Type::Decimal { precision: 10, scale: 2 });
    let other_scale = constant(Value::BigInt(5), Type::Decimal { precision: 10, scale: 1 });
    assert_eq!(shown(&call("eq", vec![price, other_scale])), "rest eq(p, 0.5)");
}

fn call_plus(left: TypedExpr, right: TypedExpr) -> TypedExpr {
    TypedExpr::call("plus", vec![left, right], Type::BigInt)
}

/// IN drops nulls and NOT IN with a null accepts no row (rule S4.16); BETWEEN with a null bound is
/// not converted (rule S4.17).
#[test]
fn between_and_in_obey_the_rules_for_nulls() {
    assert_eq!(shown(&between(a(), big(3), big(5))), "a: [3, 5]");
    assert_eq!(shown(&not(between(a(), big(3), big(5)))), "a: not [3, 5]");
    assert_eq!(shown(&not(between(s(), text("a"), text("b")))), "s: not [\"a\", \"b\"]");
    assert_eq!(shown(&between(a(), null(), big(5))), "rest between(a, null, 5)");
    let is_in = |items: &[TypedExpr]| call("in", [&[a()], items].concat());
    assert_eq!(shown(&is_in(&[big(5), big(1), big(5)])), "a: in {1, 5}");
    assert_eq!(shown(&is_in(&[null(), big(1)])), "a: [1, 1]");
    assert_eq!(shown(&is_in(&[null()])), "a: false");
    assert_eq!(shown(&not(is_in(&[big(1), big(7)]))), "a: not in {1, 7}");
    assert_eq!(shown(&not(is_in(&[big(1), null()]))), "a: false");
    let array =
        |values: Vec<Value>, element| constant(Value::Array(values.into()), Type::array(element));
    let two = array(vec![Value::bytes("x"), Value::Null, Value::bytes("y")], Type::Varchar);
    assert_eq!(shown(&call("in", vec![s(), two])), "s: in {\"x\", \"y\"}");
    let unknown = array(vec![Value::Null], Type::Unknown);
    assert_eq!(shown(&call("in", vec![s(), unknown])), "s: false");
    let d = column("d", Type::Double);
    let one = constant(Value::Double(1.0), Type::Double);
    assert_eq!(shown(&call("in", vec![d, one])), "rest in(d, 1.0)");
}

#[test]
fn a_pattern_is_a_filter_unless_it_is_faulty() {
    let like = |args: &[TypedExpr]| call("like", [&[s()], args].concat());
    let cases = [
        (like(&[text("%a%b_")]), "s: like '%a%b_'", "s: not like '%a%b_'"),
        (like(&[text("ab%")]), "s: [\"ab\", \"ac\")", "s: not [\"ab\", \"ac\")"),
        (like(&[text("ab")]), "s: in {\"ab\"}", "s: not in {\"ab\"}"),
        (like(&[text("%")]), "s: is not null", "s: false"),
        (
            like(&[text("%!%"), text("!")]),
            "s: like '%\\%' escape '\\'",
            "s: not like '%\\%' escape '\\'",
        ),
        (like(&[null()]), "s: false", "s: false"),
        (like(&[text("%"), null()]), "s: false", "s: false"),
    ];
    for (expr, positive, negative) in cases {
        assert_eq!(shown(&expr), positive);
        assert_eq!(shown(&not(expr.clone())), negative, "not {expr}");
    }
    for expr in [
        like(&[text("a!"), text("!")]),
        like(&[text("a"), text("!!")]),
        like(&[s()]),
        call("like", vec![text("a"), s()]),
        call("like", vec![column("v", Type::Varbinary), text("%a_")]),
    ] {
        assert_eq!(shown(&expr), format!("rest {expr}"));
        assert_eq!(shown(&not(expr.clone())), format!("rest not({expr})"));
    }
    // Filters that cannot be merged into one stay expressions.
    let both = and(vec![like(&[text("%a%")]), like(&[text("%b%")]), like(&[text("%a%")])]);
    assert_eq!(shown(&both), "s: like '%a%'; rest like(s, \"%b%\")");
    let either = or(vec![like(&[text("%a%")]), not(like(&[text("b%")]))]);
    assert_eq!(shown(&either), "s: like '%a%' or not [\"b\", \"c\")");
    let within = and(vec![call("in", vec![s(), text("ab"), text("b")]), like(&[text("%a%")])]);
    assert_eq!(shown(&within), "s: in {\"ab\"}");
}

/// A bare column or cast is not converted (rule S4.1), subscripts and unnamed fields have no
/// filters (rule S4.11), and special columns have none either (rule S4.20).
#[test]
fn only_columns_and_their_named_fields_get_filters() {
    let row = Type::row([("x", Type::BigInt), ("", Type::BigInt)]);
    let field = |index| TypedExpr::Dereference {
        input: Box::new(column("r", row.clone())),
        index,
        ty: Type::BigInt,
    };
    let found = extract(&call("eq", vec![field(0), big(1)]));
    let x = Subfield::column("r").then(PathElement::Field("x".into()));
    assert_eq!(found.filters, [(x, Filter::bigint_range(1, 1, false))]);
    assert_eq!(shown(&call("eq", vec![field(1), big(1)])), "rest eq(r.[1], 1)");
    let special = call("eq", vec![column("$row_id", Type::BigInt), big(1)]);
    assert_eq!(shown(&special), "rest eq($row_id, 1)");
    assert_eq!(shown(&column("b", Type::Boolean)), "rest b");
    assert_eq!(shown(&call("is_null", vec![column("r", row)])), "r: is null");
    assert_eq!(shown(&not(call("is_null", vec![a()]))), "a: is not null");
}

/// Filters of the same subfield are merged (rule S4.2), NOT negates its input (rule S4.4), and the
/// remaining terms of an AND keep their order (rule S4.5).
#[test]
fn conjunctions_merge_and_leave_the_rest_in_order() {
    let odd = |v| call("eq", vec![call_plus(a(), a()), big(v)]);
    let expr = and(vec![
        odd(1),
        call("gt", vec![a(), big(3)]),
        and(vec![call("lt", vec![a(), big(9)]), odd(2)]),
        call("eq", vec![s(), text("x")]),
    ]);
    assert_eq!(
        shown(&expr),
        "a: [4, 8]; s: in {\"x\"}; rest and(eq(plus(a, a), 1), eq(plus(a, a), 2))"
    );
    // Only functions with the exact name of a special form are special forms (rule S4.10).
    let named_alike = call("band", vec![call("gt", vec![a(), big(3)]), odd(1)]);
    assert_eq!(shown(&named_alike), format!("rest {named_alike}"));
    // not(a or b) is equivalent to (not a) and (not b).
    let neither = not(or(vec![call("gt", vec![a(), big(3)]), odd(1)]));
    assert_eq!(shown(&neither), "a: [-9223372036854775808, 3]; rest not(eq(plus(a, a), 1))");
    let not_both = not(and(vec![call("gt", vec![a(), big(3)]), call("lt", vec![a(), big(9)])]));
    assert_eq!(shown(&not_both), "a: [-9223372036854775808, 3] or [9, 9223372036854775807]");
}

/// A disjunction is converted if all terms give one filter of the same subfield (rule S4.6), even
/// if a term is itself a conjunction (S4.7). `IS NULL` and mixed kinds are not combined (S4.8,
/// S4.27); values are united (S4.22), and overlapping ranges are merged (S4.23) with the null flag
/// kept (S4.28).
#[test]
fn a_disjunction_is_a_filter_when_it_is_about_one_column() {
    let gt = |v| call("gt", vec![a(), big(v)]);
    let lt = |v| call("lt", vec![a(), big(v)]);
    let eq = |v| call("eq", vec![a(), big(v)]);
    let either = or(vec![and(vec![gt(0), lt(10)]), and(vec![gt(5), lt(15)])]);
    assert_eq!(shown(&either), "a: [1, 14]");
    let both = and(vec![between(a(), big(-10), big(12)), either]);
    assert_eq!(shown(&both), "a: [1, 12]");
    assert_eq!(shown(&or(vec![eq(1), or(vec![eq(7), eq(1)])])), "a: in {1, 7}");
    assert_eq!(shown(&or(vec![gt(3), lt(9)])), "a: is not null");
    for expr in [
        or(vec![call("is_null", vec![a()]), eq(5)]),
        or(vec![eq(5), call("eq", vec![s(), text("x")])]),
        or(vec![not(call("in", vec![a(), big(1), big(3)])), call("in", vec![a(), big(1), big(2)])]),
        or(vec![call("lt", vec![TypedExpr::call("rand", vec![], Type::Double), rate(0.5)]), eq(1)]),
    ] {
        assert_eq!(shown(&expr), format!("rest {expr}"));
    }
}

fn rate(value: f64) -> TypedExpr {
    constant(Value::Double(value), Type::Double)
}

/// `rand() < rate` becomes a sample rate, which multiplies over conjunctions and is not converted
/// under NOT (rule S4.9).
#[test]
fn sampling_rates_multiply() {
    let sample = |v| call("lt", vec![TypedExpr::call("rand", vec![], Type::Double), rate(v)]);
    assert_eq!(shown(&and(vec![sample(0.5), sample(0.5)])), "rate 0.25");
    assert_eq!(shown(&sample(-3.0)), "rate 0");
    assert_eq!(extract(&sample(7.0)).remaining, None);
    assert_eq!(shown(&not(sample(0.5))), "rest not(lt(rand(), 0.5))");
}

/// A filter that cannot be merged stays an expression without changing the filters (rule S4.3),
/// including those that the table handle had before (rule S4.21).
#[test]
fn a_filter_that_cannot_join_the_others_stays_an_expression() {
    let there = vec![(Subfield::column("a"), Filter::boolean(true, false))];
    let text = column("a", Type::Varchar);
    let expr = call("eq", vec![text, constant(Value::bytes("x"), Type::Varchar)]);
    let found = extract_filters_into(&expr, there.clone(), &fold, &|_| false);
    assert_eq!((found.filters, found.remaining), (there, Some(expr)));
}

#[test]
fn a_chain_of_thousands_of_terms_is_no_deep_recursion() {
    let mut expr = call("eq", vec![a(), big(0)]);
    for value in 1..2_000 {
        expr = or(vec![expr, call("eq", vec![a(), big(value)])]);
    }
    assert_eq!(shown(&expr), "a: [0, 1999]");
}

/// Evaluates the predicates generated by the property test below in three-valued logic.
fn evaluate(expr: &TypedExpr, row: &[(&str, Value)]) -> Value {
    let (name, args) = match expr {
        TypedExpr::Field { name, .. } => {
            return row.iter().find(|(n, _)| *n == &**name).unwrap().1.clone();
        }
        TypedExpr::Constant { value, .. } => return value.clone(),
        TypedExpr::Call { name, args, .. } => (&**name, args),
        other => panic!("no such expression in this test: {other}"),
    };
    let values: Vec<Value> = args.iter().map(|arg| evaluate(arg, row)).collect();
    let truth = |v: bool| Value::Boolean(v);
    let is = |v: &Value, b: bool| *v == Value::Boolean(b);
    let any = |values: &[Value], b: bool| match values {
        values if values.iter().any(|v| is(v, b)) => truth(b),
        values if values.iter().any(Value::is_null) => Value::Null,
        _ => truth(!b),
    };
    let compared = |a: &Value, b: &Value, holds: fn(Ordering) -> bool| {
        if a.is_null() || b.is_null() { Value::Null } else { truth(holds(a.compare(b))) }
    };
    match name {
        "and" => any(&values, false),
        "or" => any(&values, true),
        "not" if values[0].is_null() => Value::Null,
        "not" => truth(is(&values[0], false)),
        "is_null" => truth(values[0].is_null()),
        "eq" => compared(&values[0], &values[1], Ordering::is_eq),
        "neq" => compared(&values[0], &values[1], Ordering::is_ne),
        "lt" => compared(&values[0], &values[1], Ordering::is_lt),
        "lte" => compared(&values[0], &values[1], Ordering::is_le),
        "gt" => compared(&values[0], &values[1], Ordering::is_gt),
        "gte" => compared(&values[0], &values[1], Ordering::is_ge),
        // As in Velox: null if any argument is null.
        "between" if values.iter().any(Value::is_null) => Value::Null,
        "between" => truth(values[0] >= values[1] && values[0] <= values[2]),
        "like" if values[0].is_null() || values[1].is_null() => Value::Null,
        "like" => {
            let texts = (values[0].as_bytes().unwrap(), values[1].as_bytes().unwrap());
            truth(LikePattern::parse(texts.1, None).unwrap().matches(texts.0))
        }
        "in" => {
            let equal: Vec<Value> =
                values[1..].iter().map(|v| compared(&values[0], v, Ordering::is_eq)).collect();
            any(&equal, true)
        }
        other => panic!("no such function in this test: {other}"),
    }
}

fn columns() -> Vec<(&'static str, Type, Vec<Value>)> {
    let floats = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 2.5, f64::INFINITY, f64::NAN];
    let time = |s, n| Value::Timestamp(Timestamp::new(s, n));
    vec![
        ("b", Type::Boolean, vec![Value::Boolean(false), Value::Boolean(true)]),
        ("i", Type::SmallInt, (-3..4).chain([i16::MIN, i16::MAX]).map(Value::SmallInt).collect()),
        ("a", Type::BigInt, (-3..4).chain([i64::MIN, i64::MAX]).map(Value::BigInt).collect()),
        ("h", Type::HugeInt, (-2..3).chain([i128::MIN, i128::MAX]).map(Value::HugeInt).collect()),
        ("d", Type::Double, floats.map(Value::Double).to_vec()),
        ("f", Type::Real, floats.map(|v| Value::Real(v as f32)).to_vec()),
        ("s", Type::Varchar, ["", "a", "a\0", "ab", "b"].map(Value::bytes).to_vec()),
        (
            "t",
            Type::Timestamp,
            vec![
                time(i64::MIN, 0),
                time(0, 0),
                time(0, 1),
                time(0, 999_999_999),
                time(1, 0),
                time(i64::MAX, 999_999_999),
            ],
        ),
    ]
}

fn predicate(random: &mut Random, columns: &[(&str, Type, Vec<Value>)], depth: usize) -> TypedExpr {
    if depth > 0 && random.chance(0.6) {
        let terms =
            (0..2 + random.below(2)).map(|_| predicate(random, columns, depth - 1)).collect();
        return match random.below(3) {
            0 => and(terms),
            1 => or(terms),
            _ => not(terms.into_iter().next().unwrap()),
        };
    }
    let (name, ty, pool) = random.pick(columns);
    let column = column(name, ty.clone());
    let value = |random: &mut Random| {
        let value = if random.chance(0.1) { Value::Null } else { random.pick(pool).clone() };
        constant(value, ty.clone())
    };
    let (first, second) = (value(random), value(random));
    match random.below(9) {
        _ if *name == "s" && random.chance(0.3) => {
            let patterns: [&str; 7] = ["%a%", "a%", "%", "_", "a_", "b", "%b"];
            let pattern = text(random.pick::<&str>(&patterns));
            call("like", vec![column, pattern])
        }
        0 => call("is_null", vec![column]),
        1 => between(column, first, second),
        2 => call("in", vec![column, first, second]),
        n => {
            let comparison = ["eq", "neq", "lt", "lte", "gt", "gte"][n - 3];
            let sides = if random.chance(0.3) { vec![first, column] } else { vec![column, first] };
            call(comparison, sides)
        }
    }
}

/// The filters reject null (rule S4.15); disjunctions of floating-point ranges (S4.24), of string
/// values (S4.25) and of string ranges (S4.26) are combined into one filter.
#[test]
fn filters_and_rest_say_together_what_the_whole_said() {
    let all = columns();
    let mut random = Random::new(11);
    let mut num_filters = 0;
    for _ in 0..3_000 {
        let num_columns = 1 + random.below(2);
        let used: Vec<_> = (0..num_columns).map(|_| random.pick(&all).clone()).collect();
        let expr = predicate(&mut random, &used, 3);
        let found = extract(&expr);
        num_filters += found.filters.len();
        for _ in 0..20 {
            let row: Vec<(&str, Value)> = all
                .iter()
                .map(|(name, _, pool)| {
                    let is_null = random.chance(0.2);
                    (*name, if is_null { Value::Null } else { random.pick(pool).clone() })
                })
                .collect();
            let passes = found.filters.iter().all(|(subfield, filter)| {
                let value = &row.iter().find(|(n, _)| *n == subfield.column_name()).unwrap().1;
                filter.test_value(value, &Type::Unknown).unwrap()
            });
            let rest = found.remaining.as_ref().map(|rest| evaluate(rest, &row));
            let kept = passes && rest.is_none_or(|v| v == Value::Boolean(true));
            let expected = evaluate(&expr, &row) == Value::Boolean(true);
            assert_eq!(kept, expected, "{expr} at {row:?}: {}", shown(&expr));
        }
    }
    assert!(num_filters > 1_000, "most predicates have filters");
}
