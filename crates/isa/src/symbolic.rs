//! Semantics as text: an implementation of [`Ops`] that prints what the interpreter would compute.
//!
//! Terms are nodes of an arena; a term that is used more than once gets a name (`t1`), so the
//! text grows with the computation and not with its unfolding.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::csr::CsrName;
use crate::format::{Destination, RegisterFile};
use crate::inst::Inst;
use crate::ops::{Float, FloatCompare, Int, Mem, Ops, Rounding, System, fflags};
use crate::table::{Operands, eval};

/// What an instruction at address `pc` does, as `name: statement; statement`.
///
/// Integer registers are `x1` to `x31`, float registers `f0` to `f31`, memory is `mem8` to
/// `mem64` by the width in bits, `t1` and so on name intermediate values. Signed and unsigned
/// operators end in `s` and `u`; `round32` and `round64` round the exact result of their argument
/// to binary32 and binary64 in the mode named, `dyn` being that of `frm`.
pub fn semantics(inst: &Inst, pc: u64) -> String {
    let format = inst.op.info().format;
    let printer = Printer::default();
    let [file1, file2, file3] = format.sources();
    let operands = Operands {
        rs1: printer.source(file1, inst.rs1),
        rs2: printer.source(file2, inst.rs2),
        rs3: printer.source(file3, inst.rs3),
        imm: printer.imm(if format.is_csr() { inst.rs1 as u64 } else { inst.imm as i64 as u64 }),
        pc: printer.imm(pc),
        csr: inst.imm as u16,
        rm: inst.rm,
        index: inst.rs1,
    };
    let result = eval(inst.op, &printer, &operands);
    let next = printer.imm(pc.wrapping_add(inst.len as u64));
    let taken = printer.imm(pc.wrapping_add_signed(inst.imm as i64));
    match format.destination() {
        Destination::None => {}
        Destination::X => printer.assign(inst.rd, result),
        Destination::F => printer.state(vec![Part::text(format!("f{} = ", inst.rd)), Part::Term(result)]),
        Destination::Branch => printer.state(vec!["if ".into(), result.into(), " then pc = ".into(), taken.into()]),
        Destination::Jump => {
            printer.state(vec!["pc = ".into(), result.into()]);
            printer.assign(inst.rd, next);
        }
    }
    let statements = printer.render();
    let name = inst.op.info().name.replace('_', ".");
    if statements.is_empty() { format!("{name}: no effect") } else { format!("{name}: {}", statements.join("; ")) }
}

/// The index of a node.
#[derive(Clone, Copy)]
struct Term(usize);

/// A value: how it is written around its arguments.
struct Node {
    form: Form,
    arguments: Vec<Term>,
}

enum Form {
    Number(u64),
    Name(String),
    /// `name(a, b, note)`
    Call(Cow<'static, str>, &'static str),
    /// `mem32[a]`
    Memory(u32),
    /// `~a`
    Not,
    /// `a + b`
    Infix(&'static str),
    /// `a ? b : c`
    Select,
}

/// Text or a term within a statement.
enum Part {
    Text(Cow<'static, str>),
    Term(Term),
}

impl Part {
    fn text(text: String) -> Part {
        Part::Text(Cow::Owned(text))
    }
}

impl From<&'static str> for Part {
    fn from(text: &'static str) -> Part {
        Part::Text(Cow::Borrowed(text))
    }
}

impl From<Term> for Part {
    fn from(term: Term) -> Part {
        Part::Term(term)
    }
}

#[derive(Default)]
struct Printer {
    nodes: RefCell<Vec<Node>>,
    statements: RefCell<Vec<Vec<Part>>>,
}

impl Printer {
    fn node(&self, form: Form, arguments: &[Term]) -> Term {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { form, arguments: arguments.to_vec() });
        Term(nodes.len() - 1)
    }

    fn name(&self, name: String) -> Term {
        self.node(Form::Name(name), &[])
    }

