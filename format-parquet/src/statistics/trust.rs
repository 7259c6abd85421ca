//! Trust in stored bounds and counts (rules P5.4 to P5.22).
//!
//! The rules for all bounds of a leaf are determined once, in [`BoundRules`]: whether its values
//! have an order at all, whether the file states that order, and whether the writer is known for
//! wrong bounds. Then the bounds of each chunk or page are judged individually. Nothing here is an
//! error: a bound or count that is not trusted is absent in [`JudgedStatistics::trusted`], and a
//! [`RejectedBound`] states the reason.
//!
//! ```text
//! min_value, max_value  -- order of the column --+-- writer --+-- bytes -> Value --+-- min <= max
//! (or else: min, max    -- signed, or equal    --+            (byte strings)       (not NaN)
//! ```
//!
//! Leaves below a repeated field have statistics of elements, not of rows: their bounds are kept
//! and their counts are dropped, so that nothing is concluded about null rows (rule P5.19).

use std::fmt;

use dwio::stats::ColumnStatistics;
use vector::{Type, Value};

use super::Statistics;
use super::decode::stored_value;
use crate::created_by::{BoundFaults, orders_by_bytes};
use crate::footer::Footer;
use crate::schema::{Column, ColumnKind, Leaf, ValueConversion};
use crate::thrift::structs::{
    ColumnOrder, ConvertedType, LogicalType, PhysicalType, SchemaElement,
};

/// Options that change the rules of trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrustOptions {
    /// True when bounds require an order that the file states; most older files state none.
    pub strict_column_orders: bool,
    /// True when floats are assumed never to be NaN, although hardly any file states so.
    pub assume_no_nan: bool,
}

/// The reason why a bound or count is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectedBound {
    /// The leaf itself cannot be read.
    Unreadable,
    /// The type has no defined order, or writers disagree on it.
    Unordered,
    /// The file states an unknown order, or one that the type does not have.
    OrderOfAnotherType,
    /// The file states orders for another number of columns.
    NumberOfOrders,
    /// The file states no orders, and the options require them.
    NoOrders,
    /// The deprecated bounds are in signed order, and the type is not.
    SignedOrder,
    /// The writer is known for wrong bounds of such columns.
    Writer,
    /// The bytes start with their own length, as values in pages do.
    LengthInFront,
    /// The bytes are not a value of the column.
    Malformed,
    /// The other bound is missing or not trusted, and only a pair of bounds is reliable for this
    /// type.
    OtherBoundMissing,
    /// The bound is NaN.
    NotANumber,
    /// The order of the type differs from that of the file for values of different sign, and the
    /// two bounds differ in sign.
    StraddlesSignBit,
    /// The minimum is above the maximum.
    MinAboveMax,
    /// The count of nulls is negative or larger than that of values.
    NullCount,
}

impl RejectedBound {
    /// Returns the reason as a clause of a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            RejectedBound::Unreadable => "the column cannot be read",
            RejectedBound::Unordered => "values of this type have no order",
            RejectedBound::OrderOfAnotherType => "the column's order is unknown or of another type",
            RejectedBound::NumberOfOrders => "the file has orders for another number of columns",
            RejectedBound::NoOrders => "the file names no order",
            RejectedBound::SignedOrder => {
                "older bounds are in signed order, which is not the type's"
            }
            RejectedBound::Writer => "the writer is known for wrong bounds of such columns",
            RejectedBound::LengthInFront => "the bytes start with their own length",
            RejectedBound::Malformed => "the bytes are no value of the column",
            RejectedBound::OtherBoundMissing => "such columns need two sound bounds",
            RejectedBound::NotANumber => "the bound is NaN",
            RejectedBound::StraddlesSignBit => {
                "the type orders some of the values between the bounds otherwise"
            }
            RejectedBound::MinAboveMax => "the minimum is above the maximum",
            RejectedBound::NullCount => "the null count does not fit the number of values",
        }
    }
}

