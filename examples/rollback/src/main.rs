//! The command: a game between two players, one of whom is far away.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use lexopt::prelude::*;
use riverrun_rollback::{Costs, Game, HEIGHT, Keys, RATE, Session, WIDTH, keys};

#[path = "../../output.rs"]
mod output;

const HELP: &str = "\
riverrun-rollback [OPTIONS]    a game between two players, one of whom is far away

Shows the game and its costs in a terminal; elsewhere it prints one line at the end.

  --frames N      frames to play, 600 if not given
  --rollback N    by how many frames the second player's keys come late, 8 if not given
  --seed N        another game; 1 if not given
  --compile       compile the rules ahead of time (needs a build with --features compile)
  --json          the line as JSON
";

struct Options {
    frames: u64,
    rollback: u32,
    seed: u64,
    compile: bool,
    json: bool,
}

fn main() -> ExitCode {
    output::end("riverrun-rollback", command())
}

fn command() -> Result<(), Box<dyn Error>> {
    let mut options = Options { frames: 600, rollback: 8, seed: 1, compile: false, json: false };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("frames") => options.frames = parser.value()?.parse()?,
            Long("rollback") => options.rollback = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("compile") => options.compile = true,
            Long("json") => options.json = true,
            Long("help") | Short('h') => return Ok(output::print(HELP)?),
            other => return Err(format!("{}; --help lists the options", other.unexpected()).into()),
        }
    }
    let game = Game::new(&Game::engine(false, options.compile)?)?;
    let mut session = Session::new(game, options.rollback as usize);
    let is_shown = io::stdout().is_terminal() && !options.json;
    play(&mut session, &options, is_shown)?;
    Ok(output::print(&format!("{}\n", report(&session, &options)?))?)
}

fn play(session: &mut Session, options: &Options, is_shown: bool) -> Result<(), Box<dyn Error>> {
    let late = u64::from(options.rollback);
    let theirs = |frame| -> Keys { keys(options.seed, 1, frame) };
    let mut next = Instant::now();
    if is_shown {
        output::print("\x1b[2J")?;
    }
    for frame in 0..options.frames {
        if let Some(known) = frame.checked_sub(late) {
            session.learn(known, theirs(known))?;
        }
        session.play(keys(options.seed, 0, frame))?;
        if is_shown {
            show(session, options)?;
            next += Duration::from_secs(1) / RATE;
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }
    // The keys of the last frames come when the game is over.
    for known in options.frames.saturating_sub(late)..options.frames {
        session.learn(known, theirs(known))?;
    }
    Ok(())
}

/// Draws two rows of the field in one of text, and the costs below.
fn show(session: &Session, options: &Options) -> Result<(), Box<dyn Error>> {
    // By owner: neither player, the first, the second.
    const COLOURS: [u8; 3] = [236, 208, 39];
    let field = session.game().field()?;
    let colour = |x: usize, y: usize| COLOURS[usize::from(field[y * WIDTH + x]) % 3];
    let mut text = String::from("\x1b[H");
    for y in (0..HEIGHT).step_by(2) {
        for x in 0..WIDTH {
            text += &format!("\x1b[38;5;{};48;5;{}m▀", colour(x, y), colour(x, y + 1));
        }
        text += "\x1b[0m\x1b[K\n";
    }
    text += &format!("{}\x1b[K\n", line(session, options)?);
    Ok(output::print(&text)?)
}

fn report(session: &Session, options: &Options) -> Result<String, Box<dyn Error>> {
    if !options.json {
        return line(session, options);
    }
    let Costs { frame, snapshot, restore, replay } = session.costs();
    let [first, second] = session.game().score()?;
    Ok(format!(
        "{{\"frames\":{},\"rollback\":{},\"compiled\":{},\"rollbacks\":{},\"frame_us\":{:.2},\"snapshot_us\":{:.2},\
         \"restore_us\":{:.2},\"replay_us\":{:.2},\"score\":[{first},{second}],\"hash\":\"{:08x}\"}}",
        session.frames(),
        options.rollback,
        options.compile,
        restore.len(),
        median(frame),
        median(snapshot),
        median(restore),
        median(replay),
        session.game().hash()?,
    ))
}

/// Score and costs.
fn line(session: &Session, options: &Options) -> Result<String, Box<dyn Error>> {
    let Costs { frame, snapshot, restore, replay } = session.costs();
    let [first, second] = session.game().score()?;
    Ok(format!(
        "frame {}: {first} to {second}; {} rollbacks of {} frames; medians in us: frame {:.1}, snapshot {:.1}, restore \
         {:.1}, replay {:.1}; game {:08x}",
        session.frames(),
        restore.len(),
        options.rollback,
        median(frame),
        median(snapshot),
        median(restore),
        median(replay),
        session.game().hash()?,
    ))
}

/// In microseconds; 0 of nothing.
fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
