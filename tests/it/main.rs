//! Integration tests, one binary: each module is a behaviour of the whole.

mod bad_input;
mod copy;
mod corpus;
mod differential;
mod evolution;
mod explain;
mod failures;
mod filtered;
mod formats;
mod inspect;
mod joins;
mod late;
mod many_queries;
mod mutants;
mod partitions;
mod preload;
mod random_files;
mod reasons;
mod replay;
mod row_groups;
mod support;
mod text;
mod tidy;
mod traces;
mod warehouse;
mod worked_example;
