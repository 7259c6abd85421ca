//! `cells.rs` tests the states of what is made ahead, `models.rs` all orders of its threads.

#[cfg(not(loom))]
mod cells;
#[cfg(loom)]
mod models;
