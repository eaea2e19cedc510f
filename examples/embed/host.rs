//! The same host in Rust.

use riverrun::{Caller, Config, Engine, Linker, PointerError, Program, Str};

fn main() -> Result<(), riverrun::Error> {
    let path = std::env::args().nth(1);
    let engine = Engine::new(&Config::new())?;
    let mut linker = Linker::new(&engine);
    linker.func("Game::add", |mut caller: Caller<'_, i32>, a: i32, b: i32| {
        *caller.data_mut() += 1;
        a + b
    })?;
    linker.func("Game::print", |caller: Caller<'_, i32>, text: Str| {
        println!("guest: {}", text.get(caller.memory())?);
        Ok::<(), PointerError>(())
    })?;
    let program = Program::from_file(&engine, path.as_deref().unwrap_or("guest.elf"))?;
    let mut machine = linker.instantiate(&program, 0)?;
    let update = machine.func::<(f32, i32), i32>("update")?;
    let score = update.call(&mut machine, (0.5, 37))?;
    println!("host: {score} after {} call", machine.data());
    let failed = update.call(&mut machine, (0.5, -1));
    let trapped = failed.is_err_and(|error| error.trap().is_some());
    println!("host: {}", if trapped { "the guest has trapped" } else { "no trap" });
    Ok(())
}
