//! Chunks whose headers claim more or less than their pages have: a read returns the rows of the
//! sound chunk or refuses the changed one, whatever rows are selected. Values that are right in
//! another encoding too are read as such by every read.

use vector::Error;
use vector::testing::values_of;

use super::tests::{element, group, leaf, reader, schema};
use super::*;
use crate::encoding::recoded::Storage;
use crate::page::testing::{
    ChangedField, ChunkWriter, PLAIN, RLE_DICTIONARY, byte_arrays, indices, int32s, required,
};
use crate::thrift::structs::{Codec, ConvertedType, PhysicalType, Repetition, SchemaElement};
use vector::{ErrorKind, Value};

/// Number of the field that stands for the type of a page.
const PAGE_TYPE: usize = usize::MAX;

/// A chunk of some shape, written with a changed field or none.
struct Shape {
    name: &'static str,
    schema: Schema,
    write: fn(&mut ChunkWriter),
    physical: PhysicalType,
    levels: (u8, u8),
}

impl Shape {
    fn chunk(&self, codec: Codec, changed: Option<ChangedField>) -> ChunkWriter {
        let mut chunk = ChunkWriter::new(codec, self.levels.0, self.levels.1);
        chunk.storage = Storage { physical: self.physical, type_length: 0 };
        chunk.changed = changed;
        (self.write)(&mut chunk);
        chunk
    }

    /// True when a field of a header says how the page is encoded.
    fn is_encoding(fields: usize, field: usize) -> bool {
        match fields {
            // Of a data page of version 1 and 2, by the number of its fields.
            4 => (1..4).contains(&field),
            6 => field == 3,
            _ => false,
        }
    }

    /// The selected rows, and what the end of the row group finds.
    fn rows(&self, chunk: &ChunkWriter, selected: &SelectivityVector) -> Result<Vec<Value>> {
        let mut column = reader(&self.schema, &[chunk]);
        let vector = column.read_selected(selected)?;
        column.end_row_group(true)?;
        Ok(values_of(&vector))
    }
}

fn tags(element: SchemaElement) -> Schema {
    schema(&[
        SchemaElement {
            converted: Some(ConvertedType::List),
            ..group("tags", Repetition::Optional, 1)
        },
        group("list", Repetition::Repeated, 1),
        element,
    ])
}

fn shapes() -> Vec<Shape> {
    let int = |repetition| schema(&[leaf("a", PhysicalType::Int32, repetition)]);
    let text = |repetition| {
        let converted = Some(ConvertedType::Utf8);
        schema(&[SchemaElement { converted, ..leaf("a", PhysicalType::ByteArray, repetition) }])
    };
    let list = || tags(leaf("element", PhysicalType::Int32, Repetition::Optional));
    vec![
        Shape {
            name: "required integers, version 1",
            schema: int(Repetition::Required),
            write: |chunk| {
                chunk.dictionary(3, &int32s([70, 71, 72]));
                for page in 0..4 {
                    chunk.v1(&required(10), PLAIN, &int32s(page * 10..page * 10 + 10));
                    chunk.v1(&required(5), RLE_DICTIONARY, &indices(&[2, 1, 0, 1, 2], 2));
                }
            },
            physical: PhysicalType::Int32,
            levels: (0, 0),
        },
        Shape {
            name: "required integers, version 2",
            schema: int(Repetition::Required),
            write: |chunk| {
                for page in 0..4 {
                    chunk.v2(&required(10), PLAIN, &int32s(page * 10..page * 10 + 10));
                }
            },
            physical: PhysicalType::Int32,
            levels: (0, 0),
        },
        Shape {
            name: "optional strings in a dictionary, both versions",
            schema: text(Repetition::Optional),
            write: |chunk| {
                chunk.dictionary(3, &byte_arrays(&[b"first", b"", b"the third, which is long"]));
                let levels = [(0, 1), (0, 0), (0, 1), (0, 1), (0, 0), (0, 1)];
                for _ in 0..3 {
                    chunk.v1(&levels, RLE_DICTIONARY, &indices(&[2, 0, 1, 2], 2));
                    chunk.v2(&levels, RLE_DICTIONARY, &indices(&[0, 0, 2, 1], 2));
                }
            },
            physical: PhysicalType::ByteArray,
            levels: (1, 0),
        },
        Shape {
            name: "optional strings, plain",
            schema: text(Repetition::Optional),
            write: |chunk| {
                let levels = [(0, 1), (0, 0), (0, 1), (0, 1)];
                for _ in 0..4 {
                    chunk.v1(&levels, PLAIN, &byte_arrays(&[b"a", b"bb", b"ccc"]));
                    chunk.v2(&levels, PLAIN, &byte_arrays(&[b"dd", b"e", b""]));
                }
            },
            physical: PhysicalType::ByteArray,
            levels: (1, 0),
        },
        Shape {
            name: "lists, version 1",
            schema: list(),
            write: |chunk| {
                for page in 0..4 {
                    let values = int32s([page, page + 1, page + 2]);
                    chunk.v1(&[(0, 3), (1, 2), (0, 0), (0, 3), (1, 3), (0, 1)], PLAIN, &values);
                }
            },
            physical: PhysicalType::Int32,
            levels: (3, 1),
        },
        Shape {
            name: "lists, version 2",
            schema: list(),
            write: |chunk| {
                for page in 0..4 {
                    let values = int32s([page, page + 1, page + 2]);
                    chunk.v2(&[(0, 3), (1, 2), (0, 0), (0, 3), (1, 3), (0, 1)], PLAIN, &values);
                }
            },
            physical: PhysicalType::Int32,
            levels: (3, 1),
        },
    ]
}

