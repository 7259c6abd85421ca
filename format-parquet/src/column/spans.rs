//! Positions of the strings of a page, in any encoding.
//!
//! ```text
//! PLAIN, DELTA_LENGTH   positions in the page itself
//! DELTA_BYTE_ARRAY      positions in a copy with the layout of PLAIN
//! ```
//!
//! [`Spans`] walks over the next values once and reports the selected ones. No view is built: a
//! filter reads the bytes in place.

use vector::{Buffer, BufferMut, Error, MemoryPool, Result, bits};

use super::current_page::{PageValues, no_page};
use crate::encoding::byte_arrays::{each_selected, each_selected_fixed};
use crate::encoding::delta_byte_array::DeltaLengthByteArray;
use crate::encoding::recoded::Recoded;

/// The next values of a page.
pub(super) struct Spans<'p> {
    /// The bytes that the positions refer to.
    bytes: Buffer<u8>,
    n: usize,
    source: Source<'p>,
}

enum Source<'p> {
    /// Values from an offset of the page on; the offset is advanced behind them.
    Page {
        at: &'p mut usize,
        width: Option<usize>,
    },
    Lengths(&'p mut DeltaLengthByteArray),
    /// The bytes are these values and no others.
    Made {
        width: Option<usize>,
    },
}

impl<'p> Spans<'p> {
    /// Opens the next `n` values; `width` is that of values without length prefixes.
    pub(super) fn open(
        page: &'p mut PageValues,
        width: Option<usize>,
        n: usize,
        pool: &MemoryPool,
    ) -> Result<Self> {
        let (bytes, source) = match page {
            PageValues::Plain { bytes, at } => (bytes.clone(), Source::Page { at, width }),
            PageValues::Recoded(recoded) => match recoded.as_mut() {
                Recoded::Lengths(lengths) => {
                    lengths.check_left(n)?;
                    (lengths.bytes().clone(), Source::Lengths(lengths))
                }
                recoded => {
                    let mut made = BufferMut::new_in(pool);
                    recoded.read(n, &mut made)?;
                    (made.freeze(), Source::Made { width })
                }
            },
            _ => return Err(no_page()),
        };
        // SPEC: page sizes have 31 bits, but the values of DELTA_BYTE_ARRAY can be larger; their
        // size has a limit of its own.
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::unsupported("the strings of a page take more than 4 GiB")
                .with("bytes", bytes.len()));
        }
        Ok(Spans { bytes, n, source })
    }

    /// Returns the bytes that the positions refer to.
    pub(super) fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }

    /// Returns true when the bytes are those of the page and not a copy.
    pub(super) fn is_in_page(&self) -> bool {
        !matches!(self.source, Source::Made { .. })
    }

    /// Calls `f(i, start, end)` for each selected value: bit `i` of `wanted` stands for value `i`.
    #[inline]
    pub(super) fn each(self, wanted: &[u64], mut f: impl FnMut(usize, usize, usize)) -> Result<()> {
        match self.source {
            Source::Page { at, width } => {
                let offset = *at;
                let rest = self.bytes.get(offset..).unwrap_or(&[]);
                let f = |i, start, end| f(i, start + offset, end + offset);
                *at += match width {
                    Some(width) => each_selected_fixed(rest, self.n, width, wanted, f)?,
                    None => each_selected(rest, self.n, wanted, f)?,
                };
            }
            Source::Made { width: Some(width) } => {
                each_selected_fixed(&self.bytes, self.n, width, wanted, f)?;
            }
            Source::Made { width: None } => {
                each_selected(&self.bytes, self.n, wanted, f)?;
            }
            Source::Lengths(lengths) => {
                let mut i = 0;
                lengths.each(self.n, |start, end| {
                    if bits::get(wanted, i) {
                        f(i, start, end);
                    }
                    i += 1;
                })?;
            }
        }
        Ok(())
    }
}
