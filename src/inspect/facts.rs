//! A small table that is built row by row.

use vector::build::vector_of;
use vector::sync::Arc;
use vector::{Result, RowType, RowVector, Type, Value, value_text};

/// Maximum number of stored bytes that are shown; longer ones are truncated.
const MAX_HEX_BYTES: usize = 64;
/// Maximum number of characters of a value; longer ones are truncated.
const MAX_VALUE_CHARS: usize = 200;

/// Named, typed columns and their rows.
pub(super) struct Facts {
    columns: Vec<(&'static str, Type)>,
    rows: Vec<Vec<Value>>,
}

impl Facts {
    /// Returns a table without rows.
    pub(super) fn new(columns: impl IntoIterator<Item = (&'static str, Type)>) -> Self {
        Facts { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row with a value for each column.
    pub(super) fn push(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// Returns the rows as a batch; fails if a value does not fit its column.
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

/// Returns a text value.
pub(super) fn text(text: impl AsRef<str>) -> Value {
    Value::bytes(text.as_ref())
}

/// Returns a text value, or null.
pub(super) fn text_or_null(given: Option<impl AsRef<str>>) -> Value {
    given.map_or(Value::Null, text)
}

/// Returns a count, size or offset. A value of more than 63 bits, which is invalid, becomes the
/// largest number.
pub(super) fn number(number: u64) -> Value {
    Value::BigInt(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns a number, or null.
pub(super) fn number_or_null(given: Option<u64>) -> Value {
    given.map_or(Value::Null, number)
}

/// Returns a list of texts.
pub(super) fn texts(texts: impl IntoIterator<Item = String>) -> Value {
    Value::Array(texts.into_iter().map(text).collect())
}

/// Returns a signed number, or null.
pub(super) fn signed_or_null(given: Option<i64>) -> Value {
    given.map_or(Value::Null, Value::BigInt)
}

/// Returns a boolean, or null if it is unknown.
pub(super) fn boolean_or_null(given: Option<bool>) -> Value {
    given.map_or(Value::Null, Value::Boolean)
}

/// Returns a list of signed numbers; null for an empty list.
pub(super) fn signed_list(numbers: &[i64]) -> Value {
    match numbers {
        [] => Value::Null,
        numbers => Value::Array(numbers.iter().map(|number| Value::BigInt(*number)).collect()),
    }
}

/// Returns bytes in hexadecimal, truncated if they are long.
pub(super) fn hex(bytes: &[u8]) -> Value {
    let shown = bytes.get(..MAX_HEX_BYTES).unwrap_or(bytes);
    let mut out: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    if shown.len() < bytes.len() {
        out.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text(out)
}

/// Returns a value as text, truncated if it is long.
pub(super) fn value_or_null(ty: &Type, value: Option<&Value>) -> Value {
    let Some(value) = value else { return Value::Null };
    let shown = value_text(ty, value);
    match shown.char_indices().nth(MAX_VALUE_CHARS) {
        None => text(shown),
        Some((end, _)) => text(format!("{}… ({} bytes)", &shown[..end], shown.len())),
    }
}
