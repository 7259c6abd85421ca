//! Random queries as SQL, for this engine and for DuckDB.
//!
//! | expression | here | DuckDB |
//! |---|---|---|
//! | quotient of integers | `a / b` | `a // b` |
//! | `greatest`, `least` | null when an argument is | nulls are left out: a CASE around |
//! | `cardinality(list)` | the same | `len(list)` |
//! | `contains(list, x)` | unknown where nulls are in the list | no such truth: not portable |
//! | `RIGHT SEMI JOIN`, `RIGHT ANTI JOIN` | the same | not there: not portable |
//! | `count_if(x)` | 0 without a row | null without a row: a count of a CASE |
//! | average of decimals | DECIMAL | DOUBLE: not portable |

use std::cell::Cell;

use super::ast::{
    Aggregate, AggregateCall, Body, Comparison, Expr, FromItem, Function, Group, JoinKind, Query,
    Select, SetOperation, Source,
};
use super::values::Kind;

/// The dialect in which SQL is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Ocior,
    DuckDb,
}

/// Returns a query in the SQL of this engine; `tables` are the paths of the tables.
pub(super) fn sql(query: &Query, tables: &[String]) -> String {
    Printer { dialect: Dialect::Ocior, tables, is_portable: Cell::new(true) }.query(query)
}

/// A query in DuckDB's SQL; `None` when it has something that DuckDB lacks or means otherwise.
pub(super) fn duckdb_sql(query: &Query, tables: &[String]) -> Option<String> {
    let printer = Printer { dialect: Dialect::DuckDb, tables, is_portable: Cell::new(true) };
    let sql = printer.query(query);
    printer.is_portable.get().then_some(sql)
}

struct Printer<'a> {
    dialect: Dialect,
    tables: &'a [String],
    is_portable: Cell<bool>,
}

