//! Tables for people: with borders for the terminal, or as Markdown.

use std::io::Write;

use comfy_table::{Cell as Field, CellAlignment, ContentArrangement, Table, presets};
use vector::{Result, RowType, RowVector, Type};

use super::cell::{Cell, Style};
use super::{BatchWriter, write_error};

/// Maximum number of characters of a field; longer ones are truncated.
const MAX_FIELD: usize = 200;

/// Maximum number of rows printed. Further rows are counted but not kept.
const MAX_ROWS: u64 = 10_000;

/// Collects rows and prints one table.
pub(super) struct TableWriter<'a> {
    out: Box<dyn Write + 'a>,
    table: Table,
    markdown: bool,
    rows: u64,
}

impl<'a> TableWriter<'a> {
    /// Returns a writer of a table with borders and the number of rows below it.
    pub(super) fn boxed(row_type: &RowType, out: Box<dyn Write + 'a>) -> Self {
        Self::new(row_type, out, false)
    }

    /// Returns a writer of a Markdown table.
    pub(super) fn markdown(row_type: &RowType, out: Box<dyn Write + 'a>) -> Self {
        Self::new(row_type, out, true)
    }

    fn new(row_type: &RowType, out: Box<dyn Write + 'a>, markdown: bool) -> Self {
        let mut table = Table::new();
        table.load_style(if markdown {
            presets::ASCII_MARKDOWN
        } else {
            presets::UTF8_FULL_CONDENSED
        });
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(row_type.names());
        for (column, ty) in table.column_iter_mut().zip(row_type.types()) {
            if ty.is_numeric() && !matches!(ty, Type::Uuid | Type::Interval) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        TableWriter { out, table, markdown, rows: 0 }
    }
}

impl BatchWriter for TableWriter<'_> {
    fn write(&mut self, batch: &RowVector) -> Result<()> {
        let cells = batch.children().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.len() {
            self.rows += 1;
            if self.rows > MAX_ROWS {
                continue;
            }
            let fields = cells.iter().map(|cell| {
                let mut text = String::new();
                if cell.is_null(row) {
                    text.push_str("NULL");
                } else {
                    cell.write(row, Style::Plain, &mut text);
                }
                Field::new(readable(&text))
            });
            self.table.add_row(fields.collect::<Vec<_>>());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let mut text = String::new();
        if self.table.column_count() > 0 {
            text = format!("{}\n", self.table);
        }
        if !self.markdown {
            let word = if self.rows == 1 { "row" } else { "rows" };
            text += &format!("{} {word}", self.rows);
            if self.rows > MAX_ROWS {
                text += &format!(", the first {MAX_ROWS} shown");
            }
            text.push('\n');
        }
        self.out.write_all(text.as_bytes()).map_err(write_error)?;
        self.out.flush().map_err(write_error)
    }
}

/// Escapes control characters and truncates overlong text.
fn readable(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == MAX_FIELD {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::Value;
    use vector::build::vector_of;
    use vector::sync::Arc;

    #[test]
    fn a_table_aligns_numbers_right_and_counts_its_rows() {
        let ty = Arc::new(RowType::new([("name", Type::Varchar), ("n", Type::Integer)]));
        let columns = vec![
            vector_of(&Type::Varchar, &[Value::bytes("x\ny"), Value::Null]).unwrap(),
            vector_of(&Type::Integer, &[Value::Integer(1), Value::Integer(100)]).unwrap(),
        ];
        let batch = RowVector::batch(ty.clone(), 2, columns).unwrap();
        let mut bytes = Vec::new();
        let mut writer = TableWriter::boxed(&ty, Box::new(&mut bytes));
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("x\\ny"), "{text}");
        assert!(text.contains("┆   1 │"), "{text}");
        assert!(text.contains("NULL"), "{text}");
        assert!(text.ends_with("2 rows\n"), "{text}");
    }
}
