//! Reading ahead.
pub mod async_source;

#[cfg(test)]
mod tests;