impl Printer<'_> {
    fn query(&self, query: &Query) -> String {
        let mut text = match &query.body {
            Body::Select(select) => self.select(select),
            Body::Set { operation, all, left, right } => {
                let word = match operation {
                    SetOperation::Union => "UNION",
                    SetOperation::Intersect => "INTERSECT",
                    SetOperation::Except => "EXCEPT",
                };
                let all = if *all { " ALL" } else { "" };
                format!("({}) {word}{all} ({})", self.query(left), self.query(right))
            }
        };
        let keys = query.order.iter().map(|key| {
            let direction = if key.descending { "DESC" } else { "ASC" };
            let nulls = if key.nulls_first { "FIRST" } else { "LAST" };
            format!("{} {direction} NULLS {nulls}", key.column + 1)
        });
        let keys: Vec<String> = keys.collect();
        if !keys.is_empty() {
            text += &format!(" ORDER BY {}", keys.join(", "));
        }
        if let Some(limit) = query.limit {
            text += &format!(" LIMIT {limit}");
        }
        if query.offset > 0 {
            text += &format!(" OFFSET {}", query.offset);
        }
        text
    }

    fn select(&self, select: &Select) -> String {
        let group = select.group.as_ref();
        let items = select.items.iter().enumerate();
        let items: Vec<String> =
            items.map(|(i, item)| format!("{} AS c{i}", self.expr(item, group))).collect();
        let distinct = if select.distinct { "DISTINCT " } else { "" };
        let mut text = format!("SELECT {distinct}{} FROM ", items.join(", "));
        for (i, item) in select.from.iter().enumerate() {
            text += &self.source_item(item, i == 0);
        }
        if let Some(filter) = &select.filter {
            text += &format!(" WHERE {}", self.expr(filter, None));
        }
        if let Some(group) = group {
            if !group.keys.is_empty() {
                text += &format!(" GROUP BY {}", self.list(&group.keys, None));
            }
            if let Some(having) = &group.having {
                text += &format!(" HAVING {}", self.expr(having, Some(group)));
            }
        }
        text
    }

    fn source_item(&self, item: &FromItem, is_first: bool) -> String {
        let source = match &item.source {
            Source::Table(table) => match self.dialect {
                Dialect::Ocior => format!("'{}'", self.tables[*table]),
                Dialect::DuckDb => self.tables[*table].clone(),
            },
            Source::Query(query) => format!("({})", self.query(query)),
        };
        let relation = format!("{source} r{}", item.relation);
        if is_first {
            return relation;
        }
        let word = match item.join {
            JoinKind::Cross => "CROSS JOIN",
            JoinKind::Inner => "JOIN",
            JoinKind::Left => "LEFT JOIN",
            JoinKind::Right => "RIGHT JOIN",
            JoinKind::Full => "FULL JOIN",
            JoinKind::Semi => "SEMI JOIN",
            JoinKind::Anti => "ANTI JOIN",
            JoinKind::RightSemi => "RIGHT SEMI JOIN",
            JoinKind::RightAnti => "RIGHT ANTI JOIN",
        };
        if matches!(item.join, JoinKind::RightSemi | JoinKind::RightAnti) {
            self.is_portable.set(false);
        }
        let on = item.on.as_ref().map(|on| format!(" ON {}", self.expr(on, None)));
        format!(" {word} {relation}{}", on.unwrap_or_default())
    }

    fn list(&self, exprs: &[Expr], group: Option<&Group>) -> String {
        exprs.iter().map(|expr| self.expr(expr, group)).collect::<Vec<_>>().join(", ")
    }

    fn expr(&self, expr: &Expr, group: Option<&Group>) -> String {
        let of = |expr: &Expr| self.expr(expr, group);
        let not = |negated: bool| if negated { "NOT " } else { "" };
        let joined = |terms: &[Expr], word: &str| {
            let terms: Vec<String> = terms.iter().map(of).collect();
            format!("({})", terms.join(word))
        };
        match expr {
            Expr::Literal(value, kind) => value.literal(kind),
            Expr::Column { relation, column, .. } => format!("r{relation}.c{column}"),
            Expr::Key(key, _) => {
                group.map_or_else(|| unreachable!("no groups"), |g| self.expr(&g.keys[*key], None))
            }
            Expr::Aggregate(i, _) => {
                group.map_or_else(|| unreachable!("no groups"), |g| self.call_of(&g.aggregates[*i]))
            }
            Expr::Field(input, field, _) => format!("{}.f{field}", of(input)),
            Expr::Not(input) => format!("(NOT {})", of(input)),
            Expr::And(terms) => joined(terms, " AND "),
            Expr::Or(terms) => joined(terms, " OR "),
            Expr::Compare(comparison, left, right) => {
                format!("({} {} {})", of(left), comparison.word(), of(right))
            }
            Expr::IsNull { input, negated } => format!("({} IS {}NULL)", of(input), not(*negated)),
            Expr::IsTruth { input, truth, negated } => {
                let truth = if *truth { "TRUE" } else { "FALSE" };
                format!("({} IS {}{truth})", of(input), not(*negated))
            }
            Expr::Between { input, low, high, negated } => {
                let (input, not) = (of(input), not(*negated));
                format!("({input} {not}BETWEEN {} AND {})", of(low), of(high))
            }
            Expr::InList { input, list, negated } => {
                format!("({} {}IN ({}))", of(input), not(*negated), self.list(list, group))
            }
            Expr::Like { input, pattern, negated } => {
                let pattern = pattern.replace('\'', "''");
                format!("({} {}LIKE '{pattern}' ESCAPE '!')", of(input), not(*negated))
            }
            Expr::Case { branches, default, .. } => {
                let mut text = "CASE".to_string();
                for (condition, value) in branches {
                    text += &format!(" WHEN {} THEN {}", of(condition), of(value));
                }
                if let Some(default) = default {
                    text += &format!(" ELSE {}", of(default));
                }
                text + " END"
            }
            Expr::Call(function, args, _) => self.function(*function, args, group),
            Expr::Cast(input, kind) => format!("CAST({} AS {})", of(input), kind.name()),
            Expr::Exists { query, negated } => {
                format!("({}EXISTS ({}))", not(*negated), self.query(query))
            }
            Expr::InQuery { input, query, negated } => {
                format!("({} {}IN ({}))", of(input), not(*negated), self.query(query))
            }
            Expr::Scalar(query, _) => format!("({})", self.query(query)),
        }
    }

    fn function(&self, function: Function, args: &[Expr], group: Option<&Group>) -> String {
        let parts: Vec<String> = args.iter().map(|arg| self.expr(arg, group)).collect();
        let is_duckdb = self.dialect == Dialect::DuckDb;
        let infix = |word: &str| format!("({})", parts.join(word));
        let name = match function {
            Function::Plus => return infix(" + "),
            Function::Minus => return infix(" - "),
            Function::Times => return infix(" * "),
            Function::Divide => return infix(if is_duckdb { " // " } else { " / " }),
            Function::Modulus => return infix(" % "),
            Function::Concat => return infix(" || "),
            Function::Negate => return format!("(- {})", parts[0]),
            Function::If if is_duckdb => {
                let [condition, value, default] = &parts[..] else { unreachable!("three parts") };
                return format!("CASE WHEN {condition} THEN {value} ELSE {default} END");
            }
            Function::Greatest | Function::Least if is_duckdb => {
                let name = if function == Function::Least { "least" } else { "greatest" };
                let nulls: Vec<_> = parts.iter().map(|part| format!("{part} IS NULL")).collect();
                let call = format!("{name}({})", parts.join(", "));
                return format!("CASE WHEN {} THEN NULL ELSE {call} END", nulls.join(" OR "));
            }
            Function::Abs => "abs",
            Function::Length => "length",
            Function::Lower => "lower",
            Function::Upper => "upper",
            Function::Reverse => "reverse",
            Function::Trim => "trim",
            Function::Substr => "substr",
            Function::StartsWith => "starts_with",
            Function::StrPos => "strpos",
            Function::Year => "year",
            Function::Month => "month",
            Function::Day => "day",
            Function::Coalesce => "coalesce",
            Function::NullIf => "nullif",
            Function::If => "if",
            Function::Greatest => "greatest",
            Function::Least => "least",
            Function::Cardinality if is_duckdb => "len",
            Function::Cardinality => "cardinality",
            Function::ElementAt if is_duckdb => "list_extract",
            Function::ElementAt => "element_at",
            Function::Contains => {
                self.is_portable.set(false);
                "contains"
            }
        };
        format!("{name}({})", parts.join(", "))
    }

    fn call_of(&self, call: &AggregateCall) -> String {
        let name = match call.function {
            Aggregate::Count => "count",
            Aggregate::CountIf => "count_if",
            Aggregate::Sum => "sum",
            Aggregate::Avg => "avg",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::BoolAnd => "bool_and",
            Aggregate::BoolOr => "bool_or",
        };
        if call.function == Aggregate::Avg && matches!(call.kind, Kind::Decimal { .. }) {
            self.is_portable.set(false);
        }
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let input = call.input.as_ref().map_or("*".to_string(), |input| self.expr(input, None));
        let filter =
            call.filter.as_ref().map(|f| format!(" FILTER (WHERE {})", self.expr(f, None)));
        if call.function == Aggregate::CountIf && self.dialect == Dialect::DuckDb {
            let filter = filter.unwrap_or_default();
            return format!("count(CASE WHEN {input} THEN 1 END){filter}");
        }
        format!("{name}({distinct}{input}){}", filter.unwrap_or_default())
    }
}

impl Comparison {
    fn word(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterEqual => ">=",
            Comparison::Distinct => "IS DISTINCT FROM",
            Comparison::NotDistinct => "IS NOT DISTINCT FROM",
        }
    }
}
