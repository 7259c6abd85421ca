//! Expressions, evaluated one row at a time with three-valued logic.

use std::cell::Cell;
use std::cmp::Ordering;

use super::ast::{Comparison, Expr, Function};
use super::rows::{Evaluator, TooExpensive};
use super::values::{Datum, Kind, NANOS_PER_DAY, civil, date_text};

/// The row that an expression is evaluated for.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    /// Where the columns of each relation begin in `row`.
    pub(super) layout: &'a [(usize, usize)],
    pub(super) row: &'a [Datum],
    /// Keys and aggregates of the group, above an aggregation.
    pub(super) group: Option<(&'a [Datum], &'a [Datum])>,
    pub(super) outer: Option<Outer<'a>>,
}

/// The row of the query around.
#[derive(Clone, Copy)]
pub(super) struct Outer<'a> {
    pub(super) env: &'a Env<'a>,
    /// Raised when the query inside looks at it: until then its rows are the same for all of them.
    pub(super) is_used: &'a Cell<bool>,
}

impl Env<'_> {
    fn column(&self, relation: usize, column: usize) -> &Datum {
        match self.layout.iter().find(|(known, _)| *known == relation) {
            Some((_, start)) => &self.row[start + column],
            None => {
                let outer = self.outer.unwrap_or_else(|| unreachable!("no relation r{relation}"));
                outer.is_used.set(true);
                outer.env.column(relation, column)
            }
        }
    }
}

impl Evaluator<'_> {
    /// The value of an expression for a row.
    pub(super) fn expr(&self, expr: &Expr, env: &Env<'_>) -> Result<Datum, TooExpensive> {
        let of = |expr: &Expr| self.expr(expr, env);
        let flip = |truth: Option<bool>, negated: bool| {
            Datum::of_truth(truth.map(|truth| truth != negated))
        };
        let of_group = || env.group.unwrap_or_else(|| unreachable!("not above groups"));
        Ok(match expr {
            Expr::Literal(value, _) => value.clone(),
            Expr::Column { relation, column, .. } => env.column(*relation, *column).clone(),
            Expr::Key(key, _) => of_group().0[*key].clone(),
            Expr::Aggregate(aggregate, _) => of_group().1[*aggregate].clone(),
            Expr::Field(input, field, _) => match of(input)? {
                Datum::Row(fields) => fields[*field].clone(),
                _ => Datum::Null,
            },
            Expr::Not(input) => flip(of(input)?.truth(), true),
            Expr::And(terms) => Datum::of_truth(self.junction(terms, false, env)?),
            Expr::Or(terms) => Datum::of_truth(self.junction(terms, true, env)?),
            Expr::Compare(comparison, left, right) => {
                Datum::of_truth(compared(*comparison, &of(left)?, &of(right)?))
            }
            Expr::IsNull { input, negated } => Datum::Bool(of(input)?.is_null() != *negated),
            Expr::IsTruth { input, truth, negated } => {
                Datum::Bool((of(input)?.truth() == Some(*truth)) != *negated)
            }
            Expr::Between { input, low, high, negated } => {
                let (input, low, high) = (of(input)?, of(low)?, of(high)?);
                let above = compared(Comparison::GreaterEqual, &input, &low);
                let below = compared(Comparison::LessEqual, &input, &high);
                flip(both(above, below), *negated)
            }
            Expr::InList { input, list, negated } => {
                let input = of(input)?;
                let list = list.iter().map(of).collect::<Result<Vec<_>, _>>()?;
                flip(is_among(&input, &list), *negated)
            }
            Expr::Like { input, pattern, negated } => {
                let truth = match of(input)? {
                    Datum::Text(text) => Some(is_like(&letters(&text), &letters(pattern))),
                    _ => None,
                };
                flip(truth, *negated)
            }
            Expr::Case { branches, default, .. } => {
                for (condition, value) in branches {
                    if of(condition)?.truth() == Some(true) {
                        return of(value);
                    }
                }
                default.as_deref().map_or(Ok(Datum::Null), of)?
            }
            Expr::Call(Function::If, args, _) => {
                let chosen = if of(&args[0])?.truth() == Some(true) { &args[1] } else { &args[2] };
                of(chosen)?
            }
            Expr::Call(function, args, _) => {
                called(*function, &args.iter().map(of).collect::<Result<Vec<_>, _>>()?)
            }
            Expr::Cast(input, kind) => cast(of(input)?, kind),
            Expr::Exists { query, negated } => {
                Datum::Bool(self.subquery(query, env)?.is_empty() == *negated)
            }
            Expr::InQuery { input, query, negated } => {
                let input = of(input)?;
                let rows = self.subquery(query, env)?;
                let values: Vec<Datum> = rows.iter().map(|row| row[0].clone()).collect();
                flip(is_among(&input, &values), *negated)
            }
            Expr::Scalar(query, _) => {
                let rows = self.subquery(query, env)?;
                assert!(rows.len() <= 1, "a subquery for a value has {} rows", rows.len());
                rows.first().map_or(Datum::Null, |row| row[0].clone())
            }
        })
    }

    /// AND, where `decisive` is false, or OR, where it is true.
    fn junction(
        &self,
        terms: &[Expr],
        decisive: bool,
        env: &Env<'_>,
    ) -> Result<Option<bool>, TooExpensive> {
        let mut truth = Some(!decisive);
        for term in terms {
            match self.expr(term, env)?.truth() {
                Some(found) if found == decisive => return Ok(Some(decisive)),
                Some(_) => {}
                None => truth = None,
            }
        }
        Ok(truth)
    }

    /// True when a condition holds; unknown is no truth.
    pub(super) fn holds(
        &self,
        condition: Option<&Expr>,
        env: &Env<'_>,
    ) -> Result<bool, TooExpensive> {
        let Some(condition) = condition else { return Ok(true) };
        Ok(self.expr(condition, env)?.truth() == Some(true))
    }
}

fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn compared(comparison: Comparison, left: &Datum, right: &Datum) -> Option<bool> {
    match comparison {
        Comparison::Distinct => return Some(left != right),
        Comparison::NotDistinct => return Some(left == right),
        _ => {}
    }
    let order = left.compare(right)?;
    Some(match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterEqual => order != Ordering::Less,
        Comparison::Distinct | Comparison::NotDistinct => unreachable!("answered above"),
    })
}

/// The truth of IN: unknown when the value is null, or is not found where nulls are.
fn is_among(value: &Datum, list: &[Datum]) -> Option<bool> {
    if list.is_empty() {
        return Some(false);
    }
    if value.is_null() {
        return None;
    }
    let has_nulls = list.iter().any(Datum::is_null);
    let is_found = list.iter().any(|item| !item.is_null() && item == value);
    if is_found || !has_nulls { Some(is_found) } else { None }
}

fn letters(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// LIKE with `!` as the escape, by trying every length for each `%`.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        ['_', rest @ ..] => text.split_first().is_some_and(|(_, text)| is_like(text, rest)),
        ['!', letter, rest @ ..] | [letter, rest @ ..] => {
            text.split_first().is_some_and(|(first, text)| first == letter && is_like(text, rest))
        }
    }
}

fn cast(value: Datum, kind: &Kind) -> Datum {
    match (value, kind) {
        (Datum::Null, _) => Datum::Null,
        (Datum::Int(value), Kind::Double) => Datum::Double(value as f64),
        (Datum::Int(value), Kind::Text) => Datum::Text(value.to_string()),
        (Datum::Bool(value), Kind::Text) => Datum::Text(value.to_string()),
        (Datum::Date(days), Kind::Text) => Datum::Text(date_text(i64::from(days))),
        (Datum::Bool(value), Kind::Int) => Datum::Int(i64::from(value)),
        (Datum::Timestamp(nanos), Kind::Date) => {
            Datum::Date(nanos.div_euclid(NANOS_PER_DAY) as i32)
        }
        (Datum::Date(days), Kind::Timestamp) => Datum::Timestamp(i64::from(days) * NANOS_PER_DAY),
        // Of the same type, and REAL to DOUBLE.
        (value, _) => value,
    }
}

