//! An HTTP server that gives each request a machine of its own. The plugin that answers, `guest/plugin.cpp`, is plain C++.
//!
//! - [`Plugin`]: the guest, started once, in a pool of machines that go back to that moment after each request.
//! - [`Native`]: the same C++ in the server itself, to compare with.
//! - [`serve`]: the server in front of a [`Handler`], which is one of them.
//! - [`load`]: requests per second, by a tool for that.

use std::error::Error;

pub mod load;
mod native;
mod plugin;
mod server;

pub use native::Native;
pub use plugin::{Limits, Plugin};
pub use server::serve;

/// The longest body of a request, in bytes.
pub const BODY_MAX: usize = 64 << 10;

/// An answer, with its HTTP status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The page.
    pub page: Vec<u8>,
}

/// Something that answers requests.
#[derive(Debug)]
pub enum Handler {
    /// The server alone: always the same page.
    Constant(Reply),
    /// C++ in the server.
    Native(Native),
    /// C++ in a machine.
    Plugin(Plugin),
}

impl Handler {
    /// Answers one request.
    ///
    /// # Errors
    /// What went wrong in a plugin.
    pub fn handle(&self, path: &str, body: &[u8]) -> Result<Reply, Box<dyn Error + Send + Sync>> {
        match self {
            Handler::Constant(reply) => Ok(reply.clone()),
            Handler::Native(native) => Ok(native.handle(path, body)),
            Handler::Plugin(plugin) => Ok(plugin.handle(path, body)?),
        }
    }
}
