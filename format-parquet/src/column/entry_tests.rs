//! Random maps of lists: dropping entries while reading has the same result as dropping them
//! afterwards, and nothing below dropped entries is decoded.

use dwio::scan_spec::NestedSpec;
use vector::testing::{Random, values_of};
use vector::{Type, Value};

use super::tests::{element, group, leaf, reader_as, schema};
use super::*;
use crate::page::testing::{ChunkWriter, PLAIN, int32s};
use crate::thrift::structs::{Codec, ConvertedType, PhysicalType, Repetition, SchemaElement};

/// The entries of a map: keys that may be null, and lists that may be null.
type Entries = Vec<(Option<i32>, Option<Vec<Option<i32>>>)>;

fn map_schema() -> Schema {
    let converted = |converted, element| SchemaElement { converted: Some(converted), ..element };
    let optional = |name, children| SchemaElement {
        num_children: Some(children),
        ..element(name, Repetition::Optional)
    };
    schema(&[
        converted(ConvertedType::Map, optional("m", 1)),
        group("key_value", Repetition::Repeated, 2),
        leaf("key", PhysicalType::Int32, Repetition::Optional),
        converted(ConvertedType::List, optional("value", 1)),
        group("list", Repetition::Repeated, 1),
        leaf("element", PhysicalType::Int32, Repetition::Optional),
    ])
}

/// The pairs of levels of one row, with its non-null values.
type Row = (Vec<(u8, u8)>, Vec<i32>);

fn key_row(row: Option<&Entries>) -> Row {
    let entries = match row {
        None => return (vec![(0, 0)], vec![]),
        Some(entries) if entries.is_empty() => return (vec![(0, 1)], vec![]),
        Some(entries) => entries,
    };
    let pair = |(i, (key, _)): (usize, &(Option<i32>, _))| {
        (u8::from(i > 0), if key.is_some() { 3 } else { 2 })
    };
    let keys = entries.iter().filter_map(|(key, _)| *key).collect();
    (entries.iter().enumerate().map(pair).collect(), keys)
}

fn element_row(row: Option<&Entries>) -> Row {
    let (mut pairs, mut values) = (Vec::new(), Vec::new());
    let entries = match row {
        None => return (vec![(0, 0)], vec![]),
        Some(entries) if entries.is_empty() => return (vec![(0, 1)], vec![]),
        Some(entries) => entries,
    };
    for (i, (_, list)) in entries.iter().enumerate() {
        let rep = u8::from(i > 0);
        match list.as_deref() {
            None => pairs.push((rep, 2)),
            Some([]) => pairs.push((rep, 3)),
            Some(list) => {
                for (j, value) in list.iter().enumerate() {
                    pairs.push((if j > 0 { 2 } else { rep }, if value.is_some() { 5 } else { 4 }));
                    values.extend(value);
                }
            }
        }
    }
    (pairs, values)
}

/// Writes pages of random sizes: those of version 1 end anywhere, those of version 2 between rows.
fn chunk(rows: &[Row], (max_def, max_rep): (u8, u8), random: &mut Random) -> ChunkWriter {
    let mut chunk = ChunkWriter::new(Codec::Snappy, max_def, max_rep);
    let version_2 = random.chance(0.5);
    let mut pages: Vec<Row> = vec![(vec![], vec![])];
    for (pairs, values) in rows {
        let mut values = values.iter();
        for (rep, def) in pairs {
            if (*rep == 0 || !version_2) && random.chance(0.05) {
                pages.push((vec![], vec![]));
            }
            let page = pages.last_mut().unwrap();
            page.0.push((*rep, *def));
            if *def == max_def {
                page.1.push(*values.next().unwrap());
            }
        }
    }
    for (pairs, values) in pages.iter().filter(|(pairs, _)| !pairs.is_empty()) {
        match version_2 {
            true => chunk.v2(pairs, PLAIN, &int32s(values.iter().copied())),
            false => chunk.v1(pairs, PLAIN, &int32s(values.iter().copied())),
        };
    }
    chunk
}

fn random_row(random: &mut Random) -> Option<Entries> {
    let optional = |random: &mut Random| {
        let value = random.between(0, 4) as i32;
        (!random.chance(0.15)).then_some(value)
    };
    (!random.chance(0.1)).then(|| {
        (0..random.below(4))
            .map(|_| {
                let key = optional(random);
                let list = (!random.chance(0.1))
                    .then(|| (0..random.below(4)).map(|_| optional(random)).collect());
                (key, list)
            })
            .collect()
    })
}

/// The requested part of a map: keys that pass a filter, and a maximum number of elements.
struct Wanted {
    filter: Option<Filter>,
    max_elements: usize,
}

