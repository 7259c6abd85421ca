#!/usr/bin/env python3
"""Measures the peak memory of the whole process against --memory, for queries with each operator that retains rows.

    python3 benches/memory/peaks.py OCIOR DATA [--limits 64,128,256,512] [--drivers 1,2] [--only TEXT] [--json FILE]

OCIOR is the path of the program, DATA a directory with lineitem.parquet and orders.parquet of scale factor 1. Each cell
of the table is the peak resident memory in MiB and the outcome of the query: "rows", or "limit" for the memory error.
A query is within its limit if the peak is at most the limit plus SLACK MiB, which covers the program itself, its
threads, and memory cached by the allocator. The exit code is 1 if a query exceeds its limit or fails with another error.
"""
import argparse, json, os, shutil, subprocess, sys, tempfile

SLACK = 64
WIDE = "lpad(o_comment, 500, 'x')"
QUERIES = {
    "scan": "SELECT max(l_comment) FROM lineitem",
    "filter computed": "SELECT count(*) FROM lineitem WHERE length(lpad(l_comment, 20000, 'x')) > 5 AND l_orderkey < 300000",
    "project computed": "SELECT max(length(lpad(l_comment, 100000, 'x'))) FROM lineitem WHERE l_orderkey < 100000",
    "replace": "SELECT max(length(replace(o_comment, 'e', rpad('', 2000, 'y')))) FROM orders WHERE o_orderkey < 400000",
    "concat": "SELECT max(length(concat(%s, %s, %s, %s))) FROM orders" % (WIDE, WIDE, WIDE, WIDE),
    "split": "SELECT sum(cardinality(split(l_comment, ''))) FROM lineitem",
    "sequence": "SELECT sum(cardinality(sequence(1, 9000 + l_linenumber))) FROM lineitem WHERE l_orderkey < 400000",
    "unnest": "SELECT count(e) FROM orders CROSS JOIN UNNEST(sequence(1, 100)) AS t(e) WHERE o_orderkey < 600000",
    "unnest wide": "SELECT count(e), max(length(s)) FROM (SELECT %s AS s, split(o_comment, ' ') AS l FROM orders) CROSS JOIN UNNEST(l) AS t(e)" % WIDE,
    "group text": "SELECT count(*) FROM (SELECT l_comment, count(*) FROM lineitem GROUP BY 1)",
    "group computed": "SELECT count(*) FROM (SELECT %s, count(*) FROM orders GROUP BY 1)" % WIDE,
    "group numbers": "SELECT count(*) FROM (SELECT l_orderkey, l_linenumber, sum(l_quantity), max(l_shipdate) FROM lineitem GROUP BY 1, 2)",
    "distinct": "SELECT count(*) FROM (SELECT DISTINCT %s FROM orders)" % WIDE,
    "count distinct": "SELECT count(DISTINCT %s) FROM orders" % WIDE,
    "min_by": "SELECT count(s) FROM (SELECT o_custkey, min_by(%s, o_orderdate) AS s FROM orders GROUP BY 1)" % WIDE,
    "array_agg": "SELECT cardinality(array_agg(l_comment)) FROM lineitem",
    "array_agg groups": "SELECT sum(cardinality(a)) FROM (SELECT o_custkey, array_agg(o_comment) AS a FROM orders GROUP BY 1)",
    "set_agg": "SELECT cardinality(set_agg(o_comment)) FROM orders",
    "map_agg": "SELECT cardinality(map_agg(o_orderkey, o_comment)) FROM orders",
    "join": "SELECT count(*), max(o_comment) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE length(o_comment) > l_linenumber",
    "join computed": "SELECT count(*) FROM lineitem JOIN (SELECT o_orderkey AS k, %s AS s FROM orders) b ON l_orderkey = k WHERE length(s) > l_linenumber" % WIDE,
    "join split": "SELECT count(*) FROM lineitem JOIN (SELECT o_orderkey AS k, split(o_comment, ' ') AS s FROM orders) b ON l_orderkey = k WHERE cardinality(s) > l_linenumber",
    "join text": "SELECT count(*) FROM orders JOIN lineitem ON o_comment = l_comment",
    "full join": "SELECT count(*), count(o_orderkey), count(l_orderkey) FROM lineitem FULL JOIN orders ON l_orderkey = o_orderkey AND l_linenumber = 1",
    "right join": "SELECT count(*), max(o_comment) FROM lineitem RIGHT JOIN orders ON l_orderkey = o_orderkey",
    "in": "SELECT count(*) FROM lineitem WHERE l_comment IN (SELECT o_comment FROM orders)",
    "not in": "SELECT count(*) FROM lineitem WHERE l_comment NOT IN (SELECT o_comment FROM orders)",
    "union": "SELECT count(*) FROM (SELECT o_comment FROM orders UNION SELECT l_comment FROM lineitem)",
    "except": "SELECT count(*) FROM (SELECT l_comment FROM lineitem EXCEPT SELECT o_comment FROM orders)",
    "intersect": "SELECT count(*) FROM (SELECT l_comment FROM lineitem INTERSECT SELECT o_comment FROM orders)",
    "sort": "SELECT * FROM (SELECT * FROM lineitem ORDER BY l_comment) LIMIT 3 OFFSET 5000000",
    "sort computed": "SELECT length(s) FROM (SELECT %s AS s FROM orders ORDER BY 1) LIMIT 3 OFFSET 1000000" % WIDE,
    "top n wide": "SELECT length(s) FROM (SELECT o_orderkey, lpad(o_comment, 50000, 'x') AS s FROM orders WHERE o_orderkey < 200000 ORDER BY o_orderkey DESC LIMIT 200)",
    "copy parquet": "COPY (SELECT * FROM lineitem) TO '%s' (FORMAT parquet, OVERWRITE)",
    "copy computed": "COPY (SELECT {} AS s, o_orderkey FROM orders) TO '%s' (FORMAT parquet, OVERWRITE)".format(WIDE),
    "copy csv": "COPY (SELECT {} AS s, o_orderkey FROM orders) TO '%s' (FORMAT csv, OVERWRITE)".format(WIDE),
    "copy json": "COPY (SELECT {} AS s, o_orderkey FROM orders) TO '%s' (FORMAT jsonl, OVERWRITE)".format(WIDE),
    "copy partitioned": "COPY (SELECT {} AS s, o_orderstatus, o_orderpriority FROM orders) TO '%s' (FORMAT parquet, PARTITION_BY (o_orderstatus, o_orderpriority), OVERWRITE)".format(WIDE),
}


