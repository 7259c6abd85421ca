//! Schemas written as small tables: detection of lists and maps, levels, types, malformed trees.

use vector::{ErrorKind, TimeUnit};

use super::*;
use PhysicalType::{Boolean, ByteArray, Double, FixedLenByteArray, Float, Int32, Int64, Int96};
use Repetition::{Optional, Repeated, Required};

fn element(name: &str, repetition: Repetition) -> SchemaElement {
    SchemaElement {
        name: name.into(),
        physical: None,
        type_length: None,
        repetition: Some(repetition),
        num_children: None,
        converted: None,
        scale: None,
        precision: None,
        field_id: None,
        logical: None,
    }
}

fn group(name: &str, repetition: Repetition, num_children: i32) -> SchemaElement {
    SchemaElement { num_children: Some(num_children), ..element(name, repetition) }
}

fn annotated(name: &str, repetition: Repetition, num: i32, as_: ConvertedType) -> SchemaElement {
    SchemaElement { converted: Some(as_), ..group(name, repetition, num) }
}

fn leaf(name: &str, repetition: Repetition) -> SchemaElement {
    SchemaElement { physical: Some(Int32), ..element(name, repetition) }
}

/// Returns the schema with these elements below a root with `num_columns` children.
fn schema(num_columns: i32, elements: &[SchemaElement]) -> Result<Schema> {
    let mut all = vec![group("root", Required, num_columns)];
    all.extend_from_slice(elements);
    Schema::new(&all)
}

/// Returns the type of the only column.
fn type_of(elements: &[SchemaElement]) -> String {
    let schema = schema(1, elements).unwrap();
    // SPEC: levels of a leaf are the optional and repeated fields on its path.
    for leaf in &schema.leaves {
        let (mut at, mut def, mut rep) = (leaf.element, 0, 0);
        while at != 0 {
            let repetition = elements[at - 1].repetition.unwrap();
            def += u8::from(repetition != Required);
            rep += u8::from(repetition == Repeated);
            at = schema.parents[at];
        }
        assert_eq!((leaf.max_def, leaf.max_rep), (def, rep));
    }
    schema.columns()[0].ty.to_string()
}

/// Returns every column of the tree as `name nullable def/rep`, repeated levels in brackets, depth
/// first.
fn levels(column: &Column) -> Vec<String> {
    let null = if column.nullable { "?" } else { "" };
    let mut text = format!("{}{null} {}/{}", column.name, column.def_level, column.rep_level);
    let (children, repeated): (Vec<&Column>, _) = match &column.kind {
        ColumnKind::Leaf(number) => {
            text += &format!(" leaf {number}");
            (Vec::new(), None)
        }
        ColumnKind::Struct(fields) => (fields.iter().collect(), None),
        ColumnKind::List { element, repeated } => (vec![&**element], Some(repeated)),
        ColumnKind::Map { key, value, repeated } => {
            (std::iter::once(&**key).chain(value.as_deref()).collect(), Some(repeated))
        }
    };
    if let Some(repeated) = repeated {
        text += &format!(" [{}/{}]", repeated.def_level, repeated.rep_level);
    }
    std::iter::once(text).chain(children.into_iter().flat_map(levels)).collect()
}

