//! Binds interval literals: `INTERVAL '3' MONTH`, `INTERVAL 90 DAY`, `INTERVAL '2 weeks'`.

use dwio::expr::TypedExpr;
use sqlparser::ast::{Expr, Interval as Written, Value as Literal};
use sqlparser::tokenizer::Span;
use vector::{Error, Interval, Result, Type, Value};

use super::Binder;

const MILLIS_PER_DAY: u64 = 86_400_000;

impl Binder<'_> {
    /// Binds an amount of one unit; the unit may be inside of the quotes together with the amount.
    pub(super) fn interval(&self, written: &Written, span: Span) -> Result<TypedExpr> {
        let text = match &*written.value {
            Expr::Value(value) => match &value.value {
                Literal::SingleQuotedString(text) | Literal::Number(text, _) => text.trim(),
                _ => "",
            },
            _ => "",
        };
        let field = written.leading_field.as_ref().map(ToString::to_string);
        let (amount, unit) = match (&field, text.split_once(' ')) {
            (Some(field), None) => (text, field.as_str()),
            (None, Some((amount, unit))) => (amount, unit.trim()),
            _ => ("", ""),
        };
        let made = amount.parse().ok().and_then(|amount| of_unit(amount, unit));
        match made.filter(|_| written.last_field.is_none()) {
            Some(interval) => {
                let value = Value::HugeInt(interval.to_stored());
                Ok(TypedExpr::constant(value, Type::Interval))
            }
            None => {
                let error = Error::unsupported("this form of interval is not supported")
                    .with("interval", written);
                let hint = "there are years to seconds, one at a time and not negative, such as \
                            INTERVAL '3' MONTH";
                Err(self.source.advise(error, span, hint))
            }
        }
    }
}

/// Returns the interval of `amount` units, whose name may be plural; `None` when the unit is
/// unknown or the amount is too large.
fn of_unit(amount: u64, unit: &str) -> Option<Interval> {
    let unit = unit.to_ascii_lowercase();
    let part = |factor: u64| u32::try_from(amount.checked_mul(factor)?).ok();
    let (mut months, mut days, mut millis) = (0, 0, 0);
    match unit.strip_suffix('s').unwrap_or(&unit) {
        "year" => months = part(12)?,
        "quarter" => months = part(3)?,
        "month" => months = part(1)?,
        "week" => days = part(7)?,
        "day" => days = part(1)?,
        smaller => {
            let of_unit = match smaller {
                "hour" => 3_600_000,
                "minute" => 60_000,
                "second" => 1_000,
                "millisecond" => 1,
                _ => return None,
            };
            let all = amount.checked_mul(of_unit)?;
            days = u32::try_from(all / MILLIS_PER_DAY).ok()?;
            // The milliseconds of less than one day fit into 32 bits.
            millis = (all % MILLIS_PER_DAY) as u32;
        }
    }
    Some(Interval { months, days, millis })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_months_days_and_milliseconds() {
        let of = |amount, unit| of_unit(amount, unit).map(|i| (i.months, i.days, i.millis));
        assert_eq!(of(2, "YEAR"), Some((24, 0, 0)));
        assert_eq!(of(3, "months"), Some((3, 0, 0)));
        assert_eq!(of(2, "week"), Some((0, 14, 0)));
        assert_eq!(of(36, "Hours"), Some((0, 1, 43_200_000)));
        assert_eq!(of(1, "fortnight"), None);
        assert_eq!(of(u64::MAX, "second"), None);
        assert_eq!(of(1 << 32, "day"), None);
    }
}
