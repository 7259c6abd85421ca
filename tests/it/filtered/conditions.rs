//! Random conditions as SQL, with their truth by three-valued logic.

use std::cmp::Ordering;

use arrow_schema::DataType;
use dwio::fs::MemoryFiles;

use super::values::{Datum, Place, Table};
use crate::random_files::one_of;
use crate::support::files::{engine_over, in_order, lines};
use crate::support::random::Random;

/// Queries the rows of random conditions and returns an error for a wrong result.
pub(super) fn check(table: &Table, file: &[u8], random: &mut Random) -> Result<(), String> {
    let files = MemoryFiles::new();
    files.put("f.parquet", file.to_vec());
    let engine = engine_over(&files);
    for _ in 0..2 {
        let depth = random.below(3);
        let condition = random_condition(table, depth, random);
        let columns = random_columns(table, random);
        let names = match &*columns {
            [] => "count(*) AS n".to_string(),
            columns => columns.iter().map(|c| name(table, c)).collect::<Vec<_>>().join(", "),
        };
        let sql = format!("SELECT {names} FROM 'f.parquet' WHERE {}", condition.sql(table));
        let mut options = in_order();
        let rows = one_of(random, &[0, 1, 7, 64, 1000]);
        options.settings.set("table_scan_output_batch_rows_override", rows.to_string());
        let got = engine.query_with(&sql, &options).and_then(lines);
        let got = got.map_err(|error| format!("{sql}: {error}"))?;
        let passing =
            (0..table.num_rows()).filter(|row| condition.truth(table, *row) == Some(true));
        let want: Vec<String> = match &*columns {
            [] => vec![format!("{{\"n\":{}}}", passing.count())],
            columns => passing.map(|row| line(table, columns, row)).collect(),
        };
        let differs = |row: &usize| got.get(*row) != want.get(*row);
        if let Some(row) = (0..got.len().max(want.len())).find(differs) {
            let (got, want) = (got.get(row), want.get(row));
            return Err(format!("{sql}\n row {row}: got  {got:?}\n want {want:?}"));
        }
    }
    Ok(())
}

/// Returns some columns in any order; none for a count of the rows.
fn random_columns(table: &Table, random: &mut Random) -> Vec<Place> {
    if random.once_in(6) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..table.schema().fields().len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    order.truncate(1 + random.below(order.len() as u64) as usize);
    order.into_iter().map(Place::column).collect()
}

fn line(table: &Table, columns: &[Place], row: usize) -> String {
    let values = columns.iter().map(|column| {
        let name = table.schema().field(column.column).name();
        format!("\"{name}\":{}", table.text(column, row))
    });
    format!("{{{}}}", values.collect::<Vec<_>>().join(","))
}

/// Returns a member path as SQL names it.
fn name(table: &Table, place: &Place) -> String {
    let field = table.schema().field(place.column);
    let (mut name, mut ty) = (field.name().clone(), field.data_type());
    for member in &place.members {
        let DataType::Struct(fields) = ty else { panic!("{ty} has no members") };
        name = format!("{name}.{}", fields[*member].name());
        ty = fields[*member].data_type();
    }
    name
}

