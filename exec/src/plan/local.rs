//! Nodes that say how rows of several drivers meet, and nodes that change how many rows there are.
//!
//! ```text
//! LocalPartition    all rows of all sources, spread over drivers          (UNION ALL)
//! LocalMerge        all rows of sorted sources, in order
//! Unnest            a row for each element of arrays and maps
//! EnforceSingleRow  the one row of a source that must not have more       (scalar subqueries)
//! ```
//!
//! How rows are spread never changes which there are, so a plan without the first two is as good
//! as one with them: [`Task`](crate::Task) puts in the exchanges that its drivers need.

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::{PlanNode, PlanNodeId, SortKey};

/// Which driver gets a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partitioning {
    /// One driver gets all.
    Gather,
    /// The drivers get batches in turn.
    RoundRobin,
    /// Rows with equal values in these columns come to the same driver.
    Hash(Vec<String>),
}

/// See [`PlanNode::LocalPartition`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LocalPartitionNode {
    pub id: PlanNodeId,
    /// At least one; all have the same columns.
    pub sources: Vec<Arc<PlanNode>>,
    pub partitioning: Partitioning,
    pub output_type: Arc<RowType>,
}

impl LocalPartitionNode {
    /// The rows of `sources`, spread as `partitioning` says; `InvalidInput` when their columns
    /// differ.
    pub fn new(
        id: PlanNodeId,
        sources: Vec<Arc<PlanNode>>,
        partitioning: Partitioning,
    ) -> Result<Self> {
        let output_type = common_type(&id, &sources)?;
        Ok(LocalPartitionNode { id, sources, partitioning, output_type })
    }
}

/// See [`PlanNode::LocalMerge`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LocalMergeNode {
    pub id: PlanNodeId,
    /// At least one; all have the same columns, and rows in the order of the keys.
    pub sources: Vec<Arc<PlanNode>>,
    pub keys: Vec<SortKey>,
    pub output_type: Arc<RowType>,
}

impl LocalMergeNode {
    /// The rows of `sources` in the order of `keys`; `InvalidInput` when their columns differ.
    pub fn new(id: PlanNodeId, sources: Vec<Arc<PlanNode>>, keys: Vec<SortKey>) -> Result<Self> {
        let output_type = common_type(&id, &sources)?;
        Ok(LocalMergeNode { id, sources, keys, output_type })
    }
}

fn common_type(id: &PlanNodeId, sources: &[Arc<PlanNode>]) -> Result<Arc<RowType>> {
    let mut types = sources.iter().map(|source| source.output_type());
    let first = types.next();
    let first = first.ok_or_else(|| Error::invalid_input("a plan node needs a source"));
    let first = first.map_err(|error| error.with("node", id))?;
    match types.find(|other| *other != first) {
        None => Ok(Arc::clone(first)),
        Some(other) => Err(Error::invalid_input("the sources of a plan node differ in columns")
            .with("node", id)
            .with("one", first)
            .with("other", other)),
    }
}

/// See [`PlanNode::Unnest`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct UnnestNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
    /// Columns of the source that are repeated for each element.
    pub replicated: Vec<String>,
    /// Columns of the source, arrays and maps, that are taken apart side by side: the shorter ones
    /// are filled up with nulls.
    pub unnested: Vec<String>,
    /// True when the last output column counts the elements of a row from 1.
    pub with_ordinality: bool,
    /// True when a row without elements gives one row, with nulls in their place.
    pub keeps_empty: bool,
    /// The replicated columns, then one for each array and two for each map, then the ordinality.
    pub output_type: Arc<RowType>,
}

impl UnnestNode {
    /// Takes columns of `source` apart; `names` are those of the new columns, the ordinality's
    /// included if there is one more. `InvalidInput` when names and columns do not fit.
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

    /// The same, but rows without elements stay, if `yes`.
    pub fn keeping_empty(self, yes: bool) -> Self {
        UnnestNode { keeps_empty: yes, ..self }
    }
}

/// See [`PlanNode::EnforceSingleRow`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct EnforceSingleRowNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
}
