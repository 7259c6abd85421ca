//! Extractions: the derived value that a column handle produces from a column of the files (rules
//! S16.1 to S16.5).
//!
//! ```text
//! MAP(VARCHAR, ROW(x, y ARRAY)) --MAP_VALUES--> ARRAY(ROW(x, y ARRAY))
//!     --ARRAY_ELEMENTS, per element--> ROW(x, y ARRAY) --STRUCT_FIELD y--> ARRAY --SIZE--> BIGINT
//!     = ARRAY(BIGINT)
//! ```
//!
//! This module derives types; `extract_vector` transforms vectors. Extraction happens after reading
//! (rule S16.20). Parts of the column that no chain uses are not read, as far as pruning can
//! express it.

use std::fmt;

use dwio::subfield::{PathElement, Subfield};
use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

/// One named result of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// Name of the result's field if the column has several extractions.
    pub output_name: String,
    /// Steps from the column to the result; without steps the result is the column itself.
    pub chain: Vec<ExtractionStep>,
    /// Type of the result, as the plan declares it.
    pub ty: Type,
}

/// One step of an extraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtractionStep {
    /// Returns a field of a struct.
    StructField(String),
    /// Returns the keys of a map as an array.
    MapKeys,
    /// Returns the values of a map as an array.
    MapValues,
    /// Keeps the entries of a map whose key is in the set.
    MapKeyFilter(KeySet),
    /// Applies the following steps to each element of an array.
    ArrayElements,
    /// Returns the number of elements or entries.
    Size,
}

/// The keys that a map keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySet {
    /// String keys.
    Strings(Vec<Arc<[u8]>>),
    /// Keys of any integer type.
    Integers(Vec<i64>),
}

impl ExtractionStep {
    /// Parses the name of a step as [`Display`](fmt::Display) writes it. The arguments of the step
    /// are passed separately.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name or a missing argument.
    pub fn parse(name: &str, field: Option<&str>, keys: Option<KeySet>) -> Result<Self> {
        let missing = |what: &'static str| {
            Error::invalid_input("an extraction step lacks something")
                .with("step", name)
                .with("missing", what)
        };
        Ok(match name {
            "STRUCT_FIELD" => {
                Self::StructField(field.ok_or_else(|| missing("field name"))?.to_string())
            }
            "MAP_KEYS" => Self::MapKeys,
            "MAP_VALUES" => Self::MapValues,
            "MAP_KEY_FILTER" => Self::MapKeyFilter(keys.ok_or_else(|| missing("keys"))?),
            "ARRAY_ELEMENTS" => Self::ArrayElements,
            "SIZE" => Self::Size,
            _ => {
                return Err(Error::invalid_input("an unknown extraction step").with("step", name));
            }
        })
    }
}

impl fmt::Display for ExtractionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ExtractionStep::StructField(_) => "STRUCT_FIELD",
            ExtractionStep::MapKeys => "MAP_KEYS",
            ExtractionStep::MapValues => "MAP_VALUES",
            ExtractionStep::MapKeyFilter(_) => "MAP_KEY_FILTER",
            ExtractionStep::ArrayElements => "ARRAY_ELEMENTS",
            ExtractionStep::Size => "SIZE",
        })
    }
}

/// Returns the type that extractions of a column of type `schema` produce: the type of a single
/// one, or a struct of several.
///
/// # Errors
/// `InvalidInput` if a chain does not fit or produces another type than it declares.
pub(crate) fn output_type(schema: &Type, extractions: &[Extraction]) -> Result<Type> {
    for extraction in extractions {
        let derived = chain_type(schema, &extraction.chain)?;
        if !derived.is_equivalent(&extraction.ty) {
            return Err(Error::invalid_input(
                "an extraction declares another type than it returns",
            )
            .with("declared", &extraction.ty)
            .with("derived", derived)
            .in_named("extraction", &extraction.output_name));
        }
    }
    Ok(match extractions {
        [] => schema.clone(),
        [one] => one.ty.clone(),
        several => {
            let fields = several.iter().map(|e| (e.output_name.clone(), e.ty.clone()));
            Type::Row(Arc::new(RowType::new(fields)))
        }
    })
}

