//! `concat` and `concat_ws`: concatenate the strings of several arguments.
//!
//! ```text
//! sizes   the length of a row is the sum of the lengths in its views, without reading any bytes
//! bytes   one buffer for all rows, written once; the bytes of a row that fits inline are reused
//! ```

use vector::{
    Buffer, BufferMut, DecodedVector, Mapping, Result, StringBuilder, StringValues, StringView,
    Type,
};

use super::characters::strings_of;
use crate::expr::by_row::texts;
use crate::expr::kernel::{Argument, Call, Kernel, for_each_row};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] =
    &[Function::scalar("concat_ws", &["(VARCHAR, VARCHAR, ...) -> VARCHAR"], concat_ws)];

/// Maximum number of bytes that are inline in a view.
const BLOCK: usize = 12;
/// Maximum total number of bytes for the single-buffer path; larger results use a builder, which
/// allocates several buffers.
const MAX_BUFFER: usize = 1 << 30;

pub(in crate::expr) fn concat(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::new(|call| {
        let sources = call.args.iter().map(Source::new).collect::<Result<Vec<_>>>()?;
        let lengths = |row| sources.iter().map(move |source: &Source<'_>| source.view(row).len());
        let num_bytes: usize = call.rows.iter().flat_map(lengths).sum();
        call.strings(match num_bytes {
            0..=MAX_BUFFER => joined(call, &sources, num_bytes)?,
            _ => built(call, &sources)?,
        })
    }))
}

/// Strings of an argument and the mapping of its rows to them.
struct Source<'a> {
    strings: &'a StringValues,
    views: &'a [StringView],
    mapping: &'a Mapping,
}

impl<'a> Source<'a> {
    fn new(argument: &'a DecodedVector) -> Result<Self> {
        let strings = strings_of(argument)?;
        Ok(Source { strings, views: strings.views().as_slice(), mapping: argument.mapping() })
    }

    #[inline]
    fn view(&self, row: usize) -> StringView {
        self.views[self.mapping.index(row)]
    }
}

/// Concatenates all rows in one buffer of at most `num_bytes`.
fn joined(call: &Call<'_>, sources: &[Source<'_>], num_bytes: usize) -> Result<StringValues> {
    let mut views = BufferMut::new();
    views.resize(call.num_rows(), StringView::default());
    let mut text: BufferMut<u8> = BufferMut::new();
    // A short string is written as a block of 12 bytes; the bytes after the string are overwritten.
    text.try_reserve(num_bytes + BLOCK)?;
    text.resize_unspecified(num_bytes + BLOCK);
    let out = text.as_mut_slice();
    let mut start = 0;
    for_each_row(call.rows, |row| {
        let mut end = start;
        for source in sources {
            let view = source.view(row);
            if view.is_inline() {
                out[end..end + BLOCK].copy_from_slice(&view.to_bytes()[4..]);
            } else {
                out[end..end + view.len()].copy_from_slice(source.strings.bytes_of(&view));
            }
            end += view.len();
        }
        views[row] = match out[start..].first_chunk::<BLOCK>() {
            Some(block) if end - start <= BLOCK => StringView::inline_of(block, end - start),
            _ => {
                let view = StringView::new(&out[start..end], 0, start as u32);
                start = end;
                view
            }
        };
    });
    text.truncate(start);
    let buffers: Vec<Buffer<u8>> = if start == 0 { Vec::new() } else { vec![text.freeze()] };
    Ok(StringValues::new(views.freeze(), buffers))
}

/// Concatenates row by row with a builder.
fn built(call: &Call<'_>, sources: &[Source<'_>]) -> Result<StringValues> {
    let mut out = StringBuilder::new();
    let mut text = Vec::new();
    for row in 0..call.num_rows() {
        text.clear();
        if call.rows.contains(row) && !out.has_failed() {
            for source in sources {
                text.extend_from_slice(source.strings.bytes_of(&source.view(row)));
            }
        }
        out.push(&text);
    }
    out.finish()
}

/// `concat_ws(separator, text, ..)`: skips nulls; null when the separator is null.
fn concat_ws(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    Ok(Kernel::seeing_nulls(|call| {
        texts(call, &mut |row, out| {
            let Some((separator, rest)) = call.args.split_first() else { return Ok(false) };
            if separator.is_null(row) {
                return Ok(false);
            }
            for (i, text) in rest.iter().filter(|text| !text.is_null(row)).enumerate() {
                if i > 0 {
                    out.extend_from_slice(separator.string(row));
                }
                out.extend_from_slice(text.string(row));
            }
            Ok(true)
        })
    }))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use vector::testing::{Random, varchars};
    use vector::{SelectivityVector, Vector, VectorRef};

    #[test]
    fn one_buffer_holds_what_a_builder_makes_row_by_row() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let longest = *random.pick(&[3, 14, 40]);
            let num_rows = random.below(200) + 1;
            let mut column = || {
                let texts: Vec<String> = (0..num_rows)
                    .map(|row| format!("{row:040}")[40 - random.below(longest + 1)..].to_owned())
                    .collect();
                let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(&**text)).collect();
                varchars(&texts)
            };
            let columns: [VectorRef; 3] = [column(), column(), column()];
            let shuffled = (0..num_rows as u32).rev().collect();
            let args = [
                DecodedVector::new(&columns[0]).unwrap(),
                DecodedVector::new(&Vector::wrap(&columns[1], &shuffled)).unwrap(),
                DecodedVector::new(&columns[2]).unwrap(),
            ];
            let mut rows = SelectivityVector::all(num_rows);
            let share = *random.pick(&[0.3, 1.0]);
            (0..num_rows).for_each(|row| rows.set(row, random.chance(share)));
            let call = Call { args: &args, rows: &rows, validity: None, ty: &Type::Varchar };
            let sources: Vec<Source<'_>> =
                args.iter().map(|arg| Source::new(arg).unwrap()).collect();
            let lengths = |row| sources.iter().map(move |source| source.view(row).len());
            let num_bytes = rows.iter().flat_map(lengths).sum();
            let (found, expected) = (joined(&call, &sources, num_bytes), built(&call, &sources));
            let (found, expected) = (found.unwrap(), expected.unwrap());
            for row in 0..num_rows {
                assert_eq!(found.get(row), expected.get(row), "seed {seed} row {row}");
                assert_eq!(found.views()[row].head(), expected.views()[row].head());
            }
        }
    }
}
