//! The devices in `/dev`.

use std::ffi::OsStr;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::call::Stop;
use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Device {
    Full,
    Null,
    Random,
    Urandom,
    Zero,
}

impl Device {
    pub(crate) const ALL: [Device; 5] = [Device::Full, Device::Null, Device::Random, Device::Urandom, Device::Zero];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Device::Full => "full",
            Device::Null => "null",
            Device::Random => "random",
            Device::Urandom => "urandom",
            Device::Zero => "zero",
        }
    }

    pub(crate) fn named(name: &OsStr) -> Option<Device> {
        Device::ALL.into_iter().find(|device| device.name() == name)
    }

    /// Major 1 and the minor number, as `st_rdev` has them.
    pub(crate) fn number(self) -> u64 {
        let minor = match self {
            Device::Null => 3,
            Device::Zero => 5,
            Device::Full => 7,
            Device::Random => 8,
            Device::Urandom => 9,
        };
        1 << 8 | minor
    }

    pub(crate) fn read(self, random: &mut Random, buffer: &mut [u8]) -> Result<usize, Stop> {
        match self {
            Device::Null => return Ok(0),
            Device::Zero | Device::Full => buffer.fill(0),
            Device::Random | Device::Urandom => random.fill(buffer)?,
        }
        Ok(buffer.len())
    }

    pub(crate) fn write(self, bytes: &[u8]) -> Result<usize, Stop> {
        match self {
            Device::Full => Err(Errno::NOSPC.into()),
            _ => Ok(bytes.len()),
        }
    }
}
