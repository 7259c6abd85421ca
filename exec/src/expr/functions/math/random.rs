//! Random numbers: results that do not depend on arguments.

use std::hash::{BuildHasher, RandomState};

use vector::sync::atomic::{AtomicU64, Ordering};
use vector::{BufferMut, Result, Type};

use crate::expr::kernel::{Argument, Kernel};
use crate::expr::registry::Function;

/// The functions of this file.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::scalar("rand", &["() -> DOUBLE"], rand).non_deterministic(),
    Function::scalar("random", &["() -> DOUBLE"], rand).non_deterministic(),
];

/// Increment of the state; odd, so that all states are reached (splitmix64).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns a DOUBLE for each row, uniformly distributed from 0 (inclusive) to 1 (exclusive).
fn rand(_: &[Argument<'_>], _: &Type) -> Result<Kernel> {
    // Each compiled call has its own state, so that no two drivers produce the same numbers.
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

/// Returns a number from 0 (inclusive) to 1 (exclusive) from the mixed bits of a state.
fn unit(state: u64) -> f64 {
    let mut bits = state;
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // A double represents integers of 53 bits exactly.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}
