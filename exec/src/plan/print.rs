//! Text form of plans: one line per node, with sources indented below.

use std::fmt;

use super::PlanNode;

impl fmt::Display for PlanNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = vec![(self, 0)];
        while let Some((current, depth)) = rest.pop() {
            write!(f, "{:indent$}-- {}[{}]", "", current.name(), current.id(), indent = depth * 2)?;
            current.info().write_details(f)?;
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
        self.0.info().write_details(f)
    }
}
