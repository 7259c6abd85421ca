//! Column readers: each reads the tree of one top-level column, from the pages of its leaves to one
//! vector.
//!
//! ```text
//! ColumnReader  reads or skips rows of all leaves, then builds the vector of the root
//!   Node          Leaf | Struct | Repeated (list, map) | Nulls
//!   LeafReader    pages -> levels and values of a window
//! ```
//!
//! A window is read in two steps. First every leaf reads its rows: levels are kept, and non-null
//! values are decoded without gaps. Then the tree is traversed once, and each node builds its
//! vector from the levels of one leaf below it and the vectors of its children.
//!
//! | file | contains |
//! |---|---|
//! | `leaf` | pages, levels and windows of one leaf |
//! | `current_page` | values of a leaf's current page |
//! | `build` | construction of the tree from a scan spec |
//! | `entries` | filtering of list and map entries |
//! | `scalar` | selection of the value reader of a leaf |
//! | `fixed`, `boolean`, `string`, `converted` | the value readers |
//! | `spans`, `decimal_text` | positions of strings in a page; numbers as text |
//! | `string_buffers` | release and compaction of the pages that strings refer to |
//! | `row`, `repeated` | structs; lists and maps |
//! | `spread` | expansion of values to their rows |

mod boolean;
mod build;
mod converted;
mod current_page;
mod decimal_text;
mod entries;
mod fixed;
mod leaf;
mod repeated;
mod row;
mod scalar;
mod search;
mod spans;
mod spread;
mod string;
mod string_buffers;

use dwio::filter::Filter;
use dwio::scan_spec::{ColumnSpec, NestedBinding};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result, ResultExt, SelectivityVector, Type, Vector, VectorRef};

use crate::page::ChunkParams;
use crate::page::source::PageSource;
use crate::schema::Schema;
use build::{Below, Builder};
use entries::{EntryRule, read_window};
pub(crate) use leaf::ColumnCounts;
use leaf::LeafReader;
use repeated::RepeatedNode;
use row::StructNode;

/// Reads one top-level column of a file, row group after row group.
pub(crate) struct ColumnReader {
    root: Node,
    leaves: Vec<LeafReader>,
    leaf_numbers: Vec<usize>,
    /// The rules that drop entries of lists and maps.
    entry_rules: Vec<EntryRule>,
    /// Number of rows that will be skipped before the next read.
    pending_skip: usize,
}

/// A node of the tree that is read.
enum Node {
    /// The values of a leaf; slots exist from `slot_def` on.
    Leaf {
        leaf: usize,
        slot_def: u8,
    },
    Struct(StructNode),
    Repeated(RepeatedNode),
    /// A field that is missing in the file or not requested: every row is null and nothing is read.
    Nulls(Type),
}

impl ColumnReader {
    /// Creates a reader of column `ordinal` of the file, as `spec` requests it; `binding` maps its
    /// fields to those of the file.
    pub(crate) fn new(
        schema: &Schema,
        ordinal: usize,
        (spec, binding): (&ColumnSpec, &NestedBinding),
        pool: &MemoryPool,
    ) -> Result<Self> {
        let column = schema.columns().get(ordinal).ok_or_else(|| {
            Error::internal("no such column in the file").with("ordinal", ordinal)
        })?;
        let mut builder = Builder::new(schema, pool);
        let below = Below { nested: &spec.nested, binding };
        let root = builder.node(column, &spec.ty, below, 0).in_named("column", &column.name)?;
        Ok(ColumnReader {
            root,
            leaves: builder.leaves,
            leaf_numbers: builder.leaf_numbers,
            entry_rules: builder.entry_rules,
            pending_skip: 0,
        })
    }

    /// Returns the numbers of the leaves that are read.
    pub(crate) fn leaf_numbers(&self) -> &[usize] {
        &self.leaf_numbers
    }

    /// Checks the pages at which the leaves are positioned and releases the row group's bytes, so
    /// that their memory can be used for the next one. `is_at_end` is true when the last row was
    /// read or will be skipped.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a page or chunk contains more than its header states.
    pub(crate) fn end_row_group(&mut self, is_at_end: bool) -> Result<()> {
        let is_read_to_end = is_at_end && self.pending_skip == 0;
        let leaves = self.leaves.iter_mut();
        let ended: Vec<_> = leaves.map(|leaf| leaf.end_chunk(is_read_to_end)).collect();
        ended.into_iter().collect()
    }

    /// Releases the row group's bytes after a failure.
    pub(crate) fn drop_row_group(&mut self) {
        self.leaves.iter_mut().for_each(LeafReader::drop_chunk);
    }

    /// Continues with another row group; `chunk` returns the pages of a leaf by its number.
    pub(crate) fn start_row_group<S: Into<PageSource>>(
        &mut self,
        mut chunk: impl FnMut(usize) -> Result<(ChunkParams, S)>,
    ) -> Result<()> {
        self.pending_skip = 0;
        for (number, leaf) in self.leaf_numbers.iter().zip(&mut self.leaves) {
            let (params, source) = chunk(*number)?;
            leaf.start_chunk(params, source.into());
        }
        Ok(())
    }

    /// Skips rows. They are skipped with the next read, so that consecutive skips can cover whole
    /// pages.
    pub(crate) fn skip(&mut self, num_rows: usize) {
        self.pending_skip += num_rows;
    }

    /// Reads the next `num_rows` rows.
    pub(crate) fn read(&mut self, num_rows: usize) -> Result<VectorRef> {
        let skipped = std::mem::take(&mut self.pending_skip);
        read_window(&mut self.leaves, &mut self.entry_rules, |leaf| {
            leaf.skip(skipped)?;
            leaf.read(num_rows)
        })?;
        self.vector(num_rows)
    }

