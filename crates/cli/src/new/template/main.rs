//! The host: it calls the guest, is called by it, and calls it back.

use std::time::{Duration, Instant};

use riverrun::{CallLimits, Caller, Config, Engine, Func, HeapOptions, HostError, Linker, Program, Ptr, Str};
use riverrun_linux::Linux; // @libc

#[allow(missing_docs, dead_code)]
mod api {
    include!(concat!(env!("OUT_DIR"), "/api_host.rs"));
}

/// A guest that takes longer to start, or for a call, is stopped: the error says so.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// What the guest's calls work on.
#[derive(Default)] // @bare
struct Game {
    linux: Linux, // @libc
    score: i32,
    on_score: Option<Func<(i32,), ()>>,
}

impl api::Api for Game {
    fn on_score(mut caller: Caller<'_, Self>, function: Ptr<()>) -> Result<(), HostError> {
        caller.data_mut().on_score = Some(caller.func_at(function.address())?);
        Ok(())
    }

    fn add_score(mut caller: Caller<'_, Self>, points: i32) -> Result<(), HostError> {
        let game = caller.data_mut();
        game.score = game.score.saturating_add(points);
        let (score, on_score) = (game.score, game.on_score);
        match on_score {
            Some(function) => Ok(function.call(&mut caller, (score,))?),
            None => Ok(()),
        }
    }

    fn print(caller: Caller<'_, Self>, text: Str) -> Result<(), HostError> {
        println!("guest: {}", text.get(caller.memory())?);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::new(&Config::new())?;
    let mut linker = Linker::new(&engine);
    api::link(&mut linker)?;
    // The system calls that the guest's libc makes. It sees no files but what the builder below grants. // @libc
    riverrun_linux::add_to_linker(&mut linker, |game: &mut Game| &mut game.linux); // @libc
    // What the guest allocates by: `alloc` in Rust, <riverrun/new.h> in C++.
    linker.heap(&HeapOptions::new())?;
    let program = Program::new(&engine, &include_bytes!(concat!(env!("OUT_DIR"), "/guest"))[..])?;
    let game = Game::default(); // @bare
    let linux = Linux::builder().args(["guest"]).inherit_stdio().build(); // @libc
    let game = Game { linux, score: 0, on_score: None }; // @libc
    let mut machine = linker.instantiate(&program, game)?;
    riverrun_linux::start(&mut machine, |game| &mut game.linux)?; // @libc
    machine.set_deadline(Some(Instant::now() + TIME_LIMIT));
    machine.run()?;
    machine.set_deadline(None);
    let update = machine.func::<(f32,), i32>("update")?;
    for _ in 0..3 {
        let frame = update.call_within(&mut machine, CallLimits::new().timeout(TIME_LIMIT), (0.5,))?;
        println!("host: frame {frame}, score {}", machine.data().score);
    }
    Ok(())
}