/// A condition on the rows of a table.
enum Condition {
    IsNull(Place),
    /// Value, operator in SQL, the orderings of value and literal for which it is true, and
    /// literal.
    Compare(Place, &'static str, &'static [Ordering], Literal),
    Between(Place, Literal, Literal),
    /// Value, list, and true when the list also has a null literal.
    In(Place, Vec<Literal>, bool),
    Like(Place, Vec<Token>),
    IsDistinct(Place, Literal),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

/// A token of a LIKE pattern.
enum Token {
    Text(String),
    AnyCharacter,
    AnyText,
}

/// Implements the definition of LIKE by recursion.
fn is_like(text: &[char], tokens: &[Token]) -> bool {
    match tokens.split_first() {
        None => text.is_empty(),
        Some((Token::AnyText, rest)) => (0..=text.len()).any(|skip| is_like(&text[skip..], rest)),
        Some((Token::AnyCharacter, rest)) => !text.is_empty() && is_like(&text[1..], rest),
        Some((Token::Text(wanted), rest)) => {
            let wanted: Vec<char> = wanted.chars().collect();
            text.starts_with(&wanted) && is_like(&text[wanted.len()..], rest)
        }
    }
}

/// Returns the SQL from `LIKE` on.
fn like_sql(tokens: &[Token]) -> String {
    let mut pattern = String::new();
    for token in tokens {
        match token {
            Token::AnyText => pattern.push('%'),
            Token::AnyCharacter => pattern.push('_'),
            Token::Text(text) => {
                for character in text.chars() {
                    match character {
                        '%' | '_' | '!' => pattern.extend(['!', character]),
                        '\'' => pattern.push_str("''"),
                        _ => pattern.push(character),
                    }
                }
            }
        }
    }
    format!("LIKE '{pattern}' ESCAPE '!'")
}

/// Returns parts of a text that occurs, with wildcards around them.
fn random_tokens(text: &str, random: &mut Random) -> Vec<Token> {
    let characters: Vec<char> = text.chars().collect();
    let (mut tokens, mut rest) = (Vec::new(), &*characters);
    for _ in 0..random.below(4) {
        match random.below(5) {
            0 => {}
            1 if !rest.is_empty() => {
                rest = &rest[1..];
                tokens.push(Token::AnyCharacter);
            }
            _ => {
                rest = &rest[random.below(rest.len() as u64 + 1) as usize..];
                tokens.push(Token::AnyText);
            }
        }
        let (part, after) = rest.split_at(rest.len().min(1 + random.below(4) as usize));
        tokens.push(Token::Text(part.iter().collect()));
        rest = after;
    }
    if !random.once_in(3) {
        tokens.push(Token::AnyText);
    }
    tokens
}

/// A value with its SQL text.
struct Literal {
    value: Datum,
    sql: String,
}

impl Condition {
    fn sql(&self, table: &Table) -> String {
        let name = |place| name(table, place);
        match self {
            Condition::IsNull(place) => format!("{} IS NULL", name(place)),
            Condition::Compare(place, op, _, literal) => {
                format!("{} {op} {}", name(place), literal.sql)
            }
            Condition::Between(place, lower, upper) => {
                format!("{} BETWEEN {} AND {}", name(place), lower.sql, upper.sql)
            }
            Condition::In(place, literals, has_null) => {
                let null = has_null.then_some("NULL");
                let all = literals.iter().map(|literal| literal.sql.as_str()).chain(null);
                format!("{} IN ({})", name(place), all.collect::<Vec<_>>().join(", "))
            }
            Condition::Like(place, tokens) => format!("{} {}", name(place), like_sql(tokens)),
            Condition::IsDistinct(place, literal) => {
                format!("{} IS DISTINCT FROM {}", name(place), literal.sql)
            }
            Condition::Not(inner) => format!("NOT ({})", inner.sql(table)),
            Condition::And(a, b) => format!("({} AND {})", a.sql(table), b.sql(table)),
            Condition::Or(a, b) => format!("({} OR {})", a.sql(table), b.sql(table)),
        }
    }

