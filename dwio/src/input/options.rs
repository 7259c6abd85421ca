//! Options for reading the bytes of a file: read sizes, caching and cancellation.

use vector::sync::CancelFlag;

use super::cache::CacheAccess;

/// Default of [`Coalescing::max_distance`]. Reading a gap costs a copy from the page cache and a
/// separate read costs a system call; for a gap of this size both take some microseconds.
pub const MAX_COALESCE_GAP: u64 = 16 << 10;

/// Default of [`Coalescing::max_bytes`].
pub const MAX_COALESCED_BYTES: u64 = 128 << 20;

/// Default of [`Coalescing::load_quantum`]. A larger quantum gains nothing for local files: a read
/// of this size takes many times as long as the system call itself, and its bytes are still in a
/// near CPU cache when they are decompressed.
pub const LOAD_QUANTUM: u64 = 512 << 10;

/// Sizes of coalesced reads (rule S14.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// Maximum gap in bytes between two regions that are read together.
    pub max_distance: u64,
    /// Maximum size in bytes of a read that covers several regions.
    pub max_bytes: u64,
    /// Maximum number of bytes per read if a format streams a region from start to end.
    pub load_quantum: u64,
}

impl Default for Coalescing {
    fn default() -> Self {
        Coalescing {
            max_distance: MAX_COALESCE_GAP,
            max_bytes: MAX_COALESCED_BYTES,
            load_quantum: LOAD_QUANTUM,
        }
    }
}

/// Options of an input.
#[derive(Debug, Clone, Default)]
pub struct InputOptions {
    /// Sizes of coalesced reads.
    pub coalescing: Coalescing,
    /// Cache to use, and how; mapped files do not use it.
    pub cache: Option<CacheAccess>,
    /// Ends the wait for a load of another reader when it is set.
    pub cancel: Option<CancelFlag>,
}