impl fmt::Display for RejectedBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A bound, as stored and as judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedBound<'a> {
    /// The bytes in the file.
    pub stored: Option<&'a [u8]>,
    /// True when the bytes are in the deprecated field.
    pub is_deprecated: bool,
    /// The decoded value, trusted or not; `None` when the bytes have no value.
    pub value: Option<Value>,
    /// The reason why the bound is not trusted.
    pub distrust: Option<RejectedBound>,
}

/// The statistics of some values, as stored and as judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedStatistics<'a> {
    /// The trusted part.
    pub trusted: ColumnStatistics,
    /// The lower bound.
    pub min: JudgedBound<'a>,
    /// The upper bound.
    pub max: JudgedBound<'a>,
    /// The reason why a count is not trusted, if there is one.
    pub distrust: Option<RejectedBound>,
}

/// A pair of bounds as stored in the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoredBounds<'a> {
    /// The lower bound.
    pub min: Option<&'a [u8]>,
    /// The upper bound.
    pub max: Option<&'a [u8]>,
    /// Whether the lower bound is a value of the column; `None` if the file does not state it.
    pub is_min_exact: Option<bool>,
    /// Whether the upper bound is a value of the column; `None` if the file does not state it.
    pub is_max_exact: Option<bool>,
    /// True when the pair is in the deprecated fields.
    pub is_deprecated: bool,
}

impl<'a> StoredBounds<'a> {
    /// Returns the pair that takes precedence: the newer one if any part of it is present, even
    /// when it is not trusted.
    fn of(statistics: &'a Statistics) -> Self {
        let newer = (statistics.min_value.as_deref(), statistics.max_value.as_deref());
        let is_deprecated = newer == (None, None);
        let older = (statistics.deprecated_min.as_deref(), statistics.deprecated_max.as_deref());
        let (min, max) = if is_deprecated { older } else { newer };
        StoredBounds {
            min,
            max,
            is_min_exact: statistics.is_min_value_exact,
            is_max_exact: statistics.is_max_value_exact,
            is_deprecated,
        }
    }

    fn is_one_value(&self) -> bool {
        self.min.is_some() && self.min == self.max
    }
}

/// The counts that are stored with a pair of bounds.
#[derive(Debug, Clone, Copy, Default)]
struct StoredCounts {
    num_values: u64,
    null_count: Option<i64>,
    nan_count: Option<i64>,
}

/// The rules that apply to all bounds of one leaf.
#[derive(Debug, Clone, Copy)]
pub struct BoundRules<'a> {
    leaf: &'a Leaf,
    /// The reason why no bound of the leaf is trusted.
    distrust: Option<RejectedBound>,
    /// The reason why no bound in the newer fields is trusted, in addition.
    order: Option<RejectedBound>,
    is_signed: bool,
    is_total_order: bool,
    options: TrustOptions,
}

impl<'a> BoundRules<'a> {
    /// Creates the rules for a leaf of the file; returns `None` when there is no such leaf.
    pub fn new(footer: &'a Footer, leaf: usize, options: TrustOptions) -> Option<Self> {
        let number = leaf;
        let leaf = footer.schema.leaves().get(number)?;
        let element = footer.schema.leaf_element(number).map(|at| footer.metadata.schema.get(at));
        let orders = footer.metadata.column_orders.as_deref();
        let order = orders.and_then(|orders| orders.get(number)).copied();
        let distrust = if footer.schema.leaf(number).is_err() {
            Some(RejectedBound::Unreadable)
        } else if has_no_order(leaf, element.flatten())
            || (leaf.physical == PhysicalType::Int96 && order != Some(ColumnOrder::Int96Timestamp))
        {
            Some(RejectedBound::Unordered)
        } else {
            let faults = BoundFaults::of(footer.metadata.created_by.as_deref());
            is_at_fault(leaf, faults).then_some(RejectedBound::Writer)
        };
        let order_distrust = match orders {
            None => {
                let created_by = footer.metadata.created_by.as_deref();
                let is_text = is_bytes(leaf) && leaf.conversion == ValueConversion::Plain;
                (options.strict_column_orders || is_text && !orders_by_bytes(created_by))
                    .then_some(RejectedBound::NoOrders)
            }
            Some(orders) if orders.len() != footer.schema.num_leaves() => {
                Some(RejectedBound::NumberOfOrders)
            }
            Some(_) => (!order.is_some_and(|order| is_order_of(leaf, order)))
                .then_some(RejectedBound::OrderOfAnotherType),
        };
        Some(BoundRules {
            leaf,
            distrust,
            order: order_distrust,
            is_signed: is_signed(leaf),
            is_total_order: order == Some(ColumnOrder::Ieee754Total),
            options,
        })
    }

