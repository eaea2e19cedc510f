//! Compiled code that is linked into the host, for platforms where files cannot be mapped as code.

use crate::FaultExit;

use super::header::Header;

/// A program's compiled code as part of the host: the symbol `riverrun_artifact_NAME` in an object made by `riverrun compile
/// --emit object`.
#[repr(C)]
#[derive(Debug)]
pub struct LinkedArtifact {
    /// Of [`Header::SIZE`] bytes, for an artifact without a shared object.
    pub(crate) header: *const u8,
    pub(crate) dispatch: *const u64,
    /// As [`crate::artifact::REENTRY_POINTS_SYMBOL`].
    pub(crate) reentry_points: *const u32,
    /// As [`crate::artifact::HOST_ABI_ENTRIES_SYMBOL`].
    pub(crate) host_abi_entries: *const u64,
    pub(crate) text_start: *const u8,
    pub(crate) text_end: *const u8,
    /// The table of accesses that may fault; null if there are none.
    pub(crate) fault_exits_start: *const FaultExit,
    pub(crate) fault_exits_end: *const FaultExit,
}

// SAFETY: it points to constants of the host's executable.
unsafe impl Sync for LinkedArtifact {}

impl LinkedArtifact {
    /// What the symbols of such objects begin with; the name follows.
    pub const SYMBOL: &str = "riverrun_artifact_";

    /// # Safety
    /// It comes from the compiler.
    pub(crate) unsafe fn header(&self) -> &'static [u8] {
        // SAFETY: the compiler puts so many bytes there.
        unsafe { std::slice::from_raw_parts(self.header, Header::SIZE) }
    }

    /// # Safety
    /// It comes from the compiler.
    pub(crate) unsafe fn fault_exits(&self) -> &'static [FaultExit] {
        let (start, end) = (self.fault_exits_start, self.fault_exits_end);
        if start.is_null() {
            return &[];
        }
        // SAFETY: the linker says where the compiler's table begins and ends.
        unsafe { std::slice::from_raw_parts(start, (end as usize - start as usize) / size_of::<FaultExit>()) }
    }
}
