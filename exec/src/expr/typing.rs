//! Types of calls: what a typing rule returns.

use vector::Type;

/// Types of a call after the implicit conversion of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Type to which each argument is implicitly converted.
    pub args: Vec<Type>,
    /// Type of the result.
    pub result: Type,
}

impl Resolved {
    /// Creates the types of a call that takes `args` and returns `result`.
    pub fn new(args: Vec<Type>, result: Type) -> Self {
        Resolved { args, result }
    }
}

/// Returns the types of a call from those of its arguments; `None` when they do not match.
pub type Rule = fn(&[Type]) -> Option<Resolved>;
