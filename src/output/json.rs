//! Rows as JSON objects, either one per line or all in one array.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use vector::{Result, RowType, RowVector};

use super::cell::{Cell, Style, json_string};
use super::{BatchWriter, FLUSH_BYTES, write_error};

/// Prints each row as an object.
pub(super) struct JsonWriter<'a> {
    out: Box<dyn Write + 'a>,
    /// Column names as JSON strings, each with a colon.
    names: Vec<String>,
    style: Style,
    array: bool,
    rows: u64,
    buffer: String,
}

impl<'a> JsonWriter<'a> {
    /// Returns a writer of one object per line.
    pub(super) fn lines(row_type: &RowType, out: Box<dyn Write + 'a>) -> Self {
        Self::new(&unique_names(row_type.names()), out, Style::Json)
    }

    /// Returns a writer of one object per line in canonical form, with the names of the row type.
    pub(super) fn canonical(row_type: &RowType, out: Box<dyn Write + 'a>) -> Self {
        Self::new(row_type.names(), out, Style::CanonicalJson)
    }

    /// Returns a writer of one array of objects.
    pub(super) fn array(row_type: &RowType, out: Box<dyn Write + 'a>) -> Self {
        let mut writer = Self::lines(row_type, out);
        writer.array = true;
        writer.buffer.push('[');
        writer
    }

    fn new(names: &[String], out: Box<dyn Write + 'a>, style: Style) -> Self {
        let names = names.iter().map(|n| json_string(n.as_bytes()) + ":").collect();
        JsonWriter { out, names, style, array: false, rows: 0, buffer: String::new() }
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
                cell.write(row, self.style, &mut self.buffer);
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

/// Makes names unique by a number after each repeated name: `a`, `a_1`, `a_2`. A number is skipped
/// if a column has the resulting name.
pub(super) fn unique_names(names: &[String]) -> Vec<String> {
    let own: HashSet<&str> = names.iter().map(String::as_str).collect();
    if own.len() == names.len() {
        return names.to_vec();
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let unique = names.iter().map(|name| {
        let Some(number) = counts.get_mut(name.as_str()) else {
            counts.insert(name, 0);
            return name.clone();
        };
        loop {
            *number += 1;
            let numbered = format!("{name}_{number}");
            if !own.contains(numbered.as_str()) {
                return numbered;
            }
        }
    });
    unique.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::build::vector_of;
    use vector::sync::Arc;
    use vector::{Type, Value};

    fn print(format: fn(&RowType, Box<dyn Write>) -> JsonWriter<'static>, rows: usize) -> String {
        #[derive(Clone, Default)]
        struct Shared(Arc<vector::sync::Mutex<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let ty = Arc::new(RowType::new([("a", Type::BigInt), ("a", Type::BigInt)]));
        let values: Vec<Value> = (0..rows as i64).map(Value::BigInt).collect();
        let column = vector_of(&Type::BigInt, &values).unwrap();
        let batch = RowVector::batch(ty.clone(), rows, vec![column.clone(), column]).unwrap();
        let out = Shared::default();
        let mut writer = format(&ty, Box::new(out.clone()));
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        String::from_utf8(out.0.lock().clone()).unwrap()
    }

    #[test]
    fn canonical_lines_keep_repeated_names_and_an_empty_result_prints_nothing() {
        let print = |rows| print(JsonWriter::canonical, rows);
        assert_eq!(print(2), "{\"a\":0,\"a\":0}\n{\"a\":1,\"a\":1}\n");
        assert_eq!(print(0), "");
    }

    #[test]
    fn an_array_is_one_json_value_whatever_the_number_of_rows() {
        let array = |rows| print(JsonWriter::array, rows);
        assert_eq!(array(0), "[]\n");
        assert_eq!(array(2), "[\n{\"a\":0,\"a_1\":0},\n{\"a\":1,\"a_1\":1}\n]\n");
        assert_eq!(print(JsonWriter::lines, 1), "{\"a\":0,\"a_1\":0}\n");
    }

    #[test]
    fn repeated_names_are_numbered_around_those_that_exist() {
        let unique = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            unique_names(&names)
        };
        assert_eq!(unique(&["a", "b"]), ["a", "b"]);
        assert_eq!(unique(&["a", "a_1", "a", "a", "A"]), ["a", "a_1", "a_2", "a_3", "A"]);
        assert_eq!(unique(&["a", "a", "a_1", "a_1"]), ["a", "a_2", "a_1", "a_1_1"]);
        assert_eq!(unique(&["", ""]), ["", "_1"]);
    }
}