    fn call(&self, name: impl Into<Cow<'static, str>>, arguments: &[Term]) -> Term {
        self.node(Form::Call(name.into(), ""), arguments)
    }

    fn infix(&self, operator: &'static str, a: Term, b: Term) -> Term {
        self.node(Form::Infix(operator), &[a, b])
    }

    fn number(&self, term: Term) -> Option<u64> {
        match self.nodes.borrow()[term.0].form {
            Form::Number(value) => Some(value),
            _ => None,
        }
    }

    fn source(&self, file: Option<RegisterFile>, register: u8) -> Term {
        match (file, register) {
            (None, _) | (Some(RegisterFile::X), 0) => self.imm(0),
            (Some(RegisterFile::X), _) => self.name(format!("x{register}")),
            (Some(RegisterFile::F), _) => self.name(format!("f{register}")),
        }
    }

    fn state(&self, statement: Vec<Part>) {
        self.statements.borrow_mut().push(statement);
    }

    fn assign(&self, register: u8, value: Term) {
        if register != 0 {
            self.state(vec![Part::text(format!("x{register} = ")), value.into()]);
        }
    }

    /// Gives a name to the old value of a place that is about to change.
    fn exchange(&self, place: Vec<Part>, old: Term, change: impl Fn(Term) -> Term) -> Term {
        self.state(vec!["old = ".into(), old.into()]);
        let old = self.name("old".to_string());
        let mut statement = place;
        statement.push(" = ".into());
        statement.push(change(old).into());
        self.state(statement);
        old
    }

    /// An access of `mem` as its place in memory and the value of the register it loads.
    fn access(&self, mem: Mem, address: Term) -> (Vec<Part>, Term) {
        let bits = mem.bytes() * 8;
        let place = self.node(Form::Memory(bits), &[address]);
        let value = match mem {
            Mem::U64 => place,
            Mem::I8 | Mem::I16 | Mem::I32 => self.call(format!("sext{bits}"), &[place]),
            Mem::U8 | Mem::U16 | Mem::U32 => self.call(format!("zext{bits}"), &[place]),
        };
        (vec![Part::text(format!("mem{bits}[")), address.into(), "]".into()], value)
    }

    /// A float result: `round32` or `round64` of the exact one.
    fn round(&self, f: Float, exact: Term, rm: Rounding) -> Term {
        let name = match f {
            Float::S => "round32",
            Float::D => "round64",
        };
        self.node(Form::Call(name.into(), rm.name()), &[exact])
    }

    fn render(&self) -> Vec<String> {
        let nodes = self.nodes.borrow();
        let statements = self.statements.borrow();
        let mut uses = vec![0; nodes.len()];
        for part in statements.iter().flatten() {
            if let Part::Term(term) = part {
                count_uses(&nodes, *term, &mut uses);
            }
        }
        let mut writer = Writer { nodes: &nodes, uses, named: vec![None; nodes.len()], count: 0, lines: Vec::new() };
        for statement in statements.iter() {
            let mut line = String::new();
            for part in statement {
                match part {
                    Part::Text(text) => line.push_str(text),
                    Part::Term(term) => line.push_str(&writer.text(*term, false)),
                }
            }
            writer.lines.push(line);
        }
        writer.lines
    }
}

/// Counts references, those within a term that is used again once.
fn count_uses(nodes: &[Node], term: Term, uses: &mut [usize]) {
    uses[term.0] += 1;
    if uses[term.0] == 1 {
        nodes[term.0].arguments.iter().for_each(|&argument| count_uses(nodes, argument, uses));
    }
}

struct Writer<'a> {
    nodes: &'a [Node],
    uses: Vec<usize>,
    /// The number of the name that a term has been given.
    named: Vec<Option<usize>>,
    count: usize,
    lines: Vec<String>,
}

