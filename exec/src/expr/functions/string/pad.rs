//! Padding of strings and binaries: `lpad`, `rpad`.

use vector::{Error, Result, Type, Vector};

use super::characters::{characters, count_characters};
use crate::expr::by_row::{Integers, texts};
use crate::expr::kernel::Call;
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::rows(
        "lpad",
        &["(VARCHAR, BIGINT, VARCHAR) -> VARCHAR", "(VARBINARY, BIGINT, VARBINARY) -> VARBINARY"],
        lpad,
    ),
    Function::rows(
        "rpad",
        &["(VARCHAR, BIGINT, VARCHAR) -> VARCHAR", "(VARBINARY, BIGINT, VARBINARY) -> VARBINARY"],
        rpad,
    ),
];

/// Maximum length of a padded string, as in Velox.
const MAX_SIZE: i64 = 1 << 20;

fn lpad(call: &Call<'_>) -> Result<Vector> {
    pad(call, true)
}

fn rpad(call: &Call<'_>) -> Result<Vector> {
    pad(call, false)
}

/// Pads with arguments `(text, size, filling)`; sizes are characters of a string, or bytes of a
/// binary.
fn pad(call: &Call<'_>, in_front: bool) -> Result<Vector> {
    let sizes = Integers::new(call, 1)?;
    let in_bytes = *call.ty == Type::Varbinary;
    let count = |text: &[u8]| if in_bytes { text.len() } else { count_characters(text) };
    let first = |text: &[u8], count: usize| match in_bytes {
        true => count.min(text.len()),
        false => characters(text, 1, count as i64).end,
    };
    texts(call, &mut |row, out| {
        let (text, filling) = (call.args[0].string(row), call.args[2].string(row));
        let size = sizes.at(row);
        if !(0..=MAX_SIZE).contains(&size) {
            return Err(Error::invalid_input("a text cannot be filled up to this size")
                .with("size", size)
                .with("max", MAX_SIZE));
        }
        if filling.is_empty() {
            return Err(Error::invalid_input("a text is filled up with nothing"));
        }
        let size = size as usize;
        let Some(missing) = size.checked_sub(count(text)) else {
            out.extend_from_slice(&text[..first(text, size)]);
            return Ok(true);
        };
        if !in_front {
            out.extend_from_slice(text);
        }
        let of_filling = count(filling);
        for _ in 0..missing / of_filling {
            out.extend_from_slice(filling);
        }
        out.extend_from_slice(&filling[..first(filling, missing % of_filling)]);
        if in_front {
            out.extend_from_slice(text);
        }
        Ok(true)
    })
}
