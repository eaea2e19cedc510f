//! The command: the game in a terminal, or without one.

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use crossterm::{cursor, execute, terminal};
use lexopt::Arg::{Long, Short};
use lexopt::ValueExt;
use riverrun_game::{Game, RATE, Screen, Unit};

#[path = "../../output.rs"]
mod output;

const HELP: &str = "\
riverrun-game [OPTIONS]

Arrow keys or WASD fly the ship, q ends the game. Left alone, the ship flies itself. Save the script,
guest/main.cpp, and it is compiled and goes on with the game that is being played.

  --script FILE     reload from this source instead
  --seed N          another game; 1 if this is not said
  --compile         compile the script ahead of time (needs a build with --features compile)
  --single-step     run it by the reference interpreter, which is slow
  --headless        play without a terminal, every run alike
  --frames N        headless: frames to play, 600 if this is not said
  --png FILE        headless: a picture of the last frame
";

/// The source that is reloaded, unless the options name another one.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/guest/main.cpp");

struct Options {
    script: Option<PathBuf>,
    seed: u64,
    compile: bool,
    single_step: bool,
    headless: bool,
    frames: Option<u32>,
    png: Option<PathBuf>,
}

/// The options; `None` if only help was asked for.
fn options() -> Result<Option<Options>, Box<dyn Error>> {
    let mut options =
        Options { script: None, seed: 1, compile: false, single_step: false, headless: false, frames: None, png: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("script") => options.script = Some(parser.value()?.into()),
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("compile") => options.compile = true,
            Long("single-step") => options.single_step = true,
            Long("headless") => options.headless = true,
            Long("frames") => options.frames = Some(parser.value()?.parse()?),
            Long("png") => options.png = Some(parser.value()?.into()),
            Long("help") | Short('h') => return Ok(None),
            other => return Err(format!("{}; --help lists the options", other.unexpected()).into()),
        }
    }
    match &options {
        Options { headless: true, script: Some(_), .. } => {
            Err("--headless plays the script that was built with the game; leave out --script".into())
        }
        Options { headless: false, frames: Some(_), .. } => Err("--frames needs --headless".into()),
        Options { headless: false, png: Some(_), .. } => Err("--png needs --headless".into()),
        _ => Ok(Some(options)),
    }
}

fn main() -> ExitCode {
    output::end("riverrun-game", command())
}

fn command() -> Result<(), Box<dyn Error>> {
    let Some(options) = options()? else { return Ok(output::print(HELP)?) };
    let engine = Game::engine(options.single_step, options.compile)?;
    if options.headless {
        return headless(Game::new(&engine, options.seed, Unit::Instructions)?, &options);
    }
    if !io::stdout().is_terminal() {
        return Err("there is no terminal to play in; --headless plays without".into());
    }
    let mut game = Game::new(&engine, options.seed, Unit::Milliseconds)?;
    game.watch(options.script.as_deref().unwrap_or(Path::new(SCRIPT)))?;
    let _terminal = Terminal::take()?;
    Ok(play(&mut game, &mut BufWriter::with_capacity(1 << 16, io::stdout()))?)
}

/// The terminal as the game needs it; given back as it was, whatever happens.
struct Terminal;

impl Terminal {
    fn take() -> io::Result<Terminal> {
        terminal::enable_raw_mode()?;
        let terminal = Terminal;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

/// Plays without a terminal, and says what came of it.
fn headless(mut game: Game, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut screen = Screen::new(120, 40);
    let frames = options.frames.unwrap_or(600);
    for _ in 0..frames {
        game.frame(&mut screen);
    }
    if let Some(path) = &options.png {
        let failed = |error: &dyn Display| format!("{}: {error}", path.display());
        let file = File::create(path).map_err(|error| failed(&error))?;
        screen.write_png(BufWriter::new(file)).map_err(|error| failed(&error))?;
    }
    let (last, time) = (game.meter().last(), game.meter().script_time());
    output::print(&format!(
        "{frames} frames; in the last one {} bodies, {} calls to and fro,\n{} instructions; script {:.2} ms a frame\n",
        last.bodies,
        last.calls,
        last.instructions,
        time.as_secs_f64() * 1e3
    ))?;
    match game.problems().collect::<Vec<_>>() {
        lines if lines.is_empty() => Ok(()),
        lines => Err(lines.join("\n").into()),
    }
}

/// Plays in the terminal until the player quits.
fn play(game: &mut Game, out: &mut impl Write) -> io::Result<()> {
    let size = || terminal::size().map(|(width, height)| Screen::new(width.into(), height.into()));
    let mut screen = size()?;
    let mut next = Instant::now();
    loop {
        game.frame(&mut screen);
        screen.show(out)?;
        next = (next + Duration::from_secs(1) / RATE).max(Instant::now());
        while event::poll(next.saturating_duration_since(Instant::now()))? {
            match event::read()? {
                Event::Resize(..) => {
                    execute!(out, terminal::Clear(terminal::ClearType::All))?;
                    screen = size()?;
                }
                Event::Key(KeyEvent { code: KeyCode::Char('c'), modifiers: KeyModifiers::CONTROL, .. }) => {
                    return Ok(());
                }
                Event::Key(key) if key.is_press() => match key.code {
                    KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                    KeyCode::Left | KeyCode::Char('a') => game.key(0),
                    KeyCode::Right | KeyCode::Char('d') => game.key(1),
                    KeyCode::Up | KeyCode::Char('w') => game.key(2),
                    KeyCode::Down | KeyCode::Char('s') => game.key(3),
                    _ => {}
                },
                _ => {}
            }
        }
    }
}
