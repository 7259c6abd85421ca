//! What files say of their columns beside the types that the engine has.
//!
//! A TIMESTAMP of the engine is a number of nanoseconds: whether it is a point in time or a local
//! time, and in which unit it was stored, is known to the file alone. Reading needs none of it;
//! a copy of the column keeps it.

use vector::TimeUnit;

/// What is said of the values of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Annotation {
    /// Nothing that the type does not say.
    #[default]
    None,
    /// A timestamp or a time of day.
    Time {
        /// What it is counted in, where known.
        unit: Option<TimeUnit>,
        /// True when it is a time of UTC, false when it is a local one.
        is_utc: bool,
    },
    /// An integer of 64 bits without a sign, which the engine reads as HUGEINT.
    Unsigned64,
}

impl Annotation {
    /// What holds for values of both.
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

/// A column, and what is below it: a struct's fields, a list's element, a map's key and value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoredColumn {
    /// The name; without meaning below lists and maps.
    pub name: String,
    /// What is said of its own values.
    pub annotation: Annotation,
    /// What is below; empty when nothing is known.
    pub children: Vec<StoredColumn>,
}

impl StoredColumn {
    /// What holds for the column in both of two files. Fields are the same when their names are, in
    /// any case; one that only one file has is as that file says.
    pub fn merged(&self, other: &StoredColumn) -> StoredColumn {
        let twin = |child: &StoredColumn, of: &StoredColumn| {
            let name = child.name.to_lowercase();
            of.children.iter().find(|c| c.name.to_lowercase() == name).cloned()
        };
        let same_shape = self.children.len() == other.children.len();
        let known = self.children.iter().enumerate().map(|(i, child)| {
            let by_name = twin(child, other);
            // Elements, keys and values have names of the writer's choice.
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

    /// The field called `name`, exactly or else in any case.
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
