//! Detection of files that cannot become shorter while they are mapped into memory.
//!
//! An access to a mapped page beyond the end of a file that has shrunk raises SIGBUS, and a check
//! of the length cannot prevent it: the file may shrink between the check and the access. A file is
//! therefore mapped only if the kernel guarantees that its length stays the same as long as it
//! exists:
//!
//! | guarantee | by |
//! |---|---|
//! | a memory file that is sealed against shrinking | `F_SEAL_SHRINK`, which cannot be removed |
//! | fs-verity | `STATX_ATTR_VERITY`: the file can no longer be opened for writing |
//! | a file system without writes: SquashFS, EROFS, ISO 9660 | its type |
//!
//! Permissions, leases and read-only mounts are no guarantee: the owner can change permissions, a
//! lease is broken after a time, and the same file system may be mounted writable elsewhere.

use std::fs::File;

/// `f_type` of file systems whose files never change, from `linux/magic.h` and `statfs(2)`.
#[cfg(target_os = "linux")]
const READ_ONLY_FILE_SYSTEMS: [u64; 3] = [0x7371_7368, 0xe0f5_e1e2, 0x9660];

/// Returns true if the kernel guarantees that the length of the file stays the same.
#[cfg(target_os = "linux")]
pub(super) fn cannot_shrink(file: &File) -> bool {
    use rustix::fs::{AtFlags, SealFlags, StatxAttributes, StatxFlags};
    use rustix::fs::{fcntl_get_seals, fstatfs, statx};

    // Each of these calls fails if the file system or the kernel does not support it.
    let is_sealed = fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
    let is_verified = || {
        statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::empty())
            .is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::VERITY))
    };
    let is_read_only = || {
        fstatfs(file)
            .ok()
            .and_then(|found| u64::try_from(found.f_type).ok())
            .is_some_and(|kind| READ_ONLY_FILE_SYSTEMS.contains(&kind))
    };
    is_sealed || is_verified() || is_read_only()
}

/// Returns false: no guarantee is known for other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn cannot_shrink(_: &File) -> bool {
    false
}
