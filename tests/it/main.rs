//! Integration tests, one binary: each module is a behaviour of the whole.

mod tidy;
