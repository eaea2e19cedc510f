//! Features of the host's processor that compiled code may use.

use std::fmt;

/// A set of processor features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(pub u64);

macro_rules! features {
    ($($bit:literal $detect:tt $llvm:literal $level:literal;)*) => {
        /// The features of this processor.
        fn detect() -> u64 {
            0 $(| u64::from(std::arch::is_x86_feature_detected!($detect)) << $bit)*
        }

        /// Bit, LLVM's name, and the x86-64 level that has it first (5: none).
        const ALL: &[(u32, &str, u8)] = &[$(($bit, $llvm, $level)),*];
    };
}

features! {
    0 "sse3" "sse3" 2;
    1 "ssse3" "ssse3" 2;
    2 "sse4.1" "sse4.1" 2;
    3 "sse4.2" "sse4.2" 2;
    4 "popcnt" "popcnt" 2;
    5 "cmpxchg16b" "cx16" 2;
    6 "avx" "avx" 3;
    7 "avx2" "avx2" 3;
    8 "bmi1" "bmi" 3;
    9 "bmi2" "bmi2" 3;
    10 "f16c" "f16c" 3;
    11 "fma" "fma" 3;
    12 "lzcnt" "lzcnt" 3;
    13 "movbe" "movbe" 3;
    14 "avx512f" "avx512f" 4;
    15 "avx512bw" "avx512bw" 4;
    16 "avx512cd" "avx512cd" 4;
    17 "avx512dq" "avx512dq" 4;
    18 "avx512vl" "avx512vl" 4;
    19 "adx" "adx" 5;
}

impl Features {
    /// What the host has.
    pub fn native() -> Features {
        Features(detect())
    }

    /// Those of x86-64-v2, v3 or v4.
    pub fn of_level(level: u8) -> Features {
        Features(ALL.iter().filter(|(_, _, first)| *first <= level).map(|(bit, _, _)| 1 << bit).sum())
    }

    /// What is in `self` but not in `other`.
    pub fn without(self, other: Features) -> Features {
        Features(self.0 & !other.0)
    }

    /// Whether the set has the feature that LLVM calls so.
    pub fn has(self, llvm_name: &str) -> bool {
        self.names().any(|name| name == llvm_name)
    }

    /// LLVM's names of the features.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        ALL.iter().filter(move |(bit, _, _)| self.0 >> bit & 1 != 0).map(|&(_, name, _)| name)
    }
}

/// The names, separated by commas.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}