    /// Reads only the selected ones of the next `rows.len()` rows; the vector has as many rows as
    /// are selected.
    pub(crate) fn read_selected(&mut self, rows: &SelectivityVector) -> Result<VectorRef> {
        if rows.is_all() {
            return self.read(rows.len());
        }
        let num_rows = self.walk_to_last(rows)?;
        read_window(&mut self.leaves, &mut self.entry_rules, |leaf| {
            leaf.read_selected(rows, num_rows)
        })?;
        self.vector(rows.count())
    }

    /// Returns true when [`ColumnReader::filter`] and [`ColumnReader::filter_and_read`] are
    /// supported: the column is one leaf without repetition, and its stored values have the type of
    /// the filters.
    pub(crate) fn filters_in_place(&self) -> bool {
        matches!(self.root, Node::Leaf { .. }) && self.leaves.iter().all(LeafReader::filters)
    }

    /// Tests the selected ones of the next `rows.len()` rows and deselects those that fail. No
    /// vector is built.
    pub(crate) fn filter(
        &mut self,
        filter: &Arc<Filter>,
        rows: &mut SelectivityVector,
    ) -> Result<()> {
        let num_rows = self.walk_to_last(rows)?;
        self.flat_leaf()?.filter(filter, rows, num_rows)
    }

    /// Filters as [`ColumnReader::filter`] does and reads the rows that pass: the vector has as
    /// many rows as are selected afterwards.
    pub(crate) fn filter_and_read(
        &mut self,
        filter: &Arc<Filter>,
        rows: &mut SelectivityVector,
    ) -> Result<VectorRef> {
        let num_rows = self.walk_to_last(rows)?;
        let leaf = self.flat_leaf()?;
        leaf.begin();
        leaf.filter_and_read(filter, rows, num_rows)?;
        leaf.end();
        self.vector(rows.count())
    }

    /// Returns false when the dictionary of the row group proves that no value passes. When all
    /// data pages of a chunk are dictionary-encoded, its dictionary contains every non-null value
    /// (rules P5.40, P5.43); the caller has checked this and calls before the first row is read.
    /// The dictionary is kept for reading. Always returns true where filters do not work in place.
    pub(crate) fn dictionary_may_match(&mut self, filter: &Arc<Filter>) -> Result<bool> {
        if !self.filters_in_place() {
            return Ok(true);
        }
        self.flat_leaf()?.dictionary_may_match(filter)
    }

    /// Returns the work done by reading so far, over all leaves and row groups.
    pub(crate) fn counts(&self) -> ColumnCounts {
        let mut counts = ColumnCounts::default();
        self.leaves.iter().for_each(|leaf| counts += leaf.counts());
        counts
    }

    /// Skips pending rows and returns the number of rows up to the last selected one. The rows
    /// behind it are added to those that the next call skips.
    fn walk_to_last(&mut self, rows: &SelectivityVector) -> Result<usize> {
        let Some(last) = last_one(rows.words()) else {
            self.pending_skip += rows.len();
            return Ok(0);
        };
        let skipped = std::mem::replace(&mut self.pending_skip, rows.len() - (last + 1));
        for leaf in &mut self.leaves {
            leaf.skip(skipped)?;
        }
        Ok(last + 1)
    }

    fn flat_leaf(&mut self) -> Result<&mut LeafReader> {
        leaf_at(&mut self.leaves, 0)
    }

    fn vector(&mut self, num_rows: usize) -> Result<VectorRef> {
        let vector = self.root.vector(&mut self.leaves, num_rows)?;
        check_slots(num_rows, vector.len())?;
        Ok(vector)
    }
}

fn last_one(words: &[u64]) -> Option<usize> {
    let index = words.iter().rposition(|word| *word != 0)?;
    words.get(index).map(|word| index * 64 + 63 - word.leading_zeros() as usize)
}

impl Node {
    /// Returns the window's vector, which has `num_slots` rows.
    fn vector(&self, leaves: &mut [LeafReader], num_slots: usize) -> Result<VectorRef> {
        match self {
            Node::Leaf { leaf, slot_def } => {
                let vector = leaf_at(leaves, *leaf)?.vector(*slot_def)?;
                check_slots(num_slots, vector.len())?;
                Ok(vector)
            }
            Node::Struct(node) => node.vector(leaves, num_slots),
            Node::Repeated(node) => node.vector(leaves, num_slots),
            Node::Nulls(ty) => Ok(Arc::new(Vector::nulls(ty.clone(), num_slots))),
        }
    }

    /// Collects the leaves below this node.
    fn collect_leaves(&self, found: &mut Vec<usize>) {
        match self {
            Node::Leaf { leaf, .. } => found.push(*leaf),
            Node::Struct(node) => {
                found.extend(node.validity.map(|levels| levels.leaf));
                node.fields.iter().for_each(|field| field.collect_leaves(found));
            }
            Node::Repeated(node) => found.push(node.leaf),
            Node::Nulls(_) => {}
        }
    }
}

fn leaf_at(leaves: &mut [LeafReader], leaf: usize) -> Result<&mut LeafReader> {
    leaves.get_mut(leaf).ok_or_else(|| Error::internal("no such leaf reader"))
}

/// Checks that the leaves of one column agree on the number of entries.
fn check_slots(expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::corrupt("the leaves of a column disagree on its entries")
        .with("expected", expected)
        .with("found", found))
}

#[cfg(test)]
mod claims_tests;
#[cfg(test)]
mod entry_tests;
#[cfg(test)]
mod selection_tests;
#[cfg(test)]
mod tests;