    fn truth(&self, table: &Table, row: usize) -> Option<bool> {
        let value = |place| Some(table.datum(place, row)).filter(|datum| *datum != Datum::Null);
        match self {
            Condition::IsNull(place) => Some(table.is_null(place, row)),
            Condition::Compare(place, _, orders, literal) => {
                Some(orders.contains(&value(place)?.order(&literal.value)))
            }
            Condition::Between(place, lower, upper) => {
                let value = value(place)?;
                let is_below = value.order(&lower.value) == Ordering::Less;
                Some(!is_below && value.order(&upper.value) != Ordering::Greater)
            }
            Condition::In(place, literals, has_null) => {
                let value = value(place)?;
                let is_equal = |l: &Literal| value.order(&l.value) == Ordering::Equal;
                match literals.iter().any(is_equal) {
                    true => Some(true),
                    false if *has_null => None,
                    false => Some(false),
                }
            }
            Condition::Like(place, tokens) => match value(place)? {
                Datum::Bytes(bytes) => {
                    let text: Vec<char> = String::from_utf8(bytes).unwrap().chars().collect();
                    Some(is_like(&text, tokens))
                }
                other => panic!("{other:?} is no text"),
            },
            Condition::IsDistinct(place, literal) => {
                Some(value(place).is_none_or(|v| v.order(&literal.value) != Ordering::Equal))
            }
            Condition::Not(inner) => inner.truth(table, row).map(|truth| !truth),
            Condition::And(a, b) => match (a.truth(table, row), b.truth(table, row)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Condition::Or(a, b) => match (a.truth(table, row), b.truth(table, row)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn random_condition(table: &Table, depth: u64, random: &mut Random) -> Condition {
    if depth == 0 || random.once_in(4) {
        return random_comparison(table, random);
    }
    let mut inner = || Box::new(random_condition(table, depth - 1, random));
    let (a, b) = (inner(), inner());
    match random.below(5) {
        0 => Condition::Not(a),
        1 | 2 => Condition::Or(a, b),
        _ => Condition::And(a, b),
    }
}

/// Returns a column, or a member of a struct at any depth.
fn random_place(table: &Table, random: &mut Random) -> Place {
    let mut place = Place::column(random.below(table.schema().fields().len() as u64) as usize);
    loop {
        match table.ty(&place) {
            DataType::Struct(fields) if !random.once_in(5) => {
                place = place.member(random.below(fields.len() as u64) as usize);
            }
            _ => return place,
        }
    }
}

fn random_comparison(table: &Table, random: &mut Random) -> Condition {
    use Ordering::{Equal, Greater, Less};
    let place = random_place(table, random);
    let null = |place, random: &mut Random| match random.once_in(2) {
        true => Condition::IsNull(place),
        false => Condition::Not(Box::new(Condition::IsNull(place))),
    };
    if random.once_in(8) {
        return null(place, random);
    }
    let mut literals = Vec::new();
    while let Some(literal) = random_literal(table, &place, random) {
        literals.push(literal);
        if literals.len() > 1 && random.once_in(3) {
            break;
        }
    }
    let (Some(first), Some(second)) = (literals.pop(), literals.pop()) else {
        return null(place, random);
    };
    let is_boolean = *table.ty(&place) == DataType::Boolean;
    let text = match &first.value {
        Datum::Bytes(bytes) if *table.ty(&place) == DataType::Utf8 => {
            String::from_utf8(bytes.clone()).ok()
        }
        _ => None,
    };
    match (random.below(12), text) {
        (0..=2, Some(text)) => Condition::Like(place, random_tokens(&text, random)),
        (2, _) => Condition::IsDistinct(place, first),
        (3, _) if !is_boolean => Condition::Between(place, first, second),
        (4 | 5, _) if !is_boolean => {
            literals.extend([first, second]);
            Condition::In(place, literals, random.once_in(8))
        }
        (6, _) if !is_boolean => Condition::Compare(place, "<=", &[Less, Equal], first),
        (7, _) if !is_boolean => Condition::Compare(place, ">", &[Greater], first),
        (8, _) if !is_boolean => Condition::Compare(place, "<", &[Less], first),
        (9, _) if !is_boolean => Condition::Compare(place, ">=", &[Greater, Equal], first),
        (10, _) => Condition::Compare(place, "<>", &[Less, Greater], first),
        _ => Condition::Compare(place, "=", &[Equal], first),
    }
}

/// Returns a value that occurs in a column, as a literal; `None` when the chosen value has none.
fn random_literal(table: &Table, place: &Place, random: &mut Random) -> Option<Literal> {
    if table.num_rows() == 0 {
        return None;
    }
    let row = random.below(table.num_rows() as u64) as usize;
    let value = table.datum(place, row);
    let text = table.text(place, row);
    let plain = text.trim_matches('"');
    let sql = match (&value, table.ty(place)) {
        (Datum::Null | Datum::Nested, _) => return None,
        (Datum::Float(float), _) if !float.is_finite() => return None,
        (Datum::Float(float), _) => format!("{float:e}"),
        (Datum::Bytes(bytes), DataType::Utf8) => {
            format!("'{}'", String::from_utf8(bytes.clone()).ok()?)
        }
        (Datum::Bytes(_), _) => format!("X'{plain}'"),
        (_, DataType::Date32) => format!("DATE '{plain}'"),
        (_, DataType::Time32(_) | DataType::Time64(_)) => format!("TIME '{plain}'"),
        (_, DataType::Timestamp(_, _)) => format!("TIMESTAMP '{}'", plain.replace('T', " ")),
        _ => plain.to_string(),
    };
    Some(Literal { value, sql })
}
