#!/usr/bin/env python3
"""Runs exported random queries on DuckDB and compares their rows with the expected ones.

    python3 tests/random_queries_duckdb.py FOLDER

FOLDER has `queries.json`, written by the test `random_queries_have_the_rows_of_duckdb`: a list of
objects with `name`, `sql` in DuckDB's dialect, `kinds` of the columns and `rows`. Rows are compared
as multisets; -0.0 is 0.0 and NaN is equal to itself. The exit code is 1 when a query differs.
"""

import collections
import datetime
import json
import math
import pathlib
import sys

import duckdb


def canonical(value, kind):
    """A value of either side in a form that is equal and ordered where the values are."""
    if value is None:
        return ("null",)
    if kind in ("double", "real"):
        number = float(value)
        return ("NaN",) if math.isnan(number) else ("number", number + 0.0)
    if kind == "decimal":
        return ("number", str(value))
    if kind == "date":
        return ("text", str(value))
    if kind == "timestamp":
        if isinstance(value, datetime.datetime):
            value = f"{value:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")
        return ("text", value)
    if kind == "row":
        fields = value.values() if isinstance(value, dict) else value
        return tuple(canonical(field, None) for field in fields)
    if kind == "map":
        entries = value.items() if isinstance(value, dict) else value
        return tuple(sorted((key, canonical(item, None)) for key, item in entries))
    if kind == "list":
        return tuple(canonical(item, None) for item in value)
    return (type(value).__name__, value)


def rows_of(rows, kinds):
    return collections.Counter(
        tuple(canonical(cell, kind) for cell, kind in zip(row, kinds)) for row in rows
    )


def main():
    folder = pathlib.Path(sys.argv[1])
    queries = json.loads((folder / "queries.json").read_text())
    connection = duckdb.connect(config={"threads": 1})
    failures = 0
    for query in queries:
        try:
            found = connection.execute(query["sql"]).fetchall()
        except duckdb.Error as error:
            print(f"{query['name']}: DuckDB fails: {error}\n  {query['sql']}\n")
            failures += 1
            continue
        got, want = rows_of(found, query["kinds"]), rows_of(query["rows"], query["kinds"])
        if got != want:
            print(f"{query['name']}: rows differ\n  {query['sql']}")
            print(f"  DuckDB only: {list((got - want).items())[:5]}")
            print(f"  expected only: {list((want - got).items())[:5]}\n")
            failures += 1
    print(f"{len(queries)} queries on DuckDB {duckdb.__version__}, {failures} differ")
    return 1 if failures or not queries else 0


if __name__ == "__main__":
    sys.exit(main())
