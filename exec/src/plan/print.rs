//! Text form of plans: one line per node, with sources indented below.

use std::fmt;

use super::{Partitioning, PlanNode, SortKey};

impl fmt::Display for PlanNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = vec![(self, 0)];
        while let Some((current, depth)) = rest.pop() {
            write!(f, "{:indent$}-- {}[{}]", "", current.name(), current.id(), indent = depth * 2)?;
            write_details(f, current)?;
            writeln!(f, " -> {}", current.output_type())?;
            let at = rest.len();
            rest.extend(current.sources().map(|source| (&**source, depth + 1)));
            rest[at..].reverse();
        }
        Ok(())
    }
}

impl PlanNode {
    /// Returns the details of the node, as in the brackets of its line of a printed plan.
    pub fn details(&self) -> String {
        let text = Details(self).to_string();
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        inner.unwrap_or(&text).to_string()
    }
}

struct Details<'a>(&'a PlanNode);

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_details(f, self.0)
    }
}

fn write_details(f: &mut fmt::Formatter<'_>, node: &PlanNode) -> fmt::Result {
    match node {
        PlanNode::TableScan(n) => write!(f, "[{}]", n.table.describe()),
        PlanNode::Values(n) => {
            write!(f, "[{} rows]", n.batches.iter().map(|b| b.len()).sum::<usize>())
        }
        PlanNode::Filter(n) => write!(f, "[{}]", n.predicate),
        PlanNode::Project(n) => {
            let mut separator = "[";
            for (name, expr) in n.output_type.names().iter().zip(&n.expressions) {
                write!(f, "{separator}{name} := {expr}")?;
                separator = ", ";
            }
            f.write_str(if separator == "[" { "[]" } else { "]" })
        }
        PlanNode::Aggregation(n) => {
            write!(f, "[{:?} by ({})", n.step, n.keys.join(", "))?;
            for a in &n.aggregates {
                let args: Vec<String> = a.args.iter().map(ToString::to_string).collect();
                let distinct = if a.distinct { "distinct " } else { "" };
                write!(f, ", {} := {}({distinct}{})", a.name, a.function, args.join(", "))?;
                if let Some(mask) = &a.mask {
                    write!(f, " filter {mask}")?;
                }
            }
            f.write_str("]")
        }
        PlanNode::OrderBy(n) => write_keys(f, &n.keys),
        PlanNode::TopN(n) => {
            write!(f, "[{}]", n.count)?;
            write_keys(f, &n.keys)
        }
        PlanNode::Limit(n) => write!(f, "[{} from {}]", n.count, n.offset),
        PlanNode::HashJoin(n) => {
            write!(f, "[{}", n.join_type)?;
            if n.null_aware {
                f.write_str(" null aware")?;
            }
            for (left, right) in n.left_keys.iter().zip(&n.right_keys) {
                write!(f, ", {left} = {right}")?;
            }
            match &n.filter {
                Some(filter) => write!(f, ", {filter}]"),
                None => f.write_str("]"),
            }
        }
        PlanNode::Unnest(n) => {
            write!(f, "[{}", n.unnested.join(", "))?;
            f.write_str(if n.with_ordinality { " with ordinality" } else { "" })?;
            f.write_str(if n.keeps_empty { ", keeping rows without elements]" } else { "]" })
        }
        PlanNode::LocalPartition(n) => match &n.partitioning {
            Partitioning::Gather => f.write_str("[gather]"),
            Partitioning::RoundRobin => f.write_str("[round robin]"),
            Partitioning::Hash(keys) => write!(f, "[hash of {}]", keys.join(", ")),
        },
        PlanNode::LocalMerge(n) => write_keys(f, &n.keys),
        PlanNode::EnforceSingleRow(_) => f.write_str("[]"),
        PlanNode::TableWrite(n) => write!(f, "[{:?}]", n.target),
    }
}

fn write_keys(f: &mut fmt::Formatter<'_>, keys: &[SortKey]) -> fmt::Result {
    f.write_str("[")?;
    for (i, key) in keys.iter().enumerate() {
        let separator = if i > 0 { ", " } else { "" };
        let direction = if key.order.descending { "DESC" } else { "ASC" };
        let nulls = if key.order.nulls_first { "FIRST" } else { "LAST" };
        write!(f, "{separator}{} {direction} NULLS {nulls}", key.column)?;
    }
    f.write_str("]")
}
