//! A game for two whose late inputs take frames back.
//!
//! Over a network the other player's keys come late. A [`Session`] does not wait for them: it guesses that they have not
//! changed, and plays on. When they come and the guess was wrong, it goes back to the snapshot before that frame and plays
//! the frames since again. The rules, `guest/paint.cpp`, know nothing of all that.
//!
//! - [`Game`]: the guest.
//! - [`Session`]: frames, snapshots, rollbacks, and what they cost.
//! - [`keys`]: what the two players do, who are played by the host.

mod game;
mod session;

pub use game::{Game, HEIGHT, Keys, WIDTH, keys};
pub use session::{Costs, Session};

/// Frames a second.
pub const RATE: u32 = 60;
