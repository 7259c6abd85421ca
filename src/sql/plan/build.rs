//! Builds plan nodes from bound queries.
//!
//! A [`Builder`] holds the topmost node built so far. Column names are unique within each node's
//! output; the names that the user sees are assigned at the very end.

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use exec::plan::{
    Aggregate, AggregationNode, AggregationStep, FilterNode, LimitNode, LocalPartitionNode,
    OrderByNode, Partitioning, PlanNode, PlanNodeId, ProjectNode, SortKey, TopNNode, ValuesNode,
};
use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, SortOrder, Type};

use super::names::{Columns, Names};
use super::output::Sort;
use super::query::{Body, Query, Select, Union};
use super::relations::{From, Relation};
use super::{Item, PlannedQuery, PlannedScan};
use crate::sql::bind::{AggregateCall, Aggregates, GroupColumns, over_groups};
use crate::sql::expr_index::ExprIndex;

/// Maximum row count of a TopN node; a larger limit sorts all rows and then limits them.
const MAX_TOP_N: u64 = 100_000;

/// A plan under construction.
#[derive(Debug)]
pub(super) struct Builder<'a> {
    pub(super) functions: &'a FunctionRegistry,
    node: Option<Arc<PlanNode>>,
    next_id: usize,
    pub(super) scans: Vec<PlannedScan>,
    num_keys: usize,
}

/// Keys and aggregates of an aggregation with the names of their output columns.
#[derive(Debug)]
struct Groups {
    keys: Vec<(TypedExpr, String)>,
    index: ExprIndex,
    aggregates: Vec<String>,
}

impl Groups {
    /// Rewrites an expression over the table's columns into one over the aggregation's output.
    fn rewrite(&self, expr: &TypedExpr) -> Result<TypedExpr> {
        let Groups { keys, index, aggregates } = self;
        over_groups(expr, &GroupColumns { keys, index, aggregates })
    }
}

impl<'a> Builder<'a> {
    /// Builds the whole plan of a statement.
    pub(super) fn plan(query: Query, functions: &'a FunctionRegistry) -> Result<PlannedQuery> {
        let names = query.columns().into_iter().map(|(name, _)| name.to_string());
        let shown: Vec<String> = names.collect();
        let mut names = Names::default();
        let unique: Vec<String> = shown.iter().map(|name| names.fresh(name)).collect();
        let mut builder =
            Builder { functions, node: None, next_id: 0, scans: Vec::new(), num_keys: 0 };
        builder.query(query, &unique, &vec![true; unique.len()])?;
        let root = builder.take()?;
        let fields = shown.into_iter().zip(root.output_type().types());
        let row_type = RowType::new(fields.map(|(name, ty)| (name, ty.clone())));
        Ok(PlannedQuery { root, row_type: Arc::new(row_type), scans: builder.scans })
    }

    pub(super) fn id(&mut self) -> PlanNodeId {
        let id = self.next_id.to_string();
        self.next_id += 1;
        id.into()
    }

    pub(super) fn take(&mut self) -> Result<Arc<PlanNode>> {
        self.node.take().ok_or_else(|| Error::internal("a plan without a source"))
    }

    fn input_type(&self) -> Result<&Arc<RowType>> {
        let node = self.node.as_ref();
        node.map(|n| n.output_type()).ok_or_else(|| Error::internal("a plan without a source"))
    }

    pub(super) fn push(&mut self, node: PlanNode) {
        self.node = Some(Arc::new(node));
    }

    /// Builds the rows of a query. Its columns are called `names`, which are unique; only those
    /// that are `wanted` are returned.
    pub(super) fn query(&mut self, query: Query, names: &[String], wanted: &[bool]) -> Result<()> {
        let Query { body, sort, offset, limit } = query;
        let keys = match body {
            Body::Select(select) => self.select(*select, names, wanted, sort)?,
            Body::Union(union) => self.union(union, names, wanted, sort)?,
        };
        self.limit(keys, offset, limit)?;
        // Columns that only ORDER BY or DISTINCT needed are dropped.
        let input = self.input_type()?;
        let shown = names.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let columns = shown.map(|(name, _)| match input.type_of(name) {
            Some(ty) => Ok((name.clone(), TypedExpr::field(name.as_str(), ty.clone()))),
            None => Err(Error::internal("a query without one of its columns").with("name", name)),
        });
        let columns = columns.collect::<Result<_>>()?;
        self.project(columns)
    }

