//! System calls on the process's user, groups, session and priority. There is one process: it leads its group, in the
//! session of its parent, and has no privilege.

use rustix::io::Errno;

use crate::call::{Call, Outcome};
use crate::process::{PARENT, PROCESS, USER};

/// The lowest priority that a process can have, as `nice` counts.
const NICEST: i32 = 19;

pub(crate) fn getpid(_: &mut Call<'_>) -> Outcome {
    Ok(PROCESS.into())
}

pub(crate) fn getppid(_: &mut Call<'_>) -> Outcome {
    Ok(PARENT)
}

pub(crate) fn getuid(_: &mut Call<'_>) -> Outcome {
    Ok(USER.into())
}

/// Real, effective and saved ID.
pub(crate) fn getresuid(call: &mut Call<'_>) -> Outcome {
    for address in &call.args[..3] {
        call.memory.write_u32(*address, USER)?;
    }
    Ok(0)
}

/// Sets one ID.
pub(crate) fn setuid(call: &mut Call<'_>) -> Outcome {
    set_ids(call, 1)
}

/// Sets the real and the effective ID.
pub(crate) fn setreuid(call: &mut Call<'_>) -> Outcome {
    set_ids(call, 2)
}

/// Sets the real, the effective and the saved ID.
pub(crate) fn setresuid(call: &mut Call<'_>) -> Outcome {
    set_ids(call, 3)
}

/// The IDs are all the same, and stay that.
fn set_ids(call: &Call<'_>, count: usize) -> Outcome {
    const UNCHANGED: u32 = u32::MAX;
    let is_own = |n: usize| call.uint(n) == USER || count > 1 && call.uint(n) == UNCHANGED;
    match (0..count).all(is_own) {
        true => Ok(0),
        false => Err(Errno::PERM.into()),
    }
}

/// The ID for files is that of the process.
pub(crate) fn setfsuid(_: &mut Call<'_>) -> Outcome {
    Ok(USER.into())
}

/// The supplementary groups: none.
pub(crate) fn getgroups(_: &mut Call<'_>) -> Outcome {
    Ok(0)
}

/// What needs a privilege.
pub(crate) fn privileged(_: &mut Call<'_>) -> Outcome {
    Err(Errno::PERM.into())
}

/// Fails unless argument `n` names the process.
fn check_process(call: &Call<'_>, n: usize) -> Outcome {
    match call.uint(n) {
        0 | PROCESS => Ok(0),
        _ => Err(Errno::SRCH.into()),
    }
}

pub(crate) fn getpgid(call: &mut Call<'_>) -> Outcome {
    check_process(call, 0)?;
    Ok(PROCESS.into())
}

pub(crate) fn setpgid(call: &mut Call<'_>) -> Outcome {
    check_process(call, 0)?;
    match call.int(1) {
        ..0 => Err(Errno::INVAL.into()),
        _ => check_process(call, 1).map_err(|_| Errno::PERM.into()),
    }
}

pub(crate) fn getsid(call: &mut Call<'_>) -> Outcome {
    check_process(call, 0)?;
    Ok(PARENT)
}

pub(crate) fn setsid(_: &mut Call<'_>) -> Outcome {
    // The leader of a group cannot begin a session.
    Err(Errno::PERM.into())
}

/// Fails unless arguments 0 and 1 name this process, its group or its user, or one of its threads.
fn check_subject(call: &Call<'_>) -> Outcome {
    const ONE: i32 = 0;
    const GROUP: i32 = 1;
    const OF_USER: i32 = 2;
    let id = call.uint(1);
    let is_own = match call.int(0) {
        ONE => id == 0 || call.linux.threads.find(id).is_some(),
        GROUP => matches!(id, 0 | PROCESS),
        OF_USER => matches!(id, 0 | USER),
        _ => return Err(Errno::INVAL.into()),
    };
    match is_own {
        true => Ok(0),
        false => Err(Errno::SRCH.into()),
    }
}

/// The priority, as a number that is never negative.
pub(crate) fn getpriority(call: &mut Call<'_>) -> Outcome {
    check_subject(call)?;
    Ok((NICEST + 1 - i32::from(call.linux.process.nice)) as u64)
}

/// A process can only lower its priority. It has no effect: there is no other one.
pub(crate) fn setpriority(call: &mut Call<'_>) -> Outcome {
    check_subject(call)?;
    let nice = call.int(2).clamp(-NICEST - 1, NICEST) as i8;
    if nice < call.linux.process.nice {
        return Err(Errno::ACCESS.into());
    }
    call.linux.process.nice = nice;
    Ok(0)
}
