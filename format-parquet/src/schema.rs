//! The schema: converts the footer's flat list of elements into a tree of columns with levels and
//! types.
//!
//! The schema of a file is a depth-first list. First the list is checked to form a tree, with a
//! loop and a bound on its depth; then it is traversed again, and each element becomes a [`Column`]
//! with the following properties:
//!
//! - its [`Type`], in which LIST and MAP groups are folded (their middle level is no column);
//! - the minimum definition level at which its value is not null (`def_level`);
//! - the maximum repetition level at which a slot starts (`rep_level`).
//!
//! ```text
//! optional group tags (LIST)            Column tags    ARRAY(VARCHAR)  def 1  rep 0
//!   repeated group list                   repeated levels              def 2  rep 1
//!     optional binary element (STRING)  Column element VARCHAR         def 3  rep 1   leaf 0
//! ```
//!
//! Leaves are numbered in file order, as column chunks are. The conversion of a leaf's bytes into
//! values is its [`ValueConversion`], chosen in `leaf_type`.
//!
//! Limits: [`MAX_ELEMENTS`], [`MAX_DEPTH`]. A malformed tree is `Corrupt`; a leaf with an
//! annotation that cannot be read causes an error only when it is requested ([`Schema::leaf`]).

mod leaf_type;
#[cfg(test)]
mod tests;

use std::ops::Range;

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

use crate::thrift::structs::{ConvertedType, LogicalType, PhysicalType, Repetition, SchemaElement};

pub use leaf_type::ValueConversion;

/// Maximum number of elements of a schema.
pub const MAX_ELEMENTS: usize = 1_000_000;
/// Maximum nesting depth of groups (a list takes two); it ensures that levels fit into a byte.
pub const MAX_DEPTH: usize = 250;

/// All columns and leaves of a file.
#[derive(Debug)]
pub struct Schema {
    columns: Vec<Column>,
    row_type: Arc<RowType>,
    leaves: Vec<Leaf>,
    names: Vec<String>,
    /// For each element, the index of its parent group; the root is its own parent.
    parents: Vec<usize>,
}

/// A node of the tree, which has a value for each slot of its parent.
#[derive(Debug, Clone)]
pub struct Column {
    /// The name in the file; for elements, that of the repeated field or the inner field.
    pub name: String,
    /// The type of its vectors.
    pub ty: Type,
    /// The number by which table formats identify the column.
    pub field_id: Option<i32>,
    /// True when it may be null where its parent is not.
    pub nullable: bool,
    /// Minimum definition level at which its value is not null.
    pub def_level: u8,
    /// Maximum repetition level at which a new slot starts.
    pub rep_level: u8,
    /// The numbers of the leaves below.
    pub leaves: Range<usize>,
    /// The structure of the column.
    pub kind: ColumnKind,
}

/// The structure of a column.
#[derive(Debug, Clone)]
pub enum ColumnKind {
    /// A leaf with this number.
    Leaf(usize),
    /// A struct of these children; there may be none.
    Struct(Vec<Column>),
    /// A list of any number of elements.
    List {
        /// The elements.
        element: Box<Column>,
        /// The levels of the repeated field.
        repeated: RepeatedLevels,
    },
    /// A map of any number of entries.
    Map {
        /// The keys.
        key: Box<Column>,
        /// The values; `None` for a map that has only keys: its values are null.
        value: Option<Box<Column>>,
        /// The levels of the repeated field.
        repeated: RepeatedLevels,
    },
}

/// The levels of the repeated field of a list or map.
///
/// For a pair of levels that starts a slot of the column: `def >= def_level` is a first element,
/// `def == def_level - 1` an empty list, and a smaller `def` a null. A pair with `rep == rep_level`
/// is a further element of the slot, and one with a greater `rep` belongs to a deeper list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatedLevels {
    /// Minimum definition level at which the slot has an element.
    pub def_level: u8,
    /// The repetition level that continues the slot.
    pub rep_level: u8,
}

/// A stored column.
#[derive(Debug)]
pub struct Leaf {
    /// The physical type of the values.
    pub physical: PhysicalType,
    /// Number of bytes of a FIXED_LEN_BYTE_ARRAY, otherwise 0.
    pub type_length: usize,
    /// The definition level of a non-null value.
    pub max_def: u8,
    /// Number of repeated fields from the root to this leaf.
    pub max_rep: u8,
    /// The type of the values.
    pub ty: Type,
    /// The conversion of a stored value into one of `ty`.
    pub conversion: ValueConversion,
    element: usize,
    refusal: Option<Error>,
}