impl Writer<'_> {
    /// The term's text, `nested` in another one or not; definitions it needs become lines.
    fn text(&mut self, term: Term, nested: bool) -> String {
        let node = &self.nodes[term.0];
        if let Some(number) = self.named[term.0] {
            return format!("t{number}");
        }
        let shared = self.uses[term.0] > 1 && !node.arguments.is_empty();
        let text = self.unnamed_text(node, nested && !shared);
        if !shared {
            return text;
        }
        self.count += 1;
        self.named[term.0] = Some(self.count);
        self.lines.push(format!("t{} = {text}", self.count));
        format!("t{}", self.count)
    }

    fn unnamed_text(&mut self, node: &Node, nested: bool) -> String {
        let bare = matches!(node.form, Form::Call(..) | Form::Memory(_));
        let arguments: Vec<_> = node.arguments.iter().map(|&argument| self.text(argument, !bare)).collect();
        let text = match (&node.form, arguments.as_slice()) {
            (Form::Number(value), _) => return number_text(*value),
            (Form::Name(name), _) => return name.clone(),
            (Form::Call(name, ""), all) => return format!("{name}({})", all.join(", ")),
            (Form::Call(name, note), all) => return format!("{name}({}, {note})", all.join(", ")),
            (Form::Memory(bits), all) => return format!("mem{bits}[{}]", all.concat()),
            (Form::Not, all) => return format!("~{}", all.concat()),
            (Form::Infix(operator), all) => all.join(&format!(" {operator} ")),
            (Form::Select, all) => format!("{} ? {} : {}", all[0], all[1], all[2]),
        };
        if nested { format!("({text})") } else { text }
    }
}

/// Small numbers in decimal with their sign, others in hexadecimal.
fn number_text(value: u64) -> String {
    let signed = value as i64;
    if (-4096..4096).contains(&signed) { signed.to_string() } else { format!("{value:#x}") }
}

impl Ops for Printer {
    type V = Term;

    fn imm(&self, value: u64) -> Term {
        self.node(Form::Number(value), &[])
    }

    fn add(&self, a: Term, b: Term) -> Term {
        match (self.number(a), self.number(b)) {
            (Some(a), Some(b)) => self.imm(a.wrapping_add(b)),
            (Some(0), _) => b,
            (_, Some(0)) => a,
            (_, Some(negative)) if (negative as i64) < 0 => self.infix("-", a, self.imm(negative.wrapping_neg())),
            _ => self.infix("+", a, b),
        }
    }

    fn sub(&self, a: Term, b: Term) -> Term {
        self.infix("-", a, b)
    }

    fn mul(&self, a: Term, b: Term) -> Term {
        self.infix("*", a, b)
    }

    fn mul_high_s(&self, a: Term, b: Term) -> Term {
        self.call("high_s", &[self.infix("*", a, b)])
    }

    fn mul_high_u(&self, a: Term, b: Term) -> Term {
        self.call("high_u", &[self.infix("*", a, b)])
    }

    fn div_s(&self, a: Term, b: Term) -> Term {
        self.infix("/s", a, b)
    }

    fn div_u(&self, a: Term, b: Term) -> Term {
        self.infix("/u", a, b)
    }

    fn rem_s(&self, a: Term, b: Term) -> Term {
        self.infix("%s", a, b)
    }

    fn rem_u(&self, a: Term, b: Term) -> Term {
        self.infix("%u", a, b)
    }

    fn and(&self, a: Term, b: Term) -> Term {
        match (self.number(a), self.number(b)) {
            (Some(a), Some(b)) => self.imm(a & b),
            _ => self.infix("&", a, b),
        }
    }

    fn or(&self, a: Term, b: Term) -> Term {
        self.infix("|", a, b)
    }

    fn xor(&self, a: Term, b: Term) -> Term {
        self.infix("^", a, b)
    }

    fn shl(&self, a: Term, b: Term) -> Term {
        self.infix("<<", a, b)
    }

