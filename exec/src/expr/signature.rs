//! Signatures as typing rules: a call is checked against the signatures that messages show.
//!
//! ```text
//! (ARRAY(T), T) -> BIGINT          a letter is any type, the common type of all its occurrences
//! (VARCHAR, ...) -> VARCHAR        the last argument is repeated once or more
//! (VARCHAR [, VARCHAR]) -> DATE    the last argument may be omitted
//! (T) -> T for integer T           integer; number: integer or float; ordered: not a map;
//!                                  scalar: not an array, map or struct
//! ```
//!
//! Signatures are tried in their order, and the first one to which the arguments convert is used.

use vector::Type;
use vector::sync::Arc;

use super::coercion::{can_coerce, common_type};
use super::typing::Resolved;

/// Returns the types of a call by the first matching signature.
pub(super) fn by_signatures<'a>(
    mut signatures: impl Iterator<Item = &'a str>,
    types: &[Type],
) -> Option<Resolved> {
    signatures.find_map(|signature| by_signature(signature, types))
}

fn by_signature(signature: &str, types: &[Type]) -> Option<Resolved> {
    let optional =
        signature.split_once(" [").and_then(|(before, rest)| Some((before, rest.split_once(']')?)));
    match optional {
        Some((before, (optional, after))) => by_variant(&format!("{before}{after}"), types)
            .or_else(|| by_variant(&format!("{before}{optional}{after}"), types)),
        None => by_variant(signature, types),
    }
}

/// Types that letters are bound to.
#[derive(Default)]
struct Letters {
    bound: Vec<(u8, Type)>,
}

/// Returns the types of a call by a signature without optional arguments.
fn by_variant(signature: &str, types: &[Type]) -> Option<Resolved> {
    let (parameters, result) = signature.strip_prefix('(')?.split_once(") -> ")?;
    let (result, class) = match result.split_once(" for ") {
        Some((result, class)) => (result, Some(class)),
        None => (result, None),
    };
    let mut patterns = listed(parameters);
    if patterns.last() == Some(&"...") {
        patterns.pop();
        let repeated = *patterns.last()?;
        while patterns.len() < types.len() {
            patterns.push(repeated);
        }
    }
    if patterns.len() != types.len() {
        return None;
    }
    let mut letters = Letters::default();
    let fits = patterns.iter().zip(types).all(|(pattern, ty)| letters.bind(pattern, ty));
    if !fits || !class.is_none_or(|class| letters.are(class)) {
        return None;
    }
    let args = patterns.iter().map(|pattern| letters.made(pattern)).collect::<Option<_>>()?;
    Some(Resolved::new(args, letters.made(result)?))
}

