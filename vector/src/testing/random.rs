//! Random types and values from a seed.

use crate::encoding::RowVector;
use crate::encoding::VectorRef;
use crate::sync::Arc;
use crate::types::decimal::power_of_ten;
use crate::types::temporal::SECONDS_PER_DAY;
use crate::types::{Interval, RowType, TimeUnit, Timestamp, Type, Value};

/// A small pseudo-random number generator; the same seed yields the same numbers on all platforms.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator with a seed.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        // A counter is mixed by two multiplications (SplitMix64), so that every seed is suitable.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number below `bound`, or 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Returns a number from `low` to `high`, both inclusive.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let width = (i128::from(high) - i128::from(low) + 1).max(1) as u128;
        let step = (u128::from(self.bits()) * width) >> 64;
        (i128::from(low) + step as i128) as i64
    }

    /// Returns true with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits fill the mantissa.
        ((self.bits() >> 11) as f64 / (1u64 << 53) as f64) < probability
    }

    /// Returns one of the items, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Properties of random vectors.
#[derive(Debug, Clone)]
pub struct RandomOptions {
    /// Probability that a row is null.
    pub null_ratio: f64,
    /// Probability that a value is one of a few common ones, so that rows repeat.
    pub repeat_ratio: f64,
    /// Maximum number of bytes of a string.
    pub max_string_bytes: usize,
    /// Maximum number of entries of an array or map.
    pub max_entries: usize,
    /// Maximum number of dictionaries, constants and lazy vectors around each vector; with 0
    /// vectors are flat.
    pub max_wraps: usize,
    /// Whether lazy vectors may be among the wrappers.
    pub lazy: bool,
    /// Whether the slots of null rows hold arbitrary values, which must not be read.
    pub junk_under_nulls: bool,
}

impl Default for RandomOptions {
    fn default() -> Self {
        RandomOptions {
            null_ratio: 0.2,
            repeat_ratio: 0.5,
            max_string_bytes: 40,
            max_entries: 4,
            max_wraps: 2,
            lazy: true,
            junk_under_nulls: true,
        }
    }
}

/// Generates random types, values and vectors from a seed.
#[derive(Debug, Clone)]
pub struct RandomVectors {
    pub(super) random: Random,
    pub(super) options: RandomOptions,
}

impl RandomVectors {
    /// Creates a generator with the default options.
    pub fn new(seed: u64) -> Self {
        Self::with_options(seed, RandomOptions::default())
    }

    /// Creates a generator with the given options.
    pub fn with_options(seed: u64, options: RandomOptions) -> Self {
        RandomVectors { random: Random::new(seed), options }
    }

    /// Returns the source of randomness, for choices of the test itself.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Returns a random scalar type.
    pub fn scalar_type(&mut self) -> Type {
        let precision = self.random.between(1, 38) as u8;
        let scale = self.random.between(0, i64::from(precision)) as u8;
        let unit = *self.random.pick(&[TimeUnit::Millis, TimeUnit::Micros, TimeUnit::Nanos]);
        let types = [
            Type::Boolean,
            Type::TinyInt,
            Type::SmallInt,
            Type::Integer,
            Type::BigInt,
            Type::HugeInt,
            Type::Float16,
            Type::Real,
            Type::Double,
            Type::Varchar,
            Type::Varbinary,
            Type::Date,
            Type::Time(unit),
            Type::Timestamp,
            Type::Decimal { precision, scale },
            Type::Uuid,
            Type::Interval,
        ];
        self.random.pick(&types).clone()
    }

    /// Returns a random type with at most `max_depth` levels of nesting.
    pub fn ty(&mut self, max_depth: usize) -> Type {
        if max_depth == 0 || self.random.chance(0.4) {
            let unknown = self.random.chance(0.03);
            return if unknown { Type::Unknown } else { self.scalar_type() };
        }
        match self.random.below(3) {
            0 => Type::array(self.ty(max_depth - 1)),
            1 => Type::map(self.scalar_type(), self.ty(max_depth - 1)),
            _ => Type::Row(Arc::new(self.row_type(3, max_depth - 1))),
        }
    }

    /// Returns a row type of up to `max_fields` fields, each with at most `max_depth` levels of
    /// nesting.
    pub fn row_type(&mut self, max_fields: usize, max_depth: usize) -> RowType {
        let num_fields = self.random.below(max_fields + 1);
        let fields: Vec<(String, Type)> =
            (0..num_fields).map(|i| (format!("c{i}"), self.ty(max_depth))).collect();
        RowType::new(fields)
    }

    /// Returns a random value of `ty`, or null.
    pub fn value(&mut self, ty: &Type) -> Value {
        if self.random.chance(self.options.null_ratio) { Value::Null } else { self.valid(ty) }
    }

    /// Returns random values of `ty`, including nulls.
    pub fn values(&mut self, ty: &Type, num_rows: usize) -> Vec<Value> {
        (0..num_rows).map(|_| self.value(ty)).collect()
    }

    /// Returns random rows in a random encoding.
    pub fn vector(&mut self, ty: &Type, num_rows: usize) -> VectorRef {
        let values = self.values(ty, num_rows);
        self.encode(ty, &values)
    }