/// Returns the type that a chain produces from `input` (rule S16.3).
///
/// # Errors
/// `InvalidInput` if a step does not fit.
pub(crate) fn chain_type(input: &Type, chain: &[ExtractionStep]) -> Result<Type> {
    let Some((step, rest)) = chain.split_first() else { return Ok(input.clone()) };
    let misfit = |why: &'static str| {
        Error::invalid_input("an extraction step does not fit")
            .with("step", step)
            .with("input", input)
            .with("why", why)
    };
    match (step, input) {
        (ExtractionStep::StructField(name), Type::Row(row)) => match row.type_of(name) {
            Some(field) => chain_type(field, rest),
            None => Err(misfit("the struct has no such field").with("field", name)),
        },
        (ExtractionStep::MapKeys | ExtractionStep::MapValues, Type::Map(key, value)) => {
            if !matches!(rest.first(), None | Some(ExtractionStep::ArrayElements)) {
                return Err(misfit("only ARRAY_ELEMENTS may follow"));
            }
            let element = if *step == ExtractionStep::MapKeys { key } else { value };
            chain_type(&Type::Array(Arc::clone(element)), rest)
        }
        (ExtractionStep::MapKeyFilter(keys), Type::Map(key, _)) => {
            let fits = match keys {
                KeySet::Strings(_) => matches!(**key, Type::Varchar | Type::Varbinary),
                KeySet::Integers(_) => key.is_integer(),
            };
            if fits { chain_type(input, rest) } else { Err(misfit("the keys are of another kind")) }
        }
        (ExtractionStep::ArrayElements, Type::Array(element)) => {
            chain_type(element, rest).map(Type::array)
        }
        (ExtractionStep::Size, Type::Map(..) | Type::Array(_)) => {
            if rest.is_empty() {
                Ok(Type::BigInt)
            } else {
                Err(misfit("nothing may follow"))
            }
        }
        _ => Err(misfit("the step needs another type")),
    }
}

/// Returns the subfields of column `name`, of type `schema`, that the chains use. For formats that
/// do not apply extractions themselves, pruning to these subfields avoids reading the rest (rules
/// S16.13, S16.14). The chains must fit the type.
pub(crate) fn needed_subfields(
    name: &str,
    schema: &Type,
    extractions: &[Extraction],
) -> Vec<Subfield> {
    let mut needed = Vec::new();
    for extraction in extractions {
        need(Subfield::column(name), schema, &extraction.chain, &mut needed);
    }
    needed
}

fn need(path: Subfield, ty: &Type, chain: &[ExtractionStep], needed: &mut Vec<Subfield>) {
    use ExtractionStep::{ArrayElements, MapKeyFilter, MapKeys, MapValues, Size, StructField};
    match (chain, ty) {
        ([StructField(name), rest @ ..], Type::Row(row)) => match only_field(row, name) {
            Some(field) => need(path.then(field_step(name)), field, rest, needed),
            None => needed.push(path),
        },
        ([MapValues, ArrayElements, rest @ ..], Type::Map(_, element))
        | ([ArrayElements, rest @ ..], Type::Array(element)) => {
            need(path.then(PathElement::All), element, rest, needed);
        }
        ([MapKeyFilter(_), rest @ ..], Type::Map(..)) => need(path, ty, rest, needed),
        // Keys can be read with any value and lengths with any element, so one leaf suffices.
        ([MapKeys, ..] | [Size], Type::Map(_, element)) | ([Size], Type::Array(element)) => {
            needed.push(match element.as_row().and_then(|row| cheapest_field(row)) {
                Some(name) => path.then(PathElement::All).then(field_step(name)),
                None => path,
            });
        }
        _ => needed.push(path),
    }
}

fn field_step(name: &str) -> PathElement {
    PathElement::Field(name.into())
}

/// Returns the type of a field, unless several fields have its name.
fn only_field<'a>(row: &'a RowType, name: &str) -> Option<&'a Type> {
    let is_only = row.names().iter().filter(|n| *n == name).count() == 1;
    row.type_of(name).filter(|_| is_only)
}

