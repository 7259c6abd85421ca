//! Seeded random numbers (splitmix64), so that a failing test fails again.

/// A sequence of random numbers that depends on its seed only.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns true once in `times` calls on average.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Reads a count and a seed from an environment variable, `COUNT` or `COUNT:SEED`.
pub(crate) fn numbers_from_env(name: &str, default: (u64, u64)) -> (u64, u64) {
    let Ok(text) = std::env::var(name) else { return default };
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{name} is {text}"));
    match text.split_once(':') {
        Some((count, seed)) => (number(count), number(seed)),
        None => (number(&text), default.1),
    }
}

/// Reads a number from an environment variable.
pub(crate) fn number_from_env(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return default };
    text.parse().unwrap_or_else(|_| panic!("{name} is {text}"))
}
