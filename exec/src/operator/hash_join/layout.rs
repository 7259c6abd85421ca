//! The layout of a join: resolves the column names of the plan to channels of both sides.

use vector::sync::Arc;
use vector::{Error, Result, RowType};

use dwio::expr::TypedExpr;

use crate::operator::channel_of;
use crate::plan::HashJoinNode;

/// The origin of an output column or of a filter input column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The channel of the probe side's batches with this index.
    Left(usize),
    /// The kept column of the table with this position.
    Right(usize),
    /// The match column of a semi project join.
    Match,
}

/// The filter over pairs of rows, with the columns that it reads.
#[derive(Debug)]
pub(super) struct FilterLayout {
    pub(super) predicate: TypedExpr,
    pub(super) input_type: Arc<RowType>,
    pub(super) columns: Vec<Origin>,
}

/// The channels and types of a join's columns, for the build and the probe operators.
#[derive(Debug)]
pub(super) struct Layout {
    /// Channels of the keys in the probe side's batches.
    pub(super) left_keys: Vec<usize>,
    /// Channels of the build side that the table keeps: its keys, and the columns that the output
    /// or the filter reads.
    pub(super) kept: Vec<usize>,
    pub(super) kept_type: Arc<RowType>,
    /// Positions of the keys among the kept columns.
    pub(super) right_keys: Vec<usize>,
    pub(super) output: Vec<Origin>,
    pub(super) filter: Option<FilterLayout>,
}

impl Layout {
    /// Returns the layout of `node`, after checking the node.
    ///
    /// # Errors
    ///
    /// `InvalidInput` when the node is inconsistent, `Unsupported` when no operator implements the
    /// join, and `Internal` when a column does not exist, or when the filter reads a column that is
    /// not in exactly one of the sources.
    pub(super) fn of(node: &HashJoinNode) -> Result<Self> {
        node.check()?;
        let (left, right) = (node.left.output_type(), node.right.output_type());
        let mut kept: Vec<usize> = Vec::new();
        let mut keep = |name: &str| {
            let channel = channel_of(right, name)?;
            Ok::<_, Error>(kept.iter().position(|k| *k == channel).unwrap_or_else(|| {
                kept.push(channel);
                kept.len() - 1
            }))
        };
        let left_keys = node.left_keys.iter().map(|key| channel_of(left, key));
        let left_keys = left_keys.collect::<Result<_>>()?;
        let right_keys = node.right_keys.iter().map(|key| keep(key));
        let right_keys = right_keys.collect::<Result<_>>()?;
        let answer = usize::from(node.join_type.gives_match());
        let num_columns = node.output_type.len().saturating_sub(answer);
        let mut output = Vec::with_capacity(node.output_type.len());
        for name in node.output_type.names().iter().take(num_columns) {
            let of_left = left.index_of(name).filter(|_| node.join_type.gives_left());
            output.push(match of_left {
                Some(channel) => Origin::Left(channel),
                None => Origin::Right(keep(name)?),
            });
        }
        output.extend(node.join_type.gives_match().then_some(Origin::Match));
        let filter = node.filter.as_ref().map(|predicate| {
            let mut columns = Vec::new();
            let mut fields = Vec::new();
            for name in predicate.field_names() {
                let (origin, ty) = match (left.index_of(name), right.index_of(name)) {
                    (Some(channel), None) => (Origin::Left(channel), left.type_of(name)),
                    (None, Some(_)) => (Origin::Right(keep(name)?), right.type_of(name)),
                    _ => {
                        return Err(Error::internal(
                            "a join's filter uses a column that is not of one source",
                        )
                        .with("column", name));
                    }
                };
                columns.push(origin);
                fields.extend(ty.map(|ty| (name.to_string(), ty.clone())));
            }
            let input_type = Arc::new(RowType::new(fields));
            Ok(FilterLayout { predicate: predicate.clone(), input_type, columns })
        });
        let filter = filter.transpose()?;
        let fields = kept.iter().filter_map(|channel| right.fields().nth(*channel));
        let kept_type = Arc::new(RowType::new(
            fields.map(|(name, ty)| (name.to_string(), ty.clone())).collect::<Vec<_>>(),
        ));
        Ok(Layout { left_keys, kept, kept_type, right_keys, output, filter })
    }

    /// Returns true when the output has a column of the build side.
    pub(super) fn gives_right(&self) -> bool {
        self.output.iter().any(|origin| matches!(origin, Origin::Right(_)))
    }

    /// Returns the channels of the probe side that the output or the filter reads, each once.
    pub(super) fn left_used(&self) -> Vec<usize> {
        let filter = self.filter.iter().flat_map(|filter| &filter.columns);
        let mut channels: Vec<usize> = Vec::new();
        for origin in self.output.iter().chain(filter) {
            if let Origin::Left(channel) = origin
                && !channels.contains(channel)
            {
                channels.push(*channel);
            }
        }
        channels
    }
}
