//! Snapshots, and what is made of them.

use std::ffi::{c_char, c_void};

use riverrun_linux::SECTION;

use crate::arguments::{Out, Result, array, given, text};
use crate::error::{Returned, delete, guard, guard_value};
use crate::host_data::Host;
use crate::linker::Linker;
use crate::linux::{Linux, Write};
use crate::machine::{Machine, idle};
use crate::program::Program;

/// A guest at one moment: memory, registers, heap, and its state of Linux (open files, clocks, signals). Any number of
/// machines, on any threads, are made from it. It does not change, but for its sections.
#[derive(Debug)]
pub struct Snapshot(pub(crate) riverrun::Snapshot);

/// The data of a machine that goes on from this snapshot.
pub(crate) fn host(snapshot: &riverrun::Snapshot, granted: Option<&Linux>) -> Result<Host> {
    let builder = granted.map_or_else(|| Ok(riverrun_linux::Linux::builder()), Linux::builder)?;
    Ok(Host::new(match snapshot.section(SECTION) {
        Some(_) => builder.restore_from(snapshot)?,
        None => builder.build(),
    }))
}

/// Takes a snapshot of a machine that is not running.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_new(machine: Option<Machine>, snapshot: Out<'_, Box<Snapshot>>) -> Returned {
    guard(|| {
        let snapshot = given(snapshot, "snapshot")?;
        let taken = idle(machine, |machine| Ok(riverrun_linux::snapshot(machine, |host| &mut host.linux)?))?;
        snapshot.write(Box::new(Snapshot(taken)));
        Ok(())
    })
}

/// Frees the snapshot; machines that were made from it stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_delete(snapshot: Option<Box<Snapshot>>) {
    delete(snapshot);
}

/// Calls `write` once with the snapshot as bytes, its sections included: the same on every host and of every engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_to_bytes(
    snapshot: Option<&Snapshot>,
    write: Option<Write>,
    data: *mut c_void,
) -> Returned {
    guard(|| {
        let (snapshot, write) = (given(snapshot, "snapshot")?, given(write, "write")?);
        let bytes = snapshot.0.to_bytes();
        // SAFETY: what the host has given with its data; the bytes are there as long as the call.
        unsafe { write(data, bytes.as_ptr().cast(), bytes.len()) };
        Ok(())
    })
}

/// Reads what `riverrun_snapshot_to_bytes` has given, of the same program. The bytes need not be trusted: their author
/// chooses what the guest does, within its sandbox.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_from_bytes(
    program: Option<&Program>,
    bytes: *const c_void,
    len: usize,
    snapshot: Out<'_, Box<Snapshot>>,
) -> Returned {
    guard(|| {
        let (program, snapshot) = (given(program, "program")?, given(snapshot, "snapshot")?);
        let bytes = array::<u8>(bytes.cast(), len, "bytes")?;
        snapshot.write(Box::new(Snapshot(riverrun::Snapshot::from_bytes(&program.program, bytes)?)));
        Ok(())
    })
}

/// Writes the snapshot to a file. A file that is there is replaced in one step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_write_to(snapshot: Option<&Snapshot>, path: *const c_char) -> Returned {
    guard(|| Ok(given(snapshot, "snapshot")?.0.write_to(text(path, "path")?)?))
}

/// Reads a file that `riverrun_snapshot_write_to` has written: as `riverrun_snapshot_from_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_read(
    program: Option<&Program>,
    path: *const c_char,
    snapshot: Out<'_, Box<Snapshot>>,
) -> Returned {
    guard(|| {
        let (program, snapshot) = (given(program, "program")?, given(snapshot, "snapshot")?);
        snapshot.write(Box::new(Snapshot(riverrun::Snapshot::read(&program.program, text(path, "path")?)?)));
        Ok(())
    })
}

/// Adds bytes of the host's under a name, in place of those that had it before. They are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_set_section(
    snapshot: Option<&mut Snapshot>,
    name: *const c_char,
    bytes: *const c_void,
    len: usize,
) -> Returned {
    guard(|| {
        let snapshot = given(snapshot, "snapshot")?;
        snapshot.0 = snapshot.0.with_section(text(name, "name")?, array::<u8>(bytes.cast(), len, "bytes")?);
        Ok(())
    })
}

/// The bytes of this name, which live as long as the snapshot and until they are replaced. False if there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_snapshot_section(
    snapshot: Option<&Snapshot>,
    name: *const c_char,
    bytes: Out<'_, *const c_void>,
    len: Out<'_, usize>,
) -> bool {
    guard_value(false, || {
        let section = snapshot?.0.section(text(name, "name").ok()?)?;
        bytes?.write(section.as_ptr().cast());
        len?.write(section.len());
        Some(true)
    })
}