    fn select(
        &mut self,
        select: Select,
        names: &[String],
        wanted: &[bool],
        sort: Sort,
    ) -> Result<Vec<SortKey>> {
        let Select { from, filter, items, groups, distinct } = select;
        let items = items.into_iter().zip(names);
        let items: Vec<Item> =
            items.map(|(item, name)| Item { name: name.clone(), expr: item.expr }).collect();
        let kept = |items: Vec<Item>| -> Vec<Item> {
            let items = items.into_iter().zip(wanted);
            items.filter(|(_, wanted)| distinct || **wanted).map(|(item, _)| item).collect()
        };
        let Some(groups) = groups else {
            let items = kept(items);
            let mut used: Vec<&TypedExpr> = items.iter().map(|i| &i.expr).collect();
            used.extend(sort.keys.iter().map(|k| &k.expr));
            self.source(from, filter, &used)?;
            return self.output(&items, sort, distinct);
        };
        self.source(from, filter, &groups.inputs().collect::<Vec<_>>())?;
        let columns = self.aggregate(&groups.keys, &groups.aggregates)?;
        let items = items
            .into_iter()
            .map(|item| Ok(Item { expr: columns.rewrite(&item.expr)?, name: item.name }))
            .collect::<Result<Vec<_>>>()?;
        let having = groups.having.iter().map(|term| columns.rewrite(term));
        if let Some(having) = TypedExpr::and(having.collect::<Result<_>>()?) {
            self.filter(having);
        }
        let sort = sort.try_map(|expr| columns.rewrite(&expr))?;
        self.output(&kept(items), sort, distinct)
    }

    fn union(
        &mut self,
        union: Union,
        names: &[String],
        wanted: &[bool],
        sort: Sort,
    ) -> Result<Vec<SortKey>> {
        let Union { arms, distinct, columns } = union;
        let all = vec![true; names.len()];
        let wanted = if distinct || !sort.keys.is_empty() { &all } else { wanted };
        let mut sources = Vec::with_capacity(arms.len());
        for arm in arms {
            self.query(arm, names, wanted)?;
            sources.push(self.take()?);
        }
        if let [only] = sources.as_slice() {
            self.node = Some(Arc::clone(only));
        } else {
            let node = LocalPartitionNode::new(self.id(), sources, Partitioning::RoundRobin)?;
            self.push(PlanNode::LocalPartition(node));
        }
        let column = |(name, column): (&String, &crate::sql::catalog::TableColumn)| Item {
            name: name.clone(),
            expr: TypedExpr::field(name.as_str(), column.ty.clone()),
        };
        let shown = names.iter().zip(&columns).zip(wanted).filter(|(_, wanted)| **wanted);
        let items: Vec<Item> = shown.map(|(pair, _)| column(pair)).collect();
        let sort = sort.try_map(|expr| {
            expr.replace(&mut |part| {
                let TypedExpr::Field { name, ty } = part else { return Ok(None) };
                let place = columns.iter().position(|column| column.field == *name);
                let name = place.and_then(|place| names.get(place));
                let name = name.ok_or_else(|| Error::internal("a union is sorted by no column"))?;
                Ok(Some(TypedExpr::field(name.as_str(), ty.clone())))
            })
        })?;
        self.output(&items, sort, distinct)
    }

    /// Builds the rows of FROM for which all of `filter` is true; `used` are the expressions of the
    /// nodes above.
    fn source(&mut self, from: From, filter: Vec<TypedExpr>, used: &[&TypedExpr]) -> Result<()> {
        let From { relations, mut tree } = from;
        for filter in filter {
            if relations.len() == 1 {
                tree.push_down(filter, &relations);
                continue;
            }
            for term in filter.conjuncts() {
                tree.push_down(term.clone(), &relations);
            }
        }
        self.tree(tree, &relations, used)
    }

    /// Builds one row without columns.
    pub(super) fn one_row(&mut self) -> Result<()> {
        let id = self.id();
        let output_type = Arc::new(RowType::empty());
        let batches = vec![RowVector::batch(Arc::clone(&output_type), 1, Vec::new())?];
        self.push(PlanNode::Values(ValuesNode { id, output_type, batches }));
        Ok(())
    }

