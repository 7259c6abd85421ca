//! Extraction of single-column filters from a predicate (rules S4.1 to S4.10).
//!
//! ```text
//! and( gt(a, 3), or(eq(b, 1), eq(b, 2)), lt(rand(), 0.1), gt(plus(a, b), 4) )
//!        |              |                    |                 |
//!   a: [4, ..]      b: [1, 2]         sample rate 0.1     remaining
//! ```
//!
//! An AND is split into its terms. An OR becomes one filter if all of its terms test the same
//! column. A NOT negates the predicate below it. A term without an exactly equivalent filter stays
//! in the remaining expression, so the filters and the remaining expression together are equivalent
//! to the original predicate.

use vector::Value;

use super::TypedExpr;
use super::leaf_filter::{Fold, leaf_filter};
use crate::filter::Filter;
use crate::subfield::Subfield;

/// Result of the extraction from a predicate.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// One filter for each column or field, in the order in which they were found.
    pub filters: Vec<(Subfield, Filter)>,
    /// Condition that a row has to satisfy in addition; `None` if there is none.
    pub remaining: Option<TypedExpr>,
    /// Fraction of the rows that are sampled before the filters are applied, from 0 to 1.
    pub sample_rate: f64,
}

/// Extracts the filters from `expr`.
///
/// `fold` evaluates an expression without columns; it returns `None` if the expression is not
/// deterministic or fails. Columns for which `is_special` returns true, such as row numbers, are in
/// no file and get no filter (rule S4.20).
pub fn extract_filters(
    expr: &TypedExpr,
    fold: &dyn Fn(&TypedExpr) -> Option<Value>,
    is_special: &dyn Fn(&str) -> bool,
) -> Extraction {
    extract_filters_into(expr, Vec::new(), fold, is_special)
}

/// Extracts filters as [`extract_filters`] does, starting with the given filters, which come from
/// the table handle; the extracted filters are merged into them (rule S4.21).
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

/// Filters and sample rate found so far.
struct Found {
    filters: Vec<(Subfield, Filter)>,
    sample_rate: f64,
}

impl Found {
    /// Adds a filter, merging it with an existing filter of the same subfield. Returns false and
    /// changes nothing if the two cannot be merged.
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
    /// Extracts filters from `expr`, or from its negation if `negated`, and returns what remains.
    /// The remaining expression itself is not negated: the caller wraps it in the NOT.
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

    /// Returns the single filter equivalent to the disjunction of all terms. There is one only if
    /// each term converts completely, without sampling, to one filter of the same subfield (rule
    /// S4.6).
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

/// Returns the terms of an AND or OR in order, flattening arguments that are calls of the same
/// form. Iterative, because long chains are nested as deeply as they have terms.
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

/// Returns the rate of `rand() < rate`, clamped to 0..=1; other predicates do not sample (rule
/// S4.9).
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
