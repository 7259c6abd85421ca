//! Builds the node tree of a column and the readers of its leaves, as a scan spec requests them.
//!
//! A field that is not requested, or is not in the file, gets no reader. The leaves of map keys
//! come before those of the map values, so that entries are dropped before anything below them is
//! read.

use dwio::filter::Filter;
use dwio::scan_spec::{BoundField, ColumnSpec, FieldSpec, NestedBinding, NestedSpec};
use vector::sync::Arc;
use vector::{Error, MemoryPool, Result, ResultExt, RowType, Type};

use super::Node;
use super::boolean::no_values;
use super::entries::{EntryRule, Rule};
use super::leaf::{LeafReader, ValueReader};
use super::repeated::{Entries, RepeatedNode};
use super::row::{StructLevels, StructNode, match_fields};
use super::scalar::value_reader;
use crate::levels::nested::ListLevels;
use crate::schema::{Column, ColumnKind, Schema};

/// Builds the tree by recursion, which is as deep as the schema; the depth of a schema is bounded.
pub(super) struct Builder<'a> {
    schema: &'a Schema,
    pool: &'a MemoryPool,
    /// A reader for each leaf that is read.
    pub(super) leaves: Vec<LeafReader>,
    /// For each leaf that is read, its number in the file.
    pub(super) leaf_numbers: Vec<usize>,
    /// The rules that drop entries of lists and maps; outer rules come first.
    pub(super) entry_rules: Vec<EntryRule>,
}

/// The requested fields below a column, and the fields of the file that they are read from.
#[derive(Clone, Copy)]
pub(super) struct Below<'a> {
    pub(super) nested: &'a NestedSpec,
    pub(super) binding: &'a NestedBinding,
}

impl<'a> Builder<'a> {
    /// Creates a builder for a column of the file.
    pub(super) fn new(schema: &'a Schema, pool: &'a MemoryPool) -> Self {
        let (leaves, leaf_numbers, entry_rules) = (Vec::new(), Vec::new(), Vec::new());
        Builder { schema, pool, leaves, leaf_numbers, entry_rules }
    }

    /// Returns the node that reads `column` as type `ty`; its slots exist from definition level
    /// `slot_def` on.
    pub(super) fn node(
        &mut self,
        column: &Column,
        ty: &Type,
        Below { nested, binding }: Below<'_>,
        slot_def: u8,
    ) -> Result<Node> {
        match (&column.kind, ty) {
            (ColumnKind::Leaf(number), ty) => {
                let leaf = self.schema.leaf(*number)?;
                let values = value_reader(leaf, ty, self.pool)?;
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
                let levels = list_levels(column, repeated, slot_def);
                let prefix = (max_elements < usize::MAX).then_some(Rule::Prefix(max_elements));
                let rule = self.start_rule(levels, prefix);
                let node = match below_entries(binding) {
                    Some(binding) => {
                        let below = Below { nested, binding };
                        self.node(element, wanted, below, repeated.def_level)?
                    }
                    None => Node::Nulls(wanted.clone()),
                };
                let leaf = self.levels_leaf(column, [&node])?;
                self.end_rule(rule);
                let entries = Entries::List { element: Box::new(node) };
                Ok(Node::Repeated(RepeatedNode { leaf, levels, entries }))
            }
            (ColumnKind::Map { key, value, repeated }, Type::Map(key_type, value_type)) => {
                let whole = NestedSpec::Whole;
                let mut key_filter = None;
                let ((key_type, key_nested), (value_type, value_nested)) = match nested {
                    NestedSpec::Map { key, value } => {
                        key_filter = key.filter.as_ref();
                        refuse_entry_filter(value)?;
                        ((&key.ty, &key.nested), (&value.ty, &value.nested))
                    }
                    _ => ((key_type.as_ref(), &whole), (value_type.as_ref(), &whole)),
                };
                let levels = list_levels(column, repeated, slot_def);
                let rule = self.key_rule(key, key_filter, repeated.def_level)?;
                let rule = self.start_rule(levels, rule);
                let below = Below { nested: key_nested, binding: &NestedBinding::ByName };
                let key = self.node(key, key_type, below, repeated.def_level)?;
                let value = match (value, below_entries(binding)) {
                    (Some(value), Some(binding)) => {
                        let below = Below { nested: value_nested, binding };
                        self.node(value, value_type, below, repeated.def_level)?
                    }
                    _ => Node::Nulls(value_type.clone()),
                };
                let leaf = self.levels_leaf(column, [&key, &value])?;
                self.end_rule(rule);
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

    /// Returns the rule that drops entries by their keys: a filter on the keys, or, without one, a
    /// rule that drops only null keys.
    fn key_rule(
        &self,
        key: &Column,
        filter: Option<&Arc<Filter>>,
        slot_def: u8,
    ) -> Result<Option<Rule>> {
        let filter = match (&key.kind, filter) {
            (ColumnKind::Leaf(_), Some(filter)) => Arc::clone(filter),
            (ColumnKind::Leaf(number), None) => {
                let leaf = self.schema.leaf(*number)?;
                if leaf.max_def == slot_def {
                    return Ok(None);
                }
                Arc::new(Filter::IsNotNull)
            }
            (_, None) => return Ok(None),
            (_, Some(_)) => {
                return Err(Error::unsupported("a filter on keys that are not scalar")
                    .with("type", &key.ty));
            }
        };
        Ok(Some(Rule::Key { leaf: self.leaves.len(), slot_def, filter, kept: None }))
    }

    /// Adds a rule for the leaves that will be added until it ends.
    fn start_rule(&mut self, levels: ListLevels, rule: Option<Rule>) -> Option<usize> {
        let leaves = self.leaves.len()..usize::MAX;
        self.entry_rules.push(EntryRule { levels, rule: rule?, leaves });
        Some(self.entry_rules.len() - 1)
    }

    fn end_rule(&mut self, rule: Option<usize>) {
        let end = self.leaves.len();
        if let Some(rule) = rule.and_then(|rule| self.entry_rules.get_mut(rule)) {
            rule.leaves.end = end;
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
        // A struct that is never null where its slot exists, or that has no leaf to supply levels,
        // has no validity.
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

    fn add(&mut self, number: usize, values: Box<dyn ValueReader>) -> usize {
        let (max_def, max_rep) =
            self.schema.leaves().get(number).map_or((0, 0), |leaf| (leaf.max_def, leaf.max_rep));
        let name = self.schema.leaf_name(number);
        self.leaves.push(LeafReader::new(name, (max_def, max_rep), values, self.pool.clone()));
        self.leaf_numbers.push(number);
        self.leaves.len() - 1
    }

    /// Returns the leaf that supplies the levels of `column`: among those that are read, the one
    /// with the lowest maximum repetition level; if none is read, another leaf is added, of which
    /// only the levels are read.
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
        Ok(self.add(number, no_values(Type::Unknown)))
    }
}

/// Returns the binding below the entries of a list or map; `None` when all entries are null.
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

/// Rejects filters below lists and maps, which would remove entries: they are not supported yet.
fn refuse_entry_filter(spec: &ColumnSpec) -> Result<()> {
    if spec.has_filter() {
        return Err(Error::unsupported("filters on entries of lists and maps are not built yet")
            .with("entry", &spec.name));
    }
    Ok(())
}
