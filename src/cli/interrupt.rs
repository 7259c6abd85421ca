//! Handling of signals: cancels the query and removes its temporary files.
//!
//! ```text
//! signal --> interrupt(): cancel the query --> it ends with an error, everything is dropped, exit
//!                 |  GRACE later, if the process has not ended (say, it reads a statement)
//!                 \--> temporary files removed, exit
//! ```
//!
//! The program installs the handler (`src/bin/ocior/main.rs`) and calls [`interrupt`] on a separate
//! thread; a library must not. The exit code is 128 plus the signal's number, as shells expect.

use std::time::Duration;

use exec::Canceller;
use vector::sync::{LazyLock, Mutex, thread};

use crate::staging;

/// Time that a cancelled query has to end by itself.
const GRACE: Duration = Duration::from_millis(60);
/// Time that a command has to end if its output was published while the signal arrived.
const GRACE_OF_PUBLISHED: Duration = Duration::from_secs(10);

static RUNNING: LazyLock<Mutex<Running>> = LazyLock::new(Mutex::default);

/// State of the command that runs in this process.
#[derive(Debug, Default)]
struct Running {
    /// Signal that was received, if any.
    signal: Option<i32>,
    query: Option<Canceller>,
}

/// Cancels the command of this process because of signal number `signal`, and then ends the
/// process.
pub fn interrupt(signal: i32) -> ! {
    {
        let mut running = RUNNING.lock();
        running.signal.get_or_insert(signal);
        if let Some(query) = &running.query {
            query.cancel();
        }
    }
    thread::sleep(GRACE);
    if !staging::abandon_all() {
        // The command had completed when the signal arrived; its own exit code reports that.
        thread::sleep(GRACE_OF_PUBLISHED);
    }
    std::process::exit(128 + signal)
}

/// Returns the signal that was received, if any.
pub(super) fn signal() -> Option<i32> {
    RUNNING.lock().signal
}

/// Lets a signal cancel a query until this value is dropped.
#[derive(Debug)]
pub(super) struct Watch(());

impl Watch {
    /// Watches a query. If a signal has already been received, the query is cancelled at once.
    pub(super) fn new(query: Canceller) -> Self {
        let mut running = RUNNING.lock();
        if running.signal.is_some() {
            query.cancel();
        }
        running.query = Some(query);
        Watch(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        RUNNING.lock().query = None;
    }
}
