//! Builds the nodes of a tree of relations: scans, subqueries, joins, unnests.
//!
//! Terms `left = right` of a join become its keys; other terms that use both sides are tested on
//! pairs of rows. The side with fewer rows is the build side, as far as the join kind permits.

use std::collections::HashSet;

use dwio::expr::TypedExpr;
use exec::plan::{HashJoinNode, JoinType, PlanNode, UnnestNode};
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::build::Builder;
use super::relations::Relation;
use super::tree::{Join, Source, Tree, used_by};

impl Builder<'_> {
    /// Builds the rows of all relations, joined and filtered; `used` are the expressions of the
    /// nodes above.
    pub(super) fn tree(
        &mut self,
        mut tree: Tree,
        relations: &[Relation],
        used: &[&TypedExpr],
    ) -> Result<()> {
        // The row count of a single table is not needed.
        if !matches!(tree.source, Source::Relation(_)) {
            tree.estimate(relations)?;
        }
        self.subtree(&tree, relations, used)
    }

    fn subtree(&mut self, tree: &Tree, relations: &[Relation], used: &[&TypedExpr]) -> Result<()> {
        let terms = TypedExpr::and(tree.terms.clone());
        let above: Vec<&TypedExpr> = used.iter().copied().chain(&terms).collect();
        match &tree.source {
            Source::Relation(index) => match relations.get(*index) {
                Some(relation) => return self.relation(relation, terms, used),
                None => return Err(Error::internal("a join of an unknown relation")),
            },
            Source::OneRow => self.one_row()?,
            Source::Join(join) => self.join(join, relations, &above)?,
            Source::Unnest { input, relation, lists, keeps_empty } => {
                let Some(added) = relations.get(*relation) else {
                    return Err(Error::internal("an unnest into an unknown relation"));
                };
                let id = self.id();
                let below: Vec<&TypedExpr> = above.iter().copied().chain(lists).collect();
                self.subtree(input, relations, &below)?;
                let lists = self.key_columns(lists, relations)?;
                let source = self.take()?;
                let wanted = field_names(&above);
                let replicated = source.output_type().names().iter();
                let replicated = replicated.filter(|name| wanted.contains(name.as_str()));
                let replicated = replicated.cloned().collect();
                let names = added.fields.iter().map(ToString::to_string).collect();
                let node = UnnestNode::new(id, source, replicated, lists, names)?;
                self.push(PlanNode::Unnest(node.keeping_empty(*keeps_empty)));
            }
        }
        if let Some(terms) = terms {
            self.filter(terms);
        }
        Ok(())
    }

    fn join(&mut self, join: &Join, relations: &[Relation], above: &[&TypedExpr]) -> Result<()> {
        let Join { left, right, .. } = join;
        let mut keys = (Vec::new(), Vec::new());
        let mut rest = Vec::new();
        if let Some((l, r)) = &join.in_pair {
            keys.0.push(l.clone());
            keys.1.push(r.clone());
        }
        for term in &join.on {
            match key_pair(term, left, right, relations).filter(|_| join.in_pair.is_none()) {
                Some((l, r)) => {
                    keys.0.push(l);
                    keys.1.push(r);
                }
                None => rest.push(term.clone()),
            }
        }
        let filter = TypedExpr::and(rest);
        let (probe, build, kind, keys) = match swapped(join.kind) {
            // The hash table is built of the smaller side.
            Some(kind) if left.num_rows() < right.num_rows() => {
                (right, left, kind, (keys.1, keys.0))
            }
            _ => (left, right, join.kind, keys),
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

        let wanted = field_names(above);
        let given = |node: &Arc<PlanNode>, gives: bool| -> Vec<(String, Type)> {
            let fields = node.output_type().fields();
            let fields = fields.filter(|(name, _)| gives && wanted.contains(name));
            fields.map(|(name, ty)| (name.to_string(), ty.clone())).collect()
        };
        let mut fields = given(&probe, kind.gives_left());
        if kind.gives_match() {
            let mark = join.mark.and_then(|mark| relations.get(mark)?.fields.first());
            let mark = mark.ok_or_else(|| Error::internal("a semi join without its answer"))?;
            fields.push((mark.to_string(), Type::Boolean));
        } else {
            fields.extend(given(&build, kind.gives_right()));
        }
        self.push(PlanNode::HashJoin(HashJoinNode {
            id,
            join_type: kind,
            null_aware: join.in_pair.is_some(),
            left: probe,
            right: build,
            left_keys,
            right_keys,
            filter,
            output_type: Arc::new(RowType::new(fields)),
        }));
        Ok(())
    }
}

fn field_names<'a>(exprs: &[&'a TypedExpr]) -> HashSet<&'a str> {
    exprs.iter().flat_map(|expr| expr.field_names()).collect()
}

/// Returns the join kind that is equivalent after the sides are swapped, if there is one.
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

/// Returns the operands of a term `left = right`, if each uses one side of the join only.
fn key_pair(
    term: &TypedExpr,
    left: &Tree,
    right: &Tree,
    relations: &[Relation],
) -> Option<(TypedExpr, TypedExpr)> {
    let TypedExpr::Call { name, args, .. } = term else { return None };
    let ("eq", [a, b]) = (&**name, args.as_slice()) else { return None };
    let (of_a, of_b) = (used_by(a, relations), used_by(b, relations));
    if of_a.is_none() || of_b.is_none() || a.ty() != b.ty() {
        return None;
    }
    if left.relations.has_all(of_a) && right.relations.has_all(of_b) {
        return Some((a.clone(), b.clone()));
    }
    (left.relations.has_all(of_b) && right.relations.has_all(of_a)).then(|| (b.clone(), a.clone()))
}
