//! Filters: tests of one column's value that can be pushed into reading.

/// A test of one value, with a rule for nulls.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Nothing passes.
    AlwaysFalse,
    /// Everything passes, null too.
    AlwaysTrue,
    /// Only null passes.
    IsNull,
    /// Everything but null passes.
    IsNotNull,
}