fn cheapest_field(row: &RowType) -> Option<&str> {
    let alone = || row.fields().filter(|(name, _)| only_field(row, name).is_some());
    let flat = alone().find(|(_, ty)| !ty.is_nested()).or_else(|| alone().next());
    flat.map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExtractionStep::*;

    fn inner() -> Type {
        Type::row([("x", Type::BigInt), ("y", Type::array(Type::Real))])
    }

    fn field(name: &str) -> ExtractionStep {
        StructField(name.into())
    }

    #[test]
    fn s16_3_types_follow_from_the_steps() {
        let map = Type::map(Type::Varchar, inner());
        let keys = || MapKeyFilter(KeySet::Strings(vec![Arc::from(*b"k")]));
        let cases = [
            (vec![], map.clone()),
            (vec![MapKeys], Type::array(Type::Varchar)),
            (vec![MapValues], Type::array(inner())),
            (vec![keys()], map.clone()),
            (vec![keys(), Size], Type::BigInt),
            (vec![MapValues, ArrayElements, field("x")], Type::array(Type::BigInt)),
            // Steps after ARRAY_ELEMENTS apply to each element (rule S16.4).
            (vec![MapValues, ArrayElements, field("y"), Size], Type::array(Type::BigInt)),
            (
                vec![MapValues, ArrayElements, field("y"), ArrayElements],
                Type::array(Type::array(Type::Real)),
            ),
        ];
        for (chain, ty) in cases {
            assert_eq!(chain_type(&map, &chain).unwrap(), ty, "{chain:?}");
        }
    }

    #[test]
    fn s16_3_steps_that_do_not_fit_are_refused() {
        let map = Type::map(Type::BigInt, inner());
        let strings = MapKeyFilter(KeySet::Strings(vec![]));
        for chain in [
            vec![field("x")],
            vec![ArrayElements],
            vec![MapKeys, Size],
            vec![MapValues, field("x")],
            vec![Size, Size],
            vec![strings],
            vec![MapValues, ArrayElements, field("z")],
            vec![MapValues, ArrayElements, field("x"), Size],
        ] {
            let error = chain_type(&map, &chain).unwrap_err();
            assert!(error.is_user(), "{chain:?}");
        }
    }

    #[test]
    fn s16_2_names_of_steps_round_trip() {
        let keys = KeySet::Integers(vec![1]);
        for step in
            [field("f"), MapKeys, MapValues, MapKeyFilter(keys.clone()), ArrayElements, Size]
        {
            let parsed = ExtractionStep::parse(&step.to_string(), Some("f"), Some(keys.clone()));
            assert_eq!(parsed.unwrap(), step);
        }
        assert!(ExtractionStep::parse("MAP_SIZE", None, None).is_err());
        assert!(ExtractionStep::parse("STRUCT_FIELD", None, None).is_err());
    }

    /// SIZE needs lengths and no elements (rule S16.14).
    #[test]
    fn s16_13_what_no_chain_looks_at_is_not_needed() {
        let deep = Type::row([("l", Type::array(inner())), ("n", Type::BigInt)]);
        let map = Type::map(Type::Varchar, deep.clone());
        let of = |schema: &Type, chains: &[&[ExtractionStep]]| -> Vec<String> {
            let extraction = |chain: &&[ExtractionStep]| {
                let ty = chain_type(schema, chain).unwrap();
                Extraction { output_name: "o".into(), chain: chain.to_vec(), ty }
            };
            let extractions: Vec<_> = chains.iter().map(extraction).collect();
            let needed = needed_subfields("c", schema, &extractions);
            needed.iter().map(Subfield::to_string).collect()
        };
        let keys = MapKeyFilter(KeySet::Strings(vec![]));
        assert_eq!(of(&map, &[&[MapKeys]]), ["c[*].n"]);
        assert_eq!(of(&map, &[&[keys.clone(), Size]]), ["c[*].n"]);
        assert_eq!(of(&map, &[&[MapValues]]), ["c"]);
        assert_eq!(of(&map, &[&[keys]]), ["c"]);
        let values = [MapValues, ArrayElements, field("l"), Size];
        assert_eq!(of(&map, &[&values]), ["c[*].l[*].x"]);
        assert_eq!(of(&map, &[&values, &[]]), ["c[*].l[*].x", "c"]);
        let lists = [MapValues, ArrayElements, field("l"), ArrayElements, field("y")];
        assert_eq!(of(&map, &[&lists]), ["c[*].l[*].y"]);
        assert_eq!(of(&deep, &[&[field("n")]]), ["c.n"]);
        assert_eq!(of(&Type::array(Type::BigInt), &[&[Size]]), ["c"]);
        let twins = Type::row([("a", Type::BigInt), ("a", Type::BigInt)]);
        assert_eq!(of(&twins, &[&[field("a")]]), ["c"]);
    }

    #[test]
    fn s16_5_declared_types_must_be_the_derived_ones() {
        let map = Type::map(Type::Varchar, Type::BigInt);
        let of = |name: &str, chain, ty| Extraction { output_name: name.into(), chain, ty };
        let keys = of("k", vec![MapKeys], Type::array(Type::Varchar));
        let size = of("n", vec![Size], Type::BigInt);
        let wrong = of("n", vec![Size], Type::Integer);
        assert_eq!(output_type(&map, std::slice::from_ref(&size)).unwrap(), Type::BigInt);
        let both = Type::row([("k", Type::array(Type::Varchar)), ("n", Type::BigInt)]);
        assert_eq!(output_type(&map, &[keys, size]).unwrap(), both);
        assert!(output_type(&map, &[wrong]).unwrap_err().is_user());
    }
}
