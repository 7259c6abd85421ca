//! The tree of relations and joins, which decides where each condition is tested.
//!
//! A term of WHERE is pushed down to the side whose columns it uses, as long as each row of that
//! side reaches the result only with its own values. A term of ON is pushed to a side if the rows
//! of that side are dropped when they have no match:
//!
//! | join | WHERE on left | WHERE on right | ON left only | ON right only |
//! |---|---|---|---|---|
//! | inner | down | down | down | down |
//! | left | down | above | in the join | down |
//! | right | above | down | down | in the join |
//! | full | above | above | in the join | in the join |
//! | semi | down | - | down | down |
//! | anti, semi project | down | - | in the join | down |
//! | unnest | down | above | | |
//!
//! Terms of an inner join are the same in either clause.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::plan::JoinType;
use vector::Result;

use super::relations::Relation;

/// Kinds of joins that SQL can express.
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

/// A set of relations, with one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relations(u64);

impl Relations {
    const NONE: Relations = Relations(0);

    fn one(index: usize) -> Self {
        Relations(1 << index)
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    pub(super) fn has_all(self, other: Relations) -> bool {
        other.0 & !self.0 == 0
    }

    fn joined(self, other: Relations) -> Relations {
        Relations(self.0 | other.0)
    }
}

/// Returns the relations whose columns an expression uses.
pub(super) fn used_by(expr: &TypedExpr, relations: &[Relation]) -> Relations {
    let names: HashSet<&str> = expr.field_names().into_iter().collect();
    let uses = |relation: &Relation| relation.fields.iter().any(|field| names.contains(&**field));
    let used = relations.iter().enumerate().filter(|(_, relation)| uses(relation));
    used.fold(Relations::NONE, |all, (i, _)| all.joined(Relations::one(i)))
}

/// A tree of relations and joins, with the terms that are tested at each node.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub(super) relations: Relations,
    pub(super) source: Source,
    /// Terms over the output rows: pushed into the scan, or tested by a filter above the node.
    pub(super) terms: Vec<TypedExpr>,
    /// Estimated number of output rows.
    num_rows: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    /// A row without columns.
    OneRow,
    /// A relation of the query.
    Relation(usize),
    Join(Box<Join>),
    /// A row of `input` for each element of `lists`, whose elements are a relation.
    Unnest {
        input: Box<Tree>,
        relation: usize,
        lists: Vec<TypedExpr>,
        /// True when rows of `input` without elements are kept, as in a left join.
        keeps_empty: bool,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Join {
    pub(super) kind: JoinType,
    pub(super) left: Tree,
    pub(super) right: Tree,
    /// Terms that pairs of rows must meet.
    pub(super) on: Vec<TypedExpr>,
    /// Operands that IN compares, when the result depends on nulls among them; a part of the
    /// condition.
    pub(super) in_pair: Option<(TypedExpr, TypedExpr)>,
    /// Relation of the mark column, which states whether a left row has a match.
    pub(super) mark: Option<usize>,
}

impl Tree {
    fn new(relations: Relations, source: Source) -> Self {
        Tree { relations, source, terms: Vec::new(), num_rows: 0 }
    }

    /// Returns a tree of one row without columns.
    pub(super) fn one_row() -> Self {
        Self::new(Relations::NONE, Source::OneRow)
    }

    /// Returns the tree of relation `index` of the query.
    pub(super) fn relation(index: usize) -> Self {
        Self::new(Relations::one(index), Source::Relation(index))
    }

    /// Returns the elements of `lists`, which are relation `index`, joined to the rows of `input`;
    /// with `keeps_empty`, rows without elements are kept.
    pub(super) fn unnest(
        input: Tree,
        index: usize,
        lists: Vec<TypedExpr>,
        keeps_empty: bool,
    ) -> Self {
        let relations = input.relations.joined(Relations::one(index));
        let input = Box::new(input);
        let source = Source::Unnest { input, relation: index, lists, keeps_empty };
        Self::new(relations, source)
    }

    /// Joins two trees; each term is placed where it is tested earliest.
    pub(super) fn join(
        kind: JoinKind,
        left: Tree,
        right: Tree,
        terms: Vec<TypedExpr>,
        relations: &[Relation],
    ) -> Self {
        let (kind, left, right) = match kind {
            JoinKind::Inner => (JoinType::Inner, left, right),
            JoinKind::Left => (JoinType::Left, left, right),
            JoinKind::Right => (JoinType::Right, left, right),
            JoinKind::Full => (JoinType::Full, left, right),
            JoinKind::LeftSemi => (JoinType::LeftSemiFilter, left, right),
            JoinKind::LeftAnti => (JoinType::Anti, left, right),
            JoinKind::RightSemi => (JoinType::LeftSemiFilter, right, left),
            JoinKind::RightAnti => (JoinType::Anti, right, left),
        };
        let on = Vec::new();
        Self::joined(Join { kind, left, right, on, in_pair: None, mark: None }, terms, relations)
    }

    /// Places the terms of a join that has none yet.
    pub(super) fn joined(mut join: Join, terms: Vec<TypedExpr>, relations: &[Relation]) -> Self {
        use JoinType::{Anti, Inner, Left, LeftSemiFilter, LeftSemiProject, Right};
        for term in terms {
            let used = used_by(&term, relations);
            // Rows of a side that are dropped without a match may be filtered before the join.
            let needs_left = matches!(join.kind, Inner | Right | LeftSemiFilter);
            let needs_right =
                matches!(join.kind, Inner | Left | LeftSemiFilter | LeftSemiProject | Anti);
            if needs_right && join.right.relations.has_all(used) {
                join.right.push_down(term, relations);
            } else if needs_left && join.left.relations.has_all(used) {
                join.left.push_down(term, relations);
            } else {
                join.on.push(term);
            }
        }
        let mark = join.mark.map_or(Relations::NONE, Relations::one);
        let both = join.left.relations.joined(join.right.relations).joined(mark);
        Self::new(both, Source::Join(Box::new(join)))
    }

    /// Pushes a term of WHERE as far down as the result permits.
    pub(super) fn push_down(&mut self, term: TypedExpr, relations: &[Relation]) {
        use JoinType::{Anti, Inner, Left, LeftSemiFilter, LeftSemiProject, Right};
        let used = used_by(&term, relations);
        match &mut self.source {
            Source::Join(join) => {
                let Join { kind, left, right, on, .. } = &mut **join;
                let keeps_left =
                    matches!(kind, Inner | Left | LeftSemiFilter | LeftSemiProject | Anti);
                if keeps_left && left.relations.has_all(used) {
                    return left.push_down(term, relations);
                }
                if matches!(kind, Inner | Right) && right.relations.has_all(used) {
                    return right.push_down(term, relations);
                }
                if *kind == Inner {
                    return on.push(term);
                }
            }
            Source::Unnest { input, .. } if input.relations.has_all(used) => {
                return input.push_down(term, relations);
            }
            Source::Unnest { .. } | Source::Relation(_) | Source::OneRow => {}
        }
        self.terms.push(term);
    }

    /// Returns the estimated number of output rows; valid after [`Tree::estimate`].
    pub(super) fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Estimates the output rows of all nodes from those of the relations.
    pub(super) fn estimate(&mut self, relations: &[Relation]) -> Result<()> {
        self.num_rows = match &mut self.source {
            Source::OneRow => 1,
            Source::Relation(index) => match relations.get(*index) {
                Some(relation) => relation.estimated_rows()?,
                None => 0,
            },
            Source::Unnest { input, .. } => {
                input.estimate(relations)?;
                input.num_rows
            }
            Source::Join(join) => {
                join.left.estimate(relations)?;
                join.right.estimate(relations)?;
                let (left, right) = (join.left.num_rows, join.right.num_rows);
                match join.kind {
                    JoinType::LeftSemiFilter | JoinType::LeftSemiProject | JoinType::Anti => left,
                    _ if join.on.is_empty() => left.saturating_mul(right),
                    // Most joins follow a foreign key from many rows to one.
                    _ => left.max(right),
                }
            }
        };
        Ok(())
    }
}
