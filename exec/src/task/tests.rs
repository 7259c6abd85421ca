//! Behaviour of tasks.
