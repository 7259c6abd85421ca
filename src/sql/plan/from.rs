//! FROM: tables, and how they are joined.
//!
//! ```text
//! FROM a JOIN b ON .. LEFT JOIN c USING (x)
//!
//! syntax     first a, then steps: (inner, b, ON ..), (left, c, USING ..)     FromClause
//! names      each table found and opened; columns of all get names that      Relations
//!            differ; a scope of all that the other clauses see
//! tree       left( inner(a, b), c ), each join with its terms                Tree, joins.rs
//! ```

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::expr::FunctionRegistry;
use sqlparser::ast::Expr;
use sqlparser::ast::{
    Ident, Join, JoinConstraint, JoinOperator, ObjectNamePart, Select, Spanned, TableFactor,
};
use sqlparser::tokenizer::Span;
use vector::sync::Arc;
use vector::{Error, Result};

use super::joins::{JoinKind, Tree};
use super::known_terms;
use crate::sql::bind::Binder;
use crate::sql::catalog::{Catalog, CatalogTable, TableColumn};
use crate::sql::scope::Scope;
use crate::sql::source::SourceText;

/// Tables of a statement at most; the places of a term's columns are kept as bits.
const MAX_TABLES: usize = 64;

/// A table as FROM names it.
#[derive(Debug)]
pub(super) struct TableName {
    name: String,
    quoted: bool,
    alias: Option<String>,
    span: Span,
}

/// What FROM says.
#[derive(Debug)]
pub(super) struct FromClause<'a> {
    first: TableName,
    steps: Vec<Step<'a>>,
}

/// A table that is joined to all before it.
#[derive(Debug)]
struct Step<'a> {
    kind: JoinKind,
    table: TableName,
    constraint: Constraint<'a>,
}

#[derive(Debug)]
enum Constraint<'a> {
    None,
    On(&'a Expr),
    Using(Vec<&'a Ident>),
    Natural(Span),
}

impl<'a> FromClause<'a> {
    /// What a SELECT says; `Unsupported` names what is not built.
    pub(super) fn of(select: &'a Select, source: SourceText<'_>) -> Result<Option<Self>> {
        let Some((first, others)) = select.from.split_first() else { return Ok(None) };
        let mut steps = Vec::new();
        for join in &first.joins {
            steps.push(step(join, source)?);
        }
        for item in others {
            // A comma binds weaker than JOIN; only joins that give the right side's rows as such
            // could tell.
            let table = table_name(&item.relation, source)?;
            steps.push(Step { kind: JoinKind::Inner, table, constraint: Constraint::None });
            for join in &item.joins {
                let step = step(join, source)?;
                if !matches!(step.kind, JoinKind::Inner | JoinKind::Left) {
                    let error = Error::unsupported("this join behind a comma is not supported");
                    return Err(source.point(error, join.relation.span()));
                }
                steps.push(step);
            }
        }
        if steps.len() >= MAX_TABLES {
            return Err(Error::limit("a statement has too many tables").with("max", MAX_TABLES));
        }
        Ok(Some(FromClause { first: table_name(&first.relation, source)?, steps }))
    }
}

fn step<'a>(join: &'a Join, source: SourceText<'_>) -> Result<Step<'a>> {
    use JoinOperator as Op;
    let (kind, constraint) = match &join.join_operator {
        Op::Join(c) | Op::Inner(c) | Op::CrossJoin(c) => (JoinKind::Inner, c),
        Op::Left(c) | Op::LeftOuter(c) => (JoinKind::Left, c),
        Op::Right(c) | Op::RightOuter(c) => (JoinKind::Right, c),
        Op::FullOuter(c) => (JoinKind::Full, c),
        Op::Semi(c) | Op::LeftSemi(c) => (JoinKind::LeftSemi, c),
        Op::Anti(c) | Op::LeftAnti(c) => (JoinKind::LeftAnti, c),
        Op::RightSemi(c) => (JoinKind::RightSemi, c),
        Op::RightAnti(c) => (JoinKind::RightAnti, c),
        _ => {
            let error = Error::unsupported("this kind of join is not supported");
            return Err(source.point(error, join.relation.span()));
        }
    };
    let table = table_name(&join.relation, source)?;
    let is_cross = matches!(join.join_operator, Op::CrossJoin(_));
    let constraint = match constraint {
        JoinConstraint::On(condition) => Constraint::On(condition),
        JoinConstraint::Natural => Constraint::Natural(table.span),
        JoinConstraint::UsingAlias(..) => {
            let error = Error::unsupported("an alias of USING is not supported");
            return Err(source.point(error, table.span));
        }
        JoinConstraint::None if is_cross => Constraint::None,
        JoinConstraint::None => {
            let error = Error::invalid_input("a join needs ON or USING");
            return Err(source.point(error, table.span));
        }
        JoinConstraint::Using(names) => {
            let column = |name: &'a sqlparser::ast::ObjectName| match name.0.as_slice() {
                [ObjectNamePart::Identifier(ident)] => Ok(ident),
                _ => {
                    let error = Error::invalid_input("USING takes names of columns");
                    Err(source.point(error, name.span()))
                }
            };
            Constraint::Using(names.iter().map(column).collect::<Result<_>>()?)
        }
    };
    Ok(Step { kind, table, constraint })
}

