//! The function registry: what a function consists of, and functions by name.
//!
//! The embedder owns a registry; [`FunctionRegistry::builtin`] creates one with all functions of
//! this crate, and [`FunctionRegistry::register`] adds functions to it. The binder calls
//! [`FunctionRegistry::resolve`] for the types of the converted arguments and of the result; the
//! compiler looks up the function itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use dwio::expr::TypedExpr;
use vector::sync::Arc;
use vector::{Error, Result, Type, Vector};

use super::kernel::{Argument, Call, Kernel};
use super::lambda_call::HigherOrder;
use super::signature;
use super::typing::{Resolved, Rule};

/// A function or special form.
///
/// # Examples
/// A function with state, here a number that is added to its argument:
///
/// ```
/// use ocior_exec::expr::{Call, Function, FunctionRegistry, Kernel};
/// use vector::{BufferMut, Error};
///
/// let step = 10;
/// let mut functions = FunctionRegistry::builtin();
/// functions.register(Function::closure("step", &["(BIGINT) -> BIGINT"], move |_, _| {
///     Ok(Kernel::new(move |call: &Call<'_>| {
///         let argument = &call.args[0];
///         let wrong_type = || Error::internal("not a BIGINT");
///         let values = argument.base_slice::<i64>().ok_or_else(wrong_type)?;
///         let mut sums = BufferMut::new();
///         sums.resize(call.num_rows(), 0_i64);
///         for row in call.rows.iter() {
///             sums[row] = values[argument.index(row)].wrapping_add(step);
///         }
///         call.fixed(sums.freeze())
///     }))
/// }));
/// assert!(functions.contains("step"));
/// ```
#[derive(Clone)]
pub struct Function {
    /// Name in lower case.
    pub name: Cow<'static, str>,
    /// Signatures, such as `(VARCHAR, VARCHAR [, VARCHAR]) -> BOOLEAN`. Without a typing rule, the
    /// signatures are the rule, as `signature.rs` describes.
    pub signatures: Signatures,
    /// Typing rule of a function that its signatures do not describe completely.
    pub resolve: Option<Rule>,
    /// Implementation of the function.
    pub body: Body,
    /// Whether equal calls have equal results, unlike those of `rand`. Calls of a non-deterministic
    /// function are evaluated for each row and are never folded.
    pub deterministic: bool,
}

/// Signatures of a function.
#[derive(Debug, Clone)]
pub enum Signatures {
    /// Signatures that are known when the program is built.
    Static(&'static [&'static str]),
    /// Signatures that are created while the program runs.
    Owned(Vec<String>),
}

impl Signatures {
    /// Returns the text of each signature.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let (fixed, owned): (&[&str], &[String]) = match self {
            Signatures::Static(texts) => (texts, &[]),
            Signatures::Owned(texts) => (&[], texts),
        };
        fixed.iter().copied().chain(owned.iter().map(String::as_str))
    }
}

impl<const N: usize> From<&'static [&'static str; N]> for Signatures {
    fn from(texts: &'static [&'static str; N]) -> Self {
        Signatures::Static(texts)
    }
}

impl From<Vec<String>> for Signatures {
    fn from(texts: Vec<String>) -> Self {
        Signatures::Owned(texts)
    }
}

