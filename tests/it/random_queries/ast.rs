//! The syntax of random queries: printed by `print`, evaluated by `evaluate` and `rows`.
//!
//! Each relation of a statement has a number of its own, also across subqueries, and columns are
//! numbered within their relation, so that a column means the same wherever it is used.

use super::values::{Datum, Kind};

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Expr {
    Literal(Datum, Kind),
    Column {
        relation: usize,
        column: usize,
        kind: Kind,
    },
    /// A key of the groups that the query makes, by its position.
    Key(usize, Kind),
    /// An aggregate over the groups that the query makes, by its position.
    Aggregate(usize, Kind),
    /// A field of a row.
    Field(Box<Expr>, usize, Kind),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    IsNull {
        input: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE` and `IS [NOT] FALSE`.
    IsTruth {
        input: Box<Expr>,
        truth: bool,
        negated: bool,
    },
    Between {
        input: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        input: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    /// A pattern, in which `!` escapes.
    Like {
        input: Box<Expr>,
        pattern: String,
        negated: bool,
    },
    Case {
        branches: Vec<(Expr, Expr)>,
        default: Option<Box<Expr>>,
        kind: Kind,
    },
    Call(Function, Vec<Expr>, Kind),
    Cast(Box<Expr>, Kind),
    Exists {
        query: Box<Query>,
        negated: bool,
    },
    InQuery {
        input: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    /// The one value of a query, null without a row.
    Scalar(Box<Query>, Kind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Distinct,
    NotDistinct,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Plus,
    Minus,
    Times,
    /// Of integers, by one that is not zero.
    Divide,
    /// Of integers, by one that is not zero.
    Modulus,
    Negate,
    Abs,
    Length,
    Lower,
    Upper,
    Reverse,
    Trim,
    /// Text, first letter from 1 on, number of letters.
    Substr,
    Concat,
    StartsWith,
    StrPos,
    Year,
    Month,
    Day,
    Coalesce,
    NullIf,
    If,
    Greatest,
    Least,
    Cardinality,
    Contains,
    ElementAt,
}

/// A statement, or a query inside of one. Its columns are called `c0`, `c1`, ...
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) body: Body,
    pub(super) order: Vec<SortKey>,
    /// Rows at most, behind the first `offset`.
    pub(super) limit: Option<u64>,
    pub(super) offset: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Select(Box<Select>),
    Set { operation: SetOperation, all: bool, left: Box<Query>, right: Box<Query> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetOperation {
    Union,
    Intersect,
    Except,
}

#[derive(Debug, Clone)]
pub(super) struct SortKey {
    /// A column of the result.
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Select {
    pub(super) distinct: bool,
    pub(super) items: Vec<Expr>,
    pub(super) from: Vec<FromItem>,
    pub(super) filter: Option<Expr>,
    pub(super) group: Option<Group>,
}

#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) keys: Vec<Expr>,
    pub(super) aggregates: Vec<AggregateCall>,
    pub(super) having: Option<Expr>,
}

#[derive(Debug, Clone)]
pub(super) struct AggregateCall {
    pub(super) function: Aggregate,
    /// None for `count(*)`.
    pub(super) input: Option<Expr>,
    pub(super) distinct: bool,
    pub(super) filter: Option<Expr>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Count,
    CountIf,
    Sum,
    Avg,
    Min,
    Max,
    BoolAnd,
    BoolOr,
}

/// A relation, and how it is joined to those before it; of the first one that is `Cross`.
#[derive(Debug, Clone)]
pub(super) struct FromItem {
    pub(super) relation: usize,
    pub(super) source: Source,
    pub(super) join: JoinKind,
    /// None for cross joins only.
    pub(super) on: Option<Expr>,
}

#[derive(Debug, Clone)]
pub(super) enum Source {
    Table(usize),
    Query(Box<Query>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinKind {
    Cross,
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
    RightSemi,
    RightAnti,
}

impl Expr {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Expr::Literal(_, kind)
            | Expr::Column { kind, .. }
            | Expr::Key(_, kind)
            | Expr::Aggregate(_, kind)
            | Expr::Field(_, _, kind)
            | Expr::Case { kind, .. }
            | Expr::Call(_, _, kind)
            | Expr::Cast(_, kind)
            | Expr::Scalar(_, kind) => kind.clone(),
            _ => Kind::Bool,
        }
    }
}

impl Query {
    /// The types of the columns.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        match &self.body {
            Body::Select(select) => select.items.iter().map(Expr::kind).collect(),
            Body::Set { left, .. } => left.kinds(),
        }
    }

    /// A query without order and limit.
    pub(super) fn of(body: Body) -> Query {
        Query { body, order: Vec::new(), limit: None, offset: 0 }
    }
}
