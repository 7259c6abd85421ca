//! Metadata filters: conditions on several columns, evaluated against statistics (rules S4.32 to
//! S4.38).
//!
//! The conjuncts that remain after filter extraction cannot drop rows while columns are read. They
//! can still prove that a unit of rows, such as a row group, contains no row that passes:
//!
//! ```text
//! or(eq(a, 1), and(gt(b, 5), like(c, 'x%')))      a in 10..20, b in 0..3
//!    |               |       (not convertible)
//!   Or( a = 1,  And( b > 5 ))                     none, none -> the rows are not read
//! ```
//!
//! An argument of an AND that cannot be converted is omitted; an argument of an OR that cannot be
//! converted makes the whole OR unconvertible. The metadata filter never evaluates rows: the
//! remaining filter still runs on every row that is read (rule S4.37).

use vector::sync::Arc;
use vector::{Bitmap, Error, Result, Type, Value};

use crate::expr::TypedExpr;
use crate::expr::leaf_filter::{Fold, leaf_filter};
use crate::filter::Filter;
use crate::stats::{ColumnStatistics, Match, may_match};
use crate::subfield::Subfield;

/// A condition expressed through filters on single columns.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataFilter {
    root: Node,
    leaves: Vec<MetadataLeaf>,
}

/// Returns the statistics of a column in a unit and the type of the column in the file; `None` if
/// there are none.
pub type UnitStatistics<'a> = &'a dyn Fn(&Subfield, usize) -> Option<(ColumnStatistics, Type)>;

/// One filter on one column or field, identified by its position among the leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataLeaf {
    /// Column or field that the filter tests.
    pub subfield: Subfield,
    /// Filter on the column or field.
    pub filter: Arc<Filter>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Leaf(usize),
}

impl MetadataFilter {
    /// Converts `expr` to a metadata filter; returns `None` if no part of it can be converted.
    /// `fold` evaluates an expression without columns. Columns for which `is_special` returns true
    /// have no statistics. Both work as in
    /// [`extract_filters`](crate::expr::to_filter::extract_filters).
    pub fn new(
        expr: &TypedExpr,
        fold: &dyn Fn(&TypedExpr) -> Option<Value>,
        is_special: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let mut builder = Builder { fold, is_special, leaves: Vec::new() };
        let root = builder.node(expr, false)?;
        Some(MetadataFilter { root, leaves: builder.leaves })
    }

    /// Returns the filters for which a format supplies results.
    pub fn leaves(&self) -> &[MetadataLeaf] {
        &self.leaves
    }

    /// Returns a bit for each unit (row group or page), set if the unit has no row for which the
    /// condition holds; `None` if nothing is known. `answers` has one entry for each leaf: the bits
    /// of the units in which no row passes the leaf, or `None` if unknown.
    ///
    /// # Errors
    /// `Internal` if the number of entries or the length of a bitmap does not match.
    pub fn excluded(&self, num_units: usize, answers: &[Option<Bitmap>]) -> Result<Option<Bitmap>> {
        let fits = |bits: &Bitmap| bits.len() == num_units;
        if answers.len() != self.leaves.len() || !answers.iter().flatten().all(fits) {
            return Err(Error::internal("a metadata filter got other answers than it has leaves")
                .with("leaves", self.leaves.len())
                .with("answers", answers.len())
                .with("units", num_units));
        }
        Ok(self.root.excluded(num_units, answers))
    }

    /// Evaluates [`MetadataFilter::excluded`] with results computed from statistics. `statistics`
    /// returns those of a column in a unit and the type of the column in the file.
    ///
    /// # Errors
    /// `Internal` if the number of results does not match the leaves.
    pub fn excluded_by(
        &self,
        num_units: usize,
        statistics: UnitStatistics<'_>,
    ) -> Result<Option<Bitmap>> {
        let answer = |leaf: &MetadataLeaf| {
            let mut is_known = false;
            let none_match = |unit: usize| {
                let Some((stats, ty)) = statistics(&leaf.subfield, unit) else { return false };
                is_known = true;
                may_match(&leaf.filter, &stats, &ty) == Match::None
            };
            let bits: Bitmap = (0..num_units).map(none_match).collect();
            is_known.then_some(bits)
        };
        let answers: Vec<_> = self.leaves.iter().map(answer).collect();
        self.excluded(num_units, &answers)
    }
}