fn table_name(relation: &TableFactor, source: SourceText<'_>) -> Result<TableName> {
    let unsupported =
        |what: &'static str, span: Span| Err(source.point(Error::unsupported(what), span));
    let TableFactor::Table { name, alias, args, sample, version, .. } = relation else {
        let what = match relation {
            TableFactor::Derived { .. } => "subqueries are not supported yet",
            TableFactor::NestedJoin { .. } => "joins in parentheses are not supported yet",
            _ => "FROM takes a table name or a quoted path",
        };
        return unsupported(what, relation.span());
    };
    if args.is_some() {
        return unsupported("table functions are not supported yet", name.span());
    }
    if sample.is_some() || version.is_some() {
        return unsupported("TABLESAMPLE and versions are not supported yet", name.span());
    }
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        match part {
            ObjectNamePart::Identifier(ident) => parts.push(ident),
            ObjectNamePart::Function(_) => {
                return unsupported("table functions are not supported yet", name.span());
            }
        }
    }
    let (table_name, quoted) = match parts.as_slice() {
        [one] => (one.value.clone(), one.quote_style.is_some()),
        several => {
            let joined: Vec<&str> = several.iter().map(|p| p.value.as_str()).collect();
            (joined.join("."), false)
        }
    };
    if let Some(alias) = alias
        && !alias.columns.is_empty()
    {
        return unsupported("column aliases of a table are not supported yet", alias.name.span);
    }
    Ok(TableName {
        name: table_name,
        quoted,
        alias: alias.as_ref().map(|a| a.name.value.clone()),
        span: name.span(),
    })
}

/// A table of a statement, with names for its columns that no other table has.
#[derive(Debug)]
pub(super) struct Relation {
    pub(super) table: Arc<dyn CatalogTable>,
    /// The plan's name of each column of the table.
    pub(super) fields: Vec<Arc<str>>,
}

impl Relation {
    /// A table that stands alone: its columns keep their names.
    pub(super) fn alone(table: Arc<dyn CatalogTable>) -> Self {
        let fields = table.columns().iter().map(|c| Arc::clone(&c.field)).collect();
        Relation { table, fields }
    }
}

/// The tables of a statement, and how they are joined.
#[derive(Debug)]
pub(super) struct From {
    pub(super) relations: Vec<Relation>,
    pub(super) tree: Tree,
}

impl From {
    /// One table.
    pub(super) fn alone(table: Arc<dyn CatalogTable>) -> Self {
        From { relations: vec![Relation::alone(table)], tree: Tree::table(0) }
    }
}

/// Finds and opens the tables of FROM, and binds what joins them.
pub(super) struct FromPlanner<'a> {
    pub(super) catalog: &'a dyn Catalog,
    pub(super) functions: &'a FunctionRegistry,
    pub(super) source: SourceText<'a>,
    /// The WHERE clause, which may tell which files matter.
    pub(super) filter: Option<&'a Expr>,
    pub(super) relations: Vec<Relation>,
    /// Names of columns in the plan.
    pub(super) taken: HashSet<Arc<str>>,
}

