//! LLVM's scheduling heuristic, chosen for each function. LLVM has it as an option of the process, so threads that compile
//! with one heuristic wait for those that use the other.

use std::ffi::c_char;
use std::sync::{Condvar, Mutex, MutexGuard};

use riverrun_isa::Op;

use crate::analysis::Function;
use crate::lift::is_mostly_floats;

/// A function with more multiplications for the upper half of a product contains long multiplications.
const FEW: usize = 3;

/// How LLVM orders the instructions of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// To use few registers.
    Registers,
    /// As the guest's compiler has ordered them, for latency.
    Guest,
}

impl Schedule {
    pub(crate) const ALL: [Schedule; 2] = [Schedule::Registers, Schedule::Guest];

    /// The heuristic for a function. The guest's order is better if the host's registers suffice: in leaf functions, which
    /// keep nothing across calls, and for floats, as the host has as many float registers. In long multiplications that
    /// order needs as many registers as the guest has.
    pub(crate) fn of(function: &Function) -> Schedule {
        let has_calls = function.blocks.values().any(|block| block.end.is_call());
        let calls = has_calls && !is_mostly_floats(function);
        let insts = function.blocks.values().flat_map(|block| &block.insts);
        let upper_halves = insts.filter(|(_, inst)| matches!(inst.op, Op::mulhu | Op::mulh | Op::mulhsu)).count();
        if calls || upper_halves > FEW { Schedule::Registers } else { Schedule::Guest }
    }
}

/// The current value of the option, and how many threads rely on it.
struct Use {
    schedule: Option<Schedule>,
    threads: usize,
}

static USE: Mutex<Use> = Mutex::new(Use { schedule: None, threads: 0 });
static FREE: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Use> {
    USE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Makes machine code by a schedule, beside other threads that do so by the same one.
pub(crate) fn scheduled<T>(schedule: Schedule, make: impl FnOnce() -> T) -> T {
    let is_other = |now: &mut Use| now.threads != 0 && now.schedule != Some(schedule);
    let mut now = FREE.wait_while(lock(), is_other).unwrap_or_else(|poisoned| poisoned.into_inner());
    if now.schedule.replace(schedule) != Some(schedule) {
        choose(schedule);
    }
    now.threads += 1;
    drop(now);
    let _leaving = Leaving;
    make()
}

/// Releases the option when dropped.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut now = lock();
        now.threads -= 1;
        if now.threads == 0 {
            FREE.notify_all();
        }
    }
}

fn choose(schedule: Schedule) {
    let option = match schedule {
        Schedule::Registers => c"-pre-RA-sched=list-burr",
        Schedule::Guest => c"-pre-RA-sched=source",
    };
    let pointers: [*const c_char; 2] = [c"riverrun".as_ptr(), option.as_ptr()];
    // SAFETY: the strings are constants. Of LLVM, only what makes machine code reads the option, which threads of this
    // crate do in `scheduled` alone, and none is there now.
    unsafe {
        inkwell::llvm_sys::support::LLVMParseCommandLineOptions(
            pointers.len() as i32,
            pointers.as_ptr(),
            std::ptr::null(),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::analysis::sample;

    fn of(body: &str) -> Schedule {
        let source = format!(
            ".globl _start\n.type _start, @function\n_start:\n{body}\nret\n.size _start, .-_start\nother: ret\n"
        );
        Schedule::of(&sample::first_function(&source))
    }

    #[test]
    fn functions_that_call_or_multiply_at_length_need_registers() {
        assert_eq!(of("addi a0, a0, 1"), Schedule::Guest);
        assert_eq!(of("call other"), Schedule::Registers);
        assert_eq!(of("jalr a0"), Schedule::Registers);
        let summing = |add| format!("1: addi a0, a0, -1\n{add}\n{add}\n{add}\nbnez a0, 1b\ncall other");
        assert_eq!(of(&summing("fadd.d fa0, fa0, fa1")), Schedule::Guest);
        assert_eq!(of(&summing("add a1, a1, a0")), Schedule::Registers);
        assert_eq!(of(&"mulhu a0, a0, a1\n".repeat(FEW)), Schedule::Guest);
        assert_eq!(of(&"mulhu a0, a0, a1\n".repeat(FEW + 1)), Schedule::Registers);
    }

    #[test]
    fn threads_wait_for_those_of_the_other_schedule() {
        static RUNNING: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let work = |thread: usize| {
            for round in 0..100 {
                let (own, other) = ((thread + round) % 2, (thread + round + 1) % 2);
                scheduled(Schedule::ALL[own], || {
                    RUNNING[own].fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    assert_eq!(RUNNING[other].load(Ordering::SeqCst), 0);
                    RUNNING[own].fetch_sub(1, Ordering::SeqCst);
                });
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    }
}
