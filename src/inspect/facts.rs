//! A small table filled row by row.

use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Result, RowType, RowVector, Type, Value, value_text};

/// Stored bytes longer than this are cut.
const MAX_HEX_BYTES: usize = 64;
/// Values longer than this are cut.
const MAX_VALUE_CHARS: usize = 200;

/// Named, typed columns and their rows.
pub(super) struct Facts {
    columns: Vec<(&'static str, Type)>,
    rows: Vec<Vec<Value>>,
}

impl Facts {
    /// No rows yet.
    pub(super) fn new(columns: impl IntoIterator<Item = (&'static str, Type)>) -> Self {
        Facts { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row with a value for each column.
    pub(super) fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// The rows as a batch; fails when a row does not fit the columns.
    pub(super) fn finish(self) -> Result<RowVector> {
        let num_rows = self.rows.len();
        let vectors = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, (_, ty))| {
                vector_of(ty, self.rows.iter().map(|row| row.get(i).unwrap_or(&Value::Null)))
            })
            .collect::<Result<_>>()?;
        RowVector::batch(Arc::new(RowType::new(self.columns)), num_rows, vectors)
    }
}

/// Text.
pub(super) fn text(text: impl AsRef<str>) -> Value {
    Value::bytes(text.as_ref())
}

/// Text that may be missing.
pub(super) fn text_or_null(given: Option<impl AsRef<str>>) -> Value {
    given.map_or(Value::Null, text)
}

/// A count, size or offset; what exceeds 63 bits is nonsense and shown as the largest number.
pub(super) fn number(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A number that may be missing.
pub(super) fn number_or_null(given: Option<u64>) -> Value {
    given.map_or(Value::Null, number)
}

/// Texts as one list.
pub(super) fn texts(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(text).collect())
}

/// A signed number that may be missing.
pub(super) fn signed_or_null(given: Option<i64>) -> Value {
    given.map_or(Value::Null, Value::BigInt)
}

/// Yes, no or not known.
pub(super) fn boolean_or_null(given: Option<bool>) -> Value {
    given.map_or(Value::Null, Value::Boolean)
}

/// Signed numbers as one list; null for none.
pub(super) fn signed_list(numbers: &[i64]) -> Value {
    match numbers {
        [] => Value::Null,
        numbers => Value::Array(numbers.iter().map(|number| Value::BigInt(*number)).collect()),
    }
}

/// Bytes in hexadecimal; of long ones the front.
pub(super) fn hex(bytes: &[u8]) -> Value {
    let shown = bytes.get(..MAX_HEX_BYTES).unwrap_or(bytes);
    let mut out: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    if shown.len() < bytes.len() {
        out.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text(out)
}

/// A value as text; of long ones the front.
pub(super) fn value_or_null(ty: &Type, value: Option<&Value>) -> Value {
    let Some(value) = value else { return Value::Null };
    let shown = value_text(ty, value);
    match shown.char_indices().nth(MAX_VALUE_CHARS) {
        None => text(shown),
        Some((end, _)) => text(format!("{}… ({} bytes)", &shown[..end], shown.len())),
    }
}
