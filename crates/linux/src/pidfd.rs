//! Descriptors of processes (`pidfd_open`). A guest has one process, its own, which never ends while it can look: such a
//! descriptor never becomes readable.

use rustix::io::Errno;

use crate::abi::open;
use crate::call::{Call, Outcome, Stop};
use crate::open_file::Kind;
use crate::pending_signals::Origin;
use crate::process::PROCESS;
use crate::signals::signal_to_send;

pub(crate) fn pidfd_open(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(1, open::NON_BLOCKING)?;
    match call.int(0) {
        ..1 => Err(Errno::INVAL.into()),
        process if process == PROCESS as i32 => {
            Ok(call.linux.descriptors.open(Kind::Process, open::READ_WRITE | open::CLOSE_ON_EXEC | flags)? as u64)
        }
        _ => Err(Errno::SRCH.into()),
    }
}

/// `EBADF` unless the first argument is a descriptor of a process.
fn check_process(call: &Call<'_>) -> Result<(), Stop> {
    match call.file(0)?.kind {
        Kind::Process => Ok(()),
        _ => Err(Errno::BADF.into()),
    }
}

pub(crate) fn pidfd_send_signal(call: &mut Call<'_>) -> Outcome {
    call.only(3, 0)?;
    check_process(call)?;
    let number = signal_to_send(call, 1)?;
    // What the sender says of it: it has to be of the same signal.
    if call.args[2] != 0 && call.memory.read_u32(call.args[2])? != call.uint(1) {
        return Err(Errno::INVAL.into());
    }
    if let Some(number) = number {
        let origin = match call.args[2] {
            0 => Origin::PROCESS,
            info => Origin::load(call.memory, info)?,
        };
        call.linux.raise_for_process(number, Some(origin));
    }
    Ok(0)
}

pub(crate) fn pidfd_getfd(call: &mut Call<'_>) -> Outcome {
    call.only(2, 0)?;
    check_process(call)?;
    let file = call.file(1)?;
    Ok(call.linux.descriptors.share(file, true)? as u64)
}
