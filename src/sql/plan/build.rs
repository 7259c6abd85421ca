//! Plan nodes on top of each other.
//!
//! A [`Builder`] holds the topmost node so far. Names of columns are unique within each node's
//! output; the names that people see are put on at the very end.

use std::collections::{BTreeSet, HashMap};

use dwio::expr::TypedExpr;
use exec::plan::{
    Aggregate, AggregationNode, AggregationStep, FilterNode, LimitNode, OrderByNode, PlanNode,
    PlanNodeId, ProjectNode, SortKey, TopNNode, ValuesNode,
};
use vector::sync::Arc;
use vector::{Error, Result, RowType, RowVector, Type};

use super::from::{From, Relation};
use super::output::Sort;
use super::{Item, PlannedQuery, PlannedScan};
use crate::sql::bind::{AggregateCall, Aggregates, GroupColumns, over_groups};
use crate::sql::catalog::{ScanColumn, ScanParts, TableColumn};

/// Up to this many rows are kept by a heap; more are sorted as a whole.
const MAX_TOP_N: u64 = 100_000;

/// A plan under construction.
#[derive(Debug, Default)]
pub(super) struct Builder {
    node: Option<Arc<PlanNode>>,
    next_id: usize,
    scans: Vec<PlannedScan>,
    num_keys: usize,
    /// A sort that waits to learn of LIMIT.
    sort: Vec<SortKey>,
    /// True when the topmost node has columns for sorting behind those of the result.
    hidden: bool,
}

/// The keys and aggregates of an aggregation by their columns' names.
#[derive(Debug)]
pub(super) struct Groups {
    keys: Vec<(TypedExpr, String)>,
    aggregates: Vec<String>,
}

impl Groups {
    /// Makes an expression over the table's columns one over the aggregation's.
    pub(super) fn rewrite(&self, expr: &TypedExpr) -> Result<TypedExpr> {
        over_groups(expr, &GroupColumns { keys: &self.keys, aggregates: &self.aggregates })
    }
}

