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
//! | `scalar` | the reader of a storage's values |
//! | `fixed`, `boolean`, `string`, `converted` | those readers |
//! | `spans`, `decimal_text` | where strings stand in a page; numbers as text |
//! | `pinned` | which pages strings keep alive |
//! | `positions` | from rows to values and back |
//! | `row`, `repeated` | structs; lists and maps |
//! | `spread` | values to their rows |

mod boolean;
mod converted;
mod current_page;
mod decimal_text;
mod fixed;
mod leaf;
mod pinned;
mod positions;
mod repeated;
mod row;
mod scalar;
mod spans;
mod spread;
mod string;

use dwio::filter::Filter;
use dwio::scan_spec::{BoundField, ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use vector::sync::Arc;
use vector::{
    Error, MemoryPool, Result, ResultExt, RowType, SelectivityVector, Type, Vector, VectorRef,
};

use crate::levels::nested::ListLevels;
use crate::page::ChunkParams;
use crate::page::source::PageSource;
use crate::schema::{Column, ColumnKind, Schema};
pub(crate) use leaf::ColumnCounts;
use leaf::LeafReader;
use repeated::{Entries, RepeatedNode};
use row::{StructLevels, StructNode, match_fields};

/// Reads one top-level column of a file, row group after row group.
pub(crate) struct ColumnReader {
    root: Node,
    leaves: Vec<LeafReader>,
    leaf_numbers: Vec<usize>,
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
        let mut builder = Builder { schema, pool, leaves: Vec::new(), leaf_numbers: Vec::new() };
        let below = Below { nested: &spec.nested, binding };
        let root = builder.node(column, &spec.ty, below, 0).in_named("column", &column.name)?;
        Ok(ColumnReader {
            root,
            leaves: builder.leaves,
            leaf_numbers: builder.leaf_numbers,
            pending_skip: 0,
        })
    }

    /// The numbers of the leaves that are read.
    pub(crate) fn leaf_numbers(&self) -> &[usize] {
        &self.leaf_numbers
    }

    /// Lets go of the row group's bytes, so that their memory can serve the next one.
    pub(crate) fn end_row_group(&mut self) {
        self.leaves.iter_mut().for_each(LeafReader::end_chunk);
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
        for leaf in &mut self.leaves {
            leaf.skip(skipped)?;
            leaf.begin();
            leaf.read(num_rows)?;
            leaf.end();
        }
        self.vector(num_rows)
    }

    /// Of the next `rows.len()` rows reads only the selected ones; the vector has as many rows as
    /// are selected.
    pub(crate) fn read_selected(&mut self, rows: &SelectivityVector) -> Result<VectorRef> {
        if rows.is_all() {
            return self.read(rows.len());
        }
        let num_rows = self.walk_to_last(rows)?;
        for leaf in &mut self.leaves {
            leaf.begin();
            leaf.read_selected(rows, num_rows)?;
            leaf.end();
        }
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

/// Builds the tree; as deep as the schema, whose depth is bounded.
struct Builder<'a> {
    schema: &'a Schema,
    pool: &'a MemoryPool,
    leaves: Vec<LeafReader>,
    leaf_numbers: Vec<usize>,
}

/// What is wanted below a column, and where the file has it.
#[derive(Clone, Copy)]
struct Below<'a> {
    nested: &'a NestedSpec,
    binding: &'a NestedBinding,
}

