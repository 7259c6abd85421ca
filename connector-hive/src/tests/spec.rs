//! What is read of columns: required subfields, filters on fields, missing structs.

use dwio::adaptation::ScanAdaptation;
use dwio::filter::Filter;
use dwio::scan_spec::{ColumnSpec, FieldSpec, NestedSpec};
use dwio::subfield::{PathElement, Subfield};
use vector::ErrorKind;

use super::*;
use crate::columns::ScanColumns;
use crate::pushdown::Pushdown;
use crate::scan_spec::{ReadColumns, rejected_column};

fn path(column: &str, fields: &[&str]) -> Subfield {
    fields.iter().fold(Subfield::column(column), |s, f| s.then(PathElement::Field((*f).into())))
}

fn point() -> Type {
    let inner = Type::row([("u", Type::BigInt), ("v", Type::BigInt)]);
    Type::row([("a", Type::BigInt), ("b", inner), ("c", Type::array(Type::BigInt))])
}

fn columns(scan: Scan) -> Result<ReadColumns> {
    let request = scan.request();
    let table = HiveTableHandle::of(request.table.as_ref())?;
    let columns = ScanColumns::new(&request, table)?;
    let pushdown = Pushdown::new(table, &columns)?;
    ReadColumns::new(&columns, &pushdown, table.data_columns().map(|d| &**d))
}

/// The spec in short: fields that are read, with `?` behind those that have a filter.
fn shape(spec: &ColumnSpec) -> String {
    let mark = if spec.filter.is_some() { "?" } else { "" };
    let below = match &spec.nested {
        NestedSpec::Row(fields) => {
            let fields = fields.iter().map(|f| match f {
                FieldSpec::Wanted(spec) => shape(spec),
                FieldSpec::Pruned => "-".to_string(),
            });
            format!("({})", fields.collect::<Vec<_>>().join(" "))
        }
        _ => String::new(),
    };
    format!("{}{mark}{below}", spec.name)
}

fn shape_of(required: &[Subfield], filters: &[Subfield]) -> Result<String> {
    let handle = HiveColumnHandle::new("s", ColumnKind::Regular, point());
    let mut scan = scan().handle("s", handle.with_required_subfields(required.to_vec())?);
    for filter in filters {
        scan.table = scan.table.with_filter(filter.clone(), Arc::new(Filter::IsNotNull));
    }
    Ok(shape(&columns(scan)?.spec.columns()[0]))
}

#[test]
fn fields_that_nothing_names_are_pruned() {
    assert_eq!(shape_of(&[], &[]).unwrap(), "s");
    assert_eq!(shape_of(&[path("s", &["a"])], &[]).unwrap(), "s(a - -)");
    assert_eq!(shape_of(&[path("s", &["b"])], &[]).unwrap(), "s(- b -)");
    assert_eq!(shape_of(&[path("s", &["b", "v"])], &[]).unwrap(), "s(- b(- v) -)");
    assert_eq!(shape_of(&[path("s", &["a"]), path("s", &[])], &[]).unwrap(), "s");
    let wrong = shape_of(&[path("s", &["z"])], &[]).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_filter_makes_its_field_readable_but_not_its_neighbours() {
    let u = || path("s", &["b", "u"]);
    assert_eq!(shape_of(&[], &[u()]).unwrap(), "s(a b(u? v) c)");
    assert_eq!(shape_of(&[path("s", &["a"])], &[u()]).unwrap(), "s(a b(u? -) -)");
    assert_eq!(shape_of(&[path("s", &["a"])], &[path("s", &[])]).unwrap(), "s?(a - -)");
    assert_eq!(shape_of(&[], &[u(), u()]).unwrap(), "s(a b(u? v) c)");
    let element = path("s", &["c"]).then(PathElement::Index(1));
    assert_eq!(shape_of(&[], &[element]).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn outputs_come_first_then_what_the_condition_needs_then_what_only_filters() {
    let data = RowType::new(["x", "y", "z"].map(|n| (n, Type::BigInt)));
    let mut scan = scan()
        .regular("y", Type::BigInt)
        .condition(call("gt", vec![field("x", Type::BigInt), field("y", Type::BigInt)]));
    scan.table = scan
        .table
        .with_data_columns(Arc::new(data))
        .with_filter(Subfield::column("z"), Arc::new(Filter::IsNull))
        .with_filter(Subfield::column("x"), Arc::new(Filter::IsNull));
    let read = columns(scan).unwrap();
    let channels: Vec<_> = read.spec.columns().iter().map(|c| (shape(c), c.channel)).collect();
    let wanted = [("y", Some(0)), ("x?", Some(1)), ("z?", None)];
    assert_eq!(channels, wanted.map(|(name, channel)| (name.to_string(), channel)));
    assert_eq!((read.reader_type.to_string(), read.num_outputs), ("y BIGINT,x BIGINT".into(), 1));
}

#[test]
fn a_column_that_the_condition_uses_is_not_pruned() {
    let handle = HiveColumnHandle::new("s", ColumnKind::Regular, point());
    let handle = handle.with_required_subfields(vec![path("s", &["a"])]).unwrap();
    let condition = call("gt", vec![field("s", point()), int(1)]);
    let read = columns(scan().handle("s", handle).condition(condition)).unwrap();
    assert_eq!(shape(&read.spec.columns()[0]), "s");
}

#[test]
fn a_missing_struct_is_rejected_by_a_filter_on_its_field() {
    let rejected = |filter: Filter| {
        let mut scan = scan().regular("s", point());
        scan.table = scan.table.with_filter(path("s", &["b", "u"]), Arc::new(filter));
        let spec = columns(scan).unwrap().spec;
        let constant = |_| Some(&Value::Null);
        rejected_column(&spec, &ScanAdaptation::new(1), constant).unwrap().is_some()
    };
    assert!(rejected(Filter::IsNotNull));
    assert!(!rejected(Filter::IsNull));
}
