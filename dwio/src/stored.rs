//! Properties of columns in files that the engine's types do not express.
//!
//! A TIMESTAMP of the engine is a number of nanoseconds. Whether it is an instant or a local time,
//! and in which unit it was stored, is recorded only in the file. Reading does not need this
//! information; a copy of the column preserves it.

use vector::TimeUnit;

/// Annotation of the values of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Annotation {
    /// No annotation beyond the type.
    #[default]
    None,
    /// A timestamp or a time of day.
    Time {
        /// Unit of the stored values; `None` if unknown.
        unit: Option<TimeUnit>,
        /// True for a time in UTC, false for a local time.
        is_utc: bool,
    },
    /// An unsigned 64-bit integer, which the engine reads as HUGEINT.
    Unsigned64,
}

impl Annotation {
    /// Returns the annotation that holds for the values of both columns.
    pub fn merged(self, other: Annotation) -> Annotation {
        match (self, other) {
            (Annotation::Time { unit: a, is_utc }, Annotation::Time { unit: b, is_utc: also }) => {
                let finest =
                    a.zip(b).map(|(a, b)| if a.per_second() >= b.per_second() { a } else { b });
                Annotation::Time { unit: finest, is_utc: is_utc && also }
            }
            (a, b) if a == b => a,
            _ => Annotation::None,
        }
    }
}

/// A column and its nested fields: the fields of a struct, the element of a list, the key and value
/// of a map.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredColumn {
    /// Name of the column; it has no meaning for the children of lists and maps.
    pub name: String,
    /// Annotation of the column's own values.
    pub annotation: Annotation,
    /// Nested fields; empty if unknown.
    pub children: Vec<StoredColumn>,
}

impl StoredColumn {
    /// Returns the properties that hold for the column in both of two files. Fields are matched by
    /// name, ignoring case; a field that only one file contains keeps the properties it has there.
    pub fn merged(&self, other: &StoredColumn) -> StoredColumn {
        let twin = |child: &StoredColumn, of: &StoredColumn| {
            let name = child.name.to_lowercase();
            of.children.iter().find(|c| c.name.to_lowercase() == name).cloned()
        };
        let same_shape = self.children.len() == other.children.len();
        let known = self.children.iter().enumerate().map(|(i, child)| {
            let by_name = twin(child, other);
            // The names of elements, keys and values are chosen by the writer.
            let by_place = || other.children.get(i).filter(|_| same_shape).cloned();
            match by_name.or_else(by_place) {
                Some(twin) => child.merged(&twin),
                None => child.clone(),
            }
        });
        let mut children: Vec<StoredColumn> = known.collect();
        if !same_shape {
            children.extend(other.children.iter().filter(|c| twin(c, self).is_none()).cloned());
        }
        let annotation = self.annotation.merged(other.annotation);
        StoredColumn { name: self.name.clone(), annotation, children }
    }

    /// Returns the field called `name`: an exact match, or else a match that ignores case.
    pub fn field(&self, name: &str) -> Option<&StoredColumn> {
        let exact = self.children.iter().find(|child| child.name == name);
        let lower = || name.to_lowercase();
        exact.or_else(|| self.children.iter().find(|child| child.name.to_lowercase() == lower()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(unit: TimeUnit, is_utc: bool) -> StoredColumn {
        let annotation = Annotation::Time { unit: Some(unit), is_utc };
        StoredColumn { name: "t".into(), annotation, children: Vec::new() }
    }

    #[test]
    fn what_holds_in_two_files_is_the_finest_unit_and_utc_only_if_both_say_so() {
        let (millis, nanos) = (time(TimeUnit::Millis, true), time(TimeUnit::Nanos, true));
        assert_eq!(millis.merged(&nanos), nanos);
        assert_eq!(millis.merged(&time(TimeUnit::Millis, false)), time(TimeUnit::Millis, false));
        let other = StoredColumn { name: "t".into(), ..StoredColumn::default() };
        assert_eq!(millis.merged(&other), other);
    }

    #[test]
    fn fields_are_merged_by_name_and_elements_by_place() {
        let row = |children| StoredColumn { name: "r".into(), children, ..StoredColumn::default() };
        let named =
            |name: &str, utc| StoredColumn { name: name.into(), ..time(TimeUnit::Micros, utc) };
        let a = row(vec![named("x", true), named("y", true)]);
        let b = row(vec![named("Y", false)]);
        assert_eq!(a.merged(&b), row(vec![named("x", true), named("y", false)]));
        assert_eq!(b.merged(&a).field("X"), Some(&named("x", true)));
        let list = |name: &str| row(vec![named(name, true)]);
        assert_eq!(list("element").merged(&list("array_element")), list("element"));
    }
}
