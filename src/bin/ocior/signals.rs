//! Signals of the program: SIGINT and SIGTERM end the command that runs; SIGXFSZ makes a write fail that
//! would exceed the file size limit of the process (`EFBIG`).

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use vector::sync::{Arc, thread};

/// Handles the signals from now on. Where that is not possible they end the process as they do
/// without a handler: what it has staged is then removed by the next COPY into the same folder.
pub(crate) fn handle() {
    // A handler that does nothing of its own keeps the process: the write returns an error. Where it
    // is not possible, the signal ends the process as without one.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
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
