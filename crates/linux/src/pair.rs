//! One of two sockets that are connected to each other (`socketpair`): each reads what the other one has written. A pair is
//! two pipes, so it is bounded and saved as these are.

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::events::{HUP, READ, READ_HUP, WRITE};
use crate::halves::{Half, Received};
use crate::pipes::{Pipe, Reader, Writer};
use crate::rights::Carried;

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
        [Style::Stream, Style::Datagrams, Style::Packets].into_iter().find(|style| style.type_number() == number)
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

/// One of the two.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) style: Style,
    pub(crate) incoming: Reader,
    pub(crate) outgoing: Writer,
}

impl Pair {
    pub(crate) fn both(style: Style) -> [Pair; 2] {
        let (one, other) = (Pipe::default(), Pipe::default());
        [
            Pair { style, incoming: one.reader(), outgoing: other.writer() },
            Pair { style, incoming: other.reader(), outgoing: one.writer() },
        ]
    }

    /// Another one with the same pipes, which has ended these halves.
    pub(crate) fn renewed(&self, ended: &[Half]) -> Pair {
        let (incoming, outgoing) = (self.incoming.pipe().reader(), self.outgoing.pipe().writer());
        let pair = Pair { style: self.style, incoming, outgoing };
        ended.iter().for_each(|&half| pair.shut_down(half));
        pair
    }

    pub(crate) fn activity(&self) -> u64 {
        self.incoming.activity().wrapping_add(self.outgoing.activity())
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
        self.outgoing.is_closed() || self.style != Style::Datagrams && self.outgoing.is_hung_up()
    }

    /// What of `wanted` would not block, and what goes unasked.
    pub(crate) fn ready(&self, wanted: u16) -> u16 {
        let when = |ready: bool, events: u16| if ready { events } else { 0 };
        let (no_more, takes_no_more) = (self.has_no_more(), self.takes_no_more());
        when(no_more || self.incoming.is_ready(), READ & wanted)
            | when(takes_no_more || self.outgoing.is_hung_up() || self.outgoing.is_ready(), WRITE & wanted)
            | when(no_more, READ_HUP & wanted)
            | when(no_more && takes_no_more, HUP)
    }

    /// Reads, and leaves it there if it `stays`; `EAGAIN` if there is nothing yet.
    pub(crate) fn receive(&self, buffer: &mut [u8], stays: bool) -> Result<Received, Errno> {
        if self.style != Style::Stream {
            return match self.incoming.read_message(buffer, stays) {
                Some((whole, files)) => {
                    Ok(Received { len: whole.min(buffer.len()), whole, files, ..Received::default() })
                }
                None if self.has_no_more() => Ok(Received::default()),
                None => Err(Errno::AGAIN),
            };
        }
        if !self.incoming.is_ready() && !buffer.is_empty() {
            return if self.has_no_more() { Ok(Received::default()) } else { Err(Errno::AGAIN) };
        }
        let (len, files) = self.incoming.receive(buffer, stays);
        Ok(Received { len, whole: len, files, ..Received::default() })
    }

    /// Writes what there is room for, or a whole message, with its files; `EAGAIN` without room.
    pub(crate) fn send(&self, bytes: &[u8], files: &[Carried]) -> Result<usize, Errno> {
        if self.outgoing.is_closed() {
            return Err(Errno::PIPE);
        }
        if self.outgoing.is_hung_up() {
            let is_gone = self.style == Style::Datagrams && self.incoming.is_hung_up();
            return Err(if is_gone { Errno::CONNREFUSED } else { Errno::PIPE });
        }
        match self.style {
            Style::Stream => self.outgoing.send(bytes, files),
            Style::Datagrams | Style::Packets => self.outgoing.write_message(bytes, files).map(|()| bytes.len()),
        }
    }

    /// Ends one direction.
    pub(crate) fn shut_down(&self, half: Half) {
        match half {
            Half::Incoming => self.incoming.close(),
            Half::Outgoing => self.outgoing.close(),
        }
    }

    /// The directions that have been ended.
    pub(crate) fn ended(&self) -> Vec<Half> {
        let incoming = self.incoming.is_closed().then_some(Half::Incoming);
        incoming.into_iter().chain(self.outgoing.is_closed().then_some(Half::Outgoing)).collect()
    }
}
