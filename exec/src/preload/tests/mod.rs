//! `cells.rs` tests the states of an `AsyncSource`, `models.rs` all orders of its threads,
//! `queue.rs` which splits are prepared and taken, `scans.rs` whole scans, `ends.rs` how their
//! tasks end.

#[cfg(not(loom))]
mod cells;
#[cfg(not(loom))]
mod ends;
#[cfg(loom)]
mod models;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
mod scans;
