//! Permissions of guest pages.

use std::fmt;
use std::ops::BitOr;

/// What a guest may do with a page. The host's own mapping is never executable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Perm(u8);

impl Perm {
    /// No access.
    pub const NONE: Perm = Perm(0);
    /// Loads.
    pub const READ: Perm = Perm(1);
    /// Stores.
    pub const WRITE: Perm = Perm(2);
    /// Execution.
    pub const EXECUTE: Perm = Perm(4);

    /// Whether every permission in `other` is in `self`.
    pub const fn contains(self, other: Perm) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both permissions.
    pub(crate) const fn and(self, other: Perm) -> Perm {
        Perm(self.0 | other.0)
    }

    /// With [`Perm::READ`] where anything is allowed: processors have no pages that can be
    /// written but not read, and text is data too.
    pub(crate) const fn readable(self) -> Perm {
        if self.0 == 0 { self } else { Perm(self.0 | Perm::READ.0) }
    }
}

impl BitOr for Perm {
    type Output = Perm;

    fn bitor(self, other: Perm) -> Perm {
        Perm(self.0 | other.0)
    }
}

/// As `r-x`.
impl fmt::Display for Perm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |perm, letter| if self.contains(perm) { letter } else { '-' };
        write!(f, "{}{}{}", letter(Perm::READ, 'r'), letter(Perm::WRITE, 'w'), letter(Perm::EXECUTE, 'x'))
    }
}
