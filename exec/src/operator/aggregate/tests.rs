//! Behaviour of aggregations.
