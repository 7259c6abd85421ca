//! Metadata of copied columns in their source files, other than their types. It is found by
//! following the columns of the query down to those of the tables.
//!
//! ```text
//! SELECT ts AS t FROM a JOIN b ..     t <- Project: ts <- HashJoin: left <- TableScan: column ts
//! ```
//!
//! A column of a table that is copied unchanged keeps all of its metadata. A computed time is in
//! UTC if all times from which it is computed are in UTC.

use dwio::expr::TypedExpr;
use dwio::stored::{Annotation, StoredColumn};
use exec::plan::PlanNode;
use vector::{TimeUnit, Type};

use crate::sql::{PlannedQuery, PlannedScan};

/// Returns the known metadata of each column of a query, in order.
pub(crate) fn stored_columns(query: &PlannedQuery) -> Vec<StoredColumn> {
    let lineage = Lineage { scans: &query.scans };
    let names = query.root.output_type().names();
    names.iter().map(|name| lineage.of_column(&query.root, name)).collect()
}

struct Lineage<'a> {
    scans: &'a [PlannedScan],
}

impl Lineage<'_> {
    /// Returns the metadata of the column `name` of a node's output.
    fn of_column(&self, node: &PlanNode, name: &str) -> StoredColumn {
        match node {
            PlanNode::TableScan(scan) => {
                let planned = self.scans.iter().find(|planned| planned.id == scan.id);
                let at = scan.output_type.index_of(name);
                let handle = at.and_then(|at| scan.assignments.get(at)).map(|(_, handle)| handle);
                let stored = planned.zip(handle);
                let stored = stored.and_then(|(planned, handle)| {
                    planned.table.stored_column(handle.column_name())
                });
                stored.cloned().unwrap_or_default()
            }
            PlanNode::Project(project) => {
                let at = project.output_type.index_of(name);
                let expr = at.and_then(|at| project.expressions.get(at));
                expr.map(|expr| self.of_expr(&project.source, expr)).unwrap_or_default()
            }
            PlanNode::Aggregation(node) => {
                match node.aggregates.iter().find(|aggregate| aggregate.name == name) {
                    Some(aggregate) => {
                        self.of_computed(&node.source, &aggregate.ty, &aggregate.args)
                    }
                    None => self.of_column(&node.source, name),
                }
            }
            PlanNode::LocalPartition(_) | PlanNode::LocalMerge(_) => {
                let sources = node.sources().map(|source| self.of_column(source, name));
                sources.reduce(|a, b| a.merged(&b)).unwrap_or_default()
            }
            // Columns that other nodes add are not in any file.
            _ => {
                let mut sources = node.sources();
                let source = sources.find(|source| source.output_type().index_of(name).is_some());
                source.map(|source| self.of_column(source, name)).unwrap_or_default()
            }
        }
    }

    /// Returns the metadata of a value computed from the columns of a node.
    fn of_expr(&self, source: &PlanNode, expr: &TypedExpr) -> StoredColumn {
        match expr {
            TypedExpr::Field { name, .. } => self.of_column(source, name),
            TypedExpr::Dereference { input, index, .. } => {
                let stored = self.of_expr(source, input);
                let name = input.ty().as_row().and_then(|row| row.names().get(*index));
                name.and_then(|name| stored.field(name)).cloned().unwrap_or_default()
            }
            computed => self.of_computed(source, computed.ty(), computed.inputs()),
        }
    }

    /// Returns the metadata of a value of type `ty` that is computed from `inputs`.
    fn of_computed(&self, source: &PlanNode, ty: &Type, inputs: &[TypedExpr]) -> StoredColumn {
        if !matches!(ty, Type::Timestamp | Type::Time(_)) {
            return StoredColumn::default();
        }
        let is_known =
            |input: &&TypedExpr| input.ty() == ty && !matches!(input, TypedExpr::Constant { .. });
        let annotations =
            inputs.iter().filter(is_known).map(|input| self.of_expr(source, input).annotation);
        let annotation = match annotations.reduce(Annotation::merged) {
            // The computation may add fractions of a second. Without a known unit COPY stores
            // microseconds.
            Some(Annotation::Time { unit, is_utc }) => {
                Annotation::Time { unit: unit.filter(|unit| *unit == TimeUnit::Nanos), is_utc }
            }
            _ => Annotation::None,
        };
        StoredColumn { annotation, ..StoredColumn::default() }
    }
}
