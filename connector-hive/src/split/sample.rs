//! Sampling: selects which of the scanned rows are used (rules S4.29 to S4.31).
//!
//! Instead of a decision per row, the number of rows up to the next accepted one is drawn from the
//! geometric distribution. It carries over the ends of batches and splits, so that the sampling
//! rate is correct for small batches too.

use std::hash::{BuildHasher, Hasher, RandomState};

use vector::{Error, Result};

/// Accepts rows at random with a fixed probability.
#[derive(Debug, Clone)]
pub(crate) struct RandomSkip {
    rate: f64,
    state: u64,
    /// Number of rows to reject before the next accepted row.
    to_skip: u64,
}

impl RandomSkip {
    /// Returns a sampler that accepts each row with probability `rate`. Equal seeds accept the same
    /// rows; without a seed each sampler is seeded at random.
    ///
    /// # Errors
    /// `Internal` if `rate` is not between 0 and 1.
    pub(crate) fn new(rate: f64, seed: Option<u64>) -> Result<Self> {
        if !(0.0..=1.0).contains(&rate) {
            return Err(Error::internal("a sample rate is outside of [0, 1]").with("rate", rate));
        }
        let state = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let mut skip = RandomSkip { rate, state, to_skip: 0 };
        skip.to_skip = skip.draw();
        Ok(skip)
    }

    /// Returns the accepted rows among the next `num_rows`, numbered from 0.
    pub(crate) fn accept(&mut self, num_rows: usize) -> Vec<u32> {
        let mut accepted = Vec::new();
        let mut row = 0u64;
        loop {
            row = row.saturating_add(self.to_skip);
            if row >= num_rows as u64 {
                self.to_skip = row - num_rows as u64;
                return accepted;
            }
            accepted.push(row as u32);
            row += 1;
            self.to_skip = self.draw();
        }
    }

    /// Draws the number of rows before the next accepted one.
    fn draw(&mut self) -> u64 {
        if self.rate >= 1.0 {
            return 0;
        }
        if self.rate <= 0.0 {
            return u64::MAX;
        }
        // Number of failures before a success; the cast saturates.
        (self.next_unit().ln() / (-self.rate).ln_1p()) as u64
    }

    /// Returns a random number above 0 and at most 1 (splitmix64).
    fn next_unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((z >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(skip: &mut RandomSkip, batches: &[usize]) -> Vec<usize> {
        let mut first = 0;
        let mut rows = Vec::new();
        for batch in batches {
            rows.extend(skip.accept(*batch).into_iter().map(|r| first + r as usize));
            first += batch;
        }
        rows
    }

    #[test]
    fn s4_30_the_share_of_accepted_rows_does_not_depend_on_batches() {
        for rate in [0.01, 0.3, 0.9] {
            let whole = accepted(&mut RandomSkip::new(rate, Some(7)).unwrap(), &[100_000]);
            let pieces: Vec<usize> = (0..100_000).map(|_| 1).collect();
            let small = accepted(&mut RandomSkip::new(rate, Some(7)).unwrap(), &pieces);
            assert_eq!(whole, small);
            let share = whole.len() as f64 / 100_000.0;
            assert!((share - rate).abs() < 0.008, "{share} of {rate}");
        }
    }

    #[test]
    fn s4_30_rate_0_takes_nothing_and_rate_1_everything() {
        let mut none = RandomSkip::new(0.0, None).unwrap();
        assert_eq!(accepted(&mut none, &[1000, 1000]), [] as [usize; 0]);
        let mut all = RandomSkip::new(1.0, None).unwrap();
        assert_eq!(accepted(&mut all, &[2, 0, 1]), [0, 1, 2]);
        assert!(RandomSkip::new(1.5, None).is_err() && RandomSkip::new(f64::NAN, None).is_err());
        let rows = |seed| accepted(&mut RandomSkip::new(0.5, seed).unwrap(), &[100]);
        assert_ne!(rows(Some(1)), rows(Some(2)));
        assert_ne!(rows(None), rows(None));
    }
}
