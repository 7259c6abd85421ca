//! Release of the pages that string views keep alive; a window that refers to little of them is
//! copied.
//!
//! A view of a short string contains its bytes; a buffer that no view points into is released, and
//! its memory is used for the next page. Long strings are copied when a selection left few of them,
//! so that a few strings do not keep a whole page in memory (rule P6.28).

use vector::{Buffer, BufferMut, MemoryPool, Result, StringView};

/// Minimum ratio of values in the rows of a window to values that are kept, at which strings are
/// copied.
const MIN_WALKED_TO_COPY: usize = 4;

/// Numbers of values of a window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BufferUse {
    /// Number of values in all rows that were read or skipped for the window.
    pub(super) all: usize,
    /// Number of values that are in the window.
    pub(super) kept: usize,
}

impl BufferUse {
    /// Adds the numbers of a piece.
    pub(super) fn add(&mut self, all: usize, kept: usize) {
        self.all += all;
        self.kept += kept;
    }
}

/// Releases buffers that views do not need, and copies the strings of buffers of which views need
/// little.
pub(super) fn release(
    views: &mut [StringView],
    buffers: &mut Vec<Buffer<u8>>,
    walked: BufferUse,
    pool: &MemoryPool,
) -> Result<()> {
    let used: usize = views.iter().filter(|view| !view.is_inline()).map(|view| view.len()).sum();
    if used == 0 {
        buffers.clear();
    }
    let is_sparse = walked.kept <= walked.all / MIN_WALKED_TO_COPY;
    if buffers.is_empty() || !is_sparse || u32::try_from(used).is_err() {
        return Ok(());
    }
    let mut copied = BufferMut::<u8>::with_capacity_in(used, pool)?;
    for view in views.iter_mut().filter(|view| !view.is_inline()) {
        let (buffer, start) = view.location();
        let bytes = buffers.get(buffer).and_then(|b| b.get(start..start + view.len()));
        let bytes = bytes.unwrap_or(&[]);
        // The offset is at most `used`, which fits.
        *view = StringView::new(bytes, 0, u32::try_from(copied.len()).unwrap_or(u32::MAX));
        copied.extend_from_slice(bytes);
    }
    *buffers = vec![copied.freeze()];
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::StringValues;

    #[test]
    fn few_strings_are_copied_and_short_ones_hold_nothing() {
        let page = b"one string that is long, and another one that is";
        let pages = vec![Buffer::from_slice(b"unused"), Buffer::from_slice(page)];
        let views = [
            StringView::new(&page[..23], 1, 0),
            StringView::inline(b"short"),
            StringView::new(&page[25..], 1, 25),
        ];
        let pool = MemoryPool::unlimited();
        for (walked, is_copied) in
            [(BufferUse { all: 12, kept: 3 }, true), (BufferUse { all: 11, kept: 3 }, false)]
        {
            let (mut left, mut buffers) = (views, pages.clone());
            release(&mut left, &mut buffers, walked, &pool).unwrap();
            assert_eq!(buffers.len(), if is_copied { 1 } else { 2 });
            let values = StringValues::new(Buffer::from_slice(&left), buffers);
            assert_eq!(values.get(0), &page[..23]);
            assert_eq!(values.get(1), b"short");
            assert_eq!(values.get(2), &page[25..]);
        }
        let mut buffers = pages;
        let walked = BufferUse { all: 1, kept: 1 };
        release(&mut [views[1]], &mut buffers, walked, &pool).unwrap();
        assert!(buffers.is_empty());
    }
}
