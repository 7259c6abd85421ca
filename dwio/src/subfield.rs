//! Subfields: paths into nested columns (rules S3.1 to S3.6).

use vector::sync::Arc;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathElement {
    /// A column or a struct field, by name.
    Field(Arc<str>),
    /// An array position or an integer map key.
    Index(i64),
    /// A string map key.
    Key(Arc<[u8]>),
    /// Every element.
    All,
}

/// A path whose first element names a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subfield {
    path: Vec<PathElement>,
}

impl Subfield {
    /// The column itself, taken literally whatever characters its name has (rule S3.4).
    pub fn column(name: impl Into<Arc<str>>) -> Self {
        Subfield { path: vec![PathElement::Field(name.into())] }
    }

    /// This path with one more step.
    pub fn then(mut self, element: PathElement) -> Self {
        self.path.push(element);
        self
    }

    /// The steps; the first is always a field.
    pub fn path(&self) -> &[PathElement] {
        &self.path
    }

    /// The column's name.
    pub fn column_name(&self) -> &str {
        match self.path.first() {
            Some(PathElement::Field(name)) => name,
            _ => "",
        }
    }

    /// True when the path is the column itself.
    pub fn is_column(&self) -> bool {
        self.path.len() == 1
    }
}
