//! Parses COPY statements into a query, a path and options. The meaning of the options is defined
//! by the writer of the results.
//!
//! ```text
//! COPY (SELECT ..) TO 'path' (FORMAT parquet, PARTITION_BY (a, b), OVERWRITE)
//!      or a table                    name     name          values  name alone
//! ```
//!
//! The `sqlparser` crate parses the COPY options of other engines only, so this module parses the
//! statement around the query token by token and passes the inner query to that parser.

use exec::expr::FunctionRegistry;
use sqlparser::ast::Query;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};
use vector::{Error, Result};

use super::catalog::Catalog;
use super::parse::{query_of, tokenize};
use super::plan::{PlannedQuery, plan_parsed};
use super::source::SourceText;

/// Destination of the rows of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyRequest {
    /// File or folder to write.
    pub(crate) path: String,
    /// Options of the parentheses, in order.
    pub(crate) options: Vec<CopyOption>,
}

/// An option of COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopyOption {
    /// Name in capitals.
    pub(crate) name: String,
    /// Values as written; empty when the option has no value.
    pub(crate) values: Vec<String>,
}

/// Plans a SELECT or COPY statement; of COPY, returns the plan of its query and the destination of
/// the rows.
pub(crate) fn plan_statement(
    sql: &str,
    catalog: &dyn Catalog,
    functions: &FunctionRegistry,
) -> Result<(PlannedQuery, Option<CopyRequest>)> {
    let source = SourceText(sql);
    let tokens = tokenize(source)?;
    let (query, copy) = match parse_copy(source, &tokens)? {
        Some((query, copy)) => (query, Some(copy)),
        None => (query_of(source, tokens)?, None),
    };
    Ok((plan_parsed(&query, source, catalog, functions)?, copy))
}

/// Parses a COPY statement into its query and destination; returns `None` for another statement.
fn parse_copy(
    source: SourceText<'_>,
    tokens: &[TokenWithSpan],
) -> Result<Option<(Box<Query>, CopyRequest)>> {
    let mut frame = Frame { source, rest: tokens };
    if frame.word().is_none_or(|word| word.keyword != Keyword::COPY) {
        return Ok(None);
    }
    frame.next();
    let query = query_of(source, frame.rows()?)?;
    match frame.word().map(|word| word.keyword) {
        Some(Keyword::TO) => frame.next(),
        Some(Keyword::FROM) => {
            return Err(Error::unsupported("COPY .. FROM is not supported")
                .hint("files are read where they are: SELECT .. FROM 'path'"));
        }
        _ => return Err(frame.unexpected("TO")),
    };
    let path = match frame.next().map(|token| &token.token) {
        Some(Token::SingleQuotedString(path)) => path.clone(),
        _ => return Err(frame.unexpected("a path in single quotes")),
    };
    if frame.word().is_some_and(|word| word.keyword == Keyword::WITH) {
        frame.next();
    }
    let options = if frame.consume(&Token::LParen) { frame.options()? } else { Vec::new() };
    while frame.consume(&Token::SemiColon) {}
    match frame.peek() {
        None => Ok(Some((query, CopyRequest { path, options }))),
        Some(_) => Err(frame.unexpected("the end of the statement")),
    }
}

/// Cursor over the tokens that are not parsed yet.
struct Frame<'a> {
    source: SourceText<'a>,
    rest: &'a [TokenWithSpan],
}

