//! The command line program; everything is in [`ocior::cli`].

use std::process::ExitCode;

/// Drivers free what others allocated (a page read ahead, a batch at an exchange), and each split
/// frees buffers that the next one wants again: an allocator that keeps memory of that kind at hand
/// saves page faults, which threads of one process take one at a time.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ocior::cli::main()
}
