//! Builds plan nodes of relations: scans of tables, and the nodes of subqueries.

use std::collections::{BTreeSet, HashMap, HashSet};

use dwio::expr::TypedExpr;
use exec::plan::{EnforceSingleRowNode, PlanNode, ValuesNode};
use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector};

use super::PlannedScan;
use super::build::Builder;
use super::query::Query;
use super::relations::{Relation, Rows};
use crate::sql::catalog::{CatalogTable, ScanColumn, ScanParts, TableColumn};

impl Builder<'_> {
    /// Builds the rows of a relation for which `filter` is true; `used` are the expressions of the
    /// nodes above.
    pub(super) fn relation(
        &mut self,
        relation: &Relation,
        filter: Option<TypedExpr>,
        used: &[&TypedExpr],
    ) -> Result<()> {
        match &relation.rows {
            Rows::Table(table) => self.scan(table, relation, filter, used),
            Rows::Values(batches) => {
                self.values(batches, relation, used.iter().copied().chain(&filter))?;
                if let Some(filter) = filter {
                    self.filter(filter);
                }
                Ok(())
            }
            Rows::Added => Err(Error::internal("added columns without rows to add them to")),
            Rows::Query(query) => {
                let mut query = Query::clone(query);
                let terms = filter.iter().flat_map(TypedExpr::conjuncts);
                let above =
                    terms.filter(|term| !query.push_down(term, &relation.fields, self.functions));
                let above = above.cloned().collect::<Vec<_>>();
                self.subquery(query, relation, &above, used)?;
                if let Some(above) = TypedExpr::and(above) {
                    self.filter(above);
                }
                Ok(())
            }
            Rows::Value(query) => {
                let above: Vec<TypedExpr> = filter.into_iter().collect();
                self.subquery(Query::clone(query), relation, &above, used)?;
                if !query.is_single_row() {
                    let (id, source) = (self.id(), self.take()?);
                    self.push(PlanNode::EnforceSingleRow(EnforceSingleRowNode { id, source }));
                }
                if let Some(above) = TypedExpr::and(above) {
                    self.filter(above);
                }
                Ok(())
            }
        }
    }

    fn subquery(
        &mut self,
        query: Query,
        relation: &Relation,
        above: &[TypedExpr],
        used: &[&TypedExpr],
    ) -> Result<()> {
        let used = used.iter().copied().chain(above);
        let used: HashSet<&str> = used.flat_map(TypedExpr::field_names).collect();
        let wanted: Vec<bool> = relation.fields.iter().map(|f| used.contains(&**f)).collect();
        let names: Vec<String> = relation.fields.iter().map(ToString::to_string).collect();
        self.query(query, &names, &wanted)
    }

    /// Builds the rows that are written in the statement, with the columns that `used` names.
    fn values<'e>(
        &mut self,
        batches: &[RowVector],
        relation: &Relation,
        used: impl Iterator<Item = &'e TypedExpr>,
    ) -> Result<()> {
        let used: HashSet<&str> = used.flat_map(TypedExpr::field_names).collect();
        let kept = relation.fields.iter().enumerate().filter(|(_, name)| used.contains(&***name));
        let kept: Vec<(usize, &Arc<str>)> = kept.collect();
        let types = batches.first().map(|batch| batch.row_type().types()).unwrap_or_default();
        let fields =
            kept.iter().filter_map(|(i, name)| Some((name.to_string(), types.get(*i)?.clone())));
        let output_type = Arc::new(RowType::new(fields.collect::<Vec<_>>()));
        let batches = batches.iter().map(|batch| {
            let children = kept.iter().map(|(i, _)| batch.child(*i).cloned());
            RowVector::batch(
                Arc::clone(&output_type),
                batch.len(),
                children.collect::<Result<_>>()?,
            )
        });
        let batches = batches.collect::<Result<_>>()?;
        let id = self.id();
        self.push(PlanNode::Values(ValuesNode { id, output_type, batches }));
        Ok(())
    }

    /// Builds a scan of the columns that `used` names, with the condition pushed into it.
    fn scan(
        &mut self,
        table: &Arc<dyn CatalogTable>,
        relation: &Relation,
        filter: Option<TypedExpr>,
        used: &[&TypedExpr],
    ) -> Result<()> {
        let id = self.id();
        let names = relation.fields.iter().zip(table.columns());
        let own: HashMap<&str, &TableColumn> = names.map(|(f, c)| (&**f, c)).collect();
        // A condition inside of the scan can use the table's own column names only.
        let pushed = filter.as_ref().and_then(|filter| table_names(filter, &own));
        let above = if pushed.is_some() { None } else { filter };
        let used: Vec<&TypedExpr> = used.iter().copied().chain(&above).collect();
        let mut wanted = wanted_paths(&used);
        let fields = relation.fields.iter().enumerate();
        let columns: Vec<ScanColumn> = fields
            .filter_map(|(index, field)| {
                let paths = wanted.remove(&**field)?;
                let whole = paths.contains(&Vec::new());
                let fields = if whole { Vec::new() } else { paths.into_iter().collect() };
                Some(ScanColumn { index, fields })
            })
            .collect();
        let parts = ScanParts { id: Arc::clone(&id), columns: &columns, filter: pushed.as_ref() };
        let mut scan = table.scan(parts)?;
        // The scan returns the columns in the requested order, under the table's names.
        let names = columns.iter().filter_map(|c| relation.fields.get(c.index));
        let fields = names.clone().map(|name| name.to_string()).zip(scan.output_type.types());
        scan.output_type =
            Arc::new(RowType::new(fields.map(|(n, t)| (n, t.clone())).collect::<Vec<_>>()));
        for (assignment, name) in scan.assignments.iter_mut().zip(names) {
            assignment.0 = name.to_string();
        }
        self.push(PlanNode::TableScan(scan));
        self.scans.push(PlannedScan { id, table: Arc::clone(table), filter: pushed });
        if let Some(above) = above {
            self.filter(above);
        }
        Ok(())
    }
}

