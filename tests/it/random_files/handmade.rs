//! Files that the Arrow writer does not write: legacy forms of lists and maps, INT96, decimals of
//! any length. The values are chosen together with the lines that they must read as:
//!
//! ```text
//! random tree of fields --declaration--> schema
//!          |--row by row--> levels and values of each leaf --> file
//!          `--------------> the text of each column
//! ```

use std::fmt::Write;
use std::sync::Arc;

use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::values::{Leaf, Scalar};
use super::{Case, Probe, one_of, random_properties};
use crate::support::random::Random;

/// Maximum nesting depth of lists, maps and structs.
const MAX_DEPTH: usize = 3;

struct Node {
    name: String,
    is_optional: bool,
    shape: Shape,
}

enum Shape {
    Scalar(Scalar),
    Struct(Vec<Node>),
    List(ListForm, Box<Node>),
    Map(MapForm, Vec<Node>),
}

/// Declaration of a list.
enum ListForm {
    /// `group NAME (LIST) { repeated group REPEATED { ELEMENT } }`
    ThreeLevels { repeated: &'static str },
    /// `group NAME (LIST) { repeated ELEMENT }`
    TwoLevels,
    /// `repeated ELEMENT`, which has the list's name.
    Bare,
}

/// Declaration of a map of a key and, mostly, a value: annotation of the group, and name of the
/// repeated field.
struct MapForm {
    annotation: &'static str,
    repeated: &'static str,
}

/// Levels of the next slot of a node.
#[derive(Clone, Copy)]
struct Place {
    rep: i16,
    def: i16,
    /// Number of enclosing repeated fields.
    depth: i16,
}

impl Place {
    /// Returns the levels of element `i` of a list here.
    fn element(self, i: u64) -> Place {
        let depth = self.depth + 1;
        Place { rep: if i == 0 { self.rep } else { depth }, def: self.def + 1, depth }
    }
}

impl Node {
    fn random(name: String, depth: usize, random: &mut Random) -> Node {
        let is_optional = !random.once_in(3);
        if depth == 0 || random.once_in(4) {
            return Node { name, is_optional, shape: Shape::Scalar(Scalar::random(random)) };
        }
        match random.below(8) {
            0 => {
                let fields = (0..1 + random.below(3))
                    .map(|n| Node::random(format!("f{n}"), depth - 1, random));
                Node { name, is_optional, shape: Shape::Struct(fields.collect()) }
            }
            1 => {
                let element = Node::repeated(name.clone(), depth - 1, random);
                let shape = Shape::List(ListForm::Bare, element.into());
                Node { name, is_optional: false, shape }
            }
            2..=3 => {
                let name_of_element = one_of(random, &["element", "item", "array_element"]);
                let element = Node::random(name_of_element.into(), depth - 1, random);
                let element = element.not_bare(random);
                let repeated = one_of(random, &["list", "bag", "element"]);
                let shape = Shape::List(ListForm::ThreeLevels { repeated }, element.into());
                Node { name, is_optional, shape }
            }
            4..=5 => {
                let element = Node::element(&name, depth - 1, random);
                Node { name, is_optional, shape: Shape::List(ListForm::TwoLevels, element.into()) }
            }
            _ => {
                let mut fields = vec![Node::random("key".into(), 0, random)];
                if !random.once_in(6) {
                    let value = Node::random("value".into(), depth - 1, random);
                    fields.push(value.not_bare(random));
                }
                let annotation = one_of(random, &["MAP", "MAP_KEY_VALUE"]);
                let repeated = one_of(random, &["key_value", "map (MAP_KEY_VALUE)", "entries"]);
                Node {
                    name,
                    is_optional,
                    shape: Shape::Map(MapForm { annotation, repeated }, fields),
                }
            }
        }
    }

    /// Returns an element that is the repeated field itself, of a list with that name.
    fn element(list: &str, depth: usize, random: &mut Random) -> Node {
        let name = one_of(random, &["array", "element", "bag"]);
        let mut element = Node::repeated(name.into(), depth, random);
        // A group of several fields is an element under any name. A nested list or map must get its
        // final name here, because the allowed names of its own repeated field depend on it.
        if let Shape::Struct(fields) = &element.shape
            && fields.len() == 1
        {
            let names = ["array".to_string(), format!("{list}_tuple")];
            element.name = one_of(random, &[&names[0], &names[1]]).to_string();
        }
        element
    }

    /// Returns an element that is a repeated field of that name.
    fn repeated(name: String, depth: usize, random: &mut Random) -> Node {
        let element = Node::random(name, depth, random).not_bare(random);
        Node { is_optional: false, ..element }
    }

    /// Avoids a bare repeated field where the format would interpret it as the enclosing list.
    fn not_bare(self, random: &mut Random) -> Node {
        match self.shape {
            Shape::List(ListForm::Bare, _) => Node::random(self.name, 0, random),
            _ => self,
        }
    }

    fn leaves(&self, random: &mut Random) -> Vec<Leaf> {
        match &self.shape {
            Shape::Scalar(scalar) => vec![Leaf::new(*scalar, random)],
            Shape::List(_, element) => element.leaves(random),
            Shape::Struct(fields) | Shape::Map(_, fields) => {
                fields.iter().flat_map(|field| field.leaves(random)).collect()
            }
        }
    }

    fn num_leaves(&self) -> usize {
        match &self.shape {
            Shape::Scalar(_) => 1,
            Shape::List(_, element) => element.num_leaves(),
            Shape::Struct(fields) | Shape::Map(_, fields) => {
                fields.iter().map(Node::num_leaves).sum()
            }
        }
    }