/// Lists are recognized in all layouts of old and new writers (rule S7.49).
#[test]
fn a_list_is_what_the_rules_of_old_and_new_writers_say() {
    let list = |num| annotated("l", Optional, num, ConvertedType::List);
    let cases: &[(&str, &[SchemaElement])] = &[
        // The repeated field is the element: a leaf, several fields, no field but one repeated.
        ("ARRAY(INTEGER)", &[list(1), leaf("element", Repeated)]),
        (
            "ARRAY(ROW(a INTEGER,b INTEGER))",
            &[list(1), group("element", Repeated, 2), leaf("a", Required), leaf("b", Required)],
        ),
        (
            "ARRAY(ROW(a ARRAY(INTEGER)))",
            &[list(1), group("list", Repeated, 1), leaf("a", Repeated)],
        ),
        ("ARRAY(ROW(a INTEGER))", &[list(1), group("array", Repeated, 1), leaf("a", Required)]),
        ("ARRAY(ROW(a INTEGER))", &[list(1), group("l_tuple", Repeated, 1), leaf("a", Required)]),
        (
            "ARRAY(ARRAY(INTEGER))",
            &[
                list(1),
                annotated("array", Repeated, 1, ConvertedType::List),
                leaf("array", Repeated),
            ],
        ),
        (
            "ARRAY(MAP(INTEGER,INTEGER))",
            &[
                list(1),
                annotated("array", Repeated, 1, ConvertedType::Map),
                group("map", Repeated, 2),
                leaf("key", Required),
                leaf("value", Optional),
            ],
        ),
        // The one field inside is the element, whatever the names.
        ("ARRAY(INTEGER)", &[list(1), group("list", Repeated, 1), leaf("element", Optional)]),
        ("ARRAY(INTEGER)", &[list(1), group("bag", Repeated, 1), leaf("array_element", Optional)]),
        ("ARRAY(INTEGER)", &[list(1), group("x_tuple", Repeated, 1), leaf("y", Required)]),
        ("ARRAY(INTEGER)", &[list(1), group("Array", Repeated, 1), leaf("y", Required)]),
        (
            "ARRAY(ROW(a INTEGER))",
            &[
                list(1),
                group("list", Repeated, 1),
                group("element", Optional, 1),
                leaf("a", Required),
            ],
        ),
        // Without the structure it is a struct; without the annotation a repeated field is a list.
        ("ROW(a INTEGER)", &[list(1), leaf("a", Optional)]),
        ("ROW(a ARRAY(INTEGER),b INTEGER)", &[list(2), leaf("a", Repeated), leaf("b", Optional)]),
        ("ROW()", &[list(0)]),
        ("ARRAY(INTEGER)", &[leaf("a", Repeated)]),
        ("ARRAY(ROW(a INTEGER))", &[group("g", Repeated, 1), leaf("a", Required)]),
        (
            "ARRAY(ARRAY(INTEGER))",
            &[annotated("l", Repeated, 1, ConvertedType::List), leaf("element", Repeated)],
        ),
        // An annotation for groups has no meaning on a leaf.
        (
            "INTEGER",
            &[SchemaElement { converted: Some(ConvertedType::List), ..leaf("a", Optional) }],
        ),
    ];
    for (number, (expected, elements)) in cases.iter().enumerate() {
        assert_eq!(type_of(elements), *expected, "case {number}");
    }
}

#[test]
fn a_map_has_one_or_two_fields_in_a_repeated_group() {
    let map = |num| annotated("m", Optional, num, ConvertedType::Map);
    let pair = || [leaf("k", Required), leaf("v", Optional)];
    let with = |front: &[SchemaElement], rest: &[SchemaElement]| [front, rest].concat();
    let is = |elements: &[SchemaElement], expected: &str| {
        assert_eq!(type_of(elements), expected);
    };
    is(&with(&[map(1), group("key_value", Repeated, 2)], &pair()), "MAP(INTEGER,INTEGER)");
    let inner = annotated("map", Repeated, 2, ConvertedType::MapKeyValue);
    is(&with(&[map(1), inner], &pair()), "MAP(INTEGER,INTEGER)");
    let alone = annotated("m", Optional, 1, ConvertedType::MapKeyValue);
    is(&with(&[alone, group("map", Repeated, 2)], &pair()), "MAP(INTEGER,INTEGER)");
    // An optional key is accepted, and so are keys without values.
    let optional = [leaf("key", Optional), leaf("value", Optional)];
    is(&with(&[map(1), group("map", Repeated, 2)], &optional), "MAP(INTEGER,INTEGER)");
    let keys_only = [map(1), group("map", Repeated, 1), leaf("key", Required)];
    is(&keys_only, "MAP(INTEGER,UNKNOWN)");
    // Everything else is a plain struct.
    let three = with(&[map(1), group("map", Repeated, 3), leaf("x", Required)], &pair());
    is(&three, "ROW(map ARRAY(ROW(x INTEGER,k INTEGER,v INTEGER)))");
    is(&with(&[map(2)], &pair()), "ROW(k INTEGER,v INTEGER)");
    is(&[map(1), leaf("key", Repeated)], "ROW(key ARRAY(INTEGER))");
    is(&with(&[map(1), group("map", Optional, 2)], &pair()), "ROW(map ROW(k INTEGER,v INTEGER))");
}

