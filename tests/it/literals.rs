//! Literals at and beyond the limits of their types: each is a value or a user error. Tests are
//! compiled with overflow checks, so that unchecked arithmetic would panic.

use dwio::fs::MemoryFiles;

use crate::support::files::{engine_over, lines_of};

const TEXTS: [&str; 18] = [
    "0",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999999999999999999999",
    "170141183460469231731687303715884105727",
    "170141183460469231731687303715884105727.5",
    "0.99999999999999999999999999999999999999999",
    "1e400",
    "1e-400",
    "1e99999999999",
    "4294967295",
    "18446744073709551615",
    "2147483647-12-31",
    "999999999-12-31 23:59:59.999999999",
    "+292278994-08-17 07:12:55.807",
    "23:59:59.9999999999",
    "2020-02-29 24:00:00",
    "",
];

#[test]
fn a_literal_of_any_size_is_a_value_or_an_error_of_the_user() {
    let engine = engine_over(&MemoryFiles::new());
    let types = ["TINYINT", "BIGINT", "HUGEINT", "DECIMAL(38,0)", "DECIMAL(38,38)", "DOUBLE"];
    let words = ["DATE", "TIME", "TIMESTAMP", "DECIMAL", "DOUBLE", "UUID"];
    let units = ["YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"];
    let mut exprs = Vec::new();
    for text in TEXTS.iter().flat_map(|text| [text.to_string(), format!("-{text}")]) {
        exprs.push(text.clone());
        exprs.push(format!("{text} + 0.5"));
        exprs.extend(words.map(|word| format!("{word} '{text}'")));
        exprs.extend(units.map(|unit| format!("INTERVAL '{text}' {unit}")));
        exprs.extend(units.map(|unit| format!("DATE '2020-01-31' - INTERVAL '{text}' {unit}")));
        exprs.extend(types.map(|ty| format!("CAST('{text}' AS {ty})")));
        exprs.extend(types.map(|ty| format!("CAST(TRY_CAST('{text}' AS DOUBLE) AS {ty})")));
    }
    for expr in exprs {
        if let Err(error) = lines_of(&engine, &format!("SELECT {expr} AS r")) {
            assert!(error.is_user(), "{expr}: {error}");
        }
    }
}
