//! Selection of the column chunks to show.

use format_parquet::footer::Footer;
use format_parquet::thrift::structs::ColumnChunk;
use vector::{Error, Result};

/// A selection of column chunks.
#[derive(Debug, Clone, Default)]
pub struct ChunksOf {
    /// Dotted path of the column; selects the column and everything below it. `None` selects all
    /// columns.
    pub column: Option<String>,
    /// Index of the row group; `None` selects all row groups.
    pub row_group: Option<usize>,
}

/// A selected column chunk.
#[derive(Debug, Clone)]
pub(super) struct Chosen<'a> {
    pub(super) row_group: usize,
    pub(super) leaf: usize,
    /// Dotted path of the leaf.
    pub(super) name: String,
    pub(super) chunk: &'a ColumnChunk,
}

impl Chosen<'_> {
    /// Adds column and row group to an error that does not have them yet.
    pub(super) fn place(&self, error: Error) -> Error {
        let error = match error.is_in("column") {
            true => error,
            false => error.in_named("column", &self.name),
        };
        if error.is_in("row group") { error } else { error.in_place("row group", self.row_group) }
    }
}

impl ChunksOf {
    /// Returns the selected chunks in file order; `NotFound` if the column or row group does not
    /// exist.
    pub(super) fn find<'a>(&self, footer: &'a Footer) -> Result<Vec<Chosen<'a>>> {
        let num_groups = footer.row_groups().len();
        if let Some(group) = self.row_group.filter(|group| *group >= num_groups) {
            return Err(Error::not_found("no such row group")
                .with("row_group", group)
                .with("row_groups", num_groups));
        }
        let names: Vec<String> =
            (0..footer.schema.num_leaves()).map(|leaf| footer.schema.leaf_name(leaf)).collect();
        if let Some(column) = &self.column
            && !names.iter().any(|name| self.has_name(name))
        {
            return Err(Error::not_found("no such column").with("column", column));
        }
        let mut found = Vec::new();
        for (row_group, group) in footer.row_groups().iter().enumerate() {
            if self.row_group.is_some_and(|only| only != row_group) {
                continue;
            }
            for (leaf, name) in names.iter().enumerate().take(group.columns.len()) {
                if self.has_name(name) {
                    let chunk = footer.column_chunk(row_group, leaf)?;
                    found.push(Chosen { row_group, leaf, name: name.clone(), chunk });
                }
            }
        }
        Ok(found)
    }

    fn has_name(&self, name: &str) -> bool {
        let Some(column) = &self.column else { return true };
        name.strip_prefix(column.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}
