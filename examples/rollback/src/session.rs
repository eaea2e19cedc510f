//! Frames, snapshots, rollbacks, and what they cost.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use riverrun::{Error, Snapshot};

use crate::game::{Game, Keys};

/// A frame that may have to be played again.
struct Past {
    before: Snapshot,
    keys: [Keys; 2],
}

/// What frames have cost.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// Each frame.
    pub frame: Vec<Duration>,
    /// Each snapshot.
    pub snapshot: Vec<Duration>,
    /// Each return to a snapshot.
    pub restore: Vec<Duration>,
    /// All frames and snapshots that a return has made necessary.
    pub replay: Vec<Duration>,
}

/// A game whose second player's keys come late.
///
/// Invariant: `past` has the last frames, the oldest first, each with the game's state before it and the keys that it was
/// played with.
pub struct Session {
    game: Game,
    window: usize,
    past: VecDeque<Past>,
    frames: u64,
    /// The second player's keys, as far as is known.
    guess: Keys,
    costs: Costs,
}

impl Session {
    /// A session that can take back so many frames.
    pub fn new(game: Game, window: usize) -> Session {
        Session { game, window, past: VecDeque::new(), frames: 0, guess: 0, costs: Costs::default() }
    }

    /// The game, as it looks at present.
    pub fn game(&self) -> &Game {
        &self.game
    }

    /// What it has cost so far.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Frames that have been played.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Plays a frame with the first player's keys, and a guess of the second player's.
    ///
    /// # Errors
    /// As [`Game::frame`] and [`Game::snapshot`].
    pub fn play(&mut self, first: Keys) -> Result<(), Error> {
        if self.window > 0 {
            if self.past.len() == self.window {
                self.past.pop_front();
            }
            let before = timed(&mut self.costs.snapshot, || self.game.snapshot())?;
            self.past.push_back(Past { before, keys: [first, self.guess] });
        }
        timed(&mut self.costs.frame, || self.game.frame([first, self.guess]))?;
        self.frames += 1;
        Ok(())
    }

    /// Takes the second player's keys of a frame, which come in order. If another guess was played, goes back and plays the
    /// frames since again. Keys of the next frame are no guess: `play` uses them. Those of a frame that is too long ago are
    /// lost, and false is returned.
    ///
    /// # Errors
    /// As [`Game::frame`], [`Game::snapshot`] and [`Game::reset`].
    pub fn learn(&mut self, frame: u64, second: Keys) -> Result<bool, Error> {
        self.guess = second;
        let Some(back) = self.frames.checked_sub(frame).filter(|&back| back > 0) else { return Ok(true) };
        let Some(first) = self.past.len().checked_sub(back as usize) else { return Ok(false) };
        if self.past[first].keys[1] == second {
            return Ok(true);
        }
        timed(&mut self.costs.restore, || self.game.reset(&self.past[first].before))?;
        timed(&mut self.costs.replay, || {
            for (number, past) in self.past.iter_mut().enumerate().skip(first) {
                if number > first {
                    past.before = self.game.snapshot()?;
                }
                past.keys[1] = second;
                self.game.frame(past.keys)?;
            }
            Ok::<_, Error>(())
        })?;
        Ok(true)
    }
}

fn timed<R>(times: &mut Vec<Duration>, work: impl FnOnce() -> R) -> R {
    let begin = Instant::now();
    let result = work();
    times.push(begin.elapsed());
    result
}
