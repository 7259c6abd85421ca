use crate::sql::testing::shown;

#[test]
fn dump() {
    for sql in [
        "SELECT name AS country, ds FROM t WHERE ds = '2026-09-01' AND n BETWEEN 0 AND 3 AND n + id >= 4",
        "SELECT * FROM 'a/b.parquet'",
        "SELECT t.*, id FROM t",
        "SELECT count(*) FROM t",
        "SELECT count(*) FROM t WHERE x >= 0.05 AND x <= 0.07 and price < 24 and tiny = 1",
        "SELECT sum(price * (1 - x)) AS s, avg(x), count(*), name FROM t GROUP BY name ORDER BY name",
        "SELECT n + 1 AS m, count(distinct id), count(1) FROM t GROUP BY m HAVING count(*) > 1 AND min(x) < 2 ORDER BY sum(x) DESC, 1 LIMIT 3 OFFSET 2",
        "SELECT DISTINCT name, n FROM t ORDER BY n LIMIT 5",
        "SELECT id FROM t ORDER BY name DESC NULLS FIRST, x",
        "SELECT 1 + 1, 'a'",
        "SELECT id, id FROM t LIMIT 3 OFFSET 1",
        "SELECT sum(x) FILTER (WHERE flag) / count(*) FILTER (WHERE n > 1) FROM t",
        "SELECT name, sum(x) FROM t GROUP BY ALL",
        "SELECT s.b.c, \"Odd Name\", \"$path\" FROM t u WHERE u.s.a = 1",
        "SELECT max(x) AS x FROM t ORDER BY x LIMIT 1",
    ] {
        println!("{sql}\n{}\n", shown(sql));
    }
    for expr in [
        "n IN (1, 2, 3)", "name LIKE 'a%'", "name NOT LIKE 'a!%' ESCAPE '!'", "ds > '2020-01-01'",
        "at >= '2020-01-01'", "x = 1", "r = 0.5", "id = 5000000000", "n = 5000000000", "n = 1.5", "price = 0.05",
        "tiny = 1000", "'2020-01-01' < ds", "ds IN ('2020-01-01', DATE '2020-01-02')",
        "CASE WHEN n > 1 THEN 'a' ELSE NULL END", "CASE n WHEN 1 THEN 2 WHEN 3 THEN 4.5 END",
        "CAST(n AS BIGINT)", "n::varchar", "TRY_CAST(name AS INTEGER)", "coalesce(n, id, 0)",
        "nullif(n, 0)", "if(flag, n, 0)", "EXTRACT(YEAR FROM ds)", "substring(name, 1, 2)",
        "substring(name from 2 for 3)", "trim(name)", "position('a' in name)", "name || '-' || name", "-n", "- 5", "not flag", "flag is true",
        "flag is not false", "n is not null", "n is distinct from id", "n not in (1)", "n not between 1 and 2",
        "a = 1", "name = 1", "n = 'x'", "ds = 'x'", "ds = 1", "frob(n)", "lower(n)", "n AND flag", "sum(sum(n)) = 1",
        "count(*) > 1", "(n = 1 or n = 2 or n = 3) and flag and (flag and flag)", "x'00ff' = bin", "list[1] = 2", "n = (select 1)", "rank() over () = 1",
        "ds + interval '1' day > ds", "mod(n, 2) = 0", "n % 2 = 1", "n = null", "null", "s.a.z = 1", "s.z = 1", "s['a'] = 1",
        "name = name", "at = ds", "1 = 1", "1/0 = 1", "ceil(x) = 1", "name ILIKE 'A%'",
    ] {
        println!("{expr}\n    {}", shown(&format!("SELECT id FROM t WHERE {expr}")).lines().collect::<Vec<_>>().join("\n    "));
    }
}