fn selected(values: &[Value], rows: &SelectivityVector) -> Vec<Value> {
    let chosen = values.iter().enumerate().filter(|(row, _)| rows.contains(*row));
    chosen.map(|(_, value)| value.clone()).collect()
}

fn selections(num_rows: usize) -> Vec<SelectivityVector> {
    let mut selections = vec![SelectivityVector::all(num_rows)];
    for step in [num_rows / 2, 7, 3] {
        for first in [0, 1, num_rows / 3, num_rows - 1] {
            let mut rows = SelectivityVector::none(num_rows);
            (first..num_rows).step_by(step).for_each(|row| rows.set(row, true));
            selections.push(rows);
        }
    }
    selections
}

#[test]
fn a_changed_field_of_a_header_never_changes_rows() {
    let mut refused = 0;
    for (shape, codec) in
        shapes().iter().flat_map(|shape| [(shape, Codec::Uncompressed), (shape, Codec::Snappy)])
    {
        let sound = shape.chunk(codec, None);
        let num_rows = sound.num_rows as usize;
        let selections = selections(num_rows);
        let expected: Vec<Vec<Value>> =
            selections.iter().map(|rows| shape.rows(&sound, rows).unwrap()).collect();
        let fields = |page: usize| {
            let num_fields = sound.fields[page].len();
            (0..num_fields).map(move |field| (page, field)).chain([(page, PAGE_TYPE)])
        };
        for (page, field) in (0..sound.fields.len()).flat_map(fields) {
            let own = sound.fields[page].get(field).copied().unwrap_or(0);
            let values = [0, 1, 2, 3, 4, 8, 9, own + 1, own.max(1) - 1, own * 2, i32::MAX as u32];
            for value in values.into_iter().filter(|value| *value != own) {
                let mut changed = shape.chunk(codec, Some(ChangedField { page, field, value }));
                // What the footer says is not changed.
                (changed.num_values, changed.num_rows) = (sound.num_values, sound.num_rows);
                let whole = match Shape::is_encoding(sound.fields[page].len(), field) {
                    true => shape.rows(&changed, &selections[0]).ok(),
                    false => None,
                };
                for (rows, expected) in selections.iter().zip(&expected) {
                    let expected = match &whole {
                        Some(whole) => &selected(whole, rows),
                        None => expected,
                    };
                    match shape.rows(&changed, rows) {
                        Err(error) => {
                            let kind = error.kind();
                            assert!(
                                matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsupported),
                                "{error}"
                            );
                            refused += 1;
                        }
                        Ok(found) => assert_eq!(
                            &found, expected,
                            "{}, {codec}: page {page}, field {field} is {value} instead of {own}",
                            shape.name
                        ),
                    }
                }
            }
        }
    }
    assert!(refused > 1_000, "{refused}");
}

/// The error of reading all rows of one required or repeated chunk.
fn error_of(schema: &Schema, chunk: &ChunkWriter) -> Error {
    let mut column = reader(schema, &[chunk]);
    let read = column.read(chunk.num_rows as usize);
    read.and_then(|_| column.end_row_group(true)).unwrap_err()
}