impl FromPlanner<'_> {
    /// The tables, their joins, and the columns that the other clauses may use.
    pub(super) fn plan(mut self, clause: &FromClause<'_>) -> Result<(From, Scope)> {
        let mut scope = self.open(&clause.first)?;
        let mut tree = Tree::table(0);
        for (i, step) in clause.steps.iter().enumerate() {
            let right = self.open(&step.table)?;
            let both = scope.clone().joined(&right);
            let (terms, both) = self.constraint(step, &scope, &right, both)?;
            scope = match step.kind {
                JoinKind::LeftSemi | JoinKind::LeftAnti => scope,
                JoinKind::RightSemi | JoinKind::RightAnti => right,
                _ => both,
            };
            tree = Tree::join(step.kind, tree, Tree::table(i + 1), terms, &self.relations);
        }
        Ok((From { relations: self.relations, tree }, scope))
    }

    fn open(&mut self, name: &TableName) -> Result<Scope> {
        let found = self.catalog.find(&name.name, name.quoted);
        let found = found.map_err(|e| self.source.locate(e, name.span))?;
        let relation = name.alias.as_deref().unwrap_or(found.name()).to_string();
        let keys = Scope::new(&relation, found.partition_columns());
        let condition = known_terms(self.filter, &keys, self.functions);
        let table = found.open(condition.as_ref())?;
        let mut columns: Vec<TableColumn> = table.columns().to_vec();
        for column in &mut columns {
            let mut number = 0;
            let own = Arc::clone(&column.field);
            while !self.taken.insert(Arc::clone(&column.field)) {
                number += 1;
                column.field = match number {
                    1 => format!("{relation}.{own}").into(),
                    _ => format!("{relation}.{own}#{number}").into(),
                };
            }
        }
        let fields = columns.iter().map(|c| Arc::clone(&c.field)).collect();
        self.relations.push(Relation { table, fields });
        Ok(Scope::new(&relation, &columns))
    }

    /// The condition of a join, and the columns of both sides as it leaves them.
    fn constraint(
        &self,
        step: &Step<'_>,
        left: &Scope,
        right: &Scope,
        both: Scope,
    ) -> Result<(Vec<TypedExpr>, Scope)> {
        let names: Vec<Ident> = match &step.constraint {
            Constraint::None => return Ok((Vec::new(), both)),
            Constraint::On(condition) => {
                let mut binder = Binder::new(&both, self.functions, self.source, "ON");
                let bound = binder.bind_condition(condition)?;
                return Ok((bound.conjuncts().into_iter().cloned().collect(), both));
            }
            Constraint::Using(names) => names.iter().map(|name| (*name).clone()).collect(),
            Constraint::Natural(span) => {
                let of_right = right.visible().map(|(column, _)| column.name.clone());
                let common = of_right.filter(|name| {
                    left.visible().any(|(c, _)| c.name.to_lowercase() == name.to_lowercase())
                });
                let ident = |name: String| Ident { span: *span, ..Ident::new(name) };
                common.map(ident).collect()
            }
        };
        let mut scope = both.clone();
        let mut terms = Vec::new();
        for name in &names {
            let path = std::slice::from_ref(name);
            let (a, b) = (left.resolve(path, self.source)?, right.resolve(path, self.source)?);
            let binder = Binder::new(&both, self.functions, self.source, "USING");
            terms.push(binder.equal(a.clone(), b.clone(), name.span)?);
            let meaning = match step.kind {
                JoinKind::Right => b.clone(),
                JoinKind::Full => binder.first_of(a.clone(), b.clone(), name.span)?,
                _ => a.clone(),
            };
            if let TypedExpr::Field { name: other, .. } = &b {
                // The left name may stand for several columns already; its first one shows.
                if let Some(TypedExpr::Field { name: kept, .. }) = first_field(&a) {
                    scope.merge(kept, other, meaning);
                }
            }
        }
        Ok((terms, scope))
    }
}

/// The first column in an expression.
fn first_field(expr: &TypedExpr) -> Option<&TypedExpr> {
    let mut found = None;
    expr.visit(&mut |part| {
        if found.is_none() && matches!(part, TypedExpr::Field { .. }) {
            found = Some(part);
        }
    });
    found
}
