//! The parts of a WHERE that are filters of single columns, and the rest (rules S4.1 to S4.10).
//!
//! ```text
//! and( gt(a, 3), or(eq(b, 1), eq(b, 2)), lt(rand(), 0.1), gt(plus(a, b), 4) )
//!        |              |                    |                 |
//!   a: [4, ..]      b: [1, 2]         sample rate 0.1     remaining
//! ```
//!
//! AND is taken apart; an OR becomes one filter when all of it is about one column; NOT turns what
//! is under it into its opposite. What has no exact filter stays an expression, so the filters
//! together with the rest always say what the whole said.

use vector::Value;

use super::TypedExpr;
use super::leaf_filter::{Fold, leaf_filter};
use crate::filter::Filter;
use crate::subfield::Subfield;

/// What came out of taking a predicate apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// One filter for each column or field, in the order they were found.
    pub filters: Vec<(Subfield, Filter)>,
    /// What a row has to fulfil besides; `None` when nothing.
    pub remaining: Option<TypedExpr>,
    /// The share of rows that is let through to the filters, 0 to 1.
    pub sample_rate: f64,
}

/// Takes the filters out of `expr`.
///
/// `fold` evaluates an expression that uses no column: to `None` when it is not deterministic or
/// fails. Columns for which `is_special` holds, such as row numbers, are in no file and get no
/// filter (rule S4.20).
pub fn extract_filters(
    expr: &TypedExpr,
    fold: &dyn Fn(&TypedExpr) -> Option<Value>,
    is_special: &dyn Fn(&str) -> bool,
) -> Extraction {
    extract_filters_into(expr, Vec::new(), fold, is_special)
}

/// Like [`extract_filters`], beginning with filters that are there already (rule S4.21); those
/// found are merged with them.
pub fn extract_filters_into(
    expr: &TypedExpr,
    filters: Vec<(Subfield, Filter)>,
    fold: &dyn Fn(&TypedExpr) -> Option<Value>,
    is_special: &dyn Fn(&str) -> bool,
) -> Extraction {
    let mut found = Found { filters, sample_rate: 1.0 };
    let remaining = Extractor { fold, is_special }.extract(expr, false, &mut found);
    Extraction { filters: found.filters, remaining, sample_rate: found.sample_rate }
}

/// What was found so far.
struct Found {
    filters: Vec<(Subfield, Filter)>,
    sample_rate: f64,
}

impl Found {
    /// Adds a filter; false, with nothing changed, when it can not be merged with the one that is
    /// there.
    fn add(&mut self, subfield: Subfield, filter: Filter) -> bool {
        match self.filters.iter_mut().find(|(known, _)| *known == subfield) {
            None => self.filters.push((subfield, filter)),
            Some((_, slot)) => match filter.merge(slot) {
                Ok(merged) => *slot = merged,
                Err(_) => return false,
            },
        }
        true
    }
}

struct Extractor<'a> {
    fold: Fold<'a>,
    is_special: &'a dyn Fn(&str) -> bool,
}

impl Extractor<'_> {
    /// What is left of `expr`, of which the opposite is meant when `negated`; what is left is not
    /// negated itself: the caller has the NOT.
    fn extract(&self, expr: &TypedExpr, negated: bool, found: &mut Found) -> Option<TypedExpr> {
        let TypedExpr::Call { name, args, ty } = expr else { return Some(expr.clone()) };
        if let Some((subfield, filter)) = leaf_filter(expr, negated, self.fold)
            && !(self.is_special)(subfield.column_name())
            && found.add(subfield, filter)
        {
            return None;
        }
        match (&**name, args.as_slice()) {
            ("not", [input]) => {
                let left = self.extract(input, !negated, found)?;
                Some(TypedExpr::call(name.clone(), vec![left], ty.clone()))
            }
            ("and" | "or", _) if (&**name == "and") != negated => {
                let mut left: Vec<TypedExpr> = terms_of(expr, name)
                    .into_iter()
                    .filter_map(|term| self.extract(term, negated, found))
                    .collect();
                match left.len() {
                    0 | 1 => left.pop(),
                    _ => Some(TypedExpr::call(name.clone(), left, ty.clone())),
                }
            }
            ("and" | "or", _) => {
                let one = self.one_filter(&terms_of(expr, name), negated);
                let is_added = one.is_some_and(|(subfield, filter)| found.add(subfield, filter));
                (!is_added).then(|| expr.clone())
            }
            ("lt", [rand, rate]) if !negated => match sample_rate(rand, rate) {
                Some(rate) => {
                    found.sample_rate *= rate;
                    None
                }
                None => Some(expr.clone()),
            },
            _ => Some(expr.clone()),
        }
    }

    /// The one filter of one column that says what any of the terms says (rule S4.6).
    fn one_filter(&self, terms: &[&TypedExpr], negated: bool) -> Option<(Subfield, Filter)> {
        let mut common: Option<Subfield> = None;
        let mut filters = Vec::with_capacity(terms.len());
        for term in terms {
            let mut found = Found { filters: Vec::new(), sample_rate: 1.0 };
            let left = self.extract(term, negated, &mut found);
            let (None, Some((subfield, filter)), true) =
                (left, found.filters.pop(), found.filters.is_empty())
            else {
                return None;
            };
            if found.sample_rate != 1.0 || common.as_ref().is_some_and(|c| *c != subfield) {
                return None;
            }
            common = Some(subfield);
            filters.push(filter);
        }
        Some((common?, Filter::any_of(&filters)?))
    }
}

/// The terms of an AND or OR whose arguments may be the same call again, in order. Long chains
/// are nested that deep, so this is no recursion.
fn terms_of<'a>(expr: &'a TypedExpr, form: &str) -> Vec<&'a TypedExpr> {
    let mut terms = Vec::new();
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match expr {
            TypedExpr::Call { name, args, .. } if **name == *form => rest.extend(args.iter().rev()),
            term => terms.push(term),
        }
    }
    terms
}

/// The rate of `rand() < rate` (rule S4.9).
fn sample_rate(rand: &TypedExpr, rate: &TypedExpr) -> Option<f64> {
    match (rand, rate) {
        (
            TypedExpr::Call { name, args, .. },
            TypedExpr::Constant { value: Value::Double(rate), .. },
        ) if &**name == "rand" && args.is_empty() && !rate.is_nan() => Some(rate.clamp(0.0, 1.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
