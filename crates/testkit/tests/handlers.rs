//! Handlers of the interpreter, as compiled: no stack frame, no call, control goes on by a
//! jump. Where that fails, calls in tail position would pile up frames, or registers spill around
//! every instruction of a guest.
//!
//! Of builds without optimisation, whose handlers do not chain, only that they return is looked at.

#![cfg(target_arch = "x86_64")]

use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, Mnemonic, NasmFormatter, OpKind, Register};
use object::{Object, ObjectSection, ObjectSymbol};
use riverrun_testkit::{Engine, Loaded, elf};

/// Why a handler may have a frame, and how it is recognised: symbols do not say which instruction
/// a handler executes. Each saves a few registers, where an instruction needs more than are free.
struct Exception {
    why: &'static str,
    applies: fn(&Handler) -> bool,
}

const MAY_HAVE_FRAME: &[Exception] = &[
    Exception {
        why: "128-bit products take two fixed registers",
        applies: |handler| handler.has(&[Mnemonic::Mul, Mnemonic::Imul]),
    },
    Exception {
        why: "division takes two fixed registers",
        applies: |handler| handler.has(&[Mnemonic::Div, Mnemonic::Idiv]),
    },
    Exception {
        why: "floats compared several times: minima, maxima, fused multiply-add, conversions",
        applies: |handler| handler.has(&[Mnemonic::Comiss, Mnemonic::Comisd, Mnemonic::Ucomiss, Mnemonic::Ucomisd]),
    },
    Exception {
        why: "exceptions gathered from the host's register",
        applies: |handler| handler.has(&[Mnemonic::Stmxcsr]),
    },
    Exception {
        why: "bits of floats taken apart: sign injection, classification",
        applies: |handler| {
            let masks = [0x7fc0_0000, 0x8000_0000, 1 << 63, !(1 << 63)];
            handler.code.iter().any(|instruction| {
                (0..instruction.op_count())
                    .any(|n| instruction.try_immediate(n).is_ok_and(|value| masks.contains(&value)))
            })
        },
    },
    Exception { why: "a host function is called, and what goes on behind it must be kept", applies: calls_host },
    Exception {
        why: "an indirect call notes its return and predicts its target",
        applies: |handler| handler.name.ends_with("::call_indirect"),
    },
];
/// One handler in so many may have a frame.
const WITH_FRAME_AT_MOST: usize = 100;

/// The code of a handler.
struct Handler {
    name: String,
    code: Vec<Instruction>,
}

impl Handler {
    fn has(&self, mnemonics: &[Mnemonic]) -> bool {
        self.code.iter().any(|instruction| mnemonics.contains(&instruction.mnemonic()))
    }
}

fn calls_host(handler: &Handler) -> bool {
    handler.name.contains("::host_call_of_") || handler.name.ends_with("::system_call")
}

/// The handlers of this program.
fn handlers() -> Vec<Handler> {
    let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let section = file.section_by_name("riverrun_interp").expect("the interpreter's section");
    let (start, data) = (section.address(), section.data().unwrap());
    file.symbols()
        .filter(|symbol| symbol.section_index() == Some(section.index()) && symbol.size() > 0)
        .map(|symbol| {
            let offset = (symbol.address() - start) as usize;
            let code = &data[offset..offset + symbol.size() as usize];
            let decoder = Decoder::with_ip(64, code, symbol.address(), DecoderOptions::NONE);
            let name = rustc_demangle::demangle(symbol.name().unwrap());
            Handler { name: format!("{name:#}"), code: decoder.into_iter().collect() }
        })
        .collect()
}

fn writes_stack_pointer(instruction: &Instruction) -> bool {
    let stack = matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop | Mnemonic::Pushfq | Mnemonic::Popfq);
    let written = instruction.op_count() > 0
        && instruction.op_kind(0) == OpKind::Register
        && instruction.op_register(0) == Register::RSP;
    stack || written
}

fn text(handler: &Handler) -> String {
    let mut formatter = NasmFormatter::new();
    let mut text = format!("{}:\n", handler.name);
    for instruction in &handler.code {
        text += &format!("  {:x}: ", instruction.ip());
        formatter.format(instruction, &mut text);
        text.push('\n');
    }
    text
}

/// The interpreter is part of this program, or there would be nothing to look at.
fn link_interpreter() {
    let exit = [0x05d0_0893_u32, 0x0000_0073].map(u32::to_le_bytes).concat();
    assert_eq!(Loaded::new(Engine::Fast, &elf::executable(&exit, &[], 0)).start().run().unwrap(), 0);
}

#[test]
fn handlers_chain() {
    link_interpreter();
    let handlers = handlers();
    assert!(handlers.len() > 1000, "{} handlers", handlers.len());
    if cfg!(debug_assertions) { check_returns(&handlers) } else { check_jumps(&handlers) }
}

fn check_jumps(handlers: &[Handler]) {
    let mut frames = vec![0; MAY_HAVE_FRAME.len()];
    for handler in handlers {
        let last = handler.code.last().expect("no handler is empty");
        let goes_on = matches!(last.mnemonic(), Mnemonic::Jmp | Mnemonic::Ret | Mnemonic::Ud2);
        assert!(goes_on, "this handler runs into what follows it:\n{}", text(handler));
        let calls = handler.has(&[Mnemonic::Call]) && !calls_host(handler);
        assert!(!calls, "this handler calls:\n{}", text(handler));
        if handler.code.iter().any(writes_stack_pointer) {
            let reason = MAY_HAVE_FRAME.iter().position(|exception| (exception.applies)(handler));
            frames[reason.unwrap_or_else(|| panic!("this handler has a frame:\n{}", text(handler)))] += 1;
        }
    }
    println!("{} handlers, of which with a frame:", handlers.len());
    for (exception, count) in MAY_HAVE_FRAME.iter().zip(&frames) {
        println!("{count:6}  {}", exception.why);
    }
    let total: usize = frames.iter().sum();
    assert!(total * WITH_FRAME_AT_MOST < handlers.len(), "{total} of {} handlers have a frame", handlers.len());
}

/// Without optimisation handlers return to a trampoline, so that frames do not pile up.
fn check_returns(handlers: &[Handler]) {
    for handler in handlers {
        let diverges = handler.code.last().is_some_and(|last| last.mnemonic() == Mnemonic::Ud2);
        assert!(handler.has(&[Mnemonic::Ret]) || diverges, "this handler never returns:\n{}", text(handler));
    }
}
