//! A guest's memory.

use std::ffi::{c_char, c_void};

use riverrun::Perm;

use crate::arguments::{Out, array, array_mut, given, misuse};
use crate::error::{Returned, guard, guard_value};
use crate::machine::{Machine, with};

/// The guest can load from the pages. Permissions are added up.
pub const PERM_READ: u32 = 1;
/// The guest can load from the pages and store to them.
pub const PERM_WRITE: u32 = 2;

/// Copies guest memory to `buffer`. If the guest could not read all of it, nothing is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_read(
    machine: Option<Machine>,
    address: u64,
    buffer: *mut c_void,
    len: usize,
) -> Returned {
    guard(|| {
        let buffer = array_mut::<u8>(buffer.cast(), len, "buffer")?;
        // SAFETY: the borrow ends with the copy.
        with(machine, |machine| Ok(unsafe { machine.memory() }.read(address, buffer)?))
    })
}

/// Copies bytes to guest memory. If the guest could not write all of it, nothing is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_write(
    machine: Option<Machine>,
    address: u64,
    bytes: *const c_void,
    len: usize,
) -> Returned {
    guard(|| {
        let bytes = array::<u8>(bytes.cast(), len, "bytes")?;
        // SAFETY: as above.
        with(machine, |machine| Ok(unsafe { machine.memory() }.write(address, bytes)?))
    })
}

/// The host address of `len` bytes of guest memory that the guest can read. They are not a copy, and may be read until the
/// guest runs or its mappings change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_view(
    machine: Option<Machine>,
    address: u64,
    len: u64,
    view: Out<'_, *const u8>,
) -> Returned {
    guard(|| {
        let view = given(view, "view")?;
        // SAFETY: the borrow ends here; what C does with the pointer, the header says.
        view.write(with(machine, |machine| Ok(unsafe { machine.memory() }.slice(address, len)?.as_ptr()))?);
        Ok(())
    })
}

/// The same for `len` bytes that the guest can read and write; the host may write them until the machine's next snapshot or
/// reset, too, which let each page be written only after it was asked for again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_view_mut(
    machine: Option<Machine>,
    address: u64,
    len: u64,
    view: Out<'_, *mut u8>,
) -> Returned {
    guard(|| {
        let view = given(view, "view")?;
        // SAFETY: as above.
        view.write(with(machine, |machine| Ok(unsafe { machine.memory() }.slice_mut(address, len)?.as_mut_ptr()))?);
        Ok(())
    })
}

/// The host address of a C string in guest memory, valid as that of `riverrun_memory_view`. `len` receives its length
/// without the zero, and may be NULL. An error if it has more than `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_string(
    machine: Option<Machine>,
    address: u64,
    max: u64,
    view: Out<'_, *const c_char>,
    len: Out<'_, usize>,
) -> Returned {
    guard(|| {
        let view = given(view, "view")?;
        // SAFETY: as above.
        let bytes = with(machine, |machine| Ok(unsafe { machine.memory() }.c_string(address, max)?))?;
        view.write(bytes.as_ptr().cast());
        len.map(|len| len.write(bytes.len()));
        Ok(())
    })
}

fn perm(permissions: u32) -> crate::arguments::Result<Perm> {
    if permissions & !(PERM_READ | PERM_WRITE) != 0 {
        return Err(misuse(format!("{permissions:#x} has other permissions than to read and to write")));
    }
    let allow = |bit, perm| if permissions & bit != 0 { perm } else { Perm::NONE };
    Ok(allow(PERM_READ, Perm::READ) | allow(PERM_WRITE, Perm::WRITE))
}

/// Maps zeroed pages of 4096 bytes, in place of whatever was there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_map(
    machine: Option<Machine>,
    start: u64,
    len: u64,
    permissions: u32,
) -> Returned {
    guard(|| {
        let perm = perm(permissions)?;
        // SAFETY: the borrow ends here.
        with(machine, |machine| Ok(unsafe { machine.memory() }.map(start, len, perm)?))
    })
}

/// Changes the permissions of mapped pages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_protect(
    machine: Option<Machine>,
    start: u64,
    len: u64,
    permissions: u32,
) -> Returned {
    guard(|| {
        let perm = perm(permissions)?;
        // SAFETY: as above.
        with(machine, |machine| Ok(unsafe { machine.memory() }.protect(start, len, perm)?))
    })
}

/// Unmaps pages; what is not mapped stays so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_unmap(machine: Option<Machine>, start: u64, len: u64) -> Returned {
    // SAFETY: as above.
    guard(|| with(machine, |machine| Ok(unsafe { machine.memory() }.unmap(start, len)?)))
}

/// Bytes that the guest has mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_memory_used(machine: Option<Machine>) -> u64 {
    // SAFETY: as above.
    guard_value(0, || with(machine, |machine| Ok(unsafe { machine.memory() }.used())).ok())
}
