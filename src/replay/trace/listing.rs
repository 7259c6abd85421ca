//! Lists the contents of a trace as a table with a row for each driver of each node.

use vector::sync::Arc;
use vector::{Result, RowType, RowVector, Type, Value, VectorBuilder};

use super::layout::{DriverFolder, INPUT, SPLITS, SUMMARY};
use super::summary::Summary;
use super::{Trace, feed};

/// Returns the columns of the table.
fn columns() -> RowType {
    RowType::new([
        ("node", Type::Varchar),
        ("plan_node", Type::Varchar),
        ("operator", Type::Varchar),
        ("pipeline", Type::BigInt),
        ("driver", Type::BigInt),
        ("recorded", Type::Varchar),
        ("recorded_bytes", Type::BigInt),
        ("splits", Type::BigInt),
        ("input_rows", Type::BigInt),
        ("input_bytes", Type::BigInt),
        ("raw_input_rows", Type::BigInt),
        ("raw_input_bytes", Type::BigInt),
        ("peak_memory", Type::BigInt),
    ])
}

impl Trace {
    /// Returns the table: the node, what was recorded for it, and the counters of its operator.
    pub fn listing(&self) -> Result<RowVector> {
        let row_type = Arc::new(columns());
        let types = row_type.types().iter().cloned();
        let mut builders: Vec<_> = types.map(VectorBuilder::new).collect();
        for driver in &self.drivers {
            let row = self.row(driver)?;
            builders.iter_mut().zip(&row).try_for_each(|(builder, value)| builder.push(value))?;
        }
        let columns = builders.into_iter().map(VectorBuilder::finish).collect::<Result<_>>()?;
        RowVector::batch(row_type, self.drivers.len(), columns)
    }

    fn row(&self, driver: &DriverFolder) -> Result<[Value; 13]> {
        let text = |text: Option<String>| text.map_or(Value::Null, Value::bytes);
        let node = feed::find(&self.metadata.plan(), &driver.node)?;
        let class = node.map(|node| Ok::<_, vector::Error>(node.class()?.0.to_string()));
        let size = |name| {
            let size = std::fs::metadata(driver.file(name)).ok()?.len();
            Some(i64::try_from(size).unwrap_or(i64::MAX))
        };
        let (recorded, bytes) = match (size(SPLITS), size(INPUT)) {
            (Some(bytes), None) => (Some("splits"), Some(bytes)),
            (None, Some(bytes)) => (Some("rows"), Some(bytes)),
            (Some(splits), Some(rows)) => (Some("splits, rows"), splits.checked_add(rows)),
            (None, None) => (None, None),
        };
        let summary = Summary::read(&driver.file(SUMMARY))?;
        let number = |number: Option<i64>| number.map_or(Value::Null, Value::BigInt);
        let counted = |count: fn(&Summary) -> i64| number(summary.as_ref().map(count));
        Ok([
            text(Some(driver.node.clone())),
            text(class.transpose()?),
            text(summary.as_ref().map(|s| s.operator.clone())),
            Value::BigInt(driver.pipeline.into()),
            Value::BigInt(driver.driver.into()),
            text(recorded.map(str::to_string)),
            number(bytes),
            number(summary.as_ref().and_then(|s| s.num_splits)),
            counted(|s| s.input_rows),
            counted(|s| s.input_bytes),
            counted(|s| s.raw_input_rows),
            counted(|s| s.raw_input_bytes),
            counted(|s| s.peak_memory),
        ])
    }
}
