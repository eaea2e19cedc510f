//! Profiles: which code a program has executed, and where it spends its time. The interpreter samples, the compiler chooses
//! functions by it, a file keeps it between runs.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

/// The first line of a profile's text.
const TITLE: &str = "riverrun profile 3";
/// Begins the line with the time in the interpreter.
const INTERPRETED: &str = "interpreted ";
/// Begins the line with that in code that is not compiled.
const UNCOMPILED: &str = "uncompiled ";
/// Begins the line with the time in quick code.
const QUICK: &str = "quick ";
/// Addresses that a profile holds at most.
const ADDRESSES_MAX: usize = 1 << 18;

/// Samples of a program's pc: each stands for the same number of interpreted instructions. An address with no sample is one
/// that control has reached.
///
/// ```
/// let mut profile = riverrun_program::Profile::default();
/// profile.add(0x10400, 3);
/// assert_eq!(profile.to_string().parse(), Ok(profile));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    samples: BTreeMap<u64, u64>,
    total: u64,
    /// How long the interpreter has taken to make the samples. A file has this, as the following, in milliseconds.
    pub interpreted: Duration,
    /// How much of that in code that has not been compiled by it.
    pub uncompiled: Duration,
    /// How much of the processor processes have taken that had quick code of the program.
    pub quick: Duration,
}

/// A text that is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// It does not begin as profiles do.
    #[error("not a profile: its first line is not \"{TITLE}\"")]
    Title,
    /// A line is not an address and a count.
    #[error("line {line} of the profile is not an address and a count, such as 0x10400 3")]
    Line {
        /// Its number, from 1 on.
        line: usize,
    },
}

impl Profile {
    /// Adds samples at an address, or none if control has just been there. Beyond 262,144 addresses only their number
    /// counts.
    pub fn add(&mut self, pc: u64, count: u64) {
        self.total = self.total.saturating_add(count);
        if self.samples.len() < ADDRESSES_MAX || self.samples.contains_key(&pc) {
            let samples = self.samples.entry(pc).or_default();
            *samples = samples.saturating_add(count);
        }
    }

    /// The number of samples.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether control has been at any of these addresses.
    pub fn has_reached(&self, addresses: RangeInclusive<u64>) -> bool {
        self.samples.range(addresses).next().is_some()
    }

    /// The number of samples at these addresses.
    pub fn within(&self, addresses: Range<u64>) -> u64 {
        self.samples.range(addresses).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE}")?;
        for (name, time) in [(INTERPRETED, self.interpreted), (UNCOMPILED, self.uncompiled), (QUICK, self.quick)] {
            if time.as_millis() != 0 {
                writeln!(f, "{name}{}", time.as_millis())?;
            }
        }
        self.samples.iter().try_for_each(|(pc, count)| writeln!(f, "{pc:#x} {count}"))
    }
}

impl std::str::FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Profile, ProfileError> {
        let mut lines = text.lines().zip(1..);
        if lines.next().is_none_or(|(title, _)| title != TITLE) {
            return Err(ProfileError::Title);
        }
        let mut profile = Profile::default();
        for (text, line) in lines {
            let Profile { interpreted, uncompiled, quick, .. } = &mut profile;
            let named = [(INTERPRETED, interpreted), (UNCOMPILED, uncompiled), (QUICK, quick)];
            let named = named.into_iter().find_map(|(name, field)| Some((text.strip_prefix(name)?, field)));
            if let Some((number, field)) = named {
                *field = Duration::from_millis(number.parse().map_err(|_| ProfileError::Line { line })?);
                continue;
            }
            let sample = || {
                let (pc, count) = text.strip_prefix("0x")?.split_once(' ')?;
                Some((u64::from_str_radix(pc, 16).ok()?, count.parse().ok()?))
            };
            let (pc, count) = sample().ok_or(ProfileError::Line { line })?;
            profile.add(pc, count);
        }
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_and_all_else_refused() {
        let mut profile = Profile::default();
        profile.add(0x10400, 1);
        profile.add(0x10400, 2);
        profile.add(0x10500, u64::MAX);
        assert_eq!((profile.total(), profile.within(0x10400..0x10500)), (u64::MAX, 3));
        assert_eq!(profile.to_string().parse(), Ok(profile.clone()));
        let times = [6, 7, 8].map(Duration::from_millis);
        [profile.interpreted, profile.uncompiled, profile.quick] = times;
        assert_eq!(profile.to_string().parse(), Ok(profile));
        assert_eq!("".parse::<Profile>(), Err(ProfileError::Title));
        for wrong in ["0x10400", "10400 1", "0x10400 -1", "0xg 1", "uncompiled x", ""] {
            let text = format!("{TITLE}\n0x10400 1\n{wrong}\n0x10500 1\n");
            assert_eq!(text.parse::<Profile>(), Err(ProfileError::Line { line: 3 }), "{wrong}");
        }
    }

    #[test]
    fn an_address_without_samples_has_been_reached() {
        let mut profile = Profile::default();
        profile.add(0x10400, 0);
        profile.add(0x10500, 2);
        profile.add(0x10500, 0);
        assert_eq!((profile.total(), profile.within(0x10400..0x10500), profile.within(0x10500..0x10502)), (2, 0, 2));
        assert!(profile.has_reached(0x10400..=0x10400) && !profile.has_reached(0x10402..=0x104fe));
        assert_eq!(profile.to_string().parse(), Ok(profile));
    }

    #[test]
    fn a_profile_stays_small() {
        let mut profile = Profile::default();
        (0..2 * ADDRESSES_MAX as u64).for_each(|pc| profile.add(pc, 1));
        assert_eq!((profile.samples.len(), profile.total()), (ADDRESSES_MAX, 2 * ADDRESSES_MAX as u64));
    }
}
