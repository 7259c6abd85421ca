//! Joins as a tree: which condition is tested where, and which side is built.
//!
//! A term of WHERE goes down to the side whose columns it uses, as long as that side's rows reach
//! the result only with its values; a term of ON goes to the side whose rows need a partner:
//!
//! | join | WHERE on left | WHERE on right | ON left only | ON right only |
//! |---|---|---|---|---|
//! | inner | down | down | down | down |
//! | left | down | above | in the join | down |
//! | right | above | down | down | in the join |
//! | full | above | above | in the join | in the join |
//! | semi | down | - | down | down |
//! | anti | down | - | in the join | down |
//!
//! Terms `left = right` are the join's keys, whichever clause of an inner join has them; others
//! that use both sides are tested on pairs. The side with fewer rows is built, as far as the kind
//! of join leaves the choice.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::plan::{HashJoinNode, JoinType, PlanNode};
use vector::sync::Arc;
use vector::{Result, RowType};

use super::build::Builder;
use super::from::Relation;

/// Joins as SQL has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    LeftSemi,
    LeftAnti,
    RightSemi,
    RightAnti,
}

/// A set of tables, a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tables(u64);

impl Tables {
    fn has_all(self, other: Tables) -> bool {
        other.0 & !self.0 == 0
    }

    fn joined(self, other: Tables) -> Tables {
        Tables(self.0 | other.0)
    }
}

/// Tables and joins, with the terms that are tested at each.
#[derive(Debug)]
pub(super) struct Tree {
    tables: Tables,
    source: Source,
    /// Terms over the rows that come out: pushed into the scan, or a filter above the join.
    terms: Vec<TypedExpr>,
    /// Rows that come out, about.
    num_rows: u64,
}

#[derive(Debug)]
enum Source {
    Table(usize),
    Join { kind: JoinType, left: Box<Tree>, right: Box<Tree>, on: Vec<TypedExpr> },
}

impl Tree {
    /// Table `index` of the statement.
    pub(super) fn table(index: usize) -> Self {
        let tables = Tables(1 << index);
        Tree { tables, source: Source::Table(index), terms: Vec::new(), num_rows: 0 }
    }

    /// Two trees joined; each term goes where it belongs.
    pub(super) fn join(
        kind: JoinKind,
        left: Tree,
        right: Tree,
        terms: Vec<TypedExpr>,
        relations: &[Relation],
    ) -> Self {
        let (kind, mut left, mut right) = match kind {
            JoinKind::Inner => (JoinType::Inner, left, right),
            JoinKind::Left => (JoinType::Left, left, right),
            JoinKind::Right => (JoinType::Right, left, right),
            JoinKind::Full => (JoinType::Full, left, right),
            JoinKind::LeftSemi => (JoinType::LeftSemiFilter, left, right),
            JoinKind::LeftAnti => (JoinType::Anti, left, right),
            JoinKind::RightSemi => (JoinType::LeftSemiFilter, right, left),
            JoinKind::RightAnti => (JoinType::Anti, right, left),
        };
        use JoinType::{Anti, Inner, Left, LeftSemiFilter, Right};
        let mut on = Vec::new();
        for term in terms {
            let used = tables_of(&term, relations);
            // Rows of a side that need a partner may lack it early.
            let needs_left = matches!(kind, Inner | Right | LeftSemiFilter);
            let needs_right = matches!(kind, Inner | Left | LeftSemiFilter | Anti);
            if needs_right && right.tables.has_all(used) {
                right.push_down(term, relations);
            } else if needs_left && left.tables.has_all(used) {
                left.push_down(term, relations);
            } else {
                on.push(term);
            }
        }
        let tables = left.tables.joined(right.tables);
        let (left, right) = (Box::new(left), Box::new(right));
        let source = Source::Join { kind, left, right, on };
        Tree { tables, source, terms: Vec::new(), num_rows: 0 }
    }

    /// Puts a term of WHERE as far down as it may go.
    pub(super) fn push_down(&mut self, term: TypedExpr, relations: &[Relation]) {
        use JoinType::{Anti, Inner, Left, LeftSemiFilter, Right};
        let used = tables_of(&term, relations);
        if let Source::Join { kind, left, right, on } = &mut self.source {
            if matches!(kind, Inner | Left | LeftSemiFilter | Anti) && left.tables.has_all(used) {
                return left.push_down(term, relations);
            }
            if matches!(kind, Inner | Right) && right.tables.has_all(used) {
                return right.push_down(term, relations);
            }
            if *kind == Inner {
                return on.push(term);
            }
        }
        self.terms.push(term);
    }

    /// Estimates the rows of all nodes from those of the tables.
    fn estimate(&mut self, relations: &[Relation]) -> Result<()> {
        self.num_rows = match &mut self.source {
            Source::Table(index) => match relations.get(*index) {
                Some(relation) => relation.table.estimated_rows()?,
                None => 0,
            },
            Source::Join { kind, left, right, on } => {
                left.estimate(relations)?;
                right.estimate(relations)?;
                match kind {
                    JoinType::LeftSemiFilter | JoinType::Anti => left.num_rows,
                    _ if on.is_empty() => left.num_rows.saturating_mul(right.num_rows),
                    // Most joins follow a key from many rows to one.
                    _ => left.num_rows.max(right.num_rows),
                }
            }
        };
        Ok(())
    }
}

