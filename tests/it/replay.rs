//! Plans in JSON on the example warehouse, through the command line.

use serde_json::{Value, json};

use crate::support::command::{Ran, Scratch, ocior};

fn ty(name: &str) -> Value {
    json!({"name": "Type", "type": name})
}

fn row(fields: &[(&str, &str)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let types: Vec<Value> = fields.iter().map(|(_, kind)| ty(kind)).collect();
    json!({"name": "Type", "type": "ROW", "names": names, "cTypes": types})
}

fn column(name: &str, kind: &str) -> Value {
    json!({"name": "FieldAccessTypedExpr", "type": ty(kind), "fieldName": name})
}

fn bigint(value: i64) -> Value {
    let variant = json!({"type": "BIGINT", "value": value});
    json!({"name": "ConstantTypedExpr", "type": ty("BIGINT"), "value": variant})
}

fn call(function: &str, kind: &str, inputs: &[Value]) -> Value {
    json!({"name": "CallTypedExpr", "type": ty(kind), "functionName": function, "inputs": inputs})
}

fn assign(output: &str, name: &str, class: &str, kind: &str) -> Value {
    json!({"assign": output, "columnHandle": {
        "name": "HiveColumnHandle", "hiveColumnHandleName": name, "columnType": class,
        "dataType": ty(kind), "hiveType": ty(kind), "requiredSubfields": []
    }})
}

/// nation with a range on its key, a remaining filter, and the partition it is in.
fn scan() -> Value {
    let sum =
        call("plus", "BIGINT", &[column("nationkey", "BIGINT"), column("regionkey", "BIGINT")]);
    json!({
        "name": "TableScanNode", "id": "scan",
        "outputType": row(&[("country", "VARCHAR"), ("region", "BIGINT"), ("ds", "VARCHAR")]),
        "tableHandle": {
            "name": "HiveTableHandle", "connectorId": "hive", "tableName": "nation",
            "subfieldFilters": [{"subfield": "nationkey", "filter":
                {"name": "BigintRange", "nullAllowed": false, "lower": 0, "upper": 3}}],
            "remainingFilter": call("gte", "BOOLEAN", &[sum, bigint(2)]),
            "dataColumns": row(&[("nationkey", "BIGINT"), ("name", "VARCHAR"),
                ("regionkey", "BIGINT"), ("comment", "VARCHAR")]),
        },
        "assignments": [
            assign("country", "name", "Regular", "VARCHAR"),
            assign("region", "regionkey", "Regular", "BIGINT"),
            assign("ds", "ds", "PartitionKey", "VARCHAR"),
        ],
    })
}

fn split(day: &str) -> Value {
    json!({
        "name": "HiveConnectorSplit", "connectorId": "hive", "fileFormat": "parquet",
        "filePath": format!("file:{}/examples/warehouse/nation/ds={day}/part-0.parquet",
            env!("CARGO_MANIFEST_DIR")),
        "start": 0, "length": -1, "partitionKeys": {"ds": day},
    })
}

fn case() -> Value {
    json!({
        "hive_config": {"hive.parquet.use-column-names": "true"},
        "splits": {"scan": [split("2026-09-01"), split("2026-09-02")]},
    })
}

fn replay(name: &str, plan: &Value, case: &Value, more: &[&str]) -> Ran {
    let scratch = Scratch::new(name);
    let plan = scratch.write("plan.json", plan.to_string().as_bytes());
    let case = scratch.write("case.json", case.to_string().as_bytes());
    let args = ["replay", "--plan", &plan, "--case", &case, "-f", "jsonl"];
    ocior(&[&args, more].concat())
}

#[test]
fn a_scan_gives_the_rows_that_pass_its_filters_split_by_split() {
    let want = "\
{\"country\":\"ARGENTINA\",\"region\":1,\"ds\":\"2026-09-01\"}
{\"country\":\"BRAZIL\",\"region\":1,\"ds\":\"2026-09-01\"}
{\"country\":\"CANADA\",\"region\":1,\"ds\":\"2026-09-01\"}
{\"country\":\"ARGENTINA\",\"region\":1,\"ds\":\"2026-09-02\"}
{\"country\":\"BRAZIL\",\"region\":1,\"ds\":\"2026-09-02\"}
{\"country\":\"CANADA\",\"region\":1,\"ds\":\"2026-09-02\"}
";
    let ran = replay("replay-scan", &scan(), &case(), &[]);
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (0, "", want));
}

#[test]
fn nodes_above_a_scan_are_run_with_any_number_of_drivers() {
    let doubled = call("multiply", "BIGINT", &[column("region", "BIGINT"), bigint(2)]);
    let project = json!({
        "name": "ProjectNode", "id": "project", "sources": [scan()],
        "names": ["ds", "twice"], "projections": [column("ds", "VARCHAR"), doubled],
    });
    let aggregate = |call: Value, raw: Value| {
        json!({"call": call, "rawInputTypes": raw, "sortingKeys": [], "sortingOrders": [],
            "distinct": false})
    };
    let groups = json!({
        "name": "AggregationNode", "id": "groups", "sources": [project], "step": "SINGLE",
        "groupingKeys": [column("ds", "VARCHAR")], "preGroupedKeys": [],
        "aggregateNames": ["n", "sum"], "globalGroupingSets": [], "ignoreNullKeys": false,
        "aggregates": [
            aggregate(call("count", "BIGINT", &[]), json!([])),
            aggregate(call("sum", "BIGINT", &[column("twice", "BIGINT")]), json!([ty("BIGINT")])),
        ],
    });
    let sorted = json!({
        "name": "OrderByNode", "id": "sorted", "sources": [groups], "partial": false,
        "sortingKeys": [column("ds", "VARCHAR")],
        "sortingOrders": [{"ascending": false, "nullsFirst": false}],
    });
    let want = "\
{\"ds\":\"2026-09-02\",\"n\":3,\"sum\":6}
{\"ds\":\"2026-09-01\",\"n\":3,\"sum\":6}
";
    for drivers in ["1", "3"] {
        let ran = replay("replay-groups", &sorted, &case(), &["--drivers", drivers]);
        assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (0, "", want), "{drivers}");
    }
}

#[test]
fn what_is_not_built_is_refused_by_name_with_its_place() {
    let refused = |plan: Value, case: Value| {
        let ran = replay("replay-refused", &plan, &case, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""));
        ran.err
    };
    let mut plan = scan();
    plan["tableHandle"]["subfieldFilters"][0]["filter"]["name"] = json!("Sieve");
    assert_eq!(
        refused(plan, case()),
        "error: unsupported: a filter that is not built (name=Sieve)\n  \
         in plan \"/tableHandle/subfieldFilters/0/filter/name\"\n"
    );
    let mut plan = scan();
    plan["tableHandle"]["remainingFilter"]["functionName"] = json!("outshines");
    assert_eq!(
        refused(plan, case()),
        "error: unsupported: a function that is not built (name=outshines)\n  \
         in plan \"/tableHandle/remainingFilter/functionName\"\n"
    );
    let above = json!({"name": "WindowNode", "id": "w", "sources": [scan()]});
    let limit = json!({"name": "LimitNode", "id": "l", "offset": 0, "count": 1, "partial": false,
        "sources": [above]});
    assert_eq!(
        refused(limit, case()),
        "error: unsupported: a plan node that is not built (name=WindowNode)\n  \
         in plan \"/sources/0/name\"\n"
    );
    let mut orc = case();
    orc["splits"]["scan"][1]["fileFormat"] = json!("orc");
    assert_eq!(
        refused(scan(), orc),
        "error: unsupported: a file format that is not built (name=orc)\n  \
         in case \"/splits/scan/1/fileFormat\"\n"
    );
    let mut case = case();
    case["splits"]["scan"][0]["length"] = json!("all");
    assert_eq!(
        refused(scan(), case),
        "error: invalid input: a value of the wrong kind (expected=an integer found=a string)\n  \
         in case \"/splits/scan/0/length\"\n"
    );
}

/// A split of another format, with its serde parameters, and a struct made of columns.
#[test]
fn a_text_split_is_read_as_its_serde_parameters_say() {
    let scratch = Scratch::new("replay-text");
    scratch.write("part", b"id|name\n1|one\n2|NULL\n3|three\n");
    let pair = json!({"name": "ConcatTypedExpr", "type": row(&[("n", "BIGINT"), ("text", "VARCHAR")]),
        "inputs": [column("id", "BIGINT"), column("name", "VARCHAR")]});
    let plan = json!({
        "name": "ProjectNode", "id": "1", "names": ["pair"], "projections": [pair],
        "sources": [{
            "name": "TableScanNode", "id": "0",
            "outputType": row(&[("id", "BIGINT"), ("name", "VARCHAR")]),
            "tableHandle": {
                "name": "HiveTableHandle", "connectorId": "hive", "tableName": "t",
                "subfieldFilters": [{"subfield": "id", "filter":
                    {"name": "BigintRange", "nullAllowed": false, "lower": 2, "upper": 9}}],
                "dataColumns": row(&[("id", "BIGINT"), ("name", "VARCHAR")]),
                "tableParameters": {"skip.header.line.count": "1",
                    "serialization.null.format": "NULL"},
            },
            "assignments": [
                assign("id", "id", "Regular", "BIGINT"),
                assign("name", "name", "Regular", "VARCHAR"),
            ],
        }],
    });
    let case = json!({"splits": {"0": [{
        "name": "HiveConnectorSplit", "connectorId": "hive", "filePath": "${CASE}/part",
        "fileFormat": "text", "start": 0, "length": -1, "partitionKeys": {},
        "serdeParameters": {"field.delim": "|"},
    }]}});
    let plan = scratch.write("plan.json", plan.to_string().as_bytes());
    let case = scratch.write("case.json", case.to_string().as_bytes());
    let ran = ocior(&["replay", "--plan", &plan, "--case", &case, "-f", "jsonl"]);
    let expected = "{\"pair\":{\"n\":2,\"text\":null}}\n{\"pair\":{\"n\":3,\"text\":\"three\"}}\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, expected, ""));
}

/// Sources that meet in an exchange, arrays taken apart, and a join that Velox would merge.
#[test]
fn exchanges_of_several_sources_unnests_and_merge_joins_are_run() {
    let wrap = |items: Value| json!({"name": "Type", "type": "ARRAY", "cTypes": [items]});
    let pair = json!({"name": "CallTypedExpr", "type": wrap(ty("BIGINT")),
        "functionName": "array_constructor",
        "inputs": [column("region", "BIGINT"), bigint(7)]});
    let project = json!({
        "name": "ProjectNode", "id": "project", "sources": [scan()],
        "names": ["country", "ds", "pair"],
        "projections": [column("country", "VARCHAR"), column("ds", "VARCHAR"), pair],
    });
    let unnest = json!({
        "name": "UnnestNode", "id": "unnest", "sources": [project],
        "replicateVariables": [column("country", "VARCHAR")],
        "unnestVariables": [json!({"name": "FieldAccessTypedExpr", "fieldName": "pair",
            "type": wrap(ty("BIGINT"))})],
        "unnestNames": ["item"], "withOrdinality": true, "ordinalityName": "place",
    });
    let limit = |id: &str| {
        let mut scan = unnest.clone();
        scan["sources"][0]["sources"][0]["id"] = json!(id);
        scan["sources"][0]["id"] = json!(format!("project {id}"));
        scan["id"] = json!(format!("unnest {id}"));
        json!({"name": "LimitNode", "id": format!("limit {id}"), "offset": 0, "count": 2,
            "partial": false, "sources": [scan]})
    };
    let exchange = json!({
        "name": "LocalPartitionNode", "id": "exchange", "type": "GATHER", "scaleWriter": false,
        "partitionFunctionSpec": {"name": "GatherPartitionFunctionSpec"},
        "sources": [limit("scan"), limit("other")],
    });
    let mut case = case();
    case["splits"]["other"] = json!([split("2026-09-02")]);
    let ran = replay("replay-exchange", &exchange, &case, &[]);
    let row = |item: i64, place: i64| {
        format!("{{\"country\":\"ARGENTINA\",\"item\":{item},\"place\":{place}}}\n")
    };
    let both = row(1, 1) + &row(7, 2);
    assert_eq!((ran.code, ran.err.as_str(), ran.out), (0, "", both.repeat(2)));

    let renamed = json!({
        "name": "ProjectNode", "id": "renamed", "sources": [{
            "name": "LimitNode", "id": "one", "offset": 1, "count": 1, "partial": false,
            "sources": [{"name": "FilterNode", "id": "filter", "sources": [scan()],
                "filter": call("eq", "BOOLEAN", &[column("ds", "VARCHAR"), json!({
                    "name": "ConstantTypedExpr", "type": ty("VARCHAR"),
                    "value": {"type": "VARCHAR", "value": "2026-09-01"}})])}],
        }],
        "names": ["name"], "projections": [column("country", "VARCHAR")],
    });
    let mut left = scan();
    left["id"] = json!("other");
    let join = json!({
        "name": "MergeJoinNode", "id": "join", "joinType": "INNER",
        "sources": [left, renamed], "leftKeys": [column("country", "VARCHAR")],
        "rightKeys": [column("name", "VARCHAR")],
        "outputType": row_of_names(&["country", "ds"]),
    });
    let ran = replay("replay-merge-join", &join, &case, &[]);
    let want = "{\"country\":\"BRAZIL\",\"ds\":\"2026-09-02\"}\n";
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (0, "", want));
}

fn row_of_names(names: &[&str]) -> Value {
    let fields: Vec<(&str, &str)> = names.iter().map(|name| (*name, "VARCHAR")).collect();
    row(&fields)
}

/// `array_agg(country ORDER BY ..)` over the scan, in groups of `ds`.
fn ordered(aggregates: &[(&str, Value, Value)], step: &str) -> Value {
    let list = json!({"name": "Type", "type": "ARRAY", "cTypes": [ty("VARCHAR")]});
    let aggregate = |(function, keys, orders): &(&str, Value, Value)| {
        let call = json!({"name": "CallTypedExpr", "type": list, "functionName": function,
            "inputs": [column("country", "VARCHAR")]});
        json!({"call": call, "rawInputTypes": [ty("VARCHAR")], "sortingKeys": keys,
            "sortingOrders": orders, "distinct": false})
    };
    let names: Vec<String> = (0..aggregates.len()).map(|i| format!("a{i}")).collect();
    json!({
        "name": "AggregationNode", "id": "groups", "sources": [scan()], "step": step,
        "groupingKeys": [column("ds", "VARCHAR")], "preGroupedKeys": [],
        "aggregateNames": names, "globalGroupingSets": [], "ignoreNullKeys": false,
        "aggregates": aggregates.iter().map(aggregate).collect::<Vec<_>>(),
    })
}

#[test]
fn aggregates_take_their_rows_in_the_order_of_their_sorting_keys() {
    let order = |ascending: bool| json!({"ascending": ascending, "nullsFirst": false});
    let by_country = || json!([column("country", "VARCHAR")]);
    let by_both = || json!([column("region", "BIGINT"), column("country", "VARCHAR")]);
    let down = || ("array_agg", by_country(), json!([order(false)]));
    for drivers in ["1", "3"] {
        let plan = ordered(&[down()], "SINGLE");
        let ran = replay("sorting-keys", &plan, &case(), &["--drivers", drivers]);
        assert!(ran.out.contains("[\"CANADA\",\"BRAZIL\",\"ARGENTINA\"]"), "{}", ran.out);
        let plan =
            ordered(&[("array_agg", by_both(), json!([order(true), order(false)]))], "SINGLE");
        let ran = replay("sorting-keys-both", &plan, &case(), &["--drivers", drivers]);
        assert!(ran.out.contains("[\"CANADA\",\"BRAZIL\",\"ARGENTINA\"]"), "{}", ran.out);
    }
    // What takes the rows in any order need not agree with the others.
    let up = ("array_agg", by_country(), json!([order(true)]));
    let refused = [
        (ordered(&[down(), up], "SINGLE"), "sorting keys that differ"),
        (ordered(&[down()], "PARTIAL"), "sorting keys of an aggregate in a partial or final step"),
    ];
    for (plan, expected) in refused {
        let ran = replay("sorting-keys-refused", &plan, &case(), &[]);
        assert_eq!(ran.code, 1, "{}", ran.out);
        assert!(ran.err.contains(expected) && ran.err.contains("array_agg"), "{}", ran.err);
    }
}

#[test]
fn a_setting_of_the_query_that_changes_rows_is_refused_by_name() {
    let mut case = case();
    case["query_config"] = json!({"spill_enabled": "true", "legacy_cast": "false"});
    assert_eq!(replay("query-config", &scan(), &case, &[]).code, 0);
    for name in ["legacy_cast", "presto.array_agg.ignore_nulls", "of_another_version"] {
        case["query_config"] = json!({name: "true"});
        let ran = replay("query-config-refused", &scan(), &case, &[]);
        assert_eq!(ran.code, 1);
        assert!(ran.err.contains(name), "{}", ran.err);
    }
}

/// `x BETWEEN NULL AND 0` is null for every row in a plan, as in Velox; in the condition of a table,
/// where Velox makes filters of it, the comparison with the other bound decides.
#[test]
fn between_is_null_when_a_bound_is() {
    let null = json!({"name": "ConstantTypedExpr", "type": ty("BIGINT"),
        "value": {"type": "BIGINT", "value": null}});
    let not = |condition: Value| call("not", "BOOLEAN", &[condition]);
    let all = replay("between-null-all", &scan(), &case(), &[]).out;
    assert_eq!(all.lines().count(), 6);
    // The region of all rows is 1.
    for (bounds, of_table) in [
        ([null.clone(), bigint(0)], all.as_str()),
        ([null.clone(), bigint(1)], ""),
        ([bigint(2), null.clone()], all.as_str()),
        ([bigint(1), null.clone()], ""),
        ([null.clone(), null.clone()], ""),
    ] {
        let between = |value: Value| {
            let [low, high] = bounds.clone();
            call("between", "BOOLEAN", &[value, low, high])
        };
        let plan = json!({"name": "FilterNode", "id": "f", "sources": [scan()],
            "filter": not(between(column("region", "BIGINT")))});
        let ran = replay("between-null", &plan, &case(), &[]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
        let region = || column("regionkey", "BIGINT");
        let one = || call("eq", "BOOLEAN", &[region(), bigint(1)]);
        let other = || call("eq", "BOOLEAN", &[column("nationkey", "BIGINT"), bigint(-1)]);
        let sum = || call("plus", "BIGINT", &[region(), bigint(0)]);
        let both = |a, b| call("and", "BOOLEAN", &[a, b]);
        let any = |a, b| call("or", "BOOLEAN", &[a, b]);
        for (condition, expected) in [
            (not(between(region())), of_table),
            (both(one(), not(between(region()))), of_table),
            (any(not(one()), not(between(region()))), of_table),
            (not(any(not(one()), between(region()))), of_table),
            (between(region()), ""),
            (not(not(between(region()))), ""),
            // No filter of one column says these.
            (not(between(sum())), ""),
            (any(other(), not(between(region()))), ""),
            (not(both(not(other()), between(region()))), ""),
        ] {
            let mut plan = scan();
            // All rows of the scan without the condition fulfil the range of its first column.
            let rest = scan()["tableHandle"]["remainingFilter"].clone();
            plan["tableHandle"]["remainingFilter"] = both(rest, condition.clone());
            let ran = replay("between-null-pushed", &plan, &case(), &[]);
            assert_eq!((ran.code, ran.out.as_str()), (0, expected), "{condition}: {}", ran.err);
        }
    }
}
