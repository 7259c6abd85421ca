//! Fuzzes serialized Presto pages: any bytes are read as rows or rejected; rows that were read can
//! be written, and reading them again returns the same rows.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ocior::replay::presto::{PageReader, write_page};
use vector::sync::Arc;
use vector::{RowType, RowVector, Type, ValueReader, check_batch, value_text};

/// Returns a row type of one column, whose type the first byte chooses, so that inputs stay small.
fn row_type(choice: u8) -> Arc<RowType> {
    let point = Type::row([("x", Type::BigInt), ("y", Type::array(Type::Varchar))]);
    let types = [
        Type::Boolean,
        Type::SmallInt,
        Type::Real,
        Type::Double,
        Type::Timestamp,
        Type::Decimal { precision: 30, scale: 2 },
        Type::Varbinary,
        Type::map(Type::Integer, Type::array(Type::Varchar)),
        point,
        Type::Unknown,
    ];
    let ty = types[usize::from(choice) % types.len()].clone();
    Arc::new(RowType::new([("c", ty)]))
}

fn printed(batch: &RowVector) -> Vec<String> {
    let columns: Vec<ValueReader> =
        batch.children().iter().map(|column| ValueReader::new(column).unwrap()).collect();
    let text = |row: usize| {
        let cells = columns.iter().map(|c| value_text(c.decoded().ty(), &c.value(row)));
        cells.collect::<Vec<_>>().join(" ")
    };
    (0..batch.len()).map(text).collect()
}

fuzz_target!(|data: &[u8]| {
    let [choice, bytes @ ..] = data else { return };
    let row_type = row_type(*choice);
    let mut reader = PageReader::new(bytes, bytes.len() as u64, Arc::clone(&row_type));
    while let Ok(Some(batch)) = reader.next_page() {
        check_batch(&batch).unwrap();
        // Run-length encoded columns can declare many rows in a few bytes.
        if batch.len() > 1 << 16 {
            continue;
        }
        let page = write_page(&batch).unwrap();
        let mut again = PageReader::new(&page[..], page.len() as u64, Arc::clone(&row_type));
        assert_eq!(printed(&again.next_page().unwrap().unwrap()), printed(&batch));
    }
});