impl Wanted {
    fn value(&self, row: Option<&Entries>) -> Value {
        let Some(entries) = row else { return Value::Null };
        let number = |v: &Option<i32>| v.map_or(Value::Null, Value::Integer);
        let entries = entries.iter().filter(|(key, _)| match (key, &self.filter) {
            (None, _) => false,
            (Some(key), Some(filter)) => filter.test_i64(i64::from(*key)).unwrap(),
            _ => true,
        });
        let list = |list: &Vec<Option<i32>>| {
            Value::Array(list.iter().take(self.max_elements).map(number).collect())
        };
        let entry = |(key, value): &(Option<i32>, Option<Vec<Option<i32>>>)| {
            (number(key), value.as_ref().map_or(Value::Null, list))
        };
        Value::Map(entries.map(entry).collect())
    }

    fn spec(&self) -> ColumnSpec {
        let list = Type::array(Type::Integer);
        let key = ColumnSpec {
            filter: self.filter.clone().map(Arc::new),
            ..ColumnSpec::whole("key", Type::Integer, 0)
        };
        let value = ColumnSpec {
            nested: NestedSpec::Array {
                element: Box::new(ColumnSpec::whole("element", Type::Integer, 0)),
                max_elements: self.max_elements,
            },
            ..ColumnSpec::whole("value", list.clone(), 0)
        };
        ColumnSpec {
            nested: NestedSpec::Map { key: Box::new(key), value: Box::new(value) },
            ..ColumnSpec::whole("m", Type::map(Type::Integer, list), 0)
        }
    }
}

#[test]
fn dropping_entries_while_reading_leaves_what_dropping_them_afterwards_leaves() {
    let schema = map_schema();
    for seed in 0..200 {
        let random = &mut Random::new(seed);
        let rows: Vec<Option<Entries>> =
            (0..1 + random.below(120)).map(|_| random_row(random)).collect();
        let keys: Vec<Row> = rows.iter().map(|row| key_row(row.as_ref())).collect();
        let elements: Vec<Row> = rows.iter().map(|row| element_row(row.as_ref())).collect();
        let chunks = [chunk(&keys, (3, 1), random), chunk(&elements, (5, 2), random)];
        let wanted = Wanted {
            filter: match random.below(4) {
                0 => None,
                1 => Some(Filter::bigint_range(100, 200, false)),
                2 => Some(Filter::bigint_range(0, 100, false)),
                _ => Some(Filter::bigint_values(vec![1, 4], false)),
            },
            max_elements: *random.pick(&[usize::MAX, 0, 1, 2]),
        };
        let mut column = reader_as(&schema, &wanted.spec(), &[&chunks[0], &chunks[1]]);
        let mut at = 0;
        while at < rows.len() {
            let n = (1 + random.below(40)).min(rows.len() - at);
            let part = &rows[at..at + n];
            at += n;
            let mut selection = SelectivityVector::all(n);
            let vector = match random.below(3) {
                0 => {
                    column.skip(n);
                    continue;
                }
                1 => column.read(n),
                _ => {
                    let chance = *random.pick(&[0.0, 0.1, 0.6]);
                    (0..n).for_each(|row| selection.set(row, random.chance(chance)));
                    column.read_selected(&selection)
                }
            };
            let expected: Vec<Value> =
                selection.iter().map(|row| wanted.value(part[row].as_ref())).collect();
            assert_eq!(values_of(&vector.unwrap()), expected, "seed {seed}, up to row {at}");
        }
    }
}

#[test]
fn what_is_below_dropped_entries_is_not_decoded() {
    let schema = map_schema();
    let entry = |key| (Some(key), Some(vec![Some(10), Some(11), Some(12)]));
    let row: Entries = (0..10).map(entry).collect();
    let rows = vec![Some(row); 5];
    let keys: Vec<Row> = rows.iter().map(|row| key_row(row.as_ref())).collect();
    let elements: Vec<Row> = rows.iter().map(|row| element_row(row.as_ref())).collect();
    let random = &mut Random::new(1);
    let chunks = [chunk(&keys, (3, 1), random), chunk(&elements, (5, 2), random)];
    let wanted = Wanted { filter: Some(Filter::bigint_values(vec![2, 7], false)), max_elements: 2 };
    let mut column = reader_as(&schema, &wanted.spec(), &[&chunks[0], &chunks[1]]);
    column.read(5).unwrap();
    // All keys, and two elements of each of two entries in each row.
    assert_eq!(column.counts().values_decoded, 50 + 5 * 2 * 2);
}
