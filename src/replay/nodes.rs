//! Reads plan nodes from plan JSON.
//!
//! ```text
//! HashJoinNode                  its first source is the probe side, its second the build side
//! MergeJoinNode                 read as a hash join, which returns the same rows
//! partial OrderBy, TopN, Limit  applied to all rows: nodes above accept any order and more rows
//! ```

use connector_hive::HiveTableHandle;
use dwio::connector::{ColumnHandle, TableHandle};
use exec::plan::{
    FilterNode, HashJoinNode, JoinType, LimitNode, OrderByNode, PlanNode, ProjectNode, SortKey,
    TableScanNode, TopNNode, ValuesNode,
};
use vector::sync::Arc;
use vector::{Result, RowType, RowVector, SortOrder, Type, Value};

use super::aggregates::read_aggregation;
use super::expressions::Expressions;
use super::handles::{read_column, read_table};
use super::json;
use super::json::Json;
use super::serialized::{Values, read_vectors};
use super::spread::{read_merge, read_partition, read_single_row, read_unnest};
use super::types::read_row_type;
use format_text::base64;

/// Maximum number of batches of a Values node after its batches are repeated.
const MAX_REPEATS: usize = 1 << 16;

/// Reads plans whose tables belong to connector `connector_id`.
#[derive(Debug)]
pub(super) struct Nodes<'a> {
    pub(super) connector_id: &'a str,
    pub(super) expressions: Expressions,
    /// Number of drivers that the plan was run with: each of them repeats some values.
    pub(super) drivers: usize,
    /// Nodes that replace the plan's nodes at these JSON pointers.
    pub(super) fed: Vec<(String, Arc<PlanNode>)>,
}

