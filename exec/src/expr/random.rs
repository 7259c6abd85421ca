//! Dice: numbers that no argument decides.

use std::hash::{BuildHasher, RandomState};

use vector::sync::atomic::{AtomicU64, Ordering};
use vector::{BufferMut, Result, Type};

use super::kernel::{Argument, Kernel};

/// The steps of the state: odd, so that all states are met (splitmix64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A DOUBLE for each row, evenly spread over 0 to 1 without 1.
pub(super) fn rand(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    // Each compiled call has a state of its own, so that no two drivers draw the same numbers.
    let state = AtomicU64::new(RandomState::new().hash_one(0));
    Ok(Kernel::new(move |call| {
        let mut out = BufferMut::new();
        out.resize(call.num_rows(), 0f64);
        for row in call.rows.iter() {
            out[row] = unit(state.fetch_add(STEP, Ordering::Relaxed));
        }
        call.fixed(out.freeze())
    }))
}

/// A number from 0 to 1 from the mixed bits of a state.
fn unit(state: u64) -> f64 {
    let mut bits = state;
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // 53 bits are what a double holds exactly.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
