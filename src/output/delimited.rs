//! Comma- and tab-separated values with a header line. Nulls are empty fields.

use std::io::Write;

use vector::{Result, RowType, RowVector};

use super::cell::{Cell, Style};
use super::{BatchWriter, FLUSH_BYTES, write_error};

/// Prints rows as delimited lines.
pub(super) struct DelimitedWriter<'a> {
    out: Box<dyn Write + 'a>,
    delimiter: char,
    line: String,
    field: String,
}

impl<'a> DelimitedWriter<'a> {
    /// Returns a CSV writer. Fields with a comma, quote or line break are quoted (RFC 4180), and so
    /// is the empty string, to distinguish it from null.
    pub(super) fn csv(row_type: &RowType, out: Box<dyn Write + 'a>) -> Result<Self> {
        Self::new(row_type, out, ',')
    }

    /// Returns a TSV writer. Tabs, line breaks and backslashes in fields are escaped with a
    /// backslash.
    pub(super) fn tsv(row_type: &RowType, out: Box<dyn Write + 'a>) -> Result<Self> {
        Self::new(row_type, out, '\t')
    }

    fn new(row_type: &RowType, out: Box<dyn Write + 'a>, delimiter: char) -> Result<Self> {
        let mut writer =
            DelimitedWriter { out, delimiter, line: String::new(), field: String::new() };
        for (i, name) in row_type.names().iter().enumerate() {
            if i > 0 {
                writer.line.push(delimiter);
            }
            writer.field.push_str(name);
            writer.push_field();
        }
        writer.line.push('\n');
        Ok(writer)
    }

    /// Omits the header line.
    pub(super) fn without_header(mut self) -> Self {
        self.line.clear();
        self
    }

    /// Appends the field to the line, quoted or escaped as needed.
    fn push_field(&mut self) {
        let field = &self.field;
        if self.delimiter == '\t' {
            for c in field.chars() {
                match c {
                    '\t' => self.line.push_str("\\t"),
                    '\n' => self.line.push_str("\\n"),
                    '\r' => self.line.push_str("\\r"),
                    '\\' => self.line.push_str("\\\\"),
                    c => self.line.push(c),
                }
            }
        } else if field.is_empty() || field.contains([',', '"', '\n', '\r']) {
            self.line.push('"');
            self.line.push_str(&field.replace('"', "\"\""));
            self.line.push('"');
        } else {
            self.line.push_str(field);
        }
        self.field.clear();
    }

    fn hand_on(&mut self) -> Result<()> {
        let outcome = self.out.write_all(self.line.as_bytes()).map_err(write_error);
        self.line.clear();
        outcome
    }
}

impl BatchWriter for DelimitedWriter<'_> {
    fn write(&mut self, batch: &RowVector) -> Result<()> {
        let cells = batch.children().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.len() {
            for (i, cell) in cells.iter().enumerate() {
                if i > 0 {
                    self.line.push(self.delimiter);
                }
                if !cell.is_null(row) {
                    cell.write(row, Style::Plain, &mut self.field);
                    self.push_field();
                }
            }
            self.line.push('\n');
            if self.line.len() >= FLUSH_BYTES {
                self.hand_on()?;
            }
        }
        self.hand_on()
    }

    fn finish(&mut self) -> Result<()> {
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

    fn print(csv: bool) -> String {
        let ty = Arc::new(RowType::new([("s", Type::Varchar), ("n", Type::Integer)]));
        let texts = ["a,b", "say \"hi\"", "", "tab\there"].map(Value::bytes);
        let numbers = [Value::Integer(1), Value::Null, Value::Integer(3), Value::Integer(4)];
        let columns = vec![
            vector_of(&Type::Varchar, &texts).unwrap(),
            vector_of(&Type::Integer, &numbers).unwrap(),
        ];
        let batch = RowVector::batch(ty.clone(), 4, columns).unwrap();
        let mut bytes = Vec::new();
        let out: Box<dyn Write> = Box::new(&mut bytes);
        let mut writer = match csv {
            true => DelimitedWriter::csv(&ty, out).unwrap(),
            false => DelimitedWriter::tsv(&ty, out).unwrap(),
        };
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn csv_quotes_what_it_must_and_tells_empty_from_null() {
        let want = "s,n\n\"a,b\",1\n\"say \"\"hi\"\"\",\n\"\",3\ntab\there,4\n";
        assert_eq!(print(true), want);
    }

    #[test]
    fn tsv_escapes_its_delimiter() {
        assert_eq!(print(false), "s\tn\na,b\t1\nsay \"hi\"\t\n\t3\ntab\\there\t4\n");
    }
}