    fn shr(&self, a: Term, b: Term) -> Term {
        self.infix(">>u", a, b)
    }

    fn sar(&self, a: Term, b: Term) -> Term {
        self.infix(">>s", a, b)
    }

    fn rotl(&self, a: Term, b: Term) -> Term {
        self.call("rotl", &[a, b])
    }

    fn rotr(&self, a: Term, b: Term) -> Term {
        self.call("rotr", &[a, b])
    }

    fn rotl32(&self, a: Term, b: Term) -> Term {
        self.call("rotl32", &[a, b])
    }

    fn rotr32(&self, a: Term, b: Term) -> Term {
        self.call("rotr32", &[a, b])
    }

    fn clz(&self, a: Term) -> Term {
        self.call("clz", &[a])
    }

    fn ctz(&self, a: Term) -> Term {
        self.call("ctz", &[a])
    }

    fn popcount(&self, a: Term) -> Term {
        self.call("popcount", &[a])
    }

    fn bswap(&self, a: Term) -> Term {
        self.call("bswap", &[a])
    }

    fn sext8(&self, a: Term) -> Term {
        self.call("sext8", &[a])
    }

    fn sext16(&self, a: Term) -> Term {
        self.call("sext16", &[a])
    }

    fn sext32(&self, a: Term) -> Term {
        self.call("sext32", &[a])
    }

    fn zext8(&self, a: Term) -> Term {
        self.call("zext8", &[a])
    }

    fn zext16(&self, a: Term) -> Term {
        self.call("zext16", &[a])
    }

    fn zext32(&self, a: Term) -> Term {
        self.call("zext32", &[a])
    }

    fn eq(&self, a: Term, b: Term) -> Term {
        self.infix("==", a, b)
    }

    fn ne(&self, a: Term, b: Term) -> Term {
        self.infix("!=", a, b)
    }

    fn lt_s(&self, a: Term, b: Term) -> Term {
        self.infix("<s", a, b)
    }

    fn lt_u(&self, a: Term, b: Term) -> Term {
        self.infix("<u", a, b)
    }

    fn ge_s(&self, a: Term, b: Term) -> Term {
        self.infix(">=s", a, b)
    }

    fn ge_u(&self, a: Term, b: Term) -> Term {
        self.infix(">=u", a, b)
    }

    fn select(&self, condition: Term, a: Term, b: Term) -> Term {
        self.node(Form::Select, &[condition, a, b])
    }

    fn load(&self, mem: Mem, address: Term) -> Term {
        self.access(mem, address).1
    }

    fn store(&self, mem: Mem, address: Term, value: Term) {
        let (mut statement, _) = self.access(mem, address);
        statement.extend([" = ".into(), value.into()]);
        self.state(statement);
    }

    fn load_reserved(&self, mem: Mem, address: Term) -> Term {
        let (mut place, value) = self.access(mem, address);
        place.insert(0, "reserve ".into());
        self.state(place);
        value
    }

    fn store_conditional(&self, mem: Mem, address: Term, value: Term) -> Term {
        let (mut statement, _) = self.access(mem, address);
        statement.insert(0, "if reserved then ".into());
        statement.extend([" = ".into(), value.into()]);
        self.state(statement);
        self.name("!reserved".to_string())
    }

    fn amo(&self, mem: Mem, address: Term, change: impl Fn(Term) -> Term) -> Term {
        let (place, value) = self.access(mem, address);
        self.exchange(place, value, change)
    }

    fn fadd(&self, f: Float, a: Term, b: Term, rm: Rounding) -> Term {
        self.round(f, self.infix("+", a, b), rm)
    }

    fn fsub(&self, f: Float, a: Term, b: Term, rm: Rounding) -> Term {
        self.round(f, self.infix("-", a, b), rm)
    }

    fn fmul(&self, f: Float, a: Term, b: Term, rm: Rounding) -> Term {
        self.round(f, self.infix("*", a, b), rm)
    }

