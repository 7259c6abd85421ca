//! Copies of strings: views are always copied, the bytes of long strings only if sharing their
//! buffers does not pay off.
//!
//! ```text
//! sources   views a -> buffers [0]      views b -> buffers [0, 1]
//! shared    views a, b rebased  -> buffers [a0, b0, b1]
//! copied    views a, b renewed  -> one new buffer
//! ```

use super::{for_each_row, unexpected, values_of};
use crate::build::StringBuilder;
use crate::decoded::DecodedVector;
use crate::encoding::{FlatValues, StringValues};
use crate::error::{Error, Result};
use crate::memory::buffer::{Buffer, BufferMut};
use crate::stop::stoppable_chunks;
use crate::sync::Arc;
use crate::types::StringView;

/// Maximum number of source buffers that a copy refers to; with more of them, the long strings are
/// copied into new buffers.
pub const MAX_SHARED_BUFFERS: usize = 32;

/// Maximum ratio of the size of shared buffers to the size of the strings needed from them (plus a
/// small allowance). It keeps a few rows from holding a whole file in memory.
pub const MAX_SHARED_WASTE: usize = 4;

/// Allowance in bytes that is added to the limit of [`MAX_SHARED_WASTE`].
const FREE_WASTE_BYTES: usize = 64 << 10;

/// Copies the views first, which then refer to all buffers of all sources. The bytes of long
/// strings are copied only if sharing those buffers does not pay off.
pub(super) fn copy_strings(parts: &[DecodedVector], len: usize) -> Result<StringValues> {
    let mut sources = SharedBuffers::default();
    let mut views = BufferMut::<StringView>::new();
    views.try_reserve(len)?;
    let mut needed_bytes = 0;
    for part in parts {
        let strings = match values_of(part)? {
            None => {
                views.resize(views.len() + part.len(), StringView::default());
                continue;
            }
            Some(FlatValues::String(strings)) => strings,
            Some(_) => return Err(unexpected(part.base())),
        };
        let first = sources.add(strings.buffers())?;
        let source = strings.views().as_slice();
        for_each_row(part, |row| {
            let view = row.map_or_else(StringView::default, |i| source[i].rebase(first));
            needed_bytes += if view.is_inline() { 0 } else { view.len() };
            views.push(view);
        });
    }
    let pays = sources.num_buffers <= MAX_SHARED_BUFFERS
        && sources.retained_bytes() <= MAX_SHARED_WASTE * needed_bytes + FREE_WASTE_BYTES;
    let values = StringValues::new(views.freeze(), sources.finish());
    if pays {
        return Ok(values);
    }
    let mut out = StringBuilder::new();
    for chunk in stoppable_chunks(len) {
        chunk?.for_each(|i| out.push(values.get(i)));
    }
    out.finish()
}

/// Concatenated lists of the buffers of several string vectors.
#[derive(Default)]
struct SharedBuffers<'a> {
    /// Each list of buffers, with the number of its first buffer in the concatenation.
    lists: Vec<(&'a Arc<[Buffer<u8>]>, u32)>,
    num_buffers: usize,
}

impl<'a> SharedBuffers<'a> {
    /// Number of recent lists that a new list is compared with. Slices of one vector have the same
    /// list and mostly follow each other.
    const LOOK_BACK: usize = 8;

    /// Adds a list, unless it is among the most recent ones; returns the number of its first
    /// buffer.
    fn add(&mut self, list: &'a Arc<[Buffer<u8>]>) -> Result<u32> {
        let mut recent = self.lists.iter().rev().take(Self::LOOK_BACK);
        if let Some((_, first)) = recent.find(|(known, _)| Arc::ptr_eq(known, list)) {
            return Ok(*first);
        }
        let first = u32::try_from(self.num_buffers).map_err(|_| {
            Error::limit("strings lie in too many buffers").with("buffers", self.num_buffers)
        })?;
        self.lists.push((list, first));
        self.num_buffers += list.len();
        Ok(first)
    }

    fn retained_bytes(&self) -> usize {
        self.lists.iter().flat_map(|(list, _)| list.iter()).map(Buffer::retained_bytes).sum()
    }

    fn finish(self) -> Arc<[Buffer<u8>]> {
        match self.lists.as_slice() {
            [(one, _)] => Arc::clone(one),
            many => many.iter().flat_map(|(list, _)| list.iter().cloned()).collect(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::encoding::{Vector, VectorRef};
    use crate::gather::{concat, gather};
    use crate::testing::{values_of, varchars};
    use crate::types::Value;

    fn strings(texts: &[&str]) -> VectorRef {
        let texts: Vec<Option<&str>> = texts.iter().copied().map(Some).collect();
        varchars(&texts)
    }

    fn buffers(vector: &VectorRef) -> usize {
        match vector.as_ref() {
            Vector::Flat(flat) => match flat.values() {
                FlatValues::String(strings) => strings.buffers().len(),
                _ => 0,
            },
            _ => panic!("not flat"),
        }
    }

    #[test]
    fn strings_share_buffers_of_few_sources_and_are_copied_from_many() {
        let one = strings(&["a string longer than a view", "short"]);
        let few = concat(&[one.clone(), one.clone(), strings(&["another quite long string"])]);
        let few = few.unwrap();
        assert_eq!((few.len(), buffers(&few)), (5, 2));
        let many: Vec<VectorRef> =
            (0..100).map(|i| strings(&[&format!("a string longer than a view {i}")])).collect();
        let joined = concat(&many).unwrap();
        assert_eq!(buffers(&joined), 1);
        let expected: Vec<Value> = many.iter().flat_map(values_of).collect();
        assert_eq!(values_of(&joined), expected);
    }

    #[test]
    fn a_few_rows_do_not_hold_large_buffers() {
        let texts: Vec<String> =
            (0..10_000).map(|i| format!("a string of some length {i}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let picked = gather(&strings(&texts), &[7, 9]).unwrap();
        assert!(picked.retained_bytes() < 1000, "{}", picked.retained_bytes());
    }
}
