//! The program's allocator, and what it keeps resident.
//!
//! Drivers free what others allocated (a page read ahead, a batch at an exchange), and each split
//! frees buffers that the next one wants again: an allocator that keeps memory of that kind at hand
//! saves page faults, which threads of one process take one at a time.
//!
//! Under a memory limit what is resident has to be what was reserved:
//!
//! | of the system | by default | under a limit |
//! |---|---|---|
//! | transparent huge pages | asked for; each stays resident as a whole while a part of it is in use | not used |
//! | freed memory | returned after a second | returned at once |
//!
//! With the defaults the peak of resident memory is up to half as high again as that of the pools.

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps resident what is in use, and no more, from now on.
pub(crate) fn keep_what_is_used() {
    // A system that refuses this has no huge pages; nothing else depends on it.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    #[cfg(feature = "mimalloc")]
    purge_at_once();
}

#[cfg(feature = "mimalloc")]
#[allow(unsafe_code)]
fn purge_at_once() {
    use std::ffi::{c_int, c_long};
    /// `mi_option_purge_delay` of `mi_option_t` in `mimalloc.h`; its value is in milliseconds.
    const PURGE_DELAY: c_int = 15;
    unsafe extern "C" {
        fn mi_option_set(option: c_int, value: c_long);
    }
    // SAFETY: the signature is that of `mimalloc.h`, and the option is one of the library's, which
    // checks its number. It is a number that the allocator reads whenever it frees pages.
    unsafe { mi_option_set(PURGE_DELAY, 0) }
}
