//! Property test: files of a table whose schema has changed repeatedly, compared with a model that
//! reads each file on its own. Also the worked example of a scan, with its exact numbers.

use vector::Encoding;
use vector::testing::Random;

use super::*;
use crate::ColumnMapping;

const B: Type = Type::BigInt;

/// Returns the current columns of the table.
fn table() -> Vec<(&'static str, Type)> {
    let point = Type::row([("x", B), ("y", B)]);
    vec![("a", B), ("b", B), ("p", point.clone()), ("l", Type::array(point)), ("c", B)]
}

/// A file with some of the table's columns and fields in any order, and with other columns.
struct OldFile {
    columns: Vec<(&'static str, Type)>,
    rows: Vec<Vec<Value>>,
}

fn shuffled<T: Clone>(random: &mut Random, items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i + 1));
    }
    items.truncate(random.below(items.len() + 1));
    items
}

fn old_file(random: &mut Random) -> OldFile {
    let fields = shuffled(random, &["x", "y", "z", "w"]);
    let point = Type::row(fields.iter().map(|f| (*f, B)));
    let all =
        [("a", B), ("b", B), ("old", B), ("p", point.clone()), ("l", Type::array(point)), ("c", B)];
    let mut columns = shuffled(random, &all);
    if columns.is_empty() {
        columns.push(("old", B));
    }
    let num_rows = 1 + random.below(7);
    let rows = (0..num_rows).map(|_| columns.iter().map(|(_, ty)| some(random, ty)).collect());
    OldFile { rows: rows.collect(), columns }
}

fn some(random: &mut Random, ty: &Type) -> Value {
    if random.chance(0.25) {
        return Value::Null;
    }
    match ty {
        Type::Row(fields) => row(fields.types().iter().map(|ty| some(random, ty))),
        Type::Array(element) => array((0..random.below(3)).map(|_| some(random, element))),
        _ => n(random.below(5) as i64),
    }
}

/// Converts a value of a file to the table's type, by name.
fn adapted(value: &Value, file: &Type, wanted: &Type) -> Value {
    match (value, file, wanted) {
        (Value::Row(values), Type::Row(file), Type::Row(wanted)) => {
            row(wanted.fields().map(|(name, ty)| match file.index_of(name) {
                Some(i) => adapted(&values[i], &file.types()[i], ty),
                None => Value::Null,
            }))
        }
        (Value::Array(values), Type::Array(file), Type::Array(wanted)) => {
            array(values.iter().map(|v| adapted(v, file, wanted)))
        }
        (value, ..) => value.clone(),
    }
}

impl OldFile {
    /// Returns those rows of the file, converted to the table's columns, whose `a` passes.
    fn model(&self, passes: impl Fn(&Value) -> bool) -> Vec<Vec<Value>> {
        let column = |r: &[Value], name: &str, ty: &Type| match self
            .columns
            .iter()
            .position(|(n, _)| *n == name)
        {
            Some(i) => adapted(&r[i], &self.columns[i].1, ty),
            None => Value::Null,
        };
        let rows = self.rows.iter().map(|r| -> Vec<Value> {
            table().iter().map(|(name, ty)| column(r, name, ty)).collect()
        });
        rows.filter(|r| passes(&r[0])).collect()
    }
}

#[test]
fn s7_28_any_mix_of_old_files_gives_what_each_gives_on_its_own() {
    let mut random = Random::new(11);
    for round in 0..60 {
        let world = World::new();
        let files: Vec<OldFile> = (0..6).map(|_| old_file(&mut random)).collect();
        for (i, file) in files.iter().enumerate() {
            world.put(&format!("f{i}"), &file.columns, vec![file.rows.clone()]);
        }
        let order: Vec<usize> = (0..10).map(|_| random.below(6)).collect();
        let filter = match round % 3 {
            0 => None,
            1 => Some(Filter::IsNull),
            _ => Some(Filter::bigint_range(1, 3, false)),
        };
        let columns = table();
        let scan = columns.iter().fold(scan(), |s, (name, ty)| s.regular(name, ty.clone()));
        let scan = match &filter {
            Some(filter) => scan.filter("a", filter.clone()),
            None => scan,
        };
        let passes =
            |v: &Value| filter.as_ref().is_none_or(|f| f.test_value(v, &Type::BigInt).unwrap());
        let splits = order
            .iter()
            .map(|i| split(&format!("f{i}")).with_column_mapping(ColumnMapping::Name))
            .collect();
        let expected: Vec<_> = order.iter().flat_map(|i| files[*i].model(passes)).collect();
        assert_eq!(world.read(scan, splits).unwrap(), expected, "round {round}");
    }
}

/// SELECT name, comment WHERE nationkey BETWEEN 0 AND 3 AND nationkey + regionkey >= 4: eleven rows
/// are scanned, four pass the filter, one passes the remaining filter, and the other columns are
/// read only for it.
#[test]
fn the_worked_example_loads_the_payload_of_one_row() {
    let nations = [
        ("ALGERIA", 0, 0),
        ("ARGENTINA", 1, 1),
        ("BRAZIL", 2, 1),
        ("CANADA", 3, 1),
        ("EGYPT", 4, 4),
        ("ETHIOPIA", 5, 0),
        ("FRANCE", 6, 3),
        ("GERMANY", 7, 3),
        ("INDIA", 8, 2),
        ("INDONESIA", 9, 2),
        ("IRAN", 10, 4),
    ];
    let world = World::new();
    let columns =
        [("nationkey", B), ("name", Type::Varchar), ("regionkey", B), ("lazy", Type::Varchar)];
    let rows = nations.map(|(name, nation, region)| {
        vec![n(nation), Value::bytes(name), n(region), Value::bytes(format!("about {name}"))]
    });
    world.put("nation", &columns, vec![rows.to_vec()]);
    let sum = call("plus", vec![field("nationkey", B), field("regionkey", B)]);
    let condition = all(vec![
        call("gt", vec![field("nationkey", B), int(-1)]),
        call("lt", vec![field("nationkey", B), int(4)]),
        call("gt", vec![sum, int(3)]),
    ]);
    let scan = scan()
        .data(&columns)
        .regular("name", Type::Varchar)
        .regular("lazy", Type::Varchar)
        .condition(condition);
    let mut source = world.source(scan).unwrap();
    source.add_split(Arc::new(split("nation"))).unwrap();
    let SourcePoll::Batch(batch) = source.next(1000).unwrap() else { panic!() };
    assert_eq!((batch.len(), source.progress().raw_rows), (1, 11));
    assert_eq!(batch.children()[1].encoding(), Encoding::Lazy);
    assert_eq!(world.format.loads(), []);
    let canada = [Value::bytes("CANADA"), Value::bytes("about CANADA")];
    assert_eq!(rows_of(&batch).unwrap(), [canada]);
    assert_eq!(world.format.loads(), [1]);
    assert!(matches!(source.next(1000).unwrap(), SourcePoll::SplitDone));
    let metrics = source.metrics();
    assert_eq!((metrics.sum("processedSplits"), metrics.sum("skippedSplits")), (1, 0));
    assert_eq!(metrics.get("totalRemainingFilterWallNanos").unwrap().count, 1);
}