/// The tables whose columns an expression uses.
fn tables_of(expr: &TypedExpr, relations: &[Relation]) -> Tables {
    let names: HashSet<&str> = expr.field_names().into_iter().collect();
    let uses = |relation: &Relation| relation.fields.iter().any(|field| names.contains(&**field));
    let used = relations.iter().enumerate().filter(|(_, relation)| uses(relation));
    Tables(used.fold(0, |bits, (i, _)| bits | 1 << i))
}

impl Builder {
    /// The rows of all tables, joined and filtered: `used` is what the nodes above need.
    pub(super) fn tree(
        &mut self,
        mut tree: Tree,
        relations: &[Relation],
        used: &[&TypedExpr],
    ) -> Result<()> {
        // Of a single table nobody asks.
        if matches!(tree.source, Source::Join { .. }) {
            tree.estimate(relations)?;
        }
        self.subtree(&tree, relations, used)
    }

    fn subtree(&mut self, tree: &Tree, relations: &[Relation], used: &[&TypedExpr]) -> Result<()> {
        let terms = TypedExpr::and(tree.terms.clone());
        let (kind, left, right, on) = match &tree.source {
            Source::Table(index) => match relations.get(*index) {
                Some(relation) => return self.scan(relation, terms, used),
                None => return Err(vector::Error::internal("a join of an unknown table")),
            },
            Source::Join { kind, left, right, on } => (*kind, left, right, on),
        };
        let above: Vec<&TypedExpr> = used.iter().copied().chain(&terms).collect();
        let mut keys = (Vec::new(), Vec::new());
        let mut rest = Vec::new();
        for term in on {
            match key_pair(term, left.tables, right.tables, relations) {
                Some((l, r)) => {
                    keys.0.push(l);
                    keys.1.push(r);
                }
                None => rest.push(term.clone()),
            }
        }
        let filter = TypedExpr::and(rest);
        let (probe, build, kind, keys) = match swapped(kind) {
            // The table is made of the smaller side.
            Some(kind) if left.num_rows < right.num_rows => (right, left, kind, (keys.1, keys.0)),
            _ => (left, right, kind, keys),
        };
        let id = self.id();
        let below = |keys: &[TypedExpr]| -> Vec<TypedExpr> {
            above.iter().copied().chain(&filter).cloned().chain(keys.to_vec()).collect()
        };
        let (probe_used, build_used) = (below(&keys.0), below(&keys.1));
        self.subtree(probe, relations, &probe_used.iter().collect::<Vec<_>>())?;
        let left_keys = self.key_columns(&keys.0, relations)?;
        let probe = self.take()?;
        self.subtree(build, relations, &build_used.iter().collect::<Vec<_>>())?;
        let right_keys = self.key_columns(&keys.1, relations)?;
        let build = self.take()?;

        let wanted: HashSet<&str> = above.iter().flat_map(|expr| expr.field_names()).collect();
        let given = |node: &Arc<PlanNode>, gives: bool| -> Vec<(String, vector::Type)> {
            let fields = node.output_type().fields();
            let fields = fields.filter(|(name, _)| gives && wanted.contains(name));
            fields.map(|(name, ty)| (name.to_string(), ty.clone())).collect()
        };
        let mut fields = given(&probe, kind.gives_left());
        fields.extend(given(&build, kind.gives_right()));
        self.push(PlanNode::HashJoin(HashJoinNode {
            id,
            join_type: kind,
            null_aware: false,
            left: probe,
            right: build,
            left_keys,
            right_keys,
            filter,
            output_type: Arc::new(RowType::new(fields)),
        }));
        if let Some(terms) = terms {
            self.filter(terms);
        }
        Ok(())
    }
}

/// The same join with its sides changed, if there is one.
fn swapped(kind: JoinType) -> Option<JoinType> {
    Some(match kind {
        JoinType::Inner => JoinType::Inner,
        JoinType::Left => JoinType::Right,
        JoinType::Right => JoinType::Left,
        JoinType::Full => JoinType::Full,
        JoinType::LeftSemiFilter => JoinType::RightSemiFilter,
        JoinType::RightSemiFilter => JoinType::LeftSemiFilter,
        JoinType::LeftSemiProject | JoinType::RightSemiProject | JoinType::Anti => return None,
    })
}

/// The sides of a term `left = right`, if each uses one side of the join only.
fn key_pair(
    term: &TypedExpr,
    left: Tables,
    right: Tables,
    relations: &[Relation],
) -> Option<(TypedExpr, TypedExpr)> {
    let TypedExpr::Call { name, args, .. } = term else { return None };
    let ("eq", [a, b]) = (&**name, args.as_slice()) else { return None };
    let (of_a, of_b) = (tables_of(a, relations), tables_of(b, relations));
    let none = Tables(0);
    if of_a == none || of_b == none || a.ty() != b.ty() {
        return None;
    }
    if left.has_all(of_a) && right.has_all(of_b) {
        return Some((a.clone(), b.clone()));
    }
    (left.has_all(of_b) && right.has_all(of_a)).then(|| (b.clone(), a.clone()))
}