/// Functions whose arguments are all evaluated.
fn called(function: Function, args: &[Datum]) -> Datum {
    let takes_nulls = matches!(function, Function::Coalesce | Function::NullIf);
    if !takes_nulls && function != Function::Contains && args.iter().any(Datum::is_null) {
        return Datum::Null;
    }
    match (function, args) {
        (Function::Coalesce, args) => {
            args.iter().find(|arg| !arg.is_null()).cloned().unwrap_or(Datum::Null)
        }
        (Function::NullIf, [a, b]) => {
            if a.compare(b) == Some(Ordering::Equal) {
                Datum::Null
            } else {
                a.clone()
            }
        }
        (Function::Greatest, args) => args.iter().max().cloned().unwrap_or(Datum::Null),
        (Function::Least, args) => args.iter().min().cloned().unwrap_or(Datum::Null),
        (Function::Plus, [Datum::Int(a), Datum::Int(b)]) => Datum::Int(a + b),
        (Function::Minus, [Datum::Int(a), Datum::Int(b)]) => Datum::Int(a - b),
        (Function::Times, [Datum::Int(a), Datum::Int(b)]) => Datum::Int(a * b),
        (Function::Divide, [Datum::Int(a), Datum::Int(b)]) => Datum::Int(a / b),
        (Function::Modulus, [Datum::Int(a), Datum::Int(b)]) => Datum::Int(a % b),
        (Function::Negate, [Datum::Int(a)]) => Datum::Int(-a),
        (Function::Abs, [Datum::Int(a)]) => Datum::Int(a.abs()),
        (Function::Plus, [Datum::Double(a), Datum::Double(b)]) => Datum::Double(a + b),
        (Function::Minus, [Datum::Double(a), Datum::Double(b)]) => Datum::Double(a - b),
        (Function::Times, [Datum::Double(a), Datum::Double(b)]) => Datum::Double(a * b),
        (Function::Negate, [Datum::Double(a)]) => Datum::Double(-a),
        (Function::Abs, [Datum::Double(a)]) => Datum::Double(a.abs()),
        (Function::Length, [Datum::Text(text)]) => Datum::Int(text.chars().count() as i64),
        (Function::Lower, [Datum::Text(text)]) => Datum::Text(text.to_lowercase()),
        (Function::Upper, [Datum::Text(text)]) => Datum::Text(text.to_uppercase()),
        (Function::Reverse, [Datum::Text(text)]) => Datum::Text(text.chars().rev().collect()),
        (Function::Trim, [Datum::Text(text)]) => Datum::Text(text.trim_matches(' ').to_string()),
        (Function::Concat, [Datum::Text(a), Datum::Text(b)]) => Datum::Text(format!("{a}{b}")),
        (Function::Substr, [Datum::Text(text), Datum::Int(first), Datum::Int(count)]) => {
            let (skipped, count) = (*first as usize - 1, *count as usize);
            Datum::Text(text.chars().skip(skipped).take(count).collect())
        }
        (Function::StartsWith, [Datum::Text(text), Datum::Text(start)]) => {
            Datum::Bool(text.as_bytes().starts_with(start.as_bytes()))
        }
        (Function::StrPos, [Datum::Text(text), Datum::Text(part)]) => {
            let (text, part) = (letters(text), letters(part));
            let found = (0..=text.len()).find(|at| text[*at..].starts_with(&part));
            Datum::Int(found.map_or(0, |at| at as i64 + 1))
        }
        (Function::Year, [point]) => Datum::Int(civil(day_of(point)).0),
        (Function::Month, [point]) => Datum::Int(civil(day_of(point)).1),
        (Function::Day, [point]) => Datum::Int(civil(day_of(point)).2),
        (Function::Cardinality, [Datum::List(items)]) => Datum::Int(items.len() as i64),
        (Function::Contains, [Datum::List(items), value]) => {
            if value.is_null() {
                Datum::Null
            } else {
                Datum::of_truth(is_among(value, items))
            }
        }
        (Function::Contains, _) => Datum::Null,
        (Function::ElementAt, [Datum::List(items), Datum::Int(place)]) => {
            let len = items.len() as i64;
            let at = if *place < 0 { len + place } else { place - 1 };
            let found = usize::try_from(at).ok().and_then(|at| items.get(at));
            found.cloned().unwrap_or(Datum::Null)
        }
        (function, args) => unreachable!("{function:?} of {args:?}"),
    }
}

fn day_of(point: &Datum) -> i64 {
    match point {
        Datum::Date(days) => i64::from(*days),
        Datum::Timestamp(nanos) => nanos.div_euclid(NANOS_PER_DAY),
        other => unreachable!("no point in time: {other:?}"),
    }
}
