//! Detection of the instruction sets of the CPU, once per process.
//!
//! A [`Level`] is a proof of capability: code that holds one for which [`Level::has_avx2`] is true
//! may call functions that are compiled for AVX2. Kernels take the level as an argument, so that
//! tests and benchmarks run all variants ([`Level::available`]); all other callers pass [`level`].
//!
//! ```text
//! portable  <  avx2 (AVX2, BMI1, BMI2, LZCNT, POPCNT)  <  avx512 (F, BW, CD, DQ, VL, VBMI, VBMI2)
//! ```
//!
//! CPUs with AVX-512 but without VBMI and VBMI2 use the AVX2 kernels (rule P7.13), and CPUs whose
//! PEXT and PDEP are slow use shift-and-mask code instead (rule P7.14). The environment variable
//! `OCIOR_SIMD` names the highest level that is used: `off` or `avx2`; by default it is the highest
//! level that the CPU has.

use crate::sync::LazyLock;

/// Name of the environment variable that limits the level.
pub const VARIABLE: &str = "OCIOR_SIMD";

/// A set of instructions that this CPU certainly has; a level that the CPU lacks cannot be
/// constructed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    rank: Rank,
    has_fast_pext: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Portable,
    Avx2,
    Avx512,
}

static DETECTED: LazyLock<Level> = LazyLock::new(detect);
static USED: LazyLock<Level> =
    LazyLock::new(|| DETECTED.at_most(std::env::var(VARIABLE).ok().as_deref()));

/// Returns the level that kernels use in this process.
#[inline]
pub fn level() -> Level {
    *USED
}

impl Level {
    /// The level that every CPU of this architecture has.
    pub const PORTABLE: Level = Level { rank: Rank::Portable, has_fast_pext: false };

    /// Returns all levels that this CPU has, in ascending order from the portable one, regardless
    /// of `OCIOR_SIMD`.
    pub fn available() -> impl Iterator<Item = Level> {
        let detected = *DETECTED;
        let ranks = [Rank::Portable, Rank::Avx2, Rank::Avx512].into_iter();
        ranks.filter(move |rank| *rank <= detected.rank).map(move |rank| detected.lowered_to(rank))
    }

    /// Returns true if AVX2, BMI1, BMI2, LZCNT and POPCNT are available.
    #[inline]
    pub fn has_avx2(self) -> bool {
        self.rank >= Rank::Avx2
    }

    /// Returns true if AVX-512 F, BW, CD, DQ, VL, VBMI and VBMI2 are available, along with all
    /// instructions of [`Level::has_avx2`].
    #[inline]
    pub fn has_avx512(self) -> bool {
        self.rank >= Rank::Avx512
    }

    /// Returns true if the PEXT and PDEP instructions of BMI2 are available and take a few cycles
    /// instead of hundreds.
    #[inline]
    pub fn has_fast_pext(self) -> bool {
        self.has_fast_pext
    }

    /// Returns the level's name, as `OCIOR_SIMD` accepts it.
    pub fn name(self) -> &'static str {
        match self.rank {
            Rank::Portable => "off",
            Rank::Avx2 => "avx2",
            Rank::Avx512 => "avx512",
        }
    }

    fn lowered_to(self, rank: Rank) -> Level {
        match rank {
            Rank::Portable => Level::PORTABLE,
            rank => Level { rank: rank.min(self.rank), ..self },
        }
    }

    /// Returns this level, lowered to the one called `name`. Unknown names do not lower it.
    fn at_most(self, name: Option<&str>) -> Level {
        match name.map(str::trim) {
            Some("off" | "0" | "portable") => Level::PORTABLE,
            Some("avx2") => self.lowered_to(Rank::Avx2),
            _ => self,
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    macro_rules! all {
        ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
    }
    if !all!("avx2" "bmi1" "bmi2" "lzcnt" "popcnt") {
        return Level::PORTABLE;
    }
    let is_512 =
        all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl" "avx512vbmi" "avx512vbmi2");
    let rank = if is_512 { Rank::Avx512 } else { Rank::Avx2 };
    Level { rank, has_fast_pext: !has_microcoded_pext() }
}

/// Returns true for AMD and Hygon CPUs before family 19h (Zen 1 and Zen 2 are families 17h and
/// 18h), which execute PEXT and PDEP bit by bit in microcode.
#[cfg(target_arch = "x86_64")]
fn has_microcoded_pext() -> bool {
    use std::arch::x86_64::__cpuid;

    // "Auth" and "Hygo" are the first four letters of the vendor strings, which identify the
    // vendors.
    const VENDORS: [u32; 2] = [u32::from_le_bytes(*b"Auth"), u32::from_le_bytes(*b"Hygo")];
    let version = __cpuid(1).eax;
    let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    VENDORS.contains(&__cpuid(0).ebx) && family < 0x19
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    Level::PORTABLE
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn levels_ascend_from_the_portable_one_to_what_was_detected() {
        let levels: Vec<Level> = Level::available().collect();
        assert_eq!(levels.first(), Some(&Level::PORTABLE));
        assert_eq!(levels.last().copied(), Some(*DETECTED));
        assert!(levels.is_sorted_by(|a, b| a.rank < b.rank));
        assert!(levels.iter().all(|l| l.has_avx2() || !l.has_avx512() && !l.has_fast_pext()));
    }

    #[test]
    fn the_variable_only_takes_away() {
        for level in Level::available() {
            assert_eq!(level.at_most(Some("off")), Level::PORTABLE);
            assert_eq!(level.at_most(None), level);
            assert_eq!(level.at_most(Some("whatever")), level);
            assert!(level.at_most(Some(" avx2 ")).rank <= Rank::Avx2);
            assert_eq!(level.at_most(Some(level.name())), level);
        }
    }
}