    /// Returns the names of the columns that have the values of `keys`; values that are not columns
    /// yet are computed.
    pub(super) fn key_columns(
        &mut self,
        keys: &[TypedExpr],
        relations: &[Relation],
    ) -> Result<Vec<String>> {
        let input = self.input_type()?.fields();
        let mut columns: Vec<(String, TypedExpr)> = input
            .map(|(name, ty)| (name.to_string(), TypedExpr::field(name, ty.clone())))
            .collect();
        let mut names = Vec::with_capacity(keys.len());
        for key in keys {
            names.push(match key {
                TypedExpr::Field { name, .. } => name.to_string(),
                _ => {
                    let name = self.key_name(relations);
                    columns.push((name.clone(), key.clone()));
                    name
                }
            });
        }
        self.project(columns)?;
        Ok(names)
    }

    /// Returns a name that no column of a table has.
    fn key_name(&mut self, relations: &[Relation]) -> String {
        loop {
            self.num_keys += 1;
            let name = format!("key{}", self.num_keys);
            if !relations.iter().flat_map(|r| &r.fields).any(|field| **field == *name) {
                return name;
            }
        }
    }

    /// Keeps the rows for which `predicate` is true.
    pub(super) fn filter(&mut self, predicate: TypedExpr) {
        let id = self.id();
        if let Some(source) = self.node.take() {
            self.push(PlanNode::Filter(FilterNode { id, source, predicate }));
        }
    }

    /// Computes columns; no node is added when the source returns exactly these.
    pub(super) fn project(&mut self, columns: Vec<(String, TypedExpr)>) -> Result<()> {
        let input = self.input_type()?;
        let identity = input.len() == columns.len()
            && input.names().iter().zip(&columns).all(|(have, (name, expr))| {
                have == name && matches!(expr, TypedExpr::Field { name: of, .. } if **of == **have)
            });
        if identity {
            return Ok(());
        }
        let (names, expressions): (Vec<String>, Vec<TypedExpr>) = columns.into_iter().unzip();
        let types: Vec<Type> = expressions.iter().map(|e| e.ty().clone()).collect();
        let output_type = Arc::new(RowType::new(names.into_iter().zip(types)));
        let (id, source) = (self.id(), self.take()?);
        self.push(PlanNode::Project(ProjectNode { id, source, output_type, expressions }));
        Ok(())
    }

    /// Groups by `keys` and computes `aggregates`.
    fn aggregate(&mut self, keys: &[TypedExpr], aggregates: &Aggregates) -> Result<Groups> {
        // Keys and arguments are columns of the source: those that are not columns yet are
        // computed.
        let mut columns = Columns::default();
        let key_columns: Vec<String> = keys.iter().map(|key| columns.column(key, "key")).collect();
        let mut field = |expr: &TypedExpr, base: &str| {
            TypedExpr::field(columns.column(expr, base), expr.ty().clone())
        };
        let of_call = |call: &AggregateCall| {
            let args: Vec<TypedExpr> = call.args.iter().map(|arg| field(arg, "arg")).collect();
            (args, call.filter.as_ref().map(|filter| field(filter, "filter")))
        };
        let inputs: Vec<_> = aggregates.calls().iter().map(of_call).collect();
        let order = order_of_rows(aggregates)?.iter();
        let order = order
            .map(|(key, order)| SortKey { column: columns.column(key, "sort"), order: *order });
        let order: Vec<SortKey> = order.collect();
        if columns.computed {
            self.project(columns.list.clone())?;
        }
        if !order.is_empty() {
            let (id, source) = (self.id(), self.take()?);
            self.push(PlanNode::OrderBy(OrderByNode { id, source, keys: order }));
        }
        let mut names = Names::default();
        let mut fields: Vec<(String, Type)> = Vec::new();
        for (column, key) in key_columns.iter().zip(keys) {
            names.take(column);
            fields.push((column.clone(), key.ty().clone()));
        }
        let mut calls = Vec::new();
        for (call, (args, mask)) in aggregates.calls().iter().zip(inputs) {
            let name = names.fresh(&call.function);
            fields.push((name.clone(), call.ty.clone()));
            calls.push(Aggregate {
                name,
                function: Arc::clone(&call.function),
                raw_types: call.args.iter().map(|a| a.ty().clone()).collect(),
                args,
                ty: call.ty.clone(),
                distinct: call.distinct,
                mask,
            });
        }
        let groups = Groups {
            keys: keys.iter().cloned().zip(key_columns.iter().cloned()).collect(),
            index: ExprIndex::of(keys),
            aggregates: calls.iter().map(|c| c.name.clone()).collect(),
        };
        self.aggregation(key_columns, calls, fields)?;
        Ok(groups)
    }