impl Schema {
    /// Builds the tree from the footer's list.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the list is not a valid tree, `Limit` when it exceeds [`MAX_ELEMENTS`] or
    /// [`MAX_DEPTH`].
    pub fn new(elements: &[SchemaElement]) -> Result<Schema> {
        let tree = Tree::new(elements)?;
        let mut builder = Builder { elements, tree: &tree, leaves: Vec::new() };
        let mut columns = Vec::new();
        for child in tree.children(0) {
            columns.push(builder.field(child, Levels { def: 0, rep: 0 })?);
        }
        let leaves = builder.leaves;
        let row_type =
            Arc::new(RowType::new(columns.iter().map(|c| (c.name.as_str(), c.ty.clone()))));
        Ok(Schema {
            columns,
            row_type,
            leaves,
            names: elements.iter().map(|element| element.name.clone()).collect(),
            parents: tree.parents,
        })
    }

    /// Returns the columns of the file.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the names and types of the columns.
    pub fn row_type(&self) -> &Arc<RowType> {
        &self.row_type
    }

    /// Returns the number of leaves, which is also the number of column chunks of each row group.
    pub fn num_leaves(&self) -> usize {
        self.leaves.len()
    }

    /// Returns all leaves, including those that cannot be read.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Returns the leaf with this number for reading.
    ///
    /// # Errors
    ///
    /// Returns the reason when the leaf cannot be read: `Corrupt`, `Unsupported` or `Limit`.
    pub fn leaf(&self, number: usize) -> Result<&Leaf> {
        let leaf = self
            .leaves
            .get(number)
            .ok_or_else(|| Error::internal("no such leaf").with("leaf", number))?;
        match &leaf.refusal {
            None => Ok(leaf),
            Some(error) => Err(error.duplicate().in_named("column", self.leaf_name(number))),
        }
    }

    /// Returns the names from the root to a leaf, as in the file.
    pub fn leaf_path(&self, number: usize) -> Vec<&str> {
        let mut path = Vec::new();
        let mut at = self.leaves.get(number).map_or(0, |leaf| leaf.element);
        while at != 0 {
            path.push(self.names.get(at).map_or("", String::as_str));
            at = self.parents.get(at).copied().unwrap_or(0);
        }
        path.reverse();
        path
    }

    /// Returns the index of a leaf in the footer's list of elements.
    pub fn leaf_element(&self, number: usize) -> Option<usize> {
        self.leaves.get(number).map(|leaf| leaf.element)
    }

    /// Returns the path of a leaf, joined with dots, for messages.
    pub fn leaf_name(&self, number: usize) -> String {
        self.leaf_path(number).join(".")
    }
}

/// The list of elements, checked to be a tree.
struct Tree {
    /// For each element, the index after the last element below it.
    ends: Vec<usize>,
    parents: Vec<usize>,
}

impl Tree {
    /// SPEC: element 0 is the root, and each group's children follow it, depth first.
    fn new(elements: &[SchemaElement]) -> Result<Tree> {
        if elements.is_empty() {
            return Err(Error::corrupt("the schema is empty"));
        }
        if elements.len() > MAX_ELEMENTS {
            return Err(Error::limit("the schema has too many elements")
                .with("elements", elements.len())
                .with("max", MAX_ELEMENTS));
        }
        let mut ends: Vec<usize> = (1..=elements.len()).collect();
        let mut parents = vec![0; elements.len()];
        // The open groups, each with the number of its missing children.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (at, element) in elements.iter().enumerate() {
            if let Some((group, missing)) = open.last_mut() {
                *missing -= 1;
                if let Some(parent) = parents.get_mut(at) {
                    *parent = *group;
                }
            } else if at > 0 {
                return Err(Error::corrupt("schema elements outside the tree")
                    .with("elements", elements.len())
                    .with("in_tree", at));
            }
            let num_children = num_children(element, at)?;
            if num_children > elements.len() - at - 1 {
                return Err(Error::corrupt("a group has more children than the schema")
                    .with("children", num_children)
                    .in_named("column", &element.name));
            }
            if num_children > 0 {
                open.push((at, num_children));
                if open.len() > MAX_DEPTH {
                    return Err(
                        Error::limit("the schema is nested too deep").with("max", MAX_DEPTH)
                    );
                }
            }
            while let Some(&(group, 0)) = open.last() {
                if let Some(end) = ends.get_mut(group) {
                    *end = at + 1;
                }
                open.pop();
            }
        }
        match open.last() {
            None => Ok(Tree { ends, parents }),
            Some((_, missing)) => {
                Err(Error::corrupt("the schema ends inside a group").with("missing", missing))
            }
        }
    }

    fn children(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.ends.get(group).copied().unwrap_or(0);
        let first = Some(group + 1).filter(|first| *first < end);
        std::iter::successors(first, move |at| {
            self.ends.get(*at).copied().filter(|next| *next < end)
        })
    }

    fn only_child(&self, group: usize) -> Option<usize> {
        let mut children = self.children(group);
        children.next().filter(|_| children.next().is_none())
    }
}

