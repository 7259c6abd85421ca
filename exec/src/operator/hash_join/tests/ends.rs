//! Tests how joins wait for their table, fail and stop.

use vector::ErrorKind;
use vector::sync::atomic::Ordering;
use vector::sync::thread;

use super::*;

fn plan() -> PlanNode {
    let (l, r) = (scan("l", &bigints(&["k"]), true), scan("r", &bigints(&["j"]), true));
    PlanNode::HashJoin(join(JoinType::Inner, (&l, &r), (&["k"], &["j"]), &["k", "j"]))
}

fn side(name: &str, splits: usize) -> Vec<Vec<Act>> {
    let batch = Act::Batch(numbers(&bigints(&[name]), &[&[1, 2, 3]]));
    vec![vec![batch.clone(), batch]; splits]
}

#[test]
fn an_error_of_either_side_reaches_the_caller_once_with_its_place() {
    for drivers in [1, 3] {
        for broken in ["l", "r"] {
            let (mut left, mut right) = (side("k", 4), side("j", 4));
            let splits = if broken == "l" { &mut left } else { &mut right };
            splits[2].push(Act::Fail("bad page"));
            let run = Run::new(plan(), drivers, left, right);
            let mut cursor = run.task.start().unwrap();
            let error = loop {
                match cursor.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("no error"),
                    Err(error) => break error,
                }
            };
            assert_eq!(
                error.to_string(),
                format!(
                    "corrupt: bad page\n  in split \"script of 3\", operator \"TableScan[{broken}]\""
                )
            );
            assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Corrupt, "it stays");
        }
    }
}

/// The probe does not read its probe side before the table is ready (rule S12.14).
#[test]
fn a_probe_waits_for_its_table_and_goes_on() {
    for drivers in [1, 3] {
        let mut right = side("j", 1);
        right[0].insert(0, Act::Block);
        let run = Run::new(plan(), drivers, side("k", 3), right);
        let mut cursor = run.task.start().unwrap();
        assert_eq!(run_until_all_wait(&run.executor, &mut cursor), 0);
        // No split of the probe side is read before the table is ready.
        assert_eq!(run.connector.reads.load(Ordering::SeqCst), 1);
        assert_eq!(run.connector.unblock(), 1);
        let (rows, stats) = Run::rest(&mut cursor).unwrap();
        assert_eq!(rows.len(), 3 * 2 * 3 * 2);
        let probes = stats.operators.iter().filter(|o| o.operator == "HashProbe");
        let waits: u64 = probes.map(|o| o.num_blocked).sum();
        assert!(waits > 0, "the probe asks for the table before it is there");
    }
}

#[test]
fn a_cancel_wakes_a_probe_that_waits() {
    for drivers in [1, 3] {
        let right = vec![vec![Act::Block]];
        let run = Run::new(plan(), drivers, side("k", 3), right);
        let mut cursor = run.task.start().unwrap();
        let (canceller, promises) = (cursor.canceller(), Arc::clone(&run.connector.promises));
        let other = thread::spawn(move || {
            while promises.lock().is_empty() {
                thread::yield_now();
            }
            canceller.cancel();
        });
        assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Cancelled);
        other.join().unwrap();
    }
}

#[test]
fn the_table_is_paid_for_and_given_back() {
    for drivers in [1, 3] {
        let mut pools = Vec::new();
        for limit in [1_000, u64::MAX] {
            let run = Run::with(plan(), drivers, side("k", 3), side("j", 50), |query| {
                query.pool = vector::MemoryPool::root("query", limit);
                pools.push(query.pool.clone());
            });
            match run.rows() {
                Ok((rows, _)) => assert_eq!((rows.len(), limit), (3 * 2 * 3 * 100, u64::MAX)),
                Err(error) => assert_eq!((error.kind(), limit), (ErrorKind::Limit, 1_000)),
            }
        }
        assert!(pools.iter().all(|pool| pool.used() == 0));
        assert!(pools.last().is_some_and(|pool| pool.peak() > 300 * 8));
    }
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_before_anything_runs() {
    let (l, r) = (scan("l", &bigints(&["k"]), true), scan("r", &bigints(&["j"]), true));
    let mut unknown_key = join(JoinType::Inner, (&l, &r), (&["zz"], &["j"]), &["k"]);
    let mut wrong_output = join(JoinType::Anti, (&l, &r), (&["k"], &["j"]), &["j"]);
    let mut null_aware = join(JoinType::Left, (&l, &r), (&["k"], &["j"]), &["k"]);
    null_aware.null_aware = true;
    for node in [&mut unknown_key, &mut wrong_output, &mut null_aware] {
        let plan = PlanNode::HashJoin(node.clone());
        let error = Run::make(plan, 2, vec![], vec![], |_| {}).map(drop).unwrap_err();
        assert!(error.to_string().contains("plan node \"HashJoin[j]\""), "{error}");
    }
}
