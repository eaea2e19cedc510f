//! `prctl`: the names of threads.

use rustix::io::Errno;

use crate::call::{Call, Outcome, readable};

pub(crate) fn prctl(call: &mut Call<'_>) -> Outcome {
    const GET_DUMPABLE: i32 = 3;
    const SET_DUMPABLE: i32 = 4;
    const SET_NAME: i32 = 15;
    const GET_NAME: i32 = 16;
    let address = call.args[1];
    match call.int(0) {
        GET_DUMPABLE | SET_DUMPABLE => Ok(0),
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
