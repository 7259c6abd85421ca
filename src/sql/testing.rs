//! A catalog with one fixed table for the tests of the front end.

use std::any::Any;

use dwio::connector::{ColumnHandle, TableHandle};
use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use exec::plan::TableScanNode;
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::catalog::{Catalog, CatalogTable, FoundTable, ScanParts, TableColumn, TableSplits};
use super::copy::plan_statement;
use super::plan::PlannedQuery;

/// Catalog with one table, `t`, which all quoted names mean too.
#[derive(Debug)]
pub(super) struct TestCatalog;

#[derive(Debug, Clone)]
struct TestTable(Vec<TableColumn>);

#[derive(Debug)]
struct TestHandle(String);

impl TableHandle for TestHandle {
    fn connector_id(&self) -> &str {
        "test"
    }

    fn table_name(&self) -> &str {
        "t"
    }

    fn describe(&self) -> String {
        self.0.clone()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl ColumnHandle for TestHandle {
    fn column_name(&self) -> &str {
        &self.0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl FoundTable for TestTable {
    fn name(&self) -> &str {
        "t"
    }

    fn partition_columns(&self) -> &[TableColumn] {
        &[]
    }

    fn open(self: Box<Self>, condition: Option<&TypedExpr>) -> Result<Arc<dyn CatalogTable>> {
        assert_eq!(condition, None);
        Ok(Arc::new(*self))
    }
}

impl CatalogTable for TestTable {
    fn columns(&self) -> &[TableColumn] {
        &self.0
    }

    fn scan(&self, parts: ScanParts<'_>) -> Result<TableScanNode> {
        let columns: Vec<&TableColumn> = parts.columns.iter().map(|c| &self.0[c.index]).collect();
        let mut pushed = String::new();
        for (column, wanted) in columns.iter().zip(parts.columns) {
            if !wanted.fields.is_empty() {
                pushed.push_str(&format!(" {}{:?}", column.name, wanted.fields));
            }
        }
        if let Some(filter) = parts.filter {
            pushed.push_str(&format!(" where {filter}"));
        }
        let assignments = columns.iter().map(|c| {
            let handle: Arc<dyn ColumnHandle> = Arc::new(TestHandle(c.name.clone()));
            (c.field.to_string(), handle)
        });
        Ok(TableScanNode {
            id: parts.id,
            output_type: Arc::new(RowType::new(
                columns.iter().map(|c| (c.field.to_string(), c.ty.clone())),
            )),
            table: Arc::new(TestHandle(format!("t{pushed}"))),
            assignments: assignments.collect(),
        })
    }

    fn estimated_rows(&self) -> Result<u64> {
        Ok(1)
    }

    fn total_bytes(&self) -> u64 {
        0
    }

    fn splits(&self, _: Option<&TypedExpr>, _: u64) -> Result<TableSplits> {
        Ok(TableSplits::default())
    }
}

impl Catalog for TestCatalog {
    fn find(&self, name: &str, quoted: bool) -> Result<Box<dyn FoundTable + '_>> {
        if name != "t" && !quoted {
            return Err(Error::not_found("no such table").with("name", name));
        }
        let columns = [
            ("id", Type::BigInt),
            ("n", Type::Integer),
            ("tiny", Type::TinyInt),
            ("x", Type::Double),
            ("r", Type::Real),
            ("price", Type::Decimal { precision: 15, scale: 2 }),
            ("name", Type::Varchar),
            ("bin", Type::Varbinary),
            ("ds", Type::Date),
            ("at", Type::Timestamp),
            ("flag", Type::Boolean),
            ("s", Type::row([("a", Type::Integer), ("b", Type::row([("C", Type::Varchar)]))])),
            ("list", Type::array(Type::BigInt)),
            ("Odd Name", Type::BigInt),
        ];
        let mut columns: Vec<TableColumn> = columns
            .into_iter()
            .map(|(name, ty)| TableColumn {
                name: name.to_string(),
                field: name.into(),
                ty,
                hidden: false,
            })
            .collect();
        columns.push(TableColumn {
            name: "\u{1}0".into(),
            field: "#\u{1}0".into(),
            ty: Type::BigInt,
            hidden: true,
        });
        columns.push(TableColumn {
            name: "$path".into(),
            field: "$path".into(),
            ty: Type::Varchar,
            hidden: true,
        });
        Ok(Box::new(TestTable(columns)))
    }
}

/// Plans a statement over the test catalog.
pub(super) fn plan(sql: &str) -> Result<PlannedQuery> {
    Ok(plan_statement(sql, &TestCatalog, &FunctionRegistry::builtin())?.0)
}

/// Returns the plan as text, without the output type of each line.
pub(super) fn shown(sql: &str) -> String {
    let text = match plan(sql) {
        Ok(plan) => plan.root.to_string(),
        Err(error) => error.to_string(),
    };
    text.lines()
        .map(|line| line.rsplit_once(" -> ").map_or(line, |(node, _)| node))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the text of the error that planning reports.
pub(super) fn error(sql: &str) -> String {
    match plan(sql) {
        Ok(plan) => panic!("no error: {}", plan.root),
        Err(error) => error.to_string(),
    }
}
