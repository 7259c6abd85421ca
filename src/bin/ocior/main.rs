//! The command line program; all but its allocator and its signals is in [`ocior::cli`].

use std::process::ExitCode;

mod allocator;
#[cfg(feature = "signals")]
mod signals;

fn main() -> ExitCode {
    #[cfg(feature = "signals")]
    signals::handle();
    ocior::cli::main(allocator::keep_what_is_used)
}
