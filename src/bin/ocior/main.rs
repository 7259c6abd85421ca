//! The command line program; all but its allocator and its signals is in [`ocior::cli`].

use std::process::ExitCode;

#[cfg(feature = "signals")]
mod signals;

/// Drivers free what others allocated (a page read ahead, a batch at an exchange), and each split
/// frees buffers that the next one wants again: an allocator that keeps memory of that kind at hand
/// saves page faults, which threads of one process take one at a time.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    #[cfg(feature = "signals")]
    signals::handle();
    ocior::cli::main()
}
