//! Tests of the scan spec: required subfields, filters on fields, missing structs.

use dwio::adaptation::ScanAdaptation;
use dwio::filter::Filter;
use dwio::scan_spec::{ColumnSpec, FieldSpec, NestedSpec};
use dwio::subfield::{PathElement, Subfield};
use vector::ErrorKind;

use super::*;
use crate::plan::columns::ScanColumns;
use crate::plan::pushdown::Pushdown;
use crate::plan::scan_spec::ReadColumns;
use crate::read::binding::rejected_column;

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
    let pushdown = Pushdown::new(table, &columns, &RowByRow)?;
    ReadColumns::new(&columns, &pushdown, table.data_columns().map(|d| &**d))
}

/// Returns the spec in short form: the fields that are read, with a `?` after those that have a
/// filter.
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

/// Channels are in the order of outputs, columns of the remaining filter and columns used only by
/// filters (rules S6.6, S6.10, S6.13).
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

/// A pruned column also has the subfields that the remaining filter uses (rules S3.9, S6.11).
#[test]
fn a_column_that_the_condition_uses_is_not_pruned() {
    let handle = HiveColumnHandle::new("s", ColumnKind::Regular, point());
    let handle = handle.with_required_subfields(vec![path("s", &["a"])]).unwrap();
    let condition = call("gt", vec![field("s", point()), int(1)]);
    let read = columns(scan().handle("s", handle).condition(condition)).unwrap();
    assert_eq!(shape(&read.spec.columns()[0]), "s");
}

/// A filter on a field of a missing struct sees null (rules S5.37, S7.65).
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

/// Filters of the table handle and extracted filters are combined, on any kind of column;
/// conditions on `rand` set the sampling rate (rules S4.9, S4.20, S4.21, S6.8).
#[test]
fn a_condition_is_cut_into_filters_terms_on_partitions_and_the_rest() {
    let x = || field("x", Type::BigInt);
    let p = || field("p", Type::BigInt);
    let n = || field("$row_index", Type::BigInt);
    let twins = Type::row([("a", Type::BigInt), ("a", Type::BigInt)]);
    let second =
        TypedExpr::Dereference { input: Box::new(field("s", twins)), index: 1, ty: Type::BigInt };
    let rand = TypedExpr::call("rand", vec![], Type::Double);
    let half = TypedExpr::constant(Value::Double(0.5), Type::Double);
    let scan = scan().filter_key("p", Type::BigInt).condition(all(vec![
        call("gt", vec![x(), int(3)]),
        call("eq", vec![p(), int(1)]),
        call("gt", vec![n(), int(5)]),
        call("gt", vec![x(), p()]),
        call("eq", vec![second, int(1)]),
        call("lt", vec![rand.clone(), half]),
        call("gt", vec![field("y", Type::Double), rand]),
        call("lt", vec![x(), int(9)]),
    ]));
    let request = scan.request();
    let table = HiveTableHandle::of(request.table.as_ref()).unwrap();
    let columns = ScanColumns::new(&request, table).unwrap();
    let pushdown = Pushdown::new(table, &columns, &RowByRow).unwrap();
    let filters: Vec<String> =
        pushdown.filters.iter().map(|(path, f)| format!("{path} {f}")).collect();
    assert_eq!(filters, ["x [4, 8]"]);
    let terms: Vec<String> = pushdown.split_terms.iter().map(|t| t.to_string()).collect();
    assert_eq!(terms, ["eq(p, 1)"]);
    assert_eq!(
        pushdown.remaining.unwrap().to_string(),
        "and(gt($row_index, 5), gt(x, p), eq(s.a, 1), gt(y, rand()))"
    );
    assert_eq!(pushdown.sample_rate, 0.5);
}

/// The metadata filter is built from the terms that are left after extraction (rule S6.14).
#[test]
fn s4_32_the_rest_of_a_condition_speaks_of_statistics() {
    let of = |name: &str, value| call("eq", vec![field(name, Type::BigInt), int(value)]);
    let built = |condition: TypedExpr| {
        let scan = scan().regular("x", Type::BigInt).filter_key("p", Type::BigInt);
        let request = scan.condition(condition).request();
        let table = HiveTableHandle::of(request.table.as_ref()).unwrap();
        let columns = ScanColumns::new(&request, table).unwrap();
        let pushdown = Pushdown::new(table, &columns, &RowByRow).unwrap();
        pushdown.metadata_filter.map(|f| f.leaves().len())
    };
    assert_eq!(built(call("or", vec![of("x", 1), of("y", 2)])), Some(2));
    // A term that became a filter is not in the remaining filter.
    let filters = all(vec![of("x", 1), call("or", vec![of("y", 1), of("y", 2)])]);
    assert_eq!(built(filters), None);
    assert_eq!(built(call("or", vec![of("x", 1), of("p", 2)])), None);
    assert_eq!(built(call("or", vec![of("x", 1), of("$row_index", 2)])), None);
}
