//! The files of a program that is compiled as it runs: beside the whole program's artifact in the cache, or in a folder of
//! their own.

use std::path::{Path, PathBuf};

use riverrun_program::Profile;
use riverrun_vm::{make_folder_of, write_whole};

pub(super) fn profile_beside(cached: &Path) -> PathBuf {
    cached.with_extension("profile")
}

pub(super) fn hot_beside(cached: &Path) -> PathBuf {
    cached.with_extension("hot.rro")
}

/// Writes a profile, and makes its folder.
pub(super) fn write_profile(path: &Path, profile: &Profile) -> std::io::Result<()> {
    make_folder_of(path)?;
    write_whole(path, profile.to_string().as_bytes())
}
