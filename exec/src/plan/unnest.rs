//! Unnest: a row for each element of arrays and maps.

use std::fmt;

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::{FilterOrigin, NodeInfo, Parallelism, PlanNode, PlanNodeId};

/// See [`PlanNode::Unnest`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct UnnestNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    /// Columns of the source that are repeated for each element.
    pub replicated: Vec<String>,
    /// Columns of the source, arrays and maps, that are expanded in parallel; shorter ones are
    /// padded with nulls.
    pub unnested: Vec<String>,
    /// Whether the last output column is the ordinality, which numbers the elements of a row from
    /// 1.
    pub with_ordinality: bool,
    /// Whether a row without elements returns one row, with nulls for its element.
    pub keeps_empty: bool,
    /// The replicated columns, then one column for each array and two for each map, then the
    /// ordinality.
    pub output_type: Arc<RowType>,
}

impl UnnestNode {
    /// Creates a node that expands columns of `source`. `names` are the names of the new columns;
    /// one additional name is that of the ordinality.
    ///
    /// # Errors
    /// `InvalidInput` for unknown columns, columns that are neither arrays nor maps, and a wrong
    /// number of names.
    pub fn new(
        id: PlanNodeId,
        source: Arc<PlanNode>,
        replicated: Vec<String>,
        unnested: Vec<String>,
        names: Vec<String>,
    ) -> Result<Self> {
        let input = source.output_type();
        let wrong = |message: &'static str| Error::invalid_input(message).with("node", &id);
        let type_of = |name: &String| {
            let ty = input.type_of(name).cloned();
            ty.ok_or_else(|| wrong("an unnest of an unknown column").with("column", name))
        };
        let mut fields = Vec::new();
        for name in &replicated {
            fields.push((name.clone(), type_of(name)?));
        }
        let mut types = Vec::new();
        for name in &unnested {
            match type_of(name)? {
                Type::Array(element) => types.push((*element).clone()),
                Type::Map(key, value) => types.extend([(*key).clone(), (*value).clone()]),
                other => {
                    return Err(wrong("only arrays and maps can be unnested")
                        .with("column", name)
                        .with("type", other));
                }
            }
        }
        let with_ordinality = names.len() == types.len() + 1;
        if with_ordinality {
            types.push(Type::BigInt);
        }
        if unnested.is_empty() || names.len() != types.len() {
            return Err(wrong("an unnest has another number of columns than of names")
                .with("columns", types.len())
                .with("names", names.len()));
        }
        fields.extend(names.into_iter().zip(types));
        let output_type = Arc::new(RowType::new(fields));
        let keeps_empty = false;
        Ok(UnnestNode {
            id,
            source,
            replicated,
            unnested,
            with_ordinality,
            keeps_empty,
            output_type,
        })
    }

    /// Returns the same node with `keeps_empty` set to `yes`.
    pub fn keeping_empty(self, yes: bool) -> Self {
        UnnestNode { keeps_empty: yes, ..self }
    }
}

impl NodeInfo for UnnestNode {
    fn id(&self) -> &PlanNodeId {
        &self.id
    }

    fn name(&self) -> &'static str {
        "Unnest"
    }

    fn output_type(&self) -> &Arc<RowType> {
        &self.output_type
    }

    fn sources(&self) -> Vec<&Arc<PlanNode>> {
        vec![&self.source]
    }

    fn parallelism(&self) -> Parallelism {
        Parallelism::RowWise
    }

    fn can_drain(&self) -> bool {
        true
    }

    fn filter_origin(&self, channel: usize) -> FilterOrigin<'_> {
        self.replicated.get(channel).map_or(FilterOrigin::None, FilterOrigin::source)
    }

    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}", self.unnested.join(", "))?;
        f.write_str(if self.with_ordinality { " with ordinality" } else { "" })?;
        f.write_str(if self.keeps_empty { ", keeping rows without elements]" } else { "]" })
    }
}
