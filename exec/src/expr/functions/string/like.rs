//! LIKE: patterns of literal text, `%` for any text, and `_` for any single character.
//!
//! Patterns are those of filters ([`LikePattern`]); predicates that cannot be pushed into the read
//! are evaluated here. Strings that are adjacent in a buffer are searched together ([`Search`]).

use dwio::filter::{LikePattern, PatternSearch};
use vector::{
    Bitmap, BufferMut, DecodedVector, FlatValues, Mapping, Result, StringValues, Type, Value, bits,
};

use crate::expr::kernel::{Argument, Call, Kernel, test_rows, wrong_storage};
use crate::expr::registry::Function;
use crate::expr::runs::{Run, RunVisitor, visit_runs};

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::scalar("like", &["(VARCHAR, VARCHAR [, VARCHAR]) -> BOOLEAN"], like)];

/// Search for the matching rows of one call.
struct Search<'a> {
    pattern: &'a LikePattern,
    search: PatternSearch<'a>,
    strings: &'a StringValues,
    matching: BufferMut<u64>,
}

impl<'a> Search<'a> {
    /// Searches all rows of a call with flat strings; returns `None` when rows are better matched
    /// individually.
    fn bits(pattern: &'a LikePattern, call: &'a Call<'_>) -> Option<Bitmap> {
        let (search, text) = (PatternSearch::new(pattern)?, call.args.first()?);
        let (Mapping::Identity, Some(FlatValues::String(strings))) =
            (text.mapping(), text.flat_values())
        else {
            return None;
        };
        let mut matching = BufferMut::new();
        matching.resize(bits::words_for(call.num_rows()), 0);
        let mut search = Search { pattern, search, strings, matching };
        visit_runs(strings, call.rows, &mut search);
        Some(Bitmap::new(search.matching.freeze(), call.num_rows()))
    }
}

impl RunVisitor for Search<'_> {
    #[inline]
    fn row(&mut self, row: usize) {
        if self.pattern.matches(self.strings.get(row)) {
            bits::set(&mut self.matching, row);
        }
    }

    fn run(&mut self, run: &Run<'_>) {
        let range = |i| {
            let (start, end) = run.range(i);
            start..end
        };
        let matching = &mut self.matching;
        self.search.block(run.text, run.rows.len(), range, |i| {
            bits::set(matching, run.rows[i] as usize);
        });
    }
}

/// `text LIKE pattern [ESCAPE escape]`.
pub(super) fn like(args: &[Argument<'_>], result: &Type) -> Result<Kernel> {
    let [_, pattern, escapes @ ..] = args else { return Err(wrong_storage(result)) };
    let constants = (pattern.constant, escapes.first().map(|escape| escape.constant));
    if let (Some(Value::Bytes(pattern)), None | Some(Some(Value::Bytes(_)))) = constants {
        let escape = constants.1.flatten().and_then(Value::as_bytes);
        let pattern = LikePattern::parse(pattern, escape)?;
        return Ok(Kernel::new(move |call| {
            let matching = Search::bits(&pattern, call).unwrap_or_else(|| {
                let text = &call.args[0];
                test_rows(call.rows, |row| pattern.matches(text.string(row)))
            });
            call.boolean(matching)
        }));
    }
    Ok(Kernel::new(like_each))
}

/// LIKE with a pattern per row; a pattern that equals that of the previous row is parsed once.
fn like_each(call: &Call<'_>) -> Result<vector::Vector> {
    let [text, patterns, escapes @ ..] = call.args else { return Err(wrong_storage(call.ty)) };
    let mut outcome = Ok(());
    let mut last: Option<(Vec<u8>, Option<Vec<u8>>, LikePattern)> = None;
    let bits = test_rows(call.rows, |row| {
        let pattern = patterns.string(row);
        let escape = escapes.first().map(|e: &DecodedVector| e.string(row));
        if let Some((p, e, parsed)) = &last
            && p == pattern
            && e.as_deref() == escape
        {
            return parsed.matches(text.string(row));
        }
        match LikePattern::parse(pattern, escape) {
            Ok(parsed) => {
                let matched = parsed.matches(text.string(row));
                last = Some((pattern.to_vec(), escape.map(<[u8]>::to_vec), parsed));
                matched
            }
            Err(error) => {
                outcome = Err(error);
                false
            }
        }
    });
    outcome?;
    call.boolean(bits)
}
