//! Signals that end the program: SIGINT and SIGTERM end the command that runs.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use vector::sync::thread;

/// Handles the signals from now on. Where that is not possible they end the process as they do
/// without a handler: what it has staged is then removed by the next COPY into the same folder.
pub(crate) fn handle() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            ocior::cli::interrupt(signal);
        }
    };
    // Without the thread the handlers would swallow the signals, so that they would do nothing.
    if thread::Builder::new().name("ocior-signals".into()).spawn(wait).is_err() {
        std::process::abort();
    }
}
