//! The functions an expression may call: names, signatures, resolution.
//!
//! A registry is a value that whoever runs queries owns; [`FunctionRegistry::builtin`] makes one
//! with all functions of this crate. The binder asks [`FunctionRegistry::resolve`] which types the
//! arguments convert to and what comes out; compiling asks for the function itself.

use std::collections::BTreeMap;
use std::fmt;

use dwio::expr::TypedExpr;
use vector::{Error, Result, Type, Vector};

use super::kernel::{Argument, Call, Kernel};
use super::rule;

/// What a call of a function looks like once its arguments have been converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The type each argument is implicitly converted to.
    pub args: Vec<Type>,
    /// The type of the result.
    pub result: Type,
}

impl Resolved {
    /// `args` to `result`.
    pub fn new(args: Vec<Type>, result: Type) -> Self {
        Resolved { args, result }
    }
}

/// A function or special form.
#[derive(Clone, Copy)]
pub struct Function {
    /// The name, lower case.
    pub name: &'static str,
    /// What exists, for people: `(VARCHAR, VARCHAR [, VARCHAR]) -> BOOLEAN`.
    pub signatures: &'static [&'static str],
    /// The types of a call, `None` when the arguments do not fit. Without a rule the signatures
    /// themselves are one, as `rule.rs` reads them.
    pub resolve: Option<Rule>,
    /// What it does.
    pub body: Body,
    /// False when equal calls may have different results, as those of `rand`. Such a function is a
    /// [`Body::Scalar`]; a call of it is evaluated for each row and never before its rows are there.
    pub deterministic: bool,
}

/// The types of a call from those of its arguments, `None` when they do not fit.
pub type Rule = fn(&[Type]) -> Option<Resolved>;

/// Makes the kernel of a call from its arguments and the type of its result.
pub type Bind = fn(&[Argument<'_>], &Type) -> Result<Kernel>;

/// The result of a call over a batch.
pub type Run = fn(&Call<'_>) -> Result<Vector>;

/// What a function does.
#[derive(Clone, Copy)]
pub enum Body {
    /// Computes each row from the arguments of that row. Deterministic: equal arguments give an
    /// equal result, but for functions without arguments, of which each call is its own.
    Scalar(Bind),
    /// The same, for functions that are not bound to types and never see a null argument.
    Rows(Run),
    /// Decides itself which arguments are evaluated on which rows.
    Form(Form),
    /// Asks lambdas about the elements of arrays and maps. Where a type is asked for, a lambda has
    /// that of what it gives.
    HigherOrder(HigherOrder),
}

/// The higher-order functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum HigherOrder {
    Transform,
    Filter,
    AnyMatch,
    AllMatch,
    NoneMatch,
    MapFilter,
    TransformKeys,
    TransformValues,
    ZipWith,
    Reduce,
}

/// The special forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Form {
    And,
    Or,
    Switch,
    Coalesce,
    NullIf,
    Between,
    In,
    Try,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}

/// Functions by name.
#[derive(Debug, Clone, Default)]
pub struct FunctionRegistry {
    functions: BTreeMap<&'static str, Function>,
}

impl FunctionRegistry {
    /// A registry without functions.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a function; one of the same name is replaced.
    pub fn register(&mut self, function: Function) {
        self.functions.insert(function.name, function);
    }

    /// True when there is a function `name` (exact, lower case).
    pub fn contains(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// The names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.functions.keys().copied()
    }

    /// The function `name`; `InvalidInput` with the nearest name when there is none.
    pub fn function(&self, name: &str) -> Result<&Function> {
        self.functions.get(name).ok_or_else(|| {
            let error = Error::invalid_input("no such function").with("name", name);
            match nearest(name, self.names()) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            }
        })
    }

    /// True when an expression always has the same value for the same columns.
    pub fn is_deterministic(&self, expr: &TypedExpr) -> bool {
        let mut is_deterministic = true;
        expr.visit(&mut |part| {
            if let TypedExpr::Call { name, .. } = part {
                is_deterministic &= self.functions.get(&**name).is_none_or(|f| f.deterministic);
            }
        });
        is_deterministic
    }

    /// The types of a call of `name` with arguments of types `args`.
    ///
    /// `InvalidInput` when there is no such function (the nearest name is suggested) or when the
    /// arguments do not fit (what exists is listed).
    pub fn resolve(&self, name: &str, args: &[Type]) -> Result<Resolved> {
        let function = self.function(name)?;
        let resolved = match function.resolve {
            Some(rule) => rule(args),
            None => rule::by_signatures(function.signatures, args),
        };
        resolved.ok_or_else(|| {
            let given: Vec<String> = args.iter().map(ToString::to_string).collect();
            let existing: Vec<String> =
                function.signatures.iter().map(|s| format!("{name}{s}")).collect();
            Error::invalid_input("a function does not take arguments of these types")
                .with("name", name)
                .with("arguments", format!("({})", given.join(", ")))
                .hint(format!("there is {}", existing.join("; ")))
        })
    }
}

