//! Which column chunks are to be shown.

use format_parquet::footer::Footer;
use format_parquet::thrift::structs::ColumnChunk;
use vector::{Error, Result};

/// A choice of column chunks.
#[derive(Debug, Clone, Default)]
pub struct ChunksOf {
    /// Only this column, by its path with dots, or everything below it; all when `None`.
    pub column: Option<String>,
    /// Only this row group; all when `None`.
    pub row_group: Option<usize>,
}

/// A chunk that was chosen.
#[derive(Debug, Clone)]
pub(super) struct Chosen<'a> {
    pub(super) row_group: usize,
    pub(super) leaf: usize,
    /// The path of the leaf with dots.
    pub(super) name: String,
    pub(super) chunk: &'a ColumnChunk,
}

impl Chosen<'_> {
    /// Says where an error occurred, as far as it does not say so itself.
    pub(super) fn place(&self, error: Error) -> Error {
        let error = match error.is_in("column") {
            true => error,
            false => error.in_named("column", &self.name),
        };
        if error.is_in("row group") { error } else { error.in_place("row group", self.row_group) }
    }
}

impl ChunksOf {
    /// The chosen chunks in file order. `NotFound` when the column or row group does not exist.
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
