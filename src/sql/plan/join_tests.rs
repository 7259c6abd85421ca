//! Tests of where join conditions are tested, and of the columns that are read.

use crate::sql::testing::{error, shown};

#[test]
fn the_condition_is_split_among_the_sides_of_an_inner_join() {
    let plan = "\
-- Project[5][name := name, x := b.x]
  -- HashJoin[0][INNER, id = key2, key1 = key3, lt(tiny, b.tiny)]
    -- Project[2][id := id, n := n, tiny := tiny, name := name, key1 := cast(n as BIGINT)]
      -- TableScan[1][t where gt(x, 1.0)]
    -- Project[4][b.id := b.id, b.n := b.n, b.tiny := b.tiny, b.x := b.x, \
key2 := cast(b.n as BIGINT), key3 := plus(b.id, 1)]
      -- TableScan[3][t where flag]";
    for clauses in [
        "JOIN t b ON a.id = b.n AND b.flag WHERE a.x > 1 AND b.id + 1 = a.n AND a.tiny < b.tiny",
        ", t b WHERE b.n = a.id AND b.flag AND a.x > 1 AND a.n = b.id + 1 AND a.tiny < b.tiny",
    ] {
        assert_eq!(shown(&format!("SELECT a.name, b.x FROM t a {clauses}")), plan);
    }
}

#[test]
fn a_condition_on_the_side_that_may_be_missing_stays_above() {
    assert_eq!(
        shown("SELECT a.id FROM t a LEFT JOIN t b ON a.id = b.id AND b.n = 2 WHERE b.x > 1"),
        "\
-- Project[4][id := id]
  -- Filter[3][gt(b.x, 1.0)]
    -- HashJoin[0][LEFT, id = b.id]
      -- TableScan[1][t]
      -- TableScan[2][t where eq(n, 2)]"
    );
    assert_eq!(
        shown("SELECT a.id FROM t a FULL JOIN t b ON a.id = b.id AND a.x > 2 WHERE a.id > 1"),
        "\
-- Filter[3][gt(id, 1)]
  -- HashJoin[0][FULL, id = b.id, gt(x, 2.0)]
    -- TableScan[1][t]
    -- TableScan[2][t]"
    );
}

#[test]
fn a_condition_goes_through_several_joins() {
    assert_eq!(
        shown(
            "SELECT a.id FROM t a LEFT JOIN t b ON a.id = b.id SEMI JOIN t c ON a.n = c.n \
             WHERE a.x > 1"
        ),
        "\
-- HashJoin[0][LEFT SEMI (FILTER), n = c.n]
  -- HashJoin[1][LEFT, id = b.id]
    -- TableScan[2][t where gt(x, 1.0)]
    -- TableScan[3][t]
  -- TableScan[4][t]"
    );
}

#[test]
fn names_of_several_tables_need_a_table_before_them() {
    assert_eq!(
        error("SELECT id FROM t a JOIN t b ON a.id = b.id"),
        "invalid input: a name means several columns (name=id candidates=a.id, b.id at=1:8)\n  \
         hint: write the table before the column\n        \
         SELECT id FROM t a JOIN t b ON a.id = b.id\n               ^"
    );
    assert!(error("SELECT t.id FROM t JOIN t ON true").contains("a name means several tables"));
    let hidden = error("SELECT b.id FROM t a SEMI JOIN t b USING (id)");
    assert!(hidden.starts_with("not found: no such column (name=b"), "{hidden}");
    assert!(error("SELECT 1 FROM t a JOIN t b").contains("a join needs ON or USING"));
    assert!(error("SELECT 1 FROM t a JOIN t b USING (zz)").contains("no such column (name=zz"));
    assert!(error("SELECT 1 FROM t a, t b RIGHT JOIN t c ON true").contains("behind a comma"));
}

#[test]
fn columns_of_using_are_given_once() {
    assert_eq!(
        shown("SELECT id FROM t a FULL JOIN t b USING (id)"),
        "\
-- Project[3][id := coalesce(id, b.id)]
  -- HashJoin[0][FULL, id = b.id]
    -- TableScan[1][t]
    -- TableScan[2][t]"
    );
    assert_eq!(
        shown("SELECT id, a.id FROM t a RIGHT JOIN t b USING (id)").lines().next(),
        Some("-- Project[3][id := b.id, id_1 := id]")
    );
}

#[test]
fn joins_without_an_equality_pair_all_rows() {
    let plan = "\
-- Project[4][count(*) := count]
  -- Aggregation[3][Single by (), count := count()]
    -- HashJoin[0][INNER, lt(id, b.id)]
      -- TableScan[1][t]
      -- TableScan[2][t]";
    for from in ["t a, t b WHERE", "t a JOIN t b ON", "t a CROSS JOIN t b WHERE"] {
        assert_eq!(shown(&format!("SELECT count(*) FROM {from} a.id < b.id")), plan);
    }
}