#[test]
fn what_is_left_of_a_page_shows_what_was_read_as_something_else() {
    // OPTIONAL read as REQUIRED: the levels are taken for values.
    for (text, physical) in [(true, PhysicalType::ByteArray), (false, PhysicalType::Int32)] {
        let mut chunk = ChunkWriter::new(Codec::Uncompressed, 1, 0);
        let values = match text {
            true => byte_arrays(&[b"a", b"b", b"c"]),
            false => int32s([1, 2, 3]),
        };
        chunk.v1(&[(0, 1), (0, 1), (0, 1)], PLAIN, &values);
        let params = |leaf: usize| {
            let mut params = chunk.params();
            params.max_def = leaf as u8;
            Ok((params, vector::Buffer::from_slice(&chunk.bytes)))
        };
        let required = schema(&[leaf("a", physical, Repetition::Required)]);
        // Whether the page is read to its end or left early.
        for num_rows in [1, 2, 3] {
            let spec = ColumnSpec::whole("a", required.columns()[0].ty.clone(), 0);
            let wanted = (&spec, &NestedBinding::ByName);
            let pool = MemoryPool::unlimited();
            let mut column = ColumnReader::new(&required, 0, wanted, &pool).unwrap();
            column.start_row_group(params).unwrap();
            let read = column.read(num_rows).and_then(|_| column.end_row_group(num_rows == 3));
            assert_eq!(read.unwrap_err().kind(), ErrorKind::Corrupt, "{physical} {num_rows}");
        }
    }
}

#[test]
fn a_few_bytes_behind_plain_values_are_padding_in_version_one_only() {
    let required_ints = schema(&[leaf("a", PhysicalType::Int32, Repetition::Required)]);
    let padded = |num_bytes: usize, version: u8| {
        let mut chunk = ChunkWriter::new(Codec::Uncompressed, 0, 0);
        let values = [int32s([7, 8]), vec![0xaa; num_bytes]].concat();
        match version {
            1 => chunk.v1(&required(2), PLAIN, &values),
            _ => chunk.v2(&required(2), PLAIN, &values),
        };
        let mut column = reader(&required_ints, &[&chunk]);
        column.read(2).and_then(|_| column.end_row_group(true))
    };
    assert!(padded(0, 1).is_ok() && padded(8, 1).is_ok() && padded(0, 2).is_ok());
    for (num_bytes, version) in [(9, 1), (40, 1), (1, 2), (8, 2)] {
        let text = padded(num_bytes, version).unwrap_err().to_string();
        assert!(text.contains("hold another number of values"), "{text}");
    }
}

#[test]
fn rows_of_repeated_columns_are_compared_with_levels_and_row_group() {
    let lists = tags(leaf("element", PhysicalType::Int32, Repetition::Optional));
    let levels = [(0, 3), (1, 3), (0, 3), (1, 3)];
    let mut more = ChunkWriter::new(Codec::Uncompressed, 3, 1);
    more.v1(&levels, PLAIN, &int32s([1, 2, 3, 4]));
    more.num_rows = 1;
    assert!(error_of(&lists, &more).to_string().contains("more rows than its row group"));

    // The page of another row in front of one that says it has two.
    let mut inside = ChunkWriter::new(Codec::Uncompressed, 3, 1);
    inside.v2(&levels, PLAIN, &int32s([1, 2, 3, 4]));
    inside.v2(&[(1, 3), (0, 3), (0, 3), (1, 3)], PLAIN, &int32s([5, 6, 7, 8]));
    assert!(error_of(&lists, &inside).to_string().contains("starts in the middle of a row"));

    // Writers that count values as rows in every page are understood.
    let mut counted = ChunkWriter::new(Codec::Uncompressed, 3, 1);
    for page in 0..3 {
        counted.changed = Some(ChangedField { page, field: 2, value: 4 });
        counted.v2(&levels, PLAIN, &int32s([1, 2, 3, 4]));
    }
    for skipped in 0..6 {
        let mut column = reader(&lists, &[&counted]);
        column.skip(skipped);
        let rest = column.read(6 - skipped).unwrap();
        column.end_row_group(true).unwrap();
        assert_eq!(rest.len(), 6 - skipped);
    }
    assert_eq!(element("a", Repetition::Required).name, "a");
}
