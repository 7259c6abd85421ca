//! Function families: built-in functions grouped by their signatures, which are their typing rule.
//!
//! A family has the signatures of all its members, so a member consists of a name and its
//! implementation.

use std::f64::consts::{E, PI};

use super::registry::Body::{self, Rows, Scalar};
use super::registry::Function;
use super::{
    array_order, array_sets, array_shapes, bits, by_row, date_format, date_moves, map_making,
    numbers, padding, pieces, string, temporal, temporal_parts,
};

/// Functions with the same signatures.
pub(super) struct Family {
    signatures: &'static [&'static str],
    members: &'static [(&'static str, Body)],
}

impl Family {
    pub(super) fn members(&self) -> impl Iterator<Item = Function> {
        self.members.iter().map(|(name, body)| Function {
            name,
            signatures: self.signatures,
            resolve: None,
            body: *body,
            deterministic: true,
        })
    }
}

/// All families.
pub(super) const ALL: &[Family] = &[
    Family {
        signatures: &["(DATE) -> BIGINT", "(TIMESTAMP) -> BIGINT"],
        members: &[
            ("day_of_month", Scalar(temporal::day)),
            ("hour", Rows(temporal_parts::hour)),
            ("minute", Rows(temporal_parts::minute)),
            ("second", Rows(temporal_parts::second)),
            ("millisecond", Rows(temporal_parts::millisecond)),
            ("quarter", Rows(temporal_parts::quarter)),
            ("week", Rows(temporal_parts::week)),
            ("week_of_year", Rows(temporal_parts::week)),
            ("day_of_week", Rows(temporal_parts::day_of_week)),
            ("dow", Rows(temporal_parts::day_of_week)),
            ("day_of_year", Rows(temporal_parts::day_of_year)),
            ("doy", Rows(temporal_parts::day_of_year)),
            ("year_of_week", Rows(temporal_parts::year_of_week)),
            ("yow", Rows(temporal_parts::year_of_week)),
        ],
    },
    Family {
        signatures: &[
            "(VARCHAR, BIGINT, DATE) -> DATE",
            "(VARCHAR, BIGINT, TIMESTAMP) -> TIMESTAMP",
        ],
        members: &[("date_add", Rows(date_moves::date_add))],
    },
    Family {
        signatures: &[
            "(VARCHAR, DATE, DATE) -> BIGINT",
            "(VARCHAR, TIMESTAMP, TIMESTAMP) -> BIGINT",
        ],
        members: &[("date_diff", Rows(date_moves::date_diff))],
    },
    Family {
        signatures: &["(DATE) -> DATE", "(TIMESTAMP) -> DATE"],
        members: &[("last_day_of_month", Rows(date_moves::last_day_of_month))],
    },
    Family {
        signatures: &["(TIMESTAMP, VARCHAR) -> VARCHAR"],
        members: &[("date_format", Rows(date_format::date_format))],
    },
    Family {
        signatures: &["(VARCHAR) -> DATE", "(TIMESTAMP) -> DATE"],
        members: &[("date", Scalar(temporal::date))],
    },
    Family {
        signatures: &["(DOUBLE) -> TIMESTAMP"],
        members: &[("from_unixtime", Rows(date_moves::from_unixtime))],
    },
    Family {
        signatures: &["(TIMESTAMP) -> DOUBLE"],
        members: &[("to_unixtime", Rows(date_moves::to_unixtime))],
    },
    Family {
        signatures: &["(DOUBLE) -> DOUBLE"],
        members: &[
            ("sqrt", Rows(numbers::sqrt)),
            ("ln", Rows(|call| by_row::double(call, f64::ln))),
            ("log2", Rows(|call| by_row::double(call, f64::log2))),
            ("log10", Rows(|call| by_row::double(call, f64::log10))),
            ("exp", Rows(|call| by_row::double(call, f64::exp))),
            ("cbrt", Rows(|call| by_row::double(call, f64::cbrt))),
            ("radians", Rows(|call| by_row::double(call, |x| x * (PI / 180.0)))),
            ("degrees", Rows(|call| by_row::double(call, |x| x * (180.0 / PI)))),
            ("sin", Rows(|call| by_row::double(call, f64::sin))),
            ("cos", Rows(|call| by_row::double(call, f64::cos))),
            ("tan", Rows(|call| by_row::double(call, f64::tan))),
            ("asin", Rows(|call| by_row::double(call, f64::asin))),
            ("acos", Rows(|call| by_row::double(call, f64::acos))),
            ("atan", Rows(|call| by_row::double(call, f64::atan))),
            ("cosh", Rows(|call| by_row::double(call, f64::cosh))),
            ("tanh", Rows(|call| by_row::double(call, f64::tanh))),
        ],
    },
    Family {
        signatures: &["(DOUBLE, DOUBLE) -> DOUBLE"],
        members: &[
            ("power", Rows(|call| by_row::doubles(call, f64::powf))),
            ("pow", Rows(|call| by_row::doubles(call, f64::powf))),
            ("atan2", Rows(|call| by_row::doubles(call, f64::atan2))),
        ],
    },
    Family {
        signatures: &["() -> DOUBLE"],
        members: &[
            ("pi", Rows(|call| numbers::constant(call, PI))),
            ("e", Rows(|call| numbers::constant(call, E))),
            ("nan", Rows(|call| numbers::constant(call, f64::NAN))),
            ("infinity", Rows(|call| numbers::constant(call, f64::INFINITY))),
        ],
    },
    Family {
        signatures: &["(DOUBLE) -> BOOLEAN"],
        members: &[
            ("is_nan", Rows(|call| numbers::is(call, f64::is_nan))),
            ("is_finite", Rows(|call| numbers::is(call, f64::is_finite))),
            ("is_infinite", Rows(|call| numbers::is(call, f64::is_infinite))),
        ],
    },
    Family { signatures: &["(T) -> T for number T"], members: &[("sign", Rows(numbers::sign))] },
    Family {
        signatures: &["(T, T, T) -> T for integer T", "(DOUBLE, DOUBLE, DOUBLE) -> DOUBLE"],
        members: &[("clamp", Rows(numbers::clamp))],
    },
    Family {
        signatures: &["(BIGINT, BIGINT) -> BIGINT"],
        members: &[
            ("bitwise_and", Rows(bits::and)),
            ("bitwise_or", Rows(bits::or)),
            ("bitwise_xor", Rows(bits::xor)),
            ("bitwise_arithmetic_shift_right", Rows(bits::arithmetic_shift_right)),
            ("bit_count", Rows(bits::bit_count)),
        ],
    },
    Family { signatures: &["(BIGINT) -> BIGINT"], members: &[("bitwise_not", Rows(bits::not))] },
    Family {
        signatures: &["(T, BIGINT) -> T for integer T"],
        members: &[
            ("bitwise_left_shift", Rows(bits::left_shift)),
            ("bitwise_right_shift", Rows(bits::right_shift)),
            ("bitwise_right_shift_arithmetic", Rows(bits::right_shift_arithmetic)),
        ],
    },
    Family {
        signatures: &["(BIGINT, BIGINT, BIGINT) -> BIGINT"],
        members: &[
            ("bitwise_logical_shift_right", Rows(bits::logical_shift_right)),
            ("bitwise_shift_left", Rows(bits::shift_left)),
        ],
    },
    Family {
        signatures: &["(VARCHAR) -> VARCHAR", "(VARCHAR, VARCHAR) -> VARCHAR"],
        members: &[
            ("trim", Scalar(string::trim)),
            ("ltrim", Scalar(string::ltrim)),
            ("rtrim", Scalar(string::rtrim)),
        ],
    },
    Family {
        signatures: &["(VARCHAR, VARCHAR) -> BIGINT", "(VARCHAR, VARCHAR, BIGINT) -> BIGINT"],
        members: &[
            ("strpos", Scalar(string::strpos)),
            ("strrpos", Rows(pieces::position_from_end)),
        ],
    },
    Family {
        signatures: &["(VARCHAR, VARCHAR) -> VARCHAR", "(VARCHAR, VARCHAR, VARCHAR) -> VARCHAR"],
        members: &[("replace", Rows(pieces::replace))],
    },
    Family {
        signatures: &[
            "(VARCHAR, VARCHAR) -> ARRAY(VARCHAR)",
            "(VARCHAR, VARCHAR, BIGINT) -> ARRAY(VARCHAR)",
        ],
        members: &[("split", Rows(pieces::split))],
    },
    Family {
        signatures: &["(VARCHAR, VARCHAR, BIGINT) -> VARCHAR"],
        members: &[("split_part", Rows(pieces::split_part))],
    },
    Family {
        signatures: &[
            "(VARCHAR, BIGINT, VARCHAR) -> VARCHAR",
            "(VARBINARY, BIGINT, VARBINARY) -> VARBINARY",
        ],
        members: &[("lpad", Rows(padding::lpad)), ("rpad", Rows(padding::rpad))],
    },
    Family {
        signatures: &["(VARCHAR, VARCHAR, ...) -> VARCHAR"],
        members: &[("concat_ws", Scalar(padding::concat_ws))],
    },
    Family { signatures: &["(BIGINT) -> VARCHAR"], members: &[("chr", Rows(padding::chr))] },
    Family {
        signatures: &["(VARCHAR) -> INTEGER"],
        members: &[("codepoint", Rows(padding::codepoint))],
    },
    Family {
        signatures: &["(VARBINARY) -> VARCHAR"],
        members: &[("to_hex", Rows(padding::to_hex)), ("from_utf8", Rows(padding::from_utf8))],
    },
    Family {
        signatures: &["(VARCHAR) -> VARBINARY"],
        members: &[("from_hex", Rows(padding::from_hex)), ("to_utf8", Rows(padding::to_utf8))],
    },
    Family {
        signatures: &["(ARRAY(T)) -> ARRAY(T)", "(VARCHAR) -> VARCHAR", "(VARBINARY) -> VARBINARY"],
        members: &[("reverse", Rows(array_shapes::reverse))],
    },
    Family {
        signatures: &[
            "(VARCHAR, ...) -> VARCHAR",
            "(ARRAY(T), ...) -> ARRAY(T)",
            "(ARRAY(T), T) -> ARRAY(T)",
            "(T, ARRAY(T)) -> ARRAY(T)",
            "(VARBINARY, ...) -> VARBINARY",
        ],
        members: &[("concat", Scalar(array_shapes::concat))],
    },
    Family {
        signatures: &["(ARRAY(T)) -> T for ordered T"],
        members: &[
            ("array_min", Rows(array_order::least)),
            ("array_max", Rows(array_order::greatest)),
        ],
    },
    Family {
        signatures: &["(ARRAY(BIGINT)) -> BIGINT", "(ARRAY(DOUBLE)) -> DOUBLE"],
        members: &[("array_sum", Rows(array_order::sum))],
    },
    Family {
        signatures: &["(ARRAY(DOUBLE)) -> DOUBLE"],
        members: &[("array_average", Rows(array_order::average))],
    },
    Family {
        signatures: &["(ARRAY(T)) -> ARRAY(T) for ordered T"],
        members: &[
            ("array_sort", Rows(array_order::sort)),
            ("array_sort_desc", Rows(array_order::sort_desc)),
        ],
    },
    Family {
        signatures: &["(ARRAY(T)) -> ARRAY(T)"],
        members: &[
            ("array_distinct", Rows(array_sets::distinct)),
            ("array_duplicates", Rows(array_sets::duplicates)),
            ("remove_nulls", Rows(array_shapes::remove_nulls)),
        ],
    },
    Family {
        signatures: &["(ARRAY(T), ARRAY(T)) -> ARRAY(T)"],
        members: &[
            ("array_union", Rows(array_sets::union)),
            ("array_intersect", Rows(array_sets::intersect)),
            ("array_except", Rows(array_sets::except)),
        ],
    },
    Family {
        signatures: &["(ARRAY(T), ARRAY(T)) -> BOOLEAN"],
        members: &[("arrays_overlap", Rows(array_sets::overlap))],
    },
    Family {
        signatures: &["(ARRAY(T)) -> BOOLEAN"],
        members: &[("array_has_duplicates", Rows(array_sets::has_duplicates))],
    },
    Family {
        signatures: &["(ARRAY(T)) -> MAP(T, INTEGER)"],
        members: &[("array_frequency", Rows(array_sets::frequency))],
    },
    Family {
        signatures: &["(ARRAY(T), T) -> BIGINT", "(ARRAY(T), T, BIGINT) -> BIGINT"],
        members: &[("array_position", Rows(array_order::position))],
    },
    Family {
        signatures: &["(ARRAY(T), T) -> ARRAY(T)"],
        members: &[("array_remove", Rows(array_order::remove))],
    },
    Family {
        signatures: &["(ARRAY(T), VARCHAR) -> VARCHAR", "(ARRAY(T), VARCHAR, VARCHAR) -> VARCHAR"],
        members: &[("array_join", Scalar(array_order::join))],
    },
    Family {
        signatures: &["(ARRAY(T), BIGINT, BIGINT) -> ARRAY(T)"],
        members: &[("slice", Rows(array_shapes::slice))],
    },
    Family {
        signatures: &["(ARRAY(T), BIGINT) -> ARRAY(T)"],
        members: &[("trim_array", Rows(array_shapes::trim))],
    },
    Family {
        signatures: &["(ARRAY(ARRAY(T))) -> ARRAY(T)"],
        members: &[("flatten", Rows(array_shapes::flatten))],
    },
    Family {
        signatures: &["(T, BIGINT) -> ARRAY(T)"],
        members: &[("repeat", Scalar(array_shapes::repeat))],
    },
    Family {
        signatures: &[
            "(BIGINT, BIGINT) -> ARRAY(BIGINT)",
            "(BIGINT, BIGINT, BIGINT) -> ARRAY(BIGINT)",
            "(DATE, DATE) -> ARRAY(DATE)",
        ],
        members: &[("sequence", Rows(array_shapes::sequence))],
    },
    Family {
        signatures: &["(ARRAY(K), ARRAY(V)) -> MAP(K, V)", "() -> MAP(UNKNOWN, UNKNOWN)"],
        members: &[("map", Rows(map_making::map))],
    },
    Family {
        signatures: &["(ARRAY(ROW(K, V))) -> MAP(K, V)"],
        members: &[("map_from_entries", Rows(map_making::from_entries))],
    },
    Family {
        signatures: &["(MAP(K, V), ...) -> MAP(K, V)"],
        members: &[("map_concat", Rows(map_making::concatenated))],
    },
    Family {
        signatures: &["(MAP(K, V)) -> ARRAY(ROW(K, V))"],
        members: &[("map_entries", Rows(map_making::entries))],
    },
];
