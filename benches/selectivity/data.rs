//! The file: for each kind of column, one with ascending and one with shuffled values.

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use vector::sync::Arc;

/// Kind of the tested column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Double,
    Text,
    Nullable,
    Nested,
}

const ROW_GROUP_ROWS: usize = 1 << 17;
const ROWS_IN_PAGE: usize = 1 << 13;

impl Kind {
    pub(crate) const ALL: [Kind; 5] =
        [Kind::Int, Kind::Double, Kind::Text, Kind::Nullable, Kind::Nested];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Int => "int",
            Kind::Double => "double",
            Kind::Text => "string",
            Kind::Nullable => "nullable",
            Kind::Nested => "nested",
        }
    }

    /// Returns the name of the tested column in SQL.
    pub(crate) fn column(self, order: &str) -> String {
        let member = if self == Kind::Nested { ".rank" } else { "" };
        format!("{}_{order}{member}", self.name())
    }

    /// Returns the literal of a rank in SQL.
    pub(crate) fn literal(self, rank: u64) -> String {
        match self {
            Kind::Double => format!("{rank}e0"),
            Kind::Text => format!("'{}'", text(rank)),
            _ => rank.to_string(),
        }
    }

    /// Returns the column whose rows have the given ranks; in a nullable column, every second value
    /// is null.
    fn array(self, ranks: &[u64]) -> ArrayRef {
        let ranks = ranks.iter().copied();
        match self {
            Kind::Int => Arc::new(Int64Array::from_iter_values(ranks.map(|r| r as i64))),
            Kind::Double => Arc::new(Float64Array::from_iter_values(ranks.map(|r| r as f64))),
            Kind::Text => Arc::new(StringArray::from_iter_values(ranks.map(text))),
            Kind::Nullable => {
                Arc::new(ranks.map(|r| (r % 2 == 0).then_some(r as i64)).collect::<Int64Array>())
            }
            Kind::Nested => {
                let ranks: Vec<i64> = ranks.map(|r| r as i64).collect();
                let other = Int64Array::from_iter_values(ranks.iter().map(|r| r * 3));
                let field = |name| Arc::new(Field::new(name, DataType::Int64, false));
                let members: [(Arc<Field>, ArrayRef); 2] = [
                    (field("rank"), Arc::new(Int64Array::from(ranks))),
                    (field("other"), Arc::new(other)),
                ];
                Arc::new(StructArray::from(members.to_vec()))
            }
        }
    }
}

fn text(rank: u64) -> String {
    format!("key {rank:012}")
}

/// Writes `rows` rows with Snappy; `seed` determines the order of the scattered columns.
pub(crate) fn write(rows: u64, seed: u64) -> Vec<u8> {
    let ascending: Vec<u64> = (0..rows).collect();
    let mut shuffled = ascending.clone();
    let mut state = seed | 1;
    for at in (1..shuffled.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        shuffled.swap(at, state as usize % (at + 1));
    }
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for kind in Kind::ALL {
        for (order, ranks) in [("clustered", &ascending), ("scattered", &shuffled)] {
            columns.push((format!("{}_{order}", kind.name()), kind.array(ranks)));
        }
    }
    let payload = shuffled.iter().map(|rank| (rank * 31) as f64 / 7.0);
    columns.push(("payload".into(), Arc::new(Float64Array::from_iter_values(payload))));
    let texts = shuffled.iter().map(|rank| format!("text {:x}", rank * 97));
    columns.push(("text".into(), Arc::new(StringArray::from_iter_values(texts))));
    let batch = RecordBatch::try_from_iter(columns).expect("equal lengths");
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(ROWS_IN_PAGE)
        .build();
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("the batch is written");
    writer.close().expect("the file is finished");
    bytes
}
