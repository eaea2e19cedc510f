//! What can be waited for in files, as `poll` and `epoll` have it, and the host.

const IN: u16 = 0x001;
const OUT: u16 = 0x004;
pub(crate) const ERR: u16 = 0x008;
pub(crate) const HUP: u16 = 0x010;
pub(crate) const NVAL: u16 = 0x020;
const IN_NORMAL: u16 = 0x040;
const OUT_NORMAL: u16 = 0x100;
/// The end of what can be read (`POLLRDHUP`).
pub(crate) const READ_HUP: u16 = 0x2000;
pub(crate) const READ: u16 = IN | IN_NORMAL;
pub(crate) const WRITE: u16 = OUT | OUT_NORMAL;
