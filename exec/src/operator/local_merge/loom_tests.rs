//! Loom models of the local merge: one driver merges the sorted rows of two producing drivers and
//! waits for each of them.

use super::super::sink::QueueSink;
use super::*;
use vector::build::vector_of;
use vector::sync::thread;
use vector::{SortOrder, Type, Value, ValueReader};

fn row_type() -> Arc<RowType> {
    Arc::new(RowType::new([("k", Type::BigInt)]))
}

fn batch(rows: &[i64]) -> RowVector {
    let values: Vec<Value> = rows.iter().map(|row| Value::BigInt(*row)).collect();
    let column = vector_of(&Type::BigInt, &values).unwrap();
    RowVector::batch(row_type(), rows.len(), vec![column]).unwrap()
}

/// Returns a merge of two queues, each of which has capacity for one batch.
fn merge_of(queues: &[Arc<BatchQueue>; 2]) -> LocalMerge {
    let keys = [SortKey { column: "k".into(), order: SortOrder::default() }];
    LocalMerge::new(queues.to_vec(), &keys, &row_type(), 100).unwrap()
}

fn queues() -> [Arc<BatchQueue>; 2] {
    [1, 2].map(|_| Arc::new(BatchQueue::new(1, 1)))
}

/// Puts batches into a queue, waiting for free capacity as a driver does.
fn produce(queue: &Arc<BatchQueue>, batches: &[&[i64]]) {
    let mut sink = QueueSink::new(Arc::clone(queue));
    for rows in batches {
        while let Some(blocked) = sink.is_blocked() {
            blocked.until.wait().unwrap();
        }
        sink.add_input(batch(rows)).unwrap();
    }
    sink.close();
}

fn merged(mut merge: LocalMerge) -> Vec<i64> {
    let mut rows = Vec::new();
    while !merge.is_finished() {
        if let Some(batch) = merge.get_output().unwrap() {
            let column = ValueReader::new(batch.child(0).unwrap()).unwrap();
            rows.extend((0..batch.len()).filter_map(|row| column.value(row).as_i64()));
        }
        if let Some(blocked) = merge.is_blocked() {
            blocked.until.wait().unwrap();
        }
    }
    rows
}

#[test]
fn loom_rows_of_two_drivers_are_merged_in_order_whoever_comes_first() {
    loom::model(|| {
        let queues = queues();
        let merge = merge_of(&queues);
        let [first, second] = queues;
        let producers = [
            thread::spawn(move || produce(&first, &[&[1, 4], &[6]])),
            thread::spawn(move || produce(&second, &[&[2, 5]])),
        ];
        assert_eq!(merged(merge), [1, 2, 4, 5, 6]);
        for producer in producers {
            producer.join().unwrap();
        }
    });
}

#[test]
fn loom_a_merge_that_is_closed_lets_its_producers_go() {
    loom::model(|| {
        let queues = queues();
        let mut merge = merge_of(&queues);
        let [first, second] = queues;
        let giving = Arc::clone(&first);
        let producer = thread::spawn(move || produce(&giving, &[&[1], &[2], &[3]]));
        produce(&second, &[]);
        // The merge takes the available batches and may be closed while the producer waits for
        // free capacity.
        merge.get_output().unwrap();
        merge.close();
        producer.join().unwrap();
        assert!(matches!(first.take(), Taken::End));
    });
}