/// Returns the number of children of an element, 0 for a leaf.
fn num_children(element: &SchemaElement, at: usize) -> Result<usize> {
    match element.num_children {
        Some(num) => usize::try_from(num).map_err(|_| {
            Error::corrupt("a group has a negative number of children")
                .with("children", num)
                .in_named("column", &element.name)
        }),
        None if at == 0 || element.physical.is_some() => Ok(0),
        None => Err(Error::corrupt("a schema element is neither a group nor a leaf")
            .with("element", at)
            .in_named("column", &element.name)),
    }
}

/// Definition and repetition level at a position in the tree.
#[derive(Clone, Copy)]
struct Levels {
    def: u8,
    rep: u8,
}

impl Levels {
    // The depth of the tree is bounded, so these never saturate.
    fn optional(self) -> Levels {
        Levels { def: self.def.saturating_add(1), rep: self.rep }
    }

    fn repeated(self) -> Levels {
        Levels { def: self.def.saturating_add(1), rep: self.rep.saturating_add(1) }
    }
}

/// The structure of a group, derived from its annotation and its children.
enum Shape {
    Struct,
    /// A list, with the repeated field.
    List(usize),
    /// A map, with the key and value fields inside of the repeated field.
    Map(usize, Option<usize>),
}

/// Traverses the checked tree; the recursion is as deep as the tree, which has a bounded depth.
struct Builder<'a> {
    elements: &'a [SchemaElement],
    tree: &'a Tree,
    leaves: Vec<Leaf>,
}

