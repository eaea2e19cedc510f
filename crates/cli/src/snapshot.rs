//! `riverrun snapshot`: runs a program up to a point, and writes it as it is then to a file.

use std::process::ExitCode;

use riverrun::{Error, Machine, TrapCause};
use riverrun_linux::Linux;

use crate::Result;
use crate::function_call::CheckedCall;
use crate::options::{RunOptions, SnapshotOptions};
use crate::report::Ending;
use crate::run::{Begun, Prepared, checked_calls, make_calls};

/// Runs the program until its `main` has returned, or to a limit, and writes the snapshot.
pub(crate) fn snapshot(options: &SnapshotOptions) -> Result<ExitCode> {
    let run = &options.run;
    if riverrun_vm::is_same_file(&options.output, run.program()) {
        let name = options.output.display();
        return Err(format!("{name}: this is the program itself; name another file by -o").into());
    }
    let prepared = Prepared::new(run)?;
    let mut machine = prepared.machine(run, false)?;
    let calls = checked_calls(&mut machine, run)?;
    let begun = Begun::new(&prepared.program, run, &mut machine)?;
    let result = take(&mut machine, options, calls);
    Ok(begun.report(&mut machine, result.map(|ending| (ending, 0))))
}

/// Runs the machine to the point, makes the calls, and writes the snapshot; says what ended the run.
fn take(machine: &mut Machine<Linux>, options: &SnapshotOptions, calls: Vec<CheckedCall>) -> Result<Ending> {
    let run = &options.run;
    // What goes on from a snapshot behind `main` has no `main` to wait for.
    let result = match machine.data().is_behind_main() {
        true if run.fuel.is_none() && run.guest.timeout.is_none() => Ok(None),
        _ => machine.run().map(Some),
    };
    let ending = match result {
        Ok(None) => Ending::Exit,
        Ok(Some(_)) if machine.data().is_behind_main() => Ending::Exit,
        Ok(Some(status)) => return Err(exited(run, status)),
        Err(Error::Trap(trap)) if is_limit(&trap.cause) => Ending::of(&trap).0,
        Err(error) => return Err(error.into()),
    };
    make_calls(machine, calls).map_err(|error| match error.downcast_ref() {
        Some(&Error::Exited { status }) => exited(run, status),
        _ => error,
    })?;
    let snapshot = riverrun_linux::snapshot(machine, |linux| linux)?;
    // The error names the file itself.
    snapshot.write_to(&options.output).map_err(|error| error.to_string())?;
    Ok(ending)
}

/// Whether a run that was stopped so can go on.
fn is_limit(cause: &TrapCause) -> bool {
    matches!(cause, TrapCause::OutOfFuel | TrapCause::Deadline | TrapCause::Interrupted)
}

fn exited(run: &RunOptions, status: i32) -> Box<dyn std::error::Error> {
    let name = run.program().display();
    format!(
        "{name}: it has exited with status {status}, so that nothing is left to go on with. Programs that export functions \
         and are built by `riverrun cc` stay behind their main; others can be stopped before by --fuel or --timeout"
    )
    .into()
}
