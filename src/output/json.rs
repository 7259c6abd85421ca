//! JSON lines in canonical form, and the same objects as one array.

use std::io::Write;

use vector::{Result, RowType, RowVector};

use super::cell::{Cell, Style, json_string};
use super::{BatchWriter, write_error};

/// A buffer is handed on when it has grown to this many bytes.
const FLUSH_BYTES: usize = 64 << 10;

/// Prints each row as an object.
pub(super) struct JsonWriter<'a> {
    out: Box<dyn Write + 'a>,
    /// The names as JSON strings with their colon; a name twice is printed twice.
    names: Vec<String>,
    array: bool,
    rows: u64,
    buffer: String,
}

impl<'a> JsonWriter<'a> {
    /// One object a line.
    pub(super) fn lines(row_type: &RowType, out: Box<dyn Write + 'a>) -> Result<Self> {
        Ok(Self::new(row_type, out, false))
    }

    /// One array of objects.
    pub(super) fn array(row_type: &RowType, out: Box<dyn Write + 'a>) -> Result<Self> {
        let mut writer = Self::new(row_type, out, true);
        writer.buffer.push('[');
        Ok(writer)
    }

    fn new(row_type: &RowType, out: Box<dyn Write + 'a>, array: bool) -> Self {
        let names = row_type.names().iter().map(|n| json_string(n.as_bytes()) + ":").collect();
        JsonWriter { out, names, array, rows: 0, buffer: String::new() }
    }

    fn hand_on(&mut self) -> Result<()> {
        let outcome = self.out.write_all(self.buffer.as_bytes()).map_err(write_error);
        self.buffer.clear();
        outcome
    }
}

impl BatchWriter for JsonWriter<'_> {
    fn write(&mut self, batch: &RowVector) -> Result<()> {
        let cells = batch.children().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.len() {
            if self.array {
                self.buffer.push_str(if self.rows > 0 { ",\n" } else { "\n" });
            }
            self.rows += 1;
            self.buffer.push('{');
            for (i, (name, cell)) in self.names.iter().zip(&cells).enumerate() {
                if i > 0 {
                    self.buffer.push(',');
                }
                self.buffer.push_str(name);
                cell.write(row, Style::Json, &mut self.buffer);
            }
            self.buffer.push('}');
            if !self.array {
                self.buffer.push('\n');
            }
            if self.buffer.len() >= FLUSH_BYTES {
                self.hand_on()?;
            }
        }
        self.hand_on()
    }

    fn finish(&mut self) -> Result<()> {
        if self.array {
            self.buffer.push_str(if self.rows > 0 { "\n]\n" } else { "]\n" });
        }
        self.hand_on()?;
        self.out.flush().map_err(write_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::sync::Arc;
    use vector::{Type, Value};

    fn print(array: bool, rows: usize) -> String {
        let ty = Arc::new(RowType::new([("a", Type::BigInt), ("a", Type::BigInt)]));
        let values: Vec<Value> = (0..rows as i64).map(Value::BigInt).collect();
        let column = vector_of(&Type::BigInt, &values).unwrap();
        let batch = RowVector::batch(ty.clone(), rows, vec![column.clone(), column]).unwrap();
        let mut bytes = Vec::new();
        let out: Box<dyn Write> = Box::new(&mut bytes);
        let mut writer = match array {
            true => JsonWriter::array(&ty, out).unwrap(),
            false => JsonWriter::lines(&ty, out).unwrap(),
        };
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn lines_keep_repeated_names_and_an_empty_result_prints_nothing() {
        assert_eq!(print(false, 2), "{\"a\":0,\"a\":0}\n{\"a\":1,\"a\":1}\n");
        assert_eq!(print(false, 0), "");
    }

    #[test]
    fn an_array_is_one_json_value_whatever_the_number_of_rows() {
        assert_eq!(print(true, 0), "[]\n");
        assert_eq!(print(true, 2), "[\n{\"a\":0,\"a\":0},\n{\"a\":1,\"a\":1}\n]\n");
    }
}