/// The candidate that is fewest edits away from `name`, if that is few for its length. One that
/// differs in case only is not a candidate.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(&name, &candidate.to_lowercase()), candidate))
        // A candidate that is the name itself is no help: it means something else, or nothing.
        .filter(|(distance, _)| (1..=limit).contains(distance))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two words.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut table: Vec<usize> = (0..(a.len() + 1) * width).map(|i| i % width).collect();
    for i in 1..=a.len() {
        table[i * width] = i;
        for j in 1..=b.len() {
            let at = |i: usize, j: usize| table[i * width + j];
            let replaced = at(i - 1, j - 1) + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(at(i - 1, j) + 1).min(at(i, j - 1) + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(at(i - 2, j - 2) + 1);
            }
            table[i * width + j] = best;
        }
    }
    table[a.len() * width + b.len()]
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn resolve(name: &str, args: &[Type]) -> Result<Resolved> {
        FunctionRegistry::builtin().resolve(name, args)
    }

    #[test]
    fn an_unknown_function_suggests_the_nearest_name() {
        assert_eq!(
            resolve("substring_", &[]).unwrap_err().to_string(),
            "invalid input: no such function (name=substring_)\n  hint: did you mean substring?"
        );
        assert_eq!(
            resolve("frobnicate", &[]).unwrap_err().to_string(),
            "invalid input: no such function (name=frobnicate)"
        );
        assert_eq!(nearest("lenght", ["length", "lower"]), Some("length"));
    }

    #[test]
    fn wrong_arguments_list_what_exists() {
        assert_eq!(
            resolve("lower", &[Type::BigInt]).unwrap_err().to_string(),
            "invalid input: a function does not take arguments of these types \
             (name=lower arguments=(BIGINT))\n  hint: there is lower(VARCHAR) -> VARCHAR"
        );
    }

    #[test]
    fn arguments_meet_in_their_common_type() {
        let both = vec![Type::BigInt, Type::BigInt];
        assert_eq!(
            resolve("lt", &[Type::Integer, Type::BigInt]).unwrap(),
            Resolved::new(both.clone(), Type::Boolean)
        );
        assert_eq!(
            resolve("plus", &[Type::Integer, Type::BigInt]).unwrap(),
            Resolved::new(both, Type::BigInt)
        );
        assert!(resolve("lt", &[Type::Varchar, Type::BigInt]).is_err());
        let case = [Type::Boolean, Type::Integer, Type::Boolean, Type::Unknown, Type::Double];
        assert_eq!(resolve("switch", &case).unwrap().result, Type::Double);
    }

    #[test]
    fn decimal_results_have_room_for_every_digit() {
        let decimal = |precision, scale| Type::Decimal { precision, scale };
        let result = |name, a, b| resolve(name, &[a, b]).unwrap().result;
        assert_eq!(result("plus", decimal(15, 2), decimal(10, 4)), decimal(18, 4));
        assert_eq!(result("minus", Type::Integer, decimal(15, 2)), decimal(16, 2));
        assert_eq!(result("multiply", decimal(15, 2), decimal(16, 2)), decimal(31, 4));
        assert_eq!(result("multiply", decimal(31, 4), decimal(16, 2)), decimal(38, 6));
        assert_eq!(result("divide", decimal(15, 2), decimal(10, 4)), decimal(21, 4));
        assert_eq!(result("modulus", decimal(15, 2), decimal(10, 4)), decimal(10, 4));
        assert!(resolve("multiply", &[decimal(38, 20), decimal(38, 20)]).is_err());
    }
}
