//! `prctl`: the names of threads, and what has no effect here.

use rustix::io::Errno;

use crate::abi::signal;
use crate::call::{Call, Outcome, readable};

/// The last capability (`CAP_CHECKPOINT_RESTORE`).
const LAST_CAPABILITY: u64 = 40;

pub(crate) fn prctl(call: &mut Call<'_>) -> Outcome {
    const SET_PARENT_DEATH_SIGNAL: i32 = 1;
    const GET_DUMPABLE: i32 = 3;
    const SET_DUMPABLE: i32 = 4;
    const SET_NAME: i32 = 15;
    const GET_NAME: i32 = 16;
    const HAS_CAPABILITY: i32 = 23;
    const SET_TIMER_SLACK: i32 = 29;
    const SET_NO_NEW_PRIVILEGES: i32 = 38;
    let address = call.args[1];
    match call.int(0) {
        GET_DUMPABLE | SET_DUMPABLE | SET_TIMER_SLACK => Ok(0),
        // The parent never ends.
        SET_PARENT_DEATH_SIGNAL if call.args[1] <= signal::MAX.into() => Ok(0),
        HAS_CAPABILITY if call.args[1] <= LAST_CAPABILITY => Ok(0),
        // No program is executed that could have more of them.
        SET_NO_NEW_PRIVILEGES if call.args[1..5] == [1, 0, 0, 0] => Ok(0),
        SET_NAME => {
            let available = readable(call.memory, address, 15)?;
            let bytes = call.memory.slice(address, available)?;
            let len = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            let mut name = [0; 16];
            name[..len].copy_from_slice(&bytes[..len]);
            call.linux.threads.current_mut().name = name;
            Ok(0)
        }
        GET_NAME => {
            call.memory.write(address, &call.linux.threads.current().name)?;
            Ok(0)
        }
        _ => Err(Errno::INVAL.into()),
    }
}
