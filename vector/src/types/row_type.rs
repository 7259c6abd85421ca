//! Named fields in order: the type of a struct column and of a whole batch.
//!
//! Fields are looked up by name. Planning looks up each column of a table several times, so a row
//! type of more than a few fields sorts its names at the first lookup: finding all n columns takes
//! O(n log n) comparisons instead of O(n^2).

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::sync::{Arc, OnceLock};

use super::Type;

/// Maximum number of fields for which names are searched linearly.
const MAX_UNSORTED: usize = 16;

/// Fields that a hash is made of: row types that differ behind them are told apart by equality. An
/// expression for each of n fields has the type of all n.
const MAX_HASHED: usize = 8;

/// Named fields in order; of a struct column or of a whole batch.
#[derive(Clone)]
pub struct RowType {
    names: Vec<String>,
    types: Vec<Type>,
    /// Index of the names, built at the first lookup; it does not take part in equality and
    /// hashing.
    sorted: OnceLock<Arc<SortedNames>>,
}

/// Positions of fields in the order of their names; fields of equal names are in field order.
struct SortedNames {
    exact: Box<[usize]>,
    /// Names in lower case with their positions, built at the first case-insensitive lookup.
    lower: OnceLock<Box<[(String, usize)]>>,
}

impl RowType {
    /// Creates a row type; names may repeat.
    pub fn new<N: Into<String>>(fields: impl IntoIterator<Item = (N, Type)>) -> Self {
        let (names, types) = fields.into_iter().map(|(n, t)| (n.into(), t)).unzip();
        RowType { names, types, sorted: OnceLock::new() }
    }

    /// Creates a row type without fields.
    pub fn empty() -> Self {
        RowType { names: Vec::new(), types: Vec::new(), sorted: OnceLock::new() }
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns true if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns the field names in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the field types in order.
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    /// Iterates over the name and type of each field in order.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &Type)> {
        self.names.iter().map(String::as_str).zip(&self.types)
    }

    /// Returns the position of the first field called `name` (case-sensitive).
    pub fn index_of(&self, name: &str) -> Option<usize> {
        match self.sorted() {
            None => self.names.iter().position(|n| n == name),
            Some(sorted) => self.equal(sorted, name).first().copied(),
        }
    }

    /// Returns the positions of all fields called `name` (case-sensitive), in order.
    pub fn positions_of(&self, name: &str) -> Vec<usize> {
        match self.sorted() {
            None => self.positions(|n| n == name),
            Some(sorted) => self.equal(sorted, name).to_vec(),
        }
    }

    /// Returns the positions of all fields called `name` (case-insensitive), in order.
    pub fn positions_in_any_case(&self, name: &str) -> Vec<usize> {
        let wanted = name.to_lowercase();
        let Some(sorted) = self.sorted() else {
            return self.positions(|n| n.to_lowercase() == wanted);
        };
        let lower = sorted.lower.get_or_init(|| {
            let names = self.names.iter().enumerate().map(|(i, name)| (name.to_lowercase(), i));
            let mut lower: Box<[(String, usize)]> = names.collect();
            lower.sort_unstable();
            lower
        });
        let first = lower.partition_point(|(name, _)| *name < wanted);
        let equal = lower.iter().skip(first).take_while(|(name, _)| *name == wanted);
        equal.map(|(_, position)| *position).collect()
    }

    /// Returns the type of the first field called `name` (case-sensitive).
    pub fn type_of(&self, name: &str) -> Option<&Type> {
        self.index_of(name).and_then(|i| self.types.get(i))
    }

    fn positions(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<usize> {
        (0..self.names.len()).filter(|i| is_wanted(&self.names[*i])).collect()
    }

    /// Returns the sorted names, or `None` if there are too few fields for sorting to pay off.
    fn sorted(&self) -> Option<&SortedNames> {
        if self.names.len() <= MAX_UNSORTED {
            return None;
        }
        Some(self.sorted.get_or_init(|| {
            let mut exact: Box<[usize]> = (0..self.names.len()).collect();
            exact.sort_unstable_by(|a, b| self.names[*a].cmp(&self.names[*b]).then(a.cmp(b)));
            Arc::new(SortedNames { exact, lower: OnceLock::new() })
        }))
    }

    /// Returns the positions of the fields called `name`.
    fn equal<'a>(&self, sorted: &'a SortedNames, name: &str) -> &'a [usize] {
        let names = &self.names;
        let first = sorted.exact.partition_point(|i| names[*i].as_str() < name);
        let rest = &sorted.exact[first..];
        // Most names are distinct, so the end of the equal names is near.
        let len = rest.iter().take_while(|i| names[**i] == name).count();
        &rest[..len]
    }
}

impl PartialEq for RowType {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.types == other.types
    }
}

impl Eq for RowType {}

impl Hash for RowType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.fields().take(MAX_HASHED).for_each(|field| field.hash(state));
    }
}

impl fmt::Debug for RowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowType").field("names", &self.names).field("types", &self.types).finish()
    }
}

impl fmt::Display for RowType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, ty)) in self.fields().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let plain = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit());
            if plain {
                write!(f, "{name} {ty}")?;
            } else {
                write!(f, "\"{}\" {ty}", name.replace('"', "\"\""))?;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn names_are_found_the_same_in_few_and_in_many_fields() {
        for num_fields in [3, MAX_UNSORTED, MAX_UNSORTED + 1, 300] {
            // Some names repeat, and some differ only in case.
            let name = |i: usize| match i % 3 {
                0 => format!("n{}", i % 7),
                1 => format!("N{}", i % 7),
                _ => format!("x{i}"),
            };
            let row = RowType::new((0..num_fields).map(|i| (name(i), Type::BigInt)));
            for wanted in (0..num_fields).map(name).chain(["missing".into(), String::new()]) {
                let exact = row.positions(|n| n == wanted);
                let lower = row.positions(|n| n.to_lowercase() == wanted.to_lowercase());
                assert_eq!(row.index_of(&wanted), exact.first().copied(), "{wanted}");
                assert_eq!(row.positions_of(&wanted), exact, "{wanted}");
                assert_eq!(row.positions_in_any_case(&wanted), lower, "{wanted}");
            }
        }
    }

    #[test]
    fn a_lookup_changes_neither_equality_nor_hash() {
        let row = || RowType::new((0..40).map(|i| (format!("c{i}"), Type::Date)));
        let (searched, fresh) = (row(), row());
        assert_eq!(searched.index_of("c39"), Some(39));
        assert_eq!(searched, fresh);
        assert_eq!(format!("{searched:?}"), format!("{fresh:?}"));
        assert_eq!(searched.clone().index_of("c7"), Some(7));
        let hash = |row: &RowType| BuildHasherDefault::<DefaultHasher>::default().hash_one(row);
        assert_eq!(hash(&searched), hash(&fresh));
        assert_ne!(hash(&fresh), hash(&RowType::new([("c0", Type::Date)])));
    }
}
