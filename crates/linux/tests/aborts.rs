//! A guest that aborts says why, and the error has it: wherever the exception, assertion or broken heap was, in the
//! program's own run or in a function that the host has called.

use crate::common::{gxx, machine, try_run};
use riverrun::{Config, Error, TrapCause};
use riverrun_linux::Linux;

const FLAGS: &[&str] = &["-O2", "-g", "-static"];

/// What the error says for each way to end, up to where the program's own code is.
const SAID: [&str; 4] = [
    "the guest aborted: terminate called after throwing an instance of 'std::runtime_error': what(): no such level, in end at ",
    "the guest aborted: terminate called after throwing an instance of 'Level', in end at ",
    "Assertion `how == 0 && \"zero\"' failed., in end at ",
    // The way back ends in a function of glibc that does not return.
    "the guest aborted: free(): invalid pointer",
];

fn assert_aborted(error: &Error, how: usize) {
    assert_eq!(error.trap().map(|trap| trap.cause), Some(TrapCause::Signal { number: 6 }), "{error}");
    let text = error.to_string();
    assert!(text.contains(SAID[how]) && (how == 3 || text.contains("aborts.cpp:")), "{how}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(format!("{error:?}").contains(" abort+"), "{error:?}");
}

#[test]
fn runs_that_abort() {
    let program = gxx("aborts.cpp", FLAGS);
    for how in 0..SAID.len() {
        let (result, _) =
            try_run(&Config::new(), &program, "", Linux::builder().args(["guest".into(), how.to_string()]));
        assert_aborted(&result.unwrap_err(), how);
    }
}

#[test]
fn functions_that_abort() {
    let program = gxx("aborts.cpp", FLAGS);
    for how in 0..SAID.len() {
        let mut machine = machine(&Config::new(), &program, Linux::builder().args(["guest"]).build());
        assert_eq!(machine.run().unwrap(), 0);
        let called = machine.func::<(i32,), i32>("called").unwrap();
        assert_eq!(called.call(&mut machine, (9,)).unwrap(), 9);
        assert_aborted(&called.call(&mut machine, (how as i32,)).unwrap_err(), how);
    }
}

#[test]
fn what_was_logged_earlier_is_no_reason() {
    let program = gxx("aborts.cpp", FLAGS);
    let (result, _) = try_run(&Config::new(), &program, "", Linux::builder().args(["guest", "4"]));
    let error = result.unwrap_err();
    assert!(error.trap().unwrap().message.is_none() && error.to_string().contains("SIGABRT"), "{error}");
    let (result, _) = try_run(&Config::new(), &program, "", Linux::builder().args(["guest", "5"]));
    let said = result.unwrap_err().trap().unwrap().message.clone();
    assert_eq!(said.as_deref(), Some("out of \u{fffd}[31mcheese"));
}