impl<'a> Builder<'a> {
    fn element(&self, at: usize) -> Result<&'a SchemaElement> {
        self.elements.get(at).ok_or_else(|| Error::internal("schema element out of range"))
    }

    /// Builds a field in a slot of its parent according to its repetition; a missing one is read as
    /// required.
    fn field(&mut self, at: usize, parent: Levels) -> Result<Column> {
        match self.element(at)?.repetition {
            None | Some(Repetition::Required) => self.value(at, parent, false),
            Some(Repetition::Optional) => self.value(at, parent.optional(), true),
            // A repeated field without a LIST or MAP annotation is a list that is never null.
            Some(Repetition::Repeated) => {
                let element = self.value(at, parent.repeated(), false)?;
                list(self.element(at)?, parent, false, element)
            }
        }
    }

    /// Builds the value of an element; `levels` already includes the element's own repetition.
    fn value(&mut self, at: usize, levels: Levels, nullable: bool) -> Result<Column> {
        let element = self.element(at)?;
        let first_leaf = self.leaves.len();
        let (ty, kind) = match element.physical {
            Some(physical) if element.num_children.unwrap_or(0) == 0 => {
                let leaf = self.leaf(at, physical, levels)?;
                (leaf.ty.clone(), ColumnKind::Leaf(first_leaf))
            }
            _ => match self.shape(at)? {
                Shape::List(repeated) => {
                    let inner = self.list_element(at, repeated, levels)?;
                    return list(element, levels, nullable, inner);
                }
                Shape::Map(key, value) => self.map(key, value, levels)?,
                Shape::Struct => {
                    let mut fields = Vec::new();
                    for child in self.tree.children(at) {
                        fields.push(self.field(child, levels)?);
                    }
                    let ty = Type::row(fields.iter().map(|f| (f.name.as_str(), f.ty.clone())));
                    (ty, ColumnKind::Struct(fields))
                }
            },
        };
        let leaves = first_leaf..self.leaves.len();
        if matches!(kind, ColumnKind::Map { .. }) && leaves.is_empty() {
            return Err(without_leaf(element));
        }
        Ok(Column {
            name: element.name.clone(),
            ty,
            field_id: element.field_id,
            nullable,
            def_level: levels.def,
            rep_level: levels.rep,
            leaves,
            kind,
        })
    }

    fn leaf(&mut self, at: usize, physical: PhysicalType, levels: Levels) -> Result<&Leaf> {
        let element = self.element(at)?;
        let typed = leaf_type::of(element, physical);
        self.leaves.push(Leaf {
            physical,
            type_length: typed.type_length,
            max_def: levels.def,
            max_rep: levels.rep,
            ty: typed.ty,
            conversion: typed.conversion,
            element: at,
            refusal: typed.refusal,
        });
        self.leaves.last().ok_or_else(|| Error::internal("leaf was not kept"))
    }

    /// SPEC: a group is a list or a map only if annotation and structure agree; names do not
    /// matter.
    fn shape(&self, at: usize) -> Result<Shape> {
        let element = self.element(at)?;
        let Some(child) = self.tree.only_child(at) else { return Ok(Shape::Struct) };
        if self.element(child)?.repetition != Some(Repetition::Repeated) {
            return Ok(Shape::Struct);
        }
        match annotation(element) {
            GroupAnnotation::None => Ok(Shape::Struct),
            GroupAnnotation::List => Ok(Shape::List(child)),
            GroupAnnotation::Map => {
                let mut fields = self.tree.children(child);
                Ok(match (fields.next(), fields.next(), fields.next()) {
                    (Some(key), value, None) => Shape::Map(key, value),
                    _ => Shape::Struct,
                })
            }
        }
    }

    /// Builds the element of a list: either the repeated field itself or the field that it wraps.
    fn list_element(&mut self, list: usize, repeated: usize, levels: Levels) -> Result<Column> {
        let inner = levels.repeated();
        let wrapper = self.element(repeated)?;
        // SPEC (LIST, backward compatibility): the repeated field is itself the element when it is
        // a leaf, has several fields (or none), has one field that repeats, or has a name that old
        // writers gave to elements. Otherwise its one field is the element.
        let Some(only) = self.tree.only_child(repeated) else {
            return self.value(repeated, inner, false);
        };
        let list_name = &self.element(list)?.name;
        let has_element_name = wrapper.name == "array"
            || wrapper.name.strip_suffix("_tuple") == Some(list_name.as_str());
        if self.element(only)?.repetition == Some(Repetition::Repeated) || has_element_name {
            return self.value(repeated, inner, false);
        }
        self.field(only, inner)
    }

    fn map(
        &mut self,
        key: usize,
        value: Option<usize>,
        levels: Levels,
    ) -> Result<(Type, ColumnKind)> {
        let inner = levels.repeated();
        let key = Box::new(self.field(key, inner)?);
        let value = match value {
            Some(value) => Some(Box::new(self.field(value, inner)?)),
            None => None,
        };
        let value_type = value.as_ref().map_or(Type::Unknown, |value| value.ty.clone());
        let ty = Type::map(key.ty.clone(), value_type);
        let repeated = RepeatedLevels { def_level: inner.def, rep_level: inner.rep };
        Ok((ty, ColumnKind::Map { key, value, repeated }))
    }
}

/// Builds a list column named after `element`; `levels` are those of its slots.
fn list(element: &SchemaElement, levels: Levels, nullable: bool, inner: Column) -> Result<Column> {
    let leaves = inner.leaves.clone();
    if leaves.is_empty() {
        return Err(without_leaf(element));
    }
    let repeated = levels.repeated();
    Ok(Column {
        name: element.name.clone(),
        ty: Type::array(inner.ty.clone()),
        field_id: element.field_id,
        nullable,
        def_level: levels.def,
        rep_level: levels.rep,
        leaves,
        kind: ColumnKind::List {
            element: Box::new(inner),
            repeated: RepeatedLevels { def_level: repeated.def, rep_level: repeated.rep },
        },
    })
}

/// Returns the error for a list of empty groups: lengths are stored with leaves, so it has none.
fn without_leaf(element: &SchemaElement) -> Error {
    Error::corrupt("a list or map has no stored column").in_named("column", &element.name)
}

enum GroupAnnotation {
    None,
    List,
    Map,
}

/// Returns the annotation of a group; the newer one takes precedence, and an unknown one is
/// ignored.
fn annotation(element: &SchemaElement) -> GroupAnnotation {
    match (&element.logical, element.converted) {
        (Some(LogicalType::List), _) => GroupAnnotation::List,
        (Some(LogicalType::Map), _) => GroupAnnotation::Map,
        (None | Some(LogicalType::Unrecognized(_)), Some(converted)) => match converted {
            ConvertedType::List => GroupAnnotation::List,
            // A MAP_KEY_VALUE inside a MAP is folded with it; this one is not inside of one.
            ConvertedType::Map | ConvertedType::MapKeyValue => GroupAnnotation::Map,
            _ => GroupAnnotation::None,
        },
        _ => GroupAnnotation::None,
    }
}