    /// Returns the leaf.
    pub fn leaf(&self) -> &'a Leaf {
        self.leaf
    }

    /// Judges the statistics of a chunk or page of `num_values` values, nulls included.
    pub fn judge<'s>(&self, stored: &'s Statistics, num_values: u64) -> JudgedStatistics<'s> {
        let counts =
            StoredCounts { num_values, null_count: stored.null_count, nan_count: stored.nan_count };
        self.judged(StoredBounds::of(stored), counts)
    }

    /// Judges the statistics of a page of `num_rows` rows in a column index.
    pub fn judge_page<'s>(
        &self,
        bounds: StoredBounds<'s>,
        num_rows: u64,
        null_count: Option<i64>,
        nan_count: Option<i64>,
    ) -> JudgedStatistics<'s> {
        self.judged(bounds, StoredCounts { num_values: num_rows, null_count, nan_count })
    }

    /// Returns the statistics of values for which no statistics are stored or trusted.
    pub fn nothing_stored(&self, num_values: u64) -> ColumnStatistics {
        let counts = StoredCounts { num_values, ..StoredCounts::default() };
        self.judged(StoredBounds::default(), counts).trusted
    }

    fn judged<'s>(&self, bounds: StoredBounds<'s>, counts: StoredCounts) -> JudgedStatistics<'s> {
        let mut judged = JudgedStatistics {
            min: self.bound(bounds.min, bounds),
            max: self.bound(bounds.max, bounds),
            ..JudgedStatistics::default()
        };
        self.judge_counts(counts, &mut judged);
        if let Some(distrust) = judged.distrust {
            judged.min.distrust = Some(distrust);
            judged.max.distrust = Some(distrust);
        } else {
            self.judge_pair(&mut judged.min, &mut judged.max);
        }
        let trusted = &mut judged.trusted;
        (trusted.min, trusted.is_min_exact) =
            self.trusted(&judged.min, bounds.is_min_exact, NegativeZero);
        (trusted.max, trusted.is_max_exact) =
            self.trusted(&judged.max, bounds.is_max_exact, PositiveZero);
        if !trusted.is_max_exact && trusted.max.is_some() && self.may_be_prefix(&judged.max) {
            trusted.max = judged.max.stored.and_then(end_of_prefix);
        }
        judged
    }

    /// Judges one bound without the other.
    fn bound<'s>(&self, stored: Option<&'s [u8]>, pair: StoredBounds<'s>) -> JudgedBound<'s> {
        let Some(bytes) = stored else { return JudgedBound::default() };
        let value = stored_value(self.leaf, bytes);
        let order = match pair.is_deprecated {
            false => self.order,
            // A single value is ordered in any order.
            true => (!self.is_signed && !pair.is_one_value()).then_some(RejectedBound::SignedOrder),
        };
        let distrust = self.distrust.or(order).or(match &value {
            None => Some(RejectedBound::Malformed),
            Some(value) => is_nan(value).then_some(RejectedBound::NotANumber),
        });
        JudgedBound { stored, is_deprecated: pair.is_deprecated, value, distrust }
    }

    /// Returns true when an upper bound may be a prefix of a longer value that was truncated
    /// without rounding up. An old parquet-go truncated bounds in column indexes to 16 bytes; it
    /// used the name of the embedding program, and its limit was configurable. Later writers with a
    /// limit (Iceberg 16, parquet-mr and arrow-rs 64) round up. Therefore every bound of 16 bytes
    /// or more is treated as a prefix of its values, for all writers. That costs almost nothing:
    /// only values that start with the whole bound are no longer excluded. Shorter bounds (dates,
    /// codes, numbers as text) are trusted as they are, and so are complete values of a fixed
    /// length.
    fn may_be_prefix(&self, bound: &JudgedBound<'_>) -> bool {
        let bytes = bound.stored.map_or(0, <[u8]>::len);
        self.leaf.physical == PhysicalType::ByteArray
            && self.leaf.conversion == ValueConversion::Plain
            && bytes >= MIN_CUT_BYTES
    }

    /// Judges the two bounds together.
    fn judge_pair<'s>(&self, min: &mut JudgedBound<'s>, max: &mut JudgedBound<'s>) {
        let are_trusted = min.is_trusted() && max.is_trusted();
        let conversion = self.leaf.conversion;
        let is_cut = matches!(
            conversion,
            ValueConversion::Int8
                | ValueConversion::Int16
                | ValueConversion::Unsigned8
                | ValueConversion::Unsigned16
        );
        let is_byte_array = self.leaf.physical == PhysicalType::ByteArray;
        let has_length = |bound: &JudgedBound<'_>| bound.stored.is_some_and(has_length_in_front);
        // An integer that is wider than its type loses its high bits, which destroys the order:
        // only a pair of bounds proves that all values fit. Decimals that a writer ordered as
        // unsigned bytes are detected by a crossed pair.
        let needs_both = is_cut || conversion == ValueConversion::DecimalBytes;
        let distrust = if is_byte_array && (has_length(min) || has_length(max)) {
            Some(RejectedBound::LengthInFront)
        } else if needs_both && !are_trusted {
            Some(RejectedBound::OtherBoundMissing)
        } else if conversion == ValueConversion::Uuid && !on_one_side(min, max) {
            Some(RejectedBound::StraddlesSignBit)
        } else if self.is_total_order
            && [&*min, max].iter().any(|b| b.distrust == Some(RejectedBound::NotANumber))
        {
            // In the total order a NaN bound means that there are no numbers.
            Some(RejectedBound::NotANumber)
        } else {
            (are_trusted && min.value > max.value).then_some(RejectedBound::MinAboveMax)
        };
        for bound in [min, max] {
            if bound.stored.is_some() {
                bound.distrust = bound.distrust.or(distrust);
            }
        }
    }

    /// Judges the counts and keeps those that are of rows.
    fn judge_counts(&self, counts: StoredCounts, judged: &mut JudgedStatistics<'_>) {
        let StoredCounts { num_values, .. } = counts;
        let is_required = self.leaf.max_def == 0;
        let num_nulls = match counts.null_count {
            _ if is_required => Some(0),
            None => None,
            Some(count) => match u64::try_from(count) {
                Ok(count) if count <= num_values => Some(count),
                _ => {
                    judged.distrust = Some(RejectedBound::NullCount);
                    None
                }
            },
        };
        let trusted = &mut judged.trusted;
        let is_rows = self.leaf.max_rep == 0;
        if is_rows {
            trusted.num_values = Some(num_values);
            trusted.num_nulls = num_nulls;
        }
        if self.leaf.ty.is_float() && judged.distrust.is_none() {
            let most = num_values.saturating_sub(num_nulls.unwrap_or(0));
            let count = counts.nan_count.and_then(|count| u64::try_from(count).ok());
            let count = count.filter(|count| *count <= most && (is_rows || *count == 0));
            trusted.num_nans = count.or(self.options.assume_no_nan.then_some(0));
        }
    }

    /// Returns the value of a trusted bound, and whether it is a value of the column.
    fn trusted(
        &self,
        bound: &JudgedBound<'_>,
        is_exact: Option<bool>,
        zero: Zero,
    ) -> (Option<Value>, bool) {
        let Some(value) = bound.value.clone().filter(|_| bound.is_trusted()) else {
            return (None, false);
        };
        // Byte strings may be truncated unless the file states that they are not.
        let may_be_cut = is_bytes(self.leaf) && self.leaf.conversion == ValueConversion::Plain;
        (Some(widen_zero(value, zero)), is_exact.unwrap_or(!may_be_cut))
    }
}

