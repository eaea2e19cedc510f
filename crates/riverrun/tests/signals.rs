//! Faults of guests and a host's own handler of SIGSEGV get along, in either order of installation.
//!
//! Handlers are the process's, so each test runs itself again in a process of its own.

use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use riverrun::{Config, Engine, Linker, Machine, Program, TrapCause};
use riverrun_isa::{Inst, Op, Rounding};
use riverrun_testkit::elf;

const CHILD: &str = "RIVERRUN_TEST_CHILD";

/// Runs the named test of this file again, with `CHILD` set, and says whether that succeeded.
fn in_a_process_of_its_own(name: &str, body: impl FnOnce()) {
    if std::env::var_os(CHILD).is_some() {
        return body();
    }
    let this = std::env::current_exe().expect("a test has a path");
    let output = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
}

/// A guest that loads from address 0.
fn wild_guest() -> Machine<()> {
    let load = Inst { op: Op::ld, rd: 10, rs1: 0, rs2: 0, rs3: 0, rm: Rounding::Rne, len: 4, imm: 0 };
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::new(&engine, elf::executable(&load.encode().to_le_bytes(), &[], 0)).unwrap();
    Linker::new(&engine).instantiate(&program, ()).unwrap()
}

fn assert_traps(machine: &mut Machine<()>) {
    let error = machine.run().unwrap_err();
    assert_eq!(error.trap().expect("a trap").cause, TrapCause::LoadFault { address: 0 });
}

/// A host page that is inaccessible until the host's handler opens it.
static PAGE: AtomicUsize = AtomicUsize::new(0);
/// How often the host's handler was called.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// What handled SIGSEGV before the host's handler.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn host_handler(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let page = PAGE.load(Ordering::Relaxed);
    // SAFETY: the kernel hands over a valid siginfo.
    let address = unsafe { (*info).si_addr() } as usize;
    if address == page {
        // SAFETY: the page is this test's own.
        unsafe { libc::mprotect(page as *mut _, 4096, libc::PROT_READ) };
        return;
    }
    let previous = PREVIOUS.load(Ordering::Relaxed);
    // SAFETY: what was there before is riverrun's handler, which takes these arguments.
    unsafe {
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = std::mem::transmute(previous);
        handler(signal, info, context);
    }
}

fn install_host_handler() {
    // SAFETY: a fresh page; a handler of the right signature; no other thread runs.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), 4096, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        PAGE.store(page as usize, Ordering::Relaxed);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = host_handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        let mut previous: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, &mut previous), 0);
        PREVIOUS.store(previous.sa_sigaction, Ordering::Relaxed);
    }
}

fn read_host_page() -> u8 {
    // SAFETY: the host's handler opens the page when the read faults.
    unsafe { (PAGE.load(Ordering::Relaxed) as *const u8).read_volatile() }
}

#[test]
fn a_handler_that_was_there_before_keeps_its_faults() {
    in_a_process_of_its_own("a_handler_that_was_there_before_keeps_its_faults", || {
        install_host_handler();
        let mut machine = wild_guest();
        assert_traps(&mut machine);
        assert_eq!(CALLS.load(Ordering::Relaxed), 0, "guests' faults are not the host's");
        assert_eq!(read_host_page(), 0);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        assert_traps(&mut machine);
    });
}

#[test]
fn a_handler_that_comes_later_passes_guests_faults_on() {
    in_a_process_of_its_own("a_handler_that_comes_later_passes_guests_faults_on", || {
        let mut machine = wild_guest();
        install_host_handler();
        assert_traps(&mut machine);
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        assert_eq!(read_host_page(), 0);
        assert_traps(&mut machine);
        assert_eq!(CALLS.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn a_host_without_handler_still_dies_of_its_own_faults() {
    let name = "a_host_without_handler_still_dies_of_its_own_faults";
    if std::env::var_os(CHILD).is_some() {
        assert_traps(&mut wild_guest());
        // SAFETY: it is not: the page does not exist, and this process is to end here.
        unsafe { ptr::without_provenance::<u8>(4096).read_volatile() };
        return;
    }
    let this = std::env::current_exe().expect("a test has a path");
    let output = Command::new(this).args(["--exact", name]).env(CHILD, "1").output().expect("it runs");
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
}

#[test]
fn threads_trap_side_by_side() {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut machine = wild_guest();
                (0..2_000).for_each(|_| assert_traps(&mut machine));
            });
        }
    });
}
