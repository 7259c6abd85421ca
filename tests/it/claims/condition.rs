//! Conditions in SQL, and by hand on the rows of a full scan.

use serde_json::Value;

use super::shapes::Seed;
use crate::random_files::one_of;
use crate::support::random::Random;

/// Columns that conditions compare with a value that a row has.
const COMPARED: [&str; 6] = ["int32", "int16", "text", "text_null", "int64_null", "bool"];

/// A condition with one column.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    pub(super) column: String,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    /// The column has this value.
    Is(Value),
    In(Vec<i64>),
    AtLeast(i64),
    Between(i64, i64),
    /// What is left of a division by seven. This one is looked at behind the scan, which leaves
    /// other columns to be read late.
    Rest(i64),
}

impl Condition {
    /// A condition that some of `rows` pass: with the row's number, or with another column.
    pub(super) fn random(seed: &Seed, rows: &[Value], random: &mut Random) -> Condition {
        let compared: Vec<_> = seed.columns.iter().filter(|c| COMPARED.contains(*c)).collect();
        if !compared.is_empty() && random.once_in(4) {
            let column = one_of(random, &compared);
            let value = &rows[random.below(rows.len() as u64) as usize][column];
            if !value.is_null() {
                return Condition { column: column.to_string(), test: Test::Is(value.clone()) };
            }
        }
        let row = |random: &mut Random| random.below(rows.len() as u64).cast_signed();
        let first = row(random);
        let test = match random.below(5) {
            0 => Test::In(vec![first]),
            1 => Test::In(vec![first, row(random)]),
            2 => Test::AtLeast(first),
            3 => Test::Between(first, first + random.below(9).cast_signed()),
            _ => Test::Rest(first % 7),
        };
        Condition { column: "id".into(), test }
    }

    pub(super) fn sql(&self) -> String {
        let column = &self.column;
        match &self.test {
            // The letters of random texts need no escapes.
            Test::Is(Value::String(text)) => format!("{column} = '{text}'"),
            Test::Is(value) => format!("{column} = {value}"),
            Test::In(ids) => {
                let ids: Vec<_> = ids.iter().map(i64::to_string).collect();
                format!("{column} IN ({})", ids.join(", "))
            }
            Test::AtLeast(least) => format!("{column} >= {least}"),
            Test::Between(least, most) => format!("{column} BETWEEN {least} AND {most}"),
            Test::Rest(rest) => format!("{column} % 7 = {rest}"),
        }
    }

    /// Whether a row passes; `None` when its value is of another type, so that nothing is known.
    pub(super) fn passes(&self, row: &Value) -> Option<bool> {
        let value = row.get(&self.column)?;
        if value.is_null() {
            return Some(false);
        }
        if let Test::Is(wanted) = &self.test {
            let is_same_type = match (wanted, value) {
                (Value::Number(a), Value::Number(b)) => a.is_i64() && b.is_i64(),
                (Value::String(_), Value::String(_)) | (Value::Bool(_), Value::Bool(_)) => true,
                _ => false,
            };
            return is_same_type.then_some(wanted == value);
        }
        let id = value.as_i64()?;
        Some(match &self.test {
            Test::Is(_) => return None,
            Test::In(ids) => ids.contains(&id),
            Test::AtLeast(least) => id >= *least,
            Test::Between(least, most) => (least..=most).contains(&&id),
            Test::Rest(rest) => id % 7 == *rest,
        })
    }
}
