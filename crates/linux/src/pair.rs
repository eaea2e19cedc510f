//! How a local socket (`AF_UNIX`) reads and writes: by a pipe that it reads and one that it writes to, so it is bounded and
//! saved as these are. Two sockets that are connected to each other read what the other one has written; one for datagrams
//! is read by itself, and writes to any other.

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::events::{ERR, HUP, READ, READ_HUP, WRITE};
use crate::halves::{Attached, Destination, Half, Received, Sender};
use crate::local_name::LocalName;
use crate::pipes::{Message, Pipe, Reader, Writer};

/// What is between the bounds of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Style {
    /// Nothing: bytes.
    Stream,
    /// Messages, each read by itself. The end of the other socket is not seen.
    Datagrams,
    /// Messages, each read by itself.
    Packets,
}

impl Style {
    /// That of a socket's type; `None` for others.
    pub(crate) fn of_type(number: u32) -> Option<Style> {
        /// `SOCK_RAW`, which is `SOCK_DGRAM` here.
        const RAW: u32 = 3;
        let all = [Style::Stream, Style::Datagrams, Style::Packets].into_iter();
        all.clone().find(|style| style.type_number() == number).or((number == RAW).then_some(Style::Datagrams))
    }

    /// `SOCK_STREAM`, `SOCK_DGRAM`, `SOCK_SEQPACKET`.
    pub(crate) fn type_number(self) -> u32 {
        match self {
            Style::Stream => 1,
            Style::Datagrams => 2,
            Style::Packets => 5,
        }
    }
}

/// One side of it.
#[derive(Debug)]
pub(crate) struct Pair {
    style: Style,
    incoming: Reader,
    /// `None` for datagrams that go nowhere but where each of them says.
    outgoing: Option<Writer>,
    /// The name of the other side, if it has one.
    peer: Option<LocalName>,
    /// Whether nobody will ever have read it.
    is_refused: bool,
}

/// One side as a snapshot has it: the numbers of its pipes, and the directions that it has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedPair {
    incoming: u32,
    outgoing: Option<u32>,
    ended: Vec<Half>,
    /// Whether there is an error to be told: see [`Pair::take_error`].
    is_reset: bool,
    peer: Option<LocalName>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        let is_last = self.incoming().leave();
        if is_last && self.style != Style::Datagrams && (self.is_refused || self.incoming.is_ready()) {
            self.incoming().set_reset(true);
        }
    }
}

impl Pair {
    fn new(style: Style, incoming: Reader, outgoing: Option<Writer>) -> Pair {
        incoming.pipe().enter();
        Pair { style, incoming, outgoing, peer: None, is_refused: false }
    }

    pub(crate) fn both(style: Style) -> [Pair; 2] {
        let (one, other) = (Pipe::default(), Pipe::default());
        let side = |incoming: &Pipe, outgoing: &Pipe| Pair::new(style, incoming.reader(), Some(outgoing.writer()));
        let sides = [side(&one, &other), side(&other, &one)];
        sides.iter().for_each(Pair::note_partner);
        sides
    }

    /// For datagrams, connected to nothing.
    pub(crate) fn alone() -> Pair {
        Pair::new(Style::Datagrams, Pipe::default().reader(), None)
    }

    pub(crate) fn with_peer(mut self, peer: Option<LocalName>) -> Pair {
        self.peer = peer;
        self
    }

    /// Has the other side learn that nobody was there, as it does where this one goes without reading all.
    pub(crate) fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// `ECONNRESET` if the other side went without reading all; once.
    pub(crate) fn take_error(&self) -> Result<(), Errno> {
        let is_reset = self.outgoing.as_ref().is_some_and(|end| end.pipe().take_reset());
        if is_reset { Err(Errno::CONNRESET) } else { Ok(()) }
    }

    fn is_reset(&self) -> bool {
        self.outgoing.as_ref().is_some_and(|end| end.pipe().is_reset())
    }

    /// Sends what names no other destination to the socket that reads this, or nowhere. What has come before is dropped.
    pub(crate) fn redirect(&mut self, to: Option<(&Pipe, Option<LocalName>)>) {
        let is_mute = self.outgoing.as_ref().is_some_and(Writer::is_closed);
        let is_other = |old: &Writer| to.as_ref().is_none_or(|(pipe, _)| pipe.identity() != old.pipe().identity());
        if self.outgoing.as_ref().is_some_and(is_other) {
            self.incoming.clear();
        }
        self.outgoing = to.as_ref().map(|(pipe, _)| pipe.writer());
        self.outgoing.iter().filter(|_| is_mute).for_each(Writer::close);
        self.peer = to.and_then(|(_, name)| name);
        self.note_partner();
    }

    /// Has the pipe that it reads know who alone may send by it.
    fn note_partner(&self) {
        self.incoming().set_partner(self.outgoing.as_ref().map(Writer::pipe));
    }

    /// The pipe that it reads.
    pub(crate) fn incoming(&self) -> &Pipe {
        self.incoming.pipe()
    }

    /// Whether it is connected to another side, which may be gone.
    pub(crate) fn is_connected(&self) -> bool {
        self.outgoing.is_some()
    }

    pub(crate) fn peer(&self) -> Option<&LocalName> {
        self.peer.as_ref()
    }

    /// Ends of pipes that it has.
    pub(crate) fn ends(&self) -> usize {
        1 + usize::from(self.is_connected())
    }

    pub(crate) fn activity(&self) -> u64 {
        self.incoming.activity().wrapping_add(self.outgoing.as_ref().map_or(0, Writer::activity))
    }