#[test]
fn levels_say_where_slots_start_and_values_are() {
    let schema = schema(
        3,
        &[
            group("s", Optional, 2),
            leaf("a", Required),
            annotated("tags", Optional, 1, ConvertedType::List),
            group("list", Repeated, 1),
            leaf("element", Optional),
            annotated("m", Required, 1, ConvertedType::Map),
            group("map", Repeated, 2),
            leaf("key", Required),
            leaf("value", Repeated),
            annotated("old", Optional, 1, ConvertedType::List),
            leaf("array", Repeated),
        ],
    )
    .unwrap();
    let text: Vec<String> = schema.columns().iter().flat_map(levels).collect();
    assert_eq!(
        text,
        [
            "s? 1/0",
            "a 1/0 leaf 0",
            "tags? 2/0 [3/1]",
            "element? 4/1 leaf 1",
            "m 0/0 [1/1]",
            "key 1/1 leaf 2",
            "value 1/1 [2/2]",
            "value 2/2 leaf 3",
            "old? 1/0 [2/1]",
            "array 2/1 leaf 4",
        ]
    );
    assert_eq!(schema.leaf_name(1), "s.tags.list.element");
    assert_eq!(schema.leaf_path(3), ["m", "map", "value"]);
    assert_eq!(schema.columns()[0].leaves, 0..2);
    assert_eq!(schema.columns()[1].leaves, 2..4);
    let leaf = schema.leaf(1).unwrap();
    assert_eq!((leaf.max_def, leaf.max_rep), (4, 1));
    assert!(schema.leaf(5).is_err());
}

#[test]
fn structs_without_fields_and_files_without_columns_are_fine() {
    assert_eq!(type_of(&[group("g", Optional, 0)]), "ROW()");
    assert!(schema(0, &[]).unwrap().columns().is_empty());
    let error = schema(1, &[group("g", Repeated, 0)]).unwrap_err();
    assert_eq!(error.to_string(), "corrupt: a list or map has no stored column\n  in column \"g\"");
}

