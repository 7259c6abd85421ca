//! Shredding: converts nested values to columns with definition and repetition levels.
//!
//! ```text
//! row          entries of the field      of its elements               in the column
//! [[1, 2], []]   (rep 0, row 0)     (0, elem 0), (1, elem 1)    (0, 0), (2, 1) value; (1, "empty")
//! ```
//!
//! A field is processed for a whole batch at once. An entry of a field has a repetition level and a
//! row of the field's vector; the entries of a field determine those of its children. An entry
//! without a row has ended at an ancestor and keeps the definition level of that ancestor.

use vector::encoding::{Vector, VectorRef};
use vector::{DecodedVector, Error, Result};

use super::column::Column;
use super::schema::{Field, Shape};

/// Entries of a field in the order of the rows.
#[derive(Debug, Default)]
pub(super) struct Entries(Vec<Entry>);

#[derive(Debug, Clone, Copy)]
struct Entry {
    repetition: i16,
    at: At,
}

#[derive(Debug, Clone, Copy)]
enum At {
    /// Row of the field's vector.
    Row(usize),
    /// No value; the definition level at which the entry ended.
    Ended(i16),
}

impl Entries {
    /// Returns one entry for each row of a batch.
    pub(super) fn of_rows(num_rows: usize) -> Self {
        Entries((0..num_rows).map(|row| Entry { repetition: 0, at: At::Row(row) }).collect())
    }

    /// Returns the entries of the contents of a field.
    fn inside(&self, field: &Field, rows: Option<&DecodedVector>) -> Result<Entries> {
        let step = |entry: &Entry| {
            let At::Row(row) = entry.at else { return Ok(*entry) };
            let present = rows.filter(|rows| !rows.is_null(row));
            let at = match present {
                Some(rows) => At::Row(rows.index(row)),
                None if field.is_required => {
                    return Err(Error::invalid_input("a key of a map is null"));
                }
                None => At::Ended(field.definition - 1),
            };
            Ok(Entry { at, ..*entry })
        };
        self.0.iter().map(step).collect::<Result<_>>().map(Entries)
    }

    /// Returns the entries of the elements of lists; `span` returns the elements of a row.
    fn elements(
        &self,
        field: &Field,
        repetition: i16,
        span: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Entries {
        let mut out = Vec::with_capacity(self.0.len());
        for entry in &self.0 {
            let At::Row(row) = entry.at else {
                out.push(*entry);
                continue;
            };
            let rows = span(row);
            if rows.is_empty() {
                out.push(Entry { at: At::Ended(field.definition), ..*entry });
            }
            let first = rows.start;
            out.extend(rows.map(|row| {
                let repetition = if row == first { entry.repetition } else { repetition };
                Entry { repetition, at: At::Row(row) }
            }));
        }
        Entries(out)
    }
}

/// Appends the values of a field's vector at `entries` to its columns.
pub(super) fn shred(
    field: &Field,
    vector: Option<&VectorRef>,
    entries: &Entries,
    columns: &mut [Column],
) -> Result<()> {
    let rows = vector.map(DecodedVector::new).transpose()?;
    let inside = entries.inside(field, rows.as_ref())?;
    // If all rows are null, the children have no vectors either.
    let base = rows.as_ref().map(|rows| rows.base().as_ref());
    match &field.shape {
        Shape::Leaf(column) => {
            let Some(column) = columns.get_mut(*column) else {
                return Err(Error::internal("a column of the file is missing"));
            };
            let mut values = Vec::with_capacity(inside.0.len());
            for entry in &inside.0 {
                let definition = match entry.at {
                    At::Row(row) => {
                        values.push(row);
                        field.definition
                    }
                    At::Ended(definition) => definition,
                };
                column.push_levels(definition, entry.repetition);
            }
            match rows.as_ref().and_then(DecodedVector::flat_values) {
                Some(flat) => column.push_values(flat, &values),
                None if values.is_empty() => Ok(()),
                None => Err(Error::internal("a column of scalars is not flat")),
            }
        }
        Shape::Row(fields) => {
            let children = match base {
                Some(Vector::Row(row)) => row.children(),
                _ => &[],
            };
            for (i, child) in fields.iter().enumerate() {
                shred(child, children.get(i), &inside, columns)?;
            }
            Ok(())
        }
        Shape::Repeated { repetition, parts } => {
            let (elements, below) = match base {
                Some(Vector::Array(array)) => {
                    let below = inside.elements(field, *repetition, |row| array.span(row));
                    ([Some(array.elements()), None], below)
                }
                Some(Vector::Map(map)) => {
                    let below = inside.elements(field, *repetition, |row| map.span(row));
                    ([Some(map.keys()), Some(map.values())], below)
                }
                _ => ([None, None], inside),
            };
            for (part, vector) in parts.iter().zip(elements) {
                shred(part, vector, &below, columns)?;
            }
            Ok(())
        }
    }
}
