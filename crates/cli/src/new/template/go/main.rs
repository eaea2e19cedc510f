//! The host: it runs the guest, gives it its input, and is called by it.

use std::time::{Duration, Instant};

use riverrun::{Caller, Config, Engine, HostError, Linker, Program, Slice};
use riverrun_linux::{Input, Linux};

/// A guest that takes longer is stopped: the error says so.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// What the guest's calls work on.
struct Game {
    linux: Linux,
    score: i64,
}

fn add_score(mut caller: Caller<'_, Game>, points: i64) -> i64 {
    let game = caller.data_mut();
    game.score = game.score.saturating_add(points);
    game.score
}

fn announce(caller: Caller<'_, Game>, text: Slice<u8>) -> Result<(), HostError> {
    println!("host: {}", String::from_utf8_lossy(text.get(caller.memory())?));
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::new(&Config::new())?;
    let mut linker = Linker::new(&engine);
    // The system calls that Go's runtime makes. It sees no files but what the builder below grants.
    riverrun_linux::add_to_linker(&mut linker, |game: &mut Game| &mut game.linux);
    // What guest/host.go declares.
    linker.func("Game::add_score", add_score)?;
    linker.func("Game::announce", announce)?;
    let program = Program::new(&engine, &include_bytes!(concat!(env!("OUT_DIR"), "/guest"))[..])?;
    let linux = Linux::builder().args(["guest"]).inherit_stdio().stdin(Input::bytes("one\ntwo\nthree\n")).build();
    let mut machine = linker.instantiate(&program, Game { linux, score: 0 })?;
    riverrun_linux::start(&mut machine, |game| &mut game.linux)?;
    machine.set_deadline(Some(Instant::now() + TIME_LIMIT));
    let status = machine.run()?;
    println!("host: the guest ended with {status}, score {}", machine.data().score);
    Ok(())
}
