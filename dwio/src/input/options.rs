//! How the bytes of a file are read: what is read at once, and what is kept for others.

use vector::sync::CancelFlag;

use super::cache::CacheAccess;

/// Regions closer than this are read together. A gap costs a copy from the page cache, a read of
/// its own a system call; both are some microseconds here.
pub const MAX_COALESCE_GAP: u64 = 16 << 10;

/// A joined read stops growing here.
pub const MAX_COALESCED_BYTES: u64 = 128 << 20;

/// What is read at once of a region that is read bit by bit. More gains nothing where files are
/// near: a read of this size takes many times what the call costs, and its bytes are still in a near
/// cache when they are decompressed.
pub const LOAD_QUANTUM: u64 = 512 << 10;

/// What is read at once (rule S14.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// Regions whose gap is at most this are read together,
    pub max_distance: u64,
    /// up to this many bytes.
    pub max_bytes: u64,
    /// The most that a format reads at once of a region that it goes through from start to end.
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

/// How an input reads its file.
#[derive(Debug, Clone, Default)]
pub struct InputOptions {
    /// What is read at once.
    pub coalescing: Coalescing,
    /// The cache that is looked into, and by whom; files that are mapped need none.
    pub cache: Option<CacheAccess>,
    /// Ends waits for reads of others when raised.
    pub cancel: Option<CancelFlag>,
}
