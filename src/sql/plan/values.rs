//! VALUES: rows that are written in the statement.
//!
//! ```text
//! VALUES (1, 'a'), (2.5, NULL)    columns col0 DECIMAL, col1 VARCHAR of two rows
//! ```
//!
//! Values are constants, or expressions of constants; those of a column are converted to a common
//! type.

use dwio::expr::TypedExpr;
use exec::expr::common_type;
use sqlparser::ast::{Expr, Spanned, Values};
use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Type, Value};

use super::Item;
use super::clauses::Trailer;
use super::planner::{Bound, Planner};
use super::query::{Body, Query, Select};
use super::relations::{From, Relation, Rows};
use super::tree::Tree;
use crate::sql::bind::Binder;
use crate::sql::scope::Scope;
use crate::sql::source::place_of;

/// Maximum number of rows of a batch.
const BATCH_ROWS: usize = 8192;

impl Planner<'_> {
    /// Binds the rows of VALUES.
    pub(super) fn values(&mut self, values: &Values, trailer: &Trailer<'_>) -> Result<Bound> {
        self.count_relation()?;
        let scope = Scope::default();
        let mut binder = Binder::new(&scope, self.functions, self.source, "VALUES");
        let mut types: Vec<Type> = Vec::new();
        let mut rows = Vec::with_capacity(values.rows.len());
        for (number, row) in values.rows.iter().enumerate() {
            let row = &**row;
            if number > 0 && row.len() != types.len() {
                let error = Error::invalid_input("the rows of VALUES differ in length")
                    .with("one", types.len())
                    .with("other", row.len());
                return Err(self.source.point(error, values.span()));
            }
            let bound = row.iter().map(|expr| binder.bind(expr)).collect::<Result<Vec<_>>>()?;
            for (column, (value, expr)) in bound.iter().zip(row).enumerate() {
                let Some(before) = types.get_mut(column) else {
                    types.push(value.ty().clone());
                    continue;
                };
                *before = common_type(before, value.ty()).ok_or_else(|| {
                    let error = Error::invalid_input("the values of a column have no common type")
                        .with("one", &*before)
                        .with("other", value.ty());
                    self.source.advise(error, place_of(expr), "convert one of them with CAST")
                })?;
            }
            rows.push((row, bound));
        }
        let mut constants: Vec<Vec<Value>> = Vec::with_capacity(rows.len());
        for (row, bound) in rows {
            let row = row.iter().zip(bound).zip(&types);
            let row = row.map(|((expr, value), ty)| self.constant(&binder, expr, value, ty));
            constants.push(row.collect::<Result<_>>()?);
        }
        let names = (0..types.len()).map(|column| format!("col{column}"));
        let columns = self.new_columns(names.zip(types.iter().cloned()));
        let row_type = RowType::new(columns.iter().map(|c| (c.name.clone(), c.ty.clone())));
        let row_type = Arc::new(row_type);
        let batches = constants.chunks(BATCH_ROWS).map(|rows| batch_of(&row_type, rows));
        let rows = Rows::Values(batches.collect::<Result<_>>()?);
        let fields = columns.iter().map(|column| Arc::clone(&column.field)).collect();
        let items = columns.iter().map(|column| Item {
            name: column.name.clone(),
            expr: TypedExpr::field(Arc::clone(&column.field), column.ty.clone()),
        });
        let from = From { relations: vec![Relation { rows, fields }], tree: Tree::relation(0) };
        let select = Select { items: items.collect(), ..Select::all_of(from) };
        let sort = self.union_sort(&columns, trailer.order_by)?;
        let body = Body::Select(Box::new(select));
        let query = Query { body, sort, offset: trailer.offset, limit: trailer.limit };
        Ok(Bound { query, correlated: Vec::new() })
    }

    fn constant(
        &self,
        binder: &Binder<'_>,
        expr: &Expr,
        value: TypedExpr,
        ty: &Type,
    ) -> Result<Value> {
        match binder.cast_to(value, ty) {
            TypedExpr::Constant { value, .. } => Ok(value),
            other => {
                let error = Error::unsupported("VALUES takes constants only").with("found", other);
                Err(self.source.point(error, place_of(expr)))
            }
        }
    }
}

fn batch_of(row_type: &Arc<RowType>, rows: &[Vec<Value>]) -> Result<RowVector> {
    let columns = row_type.types().iter().enumerate().map(|(column, ty)| {
        let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(column)).collect();
        vector_of(ty, values)
    });
    RowVector::batch(Arc::clone(row_type), rows.len(), columns.collect::<Result<_>>()?)
}