    fn fdiv(&self, f: Float, a: Term, b: Term, rm: Rounding) -> Term {
        self.round(f, self.infix("/", a, b), rm)
    }

    fn fsqrt(&self, f: Float, a: Term, rm: Rounding) -> Term {
        self.round(f, self.call("sqrt", &[a]), rm)
    }

    fn fma(&self, f: Float, a: Term, b: Term, c: Term, rm: Rounding) -> Term {
        self.round(f, self.infix("+", self.infix("*", a, b), c), rm)
    }

    fn fcompare(&self, f: Float, compare: FloatCompare, a: Term, b: Term) -> Term {
        let (operator, note) = match compare {
            FloatCompare::Eq => ("==", "quiet"),
            FloatCompare::Lt => ("<", "signalling"),
            FloatCompare::Le => ("<=", "signalling"),
            FloatCompare::LtQuiet => ("<", "quiet"),
            FloatCompare::LeQuiet => ("<=", "quiet"),
        };
        let name = match f {
            Float::S => "compare32",
            Float::D => "compare64",
        };
        self.node(Form::Call(name.into(), note), &[self.infix(operator, a, b)])
    }

    fn float_to_int(&self, f: Float, int: Int, a: Term, rm: Rounding) -> Term {
        let from = match f {
            Float::S => "f32",
            Float::D => "f64",
        };
        self.node(Form::Call(format!("{from}_to_{}", int_name(int)).into(), rm.name()), &[a])
    }

    fn int_to_float(&self, f: Float, int: Int, a: Term, rm: Rounding) -> Term {
        self.round(f, self.call(int_name(int), &[a]), rm)
    }

    fn widen(&self, a: Term) -> Term {
        self.call("f32_to_f64", &[a])
    }

    fn narrow(&self, a: Term, rm: Rounding) -> Term {
        self.round(Float::S, a, rm)
    }

    fn fround(&self, f: Float, a: Term, rm: Rounding, inexact: bool) -> Term {
        let width = match f {
            Float::S => 32,
            Float::D => 64,
        };
        let flags = if inexact { "_inexact" } else { "" };
        self.node(Form::Call(format!("integral{width}{flags}").into(), rm.name()), &[a])
    }

    fn raise(&self, flags: u8, condition: Term) {
        let all = [(fflags::NV, "NV"), (fflags::DZ, "DZ"), (fflags::OF, "OF"), (fflags::UF, "UF"), (fflags::NX, "NX")];
        let names: Vec<_> = all.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
        self.state(vec!["if ".into(), condition.into(), Part::text(format!(" then raise {}", names.join(" ")))]);
    }

    fn csr(&self, csr: u16, change: impl Fn(Term) -> Term) -> Term {
        let name = match CsrName(csr).to_string() {
            number if number.starts_with("0x") => format!("csr[{number}]"),
            name => name,
        };
        self.exchange(vec![Part::text(name.clone())], self.name(name), change)
    }

    fn system(&self, event: System) {
        self.state(vec![match event {
            System::Ecall => "call the environment".into(),
            System::Ebreak => "breakpoint".into(),
            System::Fence => "order memory accesses".into(),
            System::FenceI => "synchronise instruction fetch".into(),
        }]);
    }

    fn call_import(&self, index: Term) {
        self.state(vec!["call import ".into(), index.into()]);
    }

    fn not(&self, a: Term) -> Term {
        self.node(Form::Not, &[a])
    }

    fn unbox_s(&self, register: Term) -> Term {
        self.call("unbox", &[register])
    }

    fn box_s(&self, value: Term) -> Term {
        self.call("box", &[value])
    }
}

fn int_name(int: Int) -> &'static str {
    match int {
        Int::I32 => "i32",
        Int::U32 => "u32",
        Int::I64 => "i64",
        Int::U64 => "u64",
    }
}