impl Nodes<'_> {
    /// Reads a node and all nodes below it.
    pub(super) fn read(&self, json: &Json<'_>) -> Result<Arc<PlanNode>> {
        if let Some((_, node)) = self.fed.iter().find(|(place, _)| place == json.path()) {
            return Ok(Arc::clone(node));
        }
        let (name, class) = json.class()?;
        let id = || Ok::<Arc<str>, vector::Error>(Arc::from(json.member("id")?.text()?));
        let node = match name {
            "TableScanNode" => self.table_scan(json, id()?)?,
            "ValuesNode" => values(json, id()?, self.drivers)?,
            "FilterNode" => {
                let source = self.source(json)?;
                let filter = json.member("filter")?;
                let predicate = self.expressions.read(&filter, source.output_type())?;
                if predicate.ty() != &Type::Boolean {
                    return Err(filter.wrong("a condition"));
                }
                PlanNode::Filter(FilterNode { id: id()?, source, predicate })
            }
            "ProjectNode" => self.project(json, id()?)?,
            "AggregationNode" => {
                let source = self.source(json)?;
                read_aggregation(json, id()?, source, &self.expressions)?
            }
            "OrderByNode" => {
                let source = self.source(json)?;
                let keys = sort_keys(json, source.output_type())?;
                PlanNode::OrderBy(OrderByNode { id: id()?, source, keys })
            }
            "TopNNode" => {
                let source = self.source(json)?;
                let keys = sort_keys(json, source.output_type())?;
                let count = count(&json.member("count")?)?;
                PlanNode::TopN(TopNNode { id: id()?, source, keys, count })
            }
            "LimitNode" => {
                let (offset, limit) = (json.member("offset")?, json.member("count")?);
                let (offset, count) = (count(&offset)?, count(&limit)?);
                PlanNode::Limit(LimitNode { id: id()?, source: self.source(json)?, offset, count })
            }
            "HashJoinNode" | "MergeJoinNode" => self.hash_join(json, id()?)?,
            "LocalPartitionNode" => return read_partition(self, json),
            "LocalMergeNode" => read_merge(self, json)?,
            "UnnestNode" => read_unnest(self.source(json)?, json)?,
            "EnforceSingleRowNode" => read_single_row(self.source(json)?, json)?,
            _ => return Err(class.refuse("a plan node that is not built")),
        };
        Ok(Arc::new(node))
    }

    fn source(&self, json: &Json<'_>) -> Result<Arc<PlanNode>> {
        let sources = json.member("sources")?;
        match sources.elements()?.as_slice() {
            [one] => self.read(one),
            [] => Err(sources.wrong("one source")),
            [_, ..] => {
                Err(json.member("name")?.refuse("several sources of a plan node are not built"))
            }
        }
    }

    fn table_scan(&self, json: &Json<'_>, id: Arc<str>) -> Result<PlanNode> {
        let table = json.member("tableHandle")?;
        let table: HiveTableHandle = read_table(&table, self.connector_id, &self.expressions)?;
        let table: Arc<dyn TableHandle> = Arc::new(table);
        let mut assignments = Vec::new();
        for assignment in json.member("assignments")?.elements()? {
            let name = assignment.member("assign")?.text()?.to_string();
            let column = read_column(&assignment.member("columnHandle")?)?;
            assignments.push((name, Arc::new(column) as Arc<dyn ColumnHandle>));
        }
        let output_type = read_row_type(&json.member("outputType")?)?;
        Ok(PlanNode::TableScan(TableScanNode { id, output_type, table, assignments }))
    }

    fn hash_join(&self, json: &Json<'_>, id: Arc<str>) -> Result<PlanNode> {
        let sources = json.member("sources")?;
        let (left, right) = match sources.elements()?.as_slice() {
            [left, right] => (self.read(left)?, self.read(right)?),
            _ => return Err(sources.wrong("two sources")),
        };
        if json.flag("nullAsValue")? {
            return Err(json.member("nullAsValue")?.refuse("a join in which nulls meet"));
        }
        let keys = |name, input: &RowType| -> Result<Vec<String>> {
            let keys = json.member(name)?.elements()?;
            keys.iter().map(|key| Ok(column_name(key, input)?.to_string())).collect()
        };
        let left_keys = keys("leftKeys", left.output_type())?;
        let right_keys = keys("rightKeys", right.output_type())?;
        let filter = json.optional("filter")?.map(|filter| {
            let columns = left.output_type().fields().chain(right.output_type().fields());
            let columns = columns.map(|(name, ty)| (name, ty.clone())).collect::<Vec<_>>();
            let read = self.expressions.read(&filter, &Arc::new(RowType::new(columns)))?;
            match read.ty() {
                Type::Boolean => Ok(read),
                _ => Err(filter.wrong("a condition")),
            }
        });
        let node = HashJoinNode {
            id,
            join_type: join_type(&json.member("joinType")?)?,
            null_aware: json.flag("nullAware")?,
            left,
            right,
            left_keys,
            right_keys,
            filter: filter.transpose()?,
            output_type: read_row_type(&json.member("outputType")?)?,
        };
        json.check(node.check())?;
        Ok(PlanNode::HashJoin(node))
    }

    fn project(&self, json: &Json<'_>, id: Arc<str>) -> Result<PlanNode> {
        let source = self.source(json)?;
        let (names, projections) = (json.member("names")?, json.member("projections")?);
        let (names, projections) = (names.elements()?, projections.elements()?);
        if names.len() != projections.len() {
            return Err(json.wrong("as many names as projections"));
        }
        let read = |expr| self.expressions.read(expr, source.output_type());
        let expressions = projections.iter().map(read).collect::<Result<Vec<_>>>()?;
        let fields = names.iter().zip(&expressions);
        let fields = fields.map(|(name, expr)| Ok((name.text()?, expr.ty().clone())));
        let output_type = Arc::new(RowType::new(fields.collect::<Result<Vec<_>>>()?));
        Ok(PlanNode::Project(ProjectNode { id, source, output_type, expressions }))
    }
}

