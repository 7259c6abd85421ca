//! Assignment of rows to directories by their partition keys, as Hive names them (rules S8.13 to
//! S8.19).

use std::collections::HashMap;

use connector_hive::ProcessZone;
use connector_hive::partition::{directory_name, value_text};
use vector::{DecodedVector, Error, Result, ResultExt, RowType, RowVector, Value};

/// Partition keys of a COPY.
#[derive(Debug)]
pub(super) struct Partitioner {
    /// Positions of the keys in batches, and their names in directories.
    keys: Vec<(usize, String)>,
    /// Zone in whose local time timestamps are written.
    zone: Option<ProcessZone>,
}

/// Rows of a batch by directory, each in their order.
pub(super) type RowsByDirectory = Vec<(String, Vec<u32>)>;

impl Partitioner {
    /// Returns a partitioner by the columns of `row_type` at positions `keys`.
    pub(super) fn new(row_type: &RowType, keys: &[usize], zone: Option<ProcessZone>) -> Self {
        let name = |key: &usize| row_type.names().get(*key).map(|name| name.to_ascii_lowercase());
        let keys = keys.iter().filter_map(|key| Some((*key, name(key)?)));
        Partitioner { keys: keys.collect(), zone }
    }

    /// Returns the name of the outermost key, if there is one.
    pub(super) fn first_key(&self) -> Option<&str> {
        self.keys.first().map(|(_, name)| name.as_str())
    }

    /// Returns the directory of rows whose keys are all null.
    pub(super) fn null_directory(&self) -> String {
        let names = self.keys.iter().map(|(_, name)| directory_name(name, None));
        names.collect::<Vec<_>>().join("/")
    }

    /// Groups the rows of a batch by directory; `Unsupported` for a key whose type has no directory
    /// name.
    pub(super) fn split(&self, batch: &RowVector) -> Result<RowsByDirectory> {
        let columns = self.keys.iter().map(|(key, _)| DecodedVector::new(batch.child(*key)?));
        let columns: Vec<DecodedVector> = columns.collect::<Result<_>>()?;
        let mut found: RowsByDirectory = Vec::new();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut last: Option<(Vec<Value>, usize)> = None;
        for row in 0..batch.len() {
            let values = columns.iter().map(|column| column.value(row));
            let values: Vec<Value> = values.collect::<Result<_>>()?;
            // Consecutive rows are often in the same partition.
            let place = match last {
                Some((before, place)) if before == values => place,
                _ => {
                    let name = self.directory(batch.row_type(), &values)?;
                    let place = *by_name.entry(name.clone()).or_insert(found.len());
                    if place == found.len() {
                        found.push((name, Vec::new()));
                    }
                    place
                }
            };
            if let Some((_, rows)) = found.get_mut(place) {
                rows.push(row as u32);
            }
            last = Some((values, place));
        }
        Ok(found)
    }

    fn directory(&self, row_type: &RowType, values: &[Value]) -> Result<String> {
        let mut path = String::new();
        for ((position, name), value) in self.keys.iter().zip(values) {
            let Some(ty) = row_type.types().get(*position) else {
                return Err(Error::internal("a batch without its partition keys"));
            };
            if let Value::Timestamp(time) = value
                && time.nanos() % 1_000_000 != 0
            {
                // The rows would be read back with another time.
                return Err(Error::invalid_input("a partition key is finer than a millisecond")
                    .with("time", time)
                    .in_named("column", name));
            }
            if matches!(value, Value::Bytes(bytes) if bytes.is_empty()) {
                // Hive has one name for null and empty text, so the text would be read back as
                // null.
                return Err(Error::unsupported("an empty text is no partition key")
                    .in_named("column", name)
                    .hint("NULLIF(key, '') makes it null"));
            }
            let text = value_text(value, ty, self.zone.as_ref()).in_named("column", name)?;
            if !path.is_empty() {
                path.push('/');
            }
            let text = (!value.is_null()).then_some(text.as_str());
            path.push_str(&directory_name(name, text));
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use connector_hive::partition::NULL_PARTITION;
    use vector::build::vector_of;
    use vector::sync::Arc;
    use vector::{Timestamp, Type};

    fn split(ty: Type, values: &[Value]) -> Result<RowsByDirectory> {
        let row_type = Arc::new(RowType::new([("Key", ty.clone())]));
        let keys = Partitioner::new(&row_type, &[0], None);
        keys.split(&RowVector::batch(row_type, values.len(), vec![vector_of(&ty, values)?])?)
    }

    fn names(ty: Type, values: &[Value]) -> Vec<String> {
        split(ty, values).unwrap().into_iter().map(|(name, _)| name).collect()
    }

    /// Directory names are escaped, and null has the placeholder (rules S8.14, S8.15, S8.18,
    /// S8.19).
    #[test]
    fn rows_go_to_the_directories_of_their_keys() {
        let texts = ["a", NULL_PARTITION, "a", "x/y=%", "Zürich"].map(Value::bytes);
        let all: Vec<Value> = texts.into_iter().chain([Value::Null]).collect();
        let found = split(Type::Varchar, &all).unwrap();
        let expected = [
            ("key=a", vec![0, 2]),
            // A text equal to the placeholder is not null.
            ("key=__HIVE_DEFAULT_PARTITION_%5F", vec![1]),
            ("key=x%2Fy%3D%25", vec![3]),
            ("key=Zürich", vec![4]),
            ("key=__HIVE_DEFAULT_PARTITION__", vec![5]),
        ];
        assert_eq!(found, expected.map(|(name, rows)| (name.to_string(), rows)));
        assert_eq!(names(Type::Date, &[Value::Integer(0)]), ["key=1970-01-01"]);
        assert_eq!(names(Type::Boolean, &[Value::Boolean(true)]), ["key=true"]);
        let decimal = Type::decimal(5, 2).unwrap();
        assert_eq!(names(decimal, &[Value::BigInt(-5)]), ["key=-0.05"]);
    }

    /// Timestamps have milliseconds, and unsupported key types are rejected (rules S8.13, S8.16).
    #[test]
    fn keys_that_a_directory_cannot_tell_are_refused() {
        let time = |nanos| [Value::Timestamp(Timestamp::new(0, nanos))];
        let stamp = names(Type::Timestamp, &time(120_000_000));
        assert_eq!(stamp, ["key=1970-01-01 00%3A00%3A00.12"]);
        assert!(split(Type::Timestamp, &time(1)).unwrap_err().is_user());
        let error = split(Type::Varchar, &[Value::bytes("")]).unwrap_err();
        assert!(error.to_string().contains("an empty text is no partition key"), "{error}");
        let error = split(Type::Double, &[Value::Double(0.5)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unsupported: unsupported partition type (type=DOUBLE)\n  in column \"key\""
        );
    }
}