/// Splits a list at its top-level commas.
fn listed(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

/// Returns the name and the parts of `ARRAY(T)`, `MAP(K, V)` and `ROW(K, V)`.
fn nested(pattern: &str) -> Option<(&str, Vec<&str>)> {
    let (name, parts) = pattern.strip_suffix(')')?.split_once('(')?;
    Some((name, listed(parts)))
}

impl Letters {
    /// Returns true when `ty` matches; binds the letters of the pattern to it.
    fn bind(&mut self, pattern: &str, ty: &Type) -> bool {
        if let Some((name, parts)) = nested(pattern) {
            return match (name, parts.as_slice(), ty) {
                (_, _, Type::Unknown) => true,
                ("ARRAY", [part], Type::Array(element)) => self.bind(part, element),
                ("MAP", [key, value], Type::Map(k, v)) => self.bind(key, k) && self.bind(value, v),
                ("ROW", parts, Type::Row(row)) => {
                    parts.len() == row.len()
                        && parts.iter().zip(row.types()).all(|(part, ty)| self.bind(part, ty))
                }
                _ => false,
            };
        }
        let &[letter] = pattern.as_bytes() else {
            return Type::parse(pattern).is_ok_and(|wanted| can_coerce(ty, &wanted));
        };
        let common = match self.of(letter) {
            Some(bound) => common_type(bound, ty),
            None => Some(ty.clone()),
        };
        self.bound.retain(|(known, _)| *known != letter);
        let fits = common.is_some();
        self.bound.extend(common.map(|common| (letter, common)));
        fits
    }

    fn of(&self, letter: u8) -> Option<&Type> {
        self.bound.iter().find(|(known, _)| *known == letter).map(|(_, ty)| ty)
    }

    /// Returns true when the letter at the end of `class` is bound to a type of that class.
    fn are(&self, class: &str) -> bool {
        let Some((class, letter)) = class.split_once(' ') else { return false };
        let ty = letter.bytes().next().and_then(|letter| self.of(letter));
        // Nulls of unknown type belong to every class.
        let Some(ty) = ty.filter(|ty| **ty != Type::Unknown) else { return true };
        match class {
            "integer" => {
                matches!(ty, Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt)
            }
            "number" => ty.is_numeric() && !matches!(ty, Type::Decimal { .. } | Type::HugeInt),
            "ordered" => is_ordered(ty),
            "scalar" => !ty.is_nested(),
            _ => false,
        }
    }

    /// Returns the type that a pattern denotes.
    fn made(&self, pattern: &str) -> Option<Type> {
        if let Some((name, parts)) = nested(pattern) {
            let parts: Vec<Type> =
                parts.iter().map(|part| self.made(part)).collect::<Option<_>>()?;
            return match (name, parts.as_slice()) {
                ("ARRAY", [element]) => Some(Type::array(element.clone())),
                ("MAP", [key, value]) => {
                    Some(Type::Map(Arc::new(key.clone()), Arc::new(value.clone())))
                }
                ("ROW", parts) => Some(Type::row(parts.iter().map(|ty| ("", ty.clone())))),
                _ => None,
            };
        }
        match pattern.as_bytes() {
            // All occurrences of the letter were nulls of unknown type.
            [letter] => Some(self.of(*letter).cloned().unwrap_or(Type::Unknown)),
            _ => Type::parse(pattern).ok(),
        }
    }
}

/// Returns true when values of the type can be sorted.
fn is_ordered(ty: &Type) -> bool {
    match ty {
        Type::Map(..) => false,
        Type::Array(element) => is_ordered(element),
        Type::Row(row) => row.types().iter().all(is_ordered),
        _ => true,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::expr::FunctionRegistry;

    fn resolved(signature: &str, types: &[Type]) -> String {
        let join =
            |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        match by_signature(signature, types) {
            Some(resolved) => format!("{} = {}", join(&resolved.args), resolved.result),
            None => "none".into(),
        }
    }

    #[test]
    fn a_letter_is_the_common_type_of_its_places() {
        let list = Type::array(Type::Integer);
        let find = "(ARRAY(T), T) -> BIGINT";
        assert_eq!(resolved(find, &[list.clone(), Type::BigInt]), "ARRAY(BIGINT) BIGINT = BIGINT");
        assert_eq!(resolved(find, &[list.clone(), Type::Varchar]), "none");
        assert_eq!(
            resolved(find, &[list.clone(), Type::Unknown]),
            "ARRAY(INTEGER) INTEGER = BIGINT"
        );
        assert_eq!(resolved(find, &[Type::Unknown, Type::BigInt]), "ARRAY(BIGINT) BIGINT = BIGINT");
        let make = "(ARRAY(K), ARRAY(V)) -> MAP(K, V)";
        let lists = [list, Type::array(Type::Varchar)];
        assert_eq!(resolved(make, &lists), "ARRAY(INTEGER) ARRAY(VARCHAR) = MAP(INTEGER,VARCHAR)");
        let pairs = Type::array(Type::row([("a", Type::Date), ("b", Type::Real)]));
        assert!(resolved("(ARRAY(ROW(K, V))) -> MAP(K, V)", &[pairs]).ends_with("MAP(DATE,REAL)"));
    }

    #[test]
    fn the_last_argument_may_come_again() {
        let join = "(VARCHAR, ...) -> VARCHAR";
        assert_eq!(resolved(join, &[]), "none");
        assert_eq!(resolved(join, &[Type::Varchar]), "VARCHAR = VARCHAR");
        assert_eq!(resolved(join, &[Type::Varchar, Type::Unknown]), "VARCHAR VARCHAR = VARCHAR");
        assert_eq!(resolved("() -> DOUBLE", &[]), " = DOUBLE");
        assert_eq!(resolved("() -> DOUBLE", &[Type::BigInt]), "none");
    }

    #[test]
    fn an_optional_argument_may_be_omitted() {
        let part = "(VARCHAR, BIGINT [, BIGINT]) -> VARCHAR";
        let types = [Type::Varchar, Type::Integer, Type::Unknown, Type::BigInt];
        assert_eq!(resolved(part, &types[..1]), "none");
        assert_eq!(resolved(part, &types[..2]), "VARCHAR BIGINT = VARCHAR");
        assert_eq!(resolved(part, &types[..3]), "VARCHAR BIGINT BIGINT = VARCHAR");
        assert_eq!(resolved(part, &types), "none");
    }

    #[test]
    fn a_class_says_which_types_a_letter_may_stand_for() {
        let shift = "(T, BIGINT) -> T for integer T";
        assert_eq!(resolved(shift, &[Type::TinyInt, Type::Integer]), "TINYINT BIGINT = TINYINT");
        assert_eq!(resolved(shift, &[Type::Double, Type::Integer]), "none");
        let same = "(T, T) -> BOOLEAN for scalar T";
        assert_eq!(resolved(same, &[Type::Date, Type::Unknown]), "DATE DATE = BOOLEAN");
        assert_eq!(resolved(same, &[Type::Unknown, Type::Unknown]), "UNKNOWN UNKNOWN = BOOLEAN");
        assert_eq!(resolved(same, &[Type::array(Type::Date), Type::Unknown]), "none");
        let sort = "(ARRAY(T)) -> ARRAY(T) for ordered T";
        let maps = Type::array(Type::map(Type::Date, Type::Date));
        assert_eq!(resolved(sort, &[maps]), "none");
    }

    #[test]
    fn every_signature_of_a_function_that_follows_them_can_be_read() {
        for name in FunctionRegistry::builtin().names() {
            let registry = FunctionRegistry::builtin();
            let function = registry.function(name).unwrap();
            if function.resolve.is_some() {
                continue;
            }
            for signature in function.signatures.iter() {
                let required = match signature.split_once(" [") {
                    Some((before, rest)) => format!("{before}{}", rest.split_once(']').unwrap().1),
                    None => signature.to_owned(),
                };
                let (parameters, _) =
                    required.strip_prefix('(').unwrap().split_once(") -> ").unwrap();
                let nulls = vec![Type::Unknown; listed(parameters).len()];
                let nulls: Vec<Type> = match parameters.ends_with("...") {
                    true => nulls[1..].to_vec(),
                    false => nulls,
                };
                assert!(by_signature(signature, &nulls).is_some(), "{name}{signature}");
            }
        }
    }
}
