//! Traces programs and prints the sequences of operations that would save most handlers if each
//! had one of its own, as rows of `src/patterns.rs`: those that save at least 1 in 4,000 where
//! several of the programs execute them, else 1 in 1,000.

use std::collections::HashMap;

use riverrun::{Config, Engine, Linker, Program, TrapCause};
use riverrun_linux::Linux;

/// Instructions of each program that are traced.
const TRACED: usize = 20_000_000;
/// Programs that have to execute a sequence, each at least once in 10,000 instructions.
const PROGRAMS: usize = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut share: HashMap<String, (f64, usize)> = HashMap::new();
    let programs: Vec<String> = std::env::args().skip(1).collect();
    for path in &programs {
        let engine = Engine::new(Config::new().single_step(true))?;
        let program = Program::from_file(&engine, path)?;
        let mut linker = Linker::new(&engine);
        riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
        let linux = Linux::builder().args([path.as_str()]).build();
        let mut machine = linker.instantiate(&program, linux)?;
        riverrun_linux::start(&mut machine, |linux| linux)?;
        let mut executed = 0;
        let trace = std::iter::from_fn(|| {
            let pc = machine.pc();
            machine.set_fuel(Some(1));
            executed += 1;
            let goes_on = matches!(machine.run(), Err(error)
                if error.trap().is_some_and(|trap| trap.cause == TrapCause::OutOfFuel));
            (goes_on && executed < TRACED).then_some(pc)
        });
        let mut counts = HashMap::new();
        riverrun_interp::profile::count(program.image(), trace, &mut counts);
        for (sequence, count) in counts {
            let operations = sequence.matches([',', '>']).count() + 1;
            // A handler saves all but one of them; what pairs save anyway is half.
            let saved = operations as f64 / 2.0 - 1.0 + 0.25;
            let rate = count as f64 / executed as f64;
            let (total, often) = share.entry(sequence).or_default();
            *total += saved * rate / programs.len() as f64;
            *often += usize::from(rate > 1e-4);
        }
    }
    let least = |often| if often >= PROGRAMS { 0.00025 } else { 0.001 };
    let worth = share.into_iter().filter(|&(_, (saved, often))| saved >= least(often));
    let mut rows: Vec<(f64, String)> = worth.map(|(sequence, (saved, _))| (saved, sequence)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (saved, sequence) in rows {
        println!("    {sequence}; // {:.2} %", 100.0 * saved);
    }
    Ok(())
}