def run(ocior, data, sql, limit, drivers, work):
    """Runs a query; returns its peak memory in MiB, and "rows", "limit" or the error."""
    out = os.path.join(work, "out")
    for leftover in os.listdir(work):
        path = os.path.join(work, leftover)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    tables = [x for t in ("lineitem", "orders") for x in ("--table", "%s=%s/%s.parquet" % (t, data, t))]
    command = [ocior, "query", "--memory", "%dMiB" % limit, "--drivers", str(drivers), "-f", "csv", *tables, sql.replace("%s", out)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    is_limit = code == 1 and "limit" in (err.split(":", 2) + [""])[1]
    return usage.ru_maxrss / 1024, "rows" if code == 0 else "limit" if is_limit else "exit code %d: %s" % (code, err[:100])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("ocior")
    ap.add_argument("data")
    ap.add_argument("--limits", default="64,128,256,512")
    ap.add_argument("--drivers", default="2")
    ap.add_argument("--only", default="", help="queries whose name contains this")
    ap.add_argument("--json", help="write the figures to this file")
    args = ap.parse_args()
    cells = [(int(limit), int(drivers)) for drivers in args.drivers.split(",") for limit in args.limits.split(",")]
    over, figures = 0, {}
    print("| query | " + " | ".join("%d MiB, %d drivers" % cell for cell in cells) + " |")
    print("|---|" + "---:|" * len(cells))
    with tempfile.TemporaryDirectory() as work:
        for name, sql in QUERIES.items():
            if args.only not in name:
                continue
            row = []
            for limit, drivers in cells:
                peak, end = run(args.ocior, args.data, sql, limit, drivers, work)
                holds = peak <= limit + SLACK and end in ("rows", "limit")
                over += not holds
                figures["%s, %d MiB, %d drivers" % (name, limit, drivers)] = [round(peak), end]
                row.append("%.0f %s%s" % (peak, end, "" if holds else " OVER"))
            print("| %s | %s |" % (name, " | ".join(row)), flush=True)
    print("\n%d of %d over" % (over, len(figures)))
    if args.json:
        with open(args.json, "w") as out:
            json.dump(figures, out, indent=1)
    return over > 0


if __name__ == "__main__":
    sys.exit(main())
