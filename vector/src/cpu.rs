//! What this CPU can do, found out once.
//!
//! A [`Level`] is a proof: code that holds one with [`Level::has_avx2`] may call functions that are
//! compiled for AVX2. Kernels take the level as an argument, so that tests and benchmarks run each
//! of their forms ([`Level::available`]) and everybody else passes [`level`].
//!
//! ```text
//! portable  <  avx2 (AVX2, BMI1, BMI2, LZCNT, POPCNT)  <  avx512 (F, BW, CD, DQ, VL, VBMI, VBMI2)
//! ```
//!
//! The environment variable `OCIOR_SIMD` names the highest level that is used: `off`, `avx2` or,
//! which is the default, whatever there is (rules P7.13, P7.14).

use crate::sync::LazyLock;

/// The environment variable that holds levels down.
pub const VARIABLE: &str = "OCIOR_SIMD";

/// A set of instructions that this CPU has for sure: there is no way to make one that it has not.
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

/// The level that kernels use in this process.
#[inline]
pub fn level() -> Level {
    *USED
}

impl Level {
    /// No more than every CPU of this architecture has.
    pub const PORTABLE: Level = Level { rank: Rank::Portable, has_fast_pext: false };

    /// All levels that this CPU has, the portable one first; `OCIOR_SIMD` is not asked.
    pub fn available() -> impl Iterator<Item = Level> {
        let detected = *DETECTED;
        let ranks = [Rank::Portable, Rank::Avx2, Rank::Avx512].into_iter();
        ranks.filter(move |rank| *rank <= detected.rank).map(move |rank| detected.lowered_to(rank))
    }

    /// AVX2, BMI1, BMI2, LZCNT and POPCNT.
    #[inline]
    pub fn has_avx2(self) -> bool {
        self.rank >= Rank::Avx2
    }

    /// AVX-512 F, BW, CD, DQ, VL, VBMI and VBMI2, and all that [`Level::has_avx2`] means.
    #[inline]
    pub fn has_avx512(self) -> bool {
        self.rank >= Rank::Avx512
    }

    /// BMI2's PEXT and PDEP are there and take a few cycles, not hundreds.
    #[inline]
    pub fn has_fast_pext(self) -> bool {
        self.has_fast_pext
    }

    /// The level's name, as `OCIOR_SIMD` takes it.
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

    /// Names that are not known hold nothing down.
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

/// AMD's families 17h and 18h (Zen 1, Zen 2) run PEXT and PDEP bit by bit.
#[cfg(target_arch = "x86_64")]
fn has_microcoded_pext() -> bool {
    use std::arch::x86_64::__cpuid;

    // "Auth", "Hygo": the first four letters of the vendor tell.
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
