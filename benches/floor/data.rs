//! Files with the schema of TPC-H's lineitem and orders tables, generated from a seed.

use std::path::Path;

use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use vector::sync::Arc;

/// Number of line items; there is one order for every four of them.
const ROWS: usize = 600_000;
const ROW_GROUP_ROWS: usize = 100_000;
/// 1992-01-01, the first order date, in days since 1970-01-01.
const FIRST_DAY: u64 = 8_035;
const MODES: [&str; 7] = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"];
const INSTRUCTIONS: [&str; 4] = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"];
const WORDS: [&str; 8] =
    ["furiously", "special", "packages", "requests", "quickly", "final", "deposits", "sleep"];

/// xorshift64: random enough that the random columns do not compress.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn each<T>(&mut self, one: impl Fn(&mut Dice) -> T) -> Vec<T> {
        (0..ROWS).map(|_| one(self)).collect()
    }
}

/// Writes `lineitem.parquet` and `orders.parquet` into a new directory.
pub(crate) fn write(dir: &Path) {
    std::fs::create_dir_all(dir).expect("a directory for the files");
    let dice = &mut Dice(320);
    let days =
        |from: u64, most: u64| move |dice: &mut Dice| (FIRST_DAY + from + dice.below(most)) as i32;
    let hundredths = |most: u64| move |dice: &mut Dice| dice.below(most) as f64 / 100.0;
    // The keys cover the range of those of scale factor 1, so that conditions written for it select
    // rows.
    let keys = (0..ROWS as i64).map(|row| row * 10);
    let comment = |dice: &mut Dice| {
        let words = 2 + dice.below(4);
        (0..words).map(|_| WORDS[dice.below(8) as usize]).collect::<Vec<_>>().join(" ")
    };
    let numbers = |most: u64| move |dice: &mut Dice| 1 + dice.below(most) as i64;
    fn of(texts: &'static [&'static str]) -> impl Fn(&mut Dice) -> &'static str {
        |dice: &mut Dice| texts[dice.below(texts.len() as u64) as usize]
    }
    let lineitem: [(&str, ArrayRef); 16] = [
        ("l_orderkey", Arc::new(Int64Array::from_iter_values(keys))),
        ("l_partkey", Arc::new(Int64Array::from(dice.each(numbers(200_000))))),
        ("l_suppkey", Arc::new(Int64Array::from(dice.each(numbers(10_000))))),
        ("l_linenumber", Arc::new(Int32Array::from(dice.each(|d| 1 + d.below(7) as i32)))),
        ("l_quantity", Arc::new(Float64Array::from(dice.each(|d| 1.0 + d.below(50) as f64)))),
        ("l_extendedprice", Arc::new(Float64Array::from(dice.each(hundredths(10_000_000))))),
        ("l_discount", Arc::new(Float64Array::from(dice.each(hundredths(11))))),
        ("l_tax", Arc::new(Float64Array::from(dice.each(hundredths(9))))),
        ("l_returnflag", Arc::new(StringArray::from(dice.each(of(&["A", "N", "R"]))))),
        ("l_linestatus", Arc::new(StringArray::from(dice.each(of(&["F", "O"]))))),
        ("l_shipdate", Arc::new(Date32Array::from(dice.each(days(1, 2_500))))),
        ("l_commitdate", Arc::new(Date32Array::from(dice.each(days(30, 2_500))))),
        ("l_receiptdate", Arc::new(Date32Array::from(dice.each(days(60, 2_500))))),
        ("l_shipinstruct", Arc::new(StringArray::from(dice.each(of(&INSTRUCTIONS))))),
        ("l_shipmode", Arc::new(StringArray::from(dice.each(of(&MODES))))),
        ("l_comment", Arc::new(StringArray::from(dice.each(comment)))),
    ];
    write_file(&dir.join("lineitem.parquet"), lineitem);
    let order_days: Vec<i32> =
        (0..ROWS / 4).map(|_| (FIRST_DAY + dice.below(2_400)) as i32).collect();
    let order_keys = Int64Array::from_iter_values((0..ROWS as i64 / 4).map(|row| row * 40));
    let orders: [(&str, ArrayRef); 2] = [
        ("o_orderkey", Arc::new(order_keys)),
        ("o_orderdate", Arc::new(Date32Array::from(order_days))),
    ];
    write_file(&dir.join("orders.parquet"), orders);
}

fn write_file<const N: usize>(path: &Path, columns: [(&str, ArrayRef); N]) {
    let rows = RecordBatch::try_from_iter(columns).expect("equal lengths");
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .build();
    let file = std::fs::File::create(path).expect("the file can be made");
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).expect("a writer");
    writer.write(&rows).expect("the rows are written");
    writer.close().expect("the file is finished");
}