impl JudgedBound<'_> {
    /// Returns true when the bound is present and trusted.
    pub fn is_trusted(&self) -> bool {
        self.value.is_some() && self.distrust.is_none()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Zero {
    NegativeZero,
    PositiveZero,
}
use Zero::{NegativeZero, PositiveZero};

/// Returns a zero with the sign of its side, so that zeros of both signs lie within the bound (rule
/// P5.13).
fn widen_zero(value: Value, zero: Zero) -> Value {
    let is_negative = zero == NegativeZero;
    match value {
        Value::Real(0.0) => Value::Real(if is_negative { -0.0 } else { 0.0 }),
        Value::Double(0.0) => Value::Double(if is_negative { -0.0 } else { 0.0 }),
        other => other,
    }
}

fn is_nan(value: &Value) -> bool {
    match value {
        Value::Real(v) => v.is_nan(),
        Value::Double(v) => v.is_nan(),
        _ => false,
    }
}

/// Returns true when both bounds have the same sign: files order UUIDs by unsigned bytes, but the
/// values are signed numbers, and the two orders agree for values of one sign.
fn on_one_side(min: &JudgedBound<'_>, max: &JudgedBound<'_>) -> bool {
    let sign = |bound: &JudgedBound<'_>| Some(bound.value.as_ref()?.as_i128()? < 0);
    matches!((sign(min), sign(max)), (Some(a), Some(b)) if a == b)
}

/// Returns true when the writer's fault affects bounds of this leaf.
fn is_at_fault(leaf: &Leaf, faults: BoundFaults) -> bool {
    let is_decimal = matches!(leaf.ty, Type::Decimal { .. });
    (faults.bytes && is_bytes(leaf))
        || (faults.decimals_as_bytes && leaf.conversion == ValueConversion::DecimalBytes)
        || (faults.decimals && is_decimal)
        || (faults.timestamps && leaf.ty == Type::Timestamp)
}

/// The smallest length in bytes to which writers are known to truncate bounds.
const MIN_CUT_BYTES: usize = 16;

/// Returns the smallest value that is greater than every value that starts with `prefix`; `None`
/// when there is none (rule P5.26).
fn end_of_prefix(prefix: &[u8]) -> Option<Value> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte = byte.saturating_add(1);
    }
    Some(Value::bytes(&end))
}

