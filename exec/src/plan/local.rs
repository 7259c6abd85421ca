//! Nodes for local exchanges, and nodes that change the number of rows of a source.
//!
//! ```text
//! LocalPartition    all rows of all sources, partitioned over drivers     (UNION ALL)
//! LocalMerge        all rows of sorted sources, merged in order
//! Unnest            a row for each element of arrays and maps
//! EnforceSingleRow  the only row of a source; more rows are an error      (scalar subqueries)
//! ```
//!
//! The partitioning never changes the set of rows, so a plan does not need the first two nodes for
//! parallelism: [`Task`](crate::Task) adds the exchanges that its drivers require.

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use super::{PlanNode, PlanNodeId, SortKey};

/// Distribution of rows over drivers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partitioning {
    /// One driver receives all rows.
    Gather,
    /// Drivers receive batches in turn.
    RoundRobin,
    /// Rows with equal values in these columns go to the same driver.
    Hash(Vec<String>),
}

/// See [`PlanNode::LocalPartition`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LocalPartitionNode {
    pub id: PlanNodeId,
    /// Sources, at least one, all with the same columns.
    pub sources: Vec<Arc<PlanNode>>,
    pub partitioning: Partitioning,
    pub output_type: Arc<RowType>,
}

impl LocalPartitionNode {
    /// Creates a node that returns the rows of `sources` with the given partitioning.
    ///
    /// # Errors
    /// `InvalidInput` when there is no source or the columns of the sources differ.
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
    /// Sources, at least one, all with the same columns and sorted by the keys.
    pub sources: Vec<Arc<PlanNode>>,
    pub keys: Vec<SortKey>,
    pub output_type: Arc<RowType>,
}

impl LocalMergeNode {
    /// Creates a node that merges the rows of `sources` by `keys`.
    ///
    /// # Errors
    /// `InvalidInput` when there is no source or the columns of the sources differ.
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

/// See [`PlanNode::EnforceSingleRow`].
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct EnforceSingleRowNode {
    pub id: PlanNodeId,
    pub source: Arc<PlanNode>,
}
