//! Plan nodes of an embedder: each driver has an operator of its own, and the node is checked.

use std::fmt;

use super::*;
use crate::operator::Operator;
use crate::plan::{CustomNode, CustomOperatorCtx, NodeInfo, Parallelism, PlanNodeId};

/// Counts the rows that each of its operators takes.
#[derive(Debug)]
struct CountRows {
    id: PlanNodeId,
    sources: Vec<Arc<PlanNode>>,
    output_type: Arc<RowType>,
    parallelism: Parallelism,
}

impl NodeInfo for CountRows {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "CountRows"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        self.sources.iter().collect()
    }

    fn parallelism(&self) -> Parallelism {
        self.parallelism
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[rows]")
    }
}

impl CustomNode for CountRows {
    fn operator(&self, _: CustomOperatorCtx) -> Result<Box<dyn Operator>> {
        let output_type = Arc::clone(&self.output_type);
        Ok(Box::new(Counting { output_type, num_rows: 0, ended: false, done: false }))
    }
}

/// Counts the rows of one driver.
struct Counting {
    output_type: Arc<RowType>,
    num_rows: i64,
    ended: bool,
    done: bool,
}

impl Operator for Counting {
    fn needs_input(&self) -> bool {
        !self.ended
    }

    fn add_input(&mut self, batch: RowVector) -> Result<()> {
        self.num_rows += batch.len() as i64;
        Ok(())
    }

    fn get_output(&mut self) -> Result<Option<RowVector>> {
        if !self.ended || self.done {
            return Ok(None);
        }
        self.done = true;
        let counts = vector_of(&Type::BigInt, &[Value::BigInt(self.num_rows)])?;
        RowVector::batch(Arc::clone(&self.output_type), 1, vec![counts]).map(Some)
    }

    fn no_more_input(&mut self) {
        self.ended = true;
    }

    fn is_finished(&self) -> bool {
        self.done
    }
}

fn counted(parallelism: Parallelism) -> Arc<PlanNode> {
    let (sources, id) = (vec![scan().build()], "count".into());
    let output_type = Arc::new(RowType::new([("rows", Type::BigInt)]));
    Arc::new(PlanNode::Custom(Arc::new(CountRows { id, sources, output_type, parallelism })))
}

/// The counts of all drivers, in ascending order.
fn counts(parallelism: Parallelism, drivers: usize) -> Result<Vec<i64>> {
    let connector = ScriptConnector::default();
    let task = Task::new(counted(parallelism), query(&connector), drivers)?;
    for start in [0, 10, 20, 30] {
        task.add_split("0", Arc::new(Script(vec![read_rows(start, start + 10)])))?;
    }
    task.no_more_splits("0")?;
    let mut cursor = task.start()?;
    let mut counts = Vec::new();
    while let Some(batch) = cursor.next()? {
        let column = DecodedVector::new(batch.child(0)?)?;
        for row in 0..batch.len() {
            counts.extend(column.value(row)?.as_i64());
        }
    }
    counts.sort_unstable();
    Ok(counts)
}

#[test]
fn a_custom_node_runs_in_each_driver_or_in_one() {
    for drivers in [1, 3] {
        assert_eq!(counts(Parallelism::Gathered, drivers).unwrap(), [40]);
        let each = counts(Parallelism::RowWise, drivers).unwrap();
        assert_eq!((each.len(), each.iter().sum::<i64>()), (drivers, 40));
    }
}

#[test]
fn a_custom_node_whose_sources_do_not_fit_is_refused_by_name() {
    for parallelism in [Parallelism::OneDriver, Parallelism::Splits, Parallelism::Special] {
        let error = counts(parallelism, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("CountRows[count]"), "{error}");
    }
}

#[test]
fn a_custom_node_is_printed_and_refuses_barriers_unless_it_drains() {
    let plan = counted(Parallelism::RowWise);
    assert!(plan.to_string().starts_with("-- CountRows[count][rows] -> rows BIGINT\n"), "{plan}");
    let connector = ScriptConnector::default();
    let task = Task::new(plan, query(&connector), 1).unwrap();
    let error = task.request_barrier().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
