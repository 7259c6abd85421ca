//! Ending a command at a signal: the query is cancelled, and what it has staged is removed.
//!
//! ```text
//! signal --> interrupt(): cancel the query --> it ends with an error, everything is dropped, exit
//!                 |  GRACE later, if the process is still there (a statement is read from a pipe, say)
//!                 \--> staged files removed, exit
//! ```
//!
//! The program installs the handler (`src/bin/ocior/main.rs`) and calls [`interrupt`] on a thread of
//! its own; a library never does. The exit code is 128 and the signal's number, as shells expect.

use std::time::Duration;

use exec::Canceller;
use vector::sync::{LazyLock, Mutex, thread};

use crate::staging;

/// The time that a cancelled query has to end by itself.
const GRACE: Duration = Duration::from_millis(60);
/// The time that a command has whose output appeared while the signal came.
const GRACE_OF_PUBLISHED: Duration = Duration::from_secs(10);

static RUNNING: LazyLock<Mutex<Running>> = LazyLock::new(Mutex::default);

/// What runs in this process.
#[derive(Debug, Default)]
struct Running {
    /// The signal that came.
    signal: Option<i32>,
    query: Option<Canceller>,
}

/// Ends the command that runs in this process as at signal number `signal`, and then the process.
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
        // The command was done when the signal came: its exit code says so.
        thread::sleep(GRACE_OF_PUBLISHED);
    }
    std::process::exit(128 + signal)
}

/// The signal that came, if one did.
pub(super) fn signal() -> Option<i32> {
    RUNNING.lock().signal
}

/// Lets a signal cancel a query, until dropped.
#[derive(Debug)]
pub(super) struct Watch(());

impl Watch {
    /// Watches a query; it is cancelled at once when a signal has come already.
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
