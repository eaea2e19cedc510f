//! A readable listing of one function: guest instructions, IR before and after optimisation, host instructions.

use std::collections::HashMap;

use inkwell::context::Context;
use inkwell::targets::FileType;
use riverrun_program::Image;

use crate::analysis::{Imports, Liveness, is_copied};
use crate::budget::Budget;
use crate::emit;
use crate::error::CompileError;
use crate::lift::{Callers, Ir, KnownLibcall, Surroundings, lift};
use crate::options::CompileOptions;
use crate::program::Program;
use crate::schedule::Schedule;
use crate::selection::Selection;

/// A line of intermediate representation or of host code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The guest instruction that it comes from; that of the next instruction for labels. `None` if unknown.
    pub pc: Option<u64>,
    /// The line.
    pub text: String,
}

/// The forms of a function in each phase of the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The guest address of its first instruction.
    pub start: u64,
    /// The addresses of its guest instructions, sorted.
    pub pcs: Vec<u64>,
    /// LLVM's intermediate representation, as lifted.
    pub lifted: Vec<Line>,
    /// The same after LLVM's passes.
    pub optimised: Vec<Line>,
    /// The host's instructions.
    pub host: Vec<Line>,
}

/// Compiles the function that contains the instruction at `address` and returns its listing. It is compiled alone, with the
/// same result as beside others.
///
/// # Errors
/// [`CompileError::NoFunction`], [`CompileError::Work`], [`CompileError::Llvm`].
pub fn listing(image: &Image, options: &CompileOptions, address: u64) -> Result<Listing, CompileError> {
    let options = &options.suited_to(image);
    let (program, functions) = Program::analyse(image, options, Selection::All, None)?;
    let has = |pcs: &[u64]| pcs.binary_search(&address).is_ok();
    let pcs = |function: &crate::analysis::Function| -> Vec<u64> {
        let own = function.blocks.iter().filter(|(at, _)| !is_copied(**at));
        own.flat_map(|(_, block)| &block.insts).map(|(pc, _)| *pc).collect()
    };
    // Functions may share instructions: choose the one with the nearest start before the address.
    let before = functions.iter().rev().filter(|function| function.start <= address);
    let found = before.map(|function| (function, pcs(function))).find(|(_, pcs)| has(pcs));
    let (function, pcs) = found.ok_or(CompileError::NoFunction { address })?;

    let machine = emit::machine(options)?;
    let context = Context::create();
    let ir = Ir::new(&context, "listing", *options, Callers::Guest, &emit::tune_cpu(options.cpu), &program.names);
    lift(&ir, function, &AddressesOnly(&program));
    let lifted = representation(&ir.module.print_to_string().to_string());
    emit::optimise(&ir, &machine)?;
    let optimised = representation(&ir.module.print_to_string().to_string());
    let host =
        assembly(&String::from_utf8_lossy(&emit::generate(&ir, Schedule::of(function), &machine, FileType::Assembly)?));
    Ok(Listing { start: function.start, pcs, lifted, optimised, host })
}

/// A program whose line tables have nothing but addresses.
struct AddressesOnly<'a>(&'a Program<'a>);

impl Surroundings for AddressesOnly<'_> {
    fn is_function(&self, address: u64) -> bool {
        self.0.is_function(address)
    }

    fn libcall(&self, start: u64) -> Option<&KnownLibcall> {
        self.0.libcall(start)
    }

    fn liveness(&self) -> &Liveness {
        self.0.liveness()
    }

    fn reads_exceptions(&self) -> bool {
        self.0.reads_exceptions()
    }

    fn imports(&self) -> &Imports {
        self.0.imports()
    }

    fn budget(&self) -> &Budget {
        self.0.budget()
    }

    fn dispatch_bits(&self) -> u32 {
        self.0.dispatch_bits()
    }

    fn source(&self, _: u64) -> Option<(String, u32)> {
        None
    }
}

/// The body of the function that a module's text defines.
fn representation(module: &str) -> Vec<Line> {
    // `!7 = !DILocation(line: 66560, scope: !3)`
    let location = |line: &str| {
        let (node, rest) = line.split_once(" = !DILocation(line: ")?;
        let (pc, _) = rest.split_once(',')?;
        Some((node.to_owned(), pc.parse::<u64>().ok().filter(|&pc| pc != 0)?))
    };
    let locations: HashMap<String, u64> = module.lines().filter_map(location).collect();
    let body = module.lines().skip_while(|line| !line.starts_with("define ")).skip(1);
    let body = body.take_while(|line| *line != "}").filter(|line| !line.is_empty());
    let line = |line: &str| {
        // Metadata comes last in an instruction.
        let (text, attached) = line.split_once(", !").unwrap_or((line, ""));
        let node = attached.split(", !").find_map(|part| part.strip_prefix("dbg "));
        // All functions return the same: ten registers and the window.
        let text = text.trim_end().replace("{ i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, ptr }", "%registers");
        Line { pc: node.and_then(|node| locations.get(node)).copied(), text }
    };
    with_labels(body.map(line).collect())
}

/// The instructions and labels of an assembly text with one function.
fn assembly(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut pc = None;
    // The first function's is the only code; what follows are tables.
    for line in text.lines().take_while(|line| !line.contains(".Lfunc_end")) {
        let line = line.split("# ").next().unwrap_or(line).trim_end();
        if let Some(location) = line.strip_prefix("\t.loc\t") {
            // `.loc 1 66560 0`: the line is the address.
            let number = location.split_whitespace().nth(1).and_then(|line| line.parse().ok());
            pc = number.filter(|&pc: &u64| pc != 0);
        } else if let Some(label) = line.strip_prefix(".LBB") {
            lines.push(Line { pc: None, text: format!(".LBB{label}") });
        } else if line.starts_with('\t') && !line.starts_with("\t.") && !line.starts_with("\t#") {
            lines.push(Line { pc, text: line.trim().replace('\t', " ") });
        }
    }
    with_labels(lines)
}

/// Assigns labels and other lines without an address to the next instruction.
fn with_labels(mut lines: Vec<Line>) -> Vec<Line> {
    let mut next = None;
    for line in lines.iter_mut().rev() {
        line.pc = line.pc.or(next);
        next = line.pc;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::sample;

    /// Control passes the poll from the end of the loop alone; and the divisor is known, although control may come back
    /// there.
    #[test]
    fn a_loop_polls_where_it_goes_back_and_divides_by_its_constant() {
        let source = ".globl _start\n.type _start, @function\n_start:\nli a2, 10\n1: remu a3, a1, a2\nadd a0, a0, a3\n\
                      divu a1, a1, a2\nbnez a1, 1b\nret\n.size _start, .-_start\n";
        let image = sample::image(source, sample::ASSEMBLY);
        let Listing { lifted, host, .. } = listing(&image, &CompileOptions::default(), image.entry()).unwrap();
        let poll = format!("{}(", riverrun_vm::convention::POLL);
        let polls: Vec<usize> = (0..lifted.len()).filter(|&n| lifted[n].text.contains(&poll)).collect();
        assert_eq!(polls.len(), 1, "{lifted:#?}");
        let label = lifted[..polls[0]].iter().rfind(|line| line.text.contains("; preds = ")).unwrap();
        assert_eq!(label.text.matches('%').count(), 1, "{label:?}");
        let divides = |line: &&Line| line.text.starts_with("div");
        assert_eq!(host.iter().find(divides), None);
    }
}