#[test]
fn a_list_of_elements_that_is_no_tree_is_corrupt() {
    let text = |num, elements: &[SchemaElement]| schema(num, elements).unwrap_err().to_string();
    assert_eq!(Schema::new(&[]).unwrap_err().to_string(), "corrupt: the schema is empty");
    assert_eq!(
        text(1, &[leaf("a", Required), leaf("b", Required)]),
        "corrupt: schema elements outside the tree (elements=3 in_tree=2)"
    );
    assert_eq!(
        text(3, &[leaf("a", Required), leaf("b", Required)]),
        "corrupt: a group has more children than the schema (children=3)\n  in column \"root\""
    );
    assert_eq!(
        text(2, &[leaf("a", Required), group("g", Required, 0), group("h", Required, 0)]),
        "corrupt: schema elements outside the tree (elements=4 in_tree=3)"
    );
    assert_eq!(
        text(2, &[group("g", Required, 1), leaf("a", Required)]),
        "corrupt: the schema ends inside a group (missing=1)"
    );
    assert_eq!(
        text(1, &[group("g", Required, -1)]),
        "corrupt: a group has a negative number of children (children=-1)\n  in column \"g\""
    );
    assert_eq!(
        text(1, &[element("x", Required)]),
        "corrupt: a schema element is neither a group nor a leaf (element=1)\n  in column \"x\""
    );
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| {
        let mut elements = vec![group("g", Repeated, 1); depth - 1];
        elements.push(leaf("a", Repeated));
        schema(1, &elements)
    };
    let deepest = nested(MAX_DEPTH).unwrap();
    assert_eq!(usize::from(deepest.leaf(0).unwrap().max_def), MAX_DEPTH);
    assert_eq!(nested(MAX_DEPTH + 1).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(nested(100_000).unwrap_err().kind(), ErrorKind::Limit);
}

/// Returns a leaf with a physical type, width and annotations.
fn stored(
    physical: PhysicalType,
    length: i32,
    logical: Option<LogicalType>,
    converted: Option<ConvertedType>,
) -> SchemaElement {
    SchemaElement {
        physical: Some(physical),
        type_length: (physical == FixedLenByteArray).then_some(length),
        logical,
        converted,
        ..element("a", Optional)
    }
}

fn typed(element: SchemaElement) -> Result<(String, ValueConversion)> {
    let schema = schema(1, &[element]).unwrap();
    schema.leaf(0).map(|leaf| (leaf.ty.to_string(), leaf.conversion))
}

/// A leaf without annotation has the type of its physical type (rule S7.51).
#[test]
fn storage_without_annotation_has_its_own_type() {
    use ValueConversion::{Int96 as ToInt96, Plain};
    for (physical, ty, conversion) in [
        (Boolean, "BOOLEAN", Plain),
        (Int32, "INTEGER", Plain),
        (Int64, "BIGINT", Plain),
        (Int96, "TIMESTAMP", ToInt96),
        (Float, "REAL", Plain),
        (Double, "DOUBLE", Plain),
        (ByteArray, "VARBINARY", Plain),
        (FixedLenByteArray, "VARBINARY", Plain),
    ] {
        let found = typed(stored(physical, 7, None, None)).unwrap();
        assert_eq!(found, (ty.to_string(), conversion), "{physical}");
        // An unknown annotation is treated as if it were absent.
        let unknown = Some(LogicalType::Unrecognized(2555));
        assert_eq!(typed(stored(physical, 7, unknown, None)).unwrap(), found);
        let unknown = Some(ConvertedType::Unknown(99));
        assert_eq!(typed(stored(physical, 7, None, unknown)).unwrap(), found);
    }
}

/// The annotation determines the type, and unsigned integers are zero-extended (rules S7.51,
/// S7.54).
#[test]
fn annotations_choose_type_and_conversion() {
    use LogicalType as L;
    use TimeUnit::{Micros, Millis, Nanos};
    use ValueConversion as To;
    let utc = true;
    let time = |unit| L::Time { is_adjusted_to_utc: utc, unit: Some(unit) };
    let timestamp = |unit| L::Timestamp { is_adjusted_to_utc: !utc, unit: Some(unit) };
    let integer = |bit_width, is_signed| L::Integer { bit_width, is_signed };
    let decimal = |precision, scale| L::Decimal { scale, precision };
    let variant = L::Variant { specification_version: Some(1) };
    let geography = L::Geography { crs: None, algorithm: None };
    for (physical, length, logical, ty, conversion) in [
        (Int32, 0, integer(8, true), "TINYINT", To::Int8),
        (Int32, 0, integer(16, true), "SMALLINT", To::Int16),
        (Int32, 0, integer(32, true), "INTEGER", To::Plain),
        (Int64, 0, integer(64, true), "BIGINT", To::Plain),
        (Int32, 0, integer(8, false), "SMALLINT", To::Unsigned8),
        (Int32, 0, integer(16, false), "INTEGER", To::Unsigned16),
        (Int32, 0, integer(32, false), "BIGINT", To::Unsigned32),
        (Int64, 0, integer(64, false), "HUGEINT", To::Unsigned64),
        (Int32, 0, L::Date, "DATE", To::Plain),
        (Int32, 0, time(Millis), "TIME(3)", To::SignExtend),
        (Int64, 0, time(Micros), "TIME(6)", To::Plain),
        (Int64, 0, time(Nanos), "TIME(9)", To::Plain),
        (Int64, 0, timestamp(Millis), "TIMESTAMP", To::TimestampUnits(Millis)),
        (Int64, 0, timestamp(Nanos), "TIMESTAMP", To::TimestampUnits(Nanos)),
        (ByteArray, 0, L::String, "VARCHAR", To::Plain),
        (FixedLenByteArray, 3, L::String, "VARCHAR", To::Plain),
        (ByteArray, 0, L::Enum, "VARCHAR", To::Plain),
        (ByteArray, 0, L::Json, "VARCHAR", To::Plain),
        (ByteArray, 0, L::Bson, "VARBINARY", To::Plain),
        (ByteArray, 0, L::Geometry { crs: None }, "VARBINARY", To::Plain),
        (ByteArray, 0, geography, "VARBINARY", To::Plain),
        (FixedLenByteArray, 16, L::Uuid, "UUID", To::Uuid),
        (FixedLenByteArray, 2, L::Float16, "FLOAT16", To::Float16),
        (FixedLenByteArray, 12, L::Interval, "INTERVAL", To::Interval),
        (Double, 0, L::Null, "UNKNOWN", To::Null),
        (ByteArray, 0, variant, "VARBINARY", To::Plain),
        (Int32, 0, decimal(9, 2), "DECIMAL(9,2)", To::SignExtend),
        (Int64, 0, decimal(18, 0), "DECIMAL(18,0)", To::Plain),
        (Int64, 0, decimal(19, 4), "DECIMAL(19,4)", To::SignExtend),
        (Int64, 0, decimal(50, 4), "DECIMAL(38,4)", To::SignExtend),
        (ByteArray, 0, decimal(38, 38), "DECIMAL(38,38)", To::DecimalBytes),
        (FixedLenByteArray, 5, decimal(10, 1), "DECIMAL(10,1)", To::DecimalBytes),
        (ByteArray, 0, decimal(77, 9), "VARCHAR", To::WideDecimalText { scale: 9 }),
    ] {
        let found = typed(stored(physical, length, Some(logical.clone()), None)).unwrap();
        assert_eq!(found, (ty.to_string(), conversion), "{logical} on {physical}");
    }
}

/// Either annotation makes an integer unsigned (rule S7.54); a known newer one takes precedence.
#[test]
fn the_older_annotation_means_the_same_and_yields_to_a_known_newer_one() {
    for (physical, length, converted, ty) in [
        (ByteArray, 0, ConvertedType::Utf8, "VARCHAR"),
        (Int32, 0, ConvertedType::Date, "DATE"),
        (Int32, 0, ConvertedType::TimeMillis, "TIME(3)"),
        (Int64, 0, ConvertedType::TimeMicros, "TIME(6)"),
        (Int64, 0, ConvertedType::TimestampMicros, "TIMESTAMP"),
        (Int32, 0, ConvertedType::Uint16, "INTEGER"),
        (Int64, 0, ConvertedType::Uint64, "HUGEINT"),
        (Int32, 0, ConvertedType::Int8, "TINYINT"),
        (FixedLenByteArray, 12, ConvertedType::Interval, "INTERVAL"),
    ] {
        let ty_of = |logical| typed(stored(physical, length, logical, Some(converted))).unwrap().0;
        assert_eq!(ty_of(None), ty, "{converted}");
        assert_eq!(ty_of(Some(LogicalType::Unrecognized(40))), ty, "{converted}");
        assert_eq!(ty_of(Some(LogicalType::Null)), "UNKNOWN", "{converted}");
    }
    let decimal = |precision, scale| {
        let element = stored(Int32, 0, None, Some(ConvertedType::Decimal));
        typed(SchemaElement { precision, scale, ..element })
    };
    assert_eq!(decimal(Some(5), Some(2)).unwrap().0, "DECIMAL(5,2)");
    assert_eq!(decimal(Some(5), None).unwrap().0, "DECIMAL(5,0)");
    assert_eq!(
        decimal(None, Some(2)).unwrap_err().to_string(),
        "corrupt: a decimal without its precision\n  in column \"a\""
    );
}

#[test]
fn an_annotation_on_forbidden_storage_refuses_its_leaf_only() {
    let integer = |bit_width| LogicalType::Integer { bit_width, is_signed: true };
    for (physical, length, logical) in [
        (Int32, 0, integer(64)),
        (Int64, 0, integer(32)),
        (Int32, 0, integer(7)),
        (Int64, 0, LogicalType::Date),
        (Int32, 0, LogicalType::String),
        (ByteArray, 0, LogicalType::Uuid),
        (FixedLenByteArray, 15, LogicalType::Uuid),
        (FixedLenByteArray, 4, LogicalType::Float16),
        (Double, 0, LogicalType::Decimal { scale: 0, precision: 5 }),
        (Int64, 0, LogicalType::Time { is_adjusted_to_utc: true, unit: Some(TimeUnit::Millis) }),
        (Int64, 0, LogicalType::Decimal { scale: 6, precision: 5 }),
        (Int64, 0, LogicalType::Decimal { scale: 0, precision: 0 }),
        (FixedLenByteArray, -1, LogicalType::String),
    ] {
        let broken = stored(physical, length, Some(logical.clone()), None);
        let schema = schema(2, &[broken, leaf("b", Required)]).unwrap();
        let error = schema.leaf(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{logical} on {physical}");
        assert!(schema.leaf(1).is_ok());
    }
    let error = typed(stored(Int32, 0, Some(integer(64)), None)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "corrupt: the annotation is not allowed on this storage \
         (annotation=INTEGER(64,true) storage=INT32)\n  in column \"a\""
    );
    let no_unit = LogicalType::Timestamp { is_adjusted_to_utc: true, unit: None };
    let error = typed(stored(Int64, 0, Some(no_unit), None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}