/// Returns true when the bytes are a byte array with its length prefix, which some writers store as
/// a bound.
fn has_length_in_front(bytes: &[u8]) -> bool {
    bytes.split_first_chunk::<4>().is_some_and(|(length, rest)| {
        usize::try_from(u32::from_le_bytes(*length)) == Ok(rest.len())
    })
}

fn is_bytes(leaf: &Leaf) -> bool {
    matches!(leaf.physical, PhysicalType::ByteArray | PhysicalType::FixedLenByteArray)
}

/// Returns true for types without a defined order, or on which writers disagree. INT96 depends on
/// the file.
fn has_no_order(leaf: &Leaf, element: Option<&SchemaElement>) -> bool {
    let by_conversion = matches!(
        leaf.conversion,
        ValueConversion::Interval | ValueConversion::Null | ValueConversion::WideDecimalText { .. }
    );
    let Some(element) = element else { return true };
    let by_annotation = match &element.logical {
        Some(
            LogicalType::Variant { .. }
            | LogicalType::Geometry { .. }
            | LogicalType::Geography { .. }
            | LogicalType::File
            | LogicalType::Unrecognized(_)
            | LogicalType::Map
            | LogicalType::List
            | LogicalType::Null,
        ) => true,
        Some(_) => false,
        None => matches!(
            element.converted,
            Some(
                ConvertedType::Unknown(_)
                    | ConvertedType::Interval
                    | ConvertedType::Map
                    | ConvertedType::MapKeyValue
                    | ConvertedType::List
            )
        ),
    };
    by_conversion || by_annotation
}

