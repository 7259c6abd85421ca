//! What the drivers of a task observe beside its end: requests to pause or yield, and barriers.
//!
//! Drivers and operators use these types; tasks own them.

pub mod barrier;
pub mod threads;
