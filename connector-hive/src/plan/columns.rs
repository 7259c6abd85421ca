//! Columns for which one scan has handles: output columns and columns that only filters use.
//!
//! Expressions of a scan refer to columns of the table by name; the handle specifies the source of
//! such a column. A column without a handle is used only by filters and is a column of the files.

use std::collections::HashMap;

use dwio::connector::DataSourceRequest;
use vector::{Error, Result, Type};

use crate::table::column_handle::{ColumnKind, HiveColumnHandle};
use crate::table::hidden_columns::{ROW_INDEX, is_row_id_type, synthesized_column_type};
use crate::table::table_handle::HiveTableHandle;

/// The column handles of one scan.
#[derive(Debug, Clone)]
pub struct ScanColumns {
    /// Handles of the output columns, in output order.
    outputs: Vec<HiveColumnHandle>,
    filters: Vec<HiveColumnHandle>,
    /// Index of the first handle of each name in the outputs followed by the filters.
    by_name: HashMap<String, usize>,
}

impl ScanColumns {
    /// Collects and checks the handles of a request (rules S6.2 to S6.6).
    ///
    /// # Errors
    /// `Internal` if handles contradict each other or the output type.
    pub fn new(request: &DataSourceRequest, table: &HiveTableHandle) -> Result<Self> {
        let mut columns = ScanColumns {
            outputs: Vec::with_capacity(request.output_type.len()),
            filters: Vec::new(),
            by_name: HashMap::new(),
        };
        for ((name, ty), handle) in request.output_type.fields().zip(request.output_handles()?) {
            let handle = HiveColumnHandle::of(handle.as_ref())?;
            if !handle.ty().is_equivalent(ty) {
                return Err(Error::internal("an output column has another type than its handle")
                    .with("output", ty)
                    .with("handle", handle.ty())
                    .in_named("column", name));
            }
            columns.check(handle)?;
            if let Some(twin) = columns.handle(handle.name()) {
                check_twins(twin, handle)?;
            }
            columns.name(handle, columns.outputs.len());
            columns.outputs.push(handle.clone());
        }
        for filter in table.filter_columns() {
            columns.check(filter)?;
            if let Some(output) =
                columns.handle(filter.name()).filter(|_| columns.is_output(filter))
            {
                check_consistent(output, filter)?;
            }
            columns.name(filter, columns.outputs.len() + columns.filters.len());
            columns.filters.push(filter.clone());
        }
        Ok(columns)
    }

    /// Registers `handle`, which is at `position`, under its name.
    fn name(&mut self, handle: &HiveColumnHandle, position: usize) {
        self.by_name.entry(handle.name().to_string()).or_insert(position);
    }

    /// Returns true if an output column has the name of `handle`.
    fn is_output(&self, handle: &HiveColumnHandle) -> bool {
        self.by_name.get(handle.name()).is_some_and(|position| *position < self.outputs.len())
    }

    fn check(&self, handle: &HiveColumnHandle) -> Result<()> {
        let error = match handle.kind() {
            ColumnKind::RowId if !is_row_id_type(handle.ty()) => {
                Error::internal("a row id column must have the five fields of row ids")
                    .with("type", handle.ty())
            }
            ColumnKind::RowIndex if *handle.ty() != Type::BigInt => {
                Error::internal("a row index column must be a BIGINT").with("type", handle.ty())
            }
            _ => return Ok(()),
        };
        Err(error.in_named("column", handle.name()))
    }

    /// Handles of the output columns in order.
    pub fn outputs(&self) -> &[HiveColumnHandle] {
        &self.outputs
    }

    /// Returns the handle of the table's column `name`, if the scan has one.
    pub fn handle(&self, name: &str) -> Option<&HiveColumnHandle> {
        let position = *self.by_name.get(name)?;
        let filter = || self.filters.get(position.checked_sub(self.outputs.len())?);
        self.outputs.get(position).or_else(filter)
    }

    /// Returns the source of the table's column `name`. Without a handle, the conventional names of
    /// synthesized columns and of the row index are recognized; any other column is in the files.
    pub fn kind(&self, name: &str) -> ColumnKind {
        match self.handle(name) {
            Some(handle) => handle.kind(),
            None if synthesized_column_type(name).is_some() => ColumnKind::Synthesized,
            None if name == ROW_INDEX => ColumnKind::RowIndex,
            None => ColumnKind::Regular,
        }
    }
}

fn check_consistent(a: &HiveColumnHandle, b: &HiveColumnHandle) -> Result<()> {
    if a.kind() == b.kind() && a.schema_type().is_equivalent(b.schema_type()) {
        return Ok(());
    }
    Err(Error::internal("two handles of one column differ")
        .with("kind", format_args!("{:?}/{:?}", a.kind(), b.kind()))
        .with("type", format_args!("{}/{}", a.schema_type(), b.schema_type()))
        .in_named("column", a.name()))
}

/// Checks two output columns of the same table column. The column would be read into two vectors,
/// so only partition keys, which are constants, may occur twice (rule S6.3).
fn check_twins(a: &HiveColumnHandle, b: &HiveColumnHandle) -> Result<()> {
    check_consistent(a, b)?;
    if a.kind() == ColumnKind::PartitionKey {
        return Ok(());
    }
    Err(Error::internal("a table column is mapped to two outputs; a projection is needed")
        .in_named("column", a.name()))
}