impl Node {
    fn excluded(&self, num_units: usize, answers: &[Option<Bitmap>]) -> Option<Bitmap> {
        let children = |nodes: &[Node]| -> Vec<Option<Bitmap>> {
            nodes.iter().map(|node| node.excluded(num_units, answers)).collect()
        };
        match self {
            Node::Leaf(i) => answers.get(*i).cloned().flatten(),
            Node::And(nodes) => {
                // One argument that never holds excludes the unit; unknown arguments are ignored.
                let known: Vec<Bitmap> = children(nodes).into_iter().flatten().collect();
                let any = |unit| known.iter().any(|bits| bits.get(unit));
                (!known.is_empty()).then(|| (0..num_units).map(any).collect())
            }
            Node::Or(nodes) => {
                let known: Option<Vec<Bitmap>> = children(nodes).into_iter().collect();
                let known = known?;
                let all = |unit| known.iter().all(|bits| bits.get(unit));
                Some((0..num_units).map(all).collect())
            }
        }
    }
}

struct Builder<'a> {
    fold: Fold<'a>,
    is_special: &'a dyn Fn(&str) -> bool,
    leaves: Vec<MetadataLeaf>,
}

impl Builder<'_> {
    /// Converts `expr`, or its negation if `negated`. AND and OR are swapped under negation, an AND
    /// omits the arguments that cannot be converted, and an OR with such an argument is not
    /// converted (rule S4.33).
    fn node(&mut self, expr: &TypedExpr, negated: bool) -> Option<Node> {
        let TypedExpr::Call { name, args, .. } = expr else { return None };
        match (&**name, args.as_slice()) {
            ("not", [input]) => self.node(input, !negated),
            ("and" | "or", args) if (&**name == "and") != negated => {
                let mut nodes: Vec<Node> =
                    args.iter().filter_map(|arg| self.node(arg, negated)).collect();
                if nodes.len() < 2 { nodes.pop() } else { Some(Node::And(nodes)) }
            }
            ("and" | "or", args) => {
                let num_leaves = self.leaves.len();
                let nodes: Option<Vec<Node>> =
                    args.iter().map(|arg| self.node(arg, negated)).collect();
                let Some(mut nodes) = nodes else {
                    // The leaves of an OR that is not converted are unused.
                    self.leaves.truncate(num_leaves);
                    return None;
                };
                if nodes.len() < 2 { nodes.pop() } else { Some(Node::Or(nodes)) }
            }
            _ => {
                let (subfield, filter) = leaf_filter(expr, negated, self.fold)?;
                if (self.is_special)(subfield.column_name()) {
                    return None;
                }
                self.leaves.push(MetadataLeaf { subfield, filter: Arc::new(filter) });
                Some(Node::Leaf(self.leaves.len() - 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> TypedExpr {
        TypedExpr::field(name, Type::BigInt)
    }

    fn compare(name: &str, left: &str, right: i64) -> TypedExpr {
        let right = TypedExpr::constant(Value::BigInt(right), Type::BigInt);
        call(name, vec![column(left), right])
    }

    fn call(name: &str, args: Vec<TypedExpr>) -> TypedExpr {
        TypedExpr::call(name, args, Type::Boolean)
    }

    fn odd() -> TypedExpr {
        call("eq", vec![column("a"), column("b")])
    }

    fn built(expr: &TypedExpr) -> Option<MetadataFilter> {
        MetadataFilter::new(expr, &|_| None, &|name| name == "special")
    }

    fn leaves(expr: &TypedExpr) -> Vec<String> {
        let leaves = built(expr).map(|f| f.leaves).unwrap_or_default();
        leaves.iter().map(|l| l.subfield.to_string()).collect()
    }

    fn bits(bits: &[u8]) -> Option<Bitmap> {
        Some(bits.iter().map(|b| *b == 1).collect())
    }

    #[test]
    fn s4_33_conjunctions_leave_out_what_disjunctions_need() {
        let (a, b) = (compare("eq", "a", 1), compare("gt", "b", 5));
        assert_eq!(leaves(&call("and", vec![a.clone(), odd(), b.clone()])), ["a", "b"]);
        assert_eq!(leaves(&call("and", vec![odd(), a.clone()])), ["a"]);
        assert_eq!(leaves(&call("or", vec![a.clone(), odd()])), [] as [&str; 0]);
        let inner = call("and", vec![b.clone(), odd()]);
        assert_eq!(leaves(&call("or", vec![a.clone(), inner])), ["a", "b"]);
        assert!(built(&odd()).is_none() && built(&column("a")).is_none());
        assert!(built(&compare("eq", "special", 1)).is_none());
        // An OR that was not converted leaves no leaves behind.
        let half = call("or", vec![a.clone(), odd()]);
        assert_eq!(leaves(&call("and", vec![half, b])), ["b"]);
    }

    #[test]
    fn s4_33_under_not_and_and_or_change_places() {
        let (a, b) = (compare("lt", "a", 1), compare("gt", "b", 5));
        let not = |name, args| call("not", vec![call(name, args)]);
        let neither = built(&not("or", vec![a.clone(), b.clone()])).unwrap();
        assert!(matches!(neither.root, Node::And(_)));
        assert_eq!(*neither.leaves[0].filter, Filter::bigint_range(1, i64::MAX, false));
        let not_both = built(&not("and", vec![a.clone(), b.clone()])).unwrap();
        assert!(matches!(not_both.root, Node::Or(_)));
        assert!(built(&not("and", vec![a, odd()])).is_none());
        assert!(matches!(built(&not("not", vec![b])).unwrap().root, Node::Leaf(0)));
    }

    #[test]
    fn s4_35_and_excludes_by_any_known_answer_and_or_by_all() {
        let (a, b) = (compare("eq", "a", 1), compare("gt", "b", 5));
        let both = built(&call("and", vec![a.clone(), b.clone()])).unwrap();
        let (x, y) = (bits(&[1, 1, 0, 0]), bits(&[1, 0, 1, 0]));
        let excluded = |f: &MetadataFilter, x: &Option<Bitmap>, y: &Option<Bitmap>| {
            let found = f.excluded(4, &[x.clone(), y.clone()]).unwrap();
            found.map(|bits| (0..4).map(|i| u8::from(bits.get(i))).collect::<Vec<u8>>())
        };
        assert_eq!(excluded(&both, &x, &y), Some(vec![1, 1, 1, 0]));
        assert_eq!(excluded(&both, &None, &y), Some(vec![1, 0, 1, 0]));
        assert_eq!(excluded(&both, &None, &None), None);
        let either = built(&call("or", vec![a, b])).unwrap();
        assert_eq!(excluded(&either, &x, &y), Some(vec![1, 0, 0, 0]));
        assert_eq!(excluded(&either, &x, &None), None);
        assert!(either.excluded(4, &[x.clone(), bits(&[1])]).is_err());
        assert!(either.excluded(4, &[x]).is_err());
    }

    /// A leaf needs no column of the scan, and the metadata filter excludes whole units, never
    /// single rows (rules S4.34, S4.37).
    #[test]
    fn s4_36_units_without_statistics_are_kept() {
        let (a, b) = (compare("eq", "a", 1), compare("gt", "b", 5));
        let either = built(&call("or", vec![a, b])).unwrap();
        let statistics = |subfield: &Subfield, unit: usize| {
            let range = match (subfield.column_name(), unit) {
                ("a", 0) => (10, 20),
                ("a", _) => (0, 20),
                ("b", 2) => return None,
                _ => (0, 3),
            };
            let stats = ColumnStatistics {
                min: Some(Value::BigInt(range.0)),
                max: Some(Value::BigInt(range.1)),
                ..ColumnStatistics::default()
            };
            Some((stats, Type::BigInt))
        };
        let excluded = either.excluded_by(3, &statistics).unwrap().unwrap();
        assert_eq!((0..3).map(|i| excluded.get(i)).collect::<Vec<_>>(), [true, false, false]);
        assert!(either.excluded_by(3, &|_, _| None).unwrap().is_none());
    }
}
