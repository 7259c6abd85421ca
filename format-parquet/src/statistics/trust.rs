//! Which of the stored bounds and counts are believed (rules P5.4 to P5.22).
//!
//! What holds for a whole leaf is decided once, in [`BoundRules`]: whether its values have an order
//! at all, whether the file names that order, and whether the writer is known to get bounds wrong.
//! Then each chunk's or page's bounds are judged one by one. Nothing here is an error: what is not
//! believed is absent in [`JudgedStatistics::trusted`], and a [`Distrust`] says why.
//!
//! ```text
//! min_value, max_value  -- order of the column --+-- writer --+-- bytes -> Value --+-- min <= max
//! (or else: min, max    -- signed, or equal    --+            (byte strings)       (not NaN)
//! ```
//!
//! Leaves below a repeated field have statistics of elements, not of rows: their bounds stand, and
//! their counts are left out, so that nothing is concluded about null rows (rule P5.19).

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

/// What the user asks for beyond the rules of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrustOptions {
    /// Bounds need an order that the file states; most older files state none.
    pub strict_column_orders: bool,
    /// Floats are never NaN, although hardly a file says so.
    pub assume_no_nan: bool,
}

/// Why a bound or count is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// The leaf itself cannot be read.
    Unreadable,
    /// The type has no order that readers agree on.
    Unordered,
    /// The file names an order that is not known, or not one of the type.
    OrderOfAnotherType,
    /// The file names orders for another number of columns.
    NumberOfOrders,
    /// The file names no orders, and the user wants them.
    NoOrders,
    /// The older bounds are in signed order, and the type is not.
    SignedOrder,
    /// The writer is known for wrong bounds of such columns.
    Writer,
    /// The bytes start with their own length, as values in pages do.
    LengthInFront,
    /// The bytes are no value of the column.
    Malformed,
    /// Only two sound bounds show that the values are ordered as they should.
    Alone,
    /// The bound is not a number.
    NotANumber,
    /// The type orders values otherwise than the file does, and the bounds are not on one side.
    TwoHalves,
    /// The minimum is above the maximum.
    Crossed,
    /// There are more nulls than values, or less than none.
    NullCount,
}

impl Distrust {
    /// The reason as half a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Distrust::Unreadable => "the column cannot be read",
            Distrust::Unordered => "values of this type have no order",
            Distrust::OrderOfAnotherType => "the column's order is unknown or of another type",
            Distrust::NumberOfOrders => "the file has orders for another number of columns",
            Distrust::NoOrders => "the file names no order",
            Distrust::SignedOrder => "older bounds are in signed order, which is not the type's",
            Distrust::Writer => "the writer is known for wrong bounds of such columns",
            Distrust::LengthInFront => "the bytes start with their own length",
            Distrust::Malformed => "the bytes are no value of the column",
            Distrust::Alone => "such columns need two sound bounds",
            Distrust::NotANumber => "the bound is NaN",
            Distrust::TwoHalves => {
                "the type orders some of the values between the bounds otherwise"
            }
            Distrust::Crossed => "the minimum is above the maximum",
            Distrust::NullCount => "the null count does not fit the number of values",
        }
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One bound, as stored and as judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedBound<'a> {
    /// The bytes in the file.
    pub stored: Option<&'a [u8]>,
    /// They stand in the older of the two places.
    pub is_deprecated: bool,
    /// Their value, believed or not.
    pub value: Option<Value>,
    /// Why the bound is not believed.
    pub distrust: Option<Distrust>,
}

/// The statistics of some values, as stored and as judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedStatistics<'a> {
    /// What is believed.
    pub trusted: ColumnStatistics,
    /// The lower bound.
    pub min: JudgedBound<'a>,
    /// The upper bound.
    pub max: JudgedBound<'a>,
    /// Why nothing is believed, whatever the bounds.
    pub distrust: Option<Distrust>,
}

/// A pair of bounds as it stands in the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct StoredBounds<'a> {
    /// The lower bound.
    pub min: Option<&'a [u8]>,
    /// The upper bound.
    pub max: Option<&'a [u8]>,
    /// The lower bound is a value of the column; `None` if the file does not say.
    pub is_min_exact: Option<bool>,
    /// As `is_min_exact`, for the upper bound.
    pub is_max_exact: Option<bool>,
    /// The pair stands in the older place.
    pub is_deprecated: bool,
}