/// Rewrites an expression with the table's names for its columns; `None` when the table's name of a
/// column differs from its field name.
fn table_names(expr: &TypedExpr, own: &HashMap<&str, &TableColumn>) -> Option<TypedExpr> {
    let renamed = expr.replace::<()>(&mut |part| {
        let TypedExpr::Field { name, ty } = part else { return Ok(None) };
        let column = own.get(&**name).filter(|column| *column.field == *column.name);
        let column = column.ok_or(())?;
        Ok(Some(TypedExpr::field(column.name.as_str(), ty.clone())))
    });
    renamed.ok()
}

/// Returns the struct fields of each column that expressions use, as paths; an empty path is the
/// whole column.
fn wanted_paths<'a>(used: &[&'a TypedExpr]) -> HashMap<&'a str, BTreeSet<Vec<usize>>> {
    let mut wanted: HashMap<&str, BTreeSet<Vec<usize>>> = HashMap::new();
    let mut rest: Vec<&TypedExpr> = used.to_vec();
    while let Some(expr) = rest.pop() {
        let base = innermost(expr);
        let TypedExpr::Field { name, .. } = base else {
            rest.extend(base.inputs());
            continue;
        };
        let mut path = Vec::new();
        let mut outer = expr;
        while let TypedExpr::Dereference { input, index, .. } = outer {
            path.push(*index);
            outer = input;
        }
        path.reverse();
        wanted.entry(name).or_default().insert(path);
    }
    wanted
}

/// Returns the expression that a chain of struct field accesses begins with.
fn innermost(mut expr: &TypedExpr) -> &TypedExpr {
    while let TypedExpr::Dereference { input, .. } = expr {
        expr = input;
    }
    expr
}