    /// Bytes that can be read: of the next message, if it has messages.
    pub(crate) fn available(&self) -> usize {
        match self.style {
            Style::Stream => self.incoming.available(),
            Style::Datagrams | Style::Packets => self.incoming.next_message().unwrap_or(0),
        }
    }

    /// Whether nothing more can come than what is there.
    fn has_no_more(&self) -> bool {
        self.incoming.is_closed() || self.style != Style::Datagrams && self.incoming.is_hung_up()
    }

    /// Whether nothing can be written any more.
    fn takes_no_more(&self) -> bool {
        let is_over = |end: &Writer| end.is_closed() || self.style != Style::Datagrams && end.is_hung_up();
        self.outgoing.as_ref().is_some_and(is_over)
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        let when = |ready: bool, events: u16| if ready { events } else { 0 };
        let (no_more, takes_no_more) = (self.has_no_more(), self.takes_no_more());
        let has_room = self.outgoing.as_ref().is_none_or(|end| end.is_hung_up() || end.is_ready());
        when(no_more || self.incoming.is_ready(), READ & wanted)
            | when(takes_no_more || has_room, WRITE & wanted)
            | when(no_more, READ_HUP & wanted)
            | when(no_more && takes_no_more, HUP)
            | when(self.is_reset(), ERR)
    }

    /// Reads, and leaves it there if it `stays`; `EAGAIN` if there is nothing yet.
    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        let peer = || self.peer.clone().map(Sender::Local);
        if self.style != Style::Stream {
            self.take_error()?;
            return match self.incoming.read_message(buffer, stays) {
                Some(Message { len: whole, sender, files }) => {
                    let from = match self.style {
                        Style::Datagrams => LocalName::parse(&sender).map(Sender::Local),
                        _ => peer(),
                    };
                    Ok(Received { len: whole.min(buffer.len()), whole, from, files })
                }
                None if self.has_no_more() => Ok(Received::default()),
                None => Err(Errno::AGAIN),
            };
        }
        if !self.incoming.is_ready() && !buffer.is_empty() {
            self.take_error()?;
            return if self.has_no_more() { Ok(Received::default()) } else { Err(Errno::AGAIN) };
        }
        let (len, files) = self.incoming.receive(buffer, stays);
        Ok(Received { len, whole: len, from: peer(), files })
    }

    /// Writes what there is room for, or a whole message, by this name; `EAGAIN` without room.
    pub(crate) fn send(&self, bytes: &[u8], name: Option<&LocalName>, with: &Attached) -> Result<usize, Errno> {
        let name = name.map(LocalName::bytes).unwrap_or_default();
        if self.style == Style::Packets {
            self.take_error()?;
        }
        if self.outgoing.as_ref().is_some_and(Writer::is_closed) {
            return Err(Errno::PIPE);
        }
        if let Some(Destination::Local(pipe)) = &with.to {
            let end = pipe.kept_writer();
            return match end.is_hung_up() {
                _ if !pipe.takes_from(self.incoming()) => Err(Errno::PERM),
                true => Err(Errno::PIPE),
                false => end.write_message(bytes, name, &with.files).map(|()| bytes.len()),
            };
        }
        let outgoing = self.outgoing.as_ref().ok_or(Errno::NOTCONN)?;
        if outgoing.is_hung_up() {
            let is_gone = self.style == Style::Datagrams && self.incoming.is_hung_up();
            return Err(if is_gone { Errno::CONNREFUSED } else { Errno::PIPE });
        }
        match self.style {
            Style::Stream => outgoing.send(bytes, &with.files),
            Style::Packets => outgoing.write_message(bytes, &[], &with.files).map(|()| bytes.len()),
            Style::Datagrams if !outgoing.pipe().takes_from(self.incoming()) => Err(Errno::PERM),
            Style::Datagrams => outgoing.write_message(bytes, name, &with.files).map(|()| bytes.len()),
        }
    }

    /// Ends one direction.
    pub(crate) fn shut_down(&self, half: Half) {
        match half {
            Half::Incoming => self.incoming.close(),
            Half::Outgoing => self.outgoing.iter().for_each(Writer::close),
        }
    }

    /// Its state; `number` numbers its pipes.
    pub(crate) fn save(&self, mut number: impl FnMut(&Pipe) -> u32) -> SavedPair {
        let is_mute = self.outgoing.as_ref().is_some_and(Writer::is_closed);
        let halves = [(Half::Incoming, self.incoming.is_closed()), (Half::Outgoing, is_mute)];
        SavedPair {
            incoming: number(self.incoming.pipe()),
            outgoing: self.outgoing.as_ref().map(|end| number(end.pipe())),
            is_reset: self.is_reset(),
            ended: halves.into_iter().filter(|(_, is_ended)| *is_ended).map(|(half, _)| half).collect(),
            peer: self.peer.clone(),
        }
    }

    /// One with some of these pipes; `None` if there can be no such one.
    pub(crate) fn from_saved(style: Style, saved: &SavedPair, pipes: &[Pipe]) -> Option<Pair> {
        let pipe = |number: u32| pipes.get(number as usize);
        let outgoing = match saved.outgoing {
            Some(number) => Some(pipe(number)?.writer()),
            None if style == Style::Datagrams => None,
            None => return None,
        };
        let pair = Pair::new(style, pipe(saved.incoming)?.reader(), outgoing).with_peer(saved.peer.clone());
        saved.ended.iter().for_each(|&half| pair.shut_down(half));
        pair.outgoing.iter().for_each(|end| end.pipe().set_reset(saved.is_reset));
        pair.note_partner();
        Some(pair)
    }
}