fn join_type(json: &Json<'_>) -> Result<JoinType> {
    Ok(match json.text()? {
        "INNER" => JoinType::Inner,
        "LEFT" => JoinType::Left,
        "RIGHT" => JoinType::Right,
        "FULL" => JoinType::Full,
        "LEFT SEMI (FILTER)" => JoinType::LeftSemiFilter,
        "LEFT SEMI (PROJECT)" => JoinType::LeftSemiProject,
        "RIGHT SEMI (FILTER)" => JoinType::RightSemiFilter,
        "RIGHT SEMI (PROJECT)" => JoinType::RightSemiProject,
        "ANTI" => JoinType::Anti,
        _ => return Err(json.refuse("a kind of join that is not built")),
    })
}

fn count(json: &Json<'_>) -> Result<u64> {
    json.integer()
}

/// Returns the name of a column of `input` from an expression, which must be a plain column.
pub(super) fn column_name<'a>(json: &json::Json<'a>, input: &RowType) -> Result<&'a str> {
    let (name, class) = json.class()?;
    if name != "FieldAccessTypedExpr" {
        return Err(class.refuse("an expression where only columns are built"));
    }
    let field = json.member("fieldName")?;
    match input.index_of(field.text()?) {
        Some(_) => field.text(),
        None => Err(field.wrong("a column of the source")),
    }
}

pub(super) fn sort_keys(json: &Json<'_>, input: &RowType) -> Result<Vec<SortKey>> {
    let (keys, orders) = (json.member("sortingKeys")?, json.member("sortingOrders")?);
    let (keys, orders) = (keys.elements()?, orders.elements()?);
    if keys.len() != orders.len() {
        return Err(json.wrong("as many orders as keys"));
    }
    let key = |(key, order): (&Json<'_>, &Json<'_>)| {
        let descending = !order.member("ascending")?.boolean()?;
        let nulls_first = order.member("nullsFirst")?.boolean()?;
        let order = SortOrder { descending, nulls_first };
        Ok(SortKey { column: column_name(key, input)?.to_string(), order })
    };
    keys.iter().zip(&orders).map(key).collect()
}

fn values(json: &Json<'_>, id: Arc<str>, drivers: usize) -> Result<PlanNode> {
    let repeats = json.optional("repeatTimes")?.map_or(Ok(1), |times| times.integer::<usize>())?;
    let repeats =
        if json.flag("parallelizable")? { repeats.saturating_mul(drivers) } else { repeats };
    let data = json.member("data")?;
    let bytes = base64::decode(data.text()?).ok_or_else(|| data.wrong("base64"))?;
    let mut batches = Vec::new();
    for vector in data.check(read_vectors(&bytes))? {
        batches.push(data.check(batch(&vector))?.ok_or_else(|| data.wrong("ROW vectors"))?);
    }
    let Some(output_type) = batches.first().map(|batch| Arc::clone(batch.row_type())) else {
        return Err(data.wrong("at least one vector"));
    };
    if batches.iter().any(|batch| **batch.row_type() != *output_type) {
        return Err(data.wrong("vectors of one type"));
    }
    if repeats.saturating_mul(batches.len()) > MAX_REPEATS {
        return Err(json.wrong("fewer repeats"));
    }
    let batches = (0..repeats).flat_map(|_| batches.iter().cloned()).collect();
    Ok(PlanNode::Values(ValuesNode { id, output_type, batches }))
}

/// Converts a vector of structs to a batch; returns `None` when it is of another type or a struct
/// is null.
fn batch(vector: &Values) -> Result<Option<RowVector>> {
    let Type::Row(row_type) = &vector.ty else { return Ok(None) };
    let rows: Option<Vec<&[Value]>> = vector
        .rows
        .iter()
        .map(|row| match row {
            Value::Row(fields) => Some(&**fields),
            _ => None,
        })
        .collect();
    let Some(rows) = rows else { return Ok(None) };
    let columns = row_type.types().iter().enumerate().map(|(i, ty)| {
        vector::build::vector_of(ty, rows.iter().filter_map(|fields| fields.get(i)))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    RowVector::batch(Arc::clone(row_type), rows.len(), columns).map(Some)
}
