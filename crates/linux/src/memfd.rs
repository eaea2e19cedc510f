//! Files without names (`memfd_create`), and seals, which keep files in memory from being changed.

use rustix::io::Errno;

use crate::abi::open;
use crate::call::{Call, Outcome, c_string};
use crate::guest_path::GuestPath;
use crate::inode::seal;
use crate::memory_file::Origin;
use crate::open_file::{Kind, OpenFile};
use crate::shared_mappings::Mappings;

pub(crate) fn memfd_create(call: &mut Call<'_>) -> Outcome {
    const CLOSE_ON_EXEC: u32 = 1;
    const ALLOW_SEALING: u32 = 2;
    const NO_EXECUTE: u32 = 8;
    const EXECUTE: u32 = 0x10;
    const NAME_MAX: u64 = 250;
    // Without huge pages, of which there are none.
    let flags = call.only(1, CLOSE_ON_EXEC | ALLOW_SEALING | NO_EXECUTE | EXECUTE)?;
    if flags & (NO_EXECUTE | EXECUTE) == NO_EXECUTE | EXECUTE {
        return Err(Errno::INVAL.into());
    }
    let name = c_string(call.memory, call.args[0], NAME_MAX, Errno::INVAL)?;
    call.linux.descriptors.check_free()?;
    let name = [b"memfd:", &name[..], b" (deleted)"].concat();
    let path = GuestPath(vec![std::os::unix::ffi::OsStringExt::from_vec(name)]);
    let file = call.new_file(path, if flags & NO_EXECUTE != 0 { 0o666 } else { 0o777 })?;
    if flags & (ALLOW_SEALING | NO_EXECUTE) != 0 {
        file.inode.lock().seals = 0;
    }
    let on_exec = if flags & CLOSE_ON_EXEC != 0 { open::CLOSE_ON_EXEC } else { 0 };
    Ok(call.linux.descriptors.open(Kind::Memory(file), open::READ_WRITE | on_exec)? as u64)
}

/// The seals of a file, for `fcntl`; `EINVAL` if it has none.
pub(crate) fn seals(file: &OpenFile) -> Outcome {
    match &file.kind {
        Kind::Memory(file) if file.origin == Origin::Guest => Ok(file.inode.lock().seals.into()),
        _ => Err(Errno::INVAL.into()),
    }
}

/// Adds seals to a file.
pub(crate) fn add_seals(file: &OpenFile, seals: u32, mappings: &Mappings) -> Outcome {
    let Kind::Memory(memory) = &file.kind else { return Err(Errno::INVAL.into()) };
    if memory.origin != Origin::Guest || seals & !seal::ALL != 0 {
        return Err(Errno::INVAL.into());
    }
    file.check_writable().map_err(|_| Errno::PERM)?;
    let is_written_to = mappings.writes_to(&file.kind);
    let mut state = memory.inode.lock();
    if state.seals & seal::SEAL != 0 {
        return Err(Errno::PERM.into());
    }
    if seals & seal::WRITE != 0 && is_written_to {
        return Err(Errno::BUSY.into());
    }
    state.seals |= seals;
    Ok(0)
}
