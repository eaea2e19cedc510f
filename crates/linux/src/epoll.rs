//! Waiting for many files (`epoll`), and event counters that wake who waits.

use std::time::Duration;

use rustix::io::Errno;

use crate::abi::{Layout, open};
use crate::call::{Call, Outcome, Stop};
use crate::descriptors::Descriptors;
use crate::devices::Device;
use crate::event::Event;
use crate::interests::{Interest, Interests};
use crate::open_file::{Kind, OpenFile};
use crate::poll;
use crate::requests::On;

const EDGES: u32 = 1 << 31;
const ONCE: u32 = 1 << 30;
/// What comes unasked: errors and ends.
const ALWAYS: u32 = 0x18;
/// Bytes of `struct epoll_event`.
const SIZE: u64 = 16;

pub(crate) fn eventfd2(call: &mut Call<'_>) -> Outcome {
    const SEMAPHORE: u32 = 1;
    let flags = call.only(1, SEMAPHORE | open::NON_BLOCKING | open::CLOSE_ON_EXEC)?;
    let event = Event::new(call.uint(0).into(), flags & SEMAPHORE != 0);
    Ok(call.linux.descriptors.open(Kind::Event(event), open::READ_WRITE | flags & !SEMAPHORE)? as u64)
}

pub(crate) fn epoll_create1(call: &mut Call<'_>) -> Outcome {
    let flags = call.only(0, open::CLOSE_ON_EXEC)?;
    Ok(call.linux.descriptors.open(Kind::Epoll(Interests::default()), open::READ_WRITE | flags)? as u64)
}

fn interests(file: &OpenFile) -> Result<&Interests, Stop> {
    match &file.kind {
        Kind::Epoll(interests) => Ok(interests),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn epoll_ctl(call: &mut Call<'_>) -> Outcome {
    const ADD: i32 = 1;
    const DELETE: i32 = 2;
    const MODIFY: i32 = 3;
    let (command, fd) = (call.int(1), call.int(2));
    let (mut events, mut data) = (0, 0);
    if command != DELETE {
        events = call.memory.read_u32(call.args[3])?;
        data = call.memory.read_u64(call.args[3].wrapping_add(8))?;
    }
    let epoll = call.file(0)?;
    let file = call.linux.descriptors.get_for_use(fd)?;
    match file.kind {
        // Linux has these in each other, to some depth.
        Kind::Epoll(_) => return Err(Errno::INVAL.into()),
        Kind::Regular(_) | Kind::Directory(_) | Kind::Memory(_) | Kind::Virtual(_) => return Err(Errno::PERM.into()),
        Kind::Device(device) if device != Device::Random => return Err(Errno::PERM.into()),
        Kind::Stream(ref stream) if stream.is_regular() => return Err(Errno::PERM.into()),
        _ => {}
    }
    let mut watched = interests(&epoll)?.lock();
    let is_watched = watched.get(&fd).is_some_and(|interest| interest.file == file.number());
    let interest = Interest { file: file.number(), events: events | ALWAYS, data, told: None, turn: 0 };
    match (command, is_watched) {
        (ADD, true) => return Err(Errno::EXIST.into()),
        (MODIFY | DELETE, false) => return Err(Errno::NOENT.into()),
        (ADD | MODIFY, _) => drop(watched.insert(fd, interest)),
        (DELETE, _) => drop(watched.remove(&fd)),
        _ => return Err(Errno::INVAL.into()),
    }
    Ok(0)
}

/// What is to be told of the files that are watched: events and data, `most` at most; those for which there was no room before
/// come first. And the host's streams that can bring more.
fn news(descriptors: &Descriptors, interests: &Interests, signals: u64, most: usize) -> (Vec<(u32, u64)>, u8) {
    let (mut told, mut streams) = (Vec::new(), 0);
    let mut watched = interests.lock();
    let open = |fd: i32, interest: &Interest| descriptors.get(fd).ok().filter(|file| file.number() == interest.file);
    watched.retain(|&fd, interest| open(fd, interest).is_some());
    let mut order: Vec<(u64, &mut Interest, i32)> =
        watched.iter_mut().map(|(&fd, interest)| (interest.turn, interest, fd)).collect();
    order.sort_by_key(|(turn, _, fd)| (*turn, *fd));
    let next_turn = order.last().map_or(0, |(turn, ..)| turn.wrapping_add(1));
    let mut lacks_room = false;
    for (_, interest, fd) in &mut order {
        let Some(file) = open(*fd, interest).filter(|_| interest.events != 0) else { continue };
        let ready = u32::from(poll::ready(&file, interest.events as u16, signals)) & interest.events;
        let now = (ready, file.activity(ready as u16));
        let is_old = interest.events & EDGES != 0 && interest.told == Some(now);
        // The host tells again and again what has been told already, and an end whether it is asked or not.
        let news = match is_old {
            true if ready & ALWAYS != 0 => None,
            true => Some((interest.events & !ready) as u16),
            false => Some(interest.events as u16),
        };
        streams |= file.await_events(news);
        if ready == 0 {
            interest.told = None;
        } else if !is_old && told.len() < most {
            told.push((*fd, ready, interest.data));
            interest.told = Some(now);
            if interest.events & ONCE != 0 {
                interest.events = 0;
            }
        } else {
            lacks_room |= !is_old;
        }
    }
    if lacks_room {
        for (fd, ..) in &told {
            watched.entry(*fd).and_modify(|interest| interest.turn = next_turn);
        }
    }
    (told.into_iter().map(|(_, events, data)| (events, data)).collect(), streams)
}

fn wait(call: &mut Call<'_>, span: Option<Duration>) -> Outcome {
    let [_, address, count, _, mask, size] = call.args;
    let count = u32::try_from(count as i32).ok().filter(|&count| count != 0).ok_or(Errno::INVAL)?;
    let count = count.min(call.linux.descriptors.limit() as u32);
    call.memory.slice_mut(address, SIZE * u64::from(count))?;
    let epoll = call.file(0)?;
    let interests = interests(&epoll)?;
    call.block_signals(mask, size)?;
    let (told, streams) = news(&call.linux.descriptors, interests, call.linux.pending_signals(), count as usize);
    if told.is_empty() {
        call.wait(On::Files { streams }, span)?;
    }
    let layout = told.iter().fold(Layout::new(), |layout, &(events, data)| layout.u32(events).u32(0).u64(data));
    layout.store(call.memory, address)?;
    Ok(told.len() as u64)
}

pub(crate) fn epoll_pwait(call: &mut Call<'_>) -> Outcome {
    let milliseconds = u64::try_from(call.int(3)).ok();
    wait(call, milliseconds.map(Duration::from_millis))
}

pub(crate) fn epoll_pwait2(call: &mut Call<'_>) -> Outcome {
    let span = call.timeout(3)?;
    wait(call, span)
}