impl Builder<'_> {
    /// The node of `column` as type `ty`; its slots exist from definition level `slot_def` on.
    fn node(
        &mut self,
        column: &Column,
        ty: &Type,
        Below { nested, binding }: Below<'_>,
        slot_def: u8,
    ) -> Result<Node> {
        match (&column.kind, ty) {
            (ColumnKind::Leaf(number), ty) => {
                let leaf = self.schema.leaf(*number)?;
                let values = scalar::value_reader(leaf, ty, self.pool)?;
                Ok(Node::Leaf { leaf: self.add(*number, values), slot_def })
            }
            (ColumnKind::Struct(file), Type::Row(row_type)) => {
                self.structure((column, file), row_type, Below { nested, binding }, slot_def)
            }
            (ColumnKind::List { element, repeated }, Type::Array(element_type)) => {
                let whole = NestedSpec::Whole;
                let (wanted, nested, max_elements) = match nested {
                    NestedSpec::Array { element, max_elements } => {
                        refuse_entry_filter(element)?;
                        (&element.ty, &element.nested, *max_elements)
                    }
                    _ => (element_type.as_ref(), &whole, usize::MAX),
                };
                let node = match below_entries(binding) {
                    Some(binding) => {
                        let below = Below { nested, binding };
                        self.node(element, wanted, below, repeated.def_level)?
                    }
                    None => Node::Nulls(wanted.clone()),
                };
                let levels = list_levels(column, repeated, slot_def);
                let leaf = self.levels_leaf(column, [&node])?;
                let entries = Entries::List { element: Box::new(node), max_elements };
                Ok(Node::Repeated(RepeatedNode { leaf, levels, entries }))
            }
            (ColumnKind::Map { key, value, repeated }, Type::Map(key_type, value_type)) => {
                let whole = NestedSpec::Whole;
                let ((key_type, key_nested), (value_type, value_nested)) = match nested {
                    NestedSpec::Map { key, value } => {
                        refuse_entry_filter(key)?;
                        refuse_entry_filter(value)?;
                        ((&key.ty, &key.nested), (&value.ty, &value.nested))
                    }
                    _ => ((key_type.as_ref(), &whole), (value_type.as_ref(), &whole)),
                };
                let below = Below { nested: key_nested, binding: &NestedBinding::ByName };
                let key = self.node(key, key_type, below, repeated.def_level)?;
                let value = match (value, below_entries(binding)) {
                    (Some(value), Some(binding)) => {
                        let below = Below { nested: value_nested, binding };
                        self.node(value, value_type, below, repeated.def_level)?
                    }
                    _ => Node::Nulls(value_type.clone()),
                };
                let levels = list_levels(column, repeated, slot_def);
                let leaf = self.levels_leaf(column, [&key, &value])?;
                let entries = Entries::Map { key: Box::new(key), value: Box::new(value) };
                Ok(Node::Repeated(RepeatedNode { leaf, levels, entries }))
            }
            (_, wanted) => {
                Err(Error::unsupported("the column cannot be read as the type that is asked for")
                    .with("file_type", &column.ty)
                    .with("wanted_type", wanted))
            }
        }
    }

    fn structure(
        &mut self,
        (column, file): (&Column, &[Column]),
        row_type: &Arc<RowType>,
        Below { nested, binding }: Below<'_>,
        slot_def: u8,
    ) -> Result<Node> {
        let by_name: Vec<Option<BoundField>>;
        let bound = match binding {
            NestedBinding::Row(bound) if bound.len() == row_type.len() => bound,
            _ => {
                let names: Vec<&str> = file.iter().map(|field| field.name.as_str()).collect();
                let found = match_fields(&names, row_type)?.into_iter();
                let nested = NestedBinding::ByName;
                let bound = |ordinal| BoundField { ordinal, nested: nested.clone() };
                by_name = found.map(|ordinal| ordinal.map(bound)).collect();
                &by_name
            }
        };
        let mut fields = Vec::with_capacity(row_type.len());
        for (i, found) in bound.iter().enumerate() {
            let (whole, ty) = (NestedSpec::Whole, row_type.types().get(i));
            let Some(ty) = ty else { return Err(Error::internal("a struct lost a field")) };
            let wanted = match nested {
                NestedSpec::Row(specs) => match specs.get(i) {
                    Some(FieldSpec::Wanted(spec)) => Some(&spec.nested),
                    Some(FieldSpec::Pruned) => None,
                    None => return Err(Error::internal("a struct has fields without a spec")),
                },
                _ => Some(&whole),
            };
            let found = found.as_ref().and_then(|f| Some((file.get(f.ordinal)?, &f.nested)));
            fields.push(match (found, wanted) {
                (Some((field, binding)), Some(nested)) => {
                    let below = Below { nested, binding };
                    self.node(field, ty, below, slot_def).in_named("field", &field.name)?
                }
                _ => Node::Nulls(ty.clone()),
            });
        }
        // A struct that is there wherever its slot is, or that no leaf tells of, is never null.
        let validity = if column.def_level > slot_def && !column.leaves.is_empty() {
            Some(StructLevels {
                leaf: self.levels_leaf(column, &fields)?,
                slot_rep: column.rep_level,
                slot_def,
                valid_def: column.def_level,
            })
        } else {
            None
        };
        let row_type = Arc::clone(row_type);
        Ok(Node::Struct(StructNode { row_type, fields, validity }))
    }

    fn add(&mut self, number: usize, values: Box<dyn leaf::ValueReader>) -> usize {
        let (max_def, max_rep) =
            self.schema.leaves().get(number).map_or((0, 0), |leaf| (leaf.max_def, leaf.max_rep));
        let name = self.schema.leaf_name(number);
        self.leaves.push(LeafReader::new(name, (max_def, max_rep), values, self.pool.clone()));
        self.leaf_numbers.push(number);
        self.leaves.len() - 1
    }

    /// The leaf that tells the levels of `column`: of those that are read the one with the fewest
    /// levels, or one more that is read for its levels only.
    fn levels_leaf<'n>(
        &mut self,
        column: &Column,
        below: impl IntoIterator<Item = &'n Node>,
    ) -> Result<usize> {
        let mut found = Vec::new();
        below.into_iter().for_each(|node| node.collect_leaves(&mut found));
        let max_rep = |leaf: &usize| self.leaves.get(*leaf).map_or(u8::MAX, LeafReader::max_rep);
        if let Some(leaf) = found.into_iter().min_by_key(max_rep) {
            return Ok(leaf);
        }
        let leaves = self.schema.leaves();
        let max_rep = |number: &usize| leaves.get(*number).map_or(u8::MAX, |leaf| leaf.max_rep);
        let cheapest = column.leaves.clone().min_by_key(max_rep);
        let number = cheapest.ok_or_else(|| Error::internal("a repeated column without leaves"))?;
        Ok(self.add(number, boolean::no_values(Type::Unknown)))
    }
}

/// The binding below the entries of a list or map; `None` when all entries are null.
fn below_entries(binding: &NestedBinding) -> Option<&NestedBinding> {
    match binding {
        NestedBinding::Array(below) | NestedBinding::Map(below) => below.as_deref(),
        other => Some(other),
    }
}

fn list_levels(
    column: &Column,
    repeated: &crate::schema::RepeatedLevels,
    slot_def: u8,
) -> ListLevels {
    ListLevels {
        slot_def,
        list_def: column.def_level,
        element_def: repeated.def_level,
        element_rep: repeated.rep_level,
    }
}

/// Filters below lists and maps remove entries; that is not built yet.
fn refuse_entry_filter(spec: &ColumnSpec) -> Result<()> {
    if spec.has_filter() {
        return Err(Error::unsupported("filters on entries of lists and maps are not built yet")
            .with("entry", &spec.name));
    }
    Ok(())
}

#[cfg(test)]
mod selection_tests;
#[cfg(test)]
mod tests;