/// Makes a machine that goes on where the snapshot was taken, with these grants, which the caller keeps; NULL grants
/// nothing. Files that the guest had open are opened again by the grants: an error names one that cannot be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_from_snapshot(
    linker: Option<&Linker>,
    snapshot: Option<&Snapshot>,
    granted: Option<&Linux>,
    machine: Out<'_, Machine>,
) -> Returned {
    guard(|| {
        let (linker, snapshot) = (given(linker, "linker")?, given(snapshot, "snapshot")?);
        let machine = given(machine, "machine")?;
        let host = host(&snapshot.0, granted)?;
        machine.write(Machine::new(linker.linker.instantiate_from(&snapshot.0, host)?));
        Ok(())
    })
}

/// Puts a machine that is not running back to a snapshot of its program. Its grants, data and limits stay as they are. If
/// this fails, the machine is only good for being deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_reset(machine: Option<Machine>, snapshot: Option<&Snapshot>) -> Returned {
    guard(|| {
        let snapshot = given(snapshot, "snapshot")?;
        idle(machine, |machine| {
            match snapshot.0.section(SECTION) {
                Some(_) => riverrun_linux::reset(machine, &snapshot.0, |host| &mut host.linux)?,
                None => machine.reset(&snapshot.0)?,
            }
            Ok(())
        })
    })
}

/// Makes another machine whose guest is as this one's now, with the same host functions, and with these grants.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_machine_fork(
    machine: Option<Machine>,
    granted: Option<&Linux>,
    forked: Out<'_, Machine>,
) -> Returned {
    guard(|| {
        let forked = given(forked, "forked")?;
        let fork = idle(machine, |machine| {
            let builder = granted.map_or_else(|| Ok(riverrun_linux::Linux::builder()), Linux::builder)?;
            let linux = builder.restore(&machine.data().linux.save()?)?;
            Ok(machine.fork(Host::new(linux))?)
        })?;
        forked.write(Machine::new(fork));
        Ok(())
    })
}

/// Machines that start from one snapshot, used again and again, by any number of threads. A machine that comes back is as
/// new; nothing of its last use is left in it.
#[derive(Debug)]
pub struct Pool(riverrun::Pool<Host>);

/// Makes a pool whose machines have these grants, which the caller keeps. It keeps at most `idle` machines for later, and
/// makes more whenever more are asked for at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_pool_new(
    linker: Option<&Linker>,
    snapshot: Option<&Snapshot>,
    granted: Option<&Linux>,
    idle: usize,
    pool: Out<'_, Box<Pool>>,
) -> Returned {
    guard(|| {
        let (linker, snapshot) = (given(linker, "linker")?, given(snapshot, "snapshot")?.0.clone());
        let (pool, granted) = (given(pool, "pool")?, granted.cloned());
        let start = snapshot.clone();
        let new = move || Ok(host(&start, granted.as_ref()).map_err(crate::error::Raised)?);
        pool.write(Box::new(Pool(riverrun::Pool::new(&linker.linker, &snapshot, idle, new, Host::reset))));
        Ok(())
    })
}

/// Frees the pool and its idle machines. Machines that are in use stay usable, and are deleted as others are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_pool_delete(pool: Option<Box<Pool>>) {
    delete(pool);
}

/// A machine at the pool's snapshot, for `riverrun_pool_put` or `riverrun_machine_delete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_pool_get(pool: Option<&Pool>, machine: Out<'_, Machine>) -> Returned {
    guard(|| {
        let (pool, machine) = (given(pool, "pool")?, given(machine, "machine")?);
        machine.write(Machine::new(pool.0.get()?.into_machine()));
        Ok(())
    })
}

/// Gives a machine back that is not running, for another use; its data is freed, and handles of it must not be used any
/// more. A machine that the pool does not want, because it has enough, is deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_pool_put(pool: Option<&Pool>, machine: Option<Machine>) -> Returned {
    guard(|| {
        let pool = given(pool, "pool")?;
        idle(machine, |_| Ok(()))?;
        let machine = given(machine, "machine")?;
        // SAFETY: it is not running, and the header demands that it is not used afterwards.
        pool.0.put(unsafe { machine.0.into_machine() });
        Ok(())
    })
}

/// How many machines are idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_pool_idle(pool: Option<&Pool>) -> usize {
    guard_value(0, || Some(pool?.0.idle()))
}