fn is_order_of(leaf: &Leaf, order: ColumnOrder) -> bool {
    match order {
        ColumnOrder::TypeDefined => leaf.physical != PhysicalType::Int96,
        ColumnOrder::Ieee754Total => leaf.ty.is_float(),
        ColumnOrder::Int96Timestamp => leaf.physical == PhysicalType::Int96,
        ColumnOrder::Unknown => false,
    }
}

/// Returns true when the type is in signed order, as the deprecated bounds are.
fn is_signed(leaf: &Leaf) -> bool {
    !is_bytes(leaf)
        && leaf.physical != PhysicalType::Int96
        && !matches!(
            leaf.conversion,
            ValueConversion::Unsigned8
                | ValueConversion::Unsigned16
                | ValueConversion::Unsigned32
                | ValueConversion::Unsigned64
        )
}

/// Returns the trusted statistics of a leaf in a row group; empty ones when there is no such chunk.
///
/// For a leaf below a repeated field the bounds are of elements, and counts of rows are absent.
pub fn leaf_statistics(
    footer: &Footer,
    row_group: usize,
    leaf: usize,
    options: TrustOptions,
) -> ColumnStatistics {
    let meta = footer.column_chunk(row_group, leaf).ok().and_then(|c| c.meta_data.as_ref());
    match (BoundRules::new(footer, leaf, options), meta) {
        (Some(rules), Some(meta)) => match &meta.statistics {
            Some(stored) => rules.judge(stored, meta.num_values).trusted,
            None => rules.nothing_stored(meta.num_values),
        },
        _ => ColumnStatistics::default(),
    }
}

/// Returns the statistics of a column's rows in a row group, for columns of any nesting. Structs,
/// lists and maps have counts of null rows, if the file counts levels; below a repeated field
/// nothing is known.
pub fn nested_statistics(
    footer: &Footer,
    row_group: usize,
    column: &Column,
    options: TrustOptions,
) -> ColumnStatistics {
    let mut known = ColumnStatistics::default();
    let Some(group) = footer.row_groups().get(row_group) else { return known };
    if column.rep_level > 0 {
        return known;
    }
    if let ColumnKind::Leaf(leaf) = column.kind {
        return leaf_statistics(footer, row_group, leaf, options);
    }
    known.num_values = Some(group.num_rows);
    known.num_nulls = match column.def_level {
        0 => Some(0),
        // Without a list in between, each null row is one slot of every leaf below.
        def_level => column.leaves.clone().find_map(|leaf| {
            let meta = group.columns.chunk(leaf).ok()?.meta_data.as_ref()?;
            let levels = &meta.size_statistics.as_ref()?.definition_level_histogram;
            let max_def = footer.schema.leaves().get(leaf)?.max_def;
            slots_below(levels, max_def, def_level, meta.num_values)
        }),
    }
    .filter(|num_nulls| *num_nulls <= group.num_rows);
    known
}

/// Returns the number of slots with a definition level below `def_level`, if the histogram is
/// consistent.
fn slots_below(levels: &[i64], max_def: u8, def_level: u8, num_values: u64) -> Option<u64> {
    if levels.len() != usize::from(max_def) + 1 {
        return None;
    }
    let sum = |levels: &[i64]| {
        levels.iter().try_fold(0u64, |sum, count| sum.checked_add(u64::try_from(*count).ok()?))
    };
    (sum(levels)? == num_values).then(|| sum(levels.get(..usize::from(def_level))?))?
}
