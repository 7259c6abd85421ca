//! Column readers: the tree of one top-level column, from its leaves' pages to one vector.
//!
//! ```text
//! ColumnReader  reads or skips rows of all leaves, then asks the root for its vector
//!   Node          Leaf | Struct | Repeated (list, map) | Nulls
//!   LeafReader    pages -> levels and values of a window
//! ```
//!
//! A window is read in two steps. First every leaf reads its rows: levels are kept, values are
//! decoded side by side. Then the tree is walked once, and each node makes its vector from the
//! levels of one leaf below it and the vectors of its children.
//!
//! | file | has |
//! |---|---|
//! | `leaf` | one leaf's pages, levels and windows |
//! | `current_page` | the values of the page a leaf is at |
//! | `build` | the tree as a spec wants it |
//! | `entries` | entries of lists and maps that are dropped |
//! | `scalar` | the reader of a storage's values |
//! | `fixed`, `boolean`, `string`, `converted` | those readers |
//! | `spans`, `decimal_text` | where strings stand in a page; numbers as text |
//! | `pinned` | which pages strings keep alive |
//! | `row`, `repeated` | structs; lists and maps |
//! | `spread` | values to their rows |

mod boolean;
mod build;
mod converted;
mod current_page;
mod decimal_text;
mod entries;
mod fixed;
mod leaf;
mod pinned;
mod repeated;
mod row;
mod scalar;
mod search;
mod spans;
mod spread;
mod string;

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
    /// What is dropped out of lists and maps.
    entry_rules: Vec<EntryRule>,
    /// Rows that will be passed over before the next read.
    pending_skip: usize,
}

/// A node of the tree that is read.
enum Node {
    /// A leaf's values; slots exist from `slot_def` on.
    Leaf {
        leaf: usize,
        slot_def: u8,
    },
    Struct(StructNode),
    Repeated(RepeatedNode),
    /// Nothing is read: missing in the file, or not wanted.
    Nulls(Type),
}

impl ColumnReader {
    /// A reader of column `ordinal` of the file, as `spec` wants it; `binding` says which fields of
    /// the file are meant.
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

    /// The numbers of the leaves that are read.
    pub(crate) fn leaf_numbers(&self) -> &[usize] {
        &self.leaf_numbers
    }

    /// Checks the pages that the leaves stand in and releases the row group's bytes, so that their
    /// memory can serve the next one. `is_at_end`: the last row was read or will be skipped.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a page or chunk has more in it than its header says.
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

    /// Goes on with another row group; `chunk` gives the pages of a leaf by its number.
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

    /// Passes over rows. It is done with the next read, so that skips add up to whole pages.
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

    /// Of the next `rows.len()` rows reads only the selected ones; the vector has as many rows as
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

    /// True when [`ColumnReader::filter`] and [`ColumnReader::filter_and_read`] can be used: the
    /// column is one leaf without repetition, whose values are stored as what filters are made for.
    pub(crate) fn filters_in_place(&self) -> bool {
        matches!(self.root, Node::Leaf { .. }) && self.leaves.iter().all(LeafReader::filters)
    }

    /// Tests the selected ones of the next `rows.len()` rows and deselects those that fail. No
    /// vector is made.
    pub(crate) fn filter(
        &mut self,
        filter: &Arc<Filter>,
        rows: &mut SelectivityVector,
    ) -> Result<()> {
        let num_rows = self.walk_to_last(rows)?;
        self.flat_leaf()?.filter(filter, rows, num_rows)
    }

    /// Like [`ColumnReader::filter`], and reads the rows that stay: the vector has as many rows as
    /// are selected afterwards.
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

    /// False when no value of the row group passes, as its dictionary shows. To be asked before the
    /// first row is read, if all pages of the chunk are dictionary-encoded (rules P5.40, P5.43);
    /// the dictionary is kept for reading. Always true where filters do not work in place.
    pub(crate) fn dictionary_may_match(&mut self, filter: &Arc<Filter>) -> Result<bool> {
        if !self.filters_in_place() {
            return Ok(true);
        }
        self.flat_leaf()?.dictionary_may_match(filter)
    }

    /// What reading cost so far, over all leaves and row groups.
    pub(crate) fn counts(&self) -> ColumnCounts {
        let mut counts = ColumnCounts::default();
        self.leaves.iter().for_each(|leaf| counts += leaf.counts());
        counts
    }

    /// Gets ready to walk over rows up to the last selected one, and gives how many these are. The
    /// rows behind it are passed over with the next call, so that they add up.
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
    /// The window's vector, which has `num_slots` rows.
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

    /// The leaves below.
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

/// The leaves of one column must agree on how many entries there are.
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
