//! Functions in SQL. The expected results were observed from Velox 0.2.0 (PyVelox), which has the
//! same function names; where Velox reports an error, Ocior reports a user error too.

use dwio::fs::MemoryFiles;

use crate::support::files::{engine_over, lines_of};

/// Checks the values of expressions, as JSON; `None` expects a user error.
#[track_caller]
fn check(expected: &[(&str, Option<&str>)]) {
    let engine = engine_over(&MemoryFiles::new());
    for (expr, expected) in expected {
        match (lines_of(&engine, &format!("SELECT {expr} AS r")), expected) {
            (Ok(found), Some(value)) => assert_eq!(found, [format!("{{\"r\":{value}}}")], "{expr}"),
            (Err(error), None) => assert!(error.is_user(), "{expr}: {error}"),
            (found, _) => panic!("{expr}: {found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn dates_have_parts_and_weeks_belong_to_the_year_of_their_thursday() {
    check(&[
        ("hour(timestamp '1969-12-31 23:59:58.5')", Some("23")),
        ("minute(timestamp '1969-12-31 23:59:58.5')", Some("59")),
        ("second(timestamp '1969-12-31 23:59:58.5')", Some("58")),
        ("millisecond(timestamp '1969-12-31 23:59:58.5')", Some("500")),
        ("hour(date '1969-12-31')", Some("0")),
        ("quarter(date '1969-03-31')", Some("1")),
        ("week(date '1969-12-31')", Some("1")),
        ("week_of_year(date '2021-01-03')", Some("53")),
        ("year_of_week(date '2021-01-03')", Some("2020")),
        ("yow(timestamp '2018-12-31 10:00:00')", Some("2019")),
        ("day_of_week(date '2021-01-03')", Some("7")),
        ("dow(date '2021-01-04')", Some("1")),
        ("day_of_month(date '2021-01-04')", Some("4")),
        ("day_of_year(date '2020-12-31')", Some("366")),
        ("doy(date '2021-02-04')", Some("35")),
        ("last_day_of_month(date '2020-02-03')", Some(r#""2020-02-29""#)),
        ("last_day_of_month(timestamp '1969-12-01 01:00:00')", Some(r#""1969-12-31""#)),
        ("date('2020-2-3')", Some(r#""2020-02-03""#)),
        ("date(timestamp '1969-12-31 23:59:58.5')", Some(r#""1969-12-31""#)),
    ]);
}

#[test]
fn units_of_time_lie_between_points() {
    check(&[
        ("date_add('DAY', -400, date '2021-01-31')", Some(r#""2019-12-28""#)),
        ("date_add('month', 1, date '2021-01-31')", Some(r#""2021-02-28""#)),
        ("date_add('quarter', 1, date '2020-11-30')", Some(r#""2021-02-28""#)),
        ("date_add('year', 1, date '2020-02-29')", Some(r#""2021-02-28""#)),
        (
            "date_add('millisecond', 1500, timestamp '1969-12-31 23:59:59.999')",
            Some(r#""1970-01-01T00:00:01.499""#),
        ),
        (
            "date_add('month', 1, timestamp '2020-01-31 23:00:00.5')",
            Some(r#""2020-02-29T23:00:00.5""#),
        ),
        ("date_add('hour', 1, date '2021-01-31')", None),
        ("date_add('decade', 1, date '2021-01-31')", None),
        ("date_add('day', 3000000000, date '2020-03-31')", None),
        ("date_diff('day', date '2020-02-29', date '2021-02-28')", Some("365")),
        ("date_diff('month', date '2021-02-28', date '2021-01-31')", Some("-1")),
        ("date_diff('month', date '2021-02-14', date '2021-01-15')", Some("0")),
        (
            "date_diff('year', timestamp '2020-02-29 11:00:00', timestamp '2021-02-28 10:00:00')",
            Some("1"),
        ),
        (
            "date_diff('second', timestamp '2020-12-31 00:00:02.1', timestamp '2020-12-31 00:00:00.9')",
            Some("-1"),
        ),
        ("date_diff('hour', date '2020-12-31', date '2021-12-30')", None),
        ("from_unixtime(-1.5e0)", Some(r#""1969-12-31T23:59:58.5""#)),
        ("from_unixtime(1.9999999e0)", Some(r#""1970-01-01T00:00:02""#)),
        ("from_unixtime(nan())", Some(r#""1970-01-01T00:00:00""#)),
        ("to_unixtime(timestamp '1969-12-31 23:59:58.123')", Some("-1.877")),
    ]);
}

#[test]
fn texts_are_taken_apart_and_searched_by_characters() {
    check(&[
        ("replace('abcabc', 'b', 'xx')", Some(r#""axxcaxxc""#)),
        ("replace('abcabc', 'b')", Some(r#""acac""#)),
        ("replace('abc', '', 'x')", Some(r#""xaxbxcx""#)),
        ("replace('', '', 'x')", Some(r#""x""#)),
        ("reverse('a€𝄞ö')", Some(r#""ö𝄞€a""#)),
        ("split('a,,b,', ',')", Some(r#"["a","","b",""]"#)),
        ("split('abc', '')", Some(r#"["a","b","c",""]"#)),
        ("split('', ',')", Some(r#"[""]"#)),
        ("split('a,b,c', ',', 2)", Some(r#"["a","b,c"]"#)),
        ("split('a,b,c', ',', 0)", None),
        ("split_part('a,b,c', ',', 2)", Some(r#""b""#)),
        ("split_part('a,b,c', ',', 4)", Some("null")),
        ("split_part('abc', '', 2)", Some(r#""b""#)),
        ("split_part('', '', 1)", Some("null")),
        ("split_part('a,b,c', ',', 0)", None),
        ("strpos('abcabc', 'bc', 2)", Some("5")),
        ("strpos('aaa', 'aa', 2)", Some("2")),
        ("strpos('abc', '')", Some("1")),
        ("strpos('abcabc', 'bc', 0)", None),
        ("strrpos('äbcäbc', 'ä')", Some("4")),
        ("strrpos('aaa', 'aa')", Some("2")),
        ("strrpos('aaa', 'aa', 2)", Some("1")),
        ("strrpos('aaa', 'aa', 3)", Some("0")),
    ]);
}

#[test]
fn texts_are_filled_up_trimmed_and_made_of_bytes() {
    check(&[
        ("lpad('abc', 8, 'äö')", Some(r#""äöäöäabc""#)),
        ("rpad('abc', 8, 'äö')", Some(r#""abcäöäöä""#)),
        ("lpad('äbc', 2, 'x')", Some(r#""äb""#)),
        ("lpad('abc', -1, 'x')", None),
        ("lpad('abc', 5, '')", None),
        ("to_hex(rpad(from_hex('61'), 3, from_hex('6263')))", Some(r#""616263""#)),
        ("trim('　ab　')", Some(r#""ab""#)),
        ("ltrim(' ab')", Some(r#""ab""#)),
        ("ltrim('xyabxy', 'yx')", Some(r#""abxy""#)),
        ("rtrim('xyabxy', 'yx')", Some(r#""xyab""#)),
        ("ltrim('abc', '')", Some(r#""abc""#)),
        ("chr(228)", Some(r#""ä""#)),
        ("chr(55296)", None),
        ("chr(-1)", None),
        ("codepoint('€')", Some("8364")),
        ("codepoint('ab')", None),
        ("to_hex(to_utf8('äZ'))", Some(r#""C3A45A""#)),
        ("from_hex('abc')", None),
        ("from_hex('zz')", None),
        ("from_utf8(from_hex('61ff62'))", Some(r#""a�b""#)),
        ("from_utf8(from_hex('eda080'))", Some(r#""�""#)),
        ("from_utf8(from_hex('f48fbfbf80'))", Some(r#""􏿿�""#)),
        ("from_utf8(from_hex('f8808080'))", Some(r#""�""#)),
        ("from_utf8(from_hex('8080'))", Some(r#""��""#)),
        ("from_utf8(from_hex('e28261'))", Some(r#""�a""#)),
    ]);
}

#[test]
fn numbers_have_signs_digits_and_kinds() {
    check(&[
        ("sign(-3)", Some("-1")),
        ("sign(cast(-2.5 as real))", Some("-1.0")),
        ("sign(nan())", Some(r#""NaN""#)),
        ("log10(100e0)", Some("2.0")),
        ("log2(8e0)", Some("3.0")),
        ("ln(0e0)", Some(r#""-Infinity""#)),
        ("exp(1000e0)", Some(r#""Infinity""#)),
        ("degrees(pi())", Some("180.0")),
        ("radians(180e0)", Some("3.141592653589793")),
        ("atan2(1e0, 2e0)", Some("0.4636476090008061")),
        ("is_nan(nan())", Some("true")),
        ("is_finite(infinity())", Some("false")),
        ("is_infinite(infinity())", Some("true")),
        ("e()", Some("2.718281828459045")),
        ("round(1.255e0, 2)", Some("1.25")),
        ("round(2.675e0, 2)", Some("2.68")),
        ("round(-2.5e0, 0)", Some("-3.0")),
        ("round(1234.5e0, -2)", Some("1200.0")),
        ("round(1e300, 300)", Some("1e300")),
        ("round(cast(1250 as bigint), -2)", Some("1250")),
        ("round(cast(1.255 as real), 2)", Some("1.25")),
        ("truncate(-1.7e0)", Some("-1.0")),
        ("truncate(1.999e0, 2)", Some("1.99")),
        ("truncate(0.29e0, 2)", Some("0.28")),
        ("truncate(1234.567e0, -2)", Some("1200.0")),
        ("clamp(5, 3, 1)", Some("1")),
        ("clamp(2e0, nan(), 3e0)", Some("2.0")),
    ]);
}

#[test]
fn decimals_are_rounded_in_types_of_their_own() {
    check(&[
        ("round(cast(12.345 as decimal(5,3)))", Some(r#""12""#)),
        ("round(cast(-12.355 as decimal(5,3)), 2)", Some(r#""-12.360""#)),
        ("round(cast(12.345 as decimal(5,3)), -1)", Some(r#""10.000""#)),
        ("round(cast(99.995 as decimal(5,3)), 2)", Some(r#""100.000""#)),
        ("truncate(cast(12.345 as decimal(5,3)))", Some(r#""12""#)),
        ("truncate(cast(12.345 as decimal(5,3)), 1)", Some(r#""12.300""#)),
        ("floor(cast(-12.345 as decimal(5,3)))", Some(r#""-13""#)),
    ]);
}

#[test]
fn bits_are_moved_and_counted() {
    check(&[
        ("bitwise_and(-1, 12)", Some("12")),
        ("bitwise_or(5, 3)", Some("7")),
        ("bitwise_xor(5, 3)", Some("6")),
        ("bitwise_not(cast(-1 as tinyint))", Some("0")),
        ("bitwise_left_shift(cast(3 as tinyint), 7)", Some("-128")),
        ("bitwise_left_shift(cast(1 as bigint), 64)", Some("0")),
        ("bitwise_right_shift(cast(-8 as tinyint), 1)", Some("124")),
        ("bitwise_right_shift(cast(-8 as bigint), -1)", Some("0")),
        ("bitwise_right_shift_arithmetic(cast(-8 as bigint), 64)", Some("-1")),
        ("bitwise_arithmetic_shift_right(-8, 1)", Some("-4")),
        ("bitwise_arithmetic_shift_right(-8, -1)", None),
        ("bitwise_logical_shift_right(-8, 1, 8)", Some("124")),
        ("bitwise_shift_left(300, 1, 8)", Some("88")),
        ("bit_count(-7, 64)", Some("62")),
        ("bit_count(40, 2)", None),
    ]);
}

#[test]
fn arrays_are_sets_and_have_an_order() {
    check(&[
        ("array_distinct(array_constructor(3,1,3,null,null))", Some("[3,1,null]")),
        (
            "array_union(array_constructor(3,1,2), array_constructor(4,3,null))",
            Some("[3,1,2,4,null]"),
        ),
        ("array_intersect(array_constructor(4,3,1,3), array_constructor(3,4))", Some("[4,3]")),
        ("array_except(array_constructor(3,1,2,1), array_constructor(3,4))", Some("[1,2]")),
        ("arrays_overlap(array_constructor(1,null), array_constructor(2,3))", Some("null")),
        ("arrays_overlap(array_constructor(1,null), array_constructor(1,3))", Some("true")),
        ("array_has_duplicates(array_constructor(3,1,3))", Some("true")),
        ("array_sort(array_constructor(3,null,1,2))", Some("[1,2,3,null]")),
        ("array_sort_desc(array_constructor(3,null,1,2))", Some("[3,2,1,null]")),
        ("array_min(array_constructor('b','a'))", Some(r#""a""#)),
        ("array_max(array_constructor(1e0,nan(),2e0))", Some(r#""NaN""#)),
        ("array_max(array_constructor(1,null))", Some("null")),
        ("array_sum(array_constructor(1,null,2))", Some("3")),
        ("array_sum(array_constructor(1e0,null,2.5e0))", Some("3.5")),
        ("array_sum(array_constructor(9223372036854775807, 1))", None),
        ("array_average(array_constructor(1e0,null,2e0))", Some("1.5")),
        ("array_position(array_constructor(1,null,1), 1, -1)", Some("3")),
        ("array_position(array_constructor(1,null,1), 1, -2)", Some("1")),
        ("array_position(array_constructor(1,2), 1, 0)", None),
        ("array_remove(array_constructor(3,1,null,3), 3)", Some("[1,null]")),
        ("array_join(array_constructor(3,null,2), ',')", Some(r#""3,2""#)),
        ("array_join(array_constructor(1.5e0,null), '-', 'none')", Some(r#""1.5-none""#)),
    ]);
}

#[test]
fn arrays_are_cut_counted_out_and_put_together() {
    check(&[
        ("slice(array_constructor(3,1,2), -2, 1)", Some("[1]")),
        ("slice(array_constructor(3,1,2), 2, 9)", Some("[1,2]")),
        ("slice(array_constructor(3,1,2), 0, 1)", None),
        ("trim_array(array_constructor(3,1,2), 1)", Some("[3,1]")),
        ("trim_array(array_constructor(3,1,2), 4)", None),
        ("reverse(array_constructor(3,null,2))", Some("[2,null,3]")),
        (
            "flatten(array_constructor(array_constructor(3,1), null, array_constructor(2)))",
            Some("[3,1,2]"),
        ),
        ("repeat('ab', 2)", Some(r#"["ab","ab"]"#)),
        ("sequence(5, 1, -2)", Some("[5,3,1]")),
        ("sequence(3, 1)", Some("[3,2,1]")),
        ("sequence(1, 5, -1)", None),
        ("sequence(1, 10001)", None),
        (
            "sequence(date '2020-01-30', date '2020-02-02')",
            Some(r#"["2020-01-30","2020-01-31","2020-02-01","2020-02-02"]"#),
        ),
        (
            "concat(array_constructor(3), array_constructor(4), array_constructor(5))",
            Some("[3,4,5]"),
        ),
        ("concat(array_constructor(3), 4)", Some("[3,4]")),
        ("concat(4, array_constructor(3))", Some("[4,3]")),
        ("remove_nulls(array_constructor(3,null,2))", Some("[3,2]")),
    ]);
}

#[test]
fn maps_are_made_of_arrays_entries_and_maps() {
    check(&[
        ("map(array_constructor(3,1), array_constructor('a','b'))", Some(r#"[[1,"b"],[3,"a"]]"#)),
        ("map(array_constructor(1,1), array_constructor('a','b'))", None),
        ("map(array_constructor(1,null), array_constructor('a','b'))", None),
        ("map(array_constructor(1), array_constructor('a','b'))", None),
        (
            "map_concat(map(array_constructor(3,1), array_constructor('a','b')), map(array_constructor(3), array_constructor('c')))",
            Some(r#"[[1,"b"],[3,"c"]]"#),
        ),
        (
            "cardinality(map_entries(map(array_constructor(3,1), array_constructor('a','b'))))",
            Some("2"),
        ),
    ]);
}

#[test]
fn nested_values_are_equal_unless_a_null_decides() {
    check(&[
        ("array_constructor(1,null) = array_constructor(2,null)", Some("false")),
        ("array_constructor(1,null) = array_constructor(1,null)", Some("null")),
        ("array_constructor(1,null) <> array_constructor(1)", Some("true")),
        ("row_constructor(1,'a') = row_constructor(1,'a')", Some("true")),
        (
            "map(array_constructor(1), array_constructor(2)) = map(array_constructor(1), array_constructor(3))",
            Some("false"),
        ),
    ]);
}

#[test]
fn sql_has_its_own_words_for_some_functions() {
    check(&[
        ("EXTRACT(HOUR FROM timestamp '1969-12-31 23:59:58')", Some("23")),
        ("EXTRACT(DOW FROM date '2021-01-03')", Some("7")),
        ("EXTRACT(WEEK FROM date '2021-01-03')", Some("53")),
        ("POSITION('b' IN 'äb')", Some("2")),
        ("TRIM(BOTH 'x' FROM 'xxaxx')", Some("\"a\"")),
        ("TRIM(LEADING 'x' FROM 'xxaxx')", Some("\"axx\"")),
        ("'a' || 'b'", Some("\"ab\"")),
        ("date '2020-01-31' + INTERVAL '1' MONTH", Some("\"2020-02-29\"")),
        ("date '1998-12-01' - INTERVAL '90' DAY", Some("\"1998-09-02\"")),
        ("date '2020-01-31' + INTERVAL 2 WEEKS", Some("\"2020-02-14\"")),
        ("timestamp '2020-01-31 00:00:00' - INTERVAL '36 hours'", Some("\"2020-01-29T12:00:00\"")),
        ("date '2020-01-31' + INTERVAL '1-2' YEAR TO MONTH", None),
        ("concat_ws(', ', 'a', NULL, 'b')", Some("\"a, b\"")),
        ("concat_ws(NULL, 'a')", Some("null")),
        ("round(2.5)", Some("\"3\"")),
        ("sqrt(6.25)", Some("2.5")),
        ("array_constructor(1, 3000000000)", Some("[1,3000000000]")),
    ]);
}

#[test]
fn aggregates_collect_sets_maps_bits_and_anything() {
    let engine = engine_over(&MemoryFiles::new());
    let rows = "(VALUES (1, 5, 'b'), (1, NULL, NULL), (1, 7, 'a'), (1, 5, 'c'), (2, NULL, 'x')) \
                AS t(g, k, v)";
    // Observed from Velox 0.2.0: nulls are members of sets but not keys of maps, and the first
    // value of a key is kept.
    for (aggregate, first, second) in [
        ("any_value(v)", "\"b\"", "\"x\""),
        ("arbitrary(k)", "5", "null"),
        ("bitwise_and_agg(k)", "5", "null"),
        ("bitwise_or_agg(k)", "7", "null"),
        ("bitwise_xor_agg(k)", "7", "null"),
        ("set_agg(k)", "[5,null,7]", "[null]"),
        ("map_agg(k, v)", "[[5,\"b\"],[7,\"a\"]]", "null"),
    ] {
        let sql = format!("SELECT g, {aggregate} AS r FROM {rows} GROUP BY g ORDER BY g");
        let expected =
            [format!("{{\"g\":1,\"r\":{first}}}"), format!("{{\"g\":2,\"r\":{second}}}")];
        assert_eq!(lines_of(&engine, &sql).unwrap(), expected, "{aggregate}");
    }
}
