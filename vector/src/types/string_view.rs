//! The 16-byte string view, in the layout of Arrow's `Utf8View`.
//!
//! ```text
//! len <= 12   | len: u32 | 12 bytes, zero padded                     |
//! len >  12   | len: u32 | first 4 bytes | buffer index | offset: u32 |
//! ```
//!
//! Views contain no raw pointers. A string vector holds the buffers, so views are plain data and
//! the export to Arrow needs no conversion. Two inline views are equal exactly if their bits are
//! equal.

/// Maximum number of bytes of a string that is stored inside the view.
pub const INLINE_LIMIT: usize = 12;

/// Length of a string, and either its bytes or their location.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct StringView(u128);

impl StringView {
    /// Creates the view of a string of at most [`INLINE_LIMIT`] bytes; longer input is truncated to
    /// it.
    #[inline]
    pub fn inline(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..INLINE_LIMIT).unwrap_or(bytes);
        let len = bytes.len();
        // Two overlapping loads of a fixed width are cheaper than a copy of variable length; bytes
        // covered by both are the same.
        let text = match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) => {
                let last = u128::from(u64::from_le_bytes(*last));
                u128::from(u64::from_le_bytes(*first)) | last << (8 * (len - 8))
            }
            _ => match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
                (Some(first), Some(last), _) => {
                    let last = u128::from(u32::from_le_bytes(*last));
                    u128::from(u32::from_le_bytes(*first)) | last << (8 * (len - 4))
                }
                (.., [a, rest @ ..]) => {
                    let rest =
                        rest.iter().rev().fold(0, |text, byte| text << 8 | u128::from(*byte));
                    rest << 8 | u128::from(*a)
                }
                (.., []) => 0,
            },
        };
        StringView(text << 32 | len as u128)
    }

    /// Creates the view of the first `len` bytes of `block`, regardless of the bytes after them;
    /// `len` is limited to [`INLINE_LIMIT`]. This is cheaper than [`StringView::inline`], because
    /// it copies a fixed number of bytes.
    #[inline]
    pub fn inline_of(block: &[u8; INLINE_LIMIT], len: usize) -> Self {
        let len = len.min(INLINE_LIMIT);
        let mut raw = [0u8; 16];
        raw[4..].copy_from_slice(block);
        // All payload bits are kept for 12 bytes and none for 0; the shift is always less than the
        // width of the number.
        let unused = 8 * (INLINE_LIMIT - len) as u32;
        let mask = ((u128::MAX << 32) << unused) >> unused;
        StringView(u128::from_le_bytes(raw) & mask | len as u128)
    }

    /// Creates the view of `bytes`, which are at `offset` of buffer number `buffer`; strings of at
    /// most [`INLINE_LIMIT`] bytes are copied into the view. `bytes` must be shorter than 4 GiB.
    #[inline]
    pub fn new(bytes: &[u8], buffer: u32, offset: u32) -> Self {
        match bytes {
            [a, b, c, d, ..] if bytes.len() > INLINE_LIMIT => {
                let prefix = u32::from_le_bytes([*a, *b, *c, *d]);
                StringView(
                    (bytes.len() as u32 as u128)
                        | u128::from(prefix) << 32
                        | u128::from(buffer) << 64
                        | u128::from(offset) << 96,
                )
            }
            _ => Self::inline(bytes),
        }
    }

    /// Returns the number of bytes of the string.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> usize {
        self.0 as u32 as usize
    }

    /// Returns true if the bytes are inside the view.
    #[inline]
    pub fn is_inline(self) -> bool {
        self.len() <= INLINE_LIMIT
    }

    /// Returns the buffer index and the offset of a string that is not inline.
    #[inline]
    pub fn location(self) -> (usize, usize) {
        ((self.0 >> 64) as u32 as usize, (self.0 >> 96) as u32 as usize)
    }

    /// Returns the same view with its buffer index increased by `by`, for concatenating vectors.
    #[inline]
    pub fn rebase(self, by: u32) -> Self {
        if self.is_inline() {
            return self;
        }
        let (buffer, _) = self.location();
        let buffer = (buffer as u32).wrapping_add(by);
        StringView((self.0 & !(u128::from(u32::MAX) << 64)) | u128::from(buffer) << 64)
    }

    /// Returns the length and the first four bytes as one number; equal strings have equal heads.
    #[inline]
    pub fn head(self) -> u64 {
        self.0 as u64
    }

    /// Returns the 16 bytes as one little-endian number, as Arrow stores them.
    pub fn to_bits(self) -> u128 {
        self.0
    }

    /// Returns the 16 bytes of the view; the string of an inline view is at `4..4 + len`.
    #[inline]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }
}

impl std::fmt::Debug for StringView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StringView(len={})", self.len())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn short_strings_are_equal_exactly_when_their_views_are() {
        assert_eq!(StringView::inline(b"abc"), StringView::new(b"abc", 7, 9));
        assert_ne!(StringView::inline(b"abc"), StringView::inline(b"abc\0"));
        assert_eq!(StringView::inline(b"").len(), 0);
        let full = StringView::inline(b"123456789012");
        assert_eq!((full.len(), full.is_inline()), (12, true));
        assert_eq!(&full.to_bytes()[4..], b"123456789012");
    }

    #[test]
    fn bytes_behind_a_short_string_do_not_count() {
        let block = b"abcdefghijkl";
        for len in 0..=INLINE_LIMIT {
            let view = StringView::inline(&block[..len]);
            assert_eq!(StringView::inline_of(block, len), view);
            let (text, rest) = (&view.to_bytes()[4..4 + len], &view.to_bytes()[4 + len..]);
            assert!(text == &block[..len] && rest.iter().all(|byte| *byte == 0), "{len}");
        }
    }

    #[test]
    fn long_strings_keep_prefix_and_place() {
        let view = StringView::new(b"a long string of bytes", 3, u32::MAX);
        assert_eq!(view.len(), 22);
        assert_eq!(view.location(), (3, u32::MAX as usize));
        assert_eq!(view.rebase(2).location(), (5, u32::MAX as usize));
        assert_eq!(view.head() >> 32, u64::from(u32::from_le_bytes(*b"a lo")));
    }
}
