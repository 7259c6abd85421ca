//! Comparison of statistics with the values that they describe.
//!
//! Verification of a file decodes everything and passes every value of a chunk or page to a
//! [`StatisticsCheck`], which reports the first value or count that contradicts the statistics.

use dwio::stats::ColumnStatistics;
use vector::{DecodedVector, Error, Result, Type, Value, VectorRef};

use crate::schema::{Column, ColumnKind};

/// Trusted statistics that are being compared with the values.
#[derive(Debug)]
pub struct StatisticsCheck<'a> {
    statistics: &'a ColumnStatistics,
    ty: &'a Type,
    num_values: u64,
    num_nulls: u64,
    num_nans: u64,
    min_found: bool,
    max_found: bool,
}

impl<'a> StatisticsCheck<'a> {
    /// Creates a check of the statistics of a column of type `ty`.
    pub fn new(statistics: &'a ColumnStatistics, ty: &'a Type) -> Self {
        StatisticsCheck {
            statistics,
            ty,
            num_values: 0,
            num_nulls: 0,
            num_nans: 0,
            min_found: false,
            max_found: false,
        }
    }

    /// Compares the next values. Nulls for which there is no slot may be omitted when the
    /// statistics have no count of nulls.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a value is outside of the bounds.
    pub fn observe(&mut self, vector: &VectorRef) -> Result<()> {
        let decoded = DecodedVector::new(vector)?;
        let is_bytes = matches!(self.ty, Type::Varchar | Type::Varbinary);
        for row in 0..decoded.len() {
            if decoded.is_null(row) {
                self.num_values += 1;
                self.num_nulls += 1;
            } else if is_bytes {
                self.observe_bytes(decoded.string(row))?;
            } else {
                self.observe_value(&decoded.value(row)?)?;
            }
        }
        Ok(())
    }

    /// Compares one value or null.
    ///
    /// # Errors
    ///
    /// `Corrupt` when the value is outside of the bounds.
    pub fn observe_value(&mut self, value: &Value) -> Result<()> {
        self.num_values += 1;
        let is_nan = match value {
            Value::Null => {
                self.num_nulls += 1;
                return Ok(());
            }
            Value::Real(v) => v.is_nan(),
            Value::Double(v) => v.is_nan(),
            _ => false,
        };
        if is_nan {
            self.num_nans += 1;
            return Ok(());
        }
        let (min, max) = (self.statistics.min.as_ref(), self.statistics.max.as_ref());
        self.min_found |= min == Some(value);
        self.max_found |= max == Some(value);
        let is_inside = min.is_none_or(|min| min <= value) && max.is_none_or(|max| value <= max);
        if is_inside { Ok(()) } else { Err(self.outside(value)) }
    }

    fn observe_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let bound = |bound: &'a Option<Value>| bound.as_ref().and_then(Value::as_bytes);
        let (min, max) = (bound(&self.statistics.min), bound(&self.statistics.max));
        self.num_values += 1;
        self.min_found |= min == Some(bytes);
        self.max_found |= max == Some(bytes);
        let is_inside = min.is_none_or(|min| min <= bytes) && max.is_none_or(|max| bytes <= max);
        if is_inside { Ok(()) } else { Err(self.outside(&Value::bytes(bytes))) }
    }

    /// Compares the counts, and checks that exact bounds were among the values.
    ///
    /// # Errors
    ///
    /// `Corrupt` when a count differs or an exact bound was not found.
    pub fn finish(self) -> Result<()> {
        let known = self.statistics;
        let counts = [
            ("values", known.num_values, self.num_values),
            ("nulls", known.num_nulls, self.num_nulls),
            ("nans", known.num_nans, self.num_nans),
        ];
        for (what, stated, found) in counts {
            if let Some(stated) = stated.filter(|stated| *stated != found) {
                return Err(Error::corrupt("a count of the statistics is not that of the values")
                    .with("count", what)
                    .with("stated", stated)
                    .with("found", found));
            }
        }
        let bounds = [
            ("min", &known.min, known.is_min_exact, self.min_found),
            ("max", &known.max, known.is_max_exact, self.max_found),
        ];
        for (what, bound, is_exact, is_found) in bounds {
            if let (Some(bound), true, false) = (bound, is_exact, is_found) {
                return Err(Error::corrupt("an exact bound of the statistics is no value")
                    .with("bound", what)
                    .with("value", self.text(bound)));
            }
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, value: &Value) -> Error {
        let text = |bound: &Option<Value>| bound.as_ref().map_or("none".into(), |v| self.text(v));
        Error::corrupt("a value lies outside of the bounds that are stated for it")
            .with("value", self.text(value))
            .with("min", text(&self.statistics.min))
            .with("max", text(&self.statistics.max))
    }

    fn text(&self, value: &Value) -> String {
        vector::value_text(self.ty, value)
    }
}

/// Calls `on_value` with the number and the value of each leaf below a column, for one value of the
/// column: null where an optional field above the leaf is null, and not at all for lists and maps
/// without elements.
pub fn each_leaf_value(column: &Column, value: &Value, on_value: &mut dyn FnMut(usize, &Value)) {
    match (&column.kind, value) {
        (ColumnKind::Leaf(leaf), value) => on_value(*leaf, value),
        (ColumnKind::Struct(fields), Value::Row(values)) => {
            for (field, value) in fields.iter().zip(values.iter()) {
                each_leaf_value(field, value, on_value);
            }
        }
        (ColumnKind::Struct(fields), _) => {
            for field in fields {
                each_leaf_value(field, &Value::Null, on_value);
            }
        }
        (ColumnKind::List { element, .. }, Value::Array(values)) => {
            for value in values.iter() {
                each_leaf_value(element, value, on_value);
            }
        }
        (ColumnKind::Map { key, value, .. }, Value::Map(entries)) => {
            for entry in entries.iter() {
                each_leaf_value(key, &entry.0, on_value);
                if let Some(value) = value {
                    each_leaf_value(value, &entry.1, on_value);
                }
            }
        }
        (ColumnKind::List { .. } | ColumnKind::Map { .. }, _) => {}
    }
}
