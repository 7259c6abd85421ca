//! The queries: scans of TPC-H tables, from very selective ones to full scans.

/// One query, with the columns and conditions of each of its tables.
pub(crate) struct Query {
    pub(crate) name: &'static str,
    pub(crate) sql: String,
    pub(crate) tables: Vec<TableNeeds>,
}

/// The columns of a table that a query uses, and the condition that it has on the rows.
pub(crate) struct TableNeeds {
    pub(crate) table: &'static str,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) condition: Option<&'static str>,
}

const LINEITEM: [&str; 16] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

/// Returns a query on lineitem: its select list, the columns in the select list and in the
/// condition, the condition, and the remaining clauses.
fn of_lineitem(
    name: &'static str,
    select: &str,
    columns: &[&'static str],
    condition: Option<&'static str>,
    rest: &str,
) -> Query {
    let filter = condition.map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
    let needs = TableNeeds { table: "lineitem", columns: columns.to_vec(), condition };
    Query { name, sql: format!("SELECT {select} FROM lineitem{filter}{rest}"), tables: vec![needs] }
}

/// Returns all queries, in the order in which they are printed.
pub(crate) fn all() -> Vec<Query> {
    let payload = "sum(l_extendedprice), max(l_comment), max(l_shipinstruct)";
    let of_payload = ["l_partkey", "l_extendedprice", "l_comment", "l_shipinstruct"];
    let greatest = LINEITEM.map(|column| format!("max({column})")).join(", ");
    let of_q6 = ["l_extendedprice", "l_discount", "l_shipdate", "l_quantity"];
    let of_q1 = [
        "l_returnflag",
        "l_linestatus",
        "l_quantity",
        "l_extendedprice",
        "l_discount",
        "l_tax",
        "l_shipdate",
    ];
    let late = "l_shipmode IN ('AIR', 'MAIL') AND l_commitdate < l_receiptdate \
                AND l_shipdate < l_commitdate";
    let of_late = ["l_shipmode", "l_commitdate", "l_receiptdate", "l_shipdate"];
    vec![
        of_lineitem("count_star", "count(*)", &[], None, ""),
        of_lineitem("sum_int", "sum(l_partkey)", &["l_partkey"], None, ""),
        of_lineitem("q6", "sum(l_extendedprice * l_discount)", &of_q6, Some(Q6), ""),
        of_lineitem("q1", Q1, &of_q1, Some("l_shipdate <= DATE '1998-09-02'"), Q1_GROUPS),
        of_lineitem("key_range", &greatest, &LINEITEM, Some(KEY_RANGE), ""),
        of_lineitem("point", &greatest, &LINEITEM, Some("l_partkey = 12345"), ""),
        of_lineitem("sel_1", payload, &of_payload, Some("l_partkey <= 2000"), ""),
        of_lineitem("sel_10", payload, &of_payload, Some("l_partkey <= 20000"), ""),
        of_lineitem("sel_50", payload, &of_payload, Some("l_partkey <= 100000"), ""),
        of_lineitem(
            "str_in",
            "sum(l_extendedprice)",
            &["l_extendedprice", "l_shipmode", "l_shipinstruct"],
            Some("l_shipmode IN ('AIR', 'MAIL') AND l_shipinstruct = 'DELIVER IN PERSON'"),
            "",
        ),
        of_lineitem("like", "count(*)", &["l_comment"], Some(LIKE), ""),
        of_lineitem("late", "count(*)", &of_late, Some(late), ""),
        join(),
        of_lineitem("decode_all", DECODE_ALL, &LINEITEM, None, ""),
    ]
}

const Q6: &str = "l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' \
                  AND l_discount >= 0.05e0 AND l_discount <= 0.07e0 AND l_quantity < 24e0";
const Q1: &str = "l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
                  sum(l_extendedprice * (1e0 - l_discount)), \
                  sum(l_extendedprice * (1e0 - l_discount) * (1e0 + l_tax)), avg(l_quantity), \
                  avg(l_extendedprice), avg(l_discount), count(*)";
const Q1_GROUPS: &str = " GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus";
const KEY_RANGE: &str = "l_orderkey BETWEEN 3000000 AND 3000400";
const LIKE: &str = "l_comment LIKE '%special%requests%'";
const DECODE_ALL: &str = "sum(l_orderkey), sum(l_partkey), sum(l_suppkey), sum(l_linenumber), \
                          sum(l_quantity), sum(l_extendedprice), sum(l_discount), sum(l_tax), \
                          max(length(l_returnflag)), max(length(l_linestatus)), \
                          max(length(l_shipinstruct)), max(length(l_shipmode)), \
                          max(length(l_comment)), \
                          sum(CASE WHEN l_shipdate < l_commitdate THEN 1 ELSE 0 END), \
                          sum(CASE WHEN l_receiptdate < l_commitdate THEN 1 ELSE 0 END)";

fn join() -> Query {
    let condition = "o_orderdate BETWEEN DATE '1995-03-01' AND DATE '1995-03-07'";
    let sql = format!(
        "SELECT sum(l_extendedprice) FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
         WHERE {condition}"
    );
    let lineitem = TableNeeds {
        table: "lineitem",
        columns: vec!["l_orderkey", "l_extendedprice"],
        condition: None,
    };
    let orders = TableNeeds {
        table: "orders",
        columns: vec!["o_orderkey", "o_orderdate"],
        condition: Some(condition),
    };
    Query { name: "join", sql, tables: vec![lineitem, orders] }
}
