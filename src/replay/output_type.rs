//! Output types of plan nodes, derived from their JSON without building the nodes.
//!
//! Recorded rows have the types in the plan, which differ from Ocior's for intermediate results of
//! aggregates.

use vector::sync::Arc;
use vector::{Result, RowType, Type};

use super::json::Json;
use super::serialized::read_vectors;
use super::types::{read_row_type, read_type};
use format_text::base64;

/// Maximum nesting depth of plan nodes.
const MAX_DEPTH: usize = 256;

/// Returns the output columns of a plan node.
pub(super) fn output_type(node: &Json<'_>) -> Result<Arc<RowType>> {
    let mut node = node.clone();
    for _ in 0..MAX_DEPTH {
        if let Some(declared) = node.optional("outputType")? {
            return read_row_type(&declared);
        }
        match node.class()?.0 {
            "ProjectNode" => {
                let (names, values) = (node.member("names")?, node.member("projections")?);
                return row(&node, &names.elements()?, &values.elements()?);
            }
            "AggregationNode" => {
                let keys = node.optional_elements("groupingKeys")?;
                let key_names = keys.iter().map(|key| key.member("fieldName"));
                let mut names = key_names.collect::<Result<Vec<_>>>()?;
                names.extend(node.member("aggregateNames")?.elements()?);
                let calls = node.member("aggregates")?.elements()?;
                let calls = calls.iter().map(|aggregate| aggregate.member("call"));
                let mut values = keys;
                values.extend(calls.collect::<Result<Vec<_>>>()?);
                return row(&node, &names, &values);
            }
            "ValuesNode" => {
                let data = node.member("data")?;
                let bytes = base64::decode(data.text()?).ok_or_else(|| data.wrong("base64"))?;
                let vectors = data.check(read_vectors(&bytes))?;
                return match vectors.first().map(|vector| &vector.ty) {
                    Some(Type::Row(row)) => Ok(Arc::clone(row)),
                    _ => Err(data.wrong("ROW vectors")),
                };
            }
            // These nodes return the columns of their source.
            "FilterNode"
            | "OrderByNode"
            | "TopNNode"
            | "LimitNode"
            | "LocalPartitionNode"
            | "LocalMergeNode"
            | "EnforceSingleRowNode" => {
                let sources = node.member("sources")?;
                let first = sources.elements()?.into_iter().next();
                node = first.ok_or_else(|| sources.wrong("a source"))?;
            }
            _ => return Err(node.refuse_class("a plan node whose columns are not known")),
        }
    }
    Err(node.wrong("a plan that is not so deep"))
}

/// Returns columns with the texts of `names` as names and the types of `values`.
fn row(node: &Json<'_>, names: &[Json<'_>], values: &[Json<'_>]) -> Result<Arc<RowType>> {
    if names.len() != values.len() {
        return Err(node.wrong("as many names as columns"));
    }
    let fields = names.iter().zip(values);
    let fields = fields.map(|(name, value)| Ok((name.text()?, read_type(&value.member("type")?)?)));
    Ok(Arc::new(RowType::new(fields.collect::<Result<Vec<_>>>()?)))
}
