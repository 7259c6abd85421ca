//! The command line program; everything is in [`ocior::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ocior::cli::main()
}
