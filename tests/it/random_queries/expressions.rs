//! Random expressions: conditions and values that fail for no row.
//!
//! Integers are computed with remainders of a small number, so that nothing overflows; divisors are
//! constants or made null where they are zero; doubles are added and doubled, which keeps them exact.

use std::rc::Rc;

use super::ast::{Comparison, Expr, Function};
use super::queries::Generator;
use super::tables::random_value;
use super::values::{Datum, Kind};
use crate::random_files::one_of;

/// What an expression may use.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) columns: Vec<ScopeColumn>,
    /// True where subqueries are allowed.
    pub(super) takes_subqueries: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ScopeColumn {
    pub(super) expr: Expr,
    pub(super) kind: Kind,
    /// Known values of the column, from which conditions choose.
    pub(super) samples: Rc<Vec<Datum>>,
}

const ORDERINGS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::GreaterEqual,
];

const DISTINCTIONS: [Comparison; 2] = [Comparison::Distinct, Comparison::NotDistinct];

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

fn number(value: i64) -> Expr {
    Expr::Literal(Datum::Int(value), Kind::Int)
}

fn call(function: Function, args: Vec<Expr>, kind: Kind) -> Expr {
    Expr::Call(function, args, kind)
}

impl Generator<'_> {
    /// A condition of about this depth.
    pub(super) fn condition(&mut self, scope: &Scope, depth: u32) -> Expr {
        if depth == 0 || self.random.once_in(3) {
            return self.term(scope);
        }
        let terms = |this: &mut Self| {
            let count = 2 + this.random.below(2);
            (0..count).map(|_| this.condition(scope, depth - 1)).collect()
        };
        match self.random.below(9) {
            0 | 1 => Expr::And(terms(self)),
            2..=5 => Expr::Or(terms(self)),
            6 => Expr::Not(boxed(self.condition(scope, depth - 1))),
            7 => {
                let input = boxed(self.condition(scope, depth - 1));
                Expr::IsTruth {
                    input,
                    truth: self.random.once_in(2),
                    negated: self.random.once_in(2),
                }
            }
            _ => self.case(scope, &Kind::Bool, depth - 1),
        }
    }

    /// A condition without AND and OR.
    fn term(&mut self, scope: &Scope) -> Expr {
        if scope.takes_subqueries && self.depth > 0 && self.random.once_in(4) {
            return self.subquery_condition(scope);
        }
        let Some(column) = self.column(scope) else {
            return Expr::Literal(Datum::Bool(self.random.once_in(2)), Kind::Bool);
        };
        let negated = self.random.once_in(3);
        if self.random.once_in(8) {
            return Expr::IsNull { input: boxed(column.expr), negated };
        }
        let (mut input, mut kind) = (column.expr.clone(), column.kind.clone());
        match &column.kind {
            Kind::List(item) => {
                if self.random.once_in(3) {
                    let value = self.literal(&Kind::Int, &[]);
                    return call(Function::Contains, vec![input, value], Kind::Bool);
                }
                (input, kind) = if self.random.once_in(2) {
                    (call(Function::Cardinality, vec![input], Kind::Int), Kind::Int)
                } else {
                    let place = one_of(self.random, &[1, 2, -1]);
                    let item = (**item).clone();
                    (call(Function::ElementAt, vec![input, number(place)], item.clone()), item)
                };
            }
            Kind::Row(kinds) => {
                let field = self.random.below(kinds.len() as u64) as usize;
                kind = kinds[field].clone();
                input = Expr::Field(boxed(input), field, kind.clone());
            }
            Kind::Map(..) => return Expr::IsNull { input: boxed(input), negated },
            _ => {
                if self.random.once_in(3) {
                    input = self.value(scope, &kind, 2);
                }
            }
        }
        self.test(scope, input, &kind, &column.samples)
    }

    /// A test of a value of a scalar type.
    fn test(&mut self, scope: &Scope, input: Expr, kind: &Kind, samples: &[Datum]) -> Expr {
        let negated = self.random.once_in(3);
        let input_of = boxed(input.clone());
        match self.random.below(12) {
            0..=3 => {
                let right = self.literal(kind, samples);
                Expr::Compare(one_of(self.random, &ORDERINGS), input_of, boxed(right))
            }
            4 => {
                let right = self.value(scope, kind, 1);
                Expr::Compare(one_of(self.random, &ORDERINGS), input_of, boxed(right))
            }
            5 => {
                let right = self.value(scope, kind, 1);
                Expr::Compare(one_of(self.random, &DISTINCTIONS), input_of, boxed(right))
            }
            6 | 7 => {
                let mut bounds = [self.literal(kind, samples), self.literal(kind, samples)];
                if let [Expr::Literal(low, _), Expr::Literal(high, _)] = &bounds
                    && low > high
                    && !self.random.once_in(8)
                {
                    bounds.reverse();
                }
                let [low, high] = bounds.map(boxed);
                Expr::Between { input: input_of, low, high, negated }
            }
            8 | 9 => {
                let count = 1 + self.random.below(4);
                let mut list: Vec<Expr> = (0..count).map(|_| self.literal(kind, samples)).collect();
                if self.random.once_in(8) {
                    list.push(Expr::Literal(Datum::Null, kind.clone()));
                }
                if self.random.once_in(8) {
                    list.push(self.value(scope, kind, 1));
                }
                Expr::InList { input: input_of, list, negated }
            }
            10 if *kind == Kind::Text => {
                let patterns = [
                    "a%", "%b", "%a%", "_", "__", "a_c", "%", "", "abc", "!%%", "%!_%", "a%c%",
                    "%é_", "a% %_",
                ];
                let pattern = one_of(self.random, &patterns).to_string();
                Expr::Like { input: input_of, pattern, negated }
            }
            11 if *kind == Kind::Text => {
                let start = self.literal(kind, samples);
                call(Function::StartsWith, vec![input, start], Kind::Bool)
            }
            10 | 11 if *kind == Kind::Bool => input,
            _ => Expr::IsNull { input: input_of, negated },
        }
    }

    /// A value of a type that has literals, of about this depth.
    pub(super) fn value(&mut self, scope: &Scope, kind: &Kind, depth: u32) -> Expr {
        if depth == 0 || self.random.once_in(3) {
            return self.leaf(scope, kind);
        }
        if scope.takes_subqueries
            && self.depth > 0
            && self.random.once_in(8)
            && let Some(found) = self.scalar_subquery(scope, kind)
        {
            return found;
        }
        let below = depth - 1;
        match self.random.below(6) {
            0 => self.case(scope, kind, below),
            1 => {
                let count = 2 + self.random.below(2);
                let args = (0..count).map(|_| self.value(scope, kind, below)).collect();
                call(Function::Coalesce, args, kind.clone())
            }
            2 => {
                let args = vec![self.value(scope, kind, below), self.value(scope, kind, below)];
                let functions = [Function::NullIf, Function::Greatest, Function::Least];
                call(one_of(self.random, &functions), args, kind.clone())
            }
            _ => self.computed(scope, kind, below),
        }
    }

    fn case(&mut self, scope: &Scope, kind: &Kind, depth: u32) -> Expr {
        if self.random.once_in(2) {
            let condition = self.condition(scope, depth.min(1));
            let args =
                vec![condition, self.value(scope, kind, depth), self.value(scope, kind, depth)];
            return call(Function::If, args, kind.clone());
        }
        let count = 1 + self.random.below(2);
        let branch =
            |this: &mut Self| (this.condition(scope, depth.min(1)), this.value(scope, kind, depth));
        let branches = (0..count).map(|_| branch(self)).collect();
        let default = (!self.random.once_in(3)).then(|| boxed(self.value(scope, kind, depth)));
        Expr::Case { branches, default, kind: kind.clone() }
    }

    /// What functions and operators of the type make.
    fn computed(&mut self, scope: &Scope, kind: &Kind, depth: u32) -> Expr {
        let kind_of = kind.clone();
        match kind {
            Kind::Bool => self.condition(scope, depth),
            Kind::Int => match self.random.below(12) {
                0..=2 => {
                    let args = vec![self.small(scope, depth), self.small(scope, depth)];
                    let functions = [Function::Plus, Function::Minus, Function::Times];
                    call(one_of(self.random, &functions), args, kind_of)
                }
                3 => {
                    let divisor = self.small(scope, depth);
                    let divisor = call(Function::NullIf, vec![divisor, number(0)], Kind::Int);
                    let function = one_of(self.random, &[Function::Divide, Function::Modulus]);
                    call(function, vec![self.small(scope, depth), divisor], kind_of)
                }
                4 => {
                    let divisor = one_of(self.random, &[2, 3, 7, -5]);
                    call(Function::Divide, vec![self.small(scope, depth), number(divisor)], kind_of)
                }
                5 => {
                    let function = one_of(self.random, &[Function::Negate, Function::Abs]);
                    call(function, vec![self.small(scope, depth)], kind_of)
                }
                6 | 7 => {
                    let text = self.value(scope, &Kind::Text, depth);
                    call(Function::Length, vec![text], kind_of)
                }
                8 => {
                    let text = self.value(scope, &Kind::Text, depth);
                    let part = Datum::Text(one_of(self.random, &["a", "ab", "é", " "]).to_string());
                    let part = Expr::Literal(part, Kind::Text);
                    call(Function::StrPos, vec![text, part], kind_of)
                }
                9 => {
                    let point = one_of(self.random, &[0, 1]);
                    let point = if point == 0 { Kind::Date } else { Kind::Timestamp };
                    let point = self.value(scope, &point, depth);
                    let functions = [Function::Year, Function::Month, Function::Day];
                    call(one_of(self.random, &functions), vec![point], kind_of)
                }
                10 => Expr::Cast(boxed(self.condition(scope, depth.min(1))), kind_of),
                _ => self.small(scope, depth),
            },
            Kind::Double => match self.random.below(5) {
                0 => {
                    let args = vec![self.leaf(scope, kind), self.leaf(scope, kind)];
                    let function = one_of(self.random, &[Function::Plus, Function::Minus]);
                    call(function, args, kind_of)
                }
                1 => {
                    let factor = one_of(self.random, &[0.5, 2.0, -1.0]);
                    let factor = Expr::Literal(Datum::Double(factor), Kind::Double);
                    call(Function::Times, vec![self.leaf(scope, kind), factor], kind_of)
                }
                2 => {
                    let function = one_of(self.random, &[Function::Negate, Function::Abs]);
                    call(function, vec![self.leaf(scope, kind)], kind_of)
                }
                3 => Expr::Cast(boxed(self.leaf(scope, &Kind::Real)), kind_of),
                _ => Expr::Cast(boxed(self.small(scope, depth)), kind_of),
            },
            Kind::Text => match self.random.below(8) {
                0 => {
                    let args = vec![self.leaf(scope, kind), self.value(scope, kind, depth)];
                    call(Function::Concat, args, kind_of)
                }
                1 | 2 => {
                    let (first, count) = (1 + self.random.below(4), self.random.below(5));
                    let (first, count) = (number(first as i64), number(count as i64));
                    let text = self.value(scope, kind, depth);
                    call(Function::Substr, vec![text, first, count], kind_of)
                }
                3..=5 => {
                    let functions =
                        [Function::Lower, Function::Upper, Function::Reverse, Function::Trim];
                    let text = self.value(scope, kind, depth);
                    call(one_of(self.random, &functions), vec![text], kind_of)
                }
                6 => Expr::Cast(boxed(self.small(scope, depth)), kind_of),
                _ => Expr::Cast(boxed(self.leaf(scope, &Kind::Date)), kind_of),
            },
            Kind::Date => Expr::Cast(boxed(self.leaf(scope, &Kind::Timestamp)), kind_of),
            Kind::Timestamp => Expr::Cast(boxed(self.leaf(scope, &Kind::Date)), kind_of),
            _ => self.leaf(scope, kind),
        }
    }

    /// An integer of few digits, as BIGINT.
    pub(super) fn small(&mut self, scope: &Scope, depth: u32) -> Expr {
        let divisor = one_of(self.random, &[2, 3, 10, 97, 1_000]);
        let value = self.value(scope, &Kind::Int, depth);
        let rest = call(Function::Modulus, vec![value, number(divisor)], Kind::Int);
        Expr::Cast(boxed(rest), Kind::Int)
    }

    /// A column of the type, or a literal.
    fn leaf(&mut self, scope: &Scope, kind: &Kind) -> Expr {
        let columns: Vec<&ScopeColumn> =
            scope.columns.iter().filter(|column| column.kind == *kind).collect();
        if columns.is_empty() || self.random.once_in(6) {
            let samples = columns.first().map(|column| Rc::clone(&column.samples));
            return self.literal(kind, samples.as_ref().map_or(&[], |samples| samples));
        }
        columns[self.random.below(columns.len() as u64) as usize].expr.clone()
    }

    /// A literal, mostly a value that the column has; seldom null.
    fn literal(&mut self, kind: &Kind, samples: &[Datum]) -> Expr {
        if self.random.once_in(25) {
            return Expr::Literal(Datum::Null, kind.clone());
        }
        let mut value = random_value(kind, None, self.random.once_in(3), self.random);
        if !samples.is_empty() && !self.random.once_in(4) {
            let sample = &samples[self.random.below(samples.len() as u64) as usize];
            let same_type = std::mem::discriminant(sample) == std::mem::discriminant(&value);
            if same_type {
                value = sample.clone();
            }
        }
        Expr::Literal(value, kind.clone())
    }

    /// Any column.
    pub(super) fn column(&mut self, scope: &Scope) -> Option<ScopeColumn> {
        let count = scope.columns.len() as u64;
        (count > 0).then(|| scope.columns[self.random.below(count) as usize].clone())
    }
}
