//! The hash join: combines the matching rows of two sources.
//!
//! The left source is the probe side, which is streamed; the right source is the build side, which
//! is kept in a hash table. Output by join type:
//!
//! | type | rows |
//! |---|---|
//! | inner | matching pairs |
//! | left, right, full | matching pairs, and the rows of that side (of both) without a match |
//! | left semi filter, right semi filter | the rows of one side that have a match, once |
//! | left semi project, right semi project | every row of one side, and whether it has a match |
//! | anti | the rows of the left side without a match |
//!
//! A null key does not match. A *null-aware* join has the semantics of IN and NOT IN: where a null
//! could be the missing match, the result is unknown. A filter drops such a row, and a project
//! returns null for it.

use std::fmt;

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use dwio::expr::TypedExpr;

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// Type of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinType {
    Inner,
    Left,
    Right,
    Full,
    LeftSemiFilter,
    LeftSemiProject,
    RightSemiFilter,
    RightSemiProject,
    Anti,
}

impl JoinType {
    /// Returns true when the output has columns of the probe side.
    pub fn gives_left(self) -> bool {
        !matches!(self, JoinType::RightSemiFilter | JoinType::RightSemiProject)
    }

    /// Returns true when the output has columns of the build side.
    pub fn gives_right(self) -> bool {
        !matches!(self, JoinType::LeftSemiFilter | JoinType::LeftSemiProject | JoinType::Anti)
    }

    /// Returns true when the last output column is the match flag.
    pub fn gives_match(self) -> bool {
        matches!(self, JoinType::LeftSemiProject | JoinType::RightSemiProject)
    }

    /// Returns true when rows of the build side are returned after the end of the probe side.
    pub fn gives_right_at_end(self) -> bool {
        matches!(
            self,
            JoinType::Right
                | JoinType::Full
                | JoinType::RightSemiFilter
                | JoinType::RightSemiProject
        )
    }

    /// Returns true when a probe row without a match does not affect the output, so that a dynamic
    /// filter may exclude it from the scan (rule S12.3).
    pub fn drops_unmatched_left(self) -> bool {
        matches!(
            self,
            JoinType::Inner
                | JoinType::Right
                | JoinType::LeftSemiFilter
                | JoinType::RightSemiFilter
                | JoinType::RightSemiProject
        )
    }
}

impl fmt::Display for JoinType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JoinType::Inner => "INNER",
            JoinType::Left => "LEFT",
            JoinType::Right => "RIGHT",
            JoinType::Full => "FULL",
            JoinType::LeftSemiFilter => "LEFT SEMI (FILTER)",
            JoinType::LeftSemiProject => "LEFT SEMI (PROJECT)",
            JoinType::RightSemiFilter => "RIGHT SEMI (FILTER)",
            JoinType::RightSemiProject => "RIGHT SEMI (PROJECT)",
            JoinType::Anti => "ANTI",
        })
    }
}

/// See [`PlanNode::HashJoin`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct HashJoinNode {
    pub id: PlanNodeId,
    pub join_type: JoinType,
    /// Whether the join has the semantics of IN and NOT IN; for semi project and anti joins with
    /// one key.
    pub null_aware: bool,
    /// Probe side.
    pub left: Arc<PlanNode>,
    /// Build side.
    pub right: Arc<PlanNode>,
    /// Key columns of the left source; left key `i` must equal right key `i`. Without keys, all
    /// pairs of rows match.
    pub left_keys: Vec<String>,
    /// Key columns of the right source, with the types of the left keys.
    pub right_keys: Vec<String>,
    /// BOOLEAN expression over the columns of both sources, which must have different names. Pairs
    /// for which it is not true do not match.
    pub filter: Option<TypedExpr>,
    /// Columns of either source by name, and for a semi project the match flag as the last column.
    pub output_type: Arc<RowType>,
}

impl HashJoinNode {
    /// Checks the properties that operators rely on.
    ///
    /// # Errors
    /// `InvalidInput` for an inconsistent node, `Unsupported` for a join that no operator
    /// implements.
    pub fn check(&self) -> Result<()> {
        let (left, right) = (self.left.output_type(), self.right.output_type());
        let type_of = |input: &Arc<RowType>, key: &String| input.type_of(key).cloned();
        let types = |input, keys: &[String]| -> Vec<Option<Type>> {
            keys.iter().map(|key| type_of(input, key)).collect()
        };
        let (left_types, right_types) =
            (types(left, &self.left_keys), types(right, &self.right_keys));
        let known = left_types.iter().all(Option::is_some);
        if left_types != right_types || !known {
            return Err(self.wrong("the keys of a join are not columns of the same types"));
        }
        let answers = matches!(
            self.join_type,
            JoinType::Anti | JoinType::LeftSemiProject | JoinType::RightSemiProject
        );
        if self.null_aware && (!answers || self.left_keys.len() != 1) {
            return Err(self.wrong("a null aware join is a semi project or anti join of one key"));
        }
        if self.null_aware && self.filter.is_some() && self.join_type == JoinType::RightSemiProject
        {
            return Err(Error::unsupported(
                "a null aware right semi project join with a filter is not supported",
            )
            .with("node", &self.id));
        }
        let answer = usize::from(self.join_type.gives_match());
        let num_columns = self.output_type.len().saturating_sub(answer);
        for (name, ty) in self.output_type.fields().take(num_columns) {
            let of_left = self.join_type.gives_left() && left.type_of(name) == Some(ty);
            let of_right = self.join_type.gives_right() && right.type_of(name) == Some(ty);
            if of_left == of_right {
                return Err(self
                    .wrong("an output column of a join is not a column of one source")
                    .with("column", name));
            }
        }
        let last = self.output_type.types().last();
        if self.join_type.gives_match() && last != Some(&Type::Boolean) {
            return Err(self.wrong("a semi project join has no column for its answer"));
        }
        Ok(())
    }

    fn wrong(&self, message: &'static str) -> Error {
        Error::invalid_input(message).with("node", &self.id).with("join", self.join_type)
    }
}

impl NodeInfo for HashJoinNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "HashJoin"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    /// The probe side, then the build side.
    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.left, &self.right]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::Special
    }

    /// Not through joins that add rows whose key is null: no scan returns those.
    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        let keeps_left = self.join_type.gives_left() && !self.join_type.gives_right_at_end();
        match self.output_type.names().get(channel) {
            Some(name) if keeps_left => FilterOrigin::source(name),
            _ => FilterOrigin::None,
        }
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.join_type)?;
        if self.null_aware {
            f.write_str(" null aware")?;
        }
        for (left, right) in self.left_keys.iter().zip(&self.right_keys) {
            write!(f, ", {left} = {right}")?;
        }
        match &self.filter {
            Some(filter) => write!(f, ", {filter}]"),
            None => f.write_str("]"),
        }
    }
}
