//! Parses SQL text into syntax trees, within limits.
//!
//! The parser and all code that traverses or drops its trees is recursive, so the nesting depth and
//! the length of operator chains are limited on the tokens, before a tree exists.

use sqlparser::ast::{Expr, Query};
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};
use vector::{Error, Result};

use super::source::SourceText;

/// Maximum size of a query in bytes.
const MAX_SQL_BYTES: usize = 1 << 20;
/// Maximum nesting depth of parentheses and CASE expressions.
const MAX_NESTING: usize = 48;
/// Maximum number of operators and keywords of a query; each may make the tree one level deeper.
const MAX_OPERATORS: usize = 2000;
/// Maximum depth of the parser's own recursion; a pair of parentheses takes two levels.
const MAX_PARSER_DEPTH: usize = 2 * MAX_NESTING + 16;

/// The accepted SQL dialect: standard SQL with `::`, FILTER, FROM first, GROUP BY ALL and nested
/// comments.
#[derive(Debug, Default)]
struct OciorDialect;

impl Dialect for OciorDialect {
    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_' || c == '$'
    }

    fn is_identifier_part(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_' || c == '$'
    }

    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }

    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_group_by_expr(&self) -> bool {
        true
    }

    fn supports_nested_comments(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }
}

#[cfg(test)]
fn parse_query(sql: &str) -> Result<Box<Query>> {
    let source = SourceText(sql);
    query_of(source, tokenize(source)?)
}

/// Parses the tokens of one SELECT statement, after which a semicolon may follow.
///
/// # Errors
///
/// `ErrorKind::InvalidInput` with the position for a syntax error, `ErrorKind::Unsupported` for
/// other statements, `ErrorKind::Limit` for nesting beyond the parser's limit.
pub(super) fn query_of(source: SourceText<'_>, tokens: Vec<TokenWithSpan>) -> Result<Box<Query>> {
    check_statement(source, &tokens)?;
    let dialect = OciorDialect;
    let mut parser = parser(&dialect, tokens);
    let query = parser.parse_query().map_err(|e| syntax_error(source, e))?;
    while parser.consume_token(&Token::SemiColon) {}
    expect_end(source, &parser)?;
    Ok(query)
}

/// Parses one expression.
pub(crate) fn parse_expression(text: &str) -> Result<Expr> {
    let source = SourceText(text);
    let tokens = tokenize(source)?;
    let dialect = OciorDialect;
    let mut parser = parser(&dialect, tokens);
    let expr = parser.parse_expr().map_err(|e| syntax_error(source, e))?;
    expect_end(source, &parser)?;
    Ok(expr)
}

fn parser(dialect: &OciorDialect, tokens: Vec<TokenWithSpan>) -> Parser<'_> {
    Parser::new(dialect).with_recursion_limit(MAX_PARSER_DEPTH).with_tokens_with_locations(tokens)
}

fn expect_end(source: SourceText<'_>, parser: &Parser<'_>) -> Result<()> {
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(());
    }
    let error = Error::invalid_input("SQL syntax error")
        .with("expected", "the end of the statement")
        .with("found", &next.token);
    Err(source.point(error, next.span))
}

/// Splits the text into tokens and checks the limits.
///
/// # Errors
///
/// `ErrorKind::InvalidInput` for text that cannot be split into tokens, `ErrorKind::Limit` for text
/// that is too long or nested too deep.
pub(super) fn tokenize(source: SourceText<'_>) -> Result<Vec<TokenWithSpan>> {
    if source.0.len() > MAX_SQL_BYTES {
        return Err(Error::limit("the SQL text is too long")
            .with("bytes", source.0.len())
            .with("max", MAX_SQL_BYTES));
    }
    let tokens = Tokenizer::new(&OciorDialect, source.0).tokenize_with_location().map_err(|e| {
        let error = Error::invalid_input("SQL syntax error").with("detail", &e.message);
        source.point(error, Span::new(e.location, e.location))
    })?;
    let (mut depth, mut operators) = (0usize, 0usize);
    for token in &tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            Token::Word(word) => match word.keyword {
                Keyword::NoKeyword => continue,
                Keyword::CASE => depth += 1,
                Keyword::END => depth = depth.saturating_sub(1),
                _ => operators += 1,
            },
            Token::Whitespace(_)
            | Token::Comma
            | Token::Number(..)
            | Token::SingleQuotedString(_) => continue,
            _ => operators += 1,
        }
        if depth > MAX_NESTING {
            let error = Error::limit("the SQL text is nested too deep").with("max", MAX_NESTING);
            return Err(source.point(error, token.span));
        }
        if operators > MAX_OPERATORS {
            let error = Error::limit("the SQL text has too many operators and keywords")
                .with("max", MAX_OPERATORS);
            return Err(source.advise(
                error,
                token.span,
                "a long list of values belongs in IN (..)",
            ));
        }
    }
    Ok(tokens)
}