    /// Returns a batch of random columns in random encodings.
    pub fn batch(&mut self, row_type: &Arc<RowType>, num_rows: usize) -> RowVector {
        let children = row_type.types().iter().map(|ty| self.vector(ty, num_rows)).collect();
        RowVector::batch(Arc::clone(row_type), num_rows, children).expect("columns of the type")
    }

    /// Returns a random value of `ty` that is not null, unless the type has only nulls.
    pub fn valid(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Unknown => Value::Null,
            Type::Boolean => Value::Boolean(self.random.chance(0.5)),
            Type::TinyInt => Value::TinyInt(self.number(i8::MIN.into(), i8::MAX.into()) as i8),
            Type::SmallInt => Value::SmallInt(self.number(i16::MIN.into(), i16::MAX.into()) as i16),
            Type::Integer => Value::Integer(self.number(i32::MIN.into(), i32::MAX.into()) as i32),
            Type::BigInt => Value::BigInt(self.number(i64::MIN, i64::MAX)),
            Type::HugeInt => Value::HugeInt(self.wide_number()),
            Type::Uuid => Value::HugeInt(self.wide_number()),
            Type::Interval => Value::HugeInt(
                Interval {
                    months: self.number(0, u32::MAX.into()) as u32,
                    days: self.number(0, u32::MAX.into()) as u32,
                    millis: self.number(0, u32::MAX.into()) as u32,
                }
                .to_stored(),
            ),
            // Multiples of 1/8 up to 256 have few enough bits to be exact in half precision.
            Type::Float16 => Value::Real(self.number(-2048, 2048) as f32 / 8.0),
            Type::Real => Value::Real(self.float() as f32),
            Type::Double => Value::Double(self.float()),
            Type::Varchar => Value::bytes(self.text()),
            Type::Varbinary => {
                let text = self.text();
                Value::bytes(text.bytes().map(|b| b.wrapping_mul(37)).collect::<Vec<u8>>())
            }
            Type::Date => Value::Integer(self.number(-800_000, 3_000_000) as i32),
            Type::Time(unit) => {
                Value::BigInt(self.number(0, SECONDS_PER_DAY * unit.per_second() - 1))
            }
            Type::Timestamp => Value::Timestamp(Timestamp::new(
                self.number(-70_000_000_000, 250_000_000_000),
                self.number(0, 999_999_999) as u64,
            )),
            Type::Decimal { precision, .. } => self.decimal(ty, *precision),
            Type::Array(element) => {
                let len = self.random.below(self.options.max_entries + 1);
                Value::Array(self.values(element, len).into())
            }
            Type::Map(key, value) => {
                let len = self.random.below(self.options.max_entries + 1);
                Value::Map((0..len).map(|_| (self.valid(key), self.value(value))).collect())
            }
            Type::Row(row) => Value::Row(row.types().iter().map(|t| self.value(t)).collect()),
        }
    }

    fn number(&mut self, low: i64, high: i64) -> i64 {
        if self.random.chance(self.options.repeat_ratio) {
            return (self.random.below(4) as i64).clamp(low, high);
        }
        if self.random.chance(0.1) {
            return *self.random.pick(&[low, high]);
        }
        self.random.between(low, high)
    }

    fn wide_number(&mut self) -> i128 {
        if self.random.chance(self.options.repeat_ratio) {
            return i128::from(self.number(-2, 4));
        }
        (u128::from(self.random.bits()) << 64 | u128::from(self.random.bits())) as i128
    }

    fn decimal(&mut self, ty: &Type, precision: u8) -> Value {
        let bound = power_of_ten(precision).expect("a precision within bounds");
        let unscaled = self.wide_number() % bound;
        match i64::try_from(unscaled) {
            Ok(short) if Value::BigInt(short).fits(ty) => Value::BigInt(short),
            _ => Value::HugeInt(unscaled),
        }
    }

    fn float(&mut self) -> f64 {
        const SPECIAL: [f64; 8] =
            [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.5, 1e-30];
        if self.random.chance(self.options.repeat_ratio) {
            return *self.random.pick(&SPECIAL);
        }
        if self.random.chance(0.1) {
            // A NaN of any sign and payload.
            return f64::from_bits(self.random.bits() | 0x7ff8_0000_0000_0000);
        }
        self.random.between(-1_000_000, 1_000_000) as f64 / 64.0
    }

    fn text(&mut self) -> String {
        const COMMON: [&str; 6] =
            ["", "a", "same text", "exactly 12 b", "one of the long strings", "one of the longer"];
        let max = self.options.max_string_bytes;
        if self.random.chance(self.options.repeat_ratio) {
            let common = *self.random.pick(&COMMON);
            return common[..common.len().min(max)].to_string();
        }
        let len = if self.random.chance(0.5) { max.min(12) } else { max };
        let len = self.random.below(len + 1);
        let mut text = String::new();
        while text.len() < len {
            let wide = text.len() + 4 <= len && self.random.chance(0.05);
            text.push(match self.random.below(26) {
                0 if wide => '🌍',
                1 if wide => 'ß',
                letter => char::from(b'a' + letter as u8),
            });
        }
        text
    }
}