impl<'a> StoredBounds<'a> {
    /// The pair that counts: the newer one if any of it is there, also when it is not believed.
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

/// The counts beside a pair of bounds.
#[derive(Debug, Clone, Copy, Default)]
struct StoredCounts {
    num_values: u64,
    null_count: Option<i64>,
    nan_count: Option<i64>,
}

/// What holds for all bounds of one leaf.
#[derive(Debug, Clone, Copy)]
pub struct BoundRules<'a> {
    leaf: &'a Leaf,
    /// Why no bound of the leaf is believed.
    distrust: Option<Distrust>,
    /// Why none in the newer place is, in addition.
    order: Option<Distrust>,
    is_signed: bool,
    is_total_order: bool,
    options: TrustOptions,
}

impl<'a> BoundRules<'a> {
    /// The rules for a leaf of the file; `None` when there is no such leaf.
    pub fn new(footer: &'a Footer, leaf: usize, options: TrustOptions) -> Option<Self> {
        let number = leaf;
        let leaf = footer.schema.leaves().get(number)?;
        let element = footer.schema.leaf_element(number).map(|at| footer.metadata.schema.get(at));
        let orders = footer.metadata.column_orders.as_deref();
        let order = orders.and_then(|orders| orders.get(number)).copied();
        let distrust = if footer.schema.leaf(number).is_err() {
            Some(Distrust::Unreadable)
        } else if has_no_order(leaf, element.flatten())
            || (leaf.physical == PhysicalType::Int96 && order != Some(ColumnOrder::Int96Timestamp))
        {
            Some(Distrust::Unordered)
        } else {
            let faults = BoundFaults::of(footer.metadata.created_by.as_deref());
            is_at_fault(leaf, faults).then_some(Distrust::Writer)
        };
        let order_distrust = match orders {
            None => {
                let created_by = footer.metadata.created_by.as_deref();
                let is_text = is_bytes(leaf) && leaf.conversion == ValueConversion::Plain;
                (options.strict_column_orders || is_text && !orders_by_bytes(created_by))
                    .then_some(Distrust::NoOrders)
            }
            Some(orders) if orders.len() != footer.schema.num_leaves() => {
                Some(Distrust::NumberOfOrders)
            }
            Some(_) => (!order.is_some_and(|order| is_order_of(leaf, order)))
                .then_some(Distrust::OrderOfAnotherType),
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

    /// The leaf.
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

    /// What is known of values whose statistics are missing or not believed.
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

    /// One bound by itself.
    fn bound<'s>(&self, stored: Option<&'s [u8]>, pair: StoredBounds<'s>) -> JudgedBound<'s> {
        let Some(bytes) = stored else { return JudgedBound::default() };
        let value = stored_value(self.leaf, bytes);
        let order = match pair.is_deprecated {
            false => self.order,
            // One value is in the right place in any order.
            true => (!self.is_signed && !pair.is_one_value()).then_some(Distrust::SignedOrder),
        };
        let distrust = self.distrust.or(order).or(match &value {
            None => Some(Distrust::Malformed),
            Some(value) => is_nan(value).then_some(Distrust::NotANumber),
        });
        JudgedBound { stored, is_deprecated: pair.is_deprecated, value, distrust }
    }

    /// True when an upper bound may be the front of a longer value, cut and not rounded up. An old
    /// parquet-go cut bounds in column indexes to 16 bytes and called itself by the name of the
    /// program that used it, and its limit was a setting; later writers with a limit (Iceberg 16,
    /// parquet-mr and arrow-rs 64) round up. So every bound of 16 bytes or more is taken as the front
    /// of its values, whoever wrote it. That costs almost nothing: only values that start with the
    /// whole bound are no longer left out. Shorter bounds (dates, codes, numbers as text) are believed
    /// as they are, and so are values of a fixed length that have all of it.
    fn may_be_prefix(&self, bound: &JudgedBound<'_>) -> bool {
        let bytes = bound.stored.map_or(0, <[u8]>::len);
        self.leaf.physical == PhysicalType::ByteArray
            && self.leaf.conversion == ValueConversion::Plain
            && bytes >= MIN_CUT_BYTES
    }

    /// What a bound says about the other one.
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
        // What is wider than its type loses its high bits, and may end up anywhere: only a pair
        // of bounds says that all values fit. Decimals that a writer ordered as unsigned bytes
        // give themselves away by a pair that is crossed.
        let needs_both = is_cut || conversion == ValueConversion::DecimalBytes;
        let distrust = if is_byte_array && (has_length(min) || has_length(max)) {
            Some(Distrust::LengthInFront)
        } else if needs_both && !are_trusted {
            Some(Distrust::Alone)
        } else if conversion == ValueConversion::Uuid && !on_one_side(min, max) {
            Some(Distrust::TwoHalves)
        } else if self.is_total_order
            && [&*min, max].iter().any(|b| b.distrust == Some(Distrust::NotANumber))
        {
            // In the total order a NaN as bound means that there are no numbers.
            Some(Distrust::NotANumber)
        } else {
            (are_trusted && min.value > max.value).then_some(Distrust::Crossed)
        };
        for bound in [min, max] {
            if bound.stored.is_some() {
                bound.distrust = bound.distrust.or(distrust);
            }
        }
    }

    /// The counts, as far as they are of rows.
    fn judge_counts(&self, counts: StoredCounts, judged: &mut JudgedStatistics<'_>) {
        let StoredCounts { num_values, .. } = counts;
        let is_required = self.leaf.max_def == 0;
        let num_nulls = match counts.null_count {
            _ if is_required => Some(0),
            None => None,
            Some(count) => match u64::try_from(count) {
                Ok(count) if count <= num_values => Some(count),
                _ => {
                    judged.distrust = Some(Distrust::NullCount);
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

    /// The value of a believed bound, and whether it is a value of the column.
    fn trusted(
        &self,
        bound: &JudgedBound<'_>,
        is_exact: Option<bool>,
        zero: Zero,
    ) -> (Option<Value>, bool) {
        let Some(value) = bound.value.clone().filter(|_| bound.is_trusted()) else {
            return (None, false);
        };
        // Byte strings are cut to a length unless the file says that they are not.
        let may_be_cut = is_bytes(self.leaf) && self.leaf.conversion == ValueConversion::Plain;
        (Some(widen_zero(value, zero)), is_exact.unwrap_or(!may_be_cut))
    }
}

impl JudgedBound<'_> {
    /// The bound is there and believed.
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

/// Zeros of both signs lie within a bound of either (rule P5.13).
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

/// Files order UUIDs by unsigned bytes, numbers are signed: the two agree among values of one sign.
fn on_one_side(min: &JudgedBound<'_>, max: &JudgedBound<'_>) -> bool {
    let sign = |bound: &JudgedBound<'_>| Some(bound.value.as_ref()?.as_i128()? < 0);
    matches!((sign(min), sign(max)), (Some(a), Some(b)) if a == b)
}

/// The writer's fault is about columns like this.
fn is_at_fault(leaf: &Leaf, faults: BoundFaults) -> bool {
    let is_decimal = matches!(leaf.ty, Type::Decimal { .. });
    (faults.bytes && is_bytes(leaf))
        || (faults.decimals_as_bytes && leaf.conversion == ValueConversion::DecimalBytes)
        || (faults.decimals && is_decimal)
        || (faults.timestamps && leaf.ty == Type::Timestamp)
}

/// The shortest limit that writers are known to cut bounds to.
const MIN_CUT_BYTES: usize = 16;

/// The smallest value that is greater than everything that starts with `prefix`; `None` when there
/// is none (rule P5.26).
fn end_of_prefix(prefix: &[u8]) -> Option<Value> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte = byte.saturating_add(1);
    }
    Some(Value::bytes(&end))
}

/// A byte array as it stands in pages, which some writers take over as a bound.
fn has_length_in_front(bytes: &[u8]) -> bool {
    bytes.split_first_chunk::<4>().is_some_and(|(length, rest)| {
        usize::try_from(u32::from_le_bytes(*length)) == Ok(rest.len())
    })
}

fn is_bytes(leaf: &Leaf) -> bool {
    matches!(leaf.physical, PhysicalType::ByteArray | PhysicalType::FixedLenByteArray)
}

/// Types whose values nobody orders, or everybody otherwise. INT96 depends on the file.
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

/// The type's order is that of signed numbers, as the older bounds are.
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

/// The believed statistics of a leaf in a row group; without any when there is no such chunk.
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

/// What is known of a column's rows in a row group, whatever its shape. Structs, lists and maps
/// have counts of null rows, where the file counts levels; below a repeated field nothing is known.
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
        // Where no list lies between, each null row is one slot of every leaf below.
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

/// The slots whose definition level is below `def_level`, if the histogram makes sense.
fn slots_below(levels: &[i64], max_def: u8, def_level: u8, num_values: u64) -> Option<u64> {
    if levels.len() != usize::from(max_def) + 1 {
        return None;
    }
    let sum = |levels: &[i64]| {
        levels.iter().try_fold(0u64, |sum, count| sum.checked_add(u64::try_from(*count).ok()?))
    };
    (sum(levels)? == num_values).then(|| sum(levels.get(..usize::from(def_level))?))?
}
