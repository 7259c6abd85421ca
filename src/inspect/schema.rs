//! Schema: the elements of the file as a tree, with the types as which they are read.

use format_parquet::footer::Footer;
use format_parquet::thrift::structs::{Repetition, SchemaElement};
use vector::{Result, RowVector, Type, Value};

use super::facts::{Facts, number, text, text_or_null};

/// Prefix per level of depth. It starts with a visible character, since tables trim blanks.
const INDENT: &str = "· ";

/// Options for showing the schema.
#[derive(Debug, Clone, Copy, Default)]
pub struct SchemaView {
    /// If true, names are indented by depth, for people; else they are full dotted paths.
    pub is_tree: bool,
    /// If true, levels and field ids are shown too.
    pub is_verbose: bool,
}

/// A group whose children are being shown.
struct Open {
    missing: usize,
    path: String,
    def: u64,
    rep: u64,
    /// True for the root. Elements below a LIST or MAP belong to the type of the column above.
    is_top: bool,
}

/// Returns one row for each element below the root, depth first.
///
/// # Errors
/// `Internal` if a value does not fit its column.
pub fn schema(footer: &Footer, view: SchemaView) -> Result<RowVector> {
    let mut columns = vec![
        ("column", Type::Varchar),
        ("repetition", Type::Varchar),
        ("physical", Type::Varchar),
        ("logical", Type::Varchar),
        ("type", Type::Varchar),
    ];
    if view.is_verbose {
        columns.extend([
            ("max_definition", Type::BigInt),
            ("max_repetition", Type::BigInt),
            ("field_id", Type::Integer),
        ]);
    }
    let mut facts = Facts::new(columns);
    let elements = &footer.metadata.schema;
    let mut types = footer.schema.columns().iter().map(|column| &column.ty);
    let mut leaves = footer.schema.leaves().iter();
    let mut open: Vec<Open> = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        let num_children = usize::try_from(element.num_children.unwrap_or(0)).unwrap_or(0);
        let is_leaf = element.physical.is_some() && num_children == 0;
        let mut below =
            Open { missing: num_children, path: String::new(), def: 0, rep: 0, is_top: at == 0 };
        if at > 0 {
            while open.last().is_some_and(|group| group.missing == 0) {
                open.pop();
            }
            let depth = open.len().saturating_sub(1);
            let Some(group) = open.last_mut() else { break };
            group.missing -= 1;
            below.def = group.def + u64::from(is_optional(element) || is_repeated(element));
            below.rep = group.rep + u64::from(is_repeated(element));
            below.path = match group.path.as_str() {
                "" => element.name.clone(),
                path => format!("{path}.{}", element.name),
            };
            let leaf = if is_leaf { leaves.next() } else { None };
            let ty = if group.is_top { types.next() } else { leaf.map(|leaf| &leaf.ty) };
            let name = if view.is_tree {
                INDENT.repeat(depth) + &element.name
            } else {
                below.path.clone()
            };
            let mut row = vec![
                text(name),
                text_or_null(element.repetition.map(Repetition::as_str)),
                text_or_null(physical(element)),
                text_or_null(logical(element)),
                text_or_null(ty.map(ToString::to_string)),
            ];
            if view.is_verbose {
                row.extend([
                    number(below.def),
                    number(below.rep),
                    element.field_id.map_or(Value::Null, Value::Integer),
                ]);
            }
            facts.push(row);
        }
        if !is_leaf {
            open.push(below);
        }
    }
    facts.finish()
}

fn is_optional(element: &SchemaElement) -> bool {
    element.repetition == Some(Repetition::Optional)
}

fn is_repeated(element: &SchemaElement) -> bool {
    element.repetition == Some(Repetition::Repeated)
}

fn physical(element: &SchemaElement) -> Option<String> {
    let physical = element.physical?;
    Some(match element.type_length {
        Some(width) if width > 0 => format!("{physical}({width})"),
        _ => physical.to_string(),
    })
}

/// Returns the logical type annotation, else the older converted type.
fn logical(element: &SchemaElement) -> Option<String> {
    let newer = element.logical.as_ref().map(ToString::to_string);
    newer.or_else(|| {
        let older = element.converted?.to_string();
        Some(match (element.precision, element.scale) {
            (Some(precision), scale) if precision > 0 => {
                format!("{older}({precision},{})", scale.unwrap_or(0))
            }
            _ => older,
        })
    })
}
