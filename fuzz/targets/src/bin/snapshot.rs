//! Any bytes as a snapshot: an error in words, or another guest inside its sandbox. (Checksums are not asked for when
//! fuzzing.)
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use riverrun::{Config, Engine, HeapOptions, Linker, Program, Snapshot};
use riverrun_fuzz_targets::seed;
use riverrun_linux::Linux;

struct Host {
    linker: Linker<Linux>,
    program: Program,
}

static HOST: LazyLock<Host> = LazyLock::new(|| {
    let mut config = Config::new();
    config.memory_limit(16 << 20).stack_size(64 << 10);
    let engine = Engine::new(&config).expect("an engine");
    let program = Program::new(&engine, riverrun::doc::TINY).expect("the program");
    let mut linker = Linker::new(&engine);
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    linker.heap(&HeapOptions::new()).expect("a heap");
    Host { linker, program }
});

/// Snapshots at the program's start and behind some use of the heap, with the state of a personality and without.
fn seeds() -> Vec<Vec<u8>> {
    let linux = Linux::builder().args(["tiny"]).seed(Some(1)).virtual_time(true).build();
    let mut machine = HOST.linker.instantiate(&HOST.program, linux).expect("a machine");
    let mut seeds = vec![machine.snapshot().expect("a snapshot").to_bytes()];
    riverrun_linux::start(&mut machine, |linux| linux).expect("a start");
    let with_linux = |machine: &mut _| riverrun_linux::snapshot(machine, |linux| linux).expect("a snapshot").to_bytes();
    seeds.push(with_linux(&mut machine));
    let blocks: Vec<u64> = (0..40).map(|n| machine.heap().allocate(n * 30).expect("a block")).collect();
    for address in blocks.iter().step_by(3) {
        machine.heap().free(*address).expect("it is in use");
    }
    machine.heap().allocate(50_000).expect("a block");
    seeds.push(with_linux(&mut machine));
    seeds
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    let Ok(snapshot) = Snapshot::from_bytes(&HOST.program, data) else { return };
    let builder = Linux::builder();
    let linux = match builder.restore_from(&snapshot) {
        Ok(linux) => linux,
        Err(_) => Linux::builder().build(),
    };
    let Ok(mut machine) = HOST.linker.instantiate_from(&snapshot, linux) else { return };
    machine.set_fuel(Some(2000));
    machine.set_deadline(std::time::Instant::now().checked_add(std::time::Duration::from_millis(200)));
    let _ = machine.run();
    let _ = machine.backtrace().to_string();
    let mut heap = machine.heap();
    let _ = heap.statistics();
    let blocks: Vec<u64> = (0..30).filter_map(|n| heap.allocate_zeroed(n * 100).ok()).collect();
    for (n, address) in blocks.into_iter().enumerate() {
        let _ = if n % 2 == 0 { heap.free(address) } else { heap.reallocate(address, 20).map(|_| ()) };
    }
    // What has been restored can be saved again, and put back.
    let _ = machine.data().save();
    let again = machine.snapshot().expect("it does not run").to_bytes();
    let _ = Snapshot::from_bytes(&HOST.program, &again);
    let _ = machine.data_mut().reset();
    machine.reset(&snapshot).expect("it fitted before");
});
