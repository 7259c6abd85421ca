//! Reads literals, such as `{"type": "BIGINT", "value": 7}`, as values of the types in the plan.

use vector::{Error, Interval, Result, Timestamp, Type, TypeKind, Value};

use super::json::Json;
use format_text::base64;

const MILLIS_PER_DAY: u64 = 86_400_000;

/// Reads a literal of type `ty`.
pub(super) fn read_value(json: &Json<'_>, ty: &Type) -> Result<Value> {
    let Some(value) = json.optional("value")? else { return Ok(Value::Null) };
    if *ty == Type::Interval {
        let are_months = json.member("type")?.text()? == "INTEGER";
        let interval = value.check(interval(value.integer()?, are_months))?;
        return Ok(Value::HugeInt(interval.to_stored()));
    }
    Ok(match ty.kind() {
        TypeKind::Boolean => Value::Boolean(value.boolean()?),
        TypeKind::TinyInt => Value::TinyInt(value.integer()?),
        TypeKind::SmallInt => Value::SmallInt(value.integer()?),
        TypeKind::Integer => Value::Integer(value.integer()?),
        TypeKind::BigInt => Value::BigInt(value.integer()?),
        TypeKind::HugeInt => Value::HugeInt(value.huge_integer()?),
        TypeKind::Real => Value::Real(value.float()? as f32),
        TypeKind::Double => Value::Double(value.float()?),
        TypeKind::Varchar => Value::bytes(value.text()?),
        TypeKind::Varbinary => {
            let bytes = base64::decode(value.text()?);
            Value::bytes(bytes.ok_or_else(|| value.wrong("base64"))?)
        }
        TypeKind::Timestamp => Value::Timestamp(read_timestamp(json)?),
        TypeKind::Array | TypeKind::Map | TypeKind::Row => nested(&value, ty)?,
        TypeKind::Unknown => return Err(value.wrong("null")),
    })
}

/// Reads the members `seconds` and `nanos`.
pub(super) fn read_timestamp(json: &Json<'_>) -> Result<Timestamp> {
    let seconds = json.member("seconds")?.integer()?;
    Ok(Timestamp::new(seconds, json.member("nanos")?.integer()?))
}

fn nested(json: &Json<'_>, ty: &Type) -> Result<Value> {
    match ty {
        Type::Array(element) => {
            let elements = json.elements()?;
            Ok(Value::Array(
                elements.iter().map(|e| read_value(e, element)).collect::<Result<_>>()?,
            ))
        }
        Type::Map(key, value) => {
            let (keys, values) = (json.member("keys")?, json.member("values")?);
            let (keys, values) = (keys.elements()?, values.elements()?);
            if keys.len() != values.len() {
                return Err(json.wrong("as many keys as values"));
            }
            let entries = keys.iter().zip(&values);
            let entries = entries.map(|(k, v)| Ok((read_value(k, key)?, read_value(v, value)?)));
            Ok(Value::Map(entries.collect::<Result<_>>()?))
        }
        Type::Row(row) => {
            let fields = json.elements()?;
            if fields.len() != row.len() {
                return Err(json.wrong("as many values as the struct has fields"));
            }
            let fields = fields.iter().zip(row.types()).map(|(f, ty)| read_value(f, ty));
            Ok(Value::Row(fields.collect::<Result<_>>()?))
        }
        _ => Err(json.wrong("a nested value")),
    }
}

/// Returns an interval of months, or of milliseconds.
pub(super) fn interval(amount: i64, are_months: bool) -> Result<Interval> {
    let too_long = || Error::unsupported("an interval that is negative or too long");
    let amount: u64 = amount.try_into().map_err(|_| too_long())?;
    let part = |amount: u64| u32::try_from(amount).map_err(|_| too_long());
    Ok(if are_months {
        Interval { months: part(amount)?, days: 0, millis: 0 }
    } else {
        Interval {
            months: 0,
            days: part(amount / MILLIS_PER_DAY)?,
            millis: part(amount % MILLIS_PER_DAY)?,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short random number generator (splitmix64), whose numbers have arbitrary bits.
    struct Random(u64);

    impl Random {
        fn bits(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }

        fn is_even(&mut self) -> bool {
            self.bits().is_multiple_of(2)
        }
    }

    /// Reads `texts` as literals of `ty`, all of them in one document.
    fn read_all(texts: &[String], ty: &Type) -> Vec<Value> {
        let literals: Vec<String> =
            texts.iter().map(|text| format!("{{\"value\":{text}}}")).collect();
        let document: serde_json::Value =
            serde_json::from_str(&format!("[{}]", literals.join(","))).unwrap();
        let elements = Json::root("plan", &document).elements().unwrap();
        elements.iter().map(|literal| read_value(literal, ty).unwrap()).collect()
    }

    /// Returns a finite number with arbitrary bits.
    fn number(random: &mut Random) -> f64 {
        loop {
            let number = match random.bits() % 4 {
                0 => random.bits() as i64 as f64 / 10f64.powi((random.bits() % 20) as i32),
                1 => (random.bits() >> 40) as f64 / 100.0,
                _ => f64::from_bits(random.bits()),
            };
            if number.is_finite() {
                return number;
            }
        }
    }

    #[test]
    fn a_million_numbers_are_read_as_they_were_written() {
        let mut random = Random(6);
        for _ in 0..20 {
            let numbers: Vec<f64> = (0..50_000).map(|_| number(&mut random)).collect();
            // The shortest text, and the text with all digits, which Velox writes.
            let texts: Vec<String> = numbers
                .iter()
                .map(|v| if random.is_even() { format!("{v:?}") } else { format!("{v:.16e}") })
                .collect();
            for ((number, text), read) in
                numbers.iter().zip(&texts).zip(read_all(&texts, &Type::Double))
            {
                let Value::Double(read) = read else { panic!("{read:?}") };
                assert_eq!(read.to_bits(), number.to_bits(), "{text}");
            }
        }
    }

    #[test]
    fn reals_are_read_as_they_were_written() {
        let mut random = Random(7);
        let numbers: Vec<f32> =
            (0..200_000).map(|_| f32::from_bits(random.bits() as u32)).collect();
        let numbers: Vec<f32> = numbers.into_iter().filter(|v| v.is_finite()).collect();
        let texts: Vec<String> = numbers
            .iter()
            .map(|v| match random.is_even() {
                true => format!("{v:?}"),
                false => format!("{:.16e}", f64::from(*v)),
            })
            .collect();
        for ((number, text), read) in numbers.iter().zip(&texts).zip(read_all(&texts, &Type::Real))
        {
            let Value::Real(read) = read else { panic!("{read:?}") };
            assert_eq!(read.to_bits(), number.to_bits(), "{text}");
        }
    }
}