    fn declare(&self, out: &mut String) {
        let repetition = if self.is_optional { "optional" } else { "required" };
        self.declare_as(repetition, &self.name, out);
    }

    fn declare_as(&self, repetition: &str, name: &str, out: &mut String) {
        match &self.shape {
            Shape::Scalar(scalar) => {
                let (storage, annotation) = scalar.declaration();
                writeln!(out, "{repetition} {storage} {name} {annotation};").unwrap();
            }
            Shape::Struct(fields) => {
                writeln!(out, "{repetition} group {name} {{").unwrap();
                fields.iter().for_each(|field| field.declare(out));
                out.push_str("}\n");
            }
            Shape::List(ListForm::Bare, element) => element.declare_as("repeated", name, out),
            Shape::List(ListForm::TwoLevels, element) => {
                writeln!(out, "{repetition} group {name} (LIST) {{").unwrap();
                element.declare_as("repeated", &element.name, out);
                out.push_str("}\n");
            }
            Shape::List(ListForm::ThreeLevels { repeated }, element) => {
                writeln!(out, "{repetition} group {name} (LIST) {{ repeated group {repeated} {{")
                    .unwrap();
                element.declare(out);
                out.push_str("} }\n");
            }
            Shape::Map(MapForm { annotation, repeated }, fields) => {
                writeln!(out, "{repetition} group {name} ({annotation}) {{").unwrap();
                writeln!(out, "repeated group {repeated} {{").unwrap();
                fields.iter().for_each(|field| field.declare(out));
                out.push_str("} }\n");
            }
        }
    }

    /// Adds one random slot to the leaves, and its text to `out`.
    fn put(&self, place: Place, leaves: &mut [Leaf], random: &mut Random, out: &mut String) {
        let mut place = place;
        if self.is_optional {
            if random.once_in(4) {
                leaves.iter_mut().for_each(|leaf| leaf.put_absent(place.rep, place.def));
                return out.push_str("null");
            }
            place.def += 1;
        }
        match &self.shape {
            Shape::Scalar(_) => leaves[0].put(place.rep, place.def, random, out),
            Shape::Struct(fields) => {
                out.push('{');
                let mut rest = leaves;
                for (i, field) in fields.iter().enumerate() {
                    let (own, others) = rest.split_at_mut(field.num_leaves());
                    rest = others;
                    let comma = if i > 0 { "," } else { "" };
                    write!(out, "{comma}\"{}\":", field.name).unwrap();
                    field.put(place, own, random, out);
                }
                out.push('}');
            }
            Shape::List(_, element) => {
                put_list(place, leaves, random, out, |place, leaves, random| {
                    let mut text = String::new();
                    element.put(place, leaves, random, &mut text);
                    Some(text)
                })
            }
            Shape::Map(_, fields) => {
                put_list(place, leaves, random, out, |place, leaves, random| {
                    let (keys, values) = leaves.split_at_mut(1);
                    let (mut key, mut value) = (String::new(), String::new());
                    fields[0].put(place, keys, random, &mut key);
                    match fields.get(1) {
                        Some(field) => field.put(place, values, random, &mut value),
                        None => value.push_str("null"),
                    }
                    // Entries without keys are dropped.
                    (key != "null").then(|| format!("[{key},{value}]"))
                })
            }
        }
    }
}

/// Adds up to three elements, and the texts of those that readers return.
fn put_list(
    place: Place,
    leaves: &mut [Leaf],
    random: &mut Random,
    out: &mut String,
    put: impl Fn(Place, &mut [Leaf], &mut Random) -> Option<String>,
) {
    let num_elements = random.below(4);
    if num_elements == 0 {
        leaves.iter_mut().for_each(|leaf| leaf.put_absent(place.rep, place.def));
    }
    let texts: Vec<_> =
        (0..num_elements).filter_map(|i| put(place.element(i), leaves, random)).collect();
    write!(out, "[{}]", texts.join(",")).unwrap();
}

/// Returns a file of random fields in legacy forms.
pub(super) fn random_case(random: &mut Random) -> Case {
    let columns: Vec<Node> = (0..1 + random.below(4))
        .map(|n| {
            let depth = random.below(MAX_DEPTH as u64 + 1) as usize;
            Node::random(format!("c{n}"), depth, random)
        })
        .collect();
    let mut declaration = "message schema {\n".to_string();
    columns.iter().for_each(|column| column.declare(&mut declaration));
    declaration.push('}');
    let schema = Arc::new(parse_message_type(&declaration).unwrap());
    let properties = random_properties(&SchemaDescriptor::new(Arc::clone(&schema)), random);

    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    let mut texts = vec![Vec::new(); columns.len()];
    for _ in 0..random.below(4) {
        let num_rows = random.below(150);
        let mut group = writer.next_row_group().unwrap();
        for (column, texts) in columns.iter().zip(&mut texts) {
            let mut leaves = column.leaves(random);
            for _ in 0..num_rows {
                let mut text = String::new();
                column.put(Place { rep: 0, def: 0, depth: 0 }, &mut leaves, random, &mut text);
                texts.push(text);
            }
            for leaf in leaves {
                let mut chunk = group.next_column().unwrap().expect("a leaf of the schema");
                leaf.write(chunk.untyped());
                chunk.close().unwrap();
            }
        }
        group.close().unwrap();
    }
    writer.close().unwrap();

    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let probes = columns.iter().map(|column| match column.shape {
        Shape::Scalar(Scalar::Integer) => Probe::Number,
        Shape::Scalar(Scalar::Text) => Probe::Text,
        _ => Probe::Nothing,
    });
    Case { file, probes: probes.collect(), names, texts, declaration }
}