    fn aggregation(
        &mut self,
        keys: Vec<String>,
        aggregates: Vec<Aggregate>,
        fields: Vec<(String, Type)>,
    ) -> Result<()> {
        let output_type = Arc::new(RowType::new(fields));
        let (id, source) = (self.id(), self.take()?);
        self.push(PlanNode::Aggregation(AggregationNode {
            id,
            source,
            step: AggregationStep::Single,
            keys,
            aggregates,
            output_type,
        }));
        Ok(())
    }

    /// Computes the SELECT list under unique names, followed by the further columns that ORDER BY
    /// needs; returns the sort keys.
    fn output(&mut self, items: &[Item], sort: Sort, distinct: bool) -> Result<Vec<SortKey>> {
        let mut names = Names::default();
        let mut columns: Vec<(String, TypedExpr)> = Vec::new();
        for item in items {
            columns.push((names.fresh(&item.name), item.expr.clone()));
        }
        let mut keys = Vec::with_capacity(sort.keys.len());
        let index = match sort.keys.as_slice() {
            [] => ExprIndex::default(),
            _ => ExprIndex::of(items.iter().map(|item| &item.expr)),
        };
        for key in sort.keys {
            let found = index.find(&key.expr, |i| items.get(i).map(|item| &item.expr));
            let column = match found.and_then(|i| columns.get(i)) {
                Some((name, _)) => name.clone(),
                None if distinct => {
                    return Err(Error::invalid_input(
                        "with DISTINCT only selected columns can be sorted by",
                    )
                    .with("expression", &key.expr));
                }
                None => {
                    let name = names.fresh("sort");
                    columns.push((name.clone(), key.expr));
                    name
                }
            };
            keys.push(SortKey { column, order: key.order });
        }
        self.project(columns)?;
        if distinct {
            let input = self.input_type()?;
            let keys = input.names().to_vec();
            let fields = input.fields().map(|(n, t)| (n.to_string(), t.clone())).collect();
            self.aggregation(keys, Vec::new(), fields)?;
        }
        Ok(keys)
    }

    /// Sorts by `keys`, if there are any, skips `offset` rows and keeps the next `limit` rows.
    fn limit(&mut self, keys: Vec<SortKey>, offset: u64, limit: Option<u64>) -> Result<()> {
        let top = limit.map(|n| n.saturating_add(offset)).filter(|n| *n <= MAX_TOP_N);
        let mut limited = limit.is_none() && offset == 0;
        if !keys.is_empty() {
            let (id, source) = (self.id(), self.take()?);
            match top {
                Some(count) => {
                    limited = offset == 0;
                    self.push(PlanNode::TopN(TopNNode { id, source, keys, count }));
                }
                None => self.push(PlanNode::OrderBy(OrderByNode { id, source, keys })),
            }
        }
        if !limited {
            let (id, source) = (self.id(), self.take()?);
            let count = limit.unwrap_or(u64::MAX);
            self.push(PlanNode::Limit(LimitNode { id, source, offset, count }));
        }
        Ok(())
    }
}

/// The order in which all aggregates of a SELECT take their rows: they have one input, so that of each
/// must begin that of all.
fn order_of_rows(aggregates: &Aggregates) -> Result<&[(TypedExpr, SortOrder)]> {
    let mut all: &[(TypedExpr, SortOrder)] = &[];
    for call in aggregates.calls() {
        if call.order.starts_with(all) {
            all = &call.order;
        } else if !all.starts_with(&call.order) {
            return Err(Error::unsupported("aggregates of one SELECT with different ORDER BY")
                .with("name", &call.function));
        }
    }
    Ok(all)
}
