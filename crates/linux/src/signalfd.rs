//! Signals that are read from files (`signalfd`).

use rustix::io::Errno;

use crate::abi::{Layout, open, signal};
use crate::call::{Call, Outcome, Stop};
use crate::events::READ;
use crate::open_file::{Kind, OpenFile};
use crate::signal_file::SignalFile;
use crate::signals::{Sender, check_set_size};

/// Bytes of `struct signalfd_siginfo`.
const SIZE: u64 = 128;

impl Call<'_> {
    /// Reads signals that wait, as many as there is room for.
    pub(crate) fn read_signals(&mut self, file: &OpenFile, set: u64, address: u64, len: u64) -> Outcome {
        let room = len / SIZE;
        if room == 0 {
            return Err(Errno::INVAL.into());
        }
        let mut read = 0;
        while read < room {
            let Some((number, sender)) = self.linux.take_signal(set) else { break };
            let at = address.wrapping_add(read * SIZE);
            layout(number, sender).store(self.memory, at)?;
            read += 1;
        }
        match read {
            0 => Err(file.would_wait(Errno::AGAIN.into(), READ)),
            read => Ok(read * SIZE),
        }
    }
}

fn layout(number: u32, sender: Sender) -> Layout {
    let layout = Layout::new().u32(number).u32(0);
    let layout = match sender {
        Sender::Timer(timer) => layout
            .u32(signal::FROM_TIMER)
            .zeros_to(24)
            .u32(timer.id)
            .zeros_to(32)
            .u32(timer.overrun)
            .zeros_to(44)
            .u32(timer.value as u32)
            .u64(timer.value),
        Sender::Program(origin) => origin.store_for_file(layout),
        // Those are never left to files.
        Sender::Fault { .. } => layout,
    };
    layout.zeros_to(SIZE as usize)
}

pub(crate) fn signalfd4(call: &mut Call<'_>) -> Outcome {
    const NEW: i32 = -1;
    check_set_size(call.args[2])?;
    let flags = call.only(3, open::NON_BLOCKING | open::CLOSE_ON_EXEC)?;
    let set = call.memory.read_u64(call.args[1])?;
    call.linux.signals.watch(set);
    if call.int(0) == NEW {
        return Ok(call.linux.descriptors.open(Kind::Signals(SignalFile::new(set)), open::READ_WRITE | flags)? as u64);
    }
    match &call.file(0)?.kind {
        Kind::Signals(file) => file.change(set),
        _ => return Err(Stop::from(Errno::INVAL)),
    }
    Ok(call.args[0])
}