impl<'a> Frame<'a> {
    fn peek(&mut self) -> Option<&'a TokenWithSpan> {
        while let Some((first, rest)) = self.rest.split_first() {
            match first.token {
                Token::Whitespace(_) => self.rest = rest,
                Token::EOF => return None,
                _ => return Some(first),
            }
        }
        None
    }

    fn next(&mut self) -> Option<&'a TokenWithSpan> {
        let token = self.peek()?;
        self.rest = self.rest.get(1..).unwrap_or_default();
        Some(token)
    }

    fn word(&mut self) -> Option<&'a Word> {
        match &self.peek()?.token {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn consume(&mut self, token: &Token) -> bool {
        let is_next = self.peek().is_some_and(|next| next.token == *token);
        if is_next {
            self.next();
        }
        is_next
    }

    fn unexpected(&mut self, expected: &str) -> Error {
        let (found, span) = match self.peek() {
            Some(token) => (token.token.to_string(), token.span),
            None => ("the end of the text".to_string(), Span::empty()),
        };
        let error = Error::invalid_input("SQL syntax error")
            .with("expected", expected)
            .with("found", found);
        self.source.point(error, span)
    }

    /// Returns the tokens of the query whose rows are copied: those in the parentheses, or a query
    /// of all rows of a table.
    fn rows(&mut self) -> Result<Vec<TokenWithSpan>> {
        let start = self.rest;
        if self.consume(&Token::LParen) {
            let inside = self.rest;
            let mut depth = 1usize;
            while let Some(token) = self.next() {
                match token.token {
                    Token::LParen => depth += 1,
                    Token::RParen => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    let len = inside.len() - self.rest.len() - 1;
                    return Ok(inside.get(..len).unwrap_or_default().to_vec());
                }
            }
            return Err(self.unexpected(")"));
        }
        let is_end = |word: &Word| matches!(word.keyword, Keyword::TO | Keyword::FROM);
        while self.peek().is_some() && !self.word().is_some_and(is_end) {
            self.next();
        }
        let table = start.get(..start.len() - self.rest.len()).unwrap_or_default();
        if table.iter().all(|token| matches!(token.token, Token::Whitespace(_))) {
            return Err(self.unexpected("a table or a query in parentheses"));
        }
        let all = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
        let all = all.into_iter().map(TokenWithSpan::wrap);
        Ok(all.chain(table.iter().cloned()).collect())
    }

    /// Parses options up to the closing parenthesis.
    fn options(&mut self) -> Result<Vec<CopyOption>> {
        let mut options = Vec::new();
        loop {
            let Some(name) = self.word() else { return Err(self.unexpected("an option of COPY")) };
            self.next();
            let mut values = Vec::new();
            if self.consume(&Token::LParen) {
                loop {
                    values.push(self.value()?);
                    if !self.consume(&Token::Comma) {
                        break;
                    }
                }
                if !self.consume(&Token::RParen) {
                    return Err(self.unexpected(")"));
                }
            } else if !self.is_behind_option() {
                values.push(self.value()?);
            }
            options.push(CopyOption { name: name.value.to_uppercase(), values });
            if self.consume(&Token::RParen) {
                return Ok(options);
            }
            if !self.consume(&Token::Comma) {
                return Err(self.unexpected(", or )"));
            }
        }
    }

    fn is_behind_option(&mut self) -> bool {
        self.peek().is_none_or(|token| matches!(token.token, Token::Comma | Token::RParen))
    }

    fn value(&mut self) -> Result<String> {
        let value = match self.peek().map(|token| &token.token) {
            Some(Token::Word(word)) => word.value.clone(),
            Some(Token::SingleQuotedString(text)) => text.clone(),
            Some(Token::Number(digits, _)) => digits.clone(),
            _ => return Err(self.unexpected("a value")),
        };
        self.next();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(sql: &str) -> Result<Option<(String, CopyRequest)>> {
        let source = SourceText(sql);
        let parsed = parse_copy(source, &tokenize(source)?)?;
        Ok(parsed.map(|(query, request)| (query.to_string(), request)))
    }

    #[test]
    fn the_query_the_path_and_the_options_are_told_apart() {
        let sql = "COPY (SELECT a FROM t WHERE (b) > 1) TO 'x/y' \
                   (FORMAT parquet, PARTITION_BY (a, \"B c\"), overwrite, ROW_GROUP_SIZE 10);";
        let (query, request) = parse(sql).unwrap().unwrap();
        assert_eq!(query, "SELECT a FROM t WHERE (b) > 1");
        let option = |name: &str, values: &[&str]| CopyOption {
            name: name.to_string(),
            values: values.iter().map(|v| v.to_string()).collect(),
        };
        let options = vec![
            option("FORMAT", &["parquet"]),
            option("PARTITION_BY", &["a", "B c"]),
            option("OVERWRITE", &[]),
            option("ROW_GROUP_SIZE", &["10"]),
        ];
        assert_eq!(request, CopyRequest { path: "x/y".to_string(), options });
    }

    #[test]
    fn a_table_is_copied_whole() {
        for (table, sql) in [
            ("t", "copy t to 'x.csv'"),
            ("'a b.parquet'", "COPY 'a b.parquet' TO 'x.csv' WITH (HEADER false)"),
        ] {
            let (query, request) = parse(sql).unwrap().unwrap();
            assert_eq!(query, format!("SELECT * FROM {table}"));
            assert_eq!(request.path, "x.csv");
        }
        assert_eq!(parse("SELECT 1").unwrap(), None);
    }

    #[test]
    fn a_frame_that_is_none_is_shown_at_its_place() {
        let expected = |sql: &str| {
            let error = parse(sql).unwrap_err();
            error.field("expected").unwrap_or(error.message()).to_string()
        };
        for (sql, what) in [
            ("COPY", "a table or a query in parentheses"),
            ("COPY (SELECT 1 TO 'x'", ")"),
            ("COPY t", "TO"),
            ("COPY t INTO 'x'", "the end of the statement"),
            ("COPY t TO x", "a path in single quotes"),
            ("COPY t TO 'x' (", "an option of COPY"),
            ("COPY t TO 'x' (FORMAT csv HEADER)", ", or )"),
            ("COPY t TO 'x' (FORMAT +)", "a value"),
            ("COPY t TO 'x' () y", "an option of COPY"),
            ("COPY t TO 'x' y", "the end of the statement"),
            ("COPY t FROM 'x'", "COPY .. FROM is not supported"),
            ("COPY (UPDATE t) TO 'x'", "only SELECT and COPY statements are supported"),
        ] {
            assert_eq!(expected(sql), what, "{sql}");
        }
    }
}