/// Rejects all statements but SELECT by their first word, which makes a clearer error than the
/// parser's own.
fn check_statement(source: SourceText<'_>, tokens: &[TokenWithSpan]) -> Result<()> {
    let first = tokens.iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
    let Some(first) = first.filter(|t| t.token != Token::SemiColon) else {
        return Err(Error::invalid_input("there is no SQL statement"));
    };
    match &first.token {
        Token::LParen => Ok(()),
        Token::Word(word) => match word.keyword {
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::FROM => Ok(()),
            Keyword::NoKeyword => {
                let error = Error::invalid_input("SQL syntax error")
                    .with("expected", "SELECT")
                    .with("found", &first.token);
                Err(source.point(error, first.span))
            }
            _ => Err(Error::unsupported("only SELECT and COPY statements are supported")
                .with("statement", word.value.to_uppercase())
                .hint("write SELECT .. FROM 'path' WHERE .. GROUP BY .. ORDER BY .. LIMIT ..")),
        },
        other => {
            let error = Error::invalid_input("SQL syntax error")
                .with("expected", "SELECT")
                .with("found", other);
            Err(source.point(error, first.span))
        }
    }
}

/// Converts a parser error, whose position is a part of its text, into an error with a position.
fn syntax_error(source: SourceText<'_>, error: ParserError) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            return Error::limit("the SQL text is nested too deep").with("max", MAX_NESTING);
        }
    };
    let (text, at) = split_place(&message);
    let error = Error::invalid_input("SQL syntax error");
    let parts = text.strip_prefix("Expected: ").and_then(|t| t.rsplit_once(", found: "));
    let error = match parts {
        Some((expected, found)) => {
            let found = if found == "EOF" { "the end of the text" } else { found };
            error.with("expected", expected).with("found", found)
        }
        None => error.with("detail", text),
    };
    // An error at the end of the text has no token and therefore no position.
    let at = at.unwrap_or_else(|| end_of(source.0));
    source.point(error, Span::new(at, at))
}

fn split_place(message: &str) -> (&str, Option<Location>) {
    let parsed = message.rsplit_once(" at Line: ").and_then(|(text, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((text, Location::new(line.parse().ok()?, column.parse().ok()?)))
    });
    match parsed {
        Some((text, at)) => (text, Some(at)),
        None => (message, None),
    }
}

fn end_of(text: &str) -> Location {
    let trimmed = text.trim_end();
    let line = trimmed.split('\n').count();
    let column = trimmed.rsplit('\n').next().map_or(0, |l| l.chars().count());
    Location::new(line as u64, column as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::ErrorKind;

    fn error(sql: &str) -> String {
        parse_query(sql).unwrap_err().to_string()
    }

    #[test]
    fn tables_may_be_names_quoted_names_and_paths() {
        for from in ["t", "\"my table\"", "'a/b.parquet'", "'d/*.parquet' AS x", "t x;"] {
            parse_query(&format!("SELECT a FROM {from}")).unwrap();
        }
    }

    #[test]
    fn a_syntax_error_shows_its_place() {
        assert_eq!(
            error("SELECT a FROM t WHERE"),
            "invalid input: SQL syntax error (expected=an expression \
             found=the end of the text at=1:22)\n  \
             hint: SELECT a FROM t WHERE\n        \
             \x20                    ^"
        );
        assert_eq!(
            error("SELECT a\nFROM t GRUOP BY a"),
            "invalid input: SQL syntax error (expected=the end of the statement found=BY at=2:14)\n  \
             hint: FROM t GRUOP BY a\n        \
             \x20            ^"
        );
        assert_eq!(
            error("SELEC 1"),
            "invalid input: SQL syntax error (expected=SELECT found=SELEC at=1:1)\n  \
             hint: SELEC 1\n        ^"
        );
        assert!(error("SELECT 'a").starts_with("invalid input: SQL syntax error (detail="));
        assert_eq!(error(" ; "), "invalid input: there is no SQL statement");
        assert!(error("SELECT 1; SELECT 2").contains("expected=the end of the statement"));
    }

    #[test]
    fn other_statements_are_refused_by_name() {
        assert_eq!(
            error("create table t (a int)"),
            "unsupported: only SELECT and COPY statements are supported (statement=CREATE)\n  \
             hint: write SELECT .. FROM 'path' WHERE .. GROUP BY .. ORDER BY .. LIMIT .."
        );
    }

    #[test]
    fn depth_and_length_are_limited_without_overflowing_the_stack() {
        let nested = |n: usize| format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n));
        parse_query(&nested(MAX_NESTING)).unwrap();
        let chain = |n: usize| format!("SELECT 1{}", " + 1".repeat(n));
        parse_query(&chain(MAX_OPERATORS - 1)).unwrap();
        let too_much = [
            nested(100_000),
            chain(100_000),
            format!("SELECT {}1", "NOT ".repeat(100_000)),
            format!("SELECT {}1", "- ".repeat(100_000)),
            format!("SELECT {}1", "CASE WHEN ".repeat(2_000)),
            format!("SELECT 1{}", " IS NULL".repeat(100_000)),
            format!("SELECT 1 {}", "UNION SELECT 1 ".repeat(50_000)),
            "x".repeat(MAX_SQL_BYTES + 1),
        ];
        for sql in too_much {
            assert_eq!(parse_query(&sql).unwrap_err().kind(), ErrorKind::Limit, "{:.60}", sql);
        }
        parse_query(&format!("SELECT 1 IN (1{})", ", 2".repeat(50_000))).unwrap();
        assert!(parse_query(&format!("SELECT {}1", "NOT ".repeat(1_000))).unwrap_err().is_user());
    }

    #[test]
    fn an_expression_stands_alone() {
        parse_expression("a > 1 AND b = 'x'").unwrap();
        assert!(parse_expression("a > 1 b").unwrap_err().to_string().contains("found=b"));
        assert!(parse_expression("").is_err());
    }
}
