//! Programs that are stopped anywhere, saved, and continued in every engine end as if they had run through.

use riverrun::Snapshot;
use riverrun_testkit::{Engine, Loaded, Outcome, Random, amount, assert_same, generate, run};

/// Engines that count, so that they stop exactly where they are told.
fn loaded(elf: &[u8]) -> Vec<(Engine, Loaded)> {
    Engine::ALL.iter().map(|&engine| (engine, Loaded::new(engine, elf))).collect()
}

#[test]
fn random_programs_continue_in_every_engine() {
    let mut random = Random::seeded(31);
    for _ in 0..amount(60, 5_000) {
        let case = generate::case(&mut random);
        let engines = loaded(&case.elf);
        let (_, reference) = &engines[0];
        let expected: Outcome = run(&mut reference.machine(&case));
        let stop = random.below(expected.instructions as usize + 1) as u64;
        for (one, from) in &engines {
            let mut stopped = from.machine(&case);
            stopped.set_fuel(Some(stop));
            run(&mut stopped);
            let snapshot = stopped.snapshot().unwrap();
            let bytes = snapshot.to_bytes();
            // The original goes on, which the snapshot does not notice, and back.
            for (other, into) in &engines {
                let read = Snapshot::from_bytes(into.program(), &bytes).unwrap();
                let mut machine = into.continued(&read, stopped.data().clone());
                machine.set_fuel(Some(case.fuel - stop));
                assert_same(&case, &expected, &run(&mut machine), &format!("{one:?}, then {other:?} from {stop}"));
            }
            let output = stopped.data().clone();
            stopped.set_fuel(Some(case.fuel - stop));
            assert_same(&case, &expected, &run(&mut stopped), &format!("{one:?}, stopped at {stop}"));
            stopped.reset(&snapshot).unwrap();
            *stopped.data_mut() = output;
            stopped.set_fuel(Some(case.fuel - stop));
            assert_same(&case, &expected, &run(&mut stopped), &format!("{one:?}, put back to {stop}"));
        }
    }
}