impl Builder {
    pub(super) fn new() -> Self {
        Self::default()
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

    /// The rows of FROM for which `filter` is true, or one row without columns; `used` is what
    /// the nodes above need.
    pub(super) fn source(
        &mut self,
        from: Option<From>,
        filter: Option<TypedExpr>,
        used: &[&TypedExpr],
    ) -> Result<()> {
        let Some(From { relations, mut tree }) = from else {
            let id = self.id();
            let row_type = Arc::new(RowType::empty());
            let batch = RowVector::batch(Arc::clone(&row_type), 1, Vec::new())?;
            self.push(PlanNode::Values(ValuesNode {
                id,
                output_type: row_type,
                batches: vec![batch],
            }));
            if let Some(filter) = filter {
                self.filter(filter);
            }
            return Ok(());
        };
        match filter {
            Some(filter) if relations.len() == 1 => tree.push_down(filter, &relations),
            filter => {
                for term in filter.iter().flat_map(TypedExpr::conjuncts) {
                    tree.push_down(term.clone(), &relations);
                }
            }
        }
        self.tree(tree, &relations, used)
    }

    /// A scan of the columns that `used` names, with the condition pushed into it.
    pub(super) fn scan(
        &mut self,
        relation: &Relation,
        filter: Option<TypedExpr>,
        used: &[&TypedExpr],
    ) -> Result<()> {
        let id = self.id();
        let table = &relation.table;
        let names = relation.fields.iter().zip(table.columns());
        let own: HashMap<&str, &TableColumn> = names.map(|(f, c)| (&**f, c)).collect();
        // A condition inside the scan knows columns by the table's names only.
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
        // The columns come in the order wanted, called as the table calls them.
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

    /// The names of columns with these values, computed where they are none yet.
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

    /// A name that no column of a table has.
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

    /// Computes columns; nothing is added when the source gives exactly these.
    fn project(&mut self, columns: Vec<(String, TypedExpr)>) -> Result<()> {
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
    pub(super) fn aggregate(
        &mut self,
        keys: &[TypedExpr],
        aggregates: &Aggregates,
    ) -> Result<Groups> {
        // Keys and arguments are columns of the source: those that are none yet are computed.
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
        if columns.computed {
            self.project(columns.list.clone())?;
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

    /// The SELECT list, with further columns behind it where ORDER BY needs them.
    pub(super) fn output(&mut self, items: &[Item], sort: Sort, distinct: bool) -> Result<()> {
        let mut names = Names::default();
        let mut columns: Vec<(String, TypedExpr)> = Vec::new();
        for item in items {
            columns.push((names.fresh(&item.name), item.expr.clone()));
        }
        for key in sort.keys {
            let found = columns.iter().find(|(_, expr)| *expr == key.expr);
            let column = match found {
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
                    self.hidden = true;
                    name
                }
            };
            self.sort.push(SortKey { column, order: key.order });
        }
        self.project(columns)?;
        if distinct {
            let input = self.input_type()?;
            let keys = input.names().to_vec();
            let fields = input.fields().map(|(n, t)| (n.to_string(), t.clone())).collect();
            self.aggregation(keys, Vec::new(), fields)?;
        }
        Ok(())
    }

    /// Sorts if ORDER BY said so, and keeps `limit` rows behind the first `offset`.
    pub(super) fn limit(&mut self, offset: u64, limit: Option<u64>) -> Result<()> {
        let keys = std::mem::take(&mut self.sort);
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

    /// The whole plan; columns that only ORDER BY needed are dropped.
    pub(super) fn finish(mut self, items: &[Item]) -> Result<PlannedQuery> {
        if self.hidden {
            let visible: Vec<(String, TypedExpr)> = self
                .input_type()?
                .fields()
                .take(items.len())
                .map(|(name, ty)| (name.to_string(), TypedExpr::field(name, ty.clone())))
                .collect();
            self.project(visible)?;
        }
        let root = self.take()?;
        let row_type = RowType::new(
            items.iter().zip(root.output_type().types()).map(|(i, t)| (i.name.clone(), t.clone())),
        );
        Ok(PlannedQuery { root, row_type: Arc::new(row_type), scans: self.scans })
    }
}

/// An expression with the table's names for its columns; `None` when the table has one of them
/// under another name than the plan gives it.
fn table_names(expr: &TypedExpr, own: &HashMap<&str, &TableColumn>) -> Option<TypedExpr> {
    Some(match expr {
        TypedExpr::Field { name, ty } => {
            let column = own.get(&**name).filter(|c| *c.field == *c.name)?;
            TypedExpr::field(column.name.as_str(), ty.clone())
        }
        TypedExpr::Constant { .. } => expr.clone(),
        TypedExpr::Call { name, args, ty } => {
            let args = args.iter().map(|arg| table_names(arg, own)).collect::<Option<_>>()?;
            TypedExpr::call(Arc::clone(name), args, ty.clone())
        }
        TypedExpr::Cast { input, ty, try_cast } => TypedExpr::Cast {
            input: Box::new(table_names(input, own)?),
            ty: ty.clone(),
            try_cast: *try_cast,
        },
        TypedExpr::Dereference { input, index, ty } => TypedExpr::Dereference {
            input: Box::new(table_names(input, own)?),
            index: *index,
            ty: ty.clone(),
        },
        TypedExpr::Lambda { columns, captures, body } => TypedExpr::Lambda {
            columns: Arc::clone(columns),
            captures: captures.iter().map(|c| table_names(c, own)).collect::<Option<_>>()?,
            body: body.clone(),
        },
    })
}

/// The struct fields that expressions want of each column that they use; an empty path is the
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

/// What a chain of struct fields begins with.
fn innermost(mut expr: &TypedExpr) -> &TypedExpr {
    while let TypedExpr::Dereference { input, .. } = expr {
        expr = input;
    }
    expr
}

/// Columns to compute, equal ones once.
#[derive(Debug, Default)]
struct Columns {
    list: Vec<(String, TypedExpr)>,
    names: Names,
    /// True when one of them is no plain column of the source.
    computed: bool,
}

impl Columns {
    /// The name of the column that has `expr`; a plain column keeps its own.
    fn column(&mut self, expr: &TypedExpr, base: &str) -> String {
        if let Some((name, _)) = self.list.iter().find(|(_, have)| have == expr) {
            return name.clone();
        }
        let name = match expr {
            TypedExpr::Field { name, .. } => self.names.fresh(name),
            _ => {
                self.computed = true;
                self.names.fresh(base)
            }
        };
        // A computed column may have taken the plain column's name before.
        self.computed |= matches!(expr, TypedExpr::Field { name: own, .. } if **own != *name);
        self.list.push((name.clone(), expr.clone()));
        name
    }
}

/// Names that are taken, with the last number put behind each.
#[derive(Debug, Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn take(&mut self, name: &str) {
        self.0.entry(name.to_string()).or_default();
    }

    /// `base`, or `base_1` and so on when it is taken.
    fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_string();
        while self.0.contains_key(&name) {
            let number = self.0.entry(base.to_string()).or_default();
            *number += 1;
            name = format!("{base}_{number}");
        }
        self.take(&name);
        name
    }
}
