//! Extractions: what a column handle makes of a column of the files (rules S16.1 to S16.5).
//!
//! ```text
//! MAP(VARCHAR, ROW(x, y ARRAY)) --MAP_VALUES--> ARRAY(ROW(x, y ARRAY))
//!     --ARRAY_ELEMENTS, for each element--> ROW(x, y ARRAY) --STRUCT_FIELD y--> ARRAY --SIZE--> BIGINT
//!     = ARRAY(BIGINT)
//! ```
//!
//! Types are derived here, vectors are transformed in `extract_vector`. Extraction is done after
//! reading: formats read the whole column (rule S16.20).

use std::fmt;

use vector::sync::Arc;
use vector::{Error, Result, RowType, Type};

/// One named result of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// The field's name where a column has several extractions.
    pub output_name: String,
    /// The steps from the column to the result; none gives the column itself.
    pub chain: Vec<ExtractionStep>,
    /// The type of the result, as the plan declares it.
    pub ty: Type,
}

/// One step of an extraction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtractionStep {
    /// The field of a struct.
    StructField(String),
    /// The keys of a map as an array.
    MapKeys,
    /// The values of a map as an array.
    MapValues,
    /// The entries of a map with one of these keys.
    MapKeyFilter(KeySet),
    /// What follows is done with each element of an array.
    ArrayElements,
    /// The number of elements or entries.
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
    /// The step of a name as [`Display`](fmt::Display) writes it; what belongs to the step is
    /// given beside. `InvalidInput` for an unknown name or when something is missing.
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

/// The type that extractions make of a column of type `schema`: that of the only one, or a struct.
/// `InvalidInput` when a chain does not fit or gives another type than it declares.
pub fn output_type(schema: &Type, extractions: &[Extraction]) -> Result<Type> {
    for extraction in extractions {
        let derived = chain_type(schema, &extraction.chain)?;
        if !derived.is_equivalent(&extraction.ty) {
            return Err(Error::invalid_input("an extraction declares another type than it gives")
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

/// The type that a chain makes of `input` (rule S16.3).
pub fn chain_type(input: &Type, chain: &[ExtractionStep]) -> Result<Type> {
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
            // Rule S16.4.
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