/// Creates the kernel of a call from its arguments and the type of its result.
pub type Bind = fn(&[Argument<'_>], &Type) -> Result<Kernel>;

/// A [`Bind`] with captured state.
pub type BindClosure = dyn Fn(&[Argument<'_>], &Type) -> Result<Kernel> + Send + Sync;

/// Computes the result of a call over a batch.
pub type Run = fn(&Call<'_>) -> Result<Vector>;

/// Implementation of a function.
#[derive(Clone)]
pub enum Body {
    /// Computes each row from the arguments of that row. Equal arguments have equal results if the
    /// function is deterministic.
    Scalar(Bind),
    /// Like `Scalar`, for functions that are not bound to types and never receive a null argument.
    Rows(Run),
    /// Like `Scalar`, for functions with state, which all threads of all queries share.
    Closure(Arc<BindClosure>),
    /// Determines for which rows each argument is evaluated.
    Form(Form),
    /// Applies lambdas to the elements of arrays and maps. In typing rules, the type of a lambda is
    /// the type of its result.
    HigherOrder(HigherOrder),
}

impl Body {
    /// Creates the kernel of a call of a scalar function.
    ///
    /// # Errors
    /// Those of the function; `Internal` for special forms and higher-order functions.
    pub(super) fn bind(&self, args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
        match self {
            Body::Scalar(bind) => bind(args, result),
            Body::Rows(run) => Ok(Kernel::new(*run)),
            Body::Closure(bind) => bind(args, result),
            Body::Form(_) | Body::HigherOrder(_) => {
                Err(Error::internal("only scalar functions are bound to arguments"))
            }
        }
    }
}

impl Function {
    const fn new(name: &'static str, signatures: &'static [&'static str], body: Body) -> Self {
        Function {
            name: Cow::Borrowed(name),
            signatures: Signatures::Static(signatures),
            resolve: None,
            body,
            deterministic: true,
        }
    }

    /// A deterministic function of scalar values that is bound to the types of its arguments.
    pub const fn scalar(
        name: &'static str,
        signatures: &'static [&'static str],
        bind: Bind,
    ) -> Self {
        Self::new(name, signatures, Body::Scalar(bind))
    }

    /// A deterministic function that never receives a null argument.
    pub const fn rows(name: &'static str, signatures: &'static [&'static str], run: Run) -> Self {
        Self::new(name, signatures, Body::Rows(run))
    }

    /// A deterministic function with state.
    pub fn closure(
        name: impl Into<Cow<'static, str>>,
        signatures: impl Into<Signatures>,
        bind: impl Fn(&[Argument<'_>], &Type) -> Result<Kernel> + Send + Sync + 'static,
    ) -> Self {
        Function {
            name: name.into(),
            signatures: signatures.into(),
            resolve: None,
            body: Body::Closure(Arc::new(bind)),
            deterministic: true,
        }
    }

    /// A special form.
    pub(super) const fn form(
        name: &'static str,
        signatures: &'static [&'static str],
        form: Form,
    ) -> Self {
        Self::new(name, signatures, Body::Form(form))
    }

    /// A function that takes lambdas.
    pub(super) const fn higher_order(
        name: &'static str,
        signatures: &'static [&'static str],
        function: HigherOrder,
    ) -> Self {
        Self::new(name, signatures, Body::HigherOrder(function))
    }

    /// Returns the function with a typing rule, which replaces that of its signatures.
    pub const fn with_rule(mut self, rule: Rule) -> Self {
        self.resolve = Some(rule);
        self
    }

    /// Returns the function as one whose equal calls may have different results.
    pub const fn non_deterministic(mut self) -> Self {
        self.deterministic = false;
        self
    }

    /// Returns the types of a call with arguments of types `args`; `None` when the function does
    /// not take them.
    pub fn types_of(&self, args: &[Type]) -> Option<Resolved> {
        match self.resolve {
            Some(rule) => rule(args),
            None => signature::by_signatures(self.signatures.iter(), args),
        }
    }
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
    functions: BTreeMap<Cow<'static, str>, Function>,
}

impl FunctionRegistry {
    /// Creates a registry without functions.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds a function, replacing one of the same name.
    pub fn register(&mut self, function: Function) {
        self.functions.insert(function.name.clone(), function);
    }

    /// Returns true when there is a function `name` (exact, in lower case).
    pub fn contains(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Returns the names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(|name| &**name)
    }

    /// Returns the function `name`.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown function, with the nearest name as a hint.
    pub fn function(&self, name: &str) -> Result<&Function> {
        self.functions.get(name).ok_or_else(|| {
            let error = Error::invalid_input("no such function").with("name", name);
            match nearest(name, self.names()) {
                Some(near) => error.hint(format!("did you mean {near}?")),
                None => error,
            }
        })
    }

    /// Returns true when an expression always has the same value for the same column values.
    pub fn is_deterministic(&self, expr: &TypedExpr) -> bool {
        let mut is_deterministic = true;
        expr.visit(&mut |part| {
            if let TypedExpr::Call { name, .. } = part {
                is_deterministic &= self.functions.get(&**name).is_none_or(|f| f.deterministic);
            }
        });
        is_deterministic
    }

    /// Returns the types of a call of `name` with arguments of types `args`.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown function (with the nearest name as a hint) and for arguments
    /// that it does not take (with its signatures as a hint).
    pub fn resolve(&self, name: &str, args: &[Type]) -> Result<Resolved> {
        let function = self.function(name)?;
        function.types_of(args).ok_or_else(|| {
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

/// Returns the candidate with the smallest edit distance to `name`, if the distance is small for
/// its length. A candidate that differs only in case is ignored.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edits(&name, &candidate.to_lowercase()), candidate))
        // A candidate that equals the name is no useful suggestion.
        .filter(|(distance, _)| (1..=limit).contains(distance))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the edit distance of two words: insertions, deletions, replacements and swaps of
/// adjacent characters.
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
