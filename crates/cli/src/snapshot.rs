//! `riverrun snapshot`: runs a program up to a point, and writes it as it is then to a file.

use std::process::ExitCode;

use riverrun::{Error, TrapCause};

use crate::Result;
use crate::options::{RunOptions, SnapshotOptions};
use crate::run::{Prepared, calls, ending, finish_tier_up, set_limits};

/// Runs the program until its `main` has returned, or to a limit, and writes the snapshot.
pub(crate) fn snapshot(options: &SnapshotOptions) -> Result<ExitCode> {
    let run = &options.run;
    if riverrun_vm::is_same_file(&options.output, run.program()) {
        let name = options.output.display();
        return Err(format!("{name}: this is the program itself; name another file by -o").into());
    }
    let prepared = Prepared::new(run)?;
    let mut machine = prepared.machine(run, false)?;
    set_limits(&mut machine, run);
    // What goes on from a snapshot behind `main` has no `main` to wait for.
    let result = match machine.data().is_behind_main() {
        true if run.fuel.is_none() && run.guest.timeout.is_none() => Ok(None),
        _ => machine.run().map(Some),
    };
    let stopped = match result {
        Ok(None) => Ok(()),
        Ok(Some(_)) if machine.data().is_behind_main() => Ok(()),
        Ok(Some(status)) => return Err(exited(run, status)),
        Err(Error::Trap(trap)) if is_limit(&trap.cause) => Ok(()),
        Err(error) => Err(error),
    };
    let called = match stopped {
        Ok(()) => calls(&mut machine, run)?,
        failed => failed,
    };
    finish_tier_up(&prepared.program, run);
    if let Err(error) = called {
        let (_, status) = ending(&machine, run, &Err(error))?;
        return Ok(ExitCode::from(status));
    }
    riverrun_linux::snapshot(&mut machine, |linux| linux)?.write_to(&options.output)?;
    Ok(ExitCode::SUCCESS)
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
