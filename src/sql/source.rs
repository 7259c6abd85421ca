//! Positions in the text of a query, for errors.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::{Location, Span};
use vector::Error;

/// Maximum number of characters of the query that an error shows around a position.
const MAX_SHOWN: usize = 72;

/// The text of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceText<'a>(pub(crate) &'a str);

impl SourceText<'_> {
    /// Adds the position to an error as `at=line:column`; does nothing when the position is
    /// unknown.
    pub(crate) fn locate(self, error: Error, span: Span) -> Error {
        match span.start {
            Location { line: 0, .. } => error,
            at => error.with("at", format_args!("{}:{}", at.line, at.column)),
        }
    }

    /// Adds the position to an error, and shows it below the text of the query.
    pub(crate) fn point(self, error: Error, span: Span) -> Error {
        let shown = self.snippet(span.start);
        let error = self.locate(error, span);
        match shown {
            Some(shown) => error.hint(shown),
            None => error,
        }
    }

    /// Adds the position like [`SourceText::point`], with a line of advice above the text.
    pub(crate) fn advise(self, error: Error, span: Span, advice: &str) -> Error {
        let shown = self.snippet(span.start);
        let error = self.locate(error, span);
        match shown {
            Some(shown) => error.hint(format!("{advice}\n        {shown}")),
            None => error.hint(advice),
        }
    }

    /// Returns the line at a position with a caret below it, indented as hints are.
    fn snippet(self, at: Location) -> Option<String> {
        let line = self.0.split('\n').nth(usize::try_from(at.line).ok()?.checked_sub(1)?)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1)?;
        let chars: Vec<char> = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let column = column.min(chars.len());
        let start = if chars.len() <= MAX_SHOWN { 0 } else { column.saturating_sub(MAX_SHOWN / 2) };
        let end = (start + MAX_SHOWN).min(chars.len());
        let shown: String = chars[start..end].iter().collect();
        Some(format!("{}\n        {}^", shown.trim_end(), " ".repeat(column - start)))
    }
}

/// Returns where an expression begins. Unlike its `span`, this is found without recursion into long
/// chains of operators.
pub(crate) fn place_of(mut expr: &Expr) -> Span {
    loop {
        expr = match expr {
            Expr::Identifier(name) => return name.span,
            Expr::Value(value) => return value.span,
            Expr::TypedString(typed) => return typed.value.span,
            Expr::Function(function) => return function.name.span(),
            Expr::Case { case_token, .. } => return case_token.0.span,
            Expr::BinaryOp { left, .. } => left,
            Expr::Nested(inner)
            | Expr::IsNull(inner)
            | Expr::IsNotNull(inner)
            | Expr::IsTrue(inner)
            | Expr::IsNotTrue(inner)
            | Expr::IsFalse(inner)
            | Expr::IsNotFalse(inner)
            | Expr::IsUnknown(inner)
            | Expr::IsNotUnknown(inner)
            | Expr::IsDistinctFrom(inner, _)
            | Expr::IsNotDistinctFrom(inner, _)
            | Expr::UnaryOp { expr: inner, .. }
            | Expr::Cast { expr: inner, .. }
            | Expr::Between { expr: inner, .. }
            | Expr::In { expr: inner, .. }
            | Expr::Like { expr: inner, .. }
            | Expr::ILike { expr: inner, .. }
            | Expr::Substring { expr: inner, .. }
            | Expr::Trim { expr: inner, .. }
            | Expr::Extract { expr: inner, .. }
            | Expr::Position { expr: inner, .. }
            | Expr::Ceil { expr: inner, .. }
            | Expr::Floor { expr: inner, .. }
            | Expr::CompoundFieldAccess { root: inner, .. } => inner,
            other => return other.span(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(line: u64, column: u64) -> Span {
        Span::new(Location::new(line, column), Location::new(line, column))
    }

    #[test]
    fn a_place_is_shown_below_its_line() {
        let text = SourceText("SELECT\n\tnam\nFROM t");
        let error = text.point(Error::invalid_input("no such column"), span(2, 2));
        assert_eq!(
            error.to_string(),
            "invalid input: no such column (at=2:2)\n  hint:  nam\n         ^"
        );
    }

    #[test]
    fn of_a_long_line_the_neighbourhood_is_shown() {
        let long = format!("SELECT {} FROM t", "a, ".repeat(1000));
        let text = SourceText(&long).point(Error::invalid_input("x"), span(1, 1500)).to_string();
        assert!(text.len() < 300, "{text}");
        let past = SourceText("ab").point(Error::invalid_input("x"), span(1, 99)).to_string();
        assert_eq!(past, "invalid input: x (at=1:99)\n  hint: ab\n          ^");
    }

    #[test]
    fn an_unknown_place_adds_nothing() {
        let error = SourceText("ab").point(Error::invalid_input("x"), Span::empty());
        assert_eq!(error.to_string(), "invalid input: x");
    }
}
